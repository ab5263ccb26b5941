"""One write, as admission sees it.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/attributes.go
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import Resource

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class Reinvocation:
    """What the mutating plugins know of their second round.

    Attributes
    ----------
    is_second : bool
        Whether the plugins run again.
    is_required : bool
        Whether they have to.
    invoked : set
        Policies that ran and may run again.
    again : set
        Policies that run again.
    last_object : dict or None
        The object as the policies left it.
    invalid : set of str
        The texts of failed evaluations.
    """

    def __init__(self) -> None:
        self.is_second = False
        self.is_required = False
        self.invoked: set[tuple[str, str, str]] = set()
        self.again: set[tuple[str, str, str]] = set()
        self.last_object: Document | None = None
        self.invalid: set[str] = set()

    def require_again(self) -> None:
        """Let the policies that ran before run again."""
        self.again |= self.invoked
        self.invoked = set()


class Attributes(msgspec.Struct, kw_only=True):
    """One write, as admission sees it.

    Attributes
    ----------
    operation : str
    resource : Resource
    subresource, namespace, name : str
    object : dict or None
        The new object in the version of the request; a plugin that mutates sets a changed copy.
        None for a deletion.
    old : dict or None
        The stored object; None for a creation.
    user : User
    options : dict
        CreateOptions, UpdateOptions, PatchOptions or DeleteOptions.
    is_dry_run : bool
    is_restored : bool
        Whether the object existed before, and is created again as it was.
    now_ns : int
    warnings : list of str
        The warnings that plugins add to the reply.
    audit_annotations : dict of str to str
        What plugins note for an audit log.
    reinvocation : Reinvocation
    """

    operation: Operation
    resource: Resource
    subresource: str
    namespace: str
    name: str
    object: Document | None
    old: Document | None
    user: User
    options: Document
    is_dry_run: bool
    now_ns: int
    is_restored: bool = False
    warnings: list[str] = []
    audit_annotations: dict[str, str] = {}
    reinvocation: Reinvocation = msgspec.field(default_factory=Reinvocation)

    @property
    def group_kind(self) -> tuple[str, str]:
        """The group and the kind of the object."""
        return self.resource.group, self.resource.name

    def is_for(self, group: str, resource: str, subresource: str = "") -> bool:
        """Whether the write is one of a resource."""
        own = self.resource
        return (own.group, own.plural, self.subresource) == (group, resource, subresource)

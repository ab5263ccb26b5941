"""One write, as admission sees it.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/attributes.go
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

import msgspec

from podwright.api.users import User
from podwright.objects import Document

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class AdmittedResource(Protocol):
    """The resource of a write."""

    @property
    def group(self) -> str:
        """The API group."""

    @property
    def version(self) -> str:
        """The version."""

    @property
    def plural(self) -> str:
        """The name in URLs."""

    @property
    def name(self) -> str:
        """The kind, such as `Pod`."""

    @property
    def namespaced(self) -> bool:
        """Whether the objects are in namespaces."""


class Attributes(msgspec.Struct, kw_only=True):
    """One write, as admission sees it.

    Attributes
    ----------
    operation : str
    resource : AdmittedResource
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
    now_ns : int
    warnings : list of str
        The warnings that plugins add to the reply.
    """

    operation: Operation
    resource: AdmittedResource
    subresource: str
    namespace: str
    name: str
    object: Document | None
    old: Document | None
    user: User
    options: Document
    is_dry_run: bool
    now_ns: int
    warnings: list[str] = []

    @property
    def group_kind(self) -> tuple[str, str]:
        """The group and the kind of the object."""
        return self.resource.group, self.resource.name

    def is_for(self, group: str, resource: str, subresource: str = "") -> bool:
        """Whether the write is one of a resource."""
        own = self.resource
        return (own.group, own.plural, self.subresource) == (group, resource, subresource)

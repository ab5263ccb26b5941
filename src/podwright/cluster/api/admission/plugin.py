"""The base of plugins, and what they do with an object.

What plugins know of the server in which they run.

One write, as admission sees it.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/errors.go;
staging/src/k8s.io/apiserver/pkg/admission/attributes.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.authorization.access import Authorizer
from podwright.cluster.api.rejections import Rejection, forbidden
from podwright.cluster.api.users import User
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import GroupKind, ObjectStore

Resources: TypeAlias = frozenset[tuple[str, str]] | None
"""The group and the plural of resources; None for all."""

Kinds: TypeAlias = frozenset[GroupKind]

PODS: Final = frozenset({("", "pods")})
CLAIMS: Final = frozenset({("", "persistentvolumeclaims")})


UpdateStatus: TypeAlias = Callable[[Document, int], None]
"""Stores an object with a new status, at a time."""


class AdmissionContext(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The parts of a server that plugins use.

    Attributes
    ----------
    store : ObjectStore
        The stored objects; read only.
    update_status : callable
        Stores a quota with a new status.
    authorizer : Authorizer
        Decides what users may do.
    resources : iterable of Resource
        The served resources.
    assumes_accounts : bool
        Whether every namespace counts as having its default service account: a controller creates
        it, and nothing here waits for that.
    keeps_given : bool
        Whether objects can come from another server, so that they keep the priority and the
        overhead that they have.
    """

    store: ObjectStore
    update_status: UpdateStatus
    authorizer: Authorizer
    resources: Iterable[Resource]
    assumes_accounts: bool = False
    keeps_given: bool = False


class Plugin:
    """A plugin that neither completes nor rejects anything; others override a step.

    Parameters
    ----------
    context : AdmissionContext

    Attributes
    ----------
    name : str
    resources : frozenset or None
        The group and the plural of the resources of whose writes it knows; None for all.
    template_kinds : frozenset of GroupKind
        The kinds of the objects that its decisions about templates depend on.
    decides_alike : bool
        Whether its decisions about new objects are always those about their templates.
    """

    name = ""
    resources: Resources = None
    template_kinds: Kinds = frozenset()
    decides_alike = False

    def __init__(self, context: AdmissionContext) -> None:
        self._context = context
        self._store = context.store
        self._authorizer = context.authorizer

    def admit(self, attributes: Attributes) -> None:
        """Complete the object."""

    def validate(self, attributes: Attributes) -> None:
        """Reject the write."""

    def decides_by_template(self, _attributes: Attributes) -> bool:
        """Whether the decision about an admitted new object is that about its whole template.

        It is then the same for all objects that differ in their name, uid and times only, until an
        object of `template_kinds` changes in the namespace, or one that has no namespace.
        """
        return self.decides_alike

    def decides_by_shape(self, attributes: Attributes) -> bool:
        """Whether the decision about an admitted new pod is that about all that are alike.

        They also differ in the values of labels and variables, in the images of containers, and in
        the amounts of CPU and memory; limits equal their requests in all of them or in none.
        """
        return self.decides_by_template(attributes)


def rejected(
    attributes: Attributes,
    text: str,
    *causes: Document,
    code: int = 403,
    reason: str = "Forbidden",
) -> Rejection:
    """Return the error of a plugin that does not allow a write."""
    resource = attributes.resource
    found = forbidden(resource.group, resource.plural, name_of(attributes), text, causes)
    return Rejection(code, reason, found.message, found.details)


def name_of(attributes: Attributes) -> str:
    """Return the name of the object of a write, or the prefix from which it is made."""
    document = attributes.object or attributes.old or {}
    metadata = document.get("metadata") or {}
    return attributes.name or str(metadata.get("name") or metadata.get("generateName") or "Unknown")


def metadata_of(attributes: Attributes) -> Document:
    """Return the metadata of the object of a write, or empty ones."""
    metadata: Document = (attributes.object or {}).get("metadata") or {}
    return metadata


def spec_of(attributes: Attributes) -> Document:
    """Return the spec of the object of a write, or an empty one."""
    spec: Document = (attributes.object or {}).get("spec") or {}
    return spec


def set_spec(attributes: Attributes, **fields: object) -> None:
    """Set fields of the spec of the object of a write."""
    assert attributes.object is not None, "there is no object to complete"
    attributes.object = attributes.object | {"spec": spec_of(attributes) | fields}


# ------------------------------------------------------------------------------------- attributes

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

"""The base of plugins, what they do with an object, and what they know of their server.

Upstream: staging/src/k8s.io/apiserver/pkg/admission/errors.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.authorization.access import Authorizer
from podwright.cluster.api.rejections import Rejection, forbidden
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
    sets_group_priority : bool
        Whether PodGroups get the priority of their class (gate WorkloadAwarePreemption).
    """

    store: ObjectStore
    update_status: UpdateStatus
    authorizer: Authorizer
    resources: Iterable[Resource]
    assumes_accounts: bool = False
    keeps_given: bool = False
    sets_group_priority: bool = False


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
    metadata = metadata_of(attributes)
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

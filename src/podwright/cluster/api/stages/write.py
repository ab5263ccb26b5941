"""A write on its way through the stages, and the parts of a cluster that stages use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document, KubernetesObject, NamespacedName
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api.admission import AdmissionChain, Attributes
from podwright.cluster.api.authorization import AuthorizerChain, EscalationCheck
from podwright.cluster.api.create_update import Scope
from podwright.cluster.api.field_management import SERVER_USER, ComponentOwners, FieldManagement
from podwright.cluster.api.gated_fields import DisabledFields
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.api.versions.resources import Resource
from podwright.cluster.store import GroupKind, ObjectStore, Stored

Form: TypeAlias = Literal["sent", "draft", "status", "applied", "recorded", "complete"]
"""How far the object of a write is made: a document in the version in which a client has sent it,
the typed object of a component or its status, that of a manifest, what another server has stored,
or a complete next version."""

MarkForDeletion: TypeAlias = Callable[[Document, int], Document | None]
"""Returns an object marked for deletion at a time; None if it was marked before."""


PartOf: TypeAlias = Callable[[Document], Document]
"""Returns the part of an object that a subresource shows."""


class Write(msgspec.Struct, kw_only=True, eq=False, gc=False):
    """A write on its way through the stages.

    Attributes
    ----------
    now_ns : int
        The time of the request, in nanoseconds since 1970.
    body : KubernetesObject, Binding, Eviction or DeleteOptions
    form : str
        How far an object is made.
    kind : GroupKind
    key : NamespacedName
        The object; empty where the body is the object.
    scope : str
        What an update replaces.
    uid : str
        That of a new object, if it was drawn for the request.
    owners : list of dict or None
        The managed fields of a new object, if they are kept and it does not have them.
    is_restored : bool
        Whether a new object keeps its creation time and its generation.
    is_dry_run : bool
        Whether nothing is stored.
    attributes : Attributes or None
        The write as admission sees it; None if no plugin runs.
    current : KubernetesObject or None
        The stored object, once it is found.
    stored : Stored or None
        The result of the stage that writes.
    """

    now_ns: int
    body: Any
    form: Form = "complete"
    kind: GroupKind = ("", "")
    key: NamespacedName = ""
    scope: Scope = "main"
    uid: str = ""
    owners: list[Document] | None = None
    is_restored: bool = False
    is_dry_run: bool = False
    attributes: Attributes | None = None
    current: Any = None
    stored: Stored | None = None


class ObjectWrite(Write, kw_only=True, eq=False, gc=False):
    """A creation or an update, whose object is a document until it is complete.

    Attributes
    ----------
    new : dict
        The new object in the version of the request.
    warnings : list of str
        Those of the reply, which stages extend.
    formed : dict or None
        The object as it was decoded, in Go's form.
    part_of : callable or None
        Returns the part of an object that the write is about, such as the Scale of a workload.
        Admission sees it in place of the object, and its mutating plugins have run.
    """

    new: Document = {}
    warnings: list[str] = []
    formed: Document | None = None
    part_of: PartOf | None = None


class DraftWrite(ObjectWrite, kw_only=True, eq=False, gc=False):
    """A creation or an update of a typed object.

    Attributes
    ----------
    sent : KubernetesObject
        The object of the request.
    user : str
        The component that makes the request.
    before : dict
        The document of `body`.
    """

    sent: KubernetesObject
    user: str
    before: Document = {}


class SentWrite(ObjectWrite, kw_only=True, eq=False, gc=False):
    """A creation or an update whose object was sent as a document, in some version of its kind.

    Attributes
    ----------
    attributes : Attributes
        Its resource, its user, and the stored object in the version of the request.
    sent : dict
        It as it was decoded, for errors.
    text : bytes
        The body of the request.
    manager : str
        Who owns the fields that the write changes.
    name : str
        The name on the path, "" for a creation.
    tracks_fields : bool
        Whether the write owns the fields that it changes; an apply request has done that itself.
    is_post : bool
        Whether the request is a creation; updates and apply requests create objects too.
    verb : str
        Of the request.
    """

    attributes: Attributes
    sent: Document
    text: bytes
    manager: str
    name: str
    tracks_fields: bool = True
    is_post: bool = False
    verb: str = ""


Stage: TypeAlias = Callable[[Any, Any], Rejection | None]
"""Takes the parts of the cluster and the write; returns why the write is rejected."""


class WithAdmission(Protocol):
    """The part that runs the plugins."""

    @property
    def admission(self) -> AdmissionChain:
        """The plugins in order."""


class Allocator(Protocol):
    """Completes a valid object before it is stored."""

    def __call__(
        self, document: Document, stored: Document | None, /, *, is_dry_run: bool
    ) -> Document:
        """Return the object; the stored one is None for a new object."""


class StatusWrites:
    """Writes the status of objects as the server, as kube-apiserver does by its loopback client.

    These are the status of quotas that a write charges, and of disruption budgets.

    Parameters
    ----------
    storage : ResourceStorage
    owners : ComponentOwners, optional
        Keeps `managedFields`; None for a cluster without them.
    """

    def __init__(self, storage: ResourceStorage, owners: ComponentOwners | None = None) -> None:
        self._storage = storage
        self.owners = owners

    def update(self, document: Document, now_ns: int) -> None:
        """Store an object of a stored version with a new status."""
        if self.owners is None:
            self._storage.update(decode(document), scope="status")
            return
        kind = built_in().find(document["apiVersion"], document["kind"])
        new = decode(document if kind is None else kind.go_form(document))
        owners_of = self.owners.of_update("status", SERVER_USER, now_ns)
        self._storage.update(new, scope="status", owners_of=owners_of)


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster does differently from others.

    Attributes
    ----------
    name : str
    added_plugins : tuple of str
        The admission plugins for components that other clusters omit (`draft_admission.OMITTED`).
    keeps_fields : bool
        Whether the fields that components write have owners.
    allocates : bool
        Whether Services of components get addresses.
    labels_pods : bool
        Whether pods get the topology labels of the nodes to which components bind them.
    limits_sizes : bool
        Whether objects of components that etcd would not store are rejected.
    in_go_form : bool
        Whether what the server adds to pods is in Go's form, as clients over HTTP read it.
    """

    name: str
    added_plugins: tuple[str, ...] = ()
    keeps_fields: bool = False
    allocates: bool = False
    labels_pods: bool = False
    limits_sizes: bool = False
    in_go_form: bool = False


class Parts(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The parts of a cluster that stages use.

    Attributes
    ----------
    profile : Profile
    storage : ResourceStorage
    server_status : StatusWrites
        Writes the status of disruption budgets.
    admission : AdmissionChain
    marks : mapping
        By kind, how a deletion marks objects whose cleanup the server does itself.
    allocators : mapping
        By group and kind, what completes a valid object before it is stored.
    """

    profile: Profile
    storage: ResourceStorage
    server_status: StatusWrites
    admission: AdmissionChain
    marks: Mapping[GroupKind, MarkForDeletion] = {}
    allocators: Mapping[GroupKind, Allocator] = {}

    def allocated(
        self, resource: Resource, document: Document, stored: Document | None, *, is_dry_run: bool
    ) -> Document:
        """Return a valid object with what is allocated to it, such as the address of a Service."""
        allocate = self.allocators.get((resource.group, resource.name))
        if allocate is None:
            return document
        return resource.kind.go_form(allocate(document, stored, is_dry_run=is_dry_run))


class ServedParts(Parts, frozen=True, kw_only=True, eq=False):
    """The parts of a served cluster that the stages of sent objects use.

    Attributes
    ----------
    store : ObjectStore
        The stored objects; stages read it.
    field_management : FieldManagement
        Keeps `managedFields`.
    authorizers : AuthorizerChain
        Decide what users may do.
    escalation : EscalationCheck
        Checks writes of roles and bindings.
    disabled_fields : mapping
        By group and kind, the fields that writes lose because their feature gate is off.
    compares_taints : bool
        Whether tolerations may have the operators `Lt` and `Gt`.
    mounts_labels : bool
        Whether volumes may get their SELinux label when they are mounted.
    checks_claim_statuses : bool
        Whether parts of the status of a ResourceClaim need rights of their own.
    """

    store: ObjectStore
    field_management: FieldManagement
    authorizers: AuthorizerChain
    escalation: EscalationCheck
    disabled_fields: DisabledFields
    compares_taints: bool = True
    mounts_labels: bool = False
    checks_claim_statuses: bool = True

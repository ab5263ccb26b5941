"""The stages that a write passes, whoever makes it, and the route of each verb.

Theory of operation
-------------------
A component's request, or an HTTP request that was decoded and admitted, becomes a `Write`. The
route of its verb is a tuple of stages, read from left to right: find, check, admit, write. Each
stage reads and extends the write, and returns why it is rejected, or None. What a stage calls may
raise the rejection. The first rejection ends the write; HTTP encodes it.

Each profile of a cluster has its own list of stages for creations and updates, which end in the
stages here: `BARE` for what the server writes itself, those of `Api` for components, those of
`endpoints.writes` for HTTP. Bindings, evictions and deletions pass the same stages in all. See
docs/explanation/two-write-apis.md.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers; pkg/registry/core/pod/storage
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias, cast

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Pod,
    PodDisruptionBudget,
    encode,
)
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api.admission import AdmissionChain, Attributes
from podwright.cluster.api.create_update import Scope
from podwright.cluster.api.deletion import DeleteOptions, propagation_of
from podwright.cluster.api.field_management import SERVER_USER, ComponentOwners
from podwright.cluster.api.pods.binding import binding_problem, with_probe_times
from podwright.cluster.api.pods.eviction import Eviction, decide_eviction, with_disruption_target
from podwright.cluster.api.preconditions import deletion_conflict
from podwright.cluster.api.rejections import Rejection, not_found
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.api.versions.resources import Resource, plural_of
from podwright.cluster.store import POD, GroupKind, ObjectStore, Stored

Verb: TypeAlias = Literal["create", "update", "apply", "bind", "evict", "delete"]

MarkForDeletion: TypeAlias = Callable[[Document, int], Document | None]
"""Returns an object marked for deletion at a time; None if it was marked before."""


class Write(msgspec.Struct, kw_only=True, eq=False, gc=False):
    """A write on its way through the stages.

    Attributes
    ----------
    now_ns : int
        The time of the request, in nanoseconds since 1970.
    body : KubernetesObject, Binding, Eviction or DeleteOptions
    kind : GroupKind
    key : NamespacedName
        The object; empty where the body is the object.
    user : str
        The component that makes the request.
    uid : str
        That of a new object, if it was drawn for the request.
    scope : str
        What an update replaces.
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
        The result of the last stage.
    """

    now_ns: int
    body: Any
    kind: GroupKind = ("", "")
    key: NamespacedName = ""
    user: str = ""
    uid: str = ""
    scope: Scope = "main"
    owners: list[Document] | None = None
    is_restored: bool = False
    is_dry_run: bool = False
    attributes: Attributes | None = None
    current: Any = None
    stored: Stored | None = None


Stage: TypeAlias = Callable[[Any, Any], Rejection | None]
"""Takes the parts of the cluster and the write; returns why the write is rejected."""


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


class Pipeline(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The parts of a cluster that stages use, and what this cluster does differently.

    Attributes
    ----------
    storage : ResourceStorage
    server_status : StatusWrites
        Writes the status of disruption budgets.
    admission : AdmissionChain
    marks : mapping
        By kind, how a deletion marks objects whose cleanup the server does itself.
    allocators : mapping
        By group and kind, what completes a valid object before it is stored.
    in_go_form : bool
        Whether what the server adds to pods is in Go's form, as clients over HTTP read it.
    routes : mapping
        The stages of each verb; `BARE` or those of another profile.
    """

    storage: ResourceStorage
    server_status: StatusWrites
    admission: AdmissionChain
    marks: Mapping[GroupKind, MarkForDeletion] = {}
    allocators: Mapping[GroupKind, Allocator] = {}
    in_go_form: bool = False
    routes: Mapping[Verb, tuple[Stage, ...]] = msgspec.field(default_factory=lambda: BARE)

    def allocated(
        self, resource: Resource, document: Document, stored: Document | None, *, is_dry_run: bool
    ) -> Document:
        """Return a valid object with what is allocated to it, such as the address of a Service."""
        allocate = self.allocators.get((resource.group, resource.name))
        if allocate is None:
            return document
        return resource.kind.go_form(allocate(document, stored, is_dry_run=is_dry_run))

    def execute(self, verb: Verb, write: Write) -> Stored | Rejection:
        """Take a write through the stages of its verb."""
        try:
            for stage in self.routes[verb]:
                rejection = stage(self, write)
                if rejection is not None:
                    return rejection
        except Rejection as error:
            return error
        assert write.stored is not None, "the last stage writes"
        return write.stored

    def executed(self, verb: Verb, write: Write) -> Stored:
        """Take a write through the stages of its verb.

        Raises
        ------
        Rejection
            A stage rejects it.
        """
        done = self.execute(verb, write)
        if isinstance(done, Rejection):
            raise done
        return done


def bare_pipeline(
    store: ObjectStore, *, limits_sizes: bool = False, owners: ComponentOwners | None = None
) -> Pipeline:
    """Return the pipeline of what a server writes itself: nothing is admitted."""
    storage = ResourceStorage(store, limits_sizes=limits_sizes)
    return Pipeline(
        storage=storage, server_status=StatusWrites(storage, owners), admission=AdmissionChain(())
    )


def create(pipeline: Pipeline, write: Write) -> Rejection | None:
    """Store the new object."""
    write.stored = pipeline.storage.create(
        write.body,
        write.now_ns,
        uid=write.uid,
        owners=write.owners,
        is_restored=write.is_restored,
        is_dry_run=write.is_dry_run,
    )
    return None


def replace(pipeline: Pipeline, write: Write) -> Rejection | None:
    """Store the next version of the current object, which is complete but for its version."""
    write.stored = pipeline.storage.replace(write.current, write.body, is_dry_run=write.is_dry_run)
    return None


def find(pipeline: Pipeline, write: Write) -> Rejection | None:
    """Find the stored object."""
    write.current = current = pipeline.storage.store.get(write.kind, write.key)
    if current is None:
        return not_found(write.kind[0], plural_of(write.kind), write.key.rpartition("/")[2])
    return None


def check_binding(pipeline: Pipeline, write: Write) -> Rejection | None:
    """Check the preconditions of a binding, and that the pod can be bound."""
    del pipeline
    return binding_problem(write.current, write.body, is_dry_run=write.is_dry_run)


def bind(pipeline: Pipeline, write: Write) -> Rejection | None:
    """Store the bound pod."""
    write.stored = pipeline.storage.bind(
        write.current,
        write.body,
        write.now_ns,
        in_go_form=pipeline.in_go_form,
        is_dry_run=write.is_dry_run,
    )
    return None


def charge_budget(pipeline: Pipeline, write: Write) -> Rejection | None:
    """Charge the disruption budget of a pod, so that concurrent evictions cannot exceed it.

    It stays charged if the eviction is rejected later.
    """
    pod: Pod = write.current
    budgets = pipeline.storage.store.list(PodDisruptionBudget, namespace=pod.namespace).objects
    found = decide_eviction(pod, cast("list[PodDisruptionBudget]", budgets), write.now_ns)
    if isinstance(found, Rejection):
        return found
    if found is not None and not write.is_dry_run:
        pipeline.server_status.update(encode(found), write.now_ns)
    return None


def announce_eviction(pipeline: Pipeline, write: Write) -> Rejection | None:
    """Set the condition, so that watchers see the reason before the deletion.

    Upstream: pkg/registry/core/pod/storage/eviction.go, addConditionAndDeletePod
    """
    pod: Pod = write.current
    eviction: Eviction = write.body
    if write.is_dry_run:
        return None
    # An empty text is not a precondition here.
    early = DeleteOptions(uid=eviction.uid or None, resource_version=eviction.version or None)
    if rejection := deletion_conflict(POD, pod, early):
        return rejection
    target = with_disruption_target(
        pod,
        "EvictionByEvictionAPI",
        "Eviction API: evicting",
        write.now_ns,
        sets_observed_generation=False,
    )
    if pipeline.in_go_form:
        target = with_probe_times(target)
    write.current = pipeline.storage.update(target, scope="status").object
    return None


def read_options(pipeline: Pipeline, write: Write) -> Rejection | None:
    """Read the options of the deletion, which are validated last."""
    del pipeline
    options = write.body.read_options()
    if not write.is_dry_run:
        # The deletion has the version of the pod with its condition.
        options = msgspec.structs.replace(options, resource_version=None)
    write.body = options
    return None


def check_deletion(pipeline: Pipeline, write: Write) -> Rejection | None:
    """Check the preconditions of a deletion."""
    del pipeline
    return deletion_conflict(write.kind, write.current, write.body)


def admit(pipeline: Pipeline, write: Write) -> Rejection | None:
    """Run the admission plugins."""
    if write.attributes is not None:
        pipeline.admission.admit(write.attributes)
        pipeline.admission.validate(write.attributes)
    return None


def delete(pipeline: Pipeline, write: Write) -> Rejection | None:
    """Remove the object, or mark it as terminating."""
    current: KubernetesObject = write.current
    options: DeleteOptions = write.body
    storage = pipeline.storage
    mark = pipeline.marks.get(write.kind)
    marked = None if mark is None else mark(current.raw, write.now_ns)
    if marked is not None:
        write.stored = storage.replace(current, decode(marked), is_dry_run=write.is_dry_run)
        return None
    write.stored = storage.delete(
        current,
        write.now_ns,
        grace_seconds=options.grace_seconds,
        propagation=propagation_of(write.kind, current, options),
        is_dry_run=write.is_dry_run,
    )
    return None


BARE: Final[Mapping[Verb, tuple[Stage, ...]]] = {
    "create": (create,),
    "update": (replace,),
    "bind": (find, check_binding, bind),
    "evict": (find, charge_budget, announce_eviction, read_options, check_deletion, delete),
    "delete": (find, check_deletion, admit, delete),
}

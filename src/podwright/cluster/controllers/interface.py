"""The events and actions of controllers, and the interface that each controller implements.

Theory of operation
-------------------
A controller compares the state of the cluster with the desired state of an object and returns
the writes that remove the difference. Every change of its kinds is delivered to it (`observe`);
of pods, only the changes that its class attributes select. It returns the keys of the objects
to sync. `ControllerLoop` then syncs one object at a time (`sync`). Between two syncs a
controller keeps only what the objects do not show, such as how often a job has failed.

The driver executes the actions of one sync and delivers the resulting changes before the next
sync. Each sync therefore sees the effects of all earlier ones, and controllers need none of the
expectations and conflict retries that upstream needs because its caches lag behind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence, Sized
from enum import IntFlag
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    ObjectDeleted,
    ObjectPut,
    Pod,
    aggregated,
)
from podwright.cluster.api import (
    CreateObject,
    DeleteObject,
    EvictPod,
    NodeDown,
    NodeUp,
    RecordEvent,
    Rejection,
    Scope,
    UpdateObject,
    WriteRequest,
    section,
)
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.workload_fields import with_status
from podwright.cluster.store import GroupKind, kind_of

ALL_KINDS: Final[GroupKind] = ("*", "*")
"""In `Controller.kinds`: the changes of all kinds are delivered."""


T = TypeVar("T", bound=KubernetesObject)


class PodChange(IntFlag):
    """What a change of a pod changes.

    Attributes
    ----------
    METADATA, SPEC, STATUS
        Any field of that section.
    TERMINAL, READY
        In the status: the pod terminated; the condition Ready or its transition time changed.
    DISRUPTION_TARGET
        In the status: the conditions changed and include DisruptionTarget.
    ADDED, DELETED
        The pod was created or removed.
    """

    METADATA = 1
    SPEC = 2
    STATUS = 4
    TERMINAL = 8
    READY = 16
    DISRUPTION_TARGET = 32
    ADDED = 64
    DELETED = 128


# ------------------------------------------------------------------------------- events


class SyncNext(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Sync the next object of the workqueue; nothing happens if it is empty."""


class SyncDue(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The time of a `SyncAt` has come; ignored at any earlier time."""

    controller: str
    key: NamespacedName


class DrainNode(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Drain a node: cordon it, and evict its pods as their disruption budgets allow."""

    node: str


NodeEvent: TypeAlias = NodeDown | NodeUp | DrainNode

# ------------------------------------------------------------------------------ actions


class WriteRejected(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """The API server rejected a write, perhaps of a controller.

    Attributes
    ----------
    request : WriteRequest
    message : str
        The reason.
    """

    request: WriteRequest
    message: str


class RejectedWrite(Exception):  # noqa: N818 - it is reported, not raised
    """The API server rejected a write of a controller; the text is the reason."""


class ReportedWrite(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Execute a write, and record an Event about its outcome.

    Attributes
    ----------
    request : CreateObject or DeleteObject
    succeeded : RecordEvent, optional
        The Event of a write that is accepted.
    failed : RecordEvent, optional
        The Event of a rejected one; the reason follows its note. Without it, the loop reports
        rejected objects.
    needs : tuple of ReportedWrite
        Creations before it; it is not executed if one of them is rejected.
    name : str
        The object, in the error of a write that needs this one.
    then : tuple of UpdateObject, DeleteObject or RecordEvent
        What follows a write that is accepted.
    """

    request: CreateObject | DeleteObject
    succeeded: RecordEvent | None
    failed: RecordEvent | None = None
    needs: tuple[ReportedWrite, ...] = ()
    name: str = ""
    then: tuple[UpdateObject | DeleteObject | RecordEvent, ...] = ()

    def execute(
        self,
        write: Callable[[CreateObject | UpdateObject | DeleteObject], Exception | None],
        record: Callable[[RecordEvent], object],
    ) -> Exception | None:
        """Execute the writes and record their Events; return the error of a rejected one.

        Parameters
        ----------
        write : callable
            Executes a request, and returns what the API server said about a rejected one.
        record : callable
            Records an Event.
        """
        errors = [
            f"failed to create {need.name}: {error}"
            for need in self.needs
            if (error := need.execute(write, record)) is not None
        ]
        error = RejectedWrite(aggregated(errors)) if errors else write(self.request)
        event = self.succeeded if error is None else self._failure(error)
        if event is not None:
            record(event)
        for each in self.then if error is None else ():
            if isinstance(each, RecordEvent):
                record(each)
            else:
                write(each)
        return error

    def _failure(self, error: Exception) -> RecordEvent | None:
        """Return the Event of a rejected write; none of what was there, or gone, already."""
        # Upstream sends no uid; the conflict with another one is that the object is gone.
        is_done = isinstance(error, Rejection) and (
            error.reason in {"AlreadyExists", "Conflict", "NotFound"}
            or error.has_cause("NamespaceTerminating")
        )
        if self.failed is None or is_done:
            return None
        return msgspec.structs.replace(self.failed, note=f"{self.failed.note}{error}")


class SyncAt(msgspec.Struct, frozen=True, tag=True, tag_field="kind", gc=False):
    """Send `SyncDue` at a time; an earlier time for the same object remains valid."""

    due_ns: int
    event: SyncDue


ControllerEvent: TypeAlias = (
    ObjectPut | ObjectDeleted | SyncNext | SyncDue | NodeEvent | WriteRejected
)

ControllerAction: TypeAlias = (
    CreateObject | UpdateObject | DeleteObject | EvictPod | ReportedWrite | RecordEvent | SyncAt
)

Actions: TypeAlias = list[ControllerAction]

Keys: TypeAlias = Iterable[NamespacedName]
"""The keys of objects to sync."""

Version: TypeAlias = KubernetesObject | None
"""A version of an object in a change; None before it was added, and after it was removed."""

# --------------------------------------------------------------------------- controllers


class Requests:
    """Makes the actions of a controller: requests by its name, and Events from it.

    Attributes
    ----------
    name : str
        The name of the controller.
    event_source : str
        The source component of its Events, if that is not its name.
    """

    name: str
    event_source: str = ""

    def create(self, obj: KubernetesObject) -> CreateObject:
        """Return the creation of `obj`, which the API server names if it has a `generateName`."""
        return CreateObject(obj, self.name)

    def update(self, obj: KubernetesObject, scope: Scope = "main") -> UpdateObject:
        """Return the update of an object.

        Parameters
        ----------
        obj : KubernetesObject
            The new version; its uid and resourceVersion, if set, are preconditions.
        scope : str
            What the update replaces: `main` all but the status, `status` the status, `whole` both.
        """
        return UpdateObject(obj, scope, self.name)

    def delete(
        self,
        obj: KubernetesObject,
        *,
        grace_seconds: int | None = None,
        propagation: Literal["Background", "Foreground", "Orphan"] | None = None,
    ) -> DeleteObject:
        """Return the deletion of an object.

        Parameters
        ----------
        obj : KubernetesObject
            The object; its uid is a precondition, so that a later one of this name stays.
        grace_seconds : int, optional
            The grace period of a pod; its own one by default.
        propagation : str, optional
            What happens to the dependents; by default what the kind and the finalizers say.
        """
        about = (*kind_of(obj), obj.key, obj.uid)
        return DeleteObject(*about, self.name, grace_seconds, propagation)

    def delete_pod(self, owner: KubernetesObject, pod: Pod) -> ReportedWrite:
        """Return the deletion of a pod, with the Event about its outcome.

        Parameters
        ----------
        owner : KubernetesObject
            The object that the Event regards.
        pod : Pod
            Its pod.

        Notes
        -----
        Upstream: controller_utils.go, RealPodControl.DeletePod
        """
        return ReportedWrite(
            self.delete(pod),
            self.event(owner, "SuccessfulDelete", f"Deleted pod: {pod.name}"),
            self.warning(owner, "FailedDelete", "Error deleting: "),
        )

    def event(self, obj: KubernetesObject, reason: str, note: str) -> RecordEvent:
        """Return an Event of the type Normal about an object.

        Parameters
        ----------
        obj : KubernetesObject
            The object that the Event regards.
        reason : str
            Why, as one word in CamelCase, such as `ScalingReplicaSet`.
        note : str
            What happened, as a sentence.
        """
        return event_by(self.event_source or self.name, obj, reason, note)

    def warning(self, obj: KubernetesObject, reason: str, note: str) -> RecordEvent:
        """Return an Event of the type Warning; `obj`, `reason` and `note` are those of `event`."""
        return event_by(self.event_source or self.name, obj, reason, note, is_warning=True)

    def status_update(self, obj: KubernetesObject, status: Document) -> Actions:
        """Return the update of the status of `obj` to `status`, a document, if it changes."""
        if status == section(obj, "status"):
            return []
        return [self.update(with_status(obj, status), "status")]

    def sync_at(self, key: NamespacedName, due_ns: int) -> SyncAt:
        """Return the action that syncs the object `key` at `due_ns`, nanoseconds since 1970."""
        return SyncAt(due_ns, SyncDue(self.name, key))


def event_by(
    source: str, obj: KubernetesObject, reason: str, note: str, *, is_warning: bool = False
) -> RecordEvent:
    """Return an Event about an object from any source."""
    severity = "Warning" if is_warning else "Normal"
    return RecordEvent(*kind_of(obj), obj.key, obj.uid, severity, reason, note, source)


class Controller(Requests, Checkpointed, ABC):
    """A controller: a deterministic state machine that `ControllerLoop` runs.

    Its state is what the lister does not show: the fields that it declares as `Saved`.

    Parameters
    ----------
    lister : Lister
        The objects of the cluster, which all controllers share.

    Attributes
    ----------
    name : str
        The source component of its Events upstream, such as `replicaset-controller`.
    kinds : sequence of GroupKind
        The kinds whose changes are delivered to it. The other attributes select changes of pods.
    owner_kind : str
        Only the pods of this kind of owner, and orphans: a change of a pod that an owner of another
        kind controls, before and after the change, is not delivered.
    pod_changes : PodChange, optional
        Only changes that include one of these.
    only_with_volumes : bool
        Only pods with volumes.
    only_with_devices : bool
        Only pods with resource claims. A pod whose claim is for extended resources is delivered
        when it terminates.
    pending_work : sized, optional
        What pods are observed for, such as the nodes that are being drained. While it is empty,
        only removals of pods are delivered.
    adopters : sized, optional
        The owners that may adopt orphans. While it is empty, the changes of pods that had and have
        no controlling owner are not delivered, except removals.
    draining_nodes : collection of str
        The nodes whose drains are in progress.
    reports_creations : bool
        Whether the Events about rejected objects are its own, in `ReportedWrite.failed`.
    retry_delays_ns : tuple of int
        The first and the longest delay of a sync that fails again and again.
    """

    kinds: Sequence[GroupKind]
    owner_kind: str = ""
    pod_changes: PodChange | None = None
    only_with_volumes: bool = False
    only_with_devices: bool = False
    pending_work: Sized | None = None
    adopters: Sized | None = None
    draining_nodes: Collection[str] = ()
    retry_delays_ns: tuple[int, int] = (5_000_000, 1_000_000_000_000)
    reports_creations: bool = False

    def __init__(self, lister: Lister) -> None:
        self._lister = lister

    @staticmethod
    def latest_of(old: T | None, new: T | None) -> T:
        """Return `new`, the version after a change; `old`, the last one, of a removed object."""
        latest = new if new is not None else old
        assert latest is not None, "neither an old nor a new object"
        return latest

    @abstractmethod
    def observe(self, old: Version, new: Version) -> Keys:
        """Return the keys of the objects to sync after a change, which the lister has already.

        Parameters
        ----------
        old, new : KubernetesObject or None
            The object before and after; `old` is None for an addition, `new` for a removal.
        """

    @abstractmethod
    def sync(self, key: NamespacedName, now_ns: int) -> Actions:
        """Sync one object, and return the actions.

        Parameters
        ----------
        key : str
            The object's `namespace/name`; it may no longer exist.
        now_ns : int
            The time in nanoseconds since 1970.
        """

    def on_node_event(self, event: NodeEvent, now_ns: int) -> Keys:
        """Return the keys to sync after an event of a node, which no object shows.

        Parameters
        ----------
        event : NodeDown, NodeUp or DrainNode
            What happened, and the name of the node.
        now_ns : int
            The time in nanoseconds since 1970.
        """
        del event, now_ns
        return ()

    def on_create_rejected(self, owner: NamespacedName, message: str) -> Keys:
        """Return the keys to sync after objects of an owner were rejected, once per sync.

        The controller must not retry the same create at once.

        Parameters
        ----------
        owner : str
            The `namespace/name` of the object that controls the rejected ones.
        message : str
            The API server's reason for the first rejection.
        """
        del owner, message
        return ()

    def on_delete_rejected(self, owner: NamespacedName, message: str) -> Keys:
        """Return the keys to sync after the deletion of an object of an owner was rejected.

        Parameters
        ----------
        owner : str
            The `namespace/name` of the object that controls the one that stays.
        message : str
            The API server's reason.
        """
        del owner, message
        return ()

    def report_rejected(self, obj: KubernetesObject, message: str) -> Actions:
        """Return the Events about a rejected object that has no controlling owner.

        Parameters
        ----------
        obj : KubernetesObject
            The object as the controller requested it.
        message : str
            The API server's reason.
        """
        del obj, message
        return []


# SuccessfulCreate Events about pods whose names the API server generates.
#
# A controller that creates a pod does not know its name yet. It expects a number of pods, observes
# their additions, and records the Events with their names at its next sync.


class CreationEvents(Checkpointed):
    """The number of pods that each owner expects, and the pods created so far."""

    _expected: Saved[dict[NamespacedName, int]]
    _created: Saved[dict[NamespacedName, list[str]]]

    def __init__(self) -> None:
        self._expected = {}
        self._created = {}

    def expect(self, owner: NamespacedName, count: int) -> None:
        """Expect a number of new pods."""
        self._expected[owner] = count

    def observe(self, owner: NamespacedName, pod: Pod) -> None:
        """Keep the name of an added pod, if its owner expects one."""
        expected = self._expected.get(owner, 0)
        if expected:
            self._expected[owner] = expected - 1
            created = self._created.get(owner)
            if created is None:
                created = self._created[owner] = []
            created.append(pod.metadata.name)

    def events(self, owner: KubernetesObject, source: str) -> Actions:
        """Return the Events about the pods created since the last sync, and expect no more.

        Notes
        -----
        Upstream: controller_utils.go, createPods
        """
        self._expected.pop(owner.key, None)
        return [
            event_by(source, owner, "SuccessfulCreate", f"Created pod: {name}")
            for name in self._created.pop(owner.key, ())
        ]

    def forget(self, owner: NamespacedName) -> None:
        """Forget an owner that was removed."""
        self._expected.pop(owner, None)
        self._created.pop(owner, None)

"""The cluster events of a changed object.

An update may be several events (labels and taints of a node), which the queue processes in order.
A node update without relevant changes has no events.

Upstream: pkg/scheduler/framework/events.go, pkg/scheduler/eventhandlers.go;
pkg/scheduler/backend/queue/active_queue.go (inFlightPods, inFlightEvents).
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Final, NamedTuple

from podwright.apimachinery.objects import (
    CoschedulingPodGroup,
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    KubernetesObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodGroup,
    ResourceClaim,
    ResourceList,
    ResourceSlice,
    StorageClass,
    Unknown,
    VolumeAttachment,
    assigned_request_millis,
    has_same_actual_resources,
    parse_quantity,
)
from podwright.scheduler.framework import (
    ASSIGNED_POD,
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    COSCHEDULING_POD_GROUP,
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    DEVICE_CLASS,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD_GROUP,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    STORAGE_CLASS,
    UNSCHEDULABLE_POD,
    UNSCHEDULABLE_POD_ADD,
    VOLUME_ATTACHMENT,
    ActionType,
    ClusterEvent,
)
from podwright.scheduler.queueing.places import QueueName
from podwright.scheduler.queueing.pod import QueuedPod

# Hint tables recognize a repeated event by identity.
_PLAIN_UPDATES: Final = {
    resource: (ClusterEvent(resource, ActionType.UPDATE),)
    for resource in (ASSIGNED_POD, UNSCHEDULABLE_POD)
}
_CLAIMS, _CLAIM = "resourceClaimStatuses", "extendedResourceClaimStatus"
_RESOURCE_OF: Final[dict[type[KubernetesObject], str]] = {
    Node: NODE,
    PersistentVolume: PERSISTENT_VOLUME,
    PersistentVolumeClaim: PERSISTENT_VOLUME_CLAIM,
    CSINode: CSI_NODE,
    CSIDriver: CSI_DRIVER,
    CSIStorageCapacity: CSI_STORAGE_CAPACITY,
    VolumeAttachment: VOLUME_ATTACHMENT,
    StorageClass: STORAGE_CLASS,
    ResourceClaim: RESOURCE_CLAIM,
    ResourceSlice: RESOURCE_SLICE,
    DeviceClass: DEVICE_CLASS,
    PodGroup: POD_GROUP,
    CoschedulingPodGroup: COSCHEDULING_POD_GROUP,
}


class _Events(NamedTuple):
    """The events of the changes of one kind."""

    added: tuple[ClusterEvent, ...]
    updated: tuple[ClusterEvent, ...]
    deleted: tuple[ClusterEvent, ...]


_EVENTS_OF: Final = {
    kind: _Events(
        (ClusterEvent(resource, ActionType.ADD),),
        (ClusterEvent(resource, ActionType.UPDATE),),
        (ClusterEvent(resource, ActionType.DELETE),),
    )
    for kind, resource in _RESOURCE_OF.items()
}

_ADD_OR_DELETE: Final = (ActionType.ADD, ActionType.DELETE)
_OF_NODES: Final = (
    ActionType.UPDATE_NODE_ALLOCATABLE,
    ActionType.UPDATE_NODE_LABEL,
    ActionType.UPDATE_NODE_TAINT,
    ActionType.UPDATE_NODE_CONDITION,
    ActionType.UPDATE_NODE_ANNOTATION,
    ActionType.UPDATE_NODE_DECLARED_FEATURE,
)
_OF_PODS: Final = (
    ActionType.UPDATE,
    ActionType.UPDATE_POD_LABEL,
    ActionType.UPDATE_POD_SCALE_DOWN,
    ActionType.UPDATE_POD_TOLERATION,
    ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
    ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM,
)


@cache
def possible_events() -> tuple[ClusterEvent, ...]:
    """Return every event that a change can have."""
    actions_of = dict.fromkeys(_RESOURCE_OF.values(), (*_ADD_OR_DELETE, ActionType.UPDATE)) | {
        NODE: (*_ADD_OR_DELETE, *_OF_NODES),
        ASSIGNED_POD: (*_ADD_OR_DELETE, *_OF_PODS),
        UNSCHEDULABLE_POD: (ActionType.ADD, *_OF_PODS),
    }
    return tuple(
        ClusterEvent(resource, action)
        for resource, actions in actions_of.items()
        for action in actions
    )


def derive_events(
    old: KubernetesObject | None, new: KubernetesObject | None, *, gang_scheduling: bool = False
) -> tuple[ClusterEvent, ...]:
    """Return the cluster events of one change, in the order of processing.

    Parameters
    ----------
    old : KubernetesObject or None
        The object before; None if it was added.
    new : KubernetesObject or None
        The object after; None if it was deleted.
    gang_scheduling : bool
        Feature gate GangScheduling: a new pending pod is an event for its group.

    Returns
    -------
    tuple of ClusterEvent
        Empty if the change is not relevant to any plugin.

    Notes
    -----
    `SchedulingQueue.update` derives the events of a pending pod itself, so they must not be passed
    to `move` again. The deletion of a pending pod is an event only if the pod was nominated or
    waited at Permit; for a nominated pod, only pods of no higher priority are requeued.
    """
    changed = old if new is None else new
    if isinstance(changed, Pod):
        assert old is None or isinstance(old, Pod), old
        return _pod_events(
            old, new if isinstance(new, Pod) else None, gang_scheduling=gang_scheduling
        )
    if isinstance(old, Node) and isinstance(new, Node):
        return derive_node_update(old, new)
    events = None if changed is None else _EVENTS_OF.get(type(changed))
    if isinstance(changed, Unknown):
        action = ActionType.ADD if old is None else ActionType.UPDATE
        return (ClusterEvent(changed.resource, action if new is not None else ActionType.DELETE),)
    if events is None:
        return ()
    if old is None:
        return events.added
    return events.deleted if new is None else events.updated


def derive_pod_update(old: Pod, new: Pod) -> tuple[ClusterEvent, ...]:
    """Return the cluster events of a pod update; never empty.

    Notes
    -----
    Upstream: pkg/scheduler/framework/events.go, PodSchedulingPropertiesChange
    """
    resource = ASSIGNED_POD if new.spec.node_name else UNSCHEDULABLE_POD
    actions = []
    before, after = old.spec, new.spec
    if new.metadata.labels != old.metadata.labels:
        actions.append(ActionType.UPDATE_POD_LABEL)
    if _is_scaled_down(old, new):
        actions.append(ActionType.UPDATE_POD_SCALE_DOWN)
    # Most updates change the status only and share the spec object of the previous version.
    if before is not after:
        if before.scheduling_gates and not after.scheduling_gates:
            actions.append(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        # Tolerations can be added but neither changed nor removed, so comparing counts suffices.
        if len(after.tolerations) != len(before.tolerations):
            actions.append(ActionType.UPDATE_POD_TOLERATION)
    if _has_other_claims(old.raw.get("status"), new.raw.get("status")):
        actions.append(ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    if not actions:
        return _PLAIN_UPDATES[resource]
    return tuple(ClusterEvent(resource, action) for action in actions)


def derive_node_update(old: Node, new: Node) -> tuple[ClusterEvent, ...]:
    """Return the cluster events of a node update.

    Notes
    -----
    Upstream: pkg/scheduler/framework/events.go, NodeSchedulingPropertiesChange
    """
    actions = []
    if old.spec.unschedulable and not new.spec.unschedulable:
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if not _same_quantities(old.status.allocatable, new.status.allocatable):
        actions.append(ActionType.UPDATE_NODE_ALLOCATABLE)
    if old.metadata.labels != new.metadata.labels:
        actions.append(ActionType.UPDATE_NODE_LABEL)
    if old.spec.taints != new.spec.taints:
        actions.append(ActionType.UPDATE_NODE_TAINT)
    if _condition_statuses(old) != _condition_statuses(new):
        actions.append(ActionType.UPDATE_NODE_CONDITION)
    if old.metadata.annotations != new.metadata.annotations:
        actions.append(ActionType.UPDATE_NODE_ANNOTATION)
    if old.status.declared_features != new.status.declared_features:
        actions.append(ActionType.UPDATE_NODE_DECLARED_FEATURE)
    return tuple(ClusterEvent(NODE, action) for action in actions)


def _pod_events(
    old: Pod | None, new: Pod | None, *, gang_scheduling: bool
) -> tuple[ClusterEvent, ...]:
    if new is None:
        # The deletion of a pending pod frees its nomination, as that of an assigned pod frees
        # resources.
        return (ASSIGNED_POD_DELETE,)
    if old is None:
        if new.spec.node_name:
            return (ASSIGNED_POD_ADD,)
        return (UNSCHEDULABLE_POD_ADD,) if gang_scheduling else ()
    if new.spec.node_name and not old.spec.node_name:
        return (ASSIGNED_POD_ADD,)
    return derive_pod_update(old, new)


def _is_scaled_down(old: Pod, new: Pod) -> bool:
    # If the spec is unchanged, as in most updates, only a resize changes the requests.
    if (old.spec is new.spec or old.spec == new.spec) and has_same_actual_resources(old, new):
        return False
    # Removing a request of zero is a scale-down, too; see golden case hints-t-0205.
    before, after = assigned_request_millis(old), assigned_request_millis(new)
    return any(name not in after or amount > after[name] for name, amount in before.items())


def _has_other_claims(
    before: Mapping[str, object] | None, after: Mapping[str, object] | None
) -> bool:
    """Whether the resource claims in the documents of two statuses differ."""
    if before is after:
        return False
    before, after = before or {}, after or {}
    # An empty list is not a list.
    return (before.get(_CLAIMS) or []) != (after.get(_CLAIMS) or []) or (
        before.get(_CLAIM) != after.get(_CLAIM)
    )


def _condition_statuses(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


def _same_quantities(old: ResourceList, new: ResourceList) -> bool:
    return old == new or (
        old.keys() == new.keys()
        and all(parse_quantity(old[name]).nano == parse_quantity(new[name]).nano for name in old)
    )


# Pods in flight, and the cluster events during their attempts.
#
# A cluster event between a pod's `pop` and its `park` could have resolved the rejection, so events
# are kept while a pod popped before them is in flight. All pods share one list of events, and each
# pod stores the position at which its attempt started. When the oldest attempt ends, the events
# that only it needed are dropped.


class RecordedEvent(NamedTuple):
    """An event with its objects."""

    event: ClusterEvent
    old: object | None
    new: object | None


class InFlight:
    """The pods in flight and the events since the oldest of their attempts started."""

    def __init__(self) -> None:
        # Ordered by pop, so the first entry starts earliest. In a plain dict, finding the first
        # entry would skip all deleted ones each time.
        self._begins: OrderedDict[str, tuple[int, QueuedPod]] = OrderedDict()
        self._events: deque[RecordedEvent] = deque()
        # Positions include the dropped events, so that dropping more does not change them.
        self._dropped_count = 0
        self.event_counts: Counter[str] = Counter()
        """Recorded events by label, for `scheduler_inflight_events`."""

    def __len__(self) -> int:
        return len(self._begins)

    def __contains__(self, uid: str) -> bool:
        return uid in self._begins

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter([queued for _, queued in self._begins.values()])

    def get(self, uid: str) -> QueuedPod | None:
        """Return the pod in flight with that UID, or None."""
        begin = self._begins.get(uid)
        return None if begin is None else begin[1]

    def begin(self, queued: QueuedPod) -> bool:
        """Start keeping events for a popped pod; False if it is already in flight."""
        if queued.uid in self._begins:
            return False
        self._begins[queued.uid] = (self._dropped_count + len(self._events), queued)
        return True

    def record(self, event: ClusterEvent, old: object | None, new: object | None) -> None:
        """Keep the event if any pod is in flight."""
        if self._begins:
            self._events.append(RecordedEvent(event, old, new))
            self.event_counts[event.label] += 1

    def events_since_pop(self, uid: str) -> list[RecordedEvent]:
        """Return the events since the pod was popped, oldest first."""
        begin_index, _ = self._begins[uid]
        return list(islice(self._events, begin_index - self._dropped_count, None))

    def end(self, uid: str) -> QueuedPod | None:
        """Stop keeping events for the pod; None if it is not in flight."""
        ended = self._begins.pop(uid, None)
        if ended is None:
            return None
        if not self._events:
            return ended[1]
        # Events before the pop of the oldest pod that is still in flight concern no pod.
        oldest = next(iter(self._begins.values()), None)
        keep_from = self._dropped_count + len(self._events) if oldest is None else oldest[0]
        while self._dropped_count < keep_from:
            self.event_counts[self._events.popleft().event.label] -= 1
            self._dropped_count += 1
        return ended[1]

    def flights(self) -> list[tuple[int, QueuedPod]]:
        """Return the pods in flight, each with the number of `events` before its pop."""
        dropped = self._dropped_count
        return [(begin - dropped, queued) for begin, queued in self._begins.values()]

    @property
    def events(self) -> tuple[RecordedEvent, ...]:
        """The kept events, oldest first."""
        return tuple(self._events)

    def restore(
        self, flights: Iterable[tuple[int, QueuedPod]], events: Iterable[RecordedEvent]
    ) -> None:
        """Restore the values of `flights` and `events`; no pod may be in flight."""
        assert not self._begins, list(self._begins)
        self._events.extend(events)
        for recorded in self._events:
            self.event_counts[recorded.event.label] += 1
        for begin, queued in flights:
            self._begins[queued.uid] = (self._dropped_count + begin, queued)
            queued.place = QueueName.IN_FLIGHT

    def validate(self) -> None:
        """Assert that only events that a pod in flight may need are kept."""
        begins = [begin_index for begin_index, _ in self._begins.values()]
        assert begins == sorted(begins), begins
        assert all(begin_index >= self._dropped_count for begin_index in begins), begins
        assert begins or not self._events, f"{len(self._events)} events are not needed"

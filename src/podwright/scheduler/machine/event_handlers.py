"""Changes of objects: what they do to the cluster, the queue and pods on their way.

Changes may be late, repeated, or overtaken by what the machine did itself; what counts is
how an object looked before and how it looks now. A pod is in the cluster if it has a node,
in the queue if it has none and one of the profiles is meant, and neither if it has ended.
While a pod is assumed its updates change nothing: it counts as it was scheduled, until it is
seen with its node, or is gone.

Upstream: pkg/scheduler/eventhandlers.go
"""

from __future__ import annotations

from typing import Final

from podwright._compiled_classes import mypyc_attr
from podwright.apimachinery.objects import KubernetesObject, Node, Object, Pod, Unknown
from podwright.scheduler.framework import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    RESOURCE_SLICE,
    UNSCHEDULABLE_POD,
    UNSCHEDULABLE_POD_ADD,
    UNSCHEDULABLE_POD_UPDATE,
    ActionType,
    ClusterEvent,
)
from podwright.scheduler.machine.cycles.binding import Binding
from podwright.scheduler.machine.cycles.binding_cycles import BindingCycles, forget
from podwright.scheduler.machine.cycles.plugin_calls import notify_pod_ended
from podwright.scheduler.machine.events import object_key
from podwright.scheduler.machine.state import GANG_SCHEDULING, State
from podwright.scheduler.queueing import SchedulingQueue, derive_events, derive_pod_update

# `label` is computed at each access.
_ADDED = ASSIGNED_POD_ADD.label
_DELETED = ASSIGNED_POD_DELETE.label
_PENDING_ADDED = UNSCHEDULABLE_POD_ADD.label
_PENDING_UPDATED = UNSCHEDULABLE_POD_UPDATE.label
_ENDED = frozenset({"Succeeded", "Failed"})
_PENDING_DELETED = ClusterEvent(UNSCHEDULABLE_POD, ActionType.DELETE).label


@mypyc_attr(allow_interpreted_subclasses=True)
class EventHandlers:
    """Handles changes of objects."""

    def __init__(self, state: State, bindings: BindingCycles) -> None:
        self._state = state
        self._bindings = bindings

    def put(self, obj: Object) -> None:
        """Handle a new object or a new version of one."""
        if isinstance(obj, Pod):
            self._put_pod(obj)
            return
        state = self._state
        key = object_key(obj, obj.key)
        old = state.objects.get(key)
        state.objects[key] = obj
        taints_version = state.cluster.devices.taints_version
        state.cluster.put(obj)
        for event in derive_events(old, obj):
            self._move_pods(event, old=old, new=obj)
        self._move_pods_if_tainted(taints_version)

    def delete(self, obj: Object) -> None:
        """Handle a deleted object; unknown ones are ignored."""
        if isinstance(obj, Pod):
            self._delete_pod(obj)
            return
        state = self._state
        old = state.objects.pop(object_key(obj, obj.key), None)
        if old is None:
            return
        taints_version = state.cluster.devices.taints_version
        if not isinstance(obj, Node):
            state.cluster.delete(old)
        for event in derive_events(old, None):
            self._move_pods(event, old=old)
        self._move_pods_if_tainted(taints_version)
        if isinstance(obj, Node):
            # Hints read the cluster with the node still in it.
            state.cluster.delete(old)

    def _move_pods_if_tainted(self, before: int) -> None:
        """Report changed taints of devices by rules, as updates of their slices.

        Upstream: staging/src/k8s.io/dynamic-resource-allocation/resourceslice/tracker/tracker.go,
        syncSlice
        """
        if self._state.cluster.devices.taints_version != before:
            self._move_pods(ClusterEvent(RESOURCE_SLICE, ActionType.UPDATE))

    def _move_pods(self, event: ClusterEvent, *, old: object = None, new: object = None) -> None:
        """Move the pods that the event may make schedulable."""
        state = self._state
        queue = state.queue
        is_custom = isinstance(old if new is None else new, Unknown)
        # Upstream watches custom resources only for plugins that register them.
        if is_custom and isinstance(queue, SchedulingQueue) and not queue.registers(event):
            return
        queue.move(event, state.now_ns, old=old, new=new)
        state.metrics.handled(event.label)

    # ------------------------------------------------------------ pods

    def _put_pod(self, pod: Pod) -> None:
        state = self._state
        key = pod.key
        old = state.pods.get(key)
        if old is not None and old.metadata.uid != pod.metadata.uid:
            # Deleted and created again; the deletion was not observed.
            self._delete_pod(old)
            old = None
        node_name = pod.spec.node_name
        if not node_name and has_lost_its_node(old, pod):
            return
        if pod.status.phase in _ENDED:
            if old is not None:
                self._delete_pod(pod)
            return
        self._keep(key, old, pod)
        if node_name:
            if old is not None and old.spec.node_name:
                self._update_assigned(key, old, pod)
                return
            self._assigned(key, pod)
            if old is not None and old.spec.scheduler_name in state.profiles:
                state.queue.delete(old, state.now_ns, key=key)
        elif old is None:
            if pod.spec.scheduler_name in state.profiles:
                self._pending(key, pod)
        elif old.spec.scheduler_name in state.profiles:
            self._update_pending(old, pod)

    def _pending(self, key: str, pod: Pod) -> None:
        """Queue a pod that was seen for the first time."""
        state = self._state
        state.queue.add(pod, state.now_ns, key=key)
        if state.groups.has(GANG_SCHEDULING):
            # Upstream moves pods on new pods only if gangs are scheduled.
            state.queue.move(UNSCHEDULABLE_POD_ADD, state.now_ns, new=pod)
        state.metrics.handled(_PENDING_ADDED)

    def _keep(self, key: str, old: Pod | None, pod: Pod) -> None:
        """Store a version of a pod, and update the groups that it belongs to."""
        state = self._state
        state.pods[key] = pod
        if state.expired and (old is None or not _is_same_version(old, pod)):
            state.expired.discard(pod.metadata.uid)
        groups = state.groups
        if not groups.is_used:
            return
        if old is None:
            groups.put(pod)
        else:
            groups.replace(old, pod)

    def _assigned(self, key: str, pod: Pod) -> None:
        """Count a pod that was seen with a node for the first time."""
        state = self._state
        state.cluster.put_pod(key, pod)
        state.assumed.pop(pod.metadata.uid, None)
        state.queue.move(ASSIGNED_POD_ADD, state.now_ns, new=pod)
        state.metrics.handled(_ADDED)

    def _update_assigned(self, key: str, old: Pod, pod: Pod) -> None:
        """Handle a newer version of a pod that has a node."""
        state = self._state
        state.cluster.put_pod(key, pod)
        for event in derive_pod_update(old, pod):
            self._move_pods(event, old=old, new=pod)

    def _update_pending(self, old: Pod, pod: Pod) -> None:
        state = self._state
        if _is_same_version(old, pod):
            return
        binding = state.assumed.get(pod.metadata.uid)
        if binding is not None:
            if pod.is_terminating and not old.is_terminating:
                self._assumed_pod_goes(binding)
            return
        state.queue.update(old, pod, state.now_ns)
        state.metrics.handled(_PENDING_UPDATED)
        nominated = old.status.nominated_node_name
        if nominated and nominated != pod.status.nominated_node_name:
            self._nomination_ended(old)

    def _delete_pod(self, pod: Pod) -> None:
        state = self._state
        key = pod.key
        old = state.pods.get(key)
        if old is None or old.metadata.uid != pod.metadata.uid:
            # An outdated event: the pod is gone already, and another one may have its name.
            return
        del state.pods[key]
        if state.releasing:
            self._release(old, pod)
        state.expired.discard(old.metadata.uid)
        if state.groups.is_used:
            state.groups.remove(old)
        if old.spec.node_name or pod.spec.node_name:
            state.cluster.delete_pod(key, pod)
            state.assumed.pop(pod.metadata.uid, None)
            state.queue.move(ASSIGNED_POD_DELETE, state.now_ns, old=pod)
            state.metrics.handled(_DELETED)
            return
        if old.spec.scheduler_name not in state.profiles:
            return
        state.queue.delete(old, state.now_ns, key=key)
        state.metrics.handled(_PENDING_DELETED)
        binding = state.assumed.get(old.metadata.uid)
        if binding is not None:
            self._assumed_pod_goes(binding)
        elif pod.status.nominated_node_name:
            self._nomination_ended(pod)

    def _release(self, old: Pod, pod: Pod) -> None:
        """Call `pod_ended` of the plugins if the pod is bound, as far as is known.

        If its binding cycle still runs, the outcome decides: Unreserve, or `pod_ended` then.
        """
        state = self._state
        uid = old.metadata.uid
        if uid in state.bindings_by_uid:
            return
        binding = state.assumed.get(uid)
        if pod.spec.node_name or uid in state.expired:
            notify_pod_ended(state.releasing, pod, state.on_ignored)
        elif old.spec.node_name:
            notify_pod_ended(state.releasing, old, state.on_ignored)
        elif binding is not None:
            notify_pod_ended(state.releasing, binding.assumed_pod, state.on_ignored)

    def _assumed_pod_goes(self, binding: Binding) -> None:
        """Free the node of an assumed pod that is deleted, or is being deleted.

        A binding cycle past Permit continues and fails by itself.
        """
        state = self._state
        assumed_pod = binding.assumed_pod
        if not self._bindings.reject(binding.uid, "", "removed"):
            forget(state, binding)
        state.queue.move(ASSIGNED_POD_DELETE, state.now_ns, old=assumed_pod)

    def _nomination_ended(self, pod: Pod) -> None:
        """Move the pods that had to leave room for a nominated one."""
        state = self._state
        priority = pod.priority
        state.queue.move(
            ASSIGNED_POD_DELETE,
            state.now_ns,
            old=pod,
            pre_check=lambda other: other.priority <= priority,
        )


def has_lost_its_node(old: Pod | None, new: Pod) -> bool:
    """Report whether an event is outdated: a pod that had a node never loses it."""
    return old is not None and bool(old.spec.node_name) and not new.spec.node_name


def _is_same_version(old: Pod, new: Pod) -> bool:
    """Report whether nothing has changed; objects without a version always count as changed."""
    version = new.metadata.resource_version
    return bool(version) and version == old.metadata.resource_version


# Which changes are delivered to the scheduler: those of watched kinds that affect it.

UNWATCHED_KINDS: Final = frozenset(
    {
        ("", "ConfigMap"), ("", "Event"), ("", "Secret"), ("", "ServiceAccount"),
        ("apps", "ControllerRevision"), ("apps", "DaemonSet"), ("apps", "Deployment"),
        ("batch", "CronJob"), ("batch", "Job"), ("coordination.k8s.io", "Lease"),
        ("events.k8s.io", "Event"),
    }
)  # fmt: skip
"""Kinds that the scheduler does not watch.

The leases of 5,000 nodes are renewed 500 times a second. A decision log would keep each version
until its next checkpoint.
"""

SELECTOR_KINDS: Final = frozenset(
    {
        ("", "ReplicationController"), ("", "Service"),
        ("apps", "ReplicaSet"), ("apps", "StatefulSet"),
    }
)  # fmt: skip
"""Kinds of which the scheduler reads the selector only, so changes of their status are skipped."""


def changes_selector(old: KubernetesObject | None, new: KubernetesObject | None) -> bool:
    """Whether an object of these kinds may have another selector, or was created or deleted."""
    if old is None or new is None:
        return True
    return old.metadata.labels != new.metadata.labels or getattr(old, "spec", None) != getattr(
        new, "spec", None
    )

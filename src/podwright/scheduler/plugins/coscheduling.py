"""Coscheduling: schedules the pods of a group together or not at all.

**What it does.** Pods with the label ``scheduling.x-k8s.io/pod-group`` belong to the PodGroup
(scheduling.x-k8s.io/v1alpha1) of that name in their namespace. A member is not scheduled before
`minMember` members exist, and waits at Permit until `minMember` members have a node. If one
member fits on no node, the waiting members are rejected, which frees their nodes for other
groups.

**Why it matters.** Two partially placed jobs would block each other forever.

**Configuration.** `CoschedulingArgs`: `permitWaitingTimeSeconds` (60) where a group has no
`scheduleTimeoutSeconds`; `podGroupBackoffSeconds` (0: none), how long a rejected group is not
scheduled; `podGroupRejectPercentage` (10): the share of missing members up to which the waiting
members are not rejected. It must be the QueueSort plugin of all profiles in place of
PrioritySort, so that members are consecutive in the queue, in the order in which their groups
were created.

**Example.** In a group with ``minMember: 3`` two members fit and wait at Permit. The third fits
on no node, and all three stay pending without a node.

The plugin comes from kubernetes-sigs/scheduler-plugins. The message for `minResources` that
exceed the free resources is podwright's own, a rejected group is also tried again when other pods
free room or a node is added, and the controller that keeps the status of
PodGroups is not part of the scheduler.

Upstream: scheduler-plugins pkg/coscheduling/coscheduling.go, pkg/coscheduling/core/core.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import timedelta

import numpy as np

from podwright.apimachinery.objects import (
    POD_GROUP_LABEL,
    SECOND_NS,
    CoschedulingPodGroup,
    Duration,
    NamespacedName,
    Pod,
    assigned_requests,
    quantity_milli_value,
    quantity_value,
    timestamp_ns,
)
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import CoschedulingArgs
from podwright.scheduler.framework import (
    COSCHEDULING_POD_GROUP,
    NODE,
    POD,
    ActionType,
    Code,
    Cycle,
    EventHint,
    FailedCycle,
    Handle,
    Hint,
    Members,
    Plugin,
    PostFilterResult,
    PreFilterResult,
    Status,
)
from podwright.scheduler.plugins.hints.objects import only, queue_if

_NEVER_NS = -1


class Coscheduling(Plugin):
    """Keep the pods of a labelled group together."""

    name = "Coscheduling"
    Args = CoschedulingArgs
    rests_when_skipped = True

    def __init__(self, args: CoschedulingArgs) -> None:
        self.args = args
        # All by the group's name. An entry counts up to and including its time, as in the
        # go-cache of upstream's core.go.
        self._backed_off_until_ns: dict[NamespacedName, int] = {}
        self._has_room_until_ns: dict[NamespacedName, int] = {}
        self._failed_ns: dict[NamespacedName, int] = {}

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return new pods, groups that appear or change, and room that others free.

        Upstream does not register the last. When a member is retried while its group is being
        rejected, the rejection includes it, and nothing but this plugin has then rejected any
        member: upstream tries the group again after five minutes, however much room there is.
        """
        return (
            EventHint(POD, ActionType.ADD),
            EventHint(POD, ActionType.DELETE, _after_pod_deleted),
            EventHint(NODE, ActionType.ADD),
            EventHint(COSCHEDULING_POD_GROUP, ActionType.ADD | ActionType.UPDATE),
        )

    def pod_key(self, pod: Pod) -> Hashable:
        """Return (), so that results are shared, for pods without a group."""
        return () if self.group_of(pod) is None else (pod.key, pod.metadata.uid)

    def key_is_of_template(self, pod: Pod) -> bool:
        """Return False for members of a group: each has its own key."""
        return self.group_of(pod) is None

    def group_of(self, pod: Pod) -> NamespacedName | None:
        """Return the `namespace/name` of the group that the pod's label names."""
        name = pod.metadata.labels.get(POD_GROUP_LABEL)
        return f"{pod.metadata.namespace}/{name}" if name else None

    def remembers(self) -> bool:
        """Return whether a group is backed off, has failed, or is known to have room."""
        now_ns = 0 if self.handle is None else self.handle.now_ns
        timed = (*self._backed_off_until_ns.values(), *self._has_room_until_ns.values())
        return bool(self._failed_ns) or any(until_ns >= now_ns for until_ns in timed)

    def _member(self, pod: Pod) -> tuple[NamespacedName, Handle, CoschedulingPodGroup] | None:
        """Return the name of the pod's group, the handle, and the group, if all exist."""
        group, handle = self.group_of(pod), self.handle
        if group is None or handle is None:
            return None
        found = handle.find(CoschedulingPodGroup, group)
        return None if found is None else (group, handle, found)

    # ------------------------------------------------------------ the queue

    def queue_sort_key(self, pod: Pod, timestamp_ns: int) -> tuple[int, int, str]:
        """Return what queued pods are ordered by: priority, the group's age, the pod's name.

        The creation time of a rejected group is the time of its rejection from then on, so that
        it does not come before other groups that could use the freed nodes.
        """
        since_ns = timestamp_ns
        member = self._member(pod)
        if member is not None:
            group, _, found = member
            since_ns = self._failed_ns.get(group, _created_ns(found, timestamp_ns))
        return (-pod.priority, since_ns, pod.key)

    # ------------------------------------------------------------ the cycle

    def pre_filter(self, cycle: Cycle) -> Status | PreFilterResult:
        """Reject a member whose group cannot be scheduled now."""
        group, handle = self.group_of(cycle.pod), self.handle
        if group is None or handle is None:
            return Status.SKIPPED
        found = handle.find(CoschedulingPodGroup, group)
        if found is None:
            return Status.OK
        if handle.now_ns <= self._backed_off_until_ns.get(group, _NEVER_NS):
            return Status.unresolvable(f"podGroup {group} failed recently")
        members = handle.members(self.name, group)
        pod, least = cycle.pod.metadata.name, found.spec.min_member
        if len(members.pods) < least:
            return Status.unresolvable(
                f"pre-filter pod {pod} cannot find enough sibling pods, current pods number: "
                f"{len(members.pods)}, minMember of group: {least}"
            )
        if sum(not member.spec.scheduling_gates for member in members.pods.values()) < least:
            return Status.unresolvable(
                f"pre-filter pod {pod} cannot proceed due to gated pods in the same PodGroup"
            )
        return self._check_free_resources(cycle.cluster, group, found, members)

    def _check_free_resources(
        self,
        cluster: Cluster,
        group: NamespacedName,
        found: CoschedulingPodGroup,
        members: Members,
    ) -> Status:
        """Reject a group that requests more than the free resources of all nodes together."""
        assert self.handle is not None, "there is no machine"
        now_ns = self.handle.now_ns
        known_until_ns = self._has_room_until_ns.get(group, _NEVER_NS)
        if not found.spec.min_resources or now_ns <= known_until_ns:
            return Status.OK
        requested = {
            name: quantity_milli_value(amount) if name == "cpu" else quantity_value(amount)
            for name, amount in found.spec.min_resources.items()
        }
        requested["pods"] = found.spec.min_member
        missing = _missing(cluster, requested, members)
        if missing:
            gap = ", ".join(
                f"{name}: {amount}{'m' if name == 'cpu' else ''}"
                for name, amount in sorted(missing.items())
            )
            return Status.unresolvable(f"resource gap: {gap}")
        seconds = self.args.permit_waiting_time_seconds
        self._has_room_until_ns[group] = now_ns + seconds * SECOND_NS
        return Status.OK

    def post_filter(self, cycle: Cycle, failed: FailedCycle) -> PostFilterResult:
        """Make the members that wait give their nodes back, if this one is needed."""
        member = self._member(cycle.pod)
        if member is None:
            return PostFilterResult(status=Status.unschedulable("can not find pod group"))
        group, handle, found = member
        members, least = handle.members(self.name, group), found.spec.min_member
        missing = least - len(members.scheduled)
        if missing * 100 <= self.args.pod_group_reject_percentage * least:
            # Enough have a node, or nearly so: this one just waits for room.
            return PostFilterResult(status=Status(Code.UNSCHEDULABLE))
        self._reject(handle, members, "optimistic rejection in PostFilter")
        backoff_ns = self.args.pod_group_backoff_seconds * SECOND_NS
        if backoff_ns and len(members.pods) >= least:
            self._back_off(group, handle.now_ns, backoff_ns)
        self._has_room_until_ns.pop(group, None)
        return PostFilterResult(
            status=Status.unschedulable(
                f"PodGroup {group} gets rejected due to Pod {cycle.pod.metadata.name} is "
                "unschedulable even after PostFilter"
            )
        )

    def _back_off(self, group: NamespacedName, now_ns: int, backoff_ns: int) -> None:
        # A back-off that runs is not made longer.
        if self._backed_off_until_ns.get(group, _NEVER_NS) < now_ns:
            self._backed_off_until_ns[group] = now_ns + backoff_ns

    # ------------------------------------------------------------ placing

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        """Wait until enough members have a node; the last one allows the others."""
        group, handle = self.group_of(cycle.pod), self.handle
        if group is None or handle is None:
            return Status.OK
        found = handle.find(CoschedulingPodGroup, group)
        if found is None:
            return Status.unschedulable("PodGroup not found")
        members = handle.members(self.name, group)
        if len(members.scheduled) >= found.spec.min_member:
            for uid in handle.waiting():
                if uid in members.pods:
                    handle.allow(uid, self.name)
            self._failed_ns.pop(group, None)
            return Status.OK
        seconds = found.spec.schedule_timeout_seconds or self.args.permit_waiting_time_seconds
        uid = cycle.pod.metadata.uid
        if members.scheduled <= {uid}:
            handle.activate([pod for pod in members.unscheduled() if pod.metadata.uid != uid])
        return Status.wait(), timedelta(seconds=seconds)

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Reserve nothing; the plugin implements Reserve for Unreserve."""
        return Status.OK

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        """Make the members that wait give up when one of them has failed."""
        member = self._member(cycle.pod)
        if member is None:
            return
        group, handle, _ = member
        self._reject(handle, handle.members(self.name, group), "rejection in Unreserve")
        self._failed_ns[group] = handle.now_ns
        self._has_room_until_ns.pop(group, None)

    def _reject(self, handle: Handle, members: Members, message: str) -> None:
        for uid in handle.waiting():
            if uid in members.pods:
                handle.reject(uid, self.name, message)


def _after_pod_deleted(pod: Pod, old: object | None, _new: object | None) -> Hint:
    """Queue if the deleted pod frees room, and is not another member that was rejected."""
    deleted = only(Pod, old)
    if not deleted.spec.node_name and not deleted.status.nominated_node_name:
        return Hint.SKIP
    group, of_deleted = (each.metadata.labels.get(POD_GROUP_LABEL) for each in (pod, deleted))
    return queue_if(not group or group != of_deleted or pod.namespace != deleted.namespace)


def _created_ns(group: CoschedulingPodGroup, otherwise_ns: int) -> int:
    created_ns = timestamp_ns(group.metadata.creation_timestamp)
    return otherwise_ns if created_ns is None else created_ns


def _missing(cluster: Cluster, requested: Mapping[str, int], members: Members) -> dict[str, int]:
    """Return the missing resources of all nodes together, with the members' own requests as free.

    Notes
    -----
    Nodes are summed in order until the sum suffices, so an overcommitted node counts only if it
    comes earlier.
    """
    nodes = cluster.nodes
    free = nodes.allocatable - nodes.requested
    for pod in members.pods.values():
        placed = cluster.pods.get(pod.key)
        if placed is not None:
            for resource, amount in assigned_requests(placed.pod).items():
                free[placed.slot, nodes.resource_index(resource)] += amount
            free[placed.slot, nodes.resource_index("pods")] += 1
    order = nodes.visiting_order()
    missing: dict[str, int] = {}
    for resource, amount in requested.items():
        index = nodes.resources.get(resource)
        most = 0
        if index is not None and len(order):
            most = int(np.cumsum(free[order, index]).max())
        if most < amount:
            missing[resource] = amount - most
    return missing

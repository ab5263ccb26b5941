"""GangScheduling: schedules at least `minCount` pods of a group, or none (alpha, off by default).

**What it does.** Rejects the pods of a PodGroup with the policy `gang` at PreEnqueue until the
group and `minCount` of its pods exist. At Permit the pods wait until `minCount` of them have a
node, five minutes at most; the last one allows the others.

**Why it matters.** A partially placed training job does no work, but occupies nodes that
another job could use.

**Configuration.** None; the feature gates GenericWorkload and GangScheduling enable it.

**Example.** Of a group with ``minCount: 3`` two pods are created: they wait with ``waiting for
minCount pods from a gang to appear in scheduling queue``. With the third all are scheduled in
one cycle of their group.

Groups with the policy `basic` are also scheduled in one cycle, but each of their pods may be
scheduled alone.

Upstream: pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import timedelta
from typing import Final

from podwright.apimachinery.objects import Duration, GangSchedulingPolicy, Pod, PodGroup
from podwright.scheduler.framework import (
    POD,
    POD_GROUP,
    ActionType,
    Cycle,
    EventHint,
    Handle,
    Hint,
    Plugin,
    Status,
)
from podwright.scheduler.plugins.hints.objects import changed, queue_if

_LONGEST_WAIT: Final = timedelta(minutes=5)


class GangScheduling(Plugin):
    """Schedule at least `minCount` pods of a group, or none."""

    name = "GangScheduling"
    key_reads_all_labels = False

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return new pods and new pod groups."""
        return (
            EventHint(POD, ActionType.ADD, after_pod_added),
            EventHint(POD_GROUP, ActionType.ADD, after_group_added),
        )

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the group."""
        return self.group_of(pod) or ()

    def group_of(self, pod: Pod) -> str | None:
        """Return the `namespace/name` of the PodGroup; None for a pod without one."""
        group = pod.spec.scheduling_group
        if group is None or group.pod_group_name is None:
            return None
        return f"{pod.metadata.namespace}/{group.pod_group_name}"

    def pre_enqueue(self, pod: Pod) -> Status:
        """Hold a pod back whose group cannot be complete yet."""
        group, handle = self.group_of(pod), self.handle
        if group is None or handle is None:
            return Status.OK
        pod_group = handle.find(PodGroup, group)
        if pod_group is None:
            # "pods's" is upstream's spelling.
            name = group.partition("/")[2]
            return Status.unresolvable(
                f'waiting for pods\'s pod group "{name}" to appear in scheduling queue'
            )
        gang = pod_group.spec.scheduling_policy.gang
        if gang is not None and len(handle.members(self.name, group).pods) < gang.min_count:
            return Status.unresolvable(
                "waiting for minCount pods from a gang to appear in scheduling queue"
            )
        return Status.OK

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        """Wait until enough pods of the gang have a node; the last one allows the others."""
        group, handle = self.group_of(cycle.pod), self.handle
        if group is None or handle is None:
            return Status.OK
        pod_group = handle.find(PodGroup, group)
        if pod_group is None:
            name = group.partition("/")[2]
            return Status.error(
                f'failed to get podGroup {group}: podgroup.scheduling.k8s.io "{name}" not found'
            )
        gang = pod_group.spec.scheduling_policy.gang
        return Status.OK if gang is None else self._permit(handle, group, gang)

    def _permit(
        self, handle: Handle, group: str, gang: GangSchedulingPolicy
    ) -> Status | tuple[Status, Duration]:
        members = handle.members(self.name, group)
        if len(members.scheduled) < gang.min_count:
            # Members in backoff or unschedulable could otherwise come after this wait has ended.
            handle.activate(members.unscheduled())
            return (
                Status.wait("waiting for minCount pods from a gang to be scheduled"),
                _LONGEST_WAIT,
            )
        # Upstream iterates over a set; sorting by name makes the order deterministic.
        held = [uid for uid in handle.waiting() if uid in members.scheduled]
        for uid in sorted(held, key=lambda uid: members.pods[uid].key):
            handle.allow(uid, self.name)
        return Status.OK


# The hints of events: whether one may have undone the rejection of a pod.


def after_pod_added(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the new pod is of the same group."""
    _, added = changed(Pod, old, new)
    group = _group(pod)
    return queue_if(group is not None and group == _group(added))


def after_group_added(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if it is the pod's group."""
    _, added = changed(PodGroup, old, new)
    return queue_if(_group(pod) == (added.metadata.namespace, added.metadata.name))


def _group(pod: Pod) -> tuple[str, str] | None:
    group = pod.spec.scheduling_group
    if group is None or group.pod_group_name is None:
        return None
    return pod.metadata.namespace, group.pod_group_name

# No pod of a gang that does not fit is scheduled: the pod that would fit releases its node.
gangs

0s    node n1 cpu=2
0s    group default/g min=2
0s    pod default/a cpu=2 group=g
0s    pod default/b cpu=2 group=g
0s    cycle
----
event   default/a      FailedScheduling: pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or more plugins asked to wait and no plugin rejected pod
patch   default/a      PodScheduled=False Unschedulable
event   default/b      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/b      PodScheduled=False Unschedulable
patch   default/g      PodGroupScheduled=False Unschedulable
backoff default/a      until=1s after an error
backoff default/b      until=1s rejected_by=NodeResourcesFit

# All placements were reverted: a pod without a group gets the node at once.
1s    pod default/small cpu=2
1s    cycle
----
bind    default/small  n1
event   default/small  Scheduled: Successfully assigned default/small to n1

# A member that fits is retried without an event, and fails again.
2s    flush_backoff
2s    cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/a      PodScheduled=False Unschedulable
event   default/b      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
backoff default/a      until=3s rejected_by=NodeResourcesFit
backoff default/b      until=4s rejected_by=NodeResourcesFit

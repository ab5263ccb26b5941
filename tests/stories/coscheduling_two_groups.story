# Two half-scheduled groups: the group whose next member fails first releases its nodes.
coscheduling podGroupBackoffSeconds=10

0s    node n1 cpu=2
0s    node n2 cpu=2
0s    group default/x min=2
0s    group default/y min=2
0s    pod default/x1 cpu=2 group=x priority=4
0s    pod default/x2 cpu=2 group=x priority=2
0s    pod default/y1 cpu=2 group=y priority=3
0s    pod default/y2 cpu=2 group=y priority=1
0s    cycle
0s    cycle
----
patch   default/x1     nominatedNodeName=n1
patch   default/y1     nominatedNodeName=n2
wait    default/x1     on=n1 for=Coscheduling
wait    default/y1     on=n2 for=Coscheduling

# Each group has one of the two nodes that it needs. The third pod does not fit.
1s    cycle
----
event   default/x2     FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod., PodGroup default/x gets rejected due to Pod x2 is unschedulable even after PostFilter
patch   default/x2     PodScheduled=False Unschedulable
event   default/x1     FailedScheduling: 0/1 nodes are available: 1 optimistic rejection in PostFilter.
patch   default/x1     PodScheduled=False Unschedulable, nominatedNodeName=none
park    default/x1     rejected_by=Coscheduling
backoff default/x2     until=2s rejected_by=NodeResourcesFit

1s    cycle
----
bind    default/y2     n1
bind    default/y1     n2
event   default/y2     Scheduled: Successfully assigned default/y2 to n1
event   default/y1     Scheduled: Successfully assigned default/y1 to n2
backoff default/x1     until=2s rejected_by=Coscheduling

2s    flush_backoff
2s    cycle
2s    cycle
----
event   default/x1     FailedScheduling: 0/2 nodes are available: podGroup default/x failed recently. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling., PodGroup default/x gets rejected due to Pod x1 is unschedulable even after PostFilter
patch   default/x1     PodScheduled=False Unschedulable
event   default/x2     FailedScheduling: 0/2 nodes are available: podGroup default/x failed recently. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling., PodGroup default/x gets rejected due to Pod x2 is unschedulable even after PostFilter
patch   default/x2     PodScheduled=False Unschedulable
park    default/x1     rejected_by=Coscheduling
park    default/x2     rejected_by=Coscheduling

# The same with the other group first: one group releases its nodes and the other is scheduled.
coscheduling podGroupBackoffSeconds=10

0s    node n1 cpu=2
0s    node n2 cpu=2
0s    group default/x min=2
0s    group default/y min=2
0s    pod default/x1 cpu=2 group=x priority=3
0s    pod default/x2 cpu=2 group=x priority=1
0s    pod default/y1 cpu=2 group=y priority=4
0s    pod default/y2 cpu=2 group=y priority=2
0s    cycle
0s    cycle
----
patch   default/y1     nominatedNodeName=n1
patch   default/x1     nominatedNodeName=n2
wait    default/x1     on=n2 for=Coscheduling
wait    default/y1     on=n1 for=Coscheduling

# Each group has one of the two nodes that it needs. The third pod does not fit.
1s    cycle
----
event   default/y2     FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod., PodGroup default/y gets rejected due to Pod y2 is unschedulable even after PostFilter
patch   default/y2     PodScheduled=False Unschedulable
event   default/y1     FailedScheduling: 0/1 nodes are available: 1 optimistic rejection in PostFilter.
patch   default/y1     PodScheduled=False Unschedulable, nominatedNodeName=none
park    default/y1     rejected_by=Coscheduling
backoff default/y2     until=2s rejected_by=NodeResourcesFit

1s    cycle
----
bind    default/x2     n1
bind    default/x1     n2
event   default/x2     Scheduled: Successfully assigned default/x2 to n1
event   default/x1     Scheduled: Successfully assigned default/x1 to n2
backoff default/y1     until=2s rejected_by=Coscheduling

2s    flush_backoff
2s    cycle
2s    cycle
----
event   default/y1     FailedScheduling: 0/2 nodes are available: podGroup default/y failed recently. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling., PodGroup default/y gets rejected due to Pod y1 is unschedulable even after PostFilter
patch   default/y1     PodScheduled=False Unschedulable
event   default/y2     FailedScheduling: 0/2 nodes are available: podGroup default/y failed recently. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling., PodGroup default/y gets rejected due to Pod y2 is unschedulable even after PostFilter
patch   default/y2     PodScheduled=False Unschedulable
park    default/y1     rejected_by=Coscheduling
park    default/y2     rejected_by=Coscheduling

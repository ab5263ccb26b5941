# v1.16 rules: third criterion: smallest sum of priorities, each counted from the minimum.
rules classic

0s    node n1 cpu=2
0s    node n2 cpu=2
0s    pod default/one node=n1 cpu=1 priority=5
0s    pod default/two node=n1 cpu=1 priority=3
0s    pod default/three node=n2 cpu=1 priority=5
0s    pod default/four node=n2 cpu=1 priority=2
0s    pod default/high cpu=2 priority=100
0s    cycle
----
choose  default/high   n2: smallest sum of the victims' priorities
event   default/high   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n2
delete  default/three
event   default/three  Preempted: Preempted by default/high on node n2
delete  default/four
event   default/four   Preempted: Preempted by default/high on node n2
backoff default/high   until=1s

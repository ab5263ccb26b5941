# v1.16 rules: preemption clears the nominations of pods of lower priority for the node.
rules classic
grace 30s

0s    node n1 cpu=2
0s    pod default/low cpu=2 priority=1 node=n1
0s    pod default/middle cpu=2 priority=5
0s    cycle
----
event   default/middle FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/middle PodScheduled=False Unschedulable, nominatedNodeName=n1
delete  default/low
event   default/low    Preempted: Preempted by default/middle on node n1
park    default/middle

1s    pod default/high cpu=2 priority=10
1s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
delete  default/low
event   default/low    Preempted: Preempted by default/high on node n1
patch   default/middle nominatedNodeName=none
park    default/high

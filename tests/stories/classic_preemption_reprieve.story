# v1.16 rules: all pods of lower priority are removed, and reprieved in order of priority while they fit.
rules classic

0s    node n1 cpu=4
0s    pod default/one node=n1 cpu=1 priority=3
0s    pod default/two node=n1 cpu=2 priority=2
0s    pod default/three node=n1 cpu=1 priority=1
0s    pod default/high cpu=2 priority=100
0s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
delete  default/two
event   default/two    Preempted: Preempted by default/high on node n1
backoff default/high   until=1s

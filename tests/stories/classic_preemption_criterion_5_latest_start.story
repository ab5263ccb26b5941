# v1.16 rules: fifth criterion: the latest start of the most important victims.
rules classic

0s    node n1 cpu=2
0s    node n2 cpu=2
0s    pod default/one node=n1 cpu=2 priority=5 started=0s
0s    pod default/two node=n2 cpu=2 priority=5 started=10s
0s    pod default/high cpu=2 priority=100
0s    cycle
----
choose  default/high   n2: its most important victims started last
event   default/high   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n2
delete  default/two
event   default/two    Preempted: Preempted by default/high on node n2
backoff default/high   until=1s

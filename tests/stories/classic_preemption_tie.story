# v1.16 rules: ties after all criteria are broken by name; upstream takes any.
rules classic

0s    node n2 cpu=2
0s    node n1 cpu=2
0s    pod default/one node=n1 cpu=2 priority=5 started=0s
0s    pod default/two node=n2 cpu=2 priority=5 started=0s
0s    pod default/high cpu=2 priority=100
0s    cycle
----
choose  default/high   n1: first by name of several equal ones
event   default/high   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
delete  default/one
event   default/one    Preempted: Preempted by default/high on node n1
backoff default/high   until=1s

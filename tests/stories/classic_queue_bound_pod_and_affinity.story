# v1.16 rules: a bound pod moves only pods with a matching affinity term.
rules classic

0s    node n1 cpu=1
0s    pod default/big cpu=4
0s    cycle
----
event   default/big    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
park    default/big

5s    pod default/bound cpu=1 node=n1
----

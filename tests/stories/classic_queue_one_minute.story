# v1.16 rules: a pod that was unschedulable for more than a minute is moved by the flush.
rules classic

0s    node n1 cpu=1
0s    pod default/big cpu=4
0s    cycle
----
event   default/big    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
park    default/big

60s   flush_unschedulable
----

90s   flush_unschedulable
----
ready   default/big

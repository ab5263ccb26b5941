# v1.16 rules: a pod that is moved before its backoff completes waits in backoffQ for the flush.
rules classic

0s    node n1 cpu=1
0s    pod default/big cpu=4
0s    cycle
----
event   default/big    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
park    default/big

500ms node n2 cpu=1
----
backoff default/big    until=1s

1s    flush_backoff
----
ready   default/big

# v1.16 rules: any update removes a pod from its backoff.
rules classic

0s    node n1 cpu=1
0s    pod default/big cpu=4
0s    cycle
0s    node n2 cpu=1
----
event   default/big    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
backoff default/big    until=1s

100ms change pod default/big cpu=4 labels=a=b
----
ready   default/big

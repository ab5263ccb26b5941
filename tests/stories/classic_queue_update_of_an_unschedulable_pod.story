# v1.16 rules: an update of more than the status moves an unschedulable pod to activeQ.
rules classic

0s    node n1 cpu=1
0s    pod default/big cpu=4
0s    cycle
----
event   default/big    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
park    default/big

100ms change pod default/big cpu=1
----
ready   default/big

100ms cycle
----
bind    default/big    n1
event   default/big    Scheduled: Successfully assigned default/big to n1

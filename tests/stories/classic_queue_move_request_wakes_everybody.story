# v1.16 rules: a new node moves all unschedulable pods, whether it fits them or not.
rules classic

0s    node n1 cpu=1
0s    pod default/big cpu=4
0s    pod default/huge cpu=99
0s    cycle
0s    cycle
----
event   default/big    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
event   default/huge   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/huge   PodScheduled=False Unschedulable
park    default/big
park    default/huge

# The backoff is over, so both are ready immediately.
3s    node n2 cpu=4
----
ready   default/big
ready   default/huge

3s    cycle
3s    cycle
----
bind    default/big    n2
event   default/big    Scheduled: Successfully assigned default/big to n2
event   default/huge   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/huge   PodScheduled=False Unschedulable
park    default/huge

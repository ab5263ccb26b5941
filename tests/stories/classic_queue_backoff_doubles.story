# v1.16 rules: backoff of 1, 2, 4, 8, 10 seconds; unused backoff entries expire.
rules classic

0s    node n1 cpu=1
0s    pod default/big cpu=4
0s    cycle
0s    node n2 cpu=1
----
event   default/big    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
backoff default/big    until=1s

# An attempt counts only if it starts after the end of the last backoff.
1s    flush_backoff
1100ms cycle
1100ms node n3 cpu=1
----
event   default/big    FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
backoff default/big    until=3.1s

4s    flush_backoff
4s    cycle
4s    node n4 cpu=1
----
event   default/big    FailedScheduling: 0/3 nodes are available: 3 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
backoff default/big    until=8s

9s    flush_backoff
9s    cycle
9s    node n5 cpu=1
----
event   default/big    FailedScheduling: 0/4 nodes are available: 4 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
backoff default/big    until=17s

18s   flush_backoff
18s   cycle
18s   node n6 cpu=1
----
event   default/big    FailedScheduling: 0/5 nodes are available: 5 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
backoff default/big    until=28s

# All backoff entries older than ten seconds are dropped: the backoff is one second again.
29s   flush_backoff
29s   cycle
29s   node n7 cpu=1
----
event   default/big    FailedScheduling: 0/6 nodes are available: 6 Insufficient cpu.
patch   default/big    PodScheduled=False Unschedulable
backoff default/big    until=30s

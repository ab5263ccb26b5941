# A terminating pod can be a victim, and is not deleted again.
grace 30s

0s    node n1 cpu=1
0s    pod default/low node=n1 cpu=1
1s    terminate default/low
1s    pod default/high cpu=1 priority=100
1s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
park    default/high   rejected_by=NodeResourcesFit

31s   delete default/low
31s   cycle
----
bind    default/high   n1
event   default/high   Scheduled: Successfully assigned default/high to n1
gone    default/low

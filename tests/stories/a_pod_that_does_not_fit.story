# An unschedulable pod gets the reason, and does not block the smaller pod behind it.
0s    node n1 cpu=1
0s    pod default/big cpu=2
0s    pod default/small cpu=500m
----

1s    cycle
----
event   default/big    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
patch   default/big    PodScheduled=False Unschedulable
park    default/big    rejected_by=NodeResourcesFit

1s    cycle
----
bind    default/small  n1
event   default/small  Scheduled: Successfully assigned default/small to n1

# Freed resources requeue the waiting pod; it backs off until the end of the second.
2s    node n2 cpu=4
----
backoff default/big    until=2s rejected_by=NodeResourcesFit

3s    flush_backoff
----
ready   default/big

4s    cycle
----
bind    default/big    n2
event   default/big    Scheduled: Successfully assigned default/big to n2

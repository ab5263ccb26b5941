# If activeQ is empty, the head of backoffQ is popped immediately.
plugin Gate events Node UpdateNodeLabel
plugin Gate reserve default/a Unschedulable no

0s    node n1 cpu=2
0s    pod default/a cpu=1
0s    cycle
0s    change node n1 cpu=2 labels=round=1
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
patch   default/a      PodScheduled=False Unschedulable
backoff default/a      until=1s rejected_by=Gate

0s    pod default/b cpu=1
0s    cycle
----
bind    default/b      n1
event   default/b      Scheduled: Successfully assigned default/b to n1

# activeQ is now empty, so a is popped before its backoff ends.
0s    cycle
----
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1

# A rejected pod waits for an event whose queueing hint returns Queue.
0s    node n1 cpu=1
0s    pod default/a cpu=2
0s    cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
patch   default/a      PodScheduled=False Unschedulable
park    default/a      rejected_by=NodeResourcesFit

# NodeResourcesFit has registered new nodes, but this node is too small: its hint returns Skip.
5s    node n2 cpu=1
----

# NodeResourcesFit has not registered this change.
6s    change node n1 cpu=1 labels=disk=ssd
----

# Here the hint returns Queue. The backoff is over, so the pod goes to activeQ.
7s    change node n2 cpu=4
----
ready   default/a

7s    cycle
----
bind    default/a      n2
event   default/a      Scheduled: Successfully assigned default/a to n2

# A rejected pod waits for an event whose queueing hint returns Queue.
0s    node n1 cpu=1
0s    pod default/a cpu=2
0s    cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
patch   default/a      PodScheduled=False Unschedulable
park    default/a      rejected_by=NodeResourcesFit

# NodeResourcesFit has registered new nodes, but this one is too small: its hint says Skip.
5s    node n2 cpu=1
----

# This change it has not registered at all.
6s    change node n1 cpu=1 labels=disk=ssd
----

# Here it says Queue. The backoff is over, so the pod goes to activeQ.
7s    change node n2 cpu=4
----
ready   default/a

7s    cycle
----
bind    default/a      n2
event   default/a      Scheduled: Successfully assigned default/a to n2

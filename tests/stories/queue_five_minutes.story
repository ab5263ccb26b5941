# A pod that was unschedulable for more than five minutes is retried, in case a hint was wrong.
0s    node n1 cpu=1
0s    pod default/a cpu=2
0s    cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
patch   default/a      PodScheduled=False Unschedulable
park    default/a      rejected_by=NodeResourcesFit

# The flush runs every 30 seconds. At exactly five minutes the limit is not yet exceeded.
300s  flush_unschedulable
----

330s  flush_unschedulable
----
ready   default/a

# The pod fails again, and the five minutes start again.
330s  cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
park    default/a      rejected_by=NodeResourcesFit

630s  flush_unschedulable
660s  flush_unschedulable
----
ready   default/a

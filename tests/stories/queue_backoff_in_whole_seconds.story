# A backoff completes on a whole second, and that second is still part of it.
0s    node n1 cpu=1
0s    pod default/busy node=n1 cpu=1 priority=9
0s    pod default/a cpu=1
0s    pod default/b cpu=1 priority=5
0s    pod default/c cpu=1
----

# Two pods fail at different moments of one second, one in the next.
10.1s cycle
10.7s cycle
11.1s cycle
----
event   default/b      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/b      PodScheduled=False Unschedulable
event   default/a      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/a      PodScheduled=False Unschedulable
event   default/c      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/c      PodScheduled=False Unschedulable
park    default/a      rejected_by=NodeResourcesFit
park    default/b      rejected_by=NodeResourcesFit
park    default/c      rejected_by=NodeResourcesFit

# Ends are truncated to the whole second: 11.7s and 11.1s become 11s.
11.2s delete default/busy
----
backoff default/a      until=11s rejected_by=NodeResourcesFit
backoff default/b      until=11s rejected_by=NodeResourcesFit
gone    default/busy
backoff default/c      until=12s rejected_by=NodeResourcesFit

# From 11s until 12s they still wait.
11.9s flush_backoff
----

# They are released together, in the order of activeQ, not of their failures.
12s   flush_backoff
12s   cycle
----
bind    default/b      n1
event   default/b      Scheduled: Successfully assigned default/b to n1
ready   default/a

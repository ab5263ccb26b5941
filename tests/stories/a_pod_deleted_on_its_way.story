# A pod that is deleted while it is being bound frees its node at once; the binding fails later.
api bind default/a delay=3s

0s    node n1 cpu=1
0s    pod default/a cpu=1
0s    pod default/b cpu=1
0s    cycle
0s    cycle
----
bind    default/a      n1 (under way)
event   default/b      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/b      PodScheduled=False Unschedulable
assume  default/a      n1
park    default/b      rejected_by=NodeResourcesFit

1s    delete default/a
----
gone    default/a
backoff default/b      until=1s rejected_by=NodeResourcesFit

2s    flush_backoff
2s    cycle
----
bind    default/b      n1
event   default/b      Scheduled: Successfully assigned default/b to n1

4s    wait
----
event   default/a      FailedScheduling: running Bind plugin "DefaultBinder": pods "a" not found
patch   default/a      PodScheduled=False SchedulerError (pods "a" not found)

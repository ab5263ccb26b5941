# Errors have a separate backoff: no plugin rejected the pod, so it does not wait for an event.
plugin Gate events Node UpdateNodeLabel
plugin Gate reserve default/a Unschedulable no
plugin Gate reserve default/a Unschedulable no
plugin Gate reserve default/a Error disk on fire
plugin Gate reserve default/a Error disk on fire

0s    node n1
0s    pod default/a
0s    cycle
0s    change node n1 labels=round=1
0s    cycle
0s    change node n1 labels=round=2
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
patch   default/a      PodScheduled=False Unschedulable
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
backoff default/a      until=2s rejected_by=Gate

# Consecutive errors are counted separately: the first waits one second, although it is the third failure.
0s    cycle
----
event   default/a      FailedScheduling: running Reserve plugin "Gate": disk on fire
patch   default/a      PodScheduled=False SchedulerError
backoff default/a      until=1s after an error

# An idle scheduler pops from backoffQ, but not from the error backoffQ.
1s    cycle
----

2s    flush_backoff
2s    cycle
----
event   default/a      FailedScheduling: running Reserve plugin "Gate": disk on fire
backoff default/a      until=4s after an error

5s    flush_backoff
5s    cycle
----
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1

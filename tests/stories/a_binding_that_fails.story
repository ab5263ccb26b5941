# After a failed binding the pod is forgotten and retried after the error backoff.
plugin Gate reserve default/a Success
plugin Check reserve default/a Success
api bind default/a error=conflict

0s    node n1 cpu=1
0s    pod default/a cpu=1
0s    pod default/b cpu=1
0s    cycle
----
bind    default/a      n1 (Operation cannot be fulfilled on pods "a": the object has been modified)
event   default/a      FailedScheduling: running Bind plugin "DefaultBinder": Operation cannot be fulfilled on pods "a": the object has been modified
patch   default/a      PodScheduled=False SchedulerError
backoff default/a      until=1s after an error

# A pod in the error backoffQ is not popped early, even if activeQ is empty; the other pod goes first.
0s    cycle
----
bind    default/b      n1
event   default/b      Scheduled: Successfully assigned default/b to n1

1s    delete default/b
2s    flush_backoff
2s    cycle
----
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1
gone    default/b

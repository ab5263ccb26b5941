# If a node is deleted while a pod is being bound to it, the pod is retried.
api bind default/a delay=2s error=conflict

0s    node n1 cpu=1
0s    pod default/a cpu=1
0s    cycle
----
bind    default/a      n1 (under way)
assume  default/a      n1

1s    delete node n1
----

2s    wait
----
event   default/a      FailedScheduling: running Bind plugin "DefaultBinder": Operation cannot be fulfilled on pods "a": the object has been modified
patch   default/a      PodScheduled=False SchedulerError
backoff default/a      until=3s after an error

3s    node n2 cpu=1
4s    flush_backoff
4s    cycle
----
bind    default/a      n2
event   default/a      Scheduled: Successfully assigned default/a to n2

# v1.16 rules: a failed binding releases the node and moves no pods.
rules classic
api bind default/a error=conflict

0s    node n1 cpu=1
0s    pod default/a cpu=1
0s    cycle
----
bind    default/a      n1 (Operation cannot be fulfilled on pods "a": the object has been modified)
event   default/a      FailedScheduling: Binding rejected: Operation cannot be fulfilled on pods "a": the object has been modified
patch   default/a      PodScheduled=False SchedulerError
park    default/a

60s   flush_unschedulable
90s   flush_unschedulable
90s   cycle
----
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1

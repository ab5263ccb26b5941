# A victim in PreBind is not running: its binding is canceled without an API call.
plugin Check pre_bind default/low Success delay=10s

0s    node n1 cpu=1
0s    pod default/low cpu=1
0s    cycle
----
patch   default/low    nominatedNodeName=n1
assume  default/low    n1

1s    pod default/high cpu=1 priority=100
1s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
event   default/low    Preempted: Preempted by pod default/high on node n1 (in kube-scheduler memory).
event   default/low    FailedScheduling: running PreBind plugin "Check": preempted by DefaultPreemption
patch   default/low    PodScheduled=False SchedulerError, nominatedNodeName=none
backoff default/high   until=2s rejected_by=NodeResourcesFit
backoff default/low    until=2s after an error

2s    flush_backoff
2s    cycle
----
bind    default/high   n1
event   default/high   Scheduled: Successfully assigned default/high to n1

# v1.16 rules: only preemption clears a nomination; a failed binding and a cluster without nodes keep it.
rules classic
api bind default/high error=conflict

0s    node n1 cpu=2
0s    pod default/low cpu=2 priority=1 node=n1
0s    pod default/high cpu=2 priority=10
0s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
delete  default/low
event   default/low    Preempted: Preempted by default/high on node n1
backoff default/high   until=1s

1s    delete default/low
1s    flush_backoff
1s    cycle
----
bind    default/high   n1 (Operation cannot be fulfilled on pods "high": the object has been modified)
event   default/high   FailedScheduling: Binding rejected: Operation cannot be fulfilled on pods "high": the object has been modified
patch   default/high   PodScheduled=False SchedulerError
park    default/high

2s    delete node n1
90s   flush_unschedulable
90s   cycle
----
event   default/high   FailedScheduling: no nodes available to schedule pods
patch   default/high   PodScheduled=False Unschedulable

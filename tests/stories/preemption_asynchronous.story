# Victims are deleted while other pods are scheduled: all but the last in parallel, then the last.
workers 16
api delete default/p3 delay=2s
api delete default/p2 delay=1s
api delete default/p1 delay=1s

0s    node n1 cpu=3
0s    node n2 cpu=1
0s    pod default/p3 node=n1 cpu=1 priority=3
0s    pod default/p2 node=n1 cpu=1 priority=2
0s    pod default/p1 node=n1 cpu=1 priority=1
0s    pod default/high cpu=3 priority=100
0s    cycle
----
event   default/high   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/p3     DisruptionTarget=True PreemptionByScheduler
patch   default/p2     DisruptionTarget=True PreemptionByScheduler
delete  default/p3     (under way)
delete  default/p2     (under way)
park    default/high   rejected_by=NodeResourcesFit

# Other pods are scheduled meanwhile.
0s    pod default/other cpu=1
0s    cycle
----
bind    default/other  n2
event   default/other  Scheduled: Successfully assigned default/other to n2

# A victim is deleted. The preemptor stays gated until all victims are deleted.
1s    wait
----
event   default/p2     Preempted: Preempted by pod default/high on node n1
hold    default/high   by=DefaultPreemption
gone    default/p2

2s    wait
----
event   default/p3     Preempted: Preempted by pod default/high on node n1
patch   default/p1     DisruptionTarget=True PreemptionByScheduler
delete  default/p1     (under way)
gone    default/p3

# Now the last victim is deleted, and its deletion requeues the preemptor.
3s    wait
----
event   default/p1     Preempted: Preempted by pod default/high on node n1
ready   default/high
gone    default/p1

4s    flush_backoff
4s    cycle
----
bind    default/high   n1
event   default/high   Scheduled: Successfully assigned default/high to n1

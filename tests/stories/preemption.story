# A pod of higher priority takes the node of its victim after the victim is deleted.
api delete default/low delay=3s

0s    node n1 cpu=1
0s    pod default/low cpu=1
0s    cycle
----
bind    default/low    n1
event   default/low    Scheduled: Successfully assigned default/low to n1

1s    pod default/high cpu=1 priority=100
1s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/low    DisruptionTarget=True PreemptionByScheduler
delete  default/low    (under way)
park    default/high   rejected_by=NodeResourcesFit

# No other pod gets the room of the victim.
2s    pod default/other cpu=1
2s    cycle
----
event   default/other  FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/other  PodScheduled=False Unschedulable
park    default/other  rejected_by=NodeResourcesFit

5s    flush_backoff
5s    cycle
----
event   default/low    Preempted: Preempted by pod default/high on node n1
bind    default/high   n1
event   default/high   Scheduled: Successfully assigned default/high to n1
gone    default/low
ready   default/other

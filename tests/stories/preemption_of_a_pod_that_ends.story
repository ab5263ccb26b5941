# A victim that terminates by itself also frees its resources; the preemptor does not wait for the delete call.
api delete default/low delay=5s

0s    node n1 cpu=1
0s    pod default/low node=n1 cpu=1
0s    pod default/high cpu=1 priority=100
0s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/low    DisruptionTarget=True PreemptionByScheduler
delete  default/low    (under way)
park    default/high   rejected_by=NodeResourcesFit

1s    delete default/low
----
backoff default/high   until=1s rejected_by=NodeResourcesFit
gone    default/low

2s    flush_backoff
2s    cycle
----
bind    default/high   n1
event   default/high   Scheduled: Successfully assigned default/high to n1

6s    wait
----

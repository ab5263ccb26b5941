# The dry run removes all pods of lower priority, then reprieves as many as fit, by priority.
0s    node n1 cpu=4
0s    pod default/p3 node=n1 cpu=1 priority=3
0s    pod default/p2 node=n1 cpu=2 priority=2
0s    pod default/p1 node=n1 cpu=1 priority=1
----

# p3 is reprieved, p2 does not fit, p1 fits beside p3.
0s    pod default/high cpu=2 priority=100
0s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/p2     DisruptionTarget=True PreemptionByScheduler
delete  default/p2
event   default/p2     Preempted: Preempted by pod default/high on node n1
backoff default/high   until=1s rejected_by=NodeResourcesFit
gone    default/p2

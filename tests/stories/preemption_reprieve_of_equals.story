# Of pods with equal priority, the one that started earlier is reprieved first.
0s    node n1 cpu=2
0s    pod default/young node=n1 cpu=1 started=50s
0s    pod default/old node=n1 cpu=1 started=10s
60s   pod default/high cpu=1 priority=100
60s   cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/young  DisruptionTarget=True PreemptionByScheduler
delete  default/young
event   default/young  Preempted: Preempted by pod default/high on node n1
backoff default/high   until=1m1s rejected_by=NodeResourcesFit

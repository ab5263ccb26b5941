# Disruption budgets are best effort: protected pods are evicted if nothing else helps.
0s    node n1 cpu=1
0s    budget default/db app=db allowed=0
0s    pod default/db node=n1 cpu=1 labels=app=db
0s    pod default/high cpu=1 priority=100
0s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/db     DisruptionTarget=True PreemptionByScheduler
delete  default/db
event   default/db     Preempted: Preempted by pod default/high on node n1
backoff default/high   until=1s rejected_by=NodeResourcesFit

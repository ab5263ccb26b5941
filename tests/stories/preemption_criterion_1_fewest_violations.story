# First criterion: fewest violations of disruption budgets, even with victims of higher priority.
0s    node n1 cpu=1
0s    node n2 cpu=1
0s    budget default/db app=db allowed=0
0s    pod default/db node=n1 cpu=1 priority=1 labels=app=db
0s    pod default/web node=n2 cpu=1 priority=50
0s    pod default/high cpu=1 priority=100
0s    cycle
----
choose  default/high   n2: fewest violations of disruption budgets
event   default/high   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n2
patch   default/web    DisruptionTarget=True PreemptionByScheduler
delete  default/web
event   default/web    Preempted: Preempted by pod default/high on node n2
backoff default/high   until=1s rejected_by=NodeResourcesFit

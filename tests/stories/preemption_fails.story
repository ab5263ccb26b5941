# If the deletion of a victim fails, the remaining victims stay and the preemptor is retried immediately.
api delete default/p2 error=forbidden

0s    node n1 cpu=2
0s    pod default/p2 node=n1 cpu=1 priority=2
0s    pod default/p1 node=n1 cpu=1 priority=1
0s    pod default/high cpu=2 priority=100
0s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/p2     DisruptionTarget=True PreemptionByScheduler
delete  default/p2     (pods "p2" is forbidden: denied)
ready   default/high

# Fourth criterion: fewest victims. After the third it only decides among victims of the minimum priority.
0s    node n1 cpu=2
0s    node n2 cpu=2
0s    pod default/a1 node=n1 cpu=1 priority=5
0s    pod default/a2 node=n1 cpu=1 priority=-2147483648
0s    pod default/b1 node=n2 cpu=2 priority=5
0s    pod default/high cpu=2 priority=100
0s    cycle
----
choose  default/high   n2: fewest victims
event   default/high   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n2
patch   default/b1     DisruptionTarget=True PreemptionByScheduler
delete  default/b1
event   default/b1     Preempted: Preempted by pod default/high on node n2
backoff default/high   until=1s rejected_by=NodeResourcesFit

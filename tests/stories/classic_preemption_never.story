# v1.16 rules: preemptionPolicy Never has no effect: the feature gate is off.
rules classic

0s    node n1 cpu=2
0s    pod default/low cpu=2 priority=1 node=n1
0s    pod default/high cpu=2 priority=10 policy=Never
0s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
delete  default/low
event   default/low    Preempted: Preempted by default/high on node n1
backoff default/high   until=1s

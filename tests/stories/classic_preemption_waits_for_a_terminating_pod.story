# v1.16 rules: no further preemption while a pod of lower priority terminates on the nominated node.
rules classic
grace 30s

0s    node n1 cpu=2
0s    node n2 cpu=2
0s    pod default/one cpu=2 priority=1 node=n1
0s    pod default/two cpu=2 priority=2 node=n2
0s    pod default/high cpu=2 priority=10
0s    cycle
----
choose  default/high   n1: lowest priority of the first victim
event   default/high   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
delete  default/one
event   default/one    Preempted: Preempted by default/high on node n1
park    default/high

2s    node n3 cpu=1
2s    cycle
----
event   default/high   FailedScheduling: 0/3 nodes are available: 3 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable

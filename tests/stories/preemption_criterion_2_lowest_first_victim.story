# Second criterion: lowest priority of the most important victim, regardless of the number of victims.
0s    node n1 cpu=2
0s    node n2 cpu=2
0s    pod default/one node=n1 cpu=2 priority=5
0s    pod default/two node=n2 cpu=1 priority=4
0s    pod default/three node=n2 cpu=1 priority=4
0s    pod default/high cpu=2 priority=100
0s    cycle
----
choose  default/high   n2: lowest priority of the most important victim
event   default/high   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n2
patch   default/three  DisruptionTarget=True PreemptionByScheduler
delete  default/three
event   default/three  Preempted: Preempted by pod default/high on node n2
patch   default/two    DisruptionTarget=True PreemptionByScheduler
delete  default/two
event   default/two    Preempted: Preempted by pod default/high on node n2
backoff default/high   until=1s rejected_by=DefaultPreemption,NodeResourcesFit

# Ties after all five criteria are broken by name; upstream takes any.
0s    node n2 cpu=1
0s    node n1 cpu=1
0s    pod default/a node=n2 cpu=1 started=10s
0s    pod default/b node=n1 cpu=1 started=10s
60s   pod default/high cpu=1 priority=100
60s   cycle
----
choose  default/high   n1: first by name of several equal ones
event   default/high   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/b      DisruptionTarget=True PreemptionByScheduler
delete  default/b
event   default/b      Preempted: Preempted by pod default/high on node n1
backoff default/high   until=1m1s rejected_by=NodeResourcesFit

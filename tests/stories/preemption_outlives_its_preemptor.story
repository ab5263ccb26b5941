# A preemption continues if the preemptor is deleted meanwhile.
api delete default/p2 delay=2s
api delete default/p1 delay=2s

0s    node n1 cpu=2
0s    pod default/p2 node=n1 cpu=1 priority=2
0s    pod default/p1 node=n1 cpu=1 priority=1
0s    pod default/high cpu=2 priority=100
0s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/p2     DisruptionTarget=True PreemptionByScheduler
delete  default/p2     (under way)
park    default/high   rejected_by=NodeResourcesFit

1s    delete default/high
----
gone    default/high

5s    wait
----
event   default/p2     Preempted: Preempted by pod default/high on node n1
patch   default/p1     DisruptionTarget=True PreemptionByScheduler
delete  default/p1     (under way)
event   default/p1     Preempted: Preempted by pod default/high on node n1
gone    default/p1
gone    default/p2

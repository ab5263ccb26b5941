# The dry run visits only nodes where preemption may help, and finds candidates on those with pods of lower priority.
0s    node n1 cpu=1 taints=gpu=yes:NoSchedule
0s    node n2 cpu=1
0s    node n3 cpu=1
0s    pod default/a node=n1 cpu=1
0s    pod default/b node=n2 cpu=1 priority=100
0s    pod default/c node=n3 cpu=1 priority=7
----

# The request exceeds every node: evicting pods cannot help.
1s    pod default/huge cpu=2 priority=100
1s    cycle
----
event   default/huge   FailedScheduling: 0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.
patch   default/huge   PodScheduled=False Unschedulable
park    default/huge   rejected_by=NodeResourcesFit,TaintToleration

# Evictions do not help against the taint of n1, and n2 has no pods of lower priority.
2s    pod default/equal cpu=1 priority=7
2s    cycle
----
event   default/equal  FailedScheduling: 0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. no new claims to deallocate, preemption: 0/3 nodes are available: 1 Preemption is not helpful for scheduling, 2 No preemption victims found for incoming pod.
patch   default/equal  PodScheduled=False Unschedulable
park    default/equal  rejected_by=NodeResourcesFit,TaintToleration

3s    pod default/high cpu=1 priority=50
3s    cycle
----
event   default/high   FailedScheduling: 0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n3
patch   default/c      DisruptionTarget=True PreemptionByScheduler
delete  default/c
event   default/c      Preempted: Preempted by pod default/high on node n3
gone    default/c
backoff default/equal  until=3s rejected_by=NodeResourcesFit,TaintToleration
backoff default/high   until=4s rejected_by=NodeResourcesFit,TaintToleration
ready   default/huge

# A preemptor whose nominated node is unresolvable preempts again without waiting for its victims.
grace 30s

0s    node n1 cpu=1
0s    node n2 cpu=1
0s    pod default/low1 node=n1 cpu=1 priority=1
0s    pod default/low2 node=n2 cpu=1 priority=2
0s    pod default/high cpu=1 priority=100
0s    cycle
----
choose  default/high   n1: lowest priority of the most important victim
event   default/high   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/low1   DisruptionTarget=True PreemptionByScheduler
delete  default/low1
event   default/low1   Preempted: Preempted by pod default/high on node n1
park    default/high   rejected_by=NodeResourcesFit

# low1 is terminating, but n1 is now unresolvable. The end of another pod requeues high.
5s    change node n1 cpu=1 taints=gpu:NoSchedule
5s    pod default/small node=n2
5s    delete default/small
5s    cycle
----
event   default/high   FailedScheduling: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s).
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n2
patch   default/low2   DisruptionTarget=True PreemptionByScheduler
delete  default/low2
event   default/low2   Preempted: Preempted by pod default/high on node n2
hold    default/high   by=DefaultPreemption

35s   delete default/low2
35s   cycle
----
bind    default/high   n2
event   default/high   Scheduled: Successfully assigned default/high to n2
gone    default/low2

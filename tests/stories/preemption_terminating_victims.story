# While victims terminate on the nominated node, the preemptor does not preempt again.
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

# Another pod ends; high is retried, because this may help, and waits again.
5s    pod default/small node=n2
5s    delete default/small
5s    cycle
----
event   default/high   FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node.
patch   default/high   PodScheduled=False Unschedulable

31s   delete default/low1
31s   cycle
----
bind    default/high   n1
event   default/high   Scheduled: Successfully assigned default/high to n1
gone    default/low1

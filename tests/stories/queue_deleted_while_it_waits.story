# A deleted pod leaves any subqueue, and Permit.
plugin Gate permit default/a Wait 1m

0s    node n1 cpu=1
0s    pod default/a cpu=1
0s    pod default/b cpu=2
0s    cycle
0s    cycle
----
patch   default/a      nominatedNodeName=n1
event   default/b      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
patch   default/b      PodScheduled=False Unschedulable
wait    default/a      on=n1 for=Gate
park    default/b      rejected_by=NodeResourcesFit

1s    delete default/b
1s    delete default/a
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 removed.
patch   default/a      PodScheduled=False Unschedulable (pods "a" not found)
gone    default/a
gone    default/b

1s    cycle
----

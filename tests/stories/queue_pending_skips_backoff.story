# After a Pending status, the event of that plugin requeues the pod without backoff.
plugin Gate events Node Add
plugin Gate reserve default/a Pending the volume is on its way
plugin Gate reserve default/b Unschedulable no

0s    node n1 cpu=2
0s    pod default/a cpu=1
0s    pod default/b cpu=1
0s    cycle
0s    cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 the volume is on its way.
patch   default/a      PodScheduled=False Unschedulable
event   default/b      FailedScheduling: 0/1 nodes are available: 1 no.
patch   default/b      PodScheduled=False Unschedulable
park    default/a      rejected_by=Gate
park    default/b      rejected_by=Gate

# The same event for both: a was Pending and is ready, b waits for the end of its backoff.
0s    node n2 cpu=1
----
ready   default/a
backoff default/b      until=1s rejected_by=Gate

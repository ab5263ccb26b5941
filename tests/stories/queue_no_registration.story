# A plugin that registers no events receives all of them: every event requeues its pods.
plugin Gate reserve default/a Unschedulable no

0s    node n1
0s    pod default/a
----

# The patch of the pod's own condition is such an event, so the pod is not parked.
1s    cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
patch   default/a      PodScheduled=False Unschedulable
backoff default/a      until=2s rejected_by=Gate

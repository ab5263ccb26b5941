# An event that arrives while a pod is in flight is considered when the pod is requeued.
plugin Gate events Node Add
plugin Gate permit default/a Wait 1m
plugin Gate permit default/b Wait 1m

0s    node n1 cpu=4
0s    pod default/a cpu=1
0s    cycle
----
patch   default/a      nominatedNodeName=n1
wait    default/a      on=n1 for=Gate

# A pod at Permit is in flight. Gate has registered this event, so its hint runs later.
1s    node n2 cpu=1
2s    reject default/a Gate come back later
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 come back later.
patch   default/a      PodScheduled=False Unschedulable, nominatedNodeName=none
backoff default/a      until=3s rejected_by=Gate

# No event that Gate has registered occurs during this attempt: the pod is parked.
3s    pod default/b cpu=1 priority=10
3s    cycle
4s    change node n2 cpu=2
5s    reject default/b Gate come back later
----
patch   default/b      nominatedNodeName=n1
event   default/b      FailedScheduling: 0/1 nodes are available: 1 come back later.
patch   default/b      PodScheduled=False Unschedulable, nominatedNodeName=none
park    default/b      rejected_by=Gate

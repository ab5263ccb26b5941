# After one member loses its node, the others wait at Permit for at most five minutes.
gangs
plugin Gate reserve default/b Success
plugin Gate reserve default/b Unschedulable broken disk

0s    node n1 cpu=2
0s    node n2 cpu=2
0s    group default/g min=2
0s    pod default/a cpu=2 group=g
0s    pod default/b cpu=2 group=g
0s    cycle
----
patch   default/a      nominatedNodeName=n1
event   default/b      FailedScheduling: 0/1 nodes are available: 1 broken disk.
patch   default/b      PodScheduled=False Unschedulable
patch   default/g      PodGroupScheduled=True Scheduled
wait    default/a      on=n1 for=GangScheduling
backoff default/b      until=1s rejected_by=Gate

# b is deleted before it is retried, and a alone is not enough.
1s    delete default/b
----
gone    default/b

300s  wait
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 rejected due to timeout after waiting 5m0s at plugin GangScheduling.
patch   default/a      PodScheduled=False Unschedulable, nominatedNodeName=none
hold    default/a      by=GangScheduling

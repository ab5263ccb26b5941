# When a member exceeds the group's wait time, it and the other members release their nodes.
coscheduling

0s    node n1 cpu=2
0s    node n2 cpu=2
0s    group default/g min=3 timeout=5
0s    pod default/a cpu=2 group=g
0s    pod default/b cpu=2 group=g
0s    pod default/c cpu=2 group=g priority=-1
0s    cycle
2s    cycle
----
patch   default/a      nominatedNodeName=n1
patch   default/b      nominatedNodeName=n2
wait    default/a      on=n1 for=Coscheduling
wait    default/b      on=n2 for=Coscheduling

# c is not tried in time. When a times out, b is rejected as well.
5s    wait
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 rejected due to timeout after waiting 5s at plugin Coscheduling.
patch   default/a      PodScheduled=False Unschedulable, nominatedNodeName=none
event   default/b      FailedScheduling: 0/1 nodes are available: 1 rejection in Unreserve.
patch   default/b      PodScheduled=False Unschedulable, nominatedNodeName=none
park    default/a      rejected_by=Coscheduling
park    default/b      rejected_by=Coscheduling

# Both ends of the backoff can be configured, here to 3 and 8 seconds.
backoff 3 8
plugin Gate events Node UpdateNodeLabel
plugin Gate reserve default/a Unschedulable no
plugin Gate reserve default/a Unschedulable no
plugin Gate reserve default/a Unschedulable no

0s    node n1
0s    pod default/a
0s    cycle
0s    change node n1 labels=round=1
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
patch   default/a      PodScheduled=False Unschedulable
backoff default/a      until=3s rejected_by=Gate

4s    flush_backoff
4s    cycle
4s    change node n1 labels=round=2
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
backoff default/a      until=10s rejected_by=Gate

11s   flush_backoff
11s   cycle
11s   change node n1 labels=round=3
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
backoff default/a      until=19s rejected_by=Gate

# The backoff of a pod doubles with each failed attempt: 1, 2, 4, 8 seconds, at most 10.
plugin Gate events Node UpdateNodeLabel
plugin Gate reserve default/a Unschedulable no
plugin Gate reserve default/a Unschedulable no
plugin Gate reserve default/a Unschedulable no
plugin Gate reserve default/a Unschedulable no
plugin Gate reserve default/a Unschedulable no
plugin Gate reserve default/a Unschedulable no

0s    node n1
0s    pod default/a
0s    cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
patch   default/a      PodScheduled=False Unschedulable
park    default/a      rejected_by=Gate

# The backoff counts from the failure; the pod spends it in the unschedulable pods until an event moves it to backoffQ.
0s    change node n1 labels=round=1
----
backoff default/a      until=1s rejected_by=Gate

2s    flush_backoff
2s    cycle
2s    change node n1 labels=round=2
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
backoff default/a      until=4s rejected_by=Gate

5s    flush_backoff
5s    cycle
5s    change node n1 labels=round=3
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
backoff default/a      until=9s rejected_by=Gate

10s   flush_backoff
10s   cycle
10s   change node n1 labels=round=4
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
backoff default/a      until=18s rejected_by=Gate

19s   flush_backoff
19s   cycle
19s   change node n1 labels=round=5
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
backoff default/a      until=29s rejected_by=Gate

30s   flush_backoff
30s   cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 no.
park    default/a      rejected_by=Gate

# If the event comes after the backoff, the pod is ready immediately.
41s   change node n1 labels=round=6
----
ready   default/a

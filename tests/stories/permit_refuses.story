# One plugin allows the waiting pod, the other one rejects it.
plugin Gate permit default/a Wait 10s
plugin Check permit default/a Wait 20s

0s    node n1 cpu=1
0s    pod default/a cpu=1
0s    cycle
----
patch   default/a      nominatedNodeName=n1
wait    default/a      on=n1 for=Gate,Check

1s    allow default/a Gate
----
wait    default/a      on=n1 for=Check

2s    reject default/a Check the budget is spent
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 the budget is spent.
patch   default/a      PodScheduled=False Unschedulable, nominatedNodeName=none
backoff default/a      until=3s rejected_by=Check

# The second time no plugin makes it wait.
3s    cycle
----
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1

# The pods of a gang are gated until all of them exist, and are scheduled in one cycle.
gangs

0s    node n1 cpu=2
0s    node n2 cpu=2
0s    pod default/a cpu=2 group=g
----
hold    default/a      by=GangScheduling

# Neither the group nor enough of its pods exist yet.
1s    group default/g min=2
----

2s    pod default/b cpu=2 group=g
----
ready   default/a

# Popping one takes both; the first waits at Permit until the second allows it.
3s    cycle
----
patch   default/a      nominatedNodeName=n1
bind    default/a      n1
bind    default/b      n2
patch   default/g      PodGroupScheduled=True Scheduled
event   default/a      Scheduled: Successfully assigned default/a to n1
event   default/b      Scheduled: Successfully assigned default/b to n2

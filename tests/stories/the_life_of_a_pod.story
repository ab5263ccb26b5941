# A pod is gated, waits at Permit, passes PreBind, is bound, and is deleted.
plugin Gate permit default/a Wait 1m
plugin Check pre_bind default/a Success delay=2s
grace 30s

0s    node n1 cpu=2
0s    pod default/a cpu=1 gates=example.com/quota
----
hold    default/a      by=SchedulingGates

1s    gates default/a
----
ready   default/a

# The nomination shows the node while the pod waits.
2s    cycle
----
patch   default/a      nominatedNodeName=n1
wait    default/a      on=n1 for=Gate

3s    allow default/a Gate
----
assume  default/a      n1

5s    wait
----
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1

10s   terminate default/a
----

40s   delete default/a
----
gone    default/a

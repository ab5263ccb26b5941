# Neither time nor events move a gated pod, only changes of its gates.
0s    node n1 cpu=1
0s    pod default/a cpu=1 gates=example.com/quota,example.com/review
----
hold    default/a      by=SchedulingGates

400s  flush_unschedulable
400s  node n2 cpu=8
400s  cycle
----

# One of two gates is removed.
401s  gates default/a example.com/review
----

402s  gates default/a
402s  cycle
----
bind    default/a      n2
event   default/a      Scheduled: Successfully assigned default/a to n2

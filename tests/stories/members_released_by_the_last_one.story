# A gang of four: the last member releases the three that wait, and is bound before them, but for
# the one whose name has the number 0, which has no delay.
gangs

0s    node n1 cpu=8
0s    group default/x min=4
0s    pod default/x2 cpu=1 group=x
0s    pod default/x0 cpu=1 group=x
0s    pod default/x1 cpu=1 group=x
0s    pod default/x3 cpu=1 group=x
----

1s    cycle
----
patch   default/x2     nominatedNodeName=n1
patch   default/x0     nominatedNodeName=n1
bind    default/x0     n1
patch   default/x1     nominatedNodeName=n1
bind    default/x3     n1
patch   default/x      PodGroupScheduled=True Scheduled
event   default/x0     Scheduled: Successfully assigned default/x0 to n1
event   default/x3     Scheduled: Successfully assigned default/x3 to n1
bind    default/x1     n1
event   default/x1     Scheduled: Successfully assigned default/x1 to n1
bind    default/x2     n1
event   default/x2     Scheduled: Successfully assigned default/x2 to n1

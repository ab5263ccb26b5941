# With the plugin Coscheduling, members are scheduled one by one and wait at Permit for the last one.
coscheduling

0s    node n1 cpu=2
0s    node n2 cpu=2
0s    group default/g min=2
0s    pod default/a cpu=2 group=g
0s    cycle
----
event   default/a      FailedScheduling: 0/2 nodes are available: pre-filter pod a cannot find enough sibling pods, current pods number: 1, minMember of group: 2. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling., PodGroup default/g gets rejected due to Pod a is unschedulable even after PostFilter
patch   default/a      PodScheduled=False Unschedulable
park    default/a      rejected_by=Coscheduling

# When both exist, the first waits for the second.
1s    pod default/b cpu=2 group=g
1s    cycle
----
patch   default/b      nominatedNodeName=n1
ready   default/a
wait    default/b      on=n1 for=Coscheduling

1s    cycle
----
bind    default/a      n2
bind    default/b      n1
event   default/a      Scheduled: Successfully assigned default/a to n2
event   default/b      Scheduled: Successfully assigned default/b to n1

# v1.16 rules: the deletion of an assigned pod moves all unschedulable pods.
rules classic

0s    node n1 cpu=2
0s    pod default/old cpu=2 node=n1
0s    pod default/new cpu=2
0s    pod default/other cpu=9
0s    cycle
0s    cycle
----
event   default/new    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/new    PodScheduled=False Unschedulable
event   default/other  FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/other  PodScheduled=False Unschedulable
park    default/new
park    default/other

3s    delete default/old
----
ready   default/new
gone    default/old
ready   default/other

3s    cycle
----
bind    default/new    n1
event   default/new    Scheduled: Successfully assigned default/new to n1

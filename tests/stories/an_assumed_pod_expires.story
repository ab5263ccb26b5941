# An assumed pod without an update expires; it counts again when an update arrives.
expiry 30s

0s    node n1 cpu=1
0s    pod default/a cpu=1
0s    deaf default/a
0s    cycle
----
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1
assume  default/a      n1

# The binding has finished; the pod still counts on its node.
29s   pod default/b cpu=1
29s   cycle
----
event   default/b      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/b      PodScheduled=False Unschedulable
park    default/b      rejected_by=NodeResourcesFit

# Nobody is told that the room is free, but a pod that comes now gets it.
30s   wait
----
expire  default/a

31s   pod default/c cpu=1
31s   cycle
----
bind    default/c      n1
event   default/c      Scheduled: Successfully assigned default/c to n1

# The pod was bound all the time: the node now has more than it can take, as upstream's would.
40s   hear default/a
----

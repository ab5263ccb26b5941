# An assumed pod without an update expires; it counts again when an update arrives.
expiry 30s

0s    node n1 cpu=1
0s    pod default/a cpu=1
0s    hold_updates default/a
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

# No event reports the freed room, but a pod that is added now gets it.
30s   wait
----
expire  default/a

31s   pod default/c cpu=1
31s   cycle
----
bind    default/c      n1
event   default/c      Scheduled: Successfully assigned default/c to n1

# The pod was bound all the time: the node is now overcommitted, as upstream's would be.
40s   deliver_updates default/a
----

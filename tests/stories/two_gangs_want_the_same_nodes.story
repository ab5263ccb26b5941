# Two gangs that each need both nodes: the first is scheduled, the second keeps no node.
gangs

0s    node n1 cpu=2
0s    node n2 cpu=2
0s    group default/x min=2
0s    group default/y min=2
0s    pod default/x1 cpu=2 group=x
0s    pod default/y1 cpu=2 group=y
0s    pod default/y2 cpu=2 group=y
0s    pod default/x2 cpu=2 group=x
----

1s    cycle
----
patch   default/x1     nominatedNodeName=n1
bind    default/x2     n2
patch   default/x      PodGroupScheduled=True Scheduled
event   default/x2     Scheduled: Successfully assigned default/x2 to n2
bind    default/x1     n1
event   default/x1     Scheduled: Successfully assigned default/x1 to n1

1s    cycle
----
event   default/y1     FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.
patch   default/y1     PodScheduled=False Unschedulable
event   default/y2     FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.
patch   default/y2     PodScheduled=False Unschedulable
patch   default/y      PodGroupScheduled=False Unschedulable
backoff default/y1     until=2s rejected_by=NodeResourcesFit
backoff default/y2     until=2s rejected_by=NodeResourcesFit

# The first gang ends, and the second is scheduled.
60s   delete default/x1
60s   delete default/x2
60s   flush_backoff
60s   cycle
----
patch   default/y1     nominatedNodeName=n1
bind    default/y2     n2
patch   default/y      PodGroupScheduled=True Scheduled
event   default/y2     Scheduled: Successfully assigned default/y2 to n2
bind    default/y1     n1
event   default/y1     Scheduled: Successfully assigned default/y1 to n1
gone    default/x1
gone    default/x2

# Two gangs that each lost a member and its node block each other until one times out.
gangs
plugin Gate reserve default/x2 Success
plugin Gate reserve default/x2 Unschedulable broken disk
plugin Gate reserve default/y2 Success
plugin Gate reserve default/y2 Unschedulable broken disk

0s    node n1 cpu=2
0s    node n2 cpu=2
0s    group default/x min=2
0s    pod default/x1 cpu=2 group=x
0s    pod default/x2 cpu=2 group=x
0s    cycle
0s    delete node n2
----
patch   default/x1     nominatedNodeName=n1
event   default/x2     FailedScheduling: 0/1 nodes are available: 1 broken disk.
patch   default/x2     PodScheduled=False Unschedulable
patch   default/x      PodGroupScheduled=True Scheduled
wait    default/x1     on=n1 for=GangScheduling
backoff default/x2     until=1s rejected_by=Gate

2s    node n3 cpu=2
2s    node n4 cpu=2
2s    delete node n4
2s    group default/y min=2
2s    node n5 cpu=2
2s    pod default/y1 cpu=2 group=y
2s    pod default/y2 cpu=2 group=y
2s    cycle
2s    delete node n5
----
patch   default/y1     nominatedNodeName=n3
event   default/y2     FailedScheduling: 0/1 nodes are available: 1 broken disk.
patch   default/y2     PodScheduled=False Unschedulable
patch   default/y      PodGroupScheduled=True Scheduled
wait    default/y1     on=n3 for=GangScheduling
backoff default/y2     until=3s rejected_by=Gate

# x1 and y1 hold a node each, and wait for siblings that need the other node.
60s   flush_backoff
60s   cycle
60s   cycle
----
event   default/x2     FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.
patch   default/x2     PodScheduled=False Unschedulable
event   default/y2     FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.
patch   default/y2     PodScheduled=False Unschedulable
backoff default/x2     until=1m2s rejected_by=NodeResourcesFit
backoff default/y2     until=1m2s rejected_by=NodeResourcesFit

# After five minutes x1 times out. Its own gang does not fit any more; y2 gets the node in time.
301s  flush_backoff
301s  cycle
301s  cycle
----
event   default/x1     FailedScheduling: 0/1 nodes are available: 1 rejected due to timeout after waiting 5m0s at plugin GangScheduling.
patch   default/x1     PodScheduled=False Unschedulable, nominatedNodeName=none
event   default/x2     FailedScheduling: pod group is unschedulable, waiting for minCount pods from a gang to be scheduled, one or more plugins asked to wait and no plugin rejected pod
patch   default/x2     PodScheduled=False Unschedulable
event   default/x1     FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.
patch   default/x1     PodScheduled=False Unschedulable
bind    default/y2     n1
bind    default/y1     n3
event   default/y2     Scheduled: Successfully assigned default/y2 to n1
event   default/y1     Scheduled: Successfully assigned default/y1 to n3
backoff default/x1     until=5m3s rejected_by=NodeResourcesFit
backoff default/x2     until=5m2s after an error

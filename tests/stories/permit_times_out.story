# A pod that waits at Permit beyond its timeout is rejected, and its resources are released.
plugin Gate permit default/a Wait 5s

0s    node n1 cpu=1
0s    pod default/a cpu=1
0s    cycle
----
patch   default/a      nominatedNodeName=n1
wait    default/a      on=n1 for=Gate

1s    pod default/b cpu=1
1s    cycle
----
event   default/b      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/b      PodScheduled=False Unschedulable
park    default/b      rejected_by=NodeResourcesFit

# Five seconds after it began to wait, the pod is rejected, and its freed room requeues the other pod.
6s    wait
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 rejected due to timeout after waiting 5s at plugin Gate.
patch   default/a      PodScheduled=False Unschedulable, nominatedNodeName=none
backoff default/a      until=6s rejected_by=Gate
ready   default/b

6s    cycle
----
bind    default/b      n1
event   default/b      Scheduled: Successfully assigned default/b to n1

7s    flush_backoff
7s    cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/a      PodScheduled=False Unschedulable
park    default/a      rejected_by=NodeResourcesFit

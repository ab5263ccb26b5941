# A nominated pod counts on its node for pods of lower priority.
0s    node n1 cpu=2
0s    pod default/busy node=n1 cpu=2
0s    pod default/vip cpu=2 priority=10 policy=Never nominated=n1
0s    cycle
----
event   default/vip    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.
patch   default/vip    PodScheduled=False Unschedulable
park    default/vip    rejected_by=NodeResourcesFit

# The node is empty now, but a pod that still backs off is nominated to it.
1s    delete default/busy
1s    pod default/a cpu=1
1s    cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/a      PodScheduled=False Unschedulable
park    default/a      rejected_by=NodeResourcesFit
gone    default/busy
backoff default/vip    until=1s rejected_by=NodeResourcesFit

# A pod of higher priority ignores the nomination.
2s    pod default/boss cpu=1 priority=20
2s    cycle
----
bind    default/boss   n1
event   default/boss   Scheduled: Successfully assigned default/boss to n1

# The nomination ends with the pod, and pods of lower priority are requeued.
3s    delete default/vip
3s    cycle
----
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1
gone    default/vip

# A pod with preemptionPolicy Never is first in the queue, but preempts no pods.
0s    node n1 cpu=1
0s    pod default/low node=n1 cpu=1
0s    pod default/polite cpu=1 priority=100 policy=Never
0s    cycle
----
event   default/polite FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.
patch   default/polite PodScheduled=False Unschedulable
park    default/polite rejected_by=NodeResourcesFit

# It waits until the pod ends.
9s    delete default/low
9s    cycle
----
bind    default/polite n1
event   default/polite Scheduled: Successfully assigned default/polite to n1
gone    default/low

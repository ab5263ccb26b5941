# The message counts the reasons of all nodes; pods of other schedulers are ignored.
0s    node n1 cpu=1
0s    node n2 cpu=4 taints=gpu=yes:NoSchedule
0s    node n3 cpu=4 unschedulable=1
0s    pod default/web cpu=2
0s    pod default/foreign cpu=1 scheduler=other
0s    cycle
----
event   default/web    FailedScheduling: 0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.
patch   default/web    PodScheduled=False Unschedulable
park    default/web    rejected_by=NodeResourcesFit,NodeUnschedulable,TaintToleration

# After five minutes the pod is retried without an event.
301s  flush_unschedulable
301s  cycle
----
event   default/web    FailedScheduling: 0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.

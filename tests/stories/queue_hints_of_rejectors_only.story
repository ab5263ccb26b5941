# Only the hints of plugins that rejected the pod run, not those of plugins that passed it or did not run.
0s    node n1 cpu=1 taints=gpu=yes:NoSchedule
0s    pod default/a cpu=2
0s    cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
patch   default/a      PodScheduled=False Unschedulable
park    default/a      rejected_by=TaintToleration

# Free resources do not help against a taint: NodeResourcesFit did not run for this node.
5s    change node n1 cpu=4 taints=gpu=yes:NoSchedule
----

6s    change node n1 cpu=4
6s    cycle
----
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1

# An update of an unschedulable pod is an event: the hints of the plugins that rejected it run.
0s    node n1 cpu=1 taints=gpu=yes:NoSchedule
0s    pod default/a cpu=1
0s    cycle
----
event   default/a      FailedScheduling: 0/1 nodes are available: 1 node(s) had untolerated taint(s). no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
patch   default/a      PodScheduled=False Unschedulable
park    default/a      rejected_by=TaintToleration

# TaintToleration has not registered updates of labels.
5s    change pod default/a cpu=1 labels=app=web
----

# It has registered updates of tolerations.
6s    change pod default/a cpu=1 labels=app=web tolerations=gpu:NoSchedule
----
ready   default/a

6s    cycle
----
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1

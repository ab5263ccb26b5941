# A budget that allows one disruption protects the second pod; protected pods are reprieved first.
0s    node n1 cpu=3
0s    budget default/db app=db allowed=1
0s    pod default/web node=n1 cpu=1 priority=9
0s    pod default/db1 node=n1 cpu=1 priority=2 labels=app=db
0s    pod default/db2 node=n1 cpu=1 priority=1 labels=app=db
----

# By priority the budget covers db1; evicting db2 would violate it, so db2 is reprieved before web.
1s    pod default/high cpu=2 priority=100
1s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/web    DisruptionTarget=True PreemptionByScheduler
delete  default/web
event   default/web    Preempted: Preempted by pod default/high on node n1
patch   default/db1    DisruptionTarget=True PreemptionByScheduler
delete  default/db1
event   default/db1    Preempted: Preempted by pod default/high on node n1
gone    default/db1
backoff default/high   until=2s rejected_by=DefaultPreemption,NodeResourcesFit
gone    default/web

# Activation moves a pod to activeQ immediately, whatever it waits for.
api delete default/low error=forbidden

0s    node n1 cpu=1
0s    pod default/low node=n1 cpu=1
0s    pod default/high cpu=1 priority=100
0s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/low    DisruptionTarget=True PreemptionByScheduler
delete  default/low    (pods "low" is forbidden: denied)
ready   default/high

# The victim could not be deleted; no other event would requeue the preemptor.
0s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
delete  default/low
event   default/low    Preempted: Preempted by pod default/high on node n1
backoff default/high   until=2s rejected_by=NodeResourcesFit
gone    default/low

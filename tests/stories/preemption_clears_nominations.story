# Pods of lower priority that were nominated to the node lose the nomination and are retried.
api delete default/low delay=5s
api delete default/low delay=5s

0s    node n1 cpu=1
0s    pod default/low node=n1 cpu=1
0s    pod default/mid cpu=1 priority=10
0s    cycle
----
event   default/mid    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/mid    PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/low    DisruptionTarget=True PreemptionByScheduler
delete  default/low    (under way)
park    default/mid    rejected_by=NodeResourcesFit

# The same victim frees the room for a pod of higher priority. mid loses its nomination while its own call is pending.
1s    pod default/high cpu=1 priority=100
1s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
patch   default/mid    nominatedNodeName=none
delete  default/low    (under way)
park    default/high   rejected_by=NodeResourcesFit
hold    default/mid    by=DefaultPreemption

# The first deletion succeeds; for the second the pod does not exist.
7s    wait
----
event   default/low    Preempted: Preempted by pod default/mid on node n1
ready   default/high
gone    default/low
ready   default/mid

7s    cycle
7s    cycle
----
bind    default/high   n1
event   default/high   Scheduled: Successfully assigned default/high to n1
event   default/mid    FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/mid    PodScheduled=False Unschedulable
park    default/mid    rejected_by=NodeResourcesFit

# Without asynchronous preemption the cycle waits for the deletion of its victims.
gate SchedulerAsyncPreemption=false
workers 16
api delete default/low-2 delay=2s

0s    node n1 cpu=2
0s    pod default/low-1 cpu=1
0s    pod default/low-2 cpu=1
0s    cycle
0s    cycle
----
bind    default/low-1  n1
event   default/low-1  Scheduled: Successfully assigned default/low-1 to n1
bind    default/low-2  n1
event   default/low-2  Scheduled: Successfully assigned default/low-2 to n1

# Both victims are deleted in parallel. The cycle lasts as long as the slower deletion.
1s    pod default/high cpu=2 priority=10
1s    cycle
----
patch   default/low-1  DisruptionTarget=True PreemptionByScheduler
patch   default/low-2  DisruptionTarget=True PreemptionByScheduler
delete  default/low-1
delete  default/low-2  (under way)
event   default/low-1  Preempted: Preempted by pod default/high on node n1
gone    default/low-1

2s    pod default/small cpu=1
2s    cycle
----

# The cycle requested meanwhile follows: the room is reserved for the nominated pod.
3s    wait
----
event   default/low-2  Preempted: Preempted by pod default/high on node n1
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
event   default/small  FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.
patch   default/small  PodScheduled=False Unschedulable
backoff default/high   until=4s rejected_by=NodeResourcesFit
gone    default/low-2
backoff default/small  until=4s rejected_by=NodeResourcesFit

4s    flush_backoff
4s    cycle
----
bind    default/high   n1
event   default/high   Scheduled: Successfully assigned default/high to n1

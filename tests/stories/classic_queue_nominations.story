# v1.16 rules: a nominated pod counts on its node for pods of its priority and below.
rules classic
grace 30s

0s    node n1 cpu=2
0s    pod default/low cpu=2 priority=1 node=n1
0s    pod default/high cpu=2 priority=10
0s    cycle
----
event   default/high   FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/high   PodScheduled=False Unschedulable, nominatedNodeName=n1
delete  default/low
event   default/low    Preempted: Preempted by default/high on node n1
park    default/high

# The victim is deleted and the nominated pod backs off; a pod of lower priority does not get the room.
500ms delete default/low
500ms pod default/between cpu=1 priority=5
500ms cycle
----
event   default/between FailedScheduling: 0/1 nodes are available: 1 Insufficient cpu.
patch   default/between PodScheduled=False Unschedulable
park    default/between
backoff default/high   until=1s
gone    default/low

1s    flush_backoff
1s    cycle
----
bind    default/high   n1
event   default/high   Scheduled: Successfully assigned default/high to n1

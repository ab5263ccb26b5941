# v1.16 rules: higher priority first, then the time of entering the queue, not of creation.
rules classic

0s    node n1 cpu=8
0s    pod default/late cpu=1
0s    pod default/later cpu=1
0s    pod default/high cpu=1 priority=10
0s    cycle
----
bind    default/high   n1
event   default/high   Scheduled: Successfully assigned default/high to n1

1s    cycle
----
bind    default/late   n1
event   default/late   Scheduled: Successfully assigned default/late to n1

2s    cycle
----
bind    default/later  n1
event   default/later  Scheduled: Successfully assigned default/later to n1

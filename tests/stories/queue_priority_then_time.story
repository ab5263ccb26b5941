# activeQ pops the pod with the highest priority first, and of equal ones the one that entered first.
0s    node n1 cpu=8
0s    pod default/a cpu=1
1s    pod default/b cpu=1
2s    pod default/urgent cpu=1 priority=10
----

# An update reorders a pod by its new priority; its time of entry stays.
3s    pod default/c cpu=1
3s    change pod default/c cpu=1 priority=5
4s    cycle
4s    cycle
4s    cycle
4s    cycle
----
bind    default/urgent n1
event   default/urgent Scheduled: Successfully assigned default/urgent to n1
bind    default/c      n1
event   default/c      Scheduled: Successfully assigned default/c to n1
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1
bind    default/b      n1
event   default/b      Scheduled: Successfully assigned default/b to n1

# Batching: identical pods use the remaining nodes of the first pod's cycle without filtering again.
spread none

0s    node large cpu=4
0s    node medium cpu=3
0s    node small cpu=2500m
0s    pod default/a cpu=2100m
0s    pod default/b cpu=2100m
0s    cycle
----
bind    default/a      large
event   default/a      Scheduled: Successfully assigned default/a to large

# A node that is better than all others is added; the list does not contain it.
100ms node huge cpu=64
100ms cycle
----
bind    default/b      medium
event   default/b      Scheduled: Successfully assigned default/b to medium

# Half a second after the first pod the list is dropped.
501ms pod default/c cpu=2100m
501ms cycle
----
bind    default/c      huge
event   default/c      Scheduled: Successfully assigned default/c to huge

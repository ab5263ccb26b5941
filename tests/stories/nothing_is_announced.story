# Without NominatedNodeNameForExpectation, nominatedNodeName is not set before binding.
gate NominatedNodeNameForExpectation=false
plugin Gate permit default/a Wait 60s

0s    node n1 cpu=1
0s    pod default/a cpu=1
0s    cycle
----
wait    default/a      on=n1 for=Gate

5s    allow default/a Gate
----
bind    default/a      n1
event   default/a      Scheduled: Successfully assigned default/a to n1

# v1.16 rules: a pod loses its nomination if preemption would not help on any node.
rules classic

0s    node n1 cpu=2 taints=a:NoSchedule
0s    pod default/web cpu=1 nominated=n1
0s    cycle
----
event   default/web    FailedScheduling: 0/1 nodes are available: 1 node(s) had taints that the pod didn't tolerate.
patch   default/web    PodScheduled=False Unschedulable, nominatedNodeName=none
park    default/web

# Classic rules: where evicting helps nowhere the pod loses its nomination.
rules classic

0s    node n1 cpu=2 taints=a:NoSchedule
0s    pod default/web cpu=1 nominated=n1
0s    cycle
----
event   default/web    FailedScheduling: 0/1 nodes are available: 1 node(s) had taints that the pod didn't tolerate.
patch   default/web    PodScheduled=False Unschedulable, nominatedNodeName=none
park    default/web

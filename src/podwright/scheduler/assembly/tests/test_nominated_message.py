"""The message for a pod whose nominated node and whose other nodes are rejected.

Upstream: pkg/scheduler/schedule_one.go, `findNodesThatFitPod`, `evaluateNominatedNode`
"""

import podwright as pw
from podwright.apimachinery.objects import decode_pod
from podwright.testing import make_node


def test_the_plugin_that_rejects_the_nominated_node_is_named_with_those_that_restrict():
    scheduler = pw.Scheduler(seed=1)
    scheduler.add(
        make_node("n1", cpu="1"), make_node("n2", taints=["a:NoSchedule"]), make_node("n3")
    )
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pod = decode_pod(
        {
            "metadata": {"name": "web"},
            "spec": {
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}],
                "affinity": affinity,
            },
            "status": {"nominatedNodeName": "n2"},
        }
    )
    assert scheduler.schedule(pod).message.startswith(
        "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s)"
        " [NodeAffinity TaintToleration], 1 node(s) had untolerated taint(s)."
    )

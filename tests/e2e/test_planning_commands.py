"""Questions whose answer is that there is nothing: each says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.command_line import run

NODE = """
apiVersion: v1
kind: Node
metadata: {name: a}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: large}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "5"}}}]}
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.yaml"
    file.write_text(NODE + POD, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("--headroom", "No workload of the cluster has pods on nodes."),
        ("--loss pool", "No node has a label that names its pool."),
        ("--loss pool --loss zone", "No node has a label that names its pool or zone."),
    ],
)
def test_an_empty_answer_is_a_sentence(cluster: Path, options: str, text: str) -> None:
    assert text in run(f"capacity {options} {cluster}").stdout


def test_pools_that_do_not_exist_cannot_be_bought(cluster: Path) -> None:
    text = "no node has a label that names its pool; --pool-label names the label"
    found = run(f"capacity --buy pools {cluster}", status=2)
    assert found.stderr == f"error: --buy pools: {text}\n"


KARPENTER = """---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec: {limits: {cpu: 10}}
---
apiVersion: v1
kind: Node
metadata: {name: k1, labels: {karpenter.sh/nodepool: general, topology.kubernetes.io/zone: a}}
status: {allocatable: {cpu: 2, memory: 8Gi, pods: 29}}
---
apiVersion: v1
kind: Node
metadata: {name: k2, labels: {karpenter.sh/nodepool: general, topology.kubernetes.io/zone: b}}
status: {allocatable: {cpu: 2, memory: 8Gi, pods: 29}}
---
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 4}}}]}
"""


def test_groups_are_formed_from_the_pools_of_the_cluster(tmp_path: Path, cluster: Path) -> None:
    dump = tmp_path / "dump.yaml"
    dump.write_text(KARPENTER)
    found = run(f"autoscale pools {dump}", status=1)
    assert "default/huge  general  2     no     Insufficient cpu" in found.stdout
    for text in (
        "not read: the limits and requirements of NodePool general, ",
        "1 group from the pools of the cluster; how many nodes they may have is not known",
        "of a pool with several instance types or zones, a new node is like its first node",
    ):
        assert text in found.stderr
    bought = run(f"capacity --buy pools {dump}", status=1)
    assert "NodePool general, " in bought.stderr
    found = run(f"autoscale pools {cluster}", status=2)
    assert found.stderr.startswith("error: GROUPS: no node has a label that names its pool")
    found = run(f"autoscale {dump} {cluster}", status=2)
    text = "is a manifest, not node groups; pools in its place forms them from the cluster"
    assert found.stderr == f"error: {dump}: {text}\n"
    found = run(f"autoscale examples/autoscaling/groups.yaml --pool-label x {dump}", status=2)
    assert "options.poolLabel names the label" in found.stderr


def test_amounts_of_a_type_may_be_numbers(cluster: Path, tmp_path: Path) -> None:
    types = tmp_path / "types.yaml"
    types.write_text("types: [{name: big, price: 1, allocatable: {cpu: 8, memory: 64Gi}}]")
    found = run(f"capacity --buy {types} {cluster}")
    assert found.stdout.startswith("1 node for 1: 1 of 1 pending pods have a node then.\n")


def test_a_plan_without_steps_is_a_sentence(tmp_path: Path) -> None:
    labels = "metadata: {name: large, labels: {app: web}}"
    budget = """---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
"""
    pod = POD.replace("metadata: {name: large}", labels).replace("spec: {", "spec: {nodeName: a, ")
    file = tmp_path / "cluster.yaml"
    file.write_text(NODE + pod.replace('"5"', '"1"') + budget, encoding="utf-8")
    found = run(f"drain-plan a {file} -o wide", status=1)
    assert found.stdout.startswith("No node can be drained.\n\nNode a cannot be drained: ")


def test_a_dump_of_nodes_and_pods_is_enough_to_plan_a_drain(tmp_path: Path) -> None:
    template = """
apiVersion: v1
kind: Pod
metadata:
  name: web-NUMBER
  namespace: default
  uid: u-NUMBER
  resourceVersion: "7"
  labels: {app: web}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web, uid: r, controller: true}]
spec:
  nodeName: NODE
  containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]
status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
---
"""
    pods = [
        template.replace("NUMBER", str(number)).replace("NODE", "ab"[number < 4])
        for number in range(8)
    ]
    file = tmp_path / "dump.yaml"
    file.write_text(NODE + NODE.replace("name: a", "name: b") + "".join(pods), encoding="utf-8")
    found = run(f"drain-plan b {file}", status=1)
    assert "1     b      4        <none>     4        70s" in found.stdout
    assert "and 3 more find no node:" in found.stdout


def test_a_check_of_nothing_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    spec = "spec: {cluster: {nodes: [{name: node, count: 1}]}%s}\n"
    head = "apiVersion: podwright.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\n"
    file.write_text(head + spec % "", encoding="utf-8")
    refused = run(f"check {file}", status=2)
    assert refused.stderr.startswith(f"error: {file}: spec.expectations: Required value: what is")
    # A condition that has to come to hold is an expectation too.
    waits = ", operations: [{waitUntil: {object: node/node-0, condition: Ready}}]"
    file.write_text(head + spec % waits, encoding="utf-8")
    run(f"check {file}")

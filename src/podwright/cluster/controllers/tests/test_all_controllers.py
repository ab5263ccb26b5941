"""All controllers together: a run restored from its state continues the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.cluster.api import NodeDown, NodeUp
from podwright.cluster.controllers.apps.stateful_set import StatefulSetController
from podwright.cluster.controllers.autoscaling.horizontal_autoscaler import (
    HorizontalAutoscalerController,
)
from podwright.cluster.controllers.interface import DrainNode
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.controllers.registry import (
    CLUSTER_CONTROLLERS,
    OTHER_KUBELETS_DELAY_NS,
    served_controllers,
)
from podwright.cluster.controllers.tests.staged_cluster import Cluster, a_pod, document
from podwright.cluster.controllers.tests.test_cron_job import a_cron_job
from podwright.cluster.controllers.tests.test_disruption_budget import a_budget
from podwright.cluster.controllers.tests.test_job import a_job
from podwright.cluster.controllers.tests.test_persistent_volume import a_claim, a_class, a_volume
from podwright.cluster.kubelets.pod_statuses import STOP_DELAY

FAULTS: dict[str, Any] = {"down": NodeDown, "up": NodeUp, "drain": DrainNode}
WEB = {"app": "web"}
JOB, POD, NODE = ("batch", "Job"), ("", "Pod"), ("", "Node")


def a_cluster() -> Cluster:
    cluster = Cluster(CLUSTER_CONTROLLERS)
    nodes = [document("Node", name) for name in ("n1", "n2", "n3")]
    cluster.add(*nodes, document("Namespace", "default"), a_class("now", reclaimPolicy="Delete"))
    return cluster


def steps() -> st.SearchStrategy[list[tuple[str, int]]]:
    """Return a strategy for operations, each with a number that selects its object."""
    names = [
        "job", "failing job", "cron job", "pod", "claim", "volume", "claimed pod", "budget",
        "down", "up", "drain", "uncordon", "remove node", "delete pod", "delete job",
        "delete claim", "taint", "wait", "wait", "wait",
    ]  # fmt: skip
    return st.lists(st.tuples(st.sampled_from(names), st.integers(0, 9)), max_size=20)


def do(cluster: Cluster, step: int, what: str, number: int) -> None:
    """Execute one operation; one that cannot be executed is skipped."""
    node = f"n{number % 3 + 1}"
    claims, jobs = cluster.all(("", "PersistentVolumeClaim")), cluster.all(JOB)
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": f"c{number}"}}
    stops = {STOP_DELAY: f"{number}s"}
    made: dict[str, Any] = {
        "job": lambda: a_job(f"j{step}", seconds=number * 10, completions=3, parallelism=2),
        "failing job": lambda: a_job(f"j{step}", seconds=5, exit_code=1, backoffLimit=2),
        "cron job": lambda: a_cron_job(f"r{step}", seconds=number * 20),
        "pod": lambda: a_pod(f"p{step}", labels=WEB, annotations=stops),
        "claim": lambda: a_claim(f"c{step}", storageClassName=("manual", "now")[number % 2]),
        "volume": lambda: a_volume(f"v{step}", f"{number + 1}Gi"),
        "claimed pod": lambda: a_pod(f"p{step}", volumes=[volume]),
        "budget": lambda: a_budget(f"b{step}", minAvailable=number % 4),
    }
    if what in made:
        cluster.add(made[what]())
    elif what in FAULTS:
        cluster.send(FAULTS[what](node))
    elif what == "wait":
        cluster.run(cluster.now + (1, 5, 20, 61, 400)[number % 5])
    elif what == "delete pod" and cluster.pods():
        cluster.delete(POD, cluster.pods()[number % len(cluster.pods())].key)
    elif what == "delete job" and jobs:
        policy = ("Background", "Foreground", "Orphan")[number % 3]
        cluster.delete(JOB, jobs[number % len(jobs)].key, propagation=policy)
    elif what == "delete claim" and claims:
        cluster.delete(("", "PersistentVolumeClaim"), claims[number % len(claims)].key)
    elif cluster.has(NODE, node):
        if what == "remove node":
            cluster.delete(NODE, node)
        elif what == "uncordon":
            cluster.edit(NODE, node, "spec", unschedulable=None)
        elif what == "taint":
            cluster.edit(NODE, node, "spec", taints=[{"key": "t", "effect": "NoExecute"}])


def everything(cluster: Cluster) -> list[Any]:
    return [obj.raw for kind in cluster.controllers.lister.kinds() for obj in cluster.all(kind)]


@effort(60)
@given(history=steps(), breaks=st.sets(st.integers(0, 20)))
def test_a_run_restored_from_its_state_continues_the_same(history, breaks):
    whole, broken = a_cluster(), a_cluster()
    for step, (what, number) in enumerate(history):
        do(whole, step, what, number)
        if step in breaks:
            broken.replace_controllers()
        do(broken, step, what, number)
        assert whole.controllers.state() == broken.controllers.state()
    whole.run(whole.now + 2_000)
    broken.replace_controllers()
    broken.run(broken.now + 2_000)
    assert everything(whole) == everything(broken)
    assert whole.events == broken.events


@effort(40)
@given(history=steps())
def test_deleting_a_namespace_deletes_its_content_after_any_history(history):
    cluster = a_cluster()
    for step, (what, number) in enumerate(history):
        do(cluster, step, what, number)
    for name in ("n1", "n2", "n3"):
        cluster.send(NodeUp(name))
    cluster.delete(("", "Namespace"), "default")
    cluster.run(cluster.now + 1_000)
    left = [obj for obj in everything(cluster) if obj["metadata"].get("namespace")]
    assert left == []
    assert not cluster.has(("", "Namespace"), "default")


@pytest.mark.parametrize(
    ("options", "signs", "delay_ns"),
    [
        pytest.param({}, False, 0, id="kubelets here, no authority"),
        pytest.param({"sign": lambda *_: ""}, True, 0, id="an authority that signs"),
        pytest.param({"has_kubelets": False}, False, OTHER_KUBELETS_DELAY_NS, id="other kubelets"),
    ],
)
def test_the_controllers_of_a_served_cluster(options, signs, delay_ns):
    arguments: Any = ("certificates", None, None, None)
    made = [make(Lister()) for make in served_controllers(*arguments, **options)]
    names = [each.name for each in made]
    assert len(names) == len(set(names))
    assert ("certificatesigningrequest-signing-controller" in names) is signs
    delays = [each._recreation_delay_ns for each in made if isinstance(each, StatefulSetController)]
    assert delays == [delay_ns]
    # Usage is what the metrics API reports, not what templates declare.
    assert names.count(HorizontalAutoscalerController.name) == 1
    assert "ttl-controller" in names

"""Nodes whose conditions have taints: the condition has to change, not the taint."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Object, Pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.advice.tests.test_remedies import pending, remedies
from podwright.scheduler.assembly import Scheduler

KEY = "node.kubernetes.io/"
EFFECTS = ("NoSchedule", "NoExecute")
POOL = {"key": "pool", "effect": "NoSchedule"}


def node(
    name: str, taints: list[dict[str, str]], *conditions: dict[str, str], **status: Any
) -> Object:
    allocatable = {"cpu": "4", "pods": "9"}
    return decode({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"taints": taints},
        "status": {"allocatable": allocatable, "conditions": list(conditions), **status},
    })  # fmt: skip


def both(key: str) -> list[dict[str, str]]:
    return [{"key": KEY + key, "effect": effect} for effect in EFFECTS]


def condition(kind: str, status: str, **fields: str) -> dict[str, str]:
    return {"type": kind, "status": status, **fields}


def lacks(pod: Pod, *nodes: Object) -> dict[str, tuple[str, ...]]:
    scheduler = Scheduler()
    scheduler.add(*nodes, pod)
    return {each.node: each.lacks for each in scheduler.nearest_nodes(scheduler.explain(pod))}


STALE = {"reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."}
NO_NETWORK = {"message": "cni plugin not initialized"}


@pytest.mark.parametrize(
    ("key", "reported", "text", "has"),
    [
        ("not-ready", condition("Ready", "False", **NO_NETWORK), "make node n Ready",
         "Ready is False (cni plugin not initialized)"),
        ("unreachable", condition("Ready", "Unknown", **STALE), "make node n Ready",
         "Ready is Unknown (NodeStatusUnknown, Kubelet stopped posting node status.)"),
        ("memory-pressure", condition("MemoryPressure", "True"), "end the MemoryPressure of node n",
         "MemoryPressure is True"),
        ("disk-pressure", condition("DiskPressure", "True"), "end the DiskPressure of node n",
         "DiskPressure is True"),
        ("pid-pressure", condition("PIDPressure", "True", reason="Low"),
         "end the PIDPressure of node n", "PIDPressure is True (Low)"),
        ("network-unavailable", condition("NetworkUnavailable", "True"),
         "end the NetworkUnavailable of node n", "NetworkUnavailable is True"),
    ],
)  # fmt: skip
def test_the_condition_has_to_change_and_no_taint_is_removed_or_tolerated(key, reported, text, has):
    found = [node("n", both(key), condition("Other", "True"), reported)]
    first, *others = remedies(pending(), *found)
    assert (first.text, first.node, first.commands) == (text, "n", ())
    assert first.by_hand == f"node n reports: {has}"
    assert [each.text for each in others] == ["add a node like n"]
    assert lacks(pending(), *found) == {"n": (f"another condition: {has}",)}


def test_other_taints_of_the_node_are_removed_or_tolerated_beside():
    found = [node("n", [*both("not-ready"), POOL], condition("Ready", "False"))]
    texts = [each.text for each in remedies(pending(), *found)]
    assert texts[:2] == [
        "make node n Ready and add a toleration for taint pool:NoSchedule",
        "make node n Ready and remove taint pool:NoSchedule from node n",
    ]
    assert lacks(pending(), *found) == {
        "n": ("another condition: Ready is False", "toleration for taint pool:NoSchedule")
    }


@pytest.mark.parametrize(
    "reported",
    [condition("DiskPressure", "True"), condition("Ready", "True"), condition("Ready", "Unknown")],
    ids=["another", "a good one", "one with another taint"],
)
def test_a_taint_without_its_condition_is_one_like_others(reported):
    found = [node("n", both("not-ready"), reported)]
    texts = [each.text for each in remedies(pending(), *found)]
    tolerate = [f"add a toleration for taint {KEY}not-ready:{effect}" for effect in EFFECTS]
    assert " and ".join(tolerate) in texts
    assert lacks(pending(), *found) == {
        "n": tuple(f"toleration for taint {KEY}not-ready:{effect}" for effect in EFFECTS)
    }


def test_a_condition_that_the_pod_tolerates_is_not_named():
    tolerations = [{"key": f"{KEY}not-ready", "operator": "Exists"}]
    taints = [*both("not-ready"), *both("disk-pressure")]
    found = node("n", taints, condition("Ready", "False"), condition("DiskPressure", "True"))
    first, *_ = remedies(pending(tolerations=tolerations), found)
    assert (first.text, first.by_hand) == (
        "end the DiskPressure of node n", "node n reports: DiskPressure is True",
    )  # fmt: skip


def test_the_same_of_several_nodes_is_an_alternative():
    nodes = [node(name, both("not-ready"), condition("Ready", "False")) for name in "abc"]
    first, *_ = remedies(pending(), *nodes)
    assert (first.text, first.alternatives) == ("make node a Ready", ("b", "c"))

"""Hints about nodes of NodeUnschedulable and NodeAffinity.

Upstream: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go,
isSchedulableAfterNodeChange, isSchedulableAfterPodTolerationChange;
pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go, isSchedulableAfterNodeChange
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Node, Pod, decode_node, decode_pod
from podwright.scheduler.framework import Hint
from podwright.scheduler.plugins import node_unschedulable
from podwright.scheduler.plugins.hints import node_affinity

QUEUE, SKIP = Hint.QUEUE, Hint.SKIP


def pod(name: str = "waiting", **spec: Any) -> Pod:
    metadata = {"name": name, "namespace": "default", "uid": name}
    return decode_pod({"metadata": metadata, "spec": {"containers": [{"name": "c"}]} | spec})


def node(cordoned: bool = False, **labels: str) -> Node:
    metadata = {"name": "n", "labels": labels}
    return decode_node({"metadata": metadata, "spec": {"unschedulable": cordoned}})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, node(), QUEUE, id="a new node"),
        pytest.param(None, node(cordoned=True), SKIP, id="a new one that is cordoned"),
        pytest.param(node(cordoned=True), node(), QUEUE, id="it is uncordoned"),
        pytest.param(node(), node(cordoned=True), SKIP, id="it is cordoned"),
        pytest.param(node(), node(a="b"), SKIP, id="another change"),
    ],
)
def test_nodes_that_accept_pods(old: Node | None, new: Node, expected: Hint) -> None:
    assert node_unschedulable.after_node_change(pod(), old, new) is expected


CORDONED = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param(pod(tolerations=[{"key": CORDONED, "operator": "Exists"}]), QUEUE, id="it"),
        pytest.param(pod(tolerations=[{"operator": "Exists"}]), QUEUE, id="everything"),
        pytest.param(pod(tolerations=[{"key": "k", "operator": "Exists"}]), SKIP, id="another"),
        pytest.param(pod("o", tolerations=[{"operator": "Exists"}]), SKIP, id="another pod"),
    ],
)
def test_a_pod_that_tolerates_cordoned_nodes_from_now_on(changed: Pod, expected: Hint) -> None:
    assert node_unschedulable.after_toleration_change(pod(), pod(), changed) is expected


def term(key: str, operator: str = "Exists", *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def affine(*terms: dict[str, Any], **selector: str) -> Pod:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    affinity: dict[str, Any] = {"affinity": {"nodeAffinity": required}} if terms else {}
    return pod(nodeSelector=selector, **affinity)


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(affine(disk="ssd"), None, node(disk="ssd"), QUEUE, id="selected"),
        pytest.param(affine(disk="ssd"), None, node(disk="hdd"), SKIP, id="not selected"),
        pytest.param(affine(a="b"), node(a="b"), node(a="b", c="d"), SKIP, id="selected before"),
        pytest.param(affine(), node(a="b"), node(a="c"), SKIP, id="every node is"),
        pytest.param(affine(term("a")), None, node(a=""), QUEUE, id="it matches a term"),
        pytest.param(affine(term("a"), term("b")), None, node(b=""), QUEUE, id="one of several"),
        pytest.param(affine(term("a")), None, node(b=""), SKIP, id="none"),
        pytest.param(affine(term("a"), disk="ssd"), None, node(a=""), SKIP, id="not the selector"),
        pytest.param(affine(term("a")), node(), node(a=""), QUEUE, id="it did not match before"),
        pytest.param(affine(term("a")), node(a=""), node(a="b"), SKIP, id="it did"),
        pytest.param(affine(term("a", "Gt", "x"), term("b")), None, node(b=""), QUEUE, id="broken"),
    ],
)
def test_nodes_that_match(waiting: Pod, old: Node | None, new: Node, expected: Hint) -> None:
    (event,) = node_affinity.events_to_register()
    assert event.hint is not None
    assert event.hint(waiting, old, new) is expected


def test_a_term_that_cannot_be_read_is_an_error_if_no_other_matches() -> None:
    (event,) = node_affinity.events_to_register()
    assert event.hint is not None
    with pytest.raises(ValueError, match=r"nodeSelectorTerms\[0\]"):
        event.hint(affine(term("a", "Gt", "x"), term("b")), None, node())

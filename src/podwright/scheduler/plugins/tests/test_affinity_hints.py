"""Hints of InterPodAffinity: pods that help or hurt, and nodes that change domains.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go, isSchedulableAfterPodChange,
isSchedulableAfterNodeChange
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Node, Pod, decode_node, decode_pod
from podwright.scheduler.framework import Hint
from podwright.scheduler.plugins.inter_pod_affinity import after_node_change, after_pod_change

QUEUE, SKIP = Hint.QUEUE, Hint.SKIP
Terms = list[dict[str, Any]]


def term(app: str = "a", key: str = "zone", **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}} | more


def pod(
    name: str = "waiting",
    app: str = "",
    node: str = "",
    *,
    near: Terms | None = None,
    apart: Terms | None = None,
    nominated: str = "",
    namespace: str = "default",
) -> Pod:
    metadata = {"name": name, "namespace": namespace, "uid": name, "labels": {"app": app}}
    kinds = {"podAffinity": near or [], "podAntiAffinity": apart or []}
    affinity = {
        kind: {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        for kind, terms in kinds.items()
    }
    spec = {"containers": [{"name": "c"}], "nodeName": node, "affinity": affinity}
    status = {"nominatedNodeName": nominated}
    return decode_pod({"metadata": metadata, "spec": spec, "status": status})


NEAR, APART = pod(near=[term()]), pod(apart=[term()])
NEAR_TWO = pod(near=[term(), term("b")])
A, B = pod("o", "a", "n"), pod("o", "b", "n")
EVERYWHERE = pod(near=[term(namespaceSelector={})])
SOMEWHERE = pod(near=[term(namespaces=["x"])])


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(NEAR, None, A, QUEUE, id="who is needed came"),
        pytest.param(NEAR, None, B, SKIP, id="another came"),
        pytest.param(NEAR, None, pod("o", "a"), SKIP, id="it has no node yet"),
        pytest.param(NEAR, None, pod("o", "a", nominated="n"), QUEUE, id="it is nominated"),
        pytest.param(NEAR, None, pod("o", "a", "n", namespace="x"), SKIP, id="elsewhere"),
        pytest.param(EVERYWHERE, None, pod("o", "a", "n", namespace="x"), QUEUE, id="anywhere"),
        pytest.param(SOMEWHERE, None, pod("o", "a", "n", namespace="x"), QUEUE, id="where named"),
        pytest.param(SOMEWHERE, None, A, SKIP, id="not in its own, if others are named"),
        pytest.param(NEAR_TWO, None, A, SKIP, id="it meets one of two terms"),
        pytest.param(NEAR, A, None, SKIP, id="who is needed went"),
        pytest.param(NEAR, B, A, QUEUE, id="one is needed from now on"),
        pytest.param(NEAR, A, B, SKIP, id="one is needed no more"),
        pytest.param(NEAR, A, pod("o", "a", "m"), SKIP, id="one that was needed before"),
        pytest.param(APART, A, None, QUEUE, id="who is avoided went"),
        pytest.param(APART, B, None, SKIP, id="another went"),
        pytest.param(APART, pod("o", "a"), None, SKIP, id="it had no node"),
        pytest.param(APART, None, A, SKIP, id="who is avoided came"),
        pytest.param(APART, A, B, QUEUE, id="one is avoided no more"),
        pytest.param(APART, B, A, SKIP, id="one is avoided from now on"),
        pytest.param(
            pod(app="w"), pod("o", "b", "n", apart=[term("w")]), None, QUEUE, id="who avoided it"
        ),
        pytest.param(
            pod(app="w"), pod("o", "b", "n", apart=[term("v")]), None, SKIP, id="avoided others"
        ),
        pytest.param(pod(), A, None, SKIP, id="no terms on either side"),
        pytest.param(NEAR, pod(), pod(app="b"), QUEUE, id="it changed itself"),
    ],
)
def test_pods(waiting: Pod, old: Pod | None, new: Pod | None, expected: Hint) -> None:
    assert after_pod_change(waiting, old, new) is expected


def node(**labels: str) -> Node:
    return decode_node({"metadata": {"name": "n", "labels": labels}})


BOTH = pod(near=[term()], apart=[term(key="rack")])


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(NEAR, None, node(zone="a"), QUEUE, id="a new node of a domain"),
        pytest.param(NEAR, None, node(), SKIP, id="a new node of none"),
        pytest.param(APART, None, node(), QUEUE, id="a new node has no pods"),
        pytest.param(pod(), None, node(zone="a"), SKIP, id="no terms"),
        pytest.param(NEAR, node(), node(zone="a"), QUEUE, id="it joins a domain"),
        pytest.param(NEAR, node(zone="b"), node(zone="a"), QUEUE, id="another one"),
        pytest.param(NEAR, node(zone="a"), node(), SKIP, id="it leaves one that may help"),
        pytest.param(NEAR, node(zone="a"), node(zone="a", x="y"), SKIP, id="it stays"),
        pytest.param(APART, node(zone="a"), node(), QUEUE, id="it leaves one that hurt"),
        pytest.param(APART, node(zone="a"), node(zone="b"), QUEUE, id="for another one"),
        pytest.param(APART, node(), node(zone="a"), SKIP, id="it joins one that may hurt"),
        pytest.param(BOTH, node(rack="1"), node(rack="2"), QUEUE, id="either is enough"),
        pytest.param(BOTH, node(rack="1"), node(rack="1"), SKIP, id="neither"),
    ],
)
def test_nodes(waiting: Pod, old: Node | None, new: Node, expected: Hint) -> None:
    assert after_node_change(waiting, old, new) is expected

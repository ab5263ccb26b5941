"""Hints of PodTopologySpread: pods that are counted, and nodes that are domains.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/plugin.go,
isSchedulableAfterPodChange, isSchedulableAfterNodeChange
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import (
    Node,
    Pod,
    TopologySpreadConstraint,
    decode_node,
    decode_pod,
    label_selector,
)
from podwright.scheduler.config import PodTopologySpreadArgs
from podwright.scheduler.framework import Hint
from podwright.scheduler.plugins.hints import pod_topology_spread
from podwright.scheduler.plugins.pod_topology_spread import PodTopologySpread

QUEUE, SKIP = Hint.QUEUE, Hint.SKIP
COUNTED, OTHER = {"app": "a"}, {"app": "b"}


def constraint(key: str = "zone", hard: bool = True, **more: Any) -> dict[str, Any]:
    when = "DoNotSchedule" if hard else "ScheduleAnyway"
    fixed = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when}
    return fixed | {"labelSelector": {"matchLabels": COUNTED}} | more


def pod(
    name: str = "waiting",
    labels: dict[str, str] | None = None,
    node: str = "",
    nominated: str = "",
    namespace: str = "default",
    **spec: Any,
) -> Pod:
    metadata = {"name": name, "namespace": namespace, "uid": name, "labels": labels or {}}
    whole = {"containers": [{"name": "c"}], "nodeName": node} | spec
    status = {"nominatedNodeName": nominated}
    return decode_pod({"metadata": metadata, "spec": whole, "status": status})


WAITING = pod(topologySpreadConstraints=[constraint()])
HONORS = pod(topologySpreadConstraints=[constraint(nodeTaintsPolicy="Honor")])
TOLERANT = pod(
    topologySpreadConstraints=[constraint(nodeTaintsPolicy="Honor")],
    tolerations=[{"operator": "Exists"}],
)
SOFT = pod(topologySpreadConstraints=[constraint(hard=False)])


def selector_of(spread: Any, _labels: Any) -> Any:
    return label_selector(spread.label_selector)


AFTER_POD, AFTER_NODE = (
    event.hint for event in pod_topology_spread.events_to_register(selector_of)
)


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(WAITING, None, pod("o", COUNTED, "n"), QUEUE, id="a counted pod came"),
        pytest.param(WAITING, pod("o", COUNTED, "n"), None, QUEUE, id="one went"),
        pytest.param(WAITING, None, pod("o", OTHER, "n"), SKIP, id="one that is not counted"),
        pytest.param(WAITING, None, pod("o", COUNTED), SKIP, id="one without a node"),
        pytest.param(WAITING, pod("o", COUNTED, nominated="n"), None, QUEUE, id="a nominated one"),
        pytest.param(
            WAITING, None, pod("o", COUNTED, "n", namespace="b"), SKIP, id="of another namespace"
        ),
        pytest.param(SOFT, None, pod("o", COUNTED, "n"), SKIP, id="its constraint rejects no node"),
        pytest.param(
            WAITING, pod("o", OTHER, "n"), pod("o", COUNTED, "n"), QUEUE, id="it counts from now on"
        ),
        pytest.param(
            WAITING, pod("o", COUNTED, "n"), pod("o", OTHER, "n"), QUEUE, id="it counts no more"
        ),
        pytest.param(
            WAITING,
            pod("o", COUNTED, "n"),
            pod("o", COUNTED | {"x": "y"}, "n"),
            SKIP,
            id="it counts as before",
        ),
        pytest.param(
            WAITING, pod("o", OTHER), pod("o", COUNTED, "n"), SKIP, id="it had no node before"
        ),
        pytest.param(HONORS, HONORS, TOLERANT, QUEUE, id="more nodes are domains for it"),
        pytest.param(HONORS, HONORS, HONORS, SKIP, id="its tolerations are the same"),
        pytest.param(
            WAITING,
            WAITING,
            pod(topologySpreadConstraints=[constraint()], tolerations=[{"operator": "Exists"}]),
            SKIP,
            id="taints do not matter to it",
        ),
        pytest.param(
            HONORS,
            pod("o", node="n"),
            pod("o", node="n", tolerations=[{"operator": "Exists"}]),
            SKIP,
            id="another pod tolerates more",
        ),
    ],
)
def test_pods(waiting: Pod, old: Pod | None, new: Pod | None, expected: Hint) -> None:
    assert AFTER_POD is not None
    assert AFTER_POD(waiting, old, new) is expected


def node(taint: str = "", **labels: str) -> Node:
    taints = [{"key": taint, "effect": "NoSchedule"}] if taint else []
    return decode_node({"metadata": {"name": "n", "labels": labels}, "spec": {"taints": taints}})


BOTH = pod(topologySpreadConstraints=[constraint(), constraint("rack")])


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(WAITING, None, node(zone="a"), QUEUE, id="a new node of a domain"),
        pytest.param(WAITING, None, node(), SKIP, id="a new node of none"),
        pytest.param(WAITING, node(zone="a"), None, QUEUE, id="a node of a domain is gone"),
        pytest.param(WAITING, node(), None, SKIP, id="one of none is gone"),
        pytest.param(WAITING, node(), node(zone="a"), QUEUE, id="it joins a domain"),
        pytest.param(WAITING, node(zone="a"), node(), QUEUE, id="it leaves its domain"),
        pytest.param(WAITING, node(zone="a"), node(zone="b"), QUEUE, id="it changes its domain"),
        pytest.param(WAITING, node(zone="a"), node(zone="a", x="y"), SKIP, id="another label"),
        pytest.param(WAITING, node("t", zone="a"), node(zone="a"), QUEUE, id="its taints change"),
        pytest.param(WAITING, node("t"), node(), SKIP, id="those of a node of no domain"),
        pytest.param(BOTH, node(zone="a"), node(zone="b"), SKIP, id="it lacks another key"),
        pytest.param(
            BOTH, node(zone="a", rack="1"), node(zone="a", rack="2"), QUEUE, id="the other domain"
        ),
        pytest.param(
            BOTH, node(zone="a"), node(zone="a", rack="1"), QUEUE, id="it has all keys now"
        ),
    ],
)
def test_nodes(waiting: Pod, old: Node | None, new: Node | None, expected: Hint) -> None:
    assert AFTER_NODE is not None
    assert AFTER_NODE(waiting, old, new) is expected


@pytest.mark.parametrize(
    ("waiting", "came", "expected"),
    [
        pytest.param(pod(), pod("o", OTHER, "n"), QUEUE, id="whatever labels it has"),
        pytest.param(pod(), pod("o", OTHER, "n", namespace="b"), SKIP, id="of another namespace"),
        pytest.param(WAITING, pod("o", OTHER, "n"), SKIP, id="the pod has constraints of its own"),
    ],
)
def test_a_pod_that_came_may_count_for_default_constraints_whose_selector_is_not_known(
    waiting: Pod, came: Pod, expected: Hint
) -> None:
    default = TopologySpreadConstraint(
        max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule"
    )
    args = PodTopologySpreadArgs(defaulting_type="List", default_constraints=(default,))
    after_pod, _ = PodTopologySpread(args).events_to_register()
    assert after_pod.hint is not None
    assert after_pod.hint(waiting, None, came) is expected

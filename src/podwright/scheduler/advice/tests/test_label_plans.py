"""Plans about labels: those that a node affinity requires, and those that other pods avoid."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import decode
from podwright.scheduler.advice import pod_edits
from podwright.scheduler.advice.fixes import Fixes
from podwright.scheduler.advice.tests.test_remedies import pending, placed
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.config import DEFAULT_GATES
from podwright.testing import make_node


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator} | ({"values": [*values]} if values else {})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(expression("disk", "DoesNotExist"), id="DoesNotExist"),
        pytest.param(expression("cores", "Gt", "8"), id="Gt"),
        pytest.param(expression("cores", "Lt", "8"), id="Lt"),
        pytest.param(expression("none", "Exists"), id="Exists"),
    ],
)
def test_a_term_with_an_operator_that_has_no_list_of_values_is_not_extended(
    other: dict[str, Any],
) -> None:
    expressions = [expression("disk", "In", "ssd"), expression("cores", "Exists"), other]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    node = make_node("n", labels={"disk": "hdd", "cores": "8"})
    assert pod_edits.accept_label(pending(affinity=affinity), node) == []
    del expressions[2]
    (edit,) = pod_edits.accept_label(pending(affinity=affinity), node)
    assert edit.text.startswith("add hdd to the values of disk")


def avoiding(name: str, **selector: Any) -> Any:
    """Return a placed pod that avoids pods of a selector."""
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term] if selector else []}
    return placed(name, "n", affinity={"podAntiAffinity": required})


@pytest.mark.parametrize(
    ("others", "keys"),
    [
        pytest.param([avoiding("o", matchLabels={"app": "web"})], ["app"], id="a label"),
        pytest.param(
            [avoiding("o", matchExpressions=[expression("tier", "Exists")])],
            ["tier"],
            id="an expression",
        ),
        pytest.param(
            [
                avoiding("o", matchLabels={"app": "web"}),
                avoiding("p", matchExpressions=[expression("tier", "In", "front")]),
            ],
            ["app", "tier"],
            id="of several pods",
        ),
        pytest.param(
            [
                avoiding(
                    "o",
                    matchLabels={"app": "web"},
                    matchExpressions=[expression("none", "DoesNotExist")],
                )
            ],
            ["app"],
            id="a label that the pod does not have cannot be removed",
        ),
        pytest.param(
            [
                avoiding("o", matchLabels={"app": "web"}),
                avoiding("p", matchLabels={"app": "web", "tier": "back"}),
                avoiding("q", matchExpressions=[expression("tier", "NotIn", "front")]),
            ],
            ["app"],
            id="not of selectors that do not select the pod",
        ),
    ],
)
def test_the_labels_by_which_other_pods_avoid_the_pod_can_be_removed(
    others: list[Any], keys: list[str]
) -> None:
    node = make_node("n", labels={"kubernetes.io/hostname": "n"})
    pod = pending(labels={"app": "web", "tier": "front"})
    scheduler = Scheduler()
    scheduler.add(node, *others, pod)
    found = Fixes(scheduler.explain(pod.key), scheduler.cluster, DEFAULT_GATES)
    plans = [
        edit.key[1]
        for plan in found.of_node("n")
        for edit in plan
        if edit.text.startswith("remove the label")
    ]
    assert plans == keys


def test_a_term_of_another_pod_without_a_selector_selects_no_pod() -> None:
    term = {"topologyKey": "kubernetes.io/hostname"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    others = [
        placed("o", "n", affinity={"podAntiAffinity": required}),
        avoiding("p", matchLabels={"app": "web"}),
    ]
    node = make_node("n", labels={"kubernetes.io/hostname": "n"})
    scheduler = Scheduler()
    pod = decode(pending().raw)
    scheduler.add(node, *others, pod)
    found = Fixes(scheduler.explain("default/pod"), scheduler.cluster, DEFAULT_GATES)
    assert [[edit.key for edit in plan] for plan in found.of_node("n")] == [[("label", "app")]]

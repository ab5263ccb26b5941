"""What makes two pods equal for the reuse of scores: affinity to nodes, and volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework.keys import (
    RESOURCES,
    node_affinity_fragment,
    resources_fragment,
    volumes_fragment,
)
from podwright.testing import make_pod


def pod(**spec: Any) -> Pod:
    return make_pod("p", scheduler="s", spec={"containers": [{"name": "c"}]} | spec)


def expression(key: str, *values: str, operator: str = "In") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}


def preferred(*terms: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    weighted = [{"weight": weight, "preference": term} for weight, term in terms]
    return {"preferredDuringSchedulingIgnoredDuringExecution": weighted}


def near(*parts: dict[str, Any]) -> dict[str, Any]:
    together: dict[str, Any] = {}
    for part in parts:
        together |= part
    return {"affinity": {"nodeAffinity": together}}


A, B = expression("a", "1", "2"), expression("b", "1")
TERM_A, TERM_B = {"matchExpressions": [A]}, {"matchExpressions": [B]}
BY_NAME = {"matchFields": [expression("metadata.name", "n")]}


def claim(name: str, claim_name: str) -> dict[str, Any]:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim_name}}


SECRET = {"name": "s", "secret": {"secretName": "x"}}


@pytest.mark.parametrize(
    ("fragment", "one", "other", "is_equal"),
    [
        pytest.param(node_affinity_fragment, {}, {}, True, id="no affinity"),
        pytest.param(
            node_affinity_fragment, {}, {"nodeSelector": {"a": "1"}}, False, id="a node selector"
        ),
        pytest.param(
            node_affinity_fragment,
            near(required(TERM_A)),
            {"nodeSelector": {"a": "1"}} | near(required(TERM_A)),
            False,
            id="a node selector beside affinity",
        ),
        pytest.param(
            node_affinity_fragment, {}, near(required(TERM_A)), False, id="required affinity"
        ),
        pytest.param(
            node_affinity_fragment,
            near(required(TERM_A, TERM_B)),
            near(required(TERM_B, TERM_A)),
            True,
            id="the order of terms",
        ),
        pytest.param(
            node_affinity_fragment,
            near(required({"matchExpressions": [A, B]})),
            near(required({"matchExpressions": [B, expression("a", "2", "1")]})),
            True,
            id="the order of expressions and values",
        ),
        pytest.param(
            node_affinity_fragment,
            near(required({"matchExpressions": [A, B]})),
            near(required(TERM_A, TERM_B)),
            False,
            id="one term or two",
        ),
        pytest.param(
            node_affinity_fragment,
            near(required(TERM_A)),
            near(required({"matchExpressions": [expression("a", "1", "2", operator="NotIn")]})),
            False,
            id="another operator",
        ),
        pytest.param(
            node_affinity_fragment,
            near(required(BY_NAME)),
            near(required({"matchExpressions": BY_NAME["matchFields"]})),
            False,
            id="a field or a label",
        ),
        pytest.param(
            node_affinity_fragment,
            near(preferred((1, TERM_A), (2, TERM_B))),
            near(preferred((2, TERM_B), (1, TERM_A))),
            True,
            id="the order of preferences",
        ),
        pytest.param(
            node_affinity_fragment,
            near(preferred((1, {"matchExpressions": [A, B]}))),
            near(preferred((1, {"matchExpressions": [B, expression("a", "2", "1")]}))),
            True,
            id="the order of expressions and values of a preference",
        ),
        pytest.param(
            node_affinity_fragment,
            near(preferred((1, TERM_A))),
            near(preferred((2, TERM_A))),
            False,
            id="another weight",
        ),
        pytest.param(
            node_affinity_fragment,
            near(required(TERM_A)),
            near(required(TERM_A), preferred((1, TERM_B))),
            False,
            id="a preference more",
        ),
        pytest.param(
            volumes_fragment,
            {"volumes": [claim("x", "c"), claim("y", "d")]},
            {"volumes": [claim("z", "d"), claim("x", "c")]},
            True,
            id="the order and the names of volumes",
        ),
        pytest.param(
            volumes_fragment,
            {"volumes": [claim("x", "c")]},
            {"volumes": [claim("x", "d")]},
            False,
            id="another claim",
        ),
        pytest.param(
            volumes_fragment, {}, {"volumes": [SECRET]}, True, id="a volume that is not read"
        ),
    ],
)
def test_which_pods_have_equal_fragments(
    fragment: Callable[[Pod], Any], one: dict[str, Any], other: dict[str, Any], is_equal: bool
):
    written = [msgspec.json.encode(fragment(pod(**spec)), order="sorted") for spec in (one, other)]
    assert (written[0] == written[1]) is is_equal


def test_the_fragment_of_resources_has_the_requests() -> None:
    containers = [
        {"name": "c", "resources": {"requests": {"cpu": "250m", "memory": "1Gi", "x.com/a": "2"}}},
        {"name": "d", "resources": {"requests": {"cpu": "1"}}},
    ]
    expected = {"cpu": 1250, "memory": 1024**3, "x.com/a": 2}
    assert resources_fragment(pod(containers=containers)) == {RESOURCES: expected}

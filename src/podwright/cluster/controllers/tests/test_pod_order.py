"""The order in which pods are deleted, and when they are available.

Upstream: controller_utils.go, ActivePods and ActivePodsWithRanks; pkg/api/v1/pod/util.go
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.cluster.controllers.pod_state import (
    active_order,
    available_from_ns,
    deletion_order,
    is_active,
    is_available,
    is_equivalent,
    ready_since_ns,
)
from podwright.cluster.controllers.tests.staged_cluster import NOW, SECOND, at, document

SIDECARS = [
    {"name": "side", "image": "i", "restartPolicy": "Always"},
    {"name": "init", "image": "i"},
]


def a_pod(
    name: str = "p", *, node: str = "n", phase: str = "Running", ready: Any = -100,
    created: int | None = -1000, restarts: Any = (), beside: Any = (), cost: str = "",
    uid: str = "", sidecars: Any = SIDECARS, **metadata: Any,
) -> Any:  # fmt: skip
    """Return a pod; `ready` is the second since which it is ready, None if it is not."""
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}], "initContainers": sidecars}
    spec |= {"nodeName": node} if node else {}
    condition: dict[str, Any] = {"type": "Ready", "status": "False" if ready is None else "True"}
    condition |= {} if ready in {None, "ever"} else {"lastTransitionTime": at(ready)}
    metadata = {"uid": uid or f"{name}-uid", **metadata}
    metadata |= {} if created is None else {"creationTimestamp": at(created)}
    notes = {"controller.kubernetes.io/pod-deletion-cost": cost}
    metadata |= {"annotations": notes} if cost else {}
    status = {
        "phase": phase,
        "conditions": [condition],
        "containerStatuses": [{"name": f"c{i}", "restartCount": n} for i, n in enumerate(restarts)],
        "initContainerStatuses": [{"name": name, "restartCount": n} for name, n in beside],
    }
    return document("Pod", name, namespace="shop", metadata=metadata, spec=spec, status=status)


STAYS = a_pod("a")
"""It has run for long, since it was created, on a node."""

ROWS: list[tuple[str, Any]] = [
    ("without a node", {"node": ""}),
    ("pending", {"phase": "Pending"}),
    ("unknown", {"phase": "Unknown"}),
    ("not ready", {"ready": None}),
    ("cheap", {"cost": "-1"}),
    ("ready for a shorter time", {"ready": -10}),
    ("restarted", {"restarts": (1,)}),
    ("restarted in one of its containers", {"restarts": (0, 1)}),
    ("with a restarted sidecar", {"beside": [("side", 1)]}),
    ("younger", {"created": -100}),
]


@pytest.mark.parametrize(("what", "fields"), ROWS, ids=[what for what, _ in ROWS])
def test_a_pod_that_does_less_is_deleted_first(what, fields) -> None:
    goes = a_pod("z", **fields)
    assert [each.name for each in deletion_order([STAYS, goes], {}, NOW)] == ["z", "a"]
    if what != "cheap":
        assert [each.name for each in sorted([STAYS, goes], key=active_order)] == ["z", "a"]


SAME = [
    ("an init container that restarted", {"beside": [("init", 5)]}),
    ("no count of restarts", {"restarts": (0,)}),
    ("a cost of nothing", {"cost": "0"}),
    ("a wrong cost", {"cost": "+1"}),
    ("a little younger", {"created": -999}),
    ("ready a little shorter", {"ready": -99}),
]


@pytest.mark.parametrize("fields", [each for _, each in SAME], ids=[what for what, _ in SAME])
def test_equal_pods_are_deleted_by_their_uids(fields) -> None:
    other = a_pod("z", **fields)
    assert [each.name for each in deletion_order([other, STAYS], {}, NOW)] == ["a", "z"]
    first = a_pod("z", uid="0", **fields)
    assert [each.name for each in deletion_order([STAYS, first], {}, NOW)] == ["z", "a"]


def test_pods_with_more_related_ones_on_their_node_are_deleted_first() -> None:
    pods = [a_pod(name) for name in "abc"]
    ranks = {"shop/a": 1, "shop/b": 3, "shop/c": 2}
    assert [each.name for each in deletion_order(pods, ranks, NOW)] == ["b", "c", "a"]
    pods[0] = a_pod("a", cost="-1")
    assert deletion_order(pods, ranks, NOW)[0].name == "a"
    young = [a_pod("a", ready=-1), a_pod("b")]
    assert [each.name for each in deletion_order(young, {"shop/b": 1}, NOW)] == ["b", "a"]


def test_an_unknown_time_counts_as_long_ago() -> None:
    unknown = a_pod("z", ready="ever")
    assert [each.name for each in deletion_order([unknown, STAYS], {}, NOW)] == ["a", "z"]
    undated = a_pod("z", created=None)
    assert [each.name for each in deletion_order([undated, STAYS], {}, NOW)] == ["a", "z"]
    future = a_pod("z", created=5)
    assert [each.name for each in deletion_order([STAYS, future], {}, NOW)] == ["z", "a"]
    # A job deletes such pods first.
    for each in (undated, unknown):
        assert [pod.name for pod in sorted([STAYS, each], key=active_order)] == ["z", "a"]


def test_magnitudes_of_ages_decide_and_then_the_uids() -> None:
    second = a_pod("b", created=-511), a_pod("a", created=-512)
    assert [each.name for each in deletion_order([*second], {}, NOW)] == ["a", "b"]
    # A pod that is created now is of no magnitude, and younger than one of some nanoseconds.
    new = a_pod("b", created=0), a_pod("a", created=1)
    assert [each.name for each in deletion_order([*new], {}, NOW + 2)] == ["a", "b"]
    for later_ns in (1, 2, 3, 100):
        new = a_pod("a", created=0), a_pod("b", created=1)
        assert [each.name for each in deletion_order([*new], {}, NOW + later_ns)] == ["b", "a"]
    ages = {name: -(2**power) * 2 for name, power in (("a", 9), ("b", 5), ("c", 7))}
    pods = [a_pod(name, created=age) for name, age in ages.items()]
    assert [each.name for each in deletion_order(pods, {}, NOW)] == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("pod", "active"),
    [
        (a_pod(), True),
        (a_pod(phase="Pending"), True),
        (a_pod(phase="Succeeded"), False),
        (a_pod(phase="Failed"), False),
        (a_pod(deletionTimestamp=at(0)), False),
    ],
)
def test_a_pod_is_active_until_it_ends_or_is_deleted(pod, active) -> None:
    assert is_active(pod) is active


def test_a_pod_is_available_after_it_has_been_ready_for_some_seconds() -> None:
    pod = a_pod(ready=10)
    assert ready_since_ns(pod) == NOW + 10 * SECOND
    assert [available_from_ns(pod, seconds) for seconds in (0, 1, 5)] == [
        0, NOW + 11 * SECOND, NOW + 15 * SECOND,
    ]  # fmt: skip
    assert [is_available(pod, 5, NOW + second * SECOND) for second in (14, 15)] == [False, True]
    assert is_available(pod, 0, 0)
    since_unknown = a_pod(ready="ever")
    assert ready_since_ns(since_unknown) == 0
    assert [is_available(since_unknown, seconds, NOW) for seconds in (0, 1)] == [True, False]
    assert available_from_ns(since_unknown, 1) is None
    unready = a_pod(ready=None)
    assert (ready_since_ns(unready), available_from_ns(unready, 0)) == (None, None)
    assert not is_available(unready, 0, NOW)


def test_what_stateful_and_daemon_sets_see_of_a_pod() -> None:
    assert is_equivalent(STAYS, a_pod("a", restarts=(5,), node="m", cost="9"))
    rows: dict[str, Any] = {
        "uid": {"uid": "other"},
        "phase": {"phase": "Failed"},
        "deletion": {"deletionTimestamp": at(0)},
        "labels": {"labels": {"a": "b"}},
        "owners": {"ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}]},
        "readiness": {"ready": None},
        "since when it is ready": {"ready": -99},
    }
    for row, fields in rows.items():
        assert not is_equivalent(STAYS, a_pod("a", **fields)), row

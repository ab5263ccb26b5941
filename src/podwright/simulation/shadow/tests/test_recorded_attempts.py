"""Decisions that a record shows without a log, and what the recorded cluster shows of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.store import POD
from podwright.scheduler.columns import Cluster as Columns
from podwright.simulation.shadow import record_shadow
from podwright.simulation.shadow.record_shadow import RecordedAttempts
from podwright.simulation.shadow.recorded_cluster import (
    CopiedImageCounts,
    RecordedCluster,
    Track,
)
from podwright.simulation.shadow.tests.test_attempt_states import (
    CLASS,
    MS,
    NODE,
    NOMINATED,
    SELECTED,
    VOLUMES,
    claim,
    priority_class,
    volume,
)
from podwright.simulation.shadow.tests.test_shadow import (
    PREEMPTED,
    START_NS,
    UNSCHEDULABLE,
    Cluster,
    node,
    pod,
    terminating,
    with_status,
)

# ------------------------------------------------------------------- states without a log


def recorded(cluster: Cluster, delay_ms: int = 250) -> RecordedAttempts:
    view = RecordedCluster(cluster.record().lines, Columns())
    return RecordedAttempts(view, delay_ns=delay_ms * MS)


def decisions(cluster: Cluster) -> list[tuple[Any, ...]]:
    return [
        ((one.time_ns - START_NS) // MS, one.pod, one.node, one.preempted_node, one.victims)
        for one in recorded(cluster).attempts
    ]


def test_states_without_a_log_are_earlier_and_have_later_bindings():
    cluster = Cluster(node("n1"), node("n2"), pod("b"))
    cluster.add(1000, pod("p"))
    cluster.add(1100, pod("c"))
    cluster.add(1850, node("n3"))
    cluster.update(1900, pod("b", on="n2"))
    cluster.update(2000, pod("p", on="n1"))
    cluster.update(2100, pod("c", on="n2"))
    cluster.add(2240, pod("d"))
    cluster.update(2240, pod("d", on="n1"))
    found = recorded(cluster)
    for attempt in found:
        if attempt.pod == "a/p":
            break
    view = found._view
    assert view.positions() == {NODE: 3, POD: 4}
    states = [
        (dict(one.positions), [(each.name, where) for each, where in one.placed])
        for one in found.states(attempt, view.pods["a/p"])
    ]
    b, c = ("b", "n2"), ("c", "n2")
    assert states == [
        ({}, [c]),
        ({POD: 3}, [b]),
        ({POD: 3}, []),
        ({NODE: 2}, []),
        ({POD: 3}, [b, c]),
    ]


def test_pods_that_wait_for_their_bindings_have_been_placed():
    cluster = Cluster(node("n1"), node("n2"), pod("p"), pod("e"), pod("f"))
    cluster.update(2000, pod("p", on="n1"))
    cluster.update(2050, with_status(pod("e"), nominatedNodeName="n2"))
    failed = {"nominatedNodeName": "n2", "conditions": [UNSCHEDULABLE]}
    cluster.update(2060, with_status(pod("f"), **failed))
    found = recorded(cluster)
    attempt = next(iter(found))
    placed = [one.placed for one in found.states(attempt, found._view.pods["a/p"])]
    assert [[(each.name, where) for each, where in one] for one in placed] == [[("e", "n2")]]


def test_so_many_states_without_a_log_are_tried(monkeypatch):
    cluster = Cluster(node("n1"))
    for name in "pcde":
        cluster.add(1000, pod(name))
    cluster.add(1900, pod("x"))
    cluster.add(1910, pod("y"))
    cluster.update(2000, pod("p", on="n1"))
    for name in "cde":
        cluster.update(2100, pod(name, on="n1"))
    found = recorded(cluster)
    attempt = next(iter(found))

    def joint() -> int:
        states = found.states(attempt, found._view.pods["a/p"])
        return sum(bool(one.positions and one.placed) for one in states)

    assert joint() == 2 * 3
    monkeypatch.setattr(record_shadow, "_MOST_STATES_RECORD_ATTEMPTS", 4)
    assert joint() == 4


def test_a_pod_is_assumed_from_its_decision_on():
    cluster = Cluster(node("n1"), pod("p", volumes=VOLUMES), claim("data"))
    cluster.update(1000, claim("data", **SELECTED))
    cluster.add(1100, pod("q"))
    cluster.update(1200, pod("q", on="n1"))
    cluster.update(1900, pod("p", on="n1", volumes=VOLUMES))
    found = recorded(cluster)
    requested = []
    for attempt in found:
        slot = found._view.cluster.nodes.slot_of["n1"]
        requested.append((attempt.pod, int(found._view.cluster.nodes.requested[slot, 0])))
    assert requested == [("a/p", 0), ("a/q", 1000)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param([(2000, pod("p", on="n1"))], [(2000, "a/p", "n1", "", [])], id="bound"),
        pytest.param(
            [(1000, NOMINATED), (2000, with_status(pod("p", on="n1"), nominatedNodeName="n1"))],
            [(1000, "a/p", "n1", "", [])],
            id="it waited for its binding",
        ),
        pytest.param(
            [
                (1000, NOMINATED),
                (1500, with_status(NOMINATED, message="other")),
                (2000, with_status(pod("p", on="n1"), nominatedNodeName="n1")),
            ],
            [(1000, "a/p", "n1", "", [])],
            id="another change while it waited",
        ),
        pytest.param(
            [(1000, NOMINATED), (1500, pod("p")), (2000, pod("p", on="n1"))],
            [(2000, "a/p", "n1", "", [])],
            id="it waited for a binding that failed",
        ),
        pytest.param(
            [
                (1000, with_status(pod("p"), nominatedNodeName="n2")),
                (2000, pod("p", on="n1")),
            ],
            [(2000, "a/p", "n1", "", [])],
            id="it waited for another node",
        ),
        pytest.param(
            [(1900, with_status(NOMINATED, conditions=[UNSCHEDULABLE])), (2000, pod("p", on="n1"))],
            [(2000, "a/p", "n1", "", [])],
            id="a nomination without victims",
        ),
        pytest.param(
            [
                (
                    1000,
                    with_status(
                        pod("p", on="n1"), nominatedNodeName="n1", conditions=[UNSCHEDULABLE]
                    ),
                ),
                (1010, terminating(pod("v", on="n1"))),
            ],
            [(1000, "a/p", "n1", "", [])],
            id="bound and nominated at once",
        ),
        pytest.param(
            [
                (900, terminating(pod("v", on="n1"))),
                (1000, with_status(NOMINATED, conditions=[UNSCHEDULABLE])),
                (1100, terminating(pod("w", on="n1"))),
                (1150, terminating(pod("w", on="n1"))),
                (1200, terminating(pod("x", on="n2"))),
            ],
            [(900, "a/p", "", "n1", ["a/v", "a/w"])],
            id="a preemption begins with its first victim",
        ),
        pytest.param(
            [
                (1000, with_status(NOMINATED, conditions=[UNSCHEDULABLE])),
                (2000, terminating(pod("v", on="n1"))),
                (2001, terminating(pod("w", on="n1"))),
            ],
            [(1000, "a/p", "", "n1", ["a/v"])],
            id="a victim within four delays",
        ),
        pytest.param(
            [
                (1000, with_status(NOMINATED, conditions=[UNSCHEDULABLE])),
                (
                    1100,
                    with_status(pod("v", on="n1"), conditions=[PREEMPTED | {"status": "False"}]),
                ),
                (1100, with_status(pod("w", on="n1"), conditions=[PREEMPTED | {"reason": "X"}])),
            ],
            [],
            id="pods that leave for another reason",
        ),
    ],
)
def test_decisions_that_a_record_shows(changes, expected):
    cluster = Cluster(node("n1"), pod("p"), *(pod(name, on="n1") for name in "vw"))
    cluster.add(0, pod("x", on="n2"))
    for ms, document in changes:
        cluster.update(ms, document)
    assert decisions(cluster) == expected


@pytest.mark.parametrize(
    ("later_ms", "first_ms"),
    [(249, 1000), (250, 1000), (251, 1251)],
    ids=["within the delay", "exactly the delay", "longer than the delay"],
)
def test_a_nomination_right_before_the_binding_of_volumes_is_the_first_result(later_ms, first_ms):
    waiting = pod("p", volumes=VOLUMES)
    cluster = Cluster(node("n1"), waiting, claim("data"))
    cluster.update(1000, with_status(waiting, nominatedNodeName="n1", conditions=[UNSCHEDULABLE]))
    cluster.update(1000 + later_ms, claim("data", **SELECTED))
    cluster.update(2000, pod("p", on="n1", volumes=VOLUMES))
    assert decisions(cluster) == [(first_ms, "a/p", "n1", "", [])]


def test_a_victim_is_that_of_the_nearest_nomination():
    cluster = Cluster(node("n1"), pod("p"), pod("q"), *(pod(name, on="n1") for name in "vwx"))
    failed = [UNSCHEDULABLE]
    cluster.update(1000, with_status(pod("p"), nominatedNodeName="n1", conditions=failed))
    cluster.update(1300, with_status(pod("q"), nominatedNodeName="n1", conditions=failed))
    for ms, name in ((1100, "v"), (1150, "w"), (1151, "x")):
        cluster.update(ms, terminating(pod(name, on="n1")))
    assert [(one[1], one[-1]) for one in decisions(cluster)] == [
        ("a/p", ["a/v", "a/w"]),
        ("a/q", ["a/x"]),
    ]


# ------------------------------------------------------------------------ tracks and volumes


def test_a_late_change_delays_those_behind_it():
    cluster = Cluster()
    for ms, name in ((100, "n1"), (300, "n2"), (400, "n3")):
        cluster.add(ms, node(name))
    first, late, last = cluster.record().lines
    track = Track([late, first, last])
    at = [track.seen_at(START_NS + ms * MS) for ms in (99, 100, 299, 300, 399, 400)]
    assert at == [0, 0, 0, 2, 2, 3]
    assert [Track([first, late, last]).before_line(number) for number in (1, 2, 3, 9)] == [
        0,
        1,
        2,
        3,
    ]


def test_kinds_that_the_scheduler_does_not_read_are_left_out():
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}}
    cluster = Cluster(thing, priority_class("high"), pod("p", on="n1"), node("n1"))
    view = RecordedCluster(cluster.record().lines, Columns())
    assert view.positions() == {CLASS: 0, POD: 0, NODE: 0}
    view.go_to({CLASS: 1})
    assert list(view.touched) == []
    view.go_to({POD: 1, NODE: 1})
    assert list(view.touched) == ["n1"]


def test_a_nomination_stays_until_the_api_shows_another_one_or_the_binding():
    cluster = Cluster(node("n1"), node("n2"), pod("p"))
    cluster.update(1000, with_status(pod("p"), conditions=[UNSCHEDULABLE]))
    cluster.update(2000, pod("p", on="n1"))
    view = RecordedCluster(cluster.record().lines, Columns())
    view.go_to({NODE: 2, POD: 1})
    view.nominate(view.pods["a/p"], "n2")
    view.go_to({POD: 2})
    assert list(view.cluster.nominated["n2"]) == ["a/p"], "no nomination is shown"
    view.go_to({POD: 3})
    view.go_to({POD: 2})
    assert not view.cluster.nominated.get("n2"), "it was bound"


def test_volumes_of_an_assumed_pod_are_bound_until_it_is_forgotten(monkeypatch):
    cluster = Cluster(node("n1"), volume(), claim("data"), pod("p", volumes=VOLUMES), pod("q"))
    cluster.update(2000, volume("data"))
    view = RecordedCluster(cluster.record().lines, Columns())
    kind = ("", "PersistentVolume")
    view.go_to({each: len(track.lines) for each, track in view.tracks.items()} | {kind: 1})
    seen: list[Any] = []
    put = view.cluster.put

    def noted(obj: Any) -> None:
        seen.append(obj)
        put(obj)

    monkeypatch.setattr(view.cluster, "put", noted)

    def claims() -> list[str]:
        found = [obj for obj in seen if obj.__class__.__name__ == "PersistentVolume"]
        seen.clear()
        return [obj.spec.claim_ref.name if obj.spec.claim_ref else "" for obj in found]

    owner, other = view.pods["a/p"], view.pods["a/q"]
    view.assume(other, "n1")
    view.forget(other)
    assert claims() == []
    view.assume(owner, "n1")
    assert claims() == ["data"]
    view.touched.clear()
    view.forget(owner)
    assert (claims(), list(view.touched)) == ([""], ["n1"])
    view.forget(owner)
    assert claims() == [], "it is assumed no more"


def test_copied_counts_are_those_of_the_last_copy():
    columns = Columns()
    gib = 1 << 30
    for name in ("n1", "n2"):
        columns.put(decode(node(name, images={"app:1": gib})))
    counts = CopiedImageCounts(columns)
    counts.copy(["n1", "n2"])
    for name in ("n3", "n4"):
        columns.put(decode(node(name)))
    asked = decode(pod("p"))
    assert isinstance(asked, Pod)
    slots = np.array([columns.nodes.slot_of[name] for name in ("n1", "n2", "n3")], dtype=np.int32)
    assert counts.differences(asked, slots).tolist() == [0, 0, 0]
    columns.put(decode(node("n3", images={"app:1": gib})))
    counts.copy(["n2", "unknown"])
    found = counts.differences(asked, slots)
    # 1 GiB on two, or three, of four nodes; n3 was never copied. Between 23 MiB and 1,000 MiB.
    low, most = 23 << 20, 1000 << 20

    def score(nodes: int) -> int:
        return min(max(100 * (gib * nodes // 4 - low) // (most - low), 0), 100)

    assert found.tolist() == [score(2) - score(3), 0, score(0) - score(3)]
    columns.delete(decode(node("n1")))
    counts.copy(["n1"])
    assert list(counts._counts_of) == ["n2"]
    counts.copy(["n1", "unknown", "n3"])
    assert list(counts._counts_of) == ["n2", "n3"]


@pytest.mark.parametrize("late", [0, 2])
def test_an_unexplained_binding_says_in_how_many_states(late):
    cluster = Cluster(node("n1"), node("n2", cpu="8"), pod("p"))
    for number in range(late):
        cluster.add(1990 + number, node(f"late-{number}"))
    cluster.update(2000, pod("p", on="n1"))
    (found,) = cluster.findings(has_log=False)
    states = f"any of {late + 1} observable states" if late else "the observed state"
    assert found.explanation == (
        f"no explanation: in {states}, neither sampling nor older image counts lead to it"
    )


def test_so_many_states_are_compared():
    cluster = Cluster(node("n1"), node("n2", cpu="8"), pod("p"), priority_class("high"))
    for number in range(1501):
        labels = {"metadata": {"name": "high", "labels": {"number": str(number)}}}
        cluster.update(1900, priority_class("high") | labels)
    cluster.update(2000, pod("p", on="n1"))
    (found,) = cluster.findings(has_log=False)
    assert "in any of 1501 observable states, " in found.explanation

"""Attempts of a log or a record, their delays, and the states that were possibly observed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.store import POD
from podwright.scheduler.columns import Cluster as Columns
from podwright.simulation.files import RecordLine
from podwright.simulation.shadow import attempts as module
from podwright.simulation.shadow.attempts import (
    Delays,
    LoggedAttempts,
    attempts_of,
    is_binding,
    is_result,
    waiting_claims,
)
from podwright.simulation.shadow.recorded_cluster import (
    RecordedCluster,
    waits_to_be_bound,
)
from podwright.simulation.shadow.tests.test_shadow import (
    START_NS,
    UNSCHEDULABLE,
    Cluster,
    node,
    pod,
    with_status,
)

NODE = ("", "Node")
CLASS = ("scheduling.k8s.io", "PriorityClass")
MS = 1_000_000


# --------------------------------------------------------------------- attempts of a log


def attempts(cluster: Cluster) -> list[dict[str, Any]]:
    """Return what is known about each attempt, without what is not."""
    names = (
        "node", "assumed_node", "evaluated_count", "message", "preempted_node", "victims", "end"
    )  # fmt: skip
    return [
        {"at": (one.index, one.pod)}
        | {name: value for name in names if (value := getattr(one, name))}
        | ({"is_over": True} if one.is_over else {})
        for one in attempts_of(cluster.log())
    ]


ASSUMES = {"nominatedNodeName": "n1", "nominatingMode": 1}
VICTIM = {"preemptor": "a/p", "node": "n2"}
FAILS = {"conditionType": "PodScheduled", "conditionStatus": "False"}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            [("attempt", "p", {}), ("bound", "p", {"node": "n1", "evaluatedNodes": 7})],
            [{"at": (0, "a/p"), "node": "n1", "evaluated_count": 7, "end": 1, "is_over": True}],
            id="bound",
        ),
        pytest.param(
            [("attempt", "p", {}), ("unschedulable", "p", {"err": "no"})],
            [{"at": (0, "a/p"), "message": "no", "end": 1, "is_over": True}],
            id="unschedulable",
        ),
        pytest.param(
            [
                ("attempt", "p", {}),
                ("unschedulable", "p", {"err": "no"}),
                ("bound", "p", {"node": "n1"}),
                ("unschedulable", "p", {"err": "again"}),
            ],
            [{"at": (0, "a/p"), "message": "no", "end": 1, "is_over": True}],
            id="the first result counts",
        ),
        pytest.param(
            [
                ("attempt", "p", {}),
                ("attempt", "q", {}),
                ("bound", "p", {"node": "n1"}),
                ("bound", "q", {"node": "n2"}),
            ],
            [
                {"at": (0, "a/p"), "node": "n1", "end": 1, "is_over": True},
                {"at": (1, "a/q"), "node": "n2", "end": 3, "is_over": True},
            ],
            id="bindings at the same time",
        ),
        pytest.param(
            [("attempt", "p", {}), ("attempt", "p", {}), ("bound", "p", {"node": "n1"})],
            [
                {"at": (0, "a/p"), "end": 1},
                {"at": (1, "a/p"), "node": "n1", "end": 2, "is_over": True},
            ],
            id="the newest attempt of a pod",
        ),
        pytest.param(
            [("bound", "p", {"node": "n1"}), ("attempt", "q", {})],
            [{"at": (1, "a/q")}],
            id="a result of an attempt before the log",
        ),
        pytest.param(
            [("attempt", "p", {}), ("condition", "p", ASSUMES)],
            [{"at": (0, "a/p"), "assumed_node": "n1", "end": 1}],
            id="a pod that waits before it is bound",
        ),
        pytest.param(
            [("attempt", "p", {}), ("condition", "p", ASSUMES | FAILS)],
            [{"at": (0, "a/p"), "end": 1}],
            id="a failure that nominates",
        ),
        pytest.param(
            [("attempt", "p", {}), ("condition", "p", ASSUMES | {"nominatingMode": 0})],
            [{"at": (0, "a/p"), "end": 1}],
            id="a condition that nominates nothing",
        ),
        pytest.param(
            [
                ("attempt", "p", {}),
                ("unschedulable", "p", {"err": "no"}),
                ("condition", "p", ASSUMES),
            ],
            [{"at": (0, "a/p"), "message": "no", "end": 1, "is_over": True}],
            id="a nomination after the end",
        ),
        pytest.param(
            [
                ("attempt", "p", {}),
                ("preempt", "p", {"node": "n2"}),
                ("attempt", "p", {}),
                ("victim", "p", VICTIM | {"victim": "a/v"}),
                ("preempt", "p", {"node": "n3"}),
                ("victim", "p", VICTIM | {"victim": "a/w"}),
            ],
            [
                {"at": (0, "a/p"), "preempted_node": "n2", "victims": ["a/v"], "end": 1},
                {"at": (2, "a/p"), "preempted_node": "n3", "victims": ["a/w"], "end": 3},
            ],
            id="a victim that is deleted during the next attempt",
        ),
        pytest.param(
            [
                ("attempt", "p", {}),
                ("preempt", "p", {"node": "n2"}),
                ("victim", "p", VICTIM | {"victim": "a/v"}),
                ("victim", "p", VICTIM | {"victim": "a/w"}),
            ],
            [{"at": (0, "a/p"), "preempted_node": "n2", "victims": ["a/v", "a/w"], "end": 1}],
            id="a preemption",
        ),
    ],
)
def test_lines_of_a_log_are_grouped_by_attempt(lines, expected):
    cluster = Cluster()
    for ms, (what, name, fields) in enumerate(lines):
        cluster.log_line(ms, what, name, **fields)
    assert attempts(cluster) == expected


# ----------------------------------------------------------------------------- delays


def logged(cluster: Cluster) -> LoggedAttempts:
    return LoggedAttempts(RecordedCluster(cluster.record().lines, Columns()), cluster.log())


def in_ms(delays: Delays) -> tuple[float, ...]:
    return (
        delays.usual_ns / MS,
        delays.least_ns / MS,
        delays.most_ns / MS,
        delays.pods_least_ns / MS,
        delays.pods_most_ns / MS,
    )


@pytest.mark.parametrize(
    ("late_ms", "is_complete", "expected"),
    [
        ([], False, (0, -250, 250, -250, 250)),
        ([30, 10, 20], False, (20, 10, 30, 10, 30)),
        ([40, 30, 10, 20], False, (20, 10, 40, 10, 40)),
        ([-3000, 0, 5000], False, (0, -1000, 1000, -1000, 1000)),
        ([-3000, 0, 5000], True, (0, -1000, 5000, -4000, 6000)),
        ([30, 10, 20], True, (20, 10, 30, -990, 1030)),
    ],
)
def test_delays_are_measured_by_the_changes_of_both_files(late_ms, is_complete, expected):
    cluster = Cluster(node("n1"))
    cluster.log_line(0, "attempt", "z")
    for number, late in enumerate(late_ms):
        cluster.add_pending((number + 1) * 10_000, pod(f"p{number}"), late_ms=late)
    if is_complete:
        cluster.log_line(59_000, "observed", "z", event="AssignedPodDelete")
    assert in_ms(logged(cluster).delays) == expected


@pytest.mark.parametrize(
    ("old_late_ms", "new_late_ms", "usual_ms"),
    [([500], [20], 20), ([500], [], 500), ([], [20], 20)],
    ids=["both", "only such pods", "no such pods"],
)
def test_pods_that_existed_before_the_watch_have_no_delay_if_there_are_others(
    old_late_ms, new_late_ms, usual_ms
):
    cluster = Cluster(node("n1"))
    cluster.log_line(0, "attempt", "z")
    for created, late_ms, ms in (
        ("2026-03-02T09:59:00Z", old_late_ms, 10_000),
        ("2026-03-02T10:00:20Z", new_late_ms, 20_000),
    ):
        for late in late_ms:
            made = pod(f"p{ms}")
            made["metadata"]["creationTimestamp"] = created
            cluster.add_pending(ms, made, late_ms=late)
    assert logged(cluster).delays.usual_ns == usual_ms * MS


# ------------------------------------------------------------------- states of an attempt


def priority_class(name: str) -> dict[str, Any]:
    metadata = {"name": name}
    return {"apiVersion": f"{CLASS[0]}/v1", "kind": CLASS[1], "metadata": metadata, "value": 1}


STORAGE_CLASS = ("storage.k8s.io", "StorageClass")
STORAGE = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "fast"},
    "provisioner": "example.com/x",
}


def around_an_attempt() -> Cluster:
    """Changes within and beyond 250 ms of an attempt at 2,000 ms, which ends at 2,010."""
    cluster = Cluster(node("n1"), STORAGE)
    cluster.add(1000, pod("p"))
    cluster.add(1500, node("n0"))
    cluster.add(1900, node("n2"))
    cluster.log_line(2000, "attempt", "p")
    cluster.log_line(2010, "bound", "p", node="n1", evaluatedNodes=1, feasibleNodes=1)
    cluster.add(2050, pod("q"))
    cluster.add(2100, node("n3"))
    cluster.add(2200, priority_class("high"))
    cluster.update(2240, pod("p", on="n1"))
    cluster.add(2245, node("n5"))
    cluster.add(2250, pod("r"))
    cluster.add(2400, node("n4"))
    return cluster


def shown(states: Any) -> list[Any]:
    return [dict(one.positions) for one in states]


def test_the_states_within_the_delays_are_tried_the_nearest_first():
    found = logged(around_an_attempt())
    (attempt,) = list(iter_first(found))
    view = found._view
    assert view.positions() == {NODE: 3, POD: 1, CLASS: 0, STORAGE_CLASS: 1}
    states = shown(found.states(attempt, view.pods["a/p"]))
    together = [{NODE: 3, CLASS: 0}, {NODE: 4, CLASS: 0}, {NODE: 4, CLASS: 1}]
    # Of pods: only q, before the binding, as is n3. One kind alone, then all with the same delay.
    assert states == [
        {POD: 2},
        {NODE: 2},
        {NODE: 4},
        {CLASS: 1},
        *(each for at in together for each in (at, at | {POD: 2})),
    ]


@pytest.mark.parametrize(
    ("usual_ms", "expected"),
    [
        (0, [(3, 0), (4, 0), (4, 1)]),
        (-200, [(3, 0), (4, 0), (4, 1)]),
        (100, [(4, 0), (4, 1), (3, 0)]),
        (200, [(4, 1), (4, 0), (3, 0)]),
    ],
)
def test_states_of_all_kinds_with_about_the_usual_delay_are_tried_first(usual_ms, expected):
    found = logged(around_an_attempt())
    (attempt,) = list(iter_first(found))
    found.delays = msgspec.structs.replace(found.delays, usual_ns=usual_ms * MS)
    states = shown(found.states(attempt, found._view.pods["a/p"]))
    together = [(each[NODE], each[CLASS]) for each in states if set(each) == {NODE, CLASS}]
    assert together == expected


def iter_first(found: Any) -> Any:
    for attempt in found:
        yield attempt
        return


def test_so_many_states_of_all_kinds_are_tried(monkeypatch):
    cluster = around_an_attempt()
    for number in range(4):
        cluster.add(2060 + number, pod(f"more-{number}"))
    found = logged(cluster)
    (attempt,) = list(iter_first(found))
    pods = [{POD: position} for position in range(2, 7)]
    assert shown(found.states(attempt, found._view.pods["a/p"]))[:5] == pods
    monkeypatch.setattr(module, "_MOST_STATES", 6)
    states = shown(found.states(attempt, found._view.pods["a/p"]))
    # Six states for three delays: two of pods with each.
    assert sum(len(each) == 3 for each in states) == 6
    assert [each[POD] for each in states if len(each) == 3] == [2, 3] * 3


def test_the_state_of_an_attempt_never_goes_backward():
    cluster = around_an_attempt()
    cluster.log_line(1950, "attempt", "q")
    cluster.log_line(1960, "unschedulable", "q", err="no")
    cluster.log_line(5000, "attempt", "r")
    found = logged(cluster)
    positions = [found._view.positions() for _ in found]
    assert positions == [
        {NODE: 3, POD: 1, CLASS: 0, STORAGE_CLASS: 1},
        {NODE: 3, POD: 1, CLASS: 0, STORAGE_CLASS: 1},
        {NODE: 6, POD: 4, CLASS: 1, STORAGE_CLASS: 1},
    ]


def test_a_placed_pod_is_assumed_until_its_binding_is_shown():
    cluster = around_an_attempt()
    cluster.log_line(2100, "attempt", "q")
    found = logged(cluster)
    nodes = []
    for attempt in found:
        placed = found._view.cluster.pods.get("a/p")
        nodes.append(
            (attempt.pod, None if placed is None else found._view.cluster.nodes.names[placed.slot])
        )
    assert nodes == [("a/p", None), ("a/q", "n1")]


# ----------------------------------------------------------------------- results of a decision


def line_of(event: Any, new: Any, old: Any = None) -> RecordLine:
    return RecordLine(
        line=1,
        time_ns=0,
        seen_ns=0,
        event=event,
        object=decode(new),
        old=None if old is None else decode(old),
    )


def claim(name: str, namespace: str = "a", **annotations: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {"accessModes": ["ReadWriteOnce"]},
    }


def volume(bound_to: str = "", namespace: str = "a") -> dict[str, Any]:
    spec: dict[str, Any] = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    spec["hostPath"] = {"path": "/d"}
    if bound_to:
        spec["claimRef"] = {"namespace": namespace, "name": bound_to}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": spec}


VOLUMES = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
WITH_CLAIM, WITHOUT = pod("p", volumes=VOLUMES), pod("p")
SELECTED = {module.SELECTED_NODE: "n1"}


@pytest.mark.parametrize(
    ("of", "line", "expected"),
    [
        pytest.param(WITHOUT, ("Update", pod("p", on="n1"), WITHOUT), True, id="binding"),
        pytest.param(
            WITHOUT, ("Update", with_status(WITHOUT, nominatedNodeName="n1")), True, id="nomination"
        ),
        pytest.param(
            WITHOUT, ("Update", with_status(WITHOUT, phase="Pending")), False, id="status"
        ),
        pytest.param(WITHOUT, ("Delete", pod("v", on="n1")), True, id="victim"),
        pytest.param(WITHOUT, ("Delete", pod("w", on="n1")), False, id="another pod"),
        pytest.param(
            WITH_CLAIM, ("Update", claim("data", **SELECTED), claim("data")), True, id="claim"
        ),
        pytest.param(WITH_CLAIM, ("Add", claim("data", **SELECTED)), True, id="a new claim"),
        pytest.param(
            WITH_CLAIM,
            ("Update", claim("data", **SELECTED), claim("data", **SELECTED)),
            False,
            id="a claim whose node was selected before",
        ),
        pytest.param(WITH_CLAIM, ("Update", claim("data"), claim("data")), False, id="no node"),
        pytest.param(WITH_CLAIM, ("Add", claim("other", **SELECTED)), False, id="another claim"),
        pytest.param(
            WITH_CLAIM, ("Add", claim("data", "b", **SELECTED)), False, id="another namespace"
        ),
        pytest.param(WITHOUT, ("Add", claim("data", **SELECTED)), False, id="a pod without claims"),
        pytest.param(WITH_CLAIM, ("Update", volume("data"), volume()), True, id="volume"),
        pytest.param(
            WITH_CLAIM, ("Update", volume("data"), volume("data")), False, id="bound before"
        ),
        pytest.param(WITH_CLAIM, ("Update", volume("x"), volume()), False, id="for another claim"),
        pytest.param(WITH_CLAIM, ("Update", volume("data", "b"), volume()), False, id="elsewhere"),
        pytest.param(WITH_CLAIM, ("Update", volume(), volume()), False, id="a free volume"),
        pytest.param(WITH_CLAIM, ("Add", volume("data")), False, id="provisioned before"),
        pytest.param(WITH_CLAIM, ("Add", node("n1")), False, id="a node"),
    ],
)
def test_results_of_a_decision(of, line, expected):
    decided = decode(of)
    assert isinstance(decided, Pod)
    assert is_result(line_of(*line), decided, ["a/v"], ()) is expected


def test_a_volume_provisioned_for_a_claim_that_waited_is_a_result():
    decided = decode(WITH_CLAIM)
    assert isinstance(decided, Pod)
    line = line_of("Add", volume("data"))
    cluster = Cluster(claim("data", **SELECTED), claim("other"))
    waiting = waiting_claims(RecordedCluster(cluster.record().lines, Columns()))
    assert waiting == {"a/data"}
    assert is_result(line, decided, (), waiting)
    assert waiting_claims(RecordedCluster((), Columns())) == frozenset()


REPLACED = pod("p", on="n1")
REPLACED = REPLACED | {"metadata": REPLACED["metadata"] | {"uid": "other"}}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(("Update", pod("p", on="n1"), pod("p")), True, id="bound"),
        pytest.param(("Update", pod("p", on="n1"), pod("p", on="n1")), False, id="bound before"),
        pytest.param(("Update", pod("p"), pod("p")), False, id="not bound"),
        pytest.param(("Add", pod("p", on="n1")), False, id="created with a node"),
        pytest.param(("Delete", pod("p", on="n1"), pod("p")), False, id="deleted"),
        pytest.param(("Update", REPLACED, pod("p")), False, id="replaced"),
        pytest.param(("Update", node("n1"), node("n1")), False, id="a node"),
    ],
)
def test_bindings(line, expected):
    assert is_binding(line_of(*line)) is expected


NOMINATED = with_status(pod("p"), nominatedNodeName="n1")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(pod("p"), False, id="not nominated"),
        pytest.param(NOMINATED, True, id="nominated"),
        pytest.param(with_status(NOMINATED, conditions=[UNSCHEDULABLE]), False, id="by preemption"),
        pytest.param(
            with_status(NOMINATED, conditions=[{"type": "PodScheduled", "status": "True"}]),
            True,
            id="another status of the condition",
        ),
        pytest.param(
            with_status(NOMINATED, conditions=[{"type": "Ready", "status": "False"}]),
            True,
            id="another condition",
        ),
        pytest.param(
            with_status(pod("p", on="n1"), nominatedNodeName="n1"), False, id="bound already"
        ),
    ],
)
def test_a_pod_waits_to_be_bound_if_its_attempt_did_not_fail(document, expected):
    found = decode(document)
    assert isinstance(found, Pod)
    assert waits_to_be_bound(found) is expected


# ------------------------------------------------------------- the scheduler's own decisions


def nominated(found: LoggedAttempts) -> dict[str, list[str]]:
    columns = found._view.cluster
    names = columns.nodes.slot_of
    return {name: sorted(pods) for name in names if (pods := columns.nominated.get(name))}


def test_nominations_of_the_log_count_before_the_api_shows_them():
    cluster = Cluster(node("n1"), node("n2"), pod("placed", on="n1"), pod("p"), pod("q"))
    cluster.log_line(500, "condition", "unknown", **ASSUMES)
    cluster.log_line(510, "condition", "placed", **ASSUMES)
    cluster.log_line(1000, "attempt", "p")
    cluster.log_line(1001, "preempt", "p", node="n2")
    cluster.log_line(1010, "attempt", "q")
    cluster.log_line(1020, "condition", "p", **FAILS, nominatedNodeName="n1", nominatingMode=1)
    cluster.log_line(1030, "attempt", "q")
    cluster.log_line(1040, "condition", "p", **FAILS, nominatedNodeName="", nominatingMode=0)
    cluster.log_line(1050, "attempt", "q")
    cluster.log_line(1060, "condition", "p", **FAILS, nominatedNodeName="", nominatingMode=1)
    cluster.log_line(1070, "attempt", "q")
    found = logged(cluster)
    assert [(one.pod, nominated(found)) for one in found] == [
        ("a/p", {}),
        ("a/q", {"n2": ["a/p"]}),
        ("a/q", {"n1": ["a/p"]}),
        ("a/q", {"n1": ["a/p"]}),
        ("a/q", {}),
    ]


def test_a_failure_takes_an_assumption_back():
    cluster = Cluster(node("n1"), pod("p"), pod("q"))
    cluster.log_line(1000, "attempt", "p")
    cluster.log_line(1001, "condition", "p", **ASSUMES)
    cluster.log_line(1010, "attempt", "q")
    cluster.log_line(1020, "condition", "p", **FAILS, nominatingMode=0)
    cluster.log_line(1030, "attempt", "q")
    found = logged(cluster)
    nodes = found._view.cluster.nodes
    requested = [int(nodes.requested[nodes.slot_of["n1"], 0]) for _ in found]
    assert requested == [0, 1000, 0]


def test_attempts_before_the_record_are_left_out_unless_it_shows_their_binding():
    cluster = Cluster()
    cluster.add(1000, node("n1"))
    for name in "pq":
        cluster.add(1000, pod(name))
    for ms, name in ((500, "p"), (600, "q"), (1000, "q")):
        cluster.log_line(ms, "attempt", name)
    cluster.log_line(501, "bound", "p", node="n1", evaluatedNodes=1, feasibleNodes=1)
    cluster.update(1100, pod("p", on="n1"))
    assert [(one.time_ns - START_NS) // MS for one in logged(cluster)] == [500, 1000]


def test_volumes_that_were_deleted_bind_nothing():
    cluster = Cluster(volume(), claim("data"))
    cluster.update(1000, volume("data"))
    cluster.update(1100, volume("data") | {"status": {"phase": "Bound"}})
    cluster.delete(1200, volume("data"))
    cluster.add(1300, volume("data"))
    view = RecordedCluster(cluster.record().lines, Columns())
    assert view._positions_of_claim == {"a/data": [1, 4]}, "it is bound to the claim twice"


def test_bindings_of_a_log_are_those_of_the_record_in_order():
    cluster = Cluster(node("n1"), node("n2"))
    for start in (1000, 2000):
        cluster.add(start, pod("p"))
        cluster.log_line(start + 10, "attempt", "p")
        cluster.log_line(start + 11, "bound", "p", node="n1", evaluatedNodes=1, feasibleNodes=1)
        cluster.update(start + 20, pod("p", on="n1"))
        cluster.delete(start + 30, pod("p", on="n1"))
    cluster.add(3000, pod("p"))
    cluster.log_line(3010, "attempt", "p")
    cluster.log_line(3011, "bound", "p", node="n1", evaluatedNodes=1, feasibleNodes=1)
    cluster.update(3020, pod("p", on="n2"))
    assert [one.line for one in logged(cluster).attempts] == [4, 7, 0], "the last is elsewhere"

"""What a scheduler had observed at an attempt, and what a recorded cluster shows in its states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podwright.apimachinery.objects import Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.store import POD
from podwright.scheduler.columns import Cluster as Columns
from podwright.simulation.shadow.attempts import Arrivals, LoggedAttempts
from podwright.simulation.shadow.recorded_cluster import (
    CopiedImageCounts,
    RecordedCluster,
    updated_pod,
)
from podwright.simulation.shadow.tests.test_attempt_states import (
    CLASS,
    MS,
    NODE,
    VOLUMES,
    claim,
    line_of,
    logged,
    priority_class,
    volume,
)
from podwright.simulation.shadow.tests.test_recorded_attempts import decisions, recorded
from podwright.simulation.shadow.tests.test_shadow import (
    UNSCHEDULABLE,
    Cluster,
    node,
    pod,
    terminating,
    with_status,
)

VOLUME = ("", "PersistentVolume")


def first_states(found: LoggedAttempts) -> tuple[Any, list[dict[Any, int]]]:
    """Return the positions of the first attempt, and those of its other states."""
    attempt = next(iter(found))
    here = found._view.positions()
    pod_ = found._view.pods[attempt.pod]
    return here, [dict(one.positions) for one in found.states(attempt, pod_)]


def test_a_failed_attempt_may_have_observed_what_came_until_its_end():
    cluster = Cluster(node("n1"), pod("p"))
    cluster.add(1800, node("n2"))
    cluster.log_line(2000, "attempt", "p")
    cluster.log_line(2010, "unschedulable", "p", err="no")
    cluster.update(2060, with_status(node("n1"), conditions=[{"type": "Ready", "status": "True"}]))
    cluster.add(2100, node("n3"))
    cluster.add(2150, priority_class("high"))
    cluster.add(2255, node("n4"))
    cluster.add(2265, node("n5"))
    here, states = first_states(logged(cluster))
    assert here == {NODE: 2, POD: 1, CLASS: 0}
    # The change of a condition makes no state; n4 was visible 250 ms after the end, n5 was not.
    assert states == [
        {NODE: 1}, {NODE: 4}, {NODE: 5}, {CLASS: 1},
        # With one delay for all: those of n3, of the class, of n2, of n4.
        {NODE: 4, CLASS: 0}, {NODE: 4, CLASS: 1}, {NODE: 2, CLASS: 0}, {NODE: 5, CLASS: 1},
    ]  # fmt: skip


def test_an_attempt_without_an_end_may_have_observed_what_came_with_its_first_line():
    cluster = Cluster(node("n1"), pod("p"))
    cluster.log_line(2000, "attempt", "p")
    for ms, name in ((2245, "n2"), (2255, "n3")):
        cluster.add(ms, node(name))
    here, states = first_states(logged(cluster))
    assert (here, states) == ({NODE: 1, POD: 1}, [{NODE: 2}, {NODE: 2}])


def test_the_scheduler_had_observed_the_pod_that_it_bound_and_not_its_binding():
    cluster = Cluster(node("n1"), pod("old"))
    cluster.add(2100, pod("q"))
    cluster.add(2101, pod("p"))
    cluster.add(2102, pod("r"))
    cluster.log_line(2000, "attempt", "p")
    cluster.log_line(2010, "bound", "p", node="n1", evaluatedNodes=1, feasibleNodes=1)
    cluster.update(2120, pod("p", on="n1"))
    cluster.add(2130, pod("s"))
    here, states = first_states(logged(cluster))
    assert (here[POD], [each[POD] for each in states]) == (3, [4])


def test_before_its_first_observation_a_scheduler_may_have_observed_no_pod():
    cluster = Cluster(node("n1"))
    cluster.add(1990, pod("p"))
    cluster.log_line(2000, "attempt", "p")
    cluster.log_line(2010, "unschedulable", "p", err="no")
    cluster.log_line(2500, "observed", "other", event="AssignedPodAdd")
    here, states = first_states(logged(cluster))
    assert (here[POD], states) == (1, [{POD: 0}])


def test_arrivals_of_the_log_bound_what_was_observed():
    cluster = Cluster(node("n1"), pod("old"))
    cluster.add_pending(1000, pod("early"), late_ms=-100)
    cluster.add(1900, pod("x"))
    cluster.add_pending(1950, pod("p"))
    cluster.add(1960, pod("y"))
    cluster.log_line(2000, "attempt", "p")
    cluster.log_line(2010, "unschedulable", "p", err="no")
    cluster.add_pending(2020, pod("q"))
    found = logged(cluster)
    here, states = first_states(found)
    # x arrived before p, and y between p and q.
    assert here[POD] == 5
    assert [each for each in states if POD in each] == [{POD: 4}]


@pytest.mark.parametrize(
    ("created", "most_ms"),
    [("2026-03-02T10:00:20Z", 300), ("2026-03-02T10:05:00Z", 20), ("2026-03-02T09:55:00Z", 20)],
    ids=["just made", "made later by another clock", "made before"],
)
def test_only_the_delays_of_pods_that_were_just_made_count(created, most_ms):
    cluster = Cluster(node("n1"))
    cluster.log_line(0, "attempt", "z")
    for ms, name, late_ms, at in (
        (10_000, "q", 20, "2026-03-02T10:00:10Z"),
        (20_000, "p", 300, created),
    ):
        made = pod(name)
        made["metadata"]["creationTimestamp"] = at
        cluster.add_pending(ms, made, late_ms=late_ms)
    delays = logged(cluster).delays
    assert (delays.usual_ns, delays.most_ns) == (20 * MS, most_ms * MS)


def test_without_objects_that_are_read_all_attempts_since_1970_are_shown():
    cluster = Cluster({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}})
    for time, name in (("1969-12-31T23:59:59.999999999Z", "a/o"), ("1970-01-01T00:00:00Z", "a/p")):
        cluster.log_lines.append({"time": time, "what": "attempt", "pod": name})
    assert [one.pod for one in logged(cluster)] == ["a/p"]


@pytest.mark.parametrize(
    ("late_ms", "attempt_ms", "is_shown"),
    [
        pytest.param(400_000, 1000, True, id="the clock of the recorder is ahead"),
        pytest.param(-400, 399, False, id="it is behind, before the record began"),
        pytest.param(-400, 400, True, id="it is behind, when the record began"),
    ],
)
def test_attempts_since_the_record_began_are_those_by_its_clock(late_ms, attempt_ms, is_shown):
    cluster = Cluster(node("n1"))
    cluster.add_pending(2000, pod("q"), late_ms=late_ms)
    cluster.log_line(attempt_ms, "attempt", "fails")
    assert [one.pod for one in logged(cluster)] == ["a/fails"] * is_shown


RUNNING = pod("p", on="n1")
FAILED = with_status(RUNNING, phase="Failed")


@pytest.mark.parametrize(
    ("what", "event", "line", "positions"),
    [
        pytest.param("queue", "UnschedulablePodAdd", line_of("Add", pod("p")), [0], id="new"),
        pytest.param(
            "queue", "UnschedulablePodAdd", line_of("Delete", pod("p")), [], id="never there"
        ),
        pytest.param(
            "queue",
            "UnschedulablePodAdd",
            line_of("Add", with_status(pod("p"), phase="Failed")),
            [],
            id="ended before the record",
        ),
        pytest.param(
            "observed", "AssignedPodDelete", line_of("Update", FAILED, RUNNING), [0], id="ended"
        ),
        pytest.param(
            "observed", "AssignedPodDelete", line_of("Delete", FAILED, FAILED), [], id="left later"
        ),
    ],
)
def test_the_scheduler_observes_pods_until_they_end(what, event, line, positions):
    """Upstream: pkg/scheduler/scheduler.go, newPodInformer"""
    log = Cluster()
    log.log_line(100, what, "p", event=event, queue="Active")
    log.log_line(110, "attempt", "p")
    assert Arrivals(log.log().lines, [line]).positions == positions


def test_updates_of_pods():
    before, after = pod("p"), pod("p", on="n1")
    found = updated_pod(line_of("Update", after, before))
    assert found is not None
    assert [one.spec.node_name for one in found] == ["n1", ""]
    for line in (
        line_of("Add", before),
        line_of("Delete", after, before),
        line_of("Update", node("n1"), node("n1")),
    ):
        assert updated_pod(line) is None


# ------------------------------------------------------------------ decisions of a record alone


FAILED = {"conditions": [UNSCHEDULABLE], "nominatedNodeName": "n1"}


def test_a_nomination_that_is_shown_again_is_the_same_preemption():
    cluster = Cluster(node("n1"), pod("p"), pod("v", on="n1"), pod("w", on="n1"))
    cluster.update(1000, with_status(pod("p"), **FAILED))
    cluster.update(1100, terminating(pod("v", on="n1")))
    cluster.update(1200, with_status(pod("p"), **FAILED, message="again"))
    cluster.update(1210, terminating(pod("w", on="n1")))
    assert decisions(cluster) == [(1000, "a/p", "", "n1", ["a/v", "a/w"])]


def test_the_decision_for_a_pod_is_not_that_for_an_earlier_one_of_its_name():
    selected = claim("data", **{"volume.kubernetes.io/selected-node": "n1"})
    new = pod("p", volumes=VOLUMES)
    new = new | {"metadata": new["metadata"] | {"uid": "new"}}
    cluster = Cluster(node("n1"), pod("p", volumes=VOLUMES), claim("data"))
    cluster.update(1000, selected)
    cluster.update(1100, pod("p", on="n1", volumes=VOLUMES))
    cluster.update(1200, new)
    cluster.update(1300, new | {"spec": new["spec"] | {"nodeName": "n1"}})
    assert [one[:3] for one in decisions(cluster)] == [
        (1000, "a/p", "n1"),
        (1300, "a/p", "n1"),
    ]
    assert len(list(recorded(cluster))) == 2


def test_pods_that_were_bound_between_two_states_are_placed_and_others_are_not():
    cluster = Cluster(node("n1"), node("n2"), pod("p"), pod("b"), pod("c"))
    cluster.update(1900, pod("b", on="n2"))
    cluster.update(1910, with_status(pod("c"), nominatedNodeName="n2", conditions=[UNSCHEDULABLE]))
    cluster.update(2000, pod("p", on="n1"))
    cluster.add(2010, pod("static", on="n1"))
    cluster.update(2260, pod("c", on="n1"))
    found = recorded(cluster)
    attempt = next(one for one in found if one.pod == "a/p")
    states = [
        (dict(one.positions), [(each.name, where) for each, where in one.placed])
        for one in found.states(attempt, found._view.pods["a/p"])
    ]
    assert found._view.positions()[POD] == 5
    # A binding 260 ms later was not made yet, and a pod that came with a node is not a decision.
    assert states == [({POD: 4}, []), ({POD: 3}, [("b", "n2")]), ({POD: 3}, [])]


# ---------------------------------------------------------------------- the recorded cluster


def view_of(cluster: Cluster, **positions: int) -> RecordedCluster:
    view = RecordedCluster(cluster.record().lines, Columns())
    view.go_to({kind: positions.get(kind[1], len(of.lines)) for kind, of in view.tracks.items()})
    return view


def requested(view: RecordedCluster, name: str) -> int:
    nodes = view.cluster.nodes
    return int(nodes.requested[nodes.slot_of[name], 0])


def test_an_assumption_and_a_nomination_outlive_a_deletion_that_is_only_tried():
    cluster = Cluster(node("n1"), node("n2"), pod("p"), pod("q"))
    for name in "pq":
        cluster.delete(1000, pod(name))
    view = view_of(cluster, Pod=2)
    view.assume(view.pods["a/p"], "n1")
    view.nominate(view.pods["a/q"], "n2")
    with view.speculation():
        view.go_to({POD: 4})
        assert (requested(view, "n1"), dict(view.cluster.nominated)) == (0, {})
    assert (requested(view, "n1"), list(view.cluster.nominated["n2"])) == (1000, ["a/q"])
    # After the deletion both are gone, also in the states before it.
    view.go_to({POD: 4})
    with view.speculation():
        view.go_to({POD: 2})
        assert (requested(view, "n1"), dict(view.cluster.nominated)) == (0, {})


def test_a_bound_pod_is_assumed_no_more_and_nominated_no_more():
    cluster = Cluster(node("n1"), node("n2"), pod("p"), pod("q"))
    cluster.update(1000, pod("p", on="n1"))
    cluster.update(1000, pod("q", on="n1"))
    view = view_of(cluster, Pod=2)
    view.assume(view.pods["a/p"], "n1")
    view.nominate(view.pods["a/q"], "n2")
    view.go_to({POD: 4})
    with view.speculation():
        view.go_to({POD: 2})
        assert (requested(view, "n1"), dict(view.cluster.nominated)) == (0, {})


def test_only_pods_that_are_placed_otherwise_are_written(monkeypatch):
    cluster = Cluster(node("n1"), node("n2"), pod("p"), pod("q"), pod("r"))
    view = view_of(cluster)
    p, q, r = (view.pods[f"a/{name}"] for name in "pqr")
    written: list[str] = []
    put = view.cluster.put

    def noted(obj: Any) -> None:
        written.append(obj.name)
        put(obj)

    monkeypatch.setattr(view.cluster, "put", noted)
    with view.speculation():
        for placed, expected in (
            ([(p, "n1"), (q, "n1")], ["p", "q"]),
            ([(p, "n1"), (q, "n2")], ["q"]),
            ([(p, "n1"), (r, "n2")], ["q", "r"]),
        ):
            view.place_speculatively(placed)
            assert written == expected
            written.clear()
        assert (requested(view, "n1"), requested(view, "n2")) == (1000, 1000)
    assert written == ["p", "r"]
    assert (requested(view, "n1"), requested(view, "n2")) == (0, 0)


def test_an_assumed_volume_is_shown_until_the_api_shows_a_claim(monkeypatch):
    cluster = Cluster(node("n1"), volume(), claim("data"), pod("p", volumes=VOLUMES))
    cluster.update(1000, volume() | {"status": {"phase": "Available"}})
    cluster.update(2000, volume("data"))
    cluster.update(3000, volume())
    cluster.delete(4000, volume())
    view = view_of(cluster, PersistentVolume=1)
    seen: list[str] = []
    put, delete = view.cluster.put, view.cluster.delete

    def noted(obj: Any) -> None:
        if obj.kind == "PersistentVolume":
            seen.append(obj.spec.claim_ref.name if obj.spec.claim_ref else "free")
        put(obj)

    def noted_deletion(obj: Any) -> None:
        seen.append(f"no {obj.name}")
        delete(obj)

    monkeypatch.setattr(view.cluster, "put", noted)
    monkeypatch.setattr(view.cluster, "delete", noted_deletion)
    view.assume(view.pods["a/p"], "n1")
    for position in (2, 3, 4, 5):
        view.go_to({VOLUME: position})
    assert seen == ["data", "data", "data", "free", "no v"]
    seen.clear()
    with view.speculation():
        view.go_to({VOLUME: 2})
    assert seen == ["free", "data", "free", "data", "free", "no v"]
    view.assume(view.pods["a/p"], "n1")
    assert seen[6:] == [], "there is no volume any more"


def test_an_assumed_volume_outlives_a_binding_that_is_only_tried():
    cluster = Cluster(node("n1"), volume(), claim("data"), pod("p", volumes=VOLUMES))
    cluster.update(2000, volume("data"))
    view = view_of(cluster, PersistentVolume=1)
    view.assume(view.pods["a/p"], "n1")
    with view.speculation():
        view.go_to({VOLUME: 2})
    assert list(view._assumed_volumes) == ["v"]
    view.go_to({VOLUME: 2})
    assert list(view._assumed_volumes) == []


def test_nominations_that_the_api_replaces_are_dropped_once():
    cluster = Cluster(node("n1"), node("n2"), pod("p"))
    cluster.update(1000, with_status(pod("p"), nominatedNodeName="n1", conditions=[UNSCHEDULABLE]))
    cluster.update(1100, with_status(pod("p"), conditions=[UNSCHEDULABLE]))
    view = view_of(cluster, Pod=1)
    view.nominate(view.pods["a/p"], "n2")
    view.go_to({POD: 2})
    assert (view._nominations, view._superseded) == ({}, {})
    assert set(view.cluster.nominated) == {"n1"}
    view.go_to({POD: 3})
    assert not view.cluster.nominated


@pytest.mark.parametrize(
    ("before", "after", "is_kept"),
    [
        pytest.param("", "", True, id="another change"),
        pytest.param("", "n1", False, id="another nomination"),
        pytest.param("n1", "", False, id="the end of another nomination"),
        pytest.param("n1", "n1", False, id="another nomination, once more"),
        pytest.param("", "n2", True, id="the same nomination"),
    ],
)
def test_which_changes_replace_the_nomination_of_the_scheduler(before, after, is_kept):
    """Upstream: pkg/scheduler/backend/queue/nominator.go, UpdateNominatedPod"""
    first, second = (
        with_status(pod("p"), nominatedNodeName=name, conditions=[UNSCHEDULABLE], message=text)
        for name, text in ((before, "a"), (after, "b"))
    )
    cluster = Cluster(node("n1"), node("n2"), first)
    cluster.update(1000, second)
    view = view_of(cluster, Pod=1)
    view.nominate(view.pods["a/p"], "n2")
    view.go_to({POD: 2})
    assert list(view._nominations.values()) == ["n2"] * is_kept


def test_a_nomination_that_two_changes_replace_counts_only_before_both():
    nominated = {"nominatedNodeName": "n1", "conditions": [UNSCHEDULABLE]}
    cluster = Cluster(node("n1"), node("n2"), pod("p"))
    cluster.update(1000, with_status(pod("p"), **nominated))
    cluster.update(1100, with_status(pod("p"), **nominated, message="again"))
    view = view_of(cluster, Pod=1)
    view.nominate(view.pods["a/p"], "n2")
    with view.speculation():
        shown = []
        for position in (3, 2, 1, 2, 0, 1):
            view.go_to({POD: position})
            shown.append("".join(view.cluster.nominated))
        assert shown == ["n1", "n1", "n2", "n1", "", "n2"]
    assert list(view.cluster.nominated) == ["n2"]


def test_a_pod_that_was_nominated_and_placed_is_nominated_no_more():
    view = view_of(Cluster(node("n1"), node("n2"), pod("p")))
    view.nominate(view.pods["a/p"], "n2")
    view.assume(view.pods["a/p"], "n1")
    view.forget(view.pods["a/p"])
    assert (requested(view, "n1"), dict(view.cluster.nominated)) == (0, {})


@pytest.mark.parametrize("own", ["n2", ""])
def test_a_pod_that_waits_for_its_binding_is_placed_unless_it_was_nominated_since(own):
    cluster = Cluster(node("n1"), node("n2"), with_status(pod("p"), nominatedNodeName="n1"))
    view = view_of(cluster)
    assert (requested(view, "n1"), dict(view.cluster.nominated)) == (1000, {})
    view.nominate(view.pods["a/p"], own)
    assert (requested(view, "n1"), set(view.cluster.nominated)) == (0, {own} - {""})


def test_a_failure_without_a_preemption_leaves_the_nomination():
    waiting = with_status(pod("p"), nominatedNodeName="n1", conditions=[UNSCHEDULABLE])
    cluster = Cluster(node("n1"), waiting)
    cluster.log_line(1000, "attempt", "p")
    cluster.log_line(1001, "unschedulable", "p", err="no")
    cluster.log_line(1010, "attempt", "p")
    found = logged(cluster)
    assert [list(found._view.cluster.nominated) for _ in found] == [["n1"], ["n1"]]


def named(document: dict[str, Any], name: str) -> dict[str, Any]:
    renamed: dict[str, Any] = {**document, "metadata": {**document["metadata"], "name": name}}
    return renamed


def test_only_the_volumes_of_a_forgotten_pod_are_free_again():
    def using(name: str) -> Any:
        return pod(name, volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": name}}])

    names = ("x", "y")
    objects = [each for name in names for each in (named(volume(), f"v-{name}"), using(name))]
    cluster = Cluster(node("n1"), *objects)
    for name in names:
        cluster.update(1000, named(volume(name), f"v-{name}"))
    view = view_of(cluster, PersistentVolume=2)
    for name in names:
        view.assume(view.pods[f"a/{name}"], "n1")
    view.forget(view.pods["a/x"])
    assert list(view._assumed_volumes) == ["v-y"]


def test_a_volume_that_is_gone_is_not_assumed():
    cluster = Cluster(node("n1"), volume(), pod("p", volumes=VOLUMES))
    cluster.delete(1000, volume())
    cluster.add(2000, volume("data"))
    for position, expected in ((1, ["v"]), (2, []), (0, [])):
        view = view_of(cluster, PersistentVolume=position)
        view.assume(view.pods["a/p"], "n1")
        assert list(view._assumed_volumes) == expected


def test_a_volume_whose_binding_only_its_deletion_shows_is_not_assumed():
    cluster = Cluster(node("n1"), volume(), pod("p", volumes=VOLUMES))
    cluster.delete(1000, volume("data"))
    view = view_of(cluster, PersistentVolume=1)
    view.assume(view.pods["a/p"], "n1")
    assert list(view._assumed_volumes) == []


def test_a_volume_that_was_provisioned_for_a_claim_is_a_result():
    cluster = Cluster(node("n1"), pod("p", volumes=VOLUMES), claim("data"))
    cluster.log_line(1000, "attempt", "p")
    cluster.log_line(1001, "bound", "p", node="n1", evaluatedNodes=1, feasibleNodes=1)
    cluster.update(990, claim("data", **{"volume.kubernetes.io/selected-node": "n1"}))
    cluster.add(995, volume("data"))
    cluster.update(1100, pod("p", on="n1", volumes=VOLUMES))
    assert decisions(cluster) == [(990, "a/p", "n1", "", [])]
    found = logged(cluster)
    next(iter(found))
    kinds = {kind[1]: position for kind, position in found._view.positions().items()}
    assert kinds == {
        "Node": 1, "Pod": 1, "PersistentVolumeClaim": 1, "PersistentVolume": 0
    }  # fmt: skip


def test_images_of_a_pod_that_no_node_has_do_not_hide_others():
    gib = 1 << 30
    columns = Columns()
    columns.put(decode(node("n1", images={"app:2": gib})))
    columns.put(decode(node("n2")))
    counts = CopiedImageCounts(columns)
    counts.copy(["n1", "n2"])
    columns.put(decode(node("n2", images={"app:2": gib})))
    document = pod("p", image="none")
    containers = document["spec"]["containers"]
    document["spec"]["containers"] = [*containers, containers[0] | {"name": "d", "image": "app:2"}]
    asked = decode(document)
    assert isinstance(asked, Pod)
    slots = np.array([columns.nodes.slot_of[name] for name in ("n2", "n1")], dtype=np.int32)
    # 1 GiB on one of two nodes, or on both; two containers allow 2,000 MiB.
    low, most = 23 << 20, 2000 << 20

    def score(count: int) -> int:
        return max(0, 100 * (gib * count // 2 - low) // (most - low))

    assert counts.differences(asked, slots).tolist() == [0 - score(2), score(1) - score(2)]


def test_an_image_that_came_after_the_copy_of_its_node_counts_nothing():
    gib = 1 << 30
    columns = Columns()
    columns.put(decode(node("n1", images={"app:1": gib})))
    counts = CopiedImageCounts(columns)
    counts.copy(["n1"])
    columns.put(decode(node("n1", images={"app:1": gib, "app:2": gib // 2})))
    document = pod("p")
    containers = document["spec"]["containers"]
    document["spec"]["containers"] = [*containers, containers[0] | {"name": "d", "image": "app:2"}]
    asked = decode(document)
    assert isinstance(asked, Pod)
    slots = np.array([columns.nodes.slot_of["n1"]], dtype=np.int32)
    low, most = 23 << 20, 2000 << 20
    expected = 100 * (gib - low) // (most - low) - 100 * (gib * 3 // 2 - low) // (most - low)
    assert counts.differences(asked, slots).tolist() == [expected]

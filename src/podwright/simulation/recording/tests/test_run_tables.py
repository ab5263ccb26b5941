"""Tables of a run: what becomes a row, when samples are taken, what counts as fragmented."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

import podwright as pw
from podwright.apimachinery.objects import Pod, with_fields, with_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework import (
    Decision,
    Diagnosis,
    Plugin,
    PostFilterResult,
    Status,
)
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import CallDone, Failure
from podwright.scheduler.preemption import Candidate, Choice, DryRun, Preemption
from podwright.simulation.recording.explanations.outcome import FAILED
from podwright.simulation.recording.folders.run_tables import (
    TABLES,
    Counts,
    RunTables,
    TableRows,
)
from podwright.simulation.recording.tests.recording import Recorded
from podwright.simulation.recording.tests.test_device_shares import MILLI, gpus, used
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
GIB = 1 << 30


def rows_of(run: pw.Run, table: str, *columns: str) -> list[Any]:
    start_ns = pw.World().start_ns
    found = []
    for row in run.tables[table].select(list(columns)).to_pylist():
        values = [
            (value.value - start_ns) / SECOND if hasattr(value, "value") else value
            for value in row.values()
        ]
        found.append(values[0] if len(columns) == 1 else tuple(values))
    return found


def seconds(run: pw.Run, table: str) -> list[float]:
    """Return the times of a table's rows, each once, in seconds since the beginning."""
    start_ns = pw.World().start_ns
    times = run.tables[table].column("time").cast("int64").to_pylist()
    return sorted({(at_ns - start_ns) / SECOND for at_ns in times})


def with_spec(pod: Pod, **spec: Any) -> Any:
    return decode(pod.raw | {"spec": pod.raw["spec"] | spec})


def test_every_table_has_its_columns_even_without_rows():
    run = pw.simulate([make_node("n1")])
    assert {name: tuple(table.column_names) for name, table in run.tables.items()} == {
        name: tuple(columns) for name, columns in TABLES.items()
    }
    assert run.tables["decisions"].num_rows == 0


def test_a_decision_is_a_row_with_its_attempt():
    run = pw.simulate(
        [make_node("n1", cpu="2"), make_pod("a", cpu="2"), make_pod("b", cpu="2")],
        events=[{"at": "10s", "delete": "pod/a", "gracePeriodSeconds": 0}],
    )
    assert rows_of(run, "decisions", "pod", "attempt", "result", "node") == [
        ("a", 1, "Scheduled", "n1"),
        ("b", 1, "Unschedulable", None),
        ("b", 2, "Scheduled", "n1"),
    ]
    messages = rows_of(run, "decisions", "message")
    assert messages[0] is None
    assert messages[1].startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_wait_ends_by_scheduling_by_deletion_or_not_at_all():
    run = pw.simulate(
        [
            make_node("n1", cpu="2"),
            make_pod("a", cpu="2"),
            make_pod("b", cpu="3"),
            make_pod("c", cpu="3"),
        ],
        events=[{"at": "10s", "delete": "pod/b"}],
        until="12s",
    )
    assert rows_of(run, "waits", "pod", "outcome", "node", "attempts", "wait_ns") == [
        ("a", "Scheduled", "n1", 1, 0),
        ("b", "Deleted", None, 1, 10 * SECOND),
        ("c", "Pending", None, 1, 12 * SECOND),
    ]


def test_gated_pods_and_pods_of_other_schedulers_have_their_own_reasons():
    run = pw.simulate(
        [
            make_node("n1", cpu="2"),
            with_spec(make_pod("gated"), schedulingGates=[{"name": "quota"}]),
            with_spec(make_pod("foreign"), schedulerName="other"),
            make_pod("large", cpu="3"),
        ]
    )
    assert run.summary.pending == {
        "Insufficient cpu": 1,
        "SchedulingGated": 1,
        "for another scheduler": 1,
    }
    assert run.summary.pending_count == 1
    assert set(run.pending) == {"default/gated", "default/foreign", "default/large"}


def test_the_main_reason_is_what_most_nodes_lack():
    nodes = [
        make_node("a", cpu="1"),
        make_node("b", cpu="1"),
        make_node("c", cpu="8", memory="1Gi"),
    ]
    run = pw.simulate([*nodes, make_pod("large", cpu="4", memory="4Gi")])
    assert run.summary.pending == {"Insufficient cpu": 1}


def test_changes_are_sampled_at_most_once_per_interval():
    run = pw.simulate(
        [make_node("n1", cpu="8")],
        events=[
            {"at": f"{second}s", "apply": make_pod(f"p{second}", cpu="1").raw}
            for second in (10, 20, 30, 200)
        ],
        until="5m",
    )
    # At the beginning, one for all of the first minute, one for the last pod, one at the end.
    assert seconds(run, "utilization") == [0.0, 60.0, 200.0, 300.0]
    shares = [
        share
        for resource, share in rows_of(run, "utilization", "resource", "share")
        if resource == "cpu"
    ]
    assert shares == [0.0, 3 / 8, 4 / 8, 4 / 8]


@pytest.mark.parametrize("sample", ["1s", "1m", "1h"])
def test_means_are_weighted_by_time_whatever_the_samples(sample):
    run = pw.simulate(
        [make_node("a", cpu="4"), make_node("b", cpu="4"), make_pod("x", cpu="3", node="a")],
        events=[
            {"at": "30s", "apply": make_pod("y", cpu="4", node="b").raw},
            {"at": "60s", "delete": "pod/x"},
        ],
        until="2m",
        sample=sample,
    )
    use = run.summary.utilization["cpu"]
    assert use.mean == (30 * 3 / 8 + 30 * 7 / 8 + 60 * 4 / 8) / 120
    # First 1 of 5 free cores is of no use to pods like x, then 1 of 1 to pods like x and like y;
    # once x is gone, a has room for both.
    assert use.fragmentation == round((30 * 1 / 5 + 30 * 1 + 60 * 0) / 120, 6)


def test_a_preemption_has_a_row_per_victim():
    nodes = [make_node("n1", cpu="4")]
    pods = [make_pod(f"p{number}", cpu="2") for number in range(2)]
    urgent = with_spec(make_pod("urgent", cpu="4"), priorityClassName="system-node-critical")
    run = pw.simulate([*nodes, *pods], events=[{"at": "1m", "apply": urgent.raw}])
    rows = rows_of(run, "preemptions", "pod", "node", "victim", "victim_priority")
    assert sorted(rows) == [("urgent", "n1", "p0", 0), ("urgent", "n1", "p1", 0)]
    assert (run.summary.counts.preemptions, run.summary.counts.victims) == (1, 2)
    assert run.node_of["default/urgent"] == "n1"


def test_tables_continue_from_a_state():
    tables = RunTables(MINUTE)
    world = pw.World(observers=[tables])
    tables.attach(world.machine)
    world.add(make_node("n1", cpu="2"), make_pod("web", cpu="1"), make_pod("large", cpu="4"))
    world.run()
    tables.sample(world.now_ns)
    assert len(tables.take_rows()["decisions"]["pod"]) == 2
    again = RunTables(MINUTE)
    again.restore(tables.state())
    assert again.state() == tables.state()
    assert again.pending_by_reason() == {"Insufficient cpu": 1}
    assert all(not column for columns in again.rows().values() for column in columns.values())


def test_the_rows_from_an_open_attempt_on_are_kept_and_amended():
    tables = RunTables(MINUTE)
    decided = [
        Decision(pod=make_pod(name), node=node, diagnosis=None)
        for name, node in (("a", "n1"), ("b", "n2"), ("c", "n3"))
    ]
    for decision in decided:
        tables.changed(None, decision.pod, 0)
    tables.decided(decided, SECOND)
    tables.changed(decided[0].pod, with_node_name(decided[0].pod, "n1"), SECOND)
    assert tables.take_rows()["decisions"]["pod"] == ["a"]
    again = RunTables(MINUTE)
    again.restore(tables.state())
    again.failed(decided[1].pod, Failure(message="no licence is left"), 2 * SECOND)
    again.attach(pw.World().machine)
    again.end(3 * SECOND)
    rows = again.rows()["decisions"]
    assert rows["pod"] == ["b", "c"]
    assert rows["result"] == ["SchedulerError", "Binding"]
    assert rows["message"] == ["no licence is left", None]
    assert again.counts.failed_decisions == 1


# ------------------------------------------------------------- what happens to single pods


NO_ROOM = Diagnosis(node_count=1, pre_filter=Status.unschedulable("no room"))
BROKEN = Status.error("broken")


def decision(pod: Pod, node: str = "", **changes: Any) -> Decision:
    return Decision(pod=pod, node=node, **changes)


def columns_of(tables: RunTables, table: str, *names: str) -> list[tuple[Any, ...]]:
    columns = tables.rows()[table]
    return list(zip(*(columns[name] for name in names), strict=True))


def ended(pod: Pod, phase: str) -> Pod:
    return with_fields(pod, "status", phase=phase)


def test_rows_are_added_amended_and_taken_from_the_front():
    rows = TableRows({"time": "time", "name": "name", "score": "maybe", "share": "float"})
    for number in range(3):
        rows.add(number, f"n{number}", None, number / 2)
    rows.amend(1, name="other", share=0.25)
    assert rows.take(2) == {
        "time": [0, 1],
        "name": ["n0", "other"],
        "score": [None, None],
        "share": [0.0, 0.25],
    }
    assert len(rows) == 1
    with pytest.raises(ValueError, match="shorter"):
        TableRows({"time": "time", "name": "name"}).add(1)
    rows.extend({"time": [7], "name": ["x"], "score": [3], "share": [1.0]})
    assert rows.columns() == {
        "time": [2, 7],
        "name": ["n2", "x"],
        "score": [None, 3],
        "share": [1.0, 1.0],
    }


@pytest.mark.parametrize(
    ("later", "outcome", "counts"),
    [
        pytest.param(
            lambda pod: ended(pod, "Succeeded"), "Succeeded", Counts(succeeded=1), id="succeeded"
        ),
        pytest.param(lambda pod: ended(pod, "Failed"), "Failed", Counts(failed=1), id="failed"),
        pytest.param(lambda _: None, "Deleted", Counts(deleted=1), id="deleted"),
        pytest.param(
            lambda pod: with_node_name(pod, "n1"), "Scheduled", Counts(placed=1), id="placed"
        ),
        pytest.param(lambda pod: ended(pod, "Running"), None, Counts(), id="another phase"),
        pytest.param(lambda pod: with_spec(pod, priority=7), None, Counts(), id="another spec"),
    ],
)
def test_the_end_of_a_wait_is_a_row_and_a_count(later, outcome, counts):
    tables = RunTables(MINUTE)
    pod = with_spec(make_pod("web", namespace="shop"), priority=7)
    tables.changed(None, pod, 3 * SECOND)
    assert tables.counts == Counts(created=1)
    tables._is_changed = False
    new = later(pod)
    tables.changed(pod, new, 5 * SECOND)
    assert tables.counts == msgspec.structs.replace(counts, created=1)
    assert tables._is_changed is (outcome is not None), "whether a sample is due"
    node = "n1" if outcome == "Scheduled" else None
    names = ("created", "ended", "namespace", "pod", "priority", "outcome", "node")
    assert columns_of(tables, "waits", *names, "attempts", "wait_ns") == (
        [(3 * SECOND, 5 * SECOND, "shop", "web", 7, outcome, node, 0, 2 * SECOND)]
        if outcome
        else []
    )
    assert bool(tables.waiting) is (outcome is None)


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        pytest.param(make_pod("a"), "not tried yet", id="pending"),
        pytest.param(
            with_spec(make_pod("a"), schedulingGates=[{"name": "q"}]), "SchedulingGated", id="gated"
        ),
        pytest.param(
            with_spec(make_pod("a"), schedulerName="other"), "for another scheduler", id="foreign"
        ),
        pytest.param(
            with_spec(make_pod("a"), schedulerName="other", schedulingGates=[{"name": "q"}]),
            "for another scheduler",
            id="foreign and gated",
        ),
        pytest.param(ended(make_pod("a"), "Succeeded"), None, id="succeeded"),
        pytest.param(ended(make_pod("a"), "Failed"), None, id="failed"),
        pytest.param(make_pod("a", node="n1"), None, id="placed"),
    ],
)
def test_a_pod_waits_if_it_has_no_node_and_has_not_ended(pod, reason):
    tables = RunTables(MINUTE)
    tables.attach(pw.World().machine)
    tables._is_changed = False
    tables.changed(None, pod, 0)
    assert [each.reason for each in tables.waiting.values()] == ([reason] if reason else [])
    assert tables._is_changed is bool(pod.spec.node_name)
    tables.changed(pod, None, SECOND)
    assert tables._is_changed
    assert tables.counts == Counts(created=1, deleted=1)


def test_reasons_of_pending_pods_are_in_order():
    tables = RunTables(MINUTE)
    for name, fields in (("a", {}), ("b", {"schedulingGates": [{"name": "q"}]})):
        tables.changed(None, with_spec(make_pod(name), **fields), 0)
    assert list(tables.pending_by_reason()) == ["SchedulingGated", "not tried yet"]


def test_a_pod_is_placed_once_and_one_that_does_not_wait_may_be_decided():
    tables = RunTables(MINUTE)
    pod = make_pod("a", node="n1")
    tables.changed(None, pod, 0)
    tables.changed(pod, with_spec(pod, priority=7), SECOND)
    tables.decided([decision(pod, diagnosis=NO_ROOM)], 2 * SECOND)
    assert (tables.counts.placed, tables.counts.failed_decisions) == (0, 1)


def test_a_binding_that_fails_is_the_result_of_its_attempt():
    recorded, tables = Recorded(), RunTables(MINUTE)
    tables.attach(recorded.run.machine)
    recorded.holds = {"Bind"}
    pod = make_pod("a")
    tables.changed(None, pod, 0)
    recorded.attempt(make_node("n1"), pod)
    tables.decided(recorded.run.machine.last_decisions, SECOND)
    (bind,) = recorded.held
    recorded.tell(CallDone(bind.call, CallError("no quorum")))
    assert columns_of(tables, "decisions", "pod", "result") == [("a", FAILED)]


def test_only_nodes_that_are_ready_have_room():
    recorded, tables = Recorded(), RunTables(MINUTE)
    lost = make_node("lost", cpu="4")
    conditions = [{"type": "Ready", "status": "False"}]
    status = {**lost.raw["status"], "conditions": conditions}
    recorded.put(make_node("n1", cpu="4"), decode({**lost.raw, "status": status}))
    tables.attach(recorded.run.machine)
    tables.sample(0)
    rows = dict(columns_of(tables, "utilization", "resource", "allocatable"))
    assert rows["cpu"] == 4_000


def test_a_pod_ends_once():
    tables = RunTables(MINUTE)
    pod = make_pod("a", node="n1")
    tables.changed(None, pod, 0)
    done = ended(pod, "Succeeded")
    labeled = with_fields(done, "metadata", labels={"a": "b"})
    for old, new in ((pod, done), (done, labeled), (labeled, ended(labeled, "Failed"))):
        tables.changed(old, new, 0)
    assert tables.counts == Counts(created=1, succeeded=1, failed=1)


def test_a_pod_whose_gates_are_all_gone_was_not_tried_yet():
    tables = RunTables(MINUTE)
    two, one, none = (
        with_spec(make_pod("a"), schedulingGates=[{"name": name} for name in names])
        for names in ("qr", "q", "")
    )
    tables.changed(None, two, 0)
    reasons = []
    for old, new in ((two, one), (one, none)):
        tables.changed(old, new, 0)
        reasons.append(tables.waiting["default/a"].reason)
    assert reasons == ["SchedulingGated", "not tried yet"]
    tables.decided([decision(none, diagnosis=NO_ROOM)], 0)
    tables.changed(none, with_spec(none, priority=3), 0)
    assert tables.waiting["default/a"].reason == "no room", "it had no gates"


def test_a_pod_from_before_keeps_its_creation_and_its_attempts():
    tables = RunTables(MINUTE)
    tables.was_there(make_pod("old"), -9 * SECOND, 4)
    tables.was_there(make_pod("placed", node="n1"), -9 * SECOND, 1)
    assert tables.counts == Counts(), "they were not created in this run"
    assert list(tables.waiting) == ["default/old"]
    tables.decided([decision(make_pod("old"), "n1")], SECOND)
    assert columns_of(tables, "decisions", "attempt") == [(5,)]
    tables.changed(make_pod("old"), with_node_name(make_pod("old"), "n1"), SECOND)
    assert columns_of(tables, "waits", "attempts", "wait_ns") == [(5, 10 * SECOND)]


REJECTED = Failure(message="0/1 nodes: no licence", is_rejected=True, reason="no licence")


@pytest.mark.parametrize(
    ("failure", "result", "reason"),
    [
        pytest.param(REJECTED, "Unschedulable", "no licence", id="rejected"),
        pytest.param(
            Failure(message="not allowed", is_rejected=True),
            "Unschedulable",
            "not allowed",
            id="without words of the plugin",
        ),
        pytest.param(
            Failure(message="broken", reason="words"), "SchedulerError", FAILED, id="an error"
        ),
    ],
)
@pytest.mark.parametrize("is_late", [False, True], ids=["in the cycle", "after its decision"])
def test_a_failure_after_the_choice_of_a_node_is_the_result(failure, result, reason, is_late):
    tables, pod = RunTables(MINUTE), make_pod("web")
    tables.changed(None, pod, 0)
    if is_late:
        tables.decided([decision(pod, "n1")], SECOND)
        assert columns_of(tables, "decisions", "result", "message") == [("Scheduled", None)]
        tables.failed(pod, failure, 2 * SECOND)
    else:
        tables.failed(pod, failure, SECOND)
        tables.decided([decision(pod, "n1")], SECOND)
    names = ("time", "pod", "attempt", "result", "node", "message")
    assert columns_of(tables, "decisions", *names) == [
        (SECOND, "web", 1, result, "n1", failure.message)
    ]
    assert tables.counts == Counts(created=1, decisions=1, failed_decisions=1)
    waiting = tables.waiting["default/web"]
    assert (waiting.reason, waiting.message) == (reason, failure.message)
    # The next attempt is counted separately.
    tables.decided([decision(pod, "n2")], 3 * SECOND)
    assert columns_of(tables, "decisions", "attempt", "result")[1] == (2, "Scheduled")


def test_a_failure_without_a_decision_is_noted_for_a_pod_that_waits():
    tables, pod, gone = RunTables(MINUTE), make_pod("web"), make_pod("gone")
    tables.changed(None, pod, 0)
    tables.failed(pod, REJECTED, SECOND)
    tables.failed(gone, REJECTED, SECOND)
    tables.decided([], SECOND)
    assert tables.waiting["default/web"].reason == "no licence"
    assert tables.rows()["decisions"]["pod"] == []
    tables.decided([decision(pod, "n1")], SECOND)
    assert columns_of(tables, "decisions", "result") == [("Scheduled",)], "it was noted once"


@pytest.mark.parametrize(
    ("found", "result", "reason"),
    [
        pytest.param({"diagnosis": NO_ROOM}, "Unschedulable", "no room", id="no node"),
        pytest.param({"error": BROKEN}, FAILED, FAILED, id="an error"),
    ],
)
def test_an_attempt_without_a_node_has_its_reason(found, result, reason):
    tables, pod = RunTables(MINUTE), make_pod("web")
    tables.changed(None, pod, 0)
    tables.decided([decision(pod, **found), decision(make_pod("unknown"), **found)], SECOND)
    message = "0/1 nodes are available: no room." if "diagnosis" in found else "broken"
    assert columns_of(tables, "decisions", "pod", "attempt", "result", "node", "message") == [
        ("web", 1, result, None, message),
        ("unknown", 0, result, None, message),
    ]
    assert tables.waiting["default/web"].reason == reason
    assert tables.waiting["default/web"].message == message
    assert tables.counts == Counts(created=1, decisions=2, failed_decisions=2)
    tables.failed(pod, REJECTED, 2 * SECOND)
    assert columns_of(tables, "decisions", "result")[0] == (result,), "it is over"


def test_an_attempt_is_open_for_the_pod_of_its_uid_only():
    tables = RunTables(MINUTE)
    old, new = (with_fields(make_pod("web"), "metadata", uid=uid) for uid in ("1", "2"))
    tables.changed(None, old, 0)
    tables.decided([decision(old, "n1")], 0)
    tables.failed(new, REJECTED, SECOND)
    assert columns_of(tables, "decisions", "result") == [("Scheduled",)]
    tables.failed(old, REJECTED, SECOND)
    assert columns_of(tables, "decisions", "result") == [("Unschedulable",)]


def preemption(*victims: Pod) -> Preemption:
    taken = Candidate(node="n1", victims=victims)
    tried = DryRun(candidates=(taken,))
    choice = Choice(candidate=taken, criterion=None, acceptable=("n1",))
    return Preemption(dry_run=tried, candidates=(taken,), choice=choice)


def test_a_late_failure_of_a_replaced_pod_does_not_concern_the_new_one():
    tables = RunTables(MINUTE)
    old, new = (with_fields(make_pod("web"), "metadata", uid=uid) for uid in ("1", "2"))
    for pod, other in ((old, new), (make_pod("gone"), None)):
        tables.changed(None, pod, 0)
        tables.decided([decision(pod, "n1")], 0)
        tables.changed(pod, None, 1)
        if other is not None:
            tables.changed(None, other, 2)
        tables.failed(pod, REJECTED, 3)
    assert columns_of(tables, "decisions", "result") == [("Unschedulable",)] * 2
    assert [each.reason for each in tables.waiting.values()] == ["not tried yet"]


@pytest.mark.parametrize(
    ("result", "nominated", "preempted"),
    [
        pytest.param(None, None, 0, id="no PostFilter"),
        pytest.param(
            PostFilterResult(status=Status.unschedulable("no room")), None, 0, id="no node"
        ),
        pytest.param(
            PostFilterResult(status=Status(), nominated_node="n1"), "n1", 0, id="no victims"
        ),
        pytest.param(
            PostFilterResult(
                status=Status(),
                nominated_node="n1",
                details=preemption(make_pod("a"), with_spec(make_pod("b"), priority=-5)),
            ),
            "n1",
            2,
            id="two victims",
        ),
    ],
)
def test_a_nomination_is_in_the_row_and_each_victim_has_one(result, nominated, preempted):
    tables, pod = RunTables(MINUTE), make_pod("web", namespace="shop")
    tables.decided([decision(pod, diagnosis=NO_ROOM, post_filter=result)], 7)
    assert columns_of(tables, "decisions", "nominated_node") == [(nominated,)]
    assert (
        columns_of(tables, "preemptions", *TABLES["preemptions"])
        == [
            (7, "shop", "web", 0, "n1", "default", "a", 0),
            (7, "shop", "web", 0, "n1", "default", "b", -5),
        ][:preempted]
    )
    assert (tables.counts.preemptions, tables.counts.victims) == (bool(preempted), preempted)


def test_the_numbers_of_a_decision_are_in_its_row():
    tables, pod = RunTables(MINUTE), make_pod("web", namespace="shop")
    tables.decided(
        [decision(pod, "n1", evaluated_count=9, feasible_count=5, tie_count=2, total=77)], SECOND
    )
    names = ("namespace", "evaluated_nodes", "feasible_nodes", "tied_nodes", "score")
    assert columns_of(tables, "decisions", *names) == [("shop", 9, 5, 2, 77)]
    assert columns_of(tables, "decisions", "nominated_node") == [(None,)]


# ----------------------------------------------------------------------------- samples


def sampled_world(*objects: Any) -> tuple[RunTables, list[tuple[int, int]]]:
    samples: list[tuple[int, int]] = []
    tables = RunTables(
        MINUTE, sampled=lambda at_ns, amounts: samples.append((at_ns, len(amounts.columns)))
    )
    world = pw.World()
    tables.attach(world.machine)
    for obj in objects:
        world.machine.cluster.put(obj)
    return tables, samples


def test_a_sample_is_taken_where_the_state_changed_but_not_before_the_interval_is_over():
    tables, samples = sampled_world(make_node("n1"))
    change = (None, make_node("n1"))

    def after(*steps: tuple[int, int]) -> list[int]:
        samples.clear()
        for before, now in steps:
            tables.passed(before * SECOND, now * SECOND)
        return [at_ns // SECOND for at_ns, _ in samples]

    assert after((0, 10)) == [0]
    assert after((10, 20), (20, 500)) == [], "nothing changed"
    tables.changed(*change, 500 * SECOND)
    assert after((500, 501)) == [500], "the last one is long ago"
    tables.changed(*change, 510 * SECOND)
    assert after((510, 560)) == [], "it is due at 560"
    assert after((560, 561)) == [560]
    tables.changed(*change, 570 * SECOND)
    assert after((570, 700)) == [620], "in between"
    tables.end(700 * SECOND)
    tables.end(700 * SECOND)
    assert [at_ns // SECOND for at_ns, _ in samples] == [620, 700], "one at the end"
    assert samples[-1][1] == 4


def test_a_sample_has_a_row_for_each_resource_that_there_is():
    tables, _ = sampled_world(
        make_node("n1", cpu=4, memory="1Gi", pods=10), make_pod("a", cpu=1, node="n1")
    )
    tables.sample(7)
    assert columns_of(
        tables, "utilization", "time", "resource", "allocatable", "requested", "share"
    ) == [
        (7, "cpu", 4000, 1000, 0.25),
        (7, "memory", GIB, 0, 0.0),
        (7, "pods", 10, 1, 0.1),
    ]
    # No pods were created, so none is typical, and all can be used.
    assert columns_of(tables, "fragmentation", "time", "resource", "free", "unusable", "share") == [
        (7, "cpu", 3000, 0.0, 0.0),
        (7, "memory", GIB, 0.0, 0.0),
        (7, "pods", 9, 0.0, 0.0),
    ]


def test_nothing_of_what_is_in_use_is_unusable():
    tables, _ = sampled_world(make_node("n1", cpu=1), make_pod("a", cpu=1, node="n1"))
    tables.changed(None, make_pod("large", cpu=2), 0)
    tables.sample(7)
    found = columns_of(tables, "fragmentation", "resource", "free", "unusable", "share")
    assert found[0] == ("cpu", 0, 0.0, 0.0)


def test_what_typical_pods_cannot_use_is_in_the_sample():
    tables, _ = sampled_world(make_node("n1", cpu=4), make_node("n2", cpu=1))
    tables.changed(None, make_pod("large", cpu=2), 0)
    tables.sample(7)
    found = columns_of(tables, "fragmentation", "resource", "free", "unusable", "share")
    assert found[0] == ("cpu", 5000, 1000.0, 0.2)


def test_a_reason_that_has_no_more_pods_has_one_row_of_zero():
    tables, _ = sampled_world()
    pod = make_pod("a")
    tables.changed(None, pod, 0)
    tables.sample(1)
    tables.decided([decision(pod, diagnosis=NO_ROOM)], 2)
    for at_ns in (3, 4):
        tables.sample(at_ns)
    tables.changed(pod, None, 5)
    for at_ns in (6, 7):
        tables.sample(at_ns)
    assert columns_of(tables, "pending", "time", "reason", "pods") == [
        (1, "not tried yet", 1),
        (3, "no room", 1),
        (3, "not tried yet", 0),
        (4, "no room", 1),
        (6, "no room", 0),
    ]


def test_the_reasons_of_a_sample_are_in_the_order_of_their_names():
    tables, _ = sampled_world()
    reasons = [f"no {name}" for name in ("room", "disk", "port", "zone", "gpu", "key")]
    for reason in reasons:
        pod = make_pod(reason[3:])
        tables.changed(None, pod, 0)
        none = Diagnosis(node_count=1, pre_filter=Status.unschedulable(reason))
        tables.decided([decision(pod, diagnosis=none)], 0)
    tables.sample(1)
    for pod in (make_pod("room"), make_pod("gpu")):
        tables.changed(pod, None, 2)
    tables.sample(3)
    gone = {"no room", "no gpu"}
    assert columns_of(tables, "pending", "time", "reason", "pods") == [
        *((1, reason, 1) for reason in sorted(reasons)),
        *((3, reason, int(reason not in gone)) for reason in sorted(reasons)),
    ]


def test_pods_that_were_never_tried():
    tables = RunTables(MINUTE)
    gated = with_spec(make_pod("gated"), schedulingGates=[{"name": "q"}])
    pods = [make_pod("tried"), make_pod("new"), gated]
    for pod in pods:
        tables.changed(None, pod, 0)
    assert tables.never_tried() == ("default/tried", "default/new")
    tables.decided([decision(pods[0], "n1")], 0)
    assert tables.never_tried() == ("default/new",)


def test_pods_that_a_plugin_gates_are_pending_for_its_reason():
    class Held(Plugin):
        name = "Held"

        def pre_enqueue(self, pod: Pod) -> Status:
            return Status.unschedulable("waits for a ticket")

    tables = RunTables(MINUTE)
    world = pw.World(plugins=[Held], observers=[tables])
    tables.attach(world.machine)
    world.add(make_node("n1"), make_pod("web"))
    world.run()
    assert tables.pending_by_reason() == {"waits for a ticket": 1}
    assert tables.never_tried() == ()


def test_shared_devices_count_as_changes_of_their_nodes():
    tables, _ = sampled_world(make_node("n1", resources={MILLI: 2000}), make_node("n2"))
    assert tables._machine is not None
    cluster = tables._machine.cluster

    def changed(*slots: int) -> list[int] | None:
        found = tables._with_devices(np.array(slots) if slots else None, cluster)
        return None if found is None else found.tolist()

    assert changed() is None
    assert changed(1) == [1]
    cluster.put(gpus("n1", 2))
    assert changed(1) is None, "they are the first"
    cluster.put(used("n1", "300"))
    assert changed(1) == [0, 1]
    cluster.put(used("n1", "200"))
    assert changed() is None


def test_rows_are_part_of_the_state():
    tables, pod = RunTables(MINUTE), make_pod("web")
    tables.decided([decision(pod, "n1"), decision(make_pod("b"), "n1")], 1)
    again = RunTables(MINUTE)
    again.restore(tables.state())
    assert again.rows() == tables.rows()
    assert len(again.rows()["decisions"]["pod"]) == 2
    assert again.take_rows()["decisions"]["pod"] == [], "both may still fail"

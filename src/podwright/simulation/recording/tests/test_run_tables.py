"""Tables of a run: what becomes a row, when samples are taken, what counts as fragmented."""

from __future__ import annotations

from typing import Any

import pytest

import podwright as pw
from podwright.apimachinery.objects import Pod, with_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework import Decision
from podwright.scheduler.machine import Failure
from podwright.simulation.recording.folders.run_tables import TABLES, RunTables
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

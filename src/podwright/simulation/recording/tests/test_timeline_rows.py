"""Every row of the timeline of a small run, and the present state after each of its steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podwright.apimachinery.objects import (
    Condition,
    Node,
    Object,
    OwnerReference,
    with_condition,
    with_fields,
)
from podwright.scheduler.machine import ObjectDeleted, ObjectPut
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded
from podwright.simulation.recording.timelines import columns, feed as feeds
from podwright.simulation.recording.timelines.feed import TimelineFeed
from podwright.simulation.recording.timelines.present_state import PresentState, is_node_ready
from podwright.testing import make_node, make_pod

Step = tuple[int, str, int]


def ready(node: Node, status: str = "True") -> Node:
    return with_fields(node, "status", conditions=(Condition(type="Ready", status=status),))


class Watched(Recorded):
    """A run with a feed and a present state."""

    def __init__(self) -> None:
        super().__init__()
        self.feed = TimelineFeed(self.run.machine)
        self.state = PresentState(self.run.machine)

    def tell(self, event: Any) -> None:
        self.feed.advance(self.now_ns)
        super().tell(event)
        self.feed.handled(event)

    def at(self, second: int, *objects: Object, gone: Object | None = None) -> None:
        """Put objects and remove one at a time."""
        self.now_ns = second * SECOND_NS
        self.put(*objects)
        if gone is not None:
            self.tell(ObjectDeleted(gone))

    def rows(self) -> list[str]:
        """Return the rows of the timeline as lines: second, subject, field and difference."""
        timeline = self.feed.timeline()
        return [
            f"{at // SECOND_NS} {timeline.subjects[subject][1]} {timeline.fields[field]} {delta:+}"
            for at, subject, field, delta in zip(
                timeline.times_ns.tolist(),
                timeline.subject_index.tolist(),
                timeline.field_index.tolist(),
                timeline.deltas.tolist(),
                strict=True,
            )
        ]


PLAIN = make_node("n1", cpu="2", memory="1Ki", pods=9)
PRESENT = ("present", 1)
RENUMBERED = 1_100
"""Of nodes that are removed, more than there are slots of removed nodes."""
OWNER = OwnerReference(api_version="apps/v1", kind="ReplicaSet", name="o", uid="u", controller=True)
LOW = with_fields(make_pod("low", cpu="500m"), "metadata", owner_references=(OWNER,))
BIG = make_pod("big", cpu="9")


def test_every_change_of_a_node_is_a_row_of_its_field():
    run = Watched()
    run.at(1, PLAIN)
    run.at(2, ready(PLAIN))
    tainted = make_node(
        "n1", cpu="4", memory="1Ki", pods=9, unschedulable=True,
        taints=["a=b:PreferNoSchedule", "c:NoSchedule"],
    )  # fmt: skip
    run.at(3, ready(tainted))
    card = make_node("n1", cpu="2", memory="1Ki", pods=9, resources={"example.com/gpu": "3"})
    run.at(4, ready(card, "False"))
    # Twice within one time, and back again: no row.
    run.at(5, PLAIN, ready(card, "False"))
    run.at(6, gone=card)
    # Another node in the same slot.
    run.at(7, make_node("n2", cpu="1", memory="2Ki", pods=1))
    run.at(8, gone=make_node("n2"))
    run.put(make_node("n3", cpu="1", memory="2Ki", pods=1))
    assert run.rows() == [
        "1 n1 present +1",
        "1 n1 allocatable/cpu +2000",
        "1 n1 allocatable/memory +1024",
        "1 n1 allocatable/pods +9",
        "2 n1 ready +1",
        "3 n1 unschedulable +1",
        "3 n1 taints +2",
        "3 n1 allocatable/cpu +2000",
        "4 n1 ready -1",
        "4 n1 unschedulable -1",
        "4 n1 taints -2",
        "4 n1 allocatable/cpu -2000",
        "4 n1 allocatable/example.com/gpu +3",
        "6 n1 present -1",
        "6 n1 allocatable/cpu -2000",
        "6 n1 allocatable/memory -1024",
        "6 n1 allocatable/pods -9",
        "6 n1 allocatable/example.com/gpu -3",
        "7 n2 present +1",
        "7 n2 allocatable/cpu +1000",
        "7 n2 allocatable/memory +2048",
        "7 n2 allocatable/pods +1",
        "8 n2 present -1",
        "8 n2 allocatable/cpu -1000",
        "8 n2 allocatable/memory -2048",
        "8 n2 allocatable/pods -1",
        "8 n3 present +1",
        "8 n3 allocatable/cpu +1000",
        "8 n3 allocatable/memory +2048",
        "8 n3 allocatable/pods +1",
    ]
    timeline = run.feed.timeline()
    assert timeline.first_ns == SECOND_NS
    assert timeline.subjects == (("node", "n1"), ("node", "n2"), ("node", "n3"))


EXPECTED_SUBJECTS: tuple[columns.Subject, ...] = (
    ("node", "n1"),
    ("workload", "ReplicaSet default/o"),
    ("pod", "default/low"),
    ("pod", "default/big"),
    ("reason", "NodeResourcesFit"),
    ("pod", "default/high"),
    ("reason", "Drained"),
    ("pod", "default/new"),
)
EXPECTED_ROWS = [
    "1 n1 present +1",
    "1 default/low phase +1",
    "1 default/low queue +1",
    "1 default/low workload +2",
    "2 n1 requested/cpu +500",
    "2 n1 requested/pods +1",
    "2 default/low node +1",
    "2 default/low queue -1",
    "2 default/big phase +1",
    "2 default/big queue +1",
    "3 default/big queue +3",
    "3 default/big attempts +1",
    "3 default/big waitsFor +5",
    "3 default/high phase +1",
    "3 default/high queue +1",
    "4 n1 requested/cpu -500",
    "4 n1 requested/pods -1",
    "4 default/high nominatedTo +1",
    "4 default/high queue +1",
    "4 default/high attempts +1",
    "4 default/high waitsFor +5",
    "4 default/low phase -1",
    "4 default/low node -1",
    "4 default/low workload -2",
    "4 default/big queue -2",
    "15 default/big queue +2",
    "15 default/big attempts +1",
    "16 n1 requested/cpu +2000",
    "16 n1 requested/pods +1",
    "16 default/high nominatedTo -1",
    "16 default/high node +1",
    "16 default/high queue -2",
    "16 default/high attempts -1",
    "16 default/high waitsFor -5",
    "20 default/high phase +1",
    "21 default/high disruptedBy +7",
    "22 default/high disruptedBy -7",
    "23 default/high deleting +1",
    "24 n1 requested/cpu -2000",
    "24 n1 requested/pods -1",
    "24 default/high phase +1",
    "24 default/high node -1",
    "24 default/big queue -3",
    "25 default/high phase -3",
    "25 default/high deleting -1",
    "26 default/new phase +1",
    "26 default/new queue +1",
]


def pods_of_a_run() -> Watched:
    """Run for half a minute: one pod is preempted, one fits nowhere, one ends and is deleted."""
    run = Watched()
    run.at(1, PLAIN)
    run.attempt(LOW)  # placed at 2 s
    run.attempt(BIG)  # fits nowhere at 3 s
    run.attempt(make_pod("high", cpu="2", priority=7))  # preempts at 4 s
    run.now_ns += 10 * SECOND_NS
    run.cycle()  # `big` again at 15 s
    run.cycle()  # placed at 16 s
    placed = with_fields(run.pods["default/high"], "status", phase="Running")
    run.at(20, placed)
    disrupted = Condition(type="DisruptionTarget", status="True", reason="Drained")
    run.at(21, with_condition(placed, disrupted))
    run.at(22, with_condition(placed, Condition(type="DisruptionTarget", status="False")))
    deleted = with_fields(placed, "metadata", deletion_timestamp="2026-01-01T00:00:00Z")
    run.at(23, deleted)
    run.at(24, with_fields(deleted, "status", phase="Succeeded"))
    run.at(25, gone=deleted)
    run.at(26, with_fields(make_pod("new"), "status", phase="Odd"))
    return run


def test_every_change_of_a_pod_is_a_row_of_its_field():
    run = pods_of_a_run()
    rows = [row for row in run.rows() if " n1 allocatable" not in row]
    # Values of references are the indexes of subjects plus 1.
    assert run.feed.timeline().subjects == EXPECTED_SUBJECTS
    assert rows == EXPECTED_ROWS
    # A feed that drops its past has the rows after it, and a first state.
    run.feed.drop_before(20 * SECOND_NS)
    later = [row for row in EXPECTED_ROWS if int(row.split()[0]) > 20]
    shortened = run.rows()
    # What is dropped are the pods that are gone; references have other numbers then.
    assert [row for row in shortened if int(row.split()[0]) > 20 and "disruptedBy" not in row] == [
        row for row in later if "disruptedBy" not in row
    ]
    assert [row for row in shortened if row.startswith("20 ")] == [
        "20 n1 present +1",
        "20 n1 allocatable/cpu +2000",
        "20 n1 requested/cpu +2000",
        "20 n1 allocatable/memory +1024",
        "20 n1 allocatable/pods +9",
        "20 n1 requested/pods +1",
        "20 default/big phase +1",
        "20 default/big queue +4",
        "20 default/big attempts +2",
        "20 default/big waitsFor +3",
        "20 default/high phase +2",
        "20 default/high node +1",
    ]
    assert run.feed.timeline().first_ns == 20 * SECOND_NS
    assert run.feed.timeline().subjects == (
        ("node", "n1"),
        ("pod", "default/big"),
        ("reason", "NodeResourcesFit"),
        ("pod", "default/high"),
        ("reason", "Drained"),
        ("pod", "default/new"),
    )


def test_a_pod_that_comes_back_on_another_node_within_the_same_time_has_moved():
    run = Watched()
    pod = make_pod("p", cpu="1", node="n1")
    run.at(1, PLAIN, pod)
    run.at(2, gone=pod)
    run.at(2, gone=PLAIN)
    run.at(2, make_node("n2", cpu="2"), make_pod("p", cpu="1", node="n2"))
    run.feed.advance(3 * SECOND_NS)
    timeline = run.feed.timeline()
    nodes = [timeline.state_at(at * SECOND_NS)[("pod", "default/p"), "node"] for at in (1, 2)]
    assert [timeline.subjects[node - 1] for node in nodes] == [("node", "n1"), ("node", "n2")]


@pytest.mark.parametrize("packed_numbers", [4, 8, 4 * 2_048])
@pytest.mark.parametrize("events_at_once", [1, 3, 500])
def test_rows_do_not_depend_on_when_they_are_collected(monkeypatch, packed_numbers, events_at_once):
    monkeypatch.setattr(feeds, "_PACKED_NUMBERS", packed_numbers)
    monkeypatch.setattr(feeds, "_EVENTS_AT_ONCE", events_at_once)
    rows = [row for row in pods_of_a_run().rows() if " n1 allocatable" not in row]
    assert rows == EXPECTED_ROWS


def test_a_node_that_gets_a_slot_of_before_the_renumbering_is_not_taken_for_the_one_there():
    run = Watched()
    cluster = run.run.machine.cluster
    run.at(1, *(make_node(f"n{number}") for number in range(RENUMBERED + 2)))
    last, before = f"n{RENUMBERED + 1}", dict(cluster.nodes.slot_of)
    for number in range(RENUMBERED):
        run.at(2, gone=make_node(f"n{number}"))
    run.at(3, *(make_node(f"new{number}") for number in range(RENUMBERED)))
    run.feed.advance(4 * SECOND_NS)
    assert cluster.numbering == 1
    assert before[last] in cluster.nodes.slot_of.values()
    state = run.feed.timeline().state_at(3 * SECOND_NS)
    there = [name for ((_, name), field), value in state.items() if (field, value) == PRESENT]
    assert sorted(there) == sorted(cluster.nodes.slot_of)


def test_what_changed_is_noted_before_the_queue_forgets_it():
    """At one time, so that no comparison comes between."""
    run = Watched()
    run.put(PLAIN)
    run.feed.timeline()
    for number in range(12_000):
        run.feed.handled(ObjectPut(BIG))
        run.run.machine.handle(
            ObjectPut(with_fields(BIG, "metadata", labels={"n": str(number % 2)})), 0
        )
    run.feed._collect()
    # All pods would be compared if some operation had been missed.
    assert not run.feed._are_all_pods
    assert list(run.feed._names) == ["default/big"]


def test_a_move_that_the_queue_has_forgotten_is_found_among_all_pods(monkeypatch):
    monkeypatch.setattr(feeds, "_EVENTS_AT_ONCE", 1_000_000)
    run = Watched()
    run.at(1, PLAIN, BIG)
    run.cycle()
    run.at(3, make_node("n2", cpu="9"))
    for number in range(10_001):
        labeled = with_fields(LOW, "metadata", labels={"n": str(number % 2)})
        run.run.machine.handle(ObjectPut(labeled), run.now_ns)
    run.at(4, gone=make_node("n2"))
    moves = [row for row in run.rows() if " default/big queue" in row]
    assert moves == ["1 default/big queue +1", "2 default/big queue +3", "3 default/big queue -2"]
    # What follows is known one by one again.
    run.feed._collect()
    assert not run.feed._are_all_pods


# ------------------------------------------------------------------------------ the present


def cells(state: PresentState) -> dict[str, int]:
    """Return the values that are not 0."""
    return {
        f"{state.nodes[slot]} {state.fields[field]}": int(state.values[slot, field])
        for slot, field in zip(*np.nonzero(state.values), strict=True)
    }


def changed(state: PresentState, version: int) -> dict[str, int]:
    """Return the cells that changed since a version, with their values."""
    found = state.changes_since(version)
    assert found is not None
    pairs = zip(
        found.slots.tolist(), found.field_index.tolist(), found.values.tolist(), strict=True
    )
    return {f"{state.nodes[slot]} {state.fields[field]}": value for slot, field, value in pairs}


def test_the_present_state_after_each_change_and_the_cells_that_changed():
    run = Watched()
    state = run.state
    assert (state.version, state.fields, state.nodes) == (0, [], [])
    run.at(1, ready(PLAIN), make_node("n2", cpu="1", memory="2Ki", pods=3))
    assert state.update()
    assert not state.update()
    first = {
        "n1 present": 1,
        "n1 ready": 1,
        "n1 allocatable/cpu": 2000,
        "n1 allocatable/memory": 1024,
        "n1 allocatable/pods": 9,
        "n2 present": 1,
        "n2 allocatable/cpu": 1000,
        "n2 allocatable/memory": 2048,
        "n2 allocatable/pods": 3,
    }
    assert cells(state) == changed(state, 0) == first
    assert state.version == 2
    assert changed(state, 2) == {}
    run.attempt(LOW)
    assert state.update()
    assert changed(state, 2) == {"n1 requested/cpu": 500, "n1 requested/pods": 1}
    assert state.pods == {
        "active": 0, "backoff": 0, "unschedulable": 0, "gated": 0, "in_flight": 0, "placed": 1,
    }  # fmt: skip
    run.attempt(BIG)
    # Only the pods are others.
    assert state.update()
    assert (state.version, state.pods["unschedulable"], state.pods["placed"]) == (3, 1, 1)
    assert not state.update()
    node = make_node(
        "n2", cpu="1", memory="2Ki", pods=3, unschedulable=True, taints=["a:NoSchedule"],
        resources={"example.com/gpu": "3"},
    )  # fmt: skip
    fields = len(state.fields)
    run.at(4, node)
    assert state.update()
    assert changed(state, 3) == {
        "n2 unschedulable": 1, "n2 taints": 1, "n2 allocatable/example.com/gpu": 3,
    }  # fmt: skip
    found = state.changes_since(3)
    assert found is not None
    assert found.fields == ("allocatable/example.com/gpu", "requested/example.com/gpu")
    assert found.nodes == ()
    assert len(state.fields) == fields + 2
    run.at(5, gone=node)
    run.put(make_node("n3", cpu="1", memory="2Ki", pods=3))
    assert state.update()
    assert {name.split()[0] for name in cells(state)} == {"n1", "n3"}
    # The slot of a removed node keeps its name, and has no values.
    assert state.nodes == ["n1", "n2", "n3"]
    last = state.changes_since(4)
    assert last is not None
    assert (last.nodes, last.fields) == (("n3",), ())
    assert {value for name, value in changed(state, 4).items() if name.startswith("n2")} == {0}
    assert state.changes_since(state.version + 1) is None
    assert state.is_of(run.run.machine)
    assert not state.is_of(Recorded().run.machine)


def test_pods_may_be_counted_in_another_way():
    run = Recorded()
    counts = [{"a": 1}, {"a": 1}, {"a": 2}]
    state = PresentState(run.run.machine, lambda: counts.pop(0))
    assert [state.update(), state.update(), state.update()] == [True, False, True]
    assert state.pods == {"a": 2}


@pytest.mark.parametrize(
    ("conditions", "is_ready"),
    [
        ((), False),
        ((Condition(type="Ready", status="True"),), True),
        ((Condition(type="Ready", status="Unknown"),), False),
        ((Condition(type="MemoryPressure", status="True"),), False),
        (
            (Condition(type="Other", status="False"), Condition(type="Ready", status="True")),
            True,
        ),
    ],
)
def test_a_node_is_ready_if_its_condition_says_so(conditions, is_ready):
    assert is_node_ready(with_fields(make_node("n"), "status", conditions=conditions)) is is_ready
    assert not is_node_ready(None)


# ------------------------------------------------------------------------------ columns


def numbers(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(
    ("subjects", "fields", "starts"),
    [
        ([], [], []),
        ([0], [0], [0]),
        ([0, 0, 0], [0, 0, 1], [0, 2]),
        ([0, 1, 1], [3, 3, 3], [0, 1]),
        ([5, 5, 0], [0, 1, 1], [0, 1, 2]),
        ([1, 1, 2], [1, 1, 1], [0, 2]),
    ],
)
def test_where_another_subject_or_field_starts(subjects, fields, starts):
    assert columns.starts_of_cells(numbers(*subjects), numbers(*fields)).tolist() == starts


def test_cells_whose_differences_add_up_to_nothing_are_left_out():
    cells, values = columns.sums_of_cells(numbers(7, 3, 7, 5, 3), numbers(2, 4, -2, -1, 1))
    assert (cells.tolist(), values.tolist()) == ([3, 5], [5, -1])


def test_references_are_the_sums_of_their_rows():
    # Rows of fields that are no references stay out, and each cell has its own sum.
    rows, referred = columns.references_in(
        ("queue", "node"), numbers(1, 0, 1, 1, 0), numbers(1, 1, 0, 1, 1), numbers(3, 5, 9, -2, -5)
    )
    found = dict(zip(rows.tolist(), referred.tolist(), strict=True))
    assert found == {0: 2, 3: 0, 1: 4, 4: -1}
    none = columns.references_in(("queue",), numbers(1), numbers(0), numbers(3))
    assert [part.tolist() for part in none] == [[], []]

"""The present state and its changes, as a client has them that applies the changes."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import Condition, Node, with_fields
from podwright.scheduler.machine import ObjectDeleted, ObjectPut
from podwright.simulation.recording.tests.recording import Recorded
from podwright.simulation.recording.timelines.feed import timeline_of_log
from podwright.simulation.recording.timelines.present_state import PresentState
from podwright.testing import make_node, make_pod


class Client:
    """Has the state of a version, and applies changes to it."""

    def __init__(self, state: PresentState) -> None:
        self.version = state.version
        self.fields, self.nodes = list(state.fields), list(state.nodes)
        self.values = {
            (slot, field): int(state.values[slot, field])
            for slot in range(len(self.nodes))
            for field in range(len(self.fields))
        }

    def catch_up(self, state: PresentState) -> int:
        """Apply the changes since the version; return how many cells they have."""
        changes = state.changes_since(self.version)
        assert changes is not None
        self.version = state.version
        self.fields += changes.fields
        self.nodes += changes.nodes
        cells = (changes.slots.tolist(), changes.field_index.tolist(), changes.values.tolist())
        for slot, field, value in zip(*cells, strict=True):
            self.values[slot, field] = value
        return len(cells[0])

    def state(self) -> dict[Any, int]:
        return {
            (("node", self.nodes[slot]), self.fields[field]): value
            for (slot, field), value in self.values.items()
            if value
        }


def with_ready(node: Node, status: str = "False") -> Node:
    conditions = (Condition(type="Ready", status=status),)
    return with_fields(node, "status", conditions=conditions)


def test_a_change_of_one_pod_is_the_cells_of_one_node():
    run = Recorded()
    run.put(*(make_node(f"n{number}", cpu="4", memory="1Gi") for number in range(50)))
    state = PresentState(run.run.machine)
    assert state.update()
    assert not state.update()
    client = Client(state)
    run.attempt(make_pod("a", cpu="1"))
    assert state.update()
    assert client.catch_up(state) == 2  # requested/cpu and requested/pods
    assert state.pods["placed"] == 1


def test_conditions_are_changes_although_scheduling_does_not_read_them():
    run = Recorded()
    node = make_node("n1", cpu="4")
    ready = msgspec.structs.replace(
        node,
        status=msgspec.structs.replace(
            node.status, conditions=(Condition(type="Ready", status="True"),)
        ),
    )
    run.put(ready)
    state = PresentState(run.run.machine)
    state.update()
    client = Client(state)
    assert client.state()[("node", "n1"), "ready"] == 1
    run.put(with_ready(node))
    assert state.update()
    client.catch_up(state)
    assert (("node", "n1"), "ready") not in client.state()


def test_all_nodes_are_compared_after_more_conditions_than_are_kept():
    run = Recorded()
    once, often = make_node("once"), make_node("often")
    run.put(with_ready(once, "True"), with_ready(often, "True"))
    state = PresentState(run.run.machine)
    state.update()
    client = Client(state)
    run.put(with_ready(once))
    for number in range(5_001):
        run.run.machine.handle(ObjectPut(with_ready(often, "True" if number % 2 else "False")), 0)
    assert state.update()
    assert client.catch_up(state) == 2
    assert "ready" in client.fields
    assert not any(field == "ready" for _, field in client.state())


def test_a_cluster_without_nodes_has_fields_and_counts_of_pods():
    run = Recorded()
    state = PresentState(run.run.machine)
    assert state.update()
    assert (state.nodes, state.values.shape) == ([], (0, len(state.fields)))
    assert state.fields
    changes = state.changes_since(0)
    assert changes is not None
    assert (changes.fields, changes.nodes) == (tuple(state.fields), ())
    assert len(changes.slots) == len(changes.values) == 0
    run.attempt(make_pod("a", cpu="1"))
    assert state.update()
    assert state.pods == {
        "active": 0, "backoff": 1, "unschedulable": 0, "gated": 0, "in_flight": 0, "placed": 0,
    }  # fmt: skip


def test_changes_are_kept_of_as_many_slots_as_there_are_nodes():
    run = Recorded()
    nodes = [make_node(f"n{number}", cpu="4") for number in range(3_000)]
    run.put(nodes[0])
    state = PresentState(run.run.machine)
    state.update()
    client = Client(state)
    run.put(*nodes[1:])
    state.update()
    assert client.catch_up(state)
    assert len(client.nodes) == 3_000


def test_a_resource_that_no_node_has_is_sent_once():
    run = Recorded()
    run.put(make_node("n1", cpu="4"))
    state = PresentState(run.run.machine)
    state.update()
    client = Client(state)
    run.run.machine.cluster.nodes.resource_index("example.com/gpu")
    run.put(make_node("n1", cpu="4", labels={"disk": "ssd"}))
    assert state.update()
    client.catch_up(state)
    client.catch_up(state)
    assert client.fields == state.fields


def test_unknown_and_old_versions_have_no_changes():
    run = Recorded()
    run.put(make_node("n1", cpu="4000", memory="8Gi"))
    state = PresentState(run.run.machine)
    state.update()
    version = state.version
    assert state.changes_since(version + 1) is None
    for number in range(3_000):
        cpu = "1" if number % 2 else "2"
        run.put(make_node("n1", cpu=cpu, memory="8Gi"))
        state.update()
    assert state.changes_since(version) is None


@effort(20)
@given(seed=st.integers(0, 1 << 30))
def test_a_client_that_applies_the_changes_has_the_state_of_the_timeline(seed):
    choose = random.Random(seed)
    run = Recorded()
    machine = run.run.machine
    state = PresentState(machine)
    state.update()
    client = Client(state)
    for number in range(choose.randint(1, 40)):
        run.now_ns += 1
        name = f"n{choose.randrange(6)}"
        kind = choose.randrange(6)
        if kind == 0:
            resources = {"example.com/gpu": "2"} if choose.random() < 0.3 else {}
            run.put(make_node(name, cpu=str(choose.randint(1, 8)), resources=resources))
        elif kind == 1 and name in machine.cluster.nodes.slot_of:
            node = machine.cluster.nodes.objects[machine.cluster.nodes.slot_of[name]]
            assert node is not None
            run.put(with_ready(node))
        elif kind == 2 and name in machine.cluster.nodes.slot_of:
            node = machine.cluster.nodes.objects[machine.cluster.nodes.slot_of[name]]
            assert node is not None
            run.tell(ObjectDeleted(node))
        elif kind == 3 and run.pods:
            run.remove(run.pods[choose.choice(sorted(run.pods))])
        else:
            run.attempt(make_pod(f"p{number}", cpu=str(choose.randint(1, 3))))
        if choose.random() < 0.5:
            state.update()
            if choose.random() < 0.5:
                client.catch_up(state)
    assert state.is_of(machine)
    state.update()
    client.catch_up(state)
    expected = timeline_of_log(run.run.log).state_at(run.now_ns)
    assert client.state() == {k: v for k, v in expected.items() if k[0][0] == "node"}

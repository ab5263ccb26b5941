"""Laws of the machine under random histories: late news, lost answers, pods that come and go."""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from podwright.assembly import Registry, build_machine
from podwright.framework import Cycle, Plugin, Status
from podwright.framework.binding import CallError, Pending, Progress
from podwright.machine import (
    Action,
    Bind,
    CallDone,
    CycleDue,
    DeletePod,
    Event,
    FlushBackoff,
    FlushUnschedulable,
    Machine,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
    PodAllowed,
    PodRejected,
    TimerFired,
)
from podwright.objects import Node, Object, Pod, with_condition, with_fields, with_node_name
from podwright.objects import with_nominated_node_name as with_nomination
from podwright.parity.setup import effective_configuration
from podwright.queueing import SECOND_NS, QueueName
from podwright.testing import make_node, make_pod

pytestmark = pytest.mark.property

START_NS = 1_800_000_000 * SECOND_NS
NODES = [f"n{i}" for i in range(3)]
PODS = [f"p{i}" for i in range(6)]


class Gate(Plugin):
    """Hold pods with the label `hold=permit` for ten seconds."""

    name = "Gate"

    def permit(self, cycle: Cycle, node_name: str) -> tuple[Status, int]:
        if cycle.pod.metadata.labels.get("hold") == "permit":
            return Status.wait("held"), 10 * SECOND_NS
        return Status.OK, 0


class Slow(Plugin):
    """Take three seconds before pods with the label `hold=pre_bind` are bound, or fail."""

    name = "Slow"

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        if cycle.pod.metadata.labels.get("hold") == "reserve":
            raise RuntimeError("the ledger is lost")
        return Status.OK

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        pass

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        held = cycle.pod.metadata.labels.get("hold") == "pre_bind"
        return Pending(delay_ns=3 * SECOND_NS) if held else Status.OK

    def continue_pre_bind(self, cycle: Cycle, node_name: str, progress: Progress) -> Status:
        is_odd = progress.now_ns // SECOND_NS % 2
        return Status.error("the disk is gone") if is_odd else Status.OK


CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {"multiPoint": {"enabled": [{"name": "Gate"}, {"name": "Slow"}]}},
        }
    ],
}


def new_machine() -> Machine:
    registry = Registry([Gate, Slow])
    configuration = effective_configuration(CONFIGURATION, registry)
    return build_machine(configuration, registry, start_ns=START_NS)


class Surroundings:
    """An API server whose news travel slowly, and a clock."""

    def __init__(self) -> None:
        self.machine = new_machine()
        self.now_ns = START_NS
        self.objects: dict[tuple[str, str], Object] = {}
        self.news: dict[tuple[str, str], deque[Event]] = {}
        self.calls: list[Action] = []
        self.log: list[tuple[Event, int, bytes]] = []
        self.version = 0

    # ---------------------------------------------------------------- the machine

    def tell(self, event: Event) -> list[Action]:
        actions = self.machine.handle(event, self.now_ns)
        self.log.append((event, self.now_ns, msgspec.json.encode(actions)))
        self.calls += [a for a in actions if isinstance(a, Bind | PatchPodStatus | DeletePod)]
        self.machine.validate()
        self.no_node_is_over_committed()
        return actions

    def cycle(self) -> None:
        queue, before = self.machine.queue, self.machine.last_decision
        ready = [queued.priority for queued in queue.pods_in(QueueName.ACTIVE)]
        self.tell(CycleDue())
        decision = self.machine.last_decision
        if decision is not None and decision is not before and ready:
            assert decision.pod.priority == max(ready), (decision.pod.key, ready)

    def no_node_is_over_committed(self) -> None:
        used = dict.fromkeys(NODES, 0)
        for obj in self.objects.values():
            if isinstance(obj, Pod) and obj.spec.node_name:
                used[obj.spec.node_name] += int(obj.spec.containers[0].resources.requests["cpu"])
        for name, amount in used.items():
            node = self.objects.get(("Node", name))
            if isinstance(node, Node):
                room = int(node.status.allocatable["cpu"])
                assert amount <= room, f"{name} has {room}, used {amount}"
        nodes = self.machine.cluster.nodes
        assert (nodes.requested[nodes.alive] <= nodes.allocatable[nodes.alive]).all()

    # ---------------------------------------------------------------- the API server

    def write(self, obj: Any) -> None:
        self.version += 1
        obj = with_fields(obj, "metadata", resource_version=str(self.version))
        key = (obj.kind, obj.key)
        self.objects[key] = obj
        self.news.setdefault(key, deque()).append(ObjectPut(obj))

    def remove(self, kind: str, name: str) -> None:
        obj = self.objects.pop((kind, name), None)
        if obj is not None:
            self.news[kind, name].append(ObjectDeleted(obj))

    def deliver(self, which: int) -> None:
        waiting = [key for key, events in self.news.items() if events]
        if waiting:
            self.tell(self.news[waiting[which % len(waiting)]].popleft())

    def deliver_all(self, key: tuple[str, str]) -> None:
        while self.news.get(key):
            self.tell(self.news[key].popleft())

    def answer(self, which: int, outcome: str) -> None:
        """Do one of the calls that are under way, or let it fail, or lose its answer."""
        if not self.calls:
            return
        action = self.calls.pop(which % len(self.calls))
        assert isinstance(action, Bind | PatchPodStatus | DeletePod)
        pod = self.objects.get(("Pod", action.pod))
        if not isinstance(pod, Pod) or pod.metadata.uid != action.uid:
            self.tell(CallDone(action.call, CallError("not found", "NotFound")))
            return
        if outcome == "fails":
            self.tell(CallDone(action.call, CallError("no leader")))
            return
        error = None
        match action:
            case Bind():
                if pod.spec.node_name or pod.is_terminating:
                    error = CallError("conflict", "Conflict")
                else:
                    self.write(with_nomination(with_node_name(pod, action.node), ""))
            case PatchPodStatus():
                if action.condition is not None:
                    pod = with_condition(pod, action.condition)
                if action.nominated_node is not None:
                    pod = with_nomination(pod, action.nominated_node)
                self.write(pod)
            case DeletePod():
                self.delete(action.pod)
        if outcome == "is lost":
            # The call was made, but its answer is an error; the change is seen before that.
            self.deliver_all(("Pod", action.pod))
            error = CallError("connection reset")
        self.tell(CallDone(action.call, error))

    def delete(self, name: str) -> None:
        """Delete a pod: one on a node takes its time."""
        pod = self.objects.get(("Pod", name))
        if not isinstance(pod, Pod):
            return
        if pod.spec.node_name and not pod.is_terminating:
            self.write(with_fields(pod, "metadata", deletion_timestamp="2030-01-01T00:00:00Z"))
        else:
            self.remove("Pod", name)

    def settle(self) -> None:
        """Let all news arrive, all calls be answered and all plugins make up their minds."""
        for _ in range(60):
            while any(self.news.values()):
                self.deliver(0)
            while self.calls:
                self.answer(0, "succeeds")
            self.now_ns += SECOND_NS
            self.tell(TimerFired())


# -------------------------------------------------------------------- histories

OPERATIONS = st.one_of(
    st.tuples(st.just("node"), st.sampled_from(NODES), st.integers(1, 4)),
    st.tuples(st.just("no_node"), st.sampled_from(NODES)),
    st.tuples(
        st.just("pod"),
        st.sampled_from(PODS),
        st.integers(1, 3),
        st.sampled_from([0, 0, 10, 100]),
        st.sampled_from(["", "", "", "permit", "pre_bind", "reserve"]),
        st.sampled_from([False, False, True]),
    ),
    st.tuples(st.just("ungate"), st.sampled_from(PODS)),
    st.tuples(st.just("relabel"), st.sampled_from(PODS)),
    st.tuples(st.just("delete"), st.sampled_from(PODS)),
    st.tuples(st.just("cycle")),
    st.tuples(st.just("cycle")),
    st.tuples(st.just("deliver"), st.integers(0, 5)),
    st.tuples(st.just("deliver"), st.integers(0, 5)),
    st.tuples(st.just("again"), st.sampled_from(PODS)),
    st.tuples(
        st.just("answer"),
        st.integers(0, 5),
        st.sampled_from(["succeeds", "succeeds", "fails", "is lost"]),
    ),
    st.tuples(st.just("time"), st.sampled_from([0.3, 1.0, 2.5, 11.0, 301.0])),
    st.tuples(st.just("allow"), st.sampled_from(PODS)),
    st.tuples(st.just("reject"), st.sampled_from(PODS)),
)


def live(history: list[tuple[Any, ...]]) -> Surroundings:
    around = Surroundings()
    for number, operation in enumerate(history):
        note(f"{number}: {operation}")
        step(around, number, *operation)
    return around


def step(around: Surroundings, number: int, op: str, *what: Any) -> None:  # noqa: C901, PLR0912
    key = f"default/{what[0]}" if what else ""
    pod = around.objects.get(("Pod", key))
    match op:
        case "node":
            if ("Node", what[0]) not in around.news:
                around.write(make_node(what[0], cpu=what[1]))
        case "no_node":
            around.remove("Node", what[0])
        case "pod":
            if pod is None:
                around.write(new_pod(number, *what))
        case "ungate":
            if isinstance(pod, Pod) and pod.spec.scheduling_gates:
                around.write(with_fields(pod, "spec", scheduling_gates=()))
        case "relabel":
            if isinstance(pod, Pod):
                labels = {**pod.metadata.labels, "seen": str(number)}
                around.write(with_fields(pod, "metadata", labels=labels))
        case "delete":
            around.delete(key)
        case "cycle":
            around.cycle()
        case "deliver":
            around.deliver(what[0])
        case "again":
            known = around.machine.pod(key)
            if known is not None:
                around.tell(ObjectPut(known))
        case "answer":
            around.answer(*what)
        case "time":
            around.now_ns += round(what[0] * SECOND_NS)
            for event in (TimerFired(), FlushBackoff(), FlushUnschedulable()):
                around.tell(event)
        case "allow":
            around.tell(PodAllowed(key, "Gate"))
        case "reject":
            around.tell(PodRejected(key, "Gate", "not today"))
        case _:
            raise AssertionError(f"unknown operation {op}")


def new_pod(number: int, name: str, cpu: int, priority: int, hold: str, is_gated: bool) -> Pod:
    pod = make_pod(
        name,
        cpu=cpu,
        priority=priority,
        labels={"hold": hold} if hold else {},
        gates=["wait"] if is_gated else [],
        scheduler="default-scheduler",
    )
    return with_fields(pod, "metadata", uid=f"u{number}")


HISTORIES = st.lists(OPERATIONS, min_size=10, max_size=80)


@settings(max_examples=200)
@given(HISTORIES)
def test_no_pod_is_lost_no_node_over_committed_and_priorities_hold(history):
    """The laws are checked after every event."""
    live(history)


@settings(max_examples=60)
@given(HISTORIES)
def test_the_same_events_give_the_same_actions(history):
    around = live(history)
    again = new_machine()
    for event, now_ns, actions in around.log:
        assert msgspec.json.encode(again.handle(event, now_ns)) == actions


@settings(max_examples=60)
@given(HISTORIES)
def test_everything_comes_to_an_end(history):
    """Once nothing new happens, nobody waits for anything but room and gates."""
    around = live(history)
    around.settle()
    machine = around.machine
    assert not machine.assumed()
    assert not machine.preempting()
    assert not machine.queue.in_flight()
    for (kind, name), obj in around.objects.items():
        if kind == "Pod":
            assert machine.pod(name) == obj

"""Laws of the scheduling queue under random histories."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.properties.effort import effort

from podwright.apimachinery.objects import ObjectMeta, Pod, PodSchedulingGate, PodSpec, PodStatus
from podwright.scheduler.framework.events import (
    NODE,
    POD,
    WILDCARD,
    ActionType,
    ClusterEvent,
    EventHint,
    Hint,
)
from podwright.scheduler.queueing import (
    SECOND_NS,
    HintTable,
    QueuedPod,
    QueueName,
    QueueSettings,
    SchedulingQueue,
)
from podwright.scheduler.queueing.heap import LazyHeap

pytestmark = pytest.mark.property

PROFILE = "default-scheduler"
NODE_EVENTS = [
    ClusterEvent(NODE, ActionType.ADD),
    ClusterEvent(NODE, ActionType.UPDATE_NODE_LABEL),
    ClusterEvent(NODE, ActionType.DELETE),
]
PLUGINS = ["Adds", "Labels", "Stubborn", "Unknown"]
SPREAD_NS = 400 * SECOND_NS


def skip(_pod: Pod, _old: object, _new: object) -> Hint:
    return Hint.SKIP


def is_itself(pod: Pod, _old: object, new: object) -> Hint:
    assert isinstance(new, Pod)
    return Hint.QUEUE if new.metadata.uid == pod.metadata.uid else Hint.SKIP


def hold_gated(pod: Pod) -> tuple[str, tuple[str, ...]] | None:
    return ("SchedulingGates", ()) if pod.spec.scheduling_gates else None


def make_queue(queue_settings: QueueSettings | None = None) -> SchedulingQueue:
    table = HintTable.from_plugins(
        {
            "Adds": (EventHint(NODE, ActionType.ADD),),
            "Labels": (EventHint(NODE, ActionType.UPDATE_NODE_LABEL),),
            "Stubborn": (EventHint(NODE, ActionType.ALL, skip),),
            "SchedulingGates": (
                EventHint(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, is_itself),
            ),
        }
    )
    return SchedulingQueue(queue_settings, hints={PROFILE: table}, pre_enqueue=hold_gated)


def make_pod(index: int, version: int, priority: int, *, is_gated: bool, node: str = "") -> Pod:
    return Pod(
        metadata=ObjectMeta(
            namespace="default", name=f"p{index}", uid=f"u{index}", labels={"v": str(version)}
        ),
        spec=PodSpec(
            scheduler_name=PROFILE,
            priority=priority,
            scheduling_gates=(PodSchedulingGate("g"),) if is_gated else (),
        ),
        status=PodStatus(nominated_node_name=node),
    )


class QueueHistory(RuleBasedStateMachine):
    """All steps of a driver, with a plain model of the pending pods."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = make_queue()
        self.now_ns = 1_700_000_000 * SECOND_NS
        self.waiting: dict[str, Pod] = {}
        self.popped: dict[str, QueuedPod] = {}
        self.made_count = 0

    def pick(self, data: st.DataObject, pods: dict[str, Pod]) -> Pod:
        return pods[data.draw(st.sampled_from(sorted(pods)))]

    @rule(priority=st.integers(-1, 2), is_gated=st.booleans(), node=st.sampled_from(["", "n1"]))
    def add(self, priority: int, is_gated: bool, node: str) -> None:
        pod = make_pod(self.made_count, 0, priority, is_gated=is_gated, node=node)
        self.made_count += 1
        place = self.queue.add(pod, self.now_ns)
        assert place is (QueueName.GATED if is_gated else QueueName.ACTIVE)
        self.waiting[pod.key] = pod

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), priority=st.integers(-1, 2), node=st.sampled_from(["", "n1", "n2"]))
    def update(self, data: st.DataObject, priority: int, node: str) -> None:
        old = self.pick(data, self.waiting)
        version = int(old.metadata.labels["v"]) + 1
        is_gated = bool(old.spec.scheduling_gates) and data.draw(st.booleans())
        index = int(old.metadata.name[1:])
        new = make_pod(index, version, priority, is_gated=is_gated, node=node)
        self.queue.update(old, new, self.now_ns)
        self.waiting[new.key] = new

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        pod = self.pick(data, self.waiting)
        del self.waiting[pod.key]
        self.queue.delete(pod, self.now_ns)

    @rule()
    def pop(self) -> None:
        active = self.queue.pods_in(QueueName.ACTIVE)
        backoff = self.queue.pods_in(QueueName.BACKOFF)
        queued = self.queue.pop(self.now_ns)
        expected = active or backoff
        if queued is None:
            assert not expected
            return
        assert queued is expected[0]
        if active:
            best = max(other.pod.spec.priority or 0 for other in active)
            assert (queued.pod.spec.priority or 0) == best, self.queue.story(queued.key)
        assert not queued.is_gated
        del self.waiting[queued.key]
        self.popped[queued.key] = queued

    @precondition(lambda self: self.popped)
    @rule(
        data=st.data(),
        rejected_by=st.lists(st.sampled_from(PLUGINS), max_size=2),
        pending=st.lists(st.sampled_from(PLUGINS), max_size=1),
    )
    def park(self, data: st.DataObject, rejected_by: list[str], pending: list[str]) -> None:
        name = data.draw(st.sampled_from(sorted(self.popped)))
        queued = self.popped.pop(name)
        place = self.queue.park(
            queued, self.now_ns, unschedulable_plugins=rejected_by, pending_plugins=pending
        )
        assert place is queued.place
        if not rejected_by and not pending:
            assert place is QueueName.ERROR_BACKOFF
        self.waiting[name] = queued.pod

    @precondition(lambda self: self.popped)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.popped)))
        queued = self.popped.pop(name)
        self.queue.done(queued, self.now_ns)
        self.queue.nominate(queued.pod, "")

    @rule(event=st.sampled_from(NODE_EVENTS))
    def move(self, event: ClusterEvent) -> None:
        before = set(self.names_in(QueueName.UNSCHEDULABLE))
        waiting = [self.queue.get(name) for name in before]
        events_of = {
            queued.key: self.queue.moving_events(queued) for queued in waiting if queued is not None
        }
        moved = self.queue.move(event, self.now_ns)
        assert set(moved) == before - set(self.names_in(QueueName.UNSCHEDULABLE))
        for name in moved:
            assert event.label in events_of[name] or WILDCARD in events_of[name]

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def activate(self, data: st.DataObject) -> None:
        pod = self.pick(data, self.waiting)
        self.queue.activate([pod], self.now_ns)
        expected = QueueName.GATED if pod.spec.scheduling_gates else QueueName.ACTIVE
        queued = self.queue.get(pod.key)
        assert queued is not None
        assert queued.place is expected

    @rule(passed_ns=st.integers(0, SPREAD_NS))
    def let_time_pass(self, passed_ns: int) -> None:
        self.now_ns += passed_ns

    @rule()
    def flush(self) -> None:
        self.queue.flush_backoff(self.now_ns)
        self.queue.flush_unschedulable(self.now_ns)

    @precondition(lambda self: self.queue.next_due_ns() is not None)
    @rule()
    def flush_when_due(self) -> None:
        due_ns = self.queue.next_due_ns()
        assert due_ns is not None
        self.now_ns = max(self.now_ns, due_ns)
        moved = self.queue.flush_backoff(self.now_ns)
        moved += self.queue.flush_unschedulable(self.now_ns)
        assert moved, "a flush was due and moved nothing"

    def names_in(self, place: QueueName) -> list[str]:
        return [queued.key for queued in self.queue.pods_in(place)]

    @invariant()
    def every_pod_is_in_exactly_one_place(self) -> None:
        self.queue.validate()

    @invariant()
    def the_first_pods_are_those_of_the_whole_order(self) -> None:
        for place in QueueName:
            pods = self.queue.pods_in(place)
            assert self.queue.count_in(place) == len(pods)
            for limit_count in (0, 1, 3, 1_000):
                assert self.queue.first_in(place, limit_count) == pods[:limit_count]
        places = [place for place in QueueName if place is not QueueName.IN_FLIGHT]
        waiting = [name for place in places for name in self.names_in(place)]
        assert sorted(waiting) == sorted(self.waiting)
        assert sorted(self.names_in(QueueName.IN_FLIGHT)) == sorted(self.popped)

    @invariant()
    def the_queue_holds_the_newest_version(self) -> None:
        for name, pod in self.waiting.items():
            queued = self.queue.get(name)
            assert queued is not None
            assert queued.pod is pod

    @invariant()
    def gauges_count_who_waits_and_why(self) -> None:
        metrics = self.queue.metrics()
        assert sum(metrics.pending_pods.values()) == len(self.waiting)
        for plugin in [*PLUGINS, "SchedulingGates"]:
            rejected = sum(
                plugin in queued.rejectors
                for name in self.waiting
                if (queued := self.queue.get(name)) is not None
            )
            assert metrics.unschedulable_pods[plugin, PROFILE] == rejected


QueueHistory.TestCase.settings = effort(60, stateful_step_count=40)
TestQueueHistory = QueueHistory.TestCase


class Item:
    def __init__(self, name: int) -> None:
        self.name = name
        self.sort_key: Any = None


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 5), st.sampled_from(["push", "pop", "take"]))
    )
)
def test_lazy_heap_agrees_with_a_sorted_dictionary(steps: list[tuple[int, int, str]]) -> None:
    heap: LazyHeap[Item] = LazyHeap()
    items = [Item(name) for name in range(31)]
    model: dict[int, tuple[int, int]] = {}
    for index, (name, priority, step) in enumerate(steps):
        if step == "pop":
            expected = min(model, key=lambda one: model[one], default=None)
            popped = heap.pop()
            assert (None if popped is None else popped.name) == expected
            if expected is not None:
                del model[expected]
        else:
            assert heap.remove(items[name]) == (model.pop(name, None) is not None)
        if step == "push":
            heap.push(items[name], (priority, index))
            model[name] = (priority, index)
        assert len(heap) == len(model)
        first = heap.peek()
        assert (None if first is None else model[first.name]) == min(model.values(), default=None)
        ordered = [item.name for item in heap.ordered()]
        assert ordered == sorted(model, key=lambda one: model[one])

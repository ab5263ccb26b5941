"""A queue that is restored from a snapshot continues as the original does."""

from __future__ import annotations

import msgspec
import pytest

from podwright.scheduler.framework.events import NODE, POD, ActionType, EventHint, Hint
from podwright.scheduler.queueing import HintTable, QueuedPod, QueueName
from podwright.scheduler.queueing.capture import QueueSnapshot, queued_from, queued_snapshot
from podwright.scheduler.queueing.tests.pods import (
    NODE_ADD,
    NODE_LABEL,
    always_skip,
    at,
    hold_gated,
    is_itself,
    make_pod,
    make_queue,
    names,
)
from podwright.testing import make_node


class Objects:
    """Numbers objects and queued pods in order of appearance, and resolves the numbers."""

    def __init__(self):
        self.objects = []
        self.entries = []

    def of(self, obj):
        assert obj is not None
        return self._number(self.objects, obj)

    def of_queued(self, queued):
        return self._number(self.entries, queued)

    @staticmethod
    def _number(known, one):
        for number, other in enumerate(known):
            if other is one:
                return number
        known.append(one)
        return len(known) - 1

    def object(self, number):
        return self.objects[number]

    def pod(self, number):
        return self.objects[number]

    def queued(self, number):
        return self.entries[number]


def table():
    return HintTable(
        {
            "Fit": (EventHint(NODE, ActionType.ADD),),
            "Later": (EventHint(NODE, ActionType.ADD, always_skip),),
            "Label": (EventHint(NODE, ActionType.UPDATE_NODE_LABEL, always_skip),),
            "SchedulingGates": (
                EventHint(POD, ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, is_itself),
            ),
        }
    )


def empty_queue():
    return make_queue(hints={"default-scheduler": table()}, pre_enqueue=hold_gated)


def full_queue():
    """A queue with pods in every place, and events that are kept for pods in flight."""
    queue = empty_queue()
    for second, name in enumerate(("backoff", "unschedulable", "error")):
        queue.add(make_pod(name), at(second))
        queued = queue.pop(at(second))
        plugins = [] if name == "error" else ["Fit"]
        queue.park(queued, at(second), unschedulable_plugins=plugins)
        if name == "backoff":
            queue.move(NODE_ADD, at(0.1), new=make_node("n0"))
    for name in ("flight-a", "flight-b"):
        queue.add(make_pod(name, priority=9), at(3))
        queue.pop(at(3))
        queue.move(NODE_ADD, at(3), old=None, new=make_node("n1"), pre_check=lambda _: False)
    queue.move(NODE_LABEL, at(3), old=make_node("n1"), new=make_node("n2"))
    queue.add(make_pod("gated", gates=["g"]), at(4))
    queue.add(make_pod("active", nominated="n1"), at(5))
    return queue


def restored(queue, second=None):
    """Return a new queue from a snapshot; all queued pods are new instances."""
    objects = Objects()
    taken = queue.snapshot(objects)
    data = msgspec.msgpack.encode(taken)
    snapshot = msgspec.msgpack.decode(data, type=QueueSnapshot)
    entries = [queued_snapshot(queued, objects) for queued in objects.entries]
    places = {number: QueueName(entry.place) for number, entry in enumerate(entries)}
    objects.entries = [queued_from(entry, objects.pod(entry.pod)) for entry in entries]
    second = empty_queue() if second is None else second
    second.restore(snapshot, objects, places)
    return second


def contents(queue):
    return {place: names(queue.pods_in(place)) for place in QueueName if place.value}


def run_on(queue):
    """Do to a queue what shows its state; return what happened."""
    seen = [contents(queue), queue.next_due_ns(), queue.nominator.nodes().keys()]
    flight = queue.in_flight()
    seen.append([queue.park(queued, at(6), unschedulable_plugins=["Fit"]) for queued in flight])
    seen += [queue.flush_backoff(at(6)), queue.move(NODE_ADD, at(7), new=make_node("n3"))]
    for gated in queue.pods_in(QueueName.GATED):
        seen.append(queue.update(gated.pod, make_pod(gated.pod.metadata.name), at(8)))
    seen.append(queue.flush_unschedulable(at(1_000)))
    while (queued := queue.pop(at(1_001))) is not None:
        seen.append((queued.key, queued.attempts, queued.was_flushed, queued.initial_attempt_ns))
    queue.validate()
    metrics = vars(queue.metrics())
    return [*seen, metrics, [queue.story(f"default/{name}") for name in ("backoff", "gated")]]


def test_a_restored_queue_has_the_same_pods_in_the_same_places():
    queue = full_queue()
    found = contents(queue)
    assert {place.value: len(pods) for place, pods in found.items() if pods} == {
        "active": 1,
        "backoff": 1,
        "error_backoff": 1,
        "unschedulable": 1,
        "gated": 1,
        "in_flight": 2,
    }
    second = restored(queue)
    second.validate()
    assert contents(second) == found
    assert second.scheduling_cycle == queue.scheduling_cycle > 0
    assert vars(second.metrics()) == vars(queue.metrics())


def test_a_snapshot_counts_the_entries_and_the_attempts_of_pods():
    queue, counts = empty_queue(), []

    def count():
        taken = queue.snapshot(Objects())
        counts.append((taken.entered_count, taken.scheduling_cycle))

    count()
    for name in ("a", "b"):
        queue.add(make_pod(name), at(0))
        count()
    queued = queue.pop(at(1))
    count()
    queue.park(queued, at(1), unschedulable_plugins=["Fit"])
    count()
    second = restored(queue)
    second.add(make_pod("c"), at(2))
    queue = second
    count()
    assert counts == [(0, 0), (1, 0), (2, 0), (2, 1), (3, 1), (4, 1)]
    indexes = {each.key: each.entered_index for each in queue.pods_in(QueueName.ACTIVE)}
    assert indexes == {"default/b": 1, "default/c": 3}


def test_a_restored_queue_continues_as_the_original():
    assert run_on(restored(full_queue())) == run_on(full_queue())


def test_a_snapshot_of_a_queued_pod_has_every_field():
    queued = QueuedPod(make_pod("p"), 7, at(1))
    queued.place = QueueName.GATED
    queued.initial_attempt_ns = at(2)
    queued.attempts = 3
    queued.unschedulable_count = 4
    queued.consecutive_errors = 5
    queued.backoff_end_ns = at(6)
    queued.unschedulable_plugins = frozenset("hgfedcba")
    queued.pending_plugins = frozenset("hgfedcba")
    queued.gating_plugin = "SchedulingGates"
    queued.gating_reasons = ("gated",)
    queued.was_flushed = True
    objects = Objects()
    entry = queued_snapshot(queued, objects)
    assert entry.unschedulable_plugins == entry.pending_plugins == tuple("abcdefgh")
    again = queued_from(entry, queued.pod)
    again.place = queued.place
    assert queued_snapshot(again, objects) == entry


def test_the_events_kept_for_pods_in_flight_have_both_versions():
    before, after = make_node("before"), make_node("after")
    seen = []

    def hint(_pod, old, new):
        seen.append((old, new))
        return Hint.SKIP

    hints = {"default-scheduler": HintTable({"Fit": (EventHint(NODE, ActionType.ALL, hint),)})}
    queue = make_queue(hints=hints)
    queue.add(make_pod("flight"), at(0))
    queue.pop(at(0))
    for old, new in [(None, before), (before, after), (after, None)]:
        queue.move(NODE_LABEL, at(1), old=old, new=new)
    second = restored(queue, make_queue(hints=hints))
    (queued,) = second.in_flight()
    second.park(queued, at(2), unschedulable_plugins=["Fit"])
    assert seen == [(None, before), (before, after), (after, None)]


def test_a_restored_pod_in_flight_has_the_events_since_it_was_popped():
    seen = []

    def hint(_pod, _old, new):
        seen.append(new.metadata.name)
        return Hint.SKIP

    hints = {"default-scheduler": HintTable({"Fit": (EventHint(NODE, ActionType.ALL, hint),)})}
    queue = make_queue(hints=hints)
    flights = []
    for name in ("first", "second", "third"):
        queue.add(make_pod(name), at(0))
        flights.append(queue.pop(at(0)))
        queue.move(NODE_ADD, at(1), new=make_node(f"after-{name}"))
    # The first event is dropped.
    queue.done(flights[0], at(2))
    second = restored(queue, make_queue(hints=hints))
    for queued in second.in_flight():
        second.park(queued, at(2), unschedulable_plugins=["Fit"])
    assert seen == ["after-second", "after-third", "after-third"]


def test_pods_of_one_time_leave_the_unschedulable_set_in_order_of_entry():
    queue = empty_queue()
    for name in ("c", "a", "b"):
        queue.add(make_pod(name), at(0))
    for queued in [queue.pop(at(0)) for _ in range(3)]:
        queue.park(queued, at(0), unschedulable_plugins=["Label"])
    oldest = queue._subqueues.unschedulable._by_age
    assert [queued.pod.metadata.name for queued in oldest.ordered()] == ["c", "a", "b"]


def test_a_pod_that_comes_after_a_restore_is_behind_those_of_its_time():
    queue = empty_queue()
    for name in "zy":
        queue.add(make_pod(name), at(0))
    second = restored(queue)
    second.add(make_pod("a"), at(0))
    assert names(second.pods_in(QueueName.ACTIVE)) == ["z", "y", "a"]


def test_validate_finds_a_wrong_count_of_gated_pods():
    queue = full_queue()
    queue._subqueues.unschedulable.gated_count += 1
    with pytest.raises(AssertionError, match=r"\(1, 2\)"):
        queue.validate()


@pytest.mark.parametrize("place", ["active", "regular", "errors"])
def test_validate_finds_a_wrong_count_of_a_heap(place):
    queue = full_queue()
    subqueues = queue._subqueues
    heap = subqueues.active if place == "active" else getattr(subqueues.backoff, place)
    heap._count += 1
    with pytest.raises(AssertionError, match="2"):
        queue.validate()


def test_a_snapshot_says_which_pods_can_time_out():
    queue, objects = full_queue(), Objects()
    apart = queue.snapshot(objects).apart
    found = {objects.entries[wait.queued].pod.metadata.name: wait.can_time_out for wait in apart}
    assert found == {"unschedulable": True, "gated": False}


def test_validate_finds_a_pod_in_flight_with_another_place():
    queue = full_queue()
    queue.in_flight()[0].place = QueueName.ACTIVE
    with pytest.raises(AssertionError, match="flight-a"):
        queue.validate()


@pytest.mark.parametrize("events", [(NODE_ADD, NODE_LABEL), (NODE_LABEL, NODE_ADD)])
def test_the_executions_of_hints_are_kept_in_one_order(events):
    queue = empty_queue()
    queue.add(make_pod("p"), at(0))
    queue.park(queue.pop(at(0)), at(0), unschedulable_plugins=["Later", "Label"])
    for event in events:
        queue.move(event, at(1), old=make_node("n0"), new=make_node("n1"))
    assert [execution[1:] for execution in queue.snapshot(Objects()).executions] == [
        ("Label", "NodeUpdateNodeLabel", "QueueSkip", 1),
        ("Later", "NodeAdd", "QueueSkip", 1),
    ]


def test_executions_of_a_profile_that_is_gone_are_left_out():
    queue = empty_queue()
    queue.add(make_pod("p"), at(0))
    queue.park(queue.pop(at(0)), at(0), unschedulable_plugins=["Later"])
    queue.move(NODE_ADD, at(1), new=make_node("n"))
    (execution,) = queue.snapshot(Objects()).executions
    labels = execution[1:4]
    assert restored(queue).metrics().queueing_hint_executions_total == {labels: 1}
    other = restored(queue, make_queue(hints={"other": table()}))
    assert other.metrics().queueing_hint_executions_total == {}
    assert contents(other) == contents(queue)

"""Binding cycles that fail: who is woken, and whom a pod of the same name concerns."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from podwright.apimachinery.objects import Duration, Pod, with_fields, with_node_name
from podwright.scheduler.columns.nodes import CPU, PODS
from podwright.scheduler.columns.tests.storage_objects import claim
from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.framework.binding import CallError, ClaimUpdate, Pending, Progress
from podwright.scheduler.framework.events import POD, ActionType, EventHint, Hint
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    Event,
    ObjectDeleted,
    ObjectPut,
    PatchPodStatus,
    PodAllowed,
    PodRejected,
    TimerFired,
    UpdateClaim,
)
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, enabling, pending
from podwright.testing import make_node


class Gate(Plugin):
    """Hold every pod; a pod that goes may help one that was refused."""

    name = "Gate"

    def events_to_register(self) -> tuple[EventHint, ...]:
        return (EventHint(POD, ActionType.DELETE),)

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        return Status.wait("a minute"), "1m"


class Refusing(Plugin):
    """Refuse in PreBind, which records no rejecting plugin."""

    name = "Refusing"

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status:
        return Status.unschedulable("not here")


def requested(driver: Driver, name: str) -> tuple[int, int]:
    """Return milli-CPU requested on a node, and the number of its pods."""
    nodes = driver.machine.cluster.nodes
    row = nodes.requested[nodes.slot_of[name]]
    return int(row[CPU]), int(row[PODS])


def places(driver: Driver, *names: str) -> list[str]:
    return [driver.place_of(f"default/{name}") for name in names]


def refuse(driver: Driver, name: str) -> None:
    """Refuse a waiting pod; its nomination stays, as the end of one is news of its own."""
    driver.holds.add("PatchPodStatus")
    driver.deliver(PodRejected(name, "Gate", "no"))


def full_with(*plugins: type[Plugin], extra: int = 1, **options: Any) -> Driver:
    """Return one node of 1 CPU, `a` on its way to it, and others that did not fit."""
    driver = Driver(*plugins, **options)
    driver.holds.add("Bind")
    driver.put(make_node("n1", cpu="1"), pending("a", cpu="1"))
    driver.cycle()
    for i in range(extra):
        driver.put(pending(f"b{i}", cpu="1"))
        driver.cycle()
        assert places(driver, f"b{i}") == ["unschedulable"]
    driver.now_ns += 30 * SECOND_NS
    return driver


# -------------------------------------------------------------------- who is woken


@pytest.mark.parametrize("times_out", [False, True])
def test_a_refused_pod_is_not_woken_by_its_own_departure_but_others_are(times_out: bool):
    driver = full_with(Gate, extra=2)
    if times_out:
        driver.holds.add("PatchPodStatus")
        driver.now_ns += 60 * SECOND_NS
        driver.deliver(TimerFired())
    else:
        refuse(driver, "default/a")
    assert requested(driver, "n1") == (0, 0)
    assert driver.machine.assumed() == {}
    assert places(driver, "a", "b0", "b1") == ["unschedulable", "active", "active"]


def test_a_refused_pod_is_woken_by_the_departure_of_another_one():
    driver = Driver(Gate)
    driver.put(make_node("n1", cpu="2"), pending("a", cpu="1"))
    driver.cycle()
    refuse(driver, "default/a")
    assert places(driver, "a") == ["unschedulable"]
    driver.holds.clear()
    driver.put(pending("b", cpu="1"))
    driver.cycle()
    refuse(driver, "default/b")
    assert places(driver, "a", "b") == ["backoff", "unschedulable"]


def test_two_waiting_pods_are_each_helped_by_the_departure_of_the_other():
    # The first leaves while the second is in flight, which is an event for it, too.
    driver = Driver(Gate)
    driver.put(make_node("n1", cpu="2"), pending("a", cpu="1"), pending("b", cpu="1"))
    driver.cycle()
    driver.cycle()
    refuse(driver, "default/a")
    assert places(driver, "a") == ["unschedulable"]
    refuse(driver, "default/b")
    assert places(driver, "a", "b") == ["backoff", "backoff"]


def test_pods_of_the_same_name_elsewhere_are_woken():
    # The exception is for the pod itself, not for its namesake in another namespace.
    driver = full_with(Gate, extra=0)
    other = with_fields(pending("a", cpu="1"), "metadata", namespace="elsewhere", uid="else")
    driver.put(other)
    driver.cycle()
    assert driver.place_of("elsewhere/a") == "unschedulable"
    driver.now_ns += 10 * SECOND_NS
    refuse(driver, "default/a")
    assert driver.place_of("elsewhere/a") == "active"
    assert driver.place_of("default/a") == "unschedulable"


def test_a_binding_that_fails_wakes_others_and_waits_as_after_an_error():
    driver = full_with(extra=2)
    (bind,) = driver.all_of(Bind)
    driver.deliver(CallDone(bind.call, CallError("conflict")))
    assert places(driver, "a", "b0", "b1") == ["error_backoff", "active", "active"]
    assert requested(driver, "n1") == (0, 0)


def test_a_refusal_in_pre_bind_wakes_others_and_waits_as_after_an_error():
    driver = Driver(Refusing)
    driver.put(make_node("n1", cpu="1"), make_node("n2", cpu="1"))
    driver.put(pending("big", cpu="2"))
    driver.cycle()
    driver.now_ns += 10 * SECOND_NS
    driver.put(pending("a", cpu="1"))
    driver.cycle()
    assert places(driver, "a") == ["error_backoff"]
    assert driver.condition("default/a")[0] == "Unschedulable"
    assert requested(driver, "n1") == requested(driver, "n2") == (0, 0)


@pytest.mark.parametrize("how", ["fails", "deleted", "terminates"])
def test_hints_see_the_pod_that_left_with_its_node_and_the_room_that_it_left(how: str):
    seen: list[tuple[str, str, int, int]] = []
    drivers: list[Driver] = []

    class Looking(Plugin):
        name = "Looking"

        def filter(self, cycle: Cycle, node: Any) -> Status:
            if cycle.pod.metadata.name == "b":
                return Status.unschedulable("waits for room")
            return Status.OK

        def events_to_register(self) -> tuple[EventHint, ...]:
            return (EventHint(POD, ActionType.DELETE, self.after_delete),)

        def after_delete(self, pod: Pod, old: Any, new: Any) -> Hint:
            driver = drivers[0]
            room = requested(driver, "n1")
            seen.append((old.metadata.name, old.spec.node_name, *room))
            return Hint.QUEUE

    driver = Driver(Looking)
    drivers.append(driver)
    driver.holds.add("Bind")
    driver.put(make_node("n1", cpu="1"), pending("a", cpu="1"), pending("b"))
    driver.cycle()
    driver.cycle()
    assert places(driver, "b") == ["unschedulable"]
    (bind,) = driver.all_of(Bind)
    pod = driver.machine.pod("default/a")
    assert pod is not None
    if how == "fails":
        driver.deliver(CallDone(bind.call, CallError("conflict")))
    elif how == "deleted":
        driver.remove(pod)
    else:
        when = "2026-01-01T00:00:00Z"
        driver.put(with_fields(pod, "metadata", deletion_timestamp=when))
    assert seen == [("a", "n1", 0, 0)]


def test_a_pod_that_is_deleted_with_its_bind_call_in_flight_wakes_others():
    driver = full_with(extra=2)
    pod = driver.machine.pod("default/a")
    assert pod is not None
    driver.remove(pod)
    assert places(driver, "a", "b0", "b1") == ["", "active", "active"]


def test_a_pod_whose_binding_is_only_seen_when_it_is_deleted_counts_no_more():
    driver = full_with(extra=1)
    pod = driver.machine.pod("default/a")
    assert pod is not None
    driver.remove(with_node_name(pod, "n1"))
    assert driver.machine.assumed() == {}
    assert requested(driver, "n1") == (0, 0)
    assert places(driver, "a", "b0") == ["", "active"]


def test_a_waiting_pod_that_is_deleted_leaves_the_queue():
    driver = full_with(extra=2)
    pod = driver.machine.pod("default/b0")
    assert pod is not None
    driver.remove(pod)
    assert places(driver, "b0", "b1") == ["", "unschedulable"]
    assert len(driver.machine.queue) == 1


# -------------------------------------------------------------------- what is said


class Binder(Plugin):
    """Bind nothing, in the way that a test sets."""

    name = "Binder"
    answer: ClassVar[Status] = Status.OK

    def bind(self, cycle: Cycle, node_name: str) -> Status:
        return self.answer


@pytest.mark.parametrize(
    ("answer", "condition"),
    [
        pytest.param(
            Status.error("no"),
            ("SchedulerError", 'running Bind plugin "Binder": no'),
            id="an error names the plugin",
        ),
        pytest.param(Status.unschedulable("no"), ("Unschedulable", "no"), id="a refusal does not"),
        pytest.param(
            Status.skip(),
            ("SchedulerError", "every Bind plugin skipped the pod"),
            id="nor does it if no plugin bound",
        ),
    ],
)
def test_the_condition_says_why_a_pod_was_not_bound(
    answer: Status, condition: tuple[str, str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Binder, "answer", answer)
    config = enabling([Binder])
    config["profiles"][0]["plugins"]["bind"] = {"disabled": [{"name": "DefaultBinder"}]}
    driver = Driver(Binder, config=config)
    driver.put(make_node("n1", cpu="1"), pending("a", cpu="1"))
    driver.cycle()
    assert driver.condition("default/a") == condition
    assert places(driver, "a") == ["error_backoff"]


# -------------------------------------------------------------------- a successor of that name


def successor(name: str = "a", **fields: Any) -> Pod:
    return with_fields(pending(name, **fields), "metadata", uid="another")


def deliver(driver: Driver, *events: Event) -> None:
    for event in events:
        driver.deliver(event)


def waiting_at_permit() -> Driver:
    driver = Driver(Gate)
    driver.put(make_node("n1", cpu="1"), make_node("n2", cpu="2"))
    driver.put(pending("a", cpu="1", node_selector={"kubernetes.io/hostname": "n1"}))
    driver.cycle()
    assert requested(driver, "n1") == (1_000, 1)
    # A patch of the forerunner would bring news of the successor.
    driver.holds.add("PatchPodStatus")
    return driver


def test_a_successor_that_is_bound_already_counts_where_it_is():
    driver = waiting_at_permit()
    driver.put(with_node_name(successor(cpu="1500m"), "n2"))
    assert requested(driver, "n1") == (0, 0)
    assert requested(driver, "n2") == (1_500, 1)
    assert driver.machine.assumed() == {}
    assert driver.machine.waiting() == {}
    assert list(driver.machine.cluster.pods) == ["default/a"]


def test_a_successor_on_the_same_node_counts_once():
    driver = waiting_at_permit()
    driver.put(with_node_name(successor(cpu="300m"), "n1"))
    assert requested(driver, "n1") == (300, 1)


def test_a_successor_on_a_node_that_is_not_known_yet_counts_when_it_is():
    driver = waiting_at_permit()
    driver.put(with_node_name(successor(cpu="1500m"), "n9"))
    assert requested(driver, "n1") == (0, 0)
    driver.put(make_node("n9", cpu="2"))
    assert requested(driver, "n9") == (1_500, 1)


def test_a_pod_whose_node_is_gone_does_not_come_back_after_it_failed():
    driver = waiting_at_permit()
    driver.remove(make_node("n1"))
    driver.deliver(PodRejected("default/a", "Gate", "no"))
    assert driver.machine.assumed() == {}
    driver.put(make_node("n1", cpu="1"))
    assert requested(driver, "n1") == (0, 0)


def test_a_successor_that_is_pending_is_queued_and_the_forerunner_is_not():
    driver = waiting_at_permit()
    driver.put(successor(cpu="1"))
    assert requested(driver, "n1") == (0, 0)
    queued = driver.machine.queue.get("default/a")
    assert queued is not None
    assert (queued.uid, queued.place.value, queued.attempts) == ("another", "active", 0)


def binding_in_flight(*, node: str = "n1") -> tuple[Driver, Bind]:
    """Return `a` with its Bind call in flight, deleted meanwhile."""
    driver = Driver()
    driver.holds.add("Bind")
    driver.put(make_node(node, cpu="1"), pending("a", cpu="1"))
    driver.cycle()
    (bind,) = driver.all_of(Bind)
    pod = driver.machine.pod("default/a")
    assert pod is not None
    driver.remove(pod)
    assert requested(driver, node) == (0, 0)
    assert driver.machine.assumed() == {}
    return driver, bind


FAILURES = [
    pytest.param(CallError("gone", "NotFound"), id="not found"),
    pytest.param(CallError("conflict"), id="conflict"),
]


@pytest.mark.parametrize("error", FAILURES)
def test_a_successor_that_is_assumed_stays_so_when_the_old_binding_fails(error: CallError):
    driver, bind = binding_in_flight()
    driver.put(successor(cpu="1"))
    driver.cycle()
    second = driver.all_of(Bind)[1]
    assert second.uid == "another"
    driver.deliver(CallDone(bind.call, error))
    assert requested(driver, "n1") == (1_000, 1)
    assert driver.machine.assumed() == {"default/a": "n1"}
    driver.holds.clear()
    driver.answer(second)
    assert driver.node_of("default/a") == "n1"
    assert driver.machine.assumed() == {}
    assert requested(driver, "n1") == (1_000, 1)
    driver.put(pending("b", cpu="1"))
    driver.cycle()
    assert places(driver, "b") == ["unschedulable"]


@pytest.mark.parametrize("error", FAILURES)
def test_a_successor_that_is_bound_stays_so_when_the_old_binding_fails(error: CallError):
    driver, bind = binding_in_flight()
    driver.put(with_node_name(successor(cpu="500m"), "n1"))
    driver.deliver(CallDone(bind.call, error))
    assert requested(driver, "n1") == (500, 1)
    assert places(driver, "a") == [""]


@pytest.mark.parametrize("error", FAILURES)
def test_a_successor_that_waits_keeps_its_place_when_the_old_binding_fails(error: CallError):
    driver, bind = binding_in_flight()
    driver.put(successor(cpu="2"))
    driver.cycle()
    assert places(driver, "a") == ["unschedulable"]
    driver.now_ns += 10 * SECOND_NS
    driver.deliver(CallDone(bind.call, error))
    queued = driver.machine.queue.get("default/a")
    assert queued is not None
    assert (queued.uid, queued.unschedulable_count, queued.consecutive_errors) == ("another", 1, 0)
    assert len(driver.machine.queue) == 1


@pytest.mark.parametrize("error", FAILURES)
def test_a_deleted_pod_is_not_queued_again_and_others_learn_of_the_room_again(error: CallError):
    driver, bind = binding_in_flight()
    driver.put(pending("b", cpu="2"))
    driver.cycle()
    driver.now_ns += 10 * SECOND_NS
    assert places(driver, "b") == ["unschedulable"]
    driver.deliver(CallDone(bind.call, error))
    assert places(driver, "a", "b") == ["", "active"]
    assert len(driver.machine.queue) == 1


@pytest.mark.parametrize("error", FAILURES)
def test_others_learn_of_the_room_although_a_successor_has_come(error: CallError):
    driver, bind = binding_in_flight()
    driver.put(with_node_name(successor(cpu="500m"), "n1"))
    driver.put(pending("b", cpu="1"))
    driver.cycle()
    driver.now_ns += 10 * SECOND_NS
    assert places(driver, "b") == ["unschedulable"]
    driver.deliver(CallDone(bind.call, error))
    assert places(driver, "b") == ["active"]


def test_the_old_binding_s_success_does_not_make_the_successor_bound():
    driver, bind = binding_in_flight()
    driver.put(successor(cpu="1"))
    driver.cycle()
    driver.deliver(CallDone(bind.call))
    assert driver.machine.assumed() == {"default/a": "n1"}
    assert requested(driver, "n1") == (1_000, 1)


def test_a_pod_that_is_seen_bound_elsewhere_counts_there_and_its_binding_s_failure_is_ignored():
    driver = Driver()
    driver.holds.add("Bind")
    driver.put(make_node("n1", cpu="1"), pending("a", cpu="1"))
    driver.cycle()
    driver.put(make_node("n2", cpu="1"), pending("b", cpu="2"))
    driver.cycle()
    (bind,) = driver.all_of(Bind)
    pod = driver.machine.pod("default/a")
    assert pod is not None
    driver.put(with_node_name(pod, "n2"))
    driver.now_ns += 10 * SECOND_NS
    before = places(driver, "b")
    driver.deliver(CallDone(bind.call, CallError("conflict")))
    assert (requested(driver, "n1"), requested(driver, "n2")) == ((0, 0), (1_000, 1))
    assert places(driver, "a", "b") == ["", *before]


def test_news_of_a_forerunner_s_deletion_does_not_touch_the_successor():
    driver = Driver()
    first = pending("a", cpu="1")
    driver.put(make_node("n1", cpu="2"), first)
    deliver(driver, ObjectPut(with_node_name(successor(cpu="1"), "n1")), ObjectDeleted(first))
    assert requested(driver, "n1") == (1_000, 1)
    assert driver.machine.pod("default/a") is not None


# -------------------------------------------------------------------- on the way


def test_an_attempt_is_over_for_the_queue_when_the_pod_is_past_permit():
    driver = Driver(Gate)
    driver.holds.add("Bind")
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    queue = driver.machine.queue
    assert [queued.key for queued in queue.in_flight()] == ["default/a"]
    driver.deliver(PodAllowed("default/a", "Gate"))
    assert len(driver.all_of(Bind)) == 1
    assert queue.in_flight() == []
    assert driver.machine.waiting() == {}


def test_a_pod_whose_bind_call_is_in_flight_is_preempted_by_the_api_server():
    driver = full_with(extra=0)
    driver.holds.add("PatchPodStatus")
    driver.put(pending("high", cpu="1", priority=10))
    driver.cycle()
    patches = [patch for patch in driver.all_of(PatchPodStatus) if patch.condition is not None]
    assert [(patch.pod, patch.condition.type) for patch in patches if patch.condition][-1] == (
        "default/a",
        "DisruptionTarget",
    )
    assert driver.machine.assumed() == {"default/a": "n1"}


def test_answers_for_a_pod_that_was_preempted_before_its_binding_are_ignored():
    # Upstream: pkg/scheduler/framework/preemption/executor.go, actuatePodPreemption
    Two.answers.clear()
    driver = Driver(Two)
    driver.put(make_node("n1", cpu="1"), pending("a", cpu="1"))
    driver.cycle()
    calls = driver.all_of(UpdateClaim)
    driver.put(pending("high", cpu="1", priority=10))
    driver.cycle()
    assert driver.machine.assumed() == {}
    assert driver.place_of("default/a") != ""
    for call in calls:
        driver.deliver(CallDone(call.call))
    assert Two.answers == []


class Two(Plugin):
    """Make two calls before binding, and look at both answers."""

    name = "Two"
    answers: ClassVar[list[list[str]]] = []

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        return Pending(calls=(ClaimUpdate(claim("one")), ClaimUpdate(claim("two"))))

    def continue_pre_bind(
        self, cycle: Cycle, node_name: str, progress: Progress
    ) -> Status | Pending:
        errors = [answer.error.message if answer.error else "" for answer in progress.answers]
        self.answers.append(errors)
        return Status.OK


@pytest.mark.parametrize("first", [0, 1])
def test_a_plugin_is_asked_again_when_all_its_calls_are_answered(first: int):
    Two.answers.clear()
    driver = Driver(Two)
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    calls = driver.all_of(UpdateClaim)
    assert len(calls) == 2
    driver.deliver(CallDone(calls[first].call, CallError(f"no {first}")))
    assert Two.answers == []
    driver.deliver(CallDone(calls[1 - first].call))
    assert Two.answers == [["no 0", ""] if first == 0 else ["", "no 1"]]
    assert driver.node_of("default/a") == "n1"

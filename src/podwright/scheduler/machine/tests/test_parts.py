"""Timers, waiting pods, and the texts for users."""

from __future__ import annotations

from typing import Any, ClassVar, get_args

import pytest

from podwright.apimachinery.objects import Pod, with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework import EXTENDER, Plugin, Profile
from podwright.scheduler.framework.events import NODE, ActionType, ClusterEvent
from podwright.scheduler.framework.status import Code
from podwright.scheduler.machine import Action, Bind, EmitEvent, Event
from podwright.scheduler.machine.cycles.waiting import WaitingPod
from podwright.scheduler.machine.event_handlers import changes_selector
from podwright.scheduler.machine.profiles import SortOrder, hint_table
from podwright.scheduler.machine.reporting import shorten
from podwright.scheduler.machine.state import Timers
from podwright.scheduler.machine.tests.driving import Driver, pending
from podwright.testing import make_node, make_pod

SECOND_NS = 1_000_000_000


def test_timers_fire_in_order_of_time_and_then_of_making():
    timers = Timers()
    timers.add(20, 1, "u1")
    timers.add(10, 2, "u2", "Gate")
    timers.add(10, 3, "u3")
    timers.add(30, 4, "u4")
    assert timers.next_due_ns() == 10
    assert timers.pop_due(9) is None
    fired = [timers.pop_due(30) for _ in range(4)]
    assert [timer.number for timer in fired if timer is not None] == [2, 3, 1, 4]
    assert not timers.heap
    assert timers.next_due_ns() is None


def test_timers_that_are_restored_are_followed_by_those_with_higher_numbers():
    timers, again = Timers(), Timers()
    for due_ns in (30, 10, 20):
        timers.add(due_ns, 1, "u")
    assert timers.pop_due(10) is not None
    again.restore(*timers.snapshot())
    assert again.snapshot() == timers.snapshot()
    assert again.add(5, 2, "v") == timers.add(5, 2, "v") == 4
    assert again.next_due_ns() == 5


def waiting(**pending: int) -> WaitingPod:
    return WaitingPod(1, "default/a", "u1", {name: n * SECOND_NS for name, n in pending.items()})


def test_the_last_plugin_that_allows_decides():
    pod = waiting(Gate=1, Check=2)
    assert not pod.allow("Gate")
    assert pod.allow("Check")
    assert pod.verdict is not None
    assert pod.verdict.is_success


def test_what_comes_after_the_decision_is_ignored():
    pod = waiting(Gate=1)
    assert pod.allow("Gate")
    assert not pod.reject("Gate", "too late")
    assert not pod.preempt("DefaultPreemption")
    assert not pod.time_out("Gate")


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        pytest.param(1, "1s", id="seconds"),
        pytest.param(90, "1m30s", id="minutes"),
        pytest.param(900, "15m0s", id="the longest wait"),
    ],
)
def test_the_message_of_a_timeout_has_the_duration_and_the_plugin(
    seconds: int, expected: str
) -> None:
    pod = waiting(Gate=seconds)
    assert pod.time_out("Gate")
    assert pod.verdict is not None
    assert pod.verdict.code == Code.UNSCHEDULABLE
    assert pod.verdict.plugin == "Gate"
    assert pod.verdict.message == f"rejected due to timeout after waiting {expected} at plugin Gate"


def test_a_plugin_that_has_allowed_the_pod_does_not_time_out():
    pod = waiting(Gate=1, Check=2)
    pod.allow("Gate")
    assert not pod.time_out("Gate")


@pytest.mark.parametrize(
    ("note", "cut"),
    [
        pytest.param("a" * 1024, "a" * 1024, id="1,024 bytes are allowed"),
        pytest.param("a" * 1025, "a" * 1020 + " ...", id="one more is cut to 1,020 and dots"),
        pytest.param("é" * 600, "é" * 510 + " ...", id="bytes count, not characters"),
    ],
)
def test_long_notes_are_cut(note: str, cut: str) -> None:
    assert shorten(note) == cut


class ByKeys(Plugin):
    """Sort pods by the keys that a test sets."""

    name = "ByKeys"

    def __init__(self, *keys: object) -> None:
        self.keys = list(keys)

    def queue_sort_key(self, pod: Pod, timestamp_ns: int) -> Any:
        key = self.keys.pop(0)
        if isinstance(key, Exception):
            raise key
        return key


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param(3, (0, 3), id="a key like the first"),
        pytest.param(0, (0, 0), id="any of its type"),
        pytest.param(1.5, (0, 1.5), id="numbers are comparable"),
        pytest.param(float("nan"), (1, 0), id="not a number comes last"),
        pytest.param("3", (1, 0), id="another type comes last"),
        pytest.param([3], (1, 0), id="a list comes last"),
        pytest.param(ValueError("no"), (1, 0), id="an exception comes last"),
    ],
)
def test_a_pod_whose_sort_key_is_invalid_comes_last(key: object, expected: object) -> None:
    order = SortOrder(ByKeys(1, key))
    assert order.key_of(make_pod("a"), 0) == (0, 1)
    assert order.key_of(make_pod("b"), 0) == expected


NOT_A_NUMBER = float("nan")


class Number(int):
    """A type of its own, which compares as its base does."""


@pytest.mark.parametrize(
    ("first", "key", "is_comparable"),
    [
        pytest.param(1.5, 2, True, id="numbers of two types"),
        pytest.param(1, True, True, id="a boolean is a number"),
        pytest.param(1, Number(2), True, id="a number of a type of its own"),
        pytest.param("a", "b", True, id="texts"),
        pytest.param("a", b"b", False, id="text and bytes"),
        pytest.param(None, 1, True, id="what cannot be compared with itself is never the first"),
        pytest.param(NOT_A_NUMBER, "a", True, id="neither is what is not a number"),
        pytest.param((1, "a"), (2, "b"), True, id="tuples"),
        pytest.param((1, "a"), (2, 3), False, id="tuples that differ behind what decides"),
        pytest.param((1, "a"), ("b", "a"), False, id="tuples that differ in the first place"),
        pytest.param((1, "a"), (2, NOT_A_NUMBER), False, id="another type, and not a number"),
        pytest.param((1, 2), (2, NOT_A_NUMBER), False, id="not a number inside a tuple"),
        pytest.param((1, (2, "a")), (1, (2, "b")), True, id="tuples of tuples"),
        pytest.param((1, (2, "a")), (1, (2, 3)), False, id="tuples that differ inside another"),
        pytest.param((1,), (1, "a"), True, id="a longer tuple"),
        pytest.param((1, "a"), (1,), True, id="a shorter tuple"),
        pytest.param((1,), 1, False, id="a tuple and what it has"),
        pytest.param(1, (1,), False, id="what a tuple has, and a tuple"),
    ],
)
def test_keys_are_comparable_at_every_depth(first: object, key: object, is_comparable: bool):
    order = SortOrder(ByKeys(first, key, first, key))
    order.check(make_pod("a"), 0)
    status = order.check(make_pod("b"), 0)
    assert status.is_success is is_comparable
    assert ("which cannot be sorted (pod default/b)" in status.message) is not is_comparable
    order = SortOrder(ByKeys(first, key, first, key))
    order.key_of(make_pod("a"), 0)
    assert order.key_of(make_pod("b"), 0) == ((0, key) if is_comparable else (1, 0))


def test_an_event_without_a_handler_is_an_error_of_the_driver():
    driver = Driver()
    with pytest.raises(AssertionError, match="no handler for"):
        driver.machine.handle("an event of another kind", 1)  # type: ignore[arg-type]


def replica_set(**fields: Any) -> Any:
    labels, spec = fields.get("labels", {}), {"selector": {"matchLabels": {"app": "a"}}}
    return decode(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "r", "namespace": "default", "labels": labels},
            "spec": spec | fields.get("spec", {}),
            "status": {"replicas": fields.get("replicas", 0)},
        }
    )


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        pytest.param(None, replica_set(), True, id="created"),
        pytest.param(replica_set(), None, True, id="deleted"),
        pytest.param(replica_set(), replica_set(replicas=2), False, id="only its status"),
        pytest.param(replica_set(), replica_set(spec={"replicas": 2}), True, id="its spec"),
        pytest.param(replica_set(), replica_set(labels={"a": "b"}), True, id="its labels"),
    ],
)
def test_of_owners_of_pods_the_scheduler_receives_changes_of_more_than_the_status(
    old: Any, new: Any, changes: bool
):
    assert changes_selector(old, new) is changes


@pytest.mark.parametrize(
    ("union", "is_array"), [pytest.param(Event, False, id="events"), (Action, True)]
)
def test_events_and_actions_are_values_that_say_their_kind_when_they_are_written(
    union: Any, is_array: bool
) -> None:
    for kind in get_args(union):
        config = kind.__struct_config__
        assert config.frozen, kind
        assert (config.tag, config.tag_field) == (kind.__name__, "kind")
        assert config.array_like is is_array, kind


def test_calls_are_numbered_from_one_on() -> None:
    driver = Driver()
    driver.put(make_node("n1"), *(pending(name) for name in "abc"))
    for _ in range(3):
        driver.cycle()
    assert [(bind.pod, bind.call) for bind in driver.all_of(Bind)] == [
        ("default/a", 1),
        ("default/b", 2),
        ("default/c", 3),
    ]


def test_every_event_may_change_the_answers_of_extenders_where_there_are_some() -> None:
    event = ClusterEvent(NODE, ActionType.ADD)
    profile = Profile(scheduler_name="s")
    found = [
        hint_table(profile).registered(event).functions_of,
        hint_table(profile, has_extenders=False).registered(event).functions_of,
        hint_table(profile, has_extenders=True).registered(event).functions_of,
    ]
    assert [[*functions] for functions in found] == [[], [], [EXTENDER]]


@pytest.mark.parametrize(
    "others",
    [
        pytest.param([make_pod("b", node="n1")], id="behind a pod with a node"),
        pytest.param([make_pod("b", scheduler="other")], id="behind one of another scheduler"),
        pytest.param([pending("b")], id="behind one that waits"),
        pytest.param([make_pod("b", node="n1"), pending("c")], id="behind several"),
    ],
)
def test_a_pod_that_is_lost_is_noticed_wherever_it_is(others: list[Pod]) -> None:
    driver, lost = Driver(), pending("a")
    driver.put(make_node("n1"), *others, lost)
    driver.machine.validate()
    driver.machine.queue.delete(lost, driver.now_ns)
    with pytest.raises(AssertionError, match="default/a is in 0 places"):
        driver.machine.validate()


@pytest.mark.parametrize(
    ("cpu", "reason"), [("1", "Scheduled"), pytest.param("99", "FailedScheduling", id="no room")]
)
def test_an_event_names_the_pod_and_its_uid(cpu: str, reason: str) -> None:
    driver = Driver()
    driver.put(make_node("n1"), with_fields(pending("a", cpu=cpu), "metadata", uid="u-7"))
    driver.cycle()
    (event,) = driver.all_of(EmitEvent)
    assert (event.pod, event.uid, event.reason) == ("default/a", "u-7", reason)


class Keyed(Plugin):
    """Sorts pods by keys that a test gives."""

    name = "Keyed"
    keys: ClassVar[list[Any]] = []

    def queue_sort_key(self, pod: Pod, timestamp_ns: int) -> Any:
        return self.keys.pop(0)


@pytest.mark.parametrize(
    ("first", "key", "is_good"),
    [
        pytest.param(1, 2, True, id="numbers"),
        pytest.param(1, 2.5, True, id="numbers of two types"),
        pytest.param(1, float("nan"), False, id="not a number"),
        pytest.param("a", "b", True, id="texts"),
        pytest.param("a", 1, False, id="a number among texts"),
        pytest.param(1, "a", False, id="a text among numbers"),
        pytest.param((1, "a"), (2, "b"), True, id="tuples"),
        pytest.param((1, "a"), ("a", 1), False, id="parts in another order"),
        pytest.param((1, "a"), (2, 3), False, id="another second part, which seldom decides"),
        pytest.param((1, "a"), (2,), True, id="a shorter tuple"),
        pytest.param((1,), (2, "a"), True, id="a longer tuple"),
        pytest.param((1, (2, "a")), (1, (2, "b")), True, id="tuples in tuples"),
        pytest.param((1, (2, "a")), (1, (2, 3)), False, id="another part inside"),
        pytest.param("a", ("a",), False, id="a tuple among texts"),
        pytest.param(("a",), "a", False, id="a text among tuples"),
        pytest.param((), "", False, id="an empty text among tuples"),
        pytest.param("", (), False, id="an empty tuple among texts"),
        pytest.param((1,), [1], False, id="a list"),
        pytest.param((1,), None, False, id="nothing"),
    ],
)
def test_keys_are_sorted_if_they_compare_with_the_first(
    first: Any, key: Any, is_good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Keyed, "keys", [first, key, key, first])
    order, pod = SortOrder(Keyed()), pending("a")
    assert order.check(pod, 0).is_success
    assert order.check(pod, 0).is_success == is_good
    # A key without a place in the order is the last one.
    assert order.key_of(pod, 0) == ((0, key) if is_good else (1, 0))
    assert order.key_of(pod, 0) == (0, first)

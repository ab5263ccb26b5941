"""The event heap: one order, and time that only goes on."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import LAST_NS
from podwright.simulation.world import Due, EventHeap, Turn


class Incomparable:
    """Says so when it is compared."""

    def __lt__(self, other: object) -> bool:
        raise AssertionError("events are never compared")

    __gt__ = __le__ = __ge__ = __lt__


def drained(heap: EventHeap[str]) -> list[str]:
    events = []
    while due := heap.pop():
        events.append(due.event)
    return events


@pytest.mark.parametrize(
    ("pushed", "order"),
    [
        pytest.param([(2, 0, "b"), (1, 9, "a")], "ab", id="time before turn"),
        pytest.param([(1, Turn.TIMER, "b"), (1, Turn.INPUT, "a")], "ab", id="turn before counter"),
        pytest.param([(1, 1, "a"), (1, 1, "b"), (1, 1, "c")], "abc", id="then as they were pushed"),
    ],
)
def test_what_is_due_comes_in_one_order(pushed, order):
    heap = EventHeap[str]()
    for due_ns, turn, event in pushed:
        heap.push(due_ns, turn, event)
    assert "".join(drained(heap)) == order


def test_turns_go_from_what_happens_to_what_follows():
    assert " ".join(turn.name for turn in sorted(Turn)) == (
        "INPUT STAGE CONTROLLER TIMER EXTENDER TIMED"
    )


def test_events_of_one_place_in_time_are_never_compared():
    heap = EventHeap[Incomparable]()
    for _ in range(50):
        heap.push(7, Turn.STAGE, Incomparable())
    assert [due.counter for due in heap.entries()] == list(range(50))
    assert [due.counter for _ in range(50) if (due := heap.pop())] == list(range(50))


def test_the_turn_that_is_due_is_that_of_the_next_event():
    heap = EventHeap[str](now_ns=10)
    first, *_, last = sorted(Turn)
    heap.push(10, last, "b")
    heap.push(10, first, "a")
    heap.push(11, last, "c")
    assert heap.due_turn == first
    heap.pop()
    assert heap.due_turn == last
    heap.pop()
    assert heap.due_turn is None, "it is due later"


def test_which_turns_a_heap_has():
    heap = EventHeap[str]()
    assert heap.has_only(Turn.INPUT)
    assert not heap.has_any(Turn.INPUT)
    for due_ns, turn in ((7, Turn.STAGE), (9, Turn.TIMER), (0, Turn.STAGE)):
        heap.push(due_ns, turn, "")
    assert [turn for turn in Turn if heap.has_any(turn)] == [Turn.STAGE, Turn.TIMER]
    assert heap.has_only(Turn.STAGE, Turn.TIMER, Turn.INPUT)
    assert not heap.has_only(Turn.STAGE)
    heap.pop()
    assert [turn for turn in Turn if heap.has_any(turn)] == [Turn.STAGE, Turn.TIMER]


def test_time_goes_where_the_heap_says_and_no_further():
    heap = EventHeap[str](now_ns=10)
    heap.push(30, Turn.STAGE, "later")
    assert heap.pop(until_ns=29) is None
    assert heap.now_ns == 10
    heap.advance(29)
    assert heap.now_ns == 29
    assert heap.pop(until_ns=30) == Due(30, Turn.STAGE, 0, "later")
    assert (heap.now_ns, heap.next_ns, len(heap)) == (30, None, 0)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        pytest.param(lambda heap: heap.push(9, 0, ""), "before now", id="a push into the past"),
        pytest.param(lambda heap: heap.advance(9), "would go back", id="an advance into the past"),
        pytest.param(lambda heap: heap.advance(21), "what is due at 20", id="an advance too far"),
    ],
)
def test_time_does_not_go_back(wrong, said):
    heap = EventHeap[str](now_ns=10)
    heap.push(20, 0, "due")
    with pytest.raises(AssertionError, match=said):
        wrong(heap)


def test_a_heap_goes_on_where_another_one_was():
    heap = EventHeap[str](now_ns=3)
    for due_ns, event in [(9, "c"), (5, "a"), (5, "b")]:
        heap.push(due_ns, Turn.STAGE, event)
    heap.pop()
    again = EventHeap.restore(heap.now_ns, heap.counter, heap.entries())
    assert again.push(5, Turn.STAGE, "new") == 3
    assert drained(again) == ["b", "new", "c"]


def test_two_entries_in_one_place_are_refused():
    with pytest.raises(AssertionError, match="one place"):
        EventHeap.restore(0, 9, [Due(1, 0, 4, "a"), Due(1, 0, 4, "b")])


def test_what_is_due_after_the_last_moment_never_happens():
    heap = EventHeap[str](now_ns=LAST_NS - 1)
    for due_ns in (LAST_NS, LAST_NS + 1):
        heap.push(due_ns, Turn.STAGE, str(due_ns))
    assert drained(heap) == [str(LAST_NS)]

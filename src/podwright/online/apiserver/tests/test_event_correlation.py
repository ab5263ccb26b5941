"""When Events of a component are combined, and which count as one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.online.apiserver.event_correlation import COMBINED, EventCorrelator
from podwright.simulation.world.observers import KubernetesEvent

TEN_MINUTES_NS = 600 * 10**9
EVENT = KubernetesEvent("Pod", "default/web", "Normal", "Pulled", "image", "kubelet")


def notes_of(*records: tuple[str, int], **fields: Any) -> list[str]:
    """Return the notes of Events as they are written; a combined one begins with a star."""
    correlator = EventCorrelator()
    found = []
    for note, at_ns in records:
        event = msgspec.structs.replace(EVENT, note=note, **fields)
        found.append(correlator.count(event, at_ns)[0].note.replace(COMBINED, "*"))
    return found


def different(count: int, at_ns: int = 0) -> list[tuple[str, int]]:
    return [(f"n{number}", at_ns) for number in range(count)]


def test_the_tenth_message_of_a_reason_and_each_further_one_is_combined():
    found = notes_of(*different(12), ("n11", 0), ("n9", 0))
    assert found == [f"n{number}" for number in range(9)] + ["*n9", "*n10", "*n11", "n11", "n9"]


def test_a_message_that_is_known_is_not_one_more():
    assert notes_of(*different(9), *different(9)) == [f"n{number}" for number in range(9)] * 2
    # The first message makes room for the tenth one: it is another one then.
    assert notes_of(*different(10), ("n0", 0))[-1] == "*n0"


@pytest.mark.parametrize(
    ("since_ns", "is_combined"),
    [(0, True), (TEN_MINUTES_NS - 1, True), (TEN_MINUTES_NS, True), (TEN_MINUTES_NS + 1, False)],
)
def test_messages_are_combined_until_ten_minutes_pass_without_any(since_ns, is_combined):
    assert notes_of(*different(9), ("last", since_ns))[-1] == ("*last" if is_combined else "last")
    # Any of them begins the ten minutes again.
    late = [(note, TEN_MINUTES_NS // 2) for note, _ in different(1)]
    last = notes_of(*different(9), *late, ("last", TEN_MINUTES_NS // 2 + since_ns))[-1]
    assert last == ("*last" if is_combined else "last")


@pytest.mark.parametrize(
    ("change", "is_similar"),
    [
        ({}, True),
        ({"host": "n2"}, False),
        ({"object_kind": "Node"}, False),
        ({"key": "default/db"}, False),
        ({"uid": "u"}, False),
        ({"group": "apps"}, False),
        ({"type": "Warning"}, False),
        ({"reason": "Created"}, False),
        ({"field_path": "spec.containers{a}"}, True),
    ],
)
def test_similar_events_are_those_of_one_component_object_type_and_reason(change, is_similar):
    correlator = EventCorrelator()
    for note, at_ns in different(9):
        correlator.count(msgspec.structs.replace(EVENT, note=note), at_ns)
    other = msgspec.structs.replace(EVENT, note="last", **change)
    written, _ = correlator.count(other, 0)
    assert written.note.startswith(COMBINED) is is_similar
    assert written == msgspec.structs.replace(other, note=written.note)


@pytest.mark.parametrize(
    ("change", "is_same"),
    [
        ({}, True),
        ({"note": "another"}, False),
        ({"field_path": "spec.containers{a}"}, False),
        ({"reason": "Created"}, False),
        ({"host": "n2"}, False),
    ],
)
def test_equal_events_have_one_count(change, is_same):
    correlator = EventCorrelator()
    first = correlator.count(EVENT, 0)[1]
    assert (first.count, first.path) == (1, "")
    first.path = "/events/web.1"
    second = correlator.count(msgspec.structs.replace(EVENT, **change), 5)[1]
    assert (second is first) is is_same
    assert (second.count, second.path) == ((2, "/events/web.1") if is_same else (1, ""))


def test_combined_events_have_one_count_whatever_their_messages():
    correlator = EventCorrelator()
    counted = [
        correlator.count(msgspec.structs.replace(EVENT, note=note), 0)[1]
        for note, _ in different(12)
    ]
    assert [each.count for each in counted] == [1] * 9 + [3] * 3
    assert len({id(each) for each in counted}) == 10

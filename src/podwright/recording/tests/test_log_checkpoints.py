"""Which objects a checkpoint has, and which it leaves to those before it."""

from __future__ import annotations

import pytest

from podwright.machine import CycleDue, ObjectPut
from podwright.objects import with_node_name
from podwright.recording import decision_log
from podwright.recording.log_checkpoints import Chain, next_link
from podwright.recording.log_objects import Mentioned, ObjectWriter
from podwright.recording.record import record
from podwright.testing import make_node, make_pod

KNOWN = {number: make_pod(f"p{number}") for number in range(10)}


@pytest.mark.parametrize(
    ("chain", "new", "linked"),
    [
        pytest.param(None, range(10), Chain(0, 10, 12), id="the first is whole"),
        pytest.param(Chain(0, 8, 8), (8, 9), Chain(1, 10, 12), id="only what is new"),
        pytest.param(Chain(0, 8, 10), (), Chain(1, 8, 12), id="nothing is new"),
        pytest.param(Chain(3, 18, 8), (8, 9), Chain(4, 20, 12), id="half of it is mentioned"),
        pytest.param(Chain(3, 19, 8), range(10), Chain(0, 10, 12), id="less than half is"),
        pytest.param(Chain(14, 10, 8), (8, 9), Chain(15, 12, 12), id="fifteen are before it"),
        pytest.param(Chain(15, 10, 8), range(10), Chain(0, 10, 12), id="more would be"),
    ],
)
def test_a_checkpoint_has_what_those_before_it_have_not_or_all(chain, new, linked):
    found, objects = next_link(chain, KNOWN, object_count=12)
    assert found == linked
    assert list(objects) == list(new)


def test_a_checkpoint_of_nothing_is_whole():
    assert next_link(Chain(0, 8, 8), {}, object_count=8) == (Chain(0, 0, 8), {})


@pytest.mark.parametrize(
    ("node_count", "first"),
    [
        pytest.param(4, 20, id="few objects: as soon as may be"),
        pytest.param(10, 30, id="more: three events for each that there are by then"),
        pytest.param(20, 60, id="only once: it is not put off again for those that came since"),
    ],
)
def test_the_first_checkpoint_waits_for_as_many_events_as_its_objects_want(
    tmp_path, monkeypatch, node_count, first
):
    monkeypatch.setattr(decision_log, "CHECKPOINT_EVENTS", 20)
    monkeypatch.setattr(decision_log, "EVENTS_PER_OBJECT", 3)
    recorder = record(str(tmp_path))
    for number in range(node_count):
        recorder.handle(ObjectPut(make_node(f"n{number}")), number)
    for number in range(node_count, 20):
        recorder.handle(CycleDue(), number)
    for number in range(20, 71):
        recorder.handle(ObjectPut(make_node(f"n{number}")), number)
    recorder.log.close()
    assert recorder.log.checkpoints[0] == first


@pytest.mark.parametrize("together", [True, False], ids=["at once", "one by one"])
def test_a_version_that_was_replaced_while_objects_were_numbered_keeps_its_number(together):
    told = make_pod("p")
    assumed = with_node_name(told, "n")
    writer = ObjectWriter()
    number = writer.add(told)
    mentioned = Mentioned(writer)
    asked = [assumed, told, assumed]
    numbers = mentioned.of_all(asked) if together else [mentioned.of(pod) for pod in asked]
    assert numbers == [number + 1, number, number + 1]
    assert mentioned.of_all([told]) == [number]
    assert mentioned.objects == {number: told, number + 1: assumed}

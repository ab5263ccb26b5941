"""Which objects a checkpoint has, and which it leaves to those before it."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import with_node_name
from podwright.scheduler.machine import CycleDue, ObjectPut
from podwright.simulation.recording.log import decision_log
from podwright.simulation.recording.log.log_objects import ObjectWriter, ReferenceNumbers
from podwright.simulation.recording.log.memory_checkpoints import Chain, next_link
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.tests.recording import Recorded
from podwright.simulation.world.tests.quota import Quota
from podwright.testing import make_node, make_pod

KNOWN = {number: make_pod(f"p{number}") for number in range(10)}


@pytest.mark.parametrize(
    ("chain", "new", "linked"),
    [
        pytest.param(None, range(10), Chain(0, 10, 12), id="the first is full"),
        pytest.param(Chain(0, 8, 8), (8, 9), Chain(1, 10, 12), id="only new objects"),
        pytest.param(Chain(0, 8, 10), (), Chain(1, 8, 12), id="nothing is new"),
        pytest.param(
            Chain(3, 18, 8), (8, 9), Chain(4, 20, 12), id="half of the stored objects are known"
        ),
        pytest.param(Chain(3, 19, 8), range(10), Chain(0, 10, 12), id="less than half are known"),
        pytest.param(
            Chain(14, 10, 8), (8, 9), Chain(15, 12, 12), id="the fifteenth incremental one"
        ),
        pytest.param(Chain(15, 10, 8), range(10), Chain(0, 10, 12), id="after fifteen, a full one"),
    ],
)
def test_a_checkpoint_stores_new_objects_or_all(chain, new, linked):
    found, objects = next_link(chain, KNOWN, object_count=12)
    assert found == linked
    assert list(objects) == list(new)


def test_a_checkpoint_without_objects_is_full():
    assert next_link(Chain(0, 8, 8), {}, object_count=8) == (Chain(0, 0, 8), {})


@pytest.mark.parametrize(
    ("node_count", "first"),
    [
        pytest.param(4, 20, id="few objects: the minimum"),
        pytest.param(10, 30, id="more: three events for each object"),
        pytest.param(20, 60, id="later objects do not postpone it again"),
    ],
)
def test_the_first_checkpoint_is_due_by_the_number_of_objects(
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
def test_a_version_that_is_replaced_during_a_checkpoint_keeps_its_number(together):
    pod = make_pod("p")
    assumed = with_node_name(pod, "n")
    writer = ObjectWriter()
    number = writer.add(pod)
    references = ReferenceNumbers(writer)
    objects = [assumed, pod, assumed]
    numbers = references.of_all(objects) if together else [references.of(each) for each in objects]
    assert numbers == [number + 1, number, number + 1]
    assert references.of_all([pod]) == [number]
    assert references.objects == {number: pod, number + 1: assumed}


@pytest.mark.parametrize(("plugins", "names"), [((), ()), ((Quota,), (Quota.name,))])
def test_a_log_names_the_plugins_whose_state_its_checkpoints_lack(plugins, names):
    recorded = Recorded(*plugins)
    recorded.attempt(make_node("n1", cpu="64"), make_pod("web"))
    log, machine = recorded.run.log, recorded.run.machine
    assert (log.unrestorable, machine.unrestorable) == ((), names)
    for _ in range(2):
        assert log.checkpoint(machine)
        assert log.unrestorable == names
    assert log.copy().unrestorable == names

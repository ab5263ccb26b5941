"""A past cycle as a log of its own: it decides the same, and has no cycles but that one."""

from __future__ import annotations

import json

import pytest

from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.machine import CallExtender, ExtenderReplied
from podwright.simulation.recording.explanations.explain import find_cycle
from podwright.simulation.recording.folders.recorded_state import resume
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.saved_case import save_cycle
from podwright.simulation.recording.tests.recording import Recorded
from podwright.simulation.world.tests.quota import MOST, Quota
from podwright.testing import make_node, make_pod

EXTENDER = {"urlPrefix": "http://x", "filterVerb": "filter", "nodeCacheCapable": True}


@pytest.fixture
def saved(tmp_path):
    """Save the last cycle of a pod of a log, and open what was saved."""
    opened: list[DecisionLog] = []

    def saved(log, pod, *plugins):
        path = tmp_path / f"{len(opened)}"
        save_cycle(log, find_cycle(log, pod, plugins=plugins), path, plugins=plugins)
        opened.append(DecisionLog.open(path))
        return opened[-1]

    yield saved
    for log in opened:
        log.close()


def message_of(log, pod, *plugins):
    """Return the node of the last cycle of a pod, or why it has none, once it is confirmed."""
    past = find_cycle(log, pod, plugins=plugins)
    decision = past.explain().decision
    past.confirm()
    return decision.node or decision.message


def attempt_three(recorded):
    """Let pods `one` and `two` get node n1, which then has no room for `three`."""
    recorded.put(make_node("n1", cpu="2"))
    for name in ("one", "two", "three"):
        recorded.attempt(make_pod(name, cpu="1"))
    return recorded.run.log


def test_the_events_before_the_cycle_are_dropped_and_their_state_is_kept(saved):
    log = saved(attempt_three(Recorded()), "default/three")
    assert message_of(log, "default/three").startswith("0/1 nodes are available: 1 Insufficient")
    assert log.cycles_of("default/three") == [0]
    assert log.cycles_of("default/one") == []


def test_a_saved_cycle_can_be_saved_again(saved):
    log = saved(attempt_three(Recorded()), "default/three")
    again = saved(log, "default/three")
    assert message_of(again, "default/three") == message_of(log, "default/three")


def test_what_a_plugin_counted_is_repeated_from_the_first_event_on(saved):
    recorded = Recorded(Quota)
    recorded.put(make_node("n1", cpu="64"))
    names = [f"p{number}" for number in range(MOST + 1)]
    for name in names:
        recorded.attempt(make_pod(name))
    last = f"default/{names[-1]}"
    log = saved(recorded.run.log, last, Quota)
    assert message_of(log, last, Quota) == message_of(recorded.run.log, last, Quota)
    assert "the namespace has its share" in message_of(log, last, Quota)
    assert [len(log.cycles_of(f"default/{name}")) for name in names] == [1] * len(names)


def test_a_run_that_went_on_from_a_saved_cycle_is_saved_with_its_first_state(saved, tmp_path):
    recorded = Recorded(Quota)
    recorded.attempt(make_node("n1", cpu="64"), make_pod("p0"))
    first = find_cycle(recorded.run.log, "default/p0", plugins=[Quota])
    save_cycle(recorded.run.log, first, tmp_path / "begun", plugins=[Quota])
    recorded.run = resume(str(tmp_path / "begun"), plugins=[Quota])
    for number in range(1, MOST + 1):
        recorded.attempt(make_pod(f"p{number}"))
    recorded.run.log.flush()
    last = f"default/p{MOST}"
    assert "the namespace has its share" in message_of(recorded.run.log, last, Quota)
    log = saved(recorded.run.log, last, Quota)
    assert message_of(log, last, Quota) == message_of(recorded.run.log, last, Quota)
    recorded.run.log.close()


def test_a_cycle_that_waited_for_an_extender_ends_once(saved):
    recorded = Recorded(extenders=[EXTENDER])
    recorded.call_extender = lambda _: ExtenderReply(status=200, body=b'{"nodenames": ["n1"]}')
    recorded.put(make_node("n1"))
    recorded.attempt(make_pod("one"))
    recorded.holds = {"CallExtender"}
    recorded.attempt(make_pod("two"))
    recorded.put(make_node("n2"))
    (call,) = recorded.held
    assert isinstance(call, CallExtender)
    body = json.dumps({"nodenames": ["n2"]}).encode()
    recorded.tell(ExtenderReplied(call.call, ExtenderReply(status=200, body=body)))
    log = saved(recorded.run.log, "default/two")
    assert message_of(log, "default/two") == message_of(recorded.run.log, "default/two")
    assert log.cycles_of("default/one") == []
    assert len(log.cycles_of("default/two")) == 1

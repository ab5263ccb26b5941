"""The moment before a cycle that was held up by an extender."""

from __future__ import annotations

import json

import pytest

from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.machine import CallExtender, CycleDue, ExtenderReplied, ObjectPut
from podwright.simulation.kss.annotations import kss_history
from podwright.simulation.recording.explanations.explain import find_cycle
from podwright.simulation.recording.explanations.outcome import OutcomeKind, find_outcome
from podwright.simulation.recording.tests.recording import Recorded
from podwright.testing import make_node, make_pod

EXTENDER = {
    "urlPrefix": "http://127.0.0.1:9/gpu",
    "filterVerb": "filter",
    "nodeCacheCapable": True,
}


@pytest.fixture
def asked():
    """A run in which the cycle of pod `one` waits for an extender that knows node n1 only."""
    recorded = Recorded(extenders=[EXTENDER])
    recorded.holds = {"CallExtender"}
    recorded.put(make_node("n1"), make_pod("one"), make_pod("two"))
    recorded.cycle()
    return recorded


def reply(recorded, *names):
    """Let the extender answer that these nodes will do."""
    (call,) = recorded.held
    assert isinstance(call, CallExtender)
    recorded.held.clear()
    recorded.now_ns += 1
    body = json.dumps({"nodenames": list(names)}).encode()
    recorded.tell(ExtenderReplied(call.call, ExtenderReply(status=200, body=body)))


def facts_of(recorded, pod):
    """Tell which nodes were there, which one was chosen, when it began and what came of it."""
    past = find_cycle(recorded.run.log, f"default/{pod}")
    explanation = past.explain()
    nodes = sorted(past.machine.cluster.nodes.slot_of)
    return nodes, explanation.decision.node, past.entry.now_ns, find_outcome(past).kind


def test_a_cycle_that_is_due_while_another_one_waits_is_not_taken_for_its_beginning(asked):
    began_ns = asked.now_ns
    asked.cycle()
    asked.put(make_node("n2"))
    reply(asked, "n1")
    assert facts_of(asked, "one") == (["n1"], "n1", began_ns, OutcomeKind.BOUND)


def test_a_cycle_begins_when_the_one_that_it_waited_for_has_ended(asked):
    asked.put(make_node("n2"))
    asked.cycle()
    asked.put(make_node("n3"))
    reply(asked, "n1")
    began_ns = asked.now_ns
    reply(asked, "n2")
    assert facts_of(asked, "two") == (["n1", "n2"], "n2", began_ns, OutcomeKind.BOUND)
    assert facts_of(asked, "one")[:2] == (["n1"], "n1")
    assert kss_history(asked.run.log, "default/two")[-1].explanation.decision.node == "n2"


def test_what_happens_while_a_cycle_waits_may_come_before_its_answer(asked):
    for event in (ObjectPut(make_node("n2")), CycleDue(), CycleDue()):
        asked.tell(event)
    reply(asked, "n1")
    reply(asked, "n1", "n2")
    for pod, nodes in (("one", ["n1"]), ("two", ["n1", "n2"])):
        assert facts_of(asked, pod)[0] == nodes

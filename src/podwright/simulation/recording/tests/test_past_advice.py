"""Advice for a recorded cycle with extenders: only the replies of the cycle itself are known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.scheduler.advice import Advice, Change, Outcome, UnknownReply
from podwright.scheduler.config import DEFAULT_GATES, ExtenderCall, ExtenderReply
from podwright.simulation.recording import find_cycle
from podwright.simulation.recording.explanations.past_advice import _PastTrial, past_advice
from podwright.simulation.recording.tests.recording import Recorded
from podwright.testing import make_node, make_pod

EXTENDER = {"urlPrefix": "http://x", "filterVerb": "filter", "nodeCacheCapable": True}
CPU = {"managedResources": [{"name": "example.com/card"}]}


def refuse(call: ExtenderCall) -> ExtenderReply:
    """Reject every node."""
    names = json.loads(call.body)["NodeNames"]
    body = {"NodeNames": [], "FailedNodes": dict.fromkeys(names, "no")}
    return ExtenderReply(status=200, body=json.dumps(body).encode())


def advice(*objects: Any, extender: dict[str, Any] = EXTENDER) -> Advice:
    """Return the advice for pod `p` in a run with an extender that rejects every node."""
    recorded = Recorded(extenders=[extender])
    recorded.call_extender = refuse
    recorded.attempt(*objects, make_pod("p", cpu="1", scheduler="default-scheduler"))
    past = find_cycle(recorded.run.log, "default/p")
    return past_advice(past, past.explain(), gates=DEFAULT_GATES)


def test_a_remedy_that_needs_no_new_reply_is_tried_and_others_are_named() -> None:
    found = advice(make_node("a", cpu="4", unschedulable=True), make_node("b", cpu="4"))
    assert [remedy.text for remedy in found.remedies] == [
        "make extenders[0] (http://x) accept the node"
    ]
    (limit,) = found.limits
    assert limit.startswith("2 changes could not be tried, because an extender would have to be")
    assert "a recorded run has only the replies to its own calls: uncordon node a; " in limit


def test_a_node_that_only_a_new_reply_would_open_is_not_advised() -> None:
    """No node passed the filters, so the extender was never called."""
    found = advice(make_node("a", cpu="4", unschedulable=True))
    assert found.remedies == ()
    assert "uncordon node a" in found.limits[0]


@pytest.mark.parametrize("extender", [EXTENDER | CPU])
def test_an_extender_that_is_not_interested_in_the_pod_limits_nothing(
    extender: dict[str, Any],
) -> None:
    found = advice(make_node("a", cpu="4", unschedulable=True), extender=extender)
    assert found.remedies[0].text == "uncordon node a"
    assert found.limits == ()


def test_an_extender_accepts_only_in_the_trial_in_which_it_is_to():
    pod = make_pod("p", cpu="1")
    recorded = Recorded(extenders=[EXTENDER])
    recorded.call_extender = refuse
    recorded.attempt(make_node("a", cpu="4"), pod)
    past = find_cycle(recorded.run.log, "default/p")
    past.explain()
    trial = _PastTrial(past)
    assert trial.run(Change(pod, bypassed=frozenset({0}))) == Outcome("a", 1)
    # Afterwards it has its recorded reply again.
    assert trial.run(Change(pod)) is None
    assert trial.explain(Change(pod)).rejected["a"].plugin == "Extender"
    with pytest.raises(UnknownReply):
        trial.run(Change(pod, put=(make_node("b", cpu="4"),), bypassed=frozenset({1})))
    assert trial.run(Change(pod, bypassed=frozenset({0}))) == Outcome("a", 1)
    assert trial.explain(Change(pod)).feasible == ()

"""A run under the v1.16 rules is recorded, replayed and explained like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from podwright.scheduler.config import KubeSchedulerConfiguration, Rules
from podwright.scheduler.machine import CycleDue, Event, FlushBackoff, ObjectPut
from podwright.simulation.recording.explanations.explain import explain_cycle
from podwright.simulation.recording.explanations.what_if import ImpossibleChange, what_if
from podwright.simulation.recording.log.record import Recorder, record
from podwright.simulation.recording.log.replay import replay, verify
from podwright.testing import make_node, make_pod

SECOND_NS = 1_000_000_000


def recorded(path: str | None = None) -> Recorder:
    recorder = record(
        path,
        KubeSchedulerConfiguration(
            rules=Rules(
                name="classic",
                policy={
                    "kind": "Policy",
                    "priorities": [{"name": "MostRequestedPriority", "weight": 3}],
                },
            )
        ),
        checkpoint_events=2,
    )
    now_ns = 1_800_000_000 * SECOND_NS
    events: list[Event] = [
        ObjectPut(make_node("n1", cpu="2")),
        ObjectPut(make_node("n2", cpu="4")),
        ObjectPut(make_pod("a", cpu="1", scheduler="default-scheduler")),
        ObjectPut(make_pod("b", cpu="1", scheduler="default-scheduler")),
        ObjectPut(make_pod("big", cpu="9", scheduler="default-scheduler")),
        CycleDue(),
        CycleDue(),
        CycleDue(),
        FlushBackoff(),
    ]
    for event in events:
        recorder.handle(event, now_ns)
        now_ns += SECOND_NS
    return recorder


def test_a_replay_equals_the_recorded_run(tmp_path: Path) -> None:
    log = recorded(str(tmp_path / "log")).log
    assert verify(log).difference is None
    machine = replay(log)
    log.close()
    assert machine.assumed() == {"default/a": "n1", "default/b": "n1"}


def test_a_past_cycle_is_explained_by_the_rules_that_it_had() -> None:
    log = recorded().log
    explanation = explain_cycle(log, "default/b")
    assert explanation.decision.node == "n1"
    (most,) = explanation.scores
    assert (most.plugin, most.weight) == ("MostRequestedPriority", 3)
    assert explanation.totals == {node: 3 * score for node, score in most.normalized.items()}
    explanation = explain_cycle(log, "default/big")
    assert explanation.decision.message == "0/2 nodes are available: 2 Insufficient cpu."


def test_a_past_cycle_can_be_decided_otherwise() -> None:
    log = recorded().log
    reweighted = what_if(log, "default/b", weights={"MostRequestedPriority": 5}).after
    assert [scores.weight for scores in reweighted.scores] == [5]
    spread = KubeSchedulerConfiguration(rules=Rules(name="classic"))
    assert what_if(log, "default/b", configuration=spread).after.decision.node == "n2"
    modern = what_if(log, "default/b", configuration=KubeSchedulerConfiguration()).after
    assert "NodeResourcesFit" in {scores.plugin for scores in modern.scores}
    with pytest.raises(ImpossibleChange, match='no score plugin "LeastRequested'):
        what_if(log, "default/b", weights={"LeastRequestedPriority": 5})

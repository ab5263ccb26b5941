"""The attempts of a pod, read from a log: what came of each, and where it went."""

from __future__ import annotations

import pytest

from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import FlushBackoff
from podwright.simulation.recording.explanations import attempts
from podwright.simulation.recording.explanations.attempts import attempts_of
from podwright.simulation.recording.log.log_reading import outcomes_of
from podwright.simulation.recording.tests.recorded import recorded_log
from podwright.simulation.recording.tests.recording import Recorded
from podwright.testing import make_node, make_pod


@pytest.fixture
def recorded():
    recorded = Recorded()
    recorded.put(make_node("n1", cpu="2"))
    return recorded


def told(recorded, name):
    """Return number, outcome and node of the attempts of a pod."""
    found = attempts_of(recorded.run.log, f"default/{name}")
    return [(attempt.attempt, attempt.outcome, attempt.node) for attempt in found]


def test_a_pod_without_a_cycle_has_no_attempts(recorded):
    recorded.put(make_pod("one", cpu="1"))
    assert told(recorded, "one") == []


def test_a_pod_is_scheduled_once_its_binding_has_succeeded(recorded):
    recorded.attempt(make_pod("one", cpu="1"))
    assert told(recorded, "one") == [(1, "Scheduled", "n1")]


def test_until_then_it_is_binding_whatever_else_succeeds(recorded):
    recorded.holds = {"Bind"}
    recorded.attempt(make_pod("one", cpu="1"))
    recorded.holds = set()
    recorded.attempt(make_pod("two", cpu="1"))
    assert told(recorded, "one") == [(1, "Binding", "n1")]
    assert told(recorded, "two") == [(1, "Scheduled", "n1")]


def test_a_pod_that_fits_nowhere_is_unschedulable_and_has_the_message(recorded):
    recorded.attempt(make_pod("big", cpu="9"))
    assert told(recorded, "big") == [(1, "Unschedulable", None)]
    (attempt,) = attempts_of(recorded.run.log, "default/big")
    assert attempt.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_binding_that_fails_is_an_error_and_the_next_attempt_has_its_own_outcome(recorded):
    recorded.errors = {"Bind": CallError("no quorum")}
    recorded.attempt(make_pod("one", cpu="1"))
    recorded.now_ns += 600 * 1_000_000_000
    recorded.tell(FlushBackoff())
    recorded.cycle()
    assert told(recorded, "one") == [(1, "SchedulerError", "n1"), (2, "Scheduled", "n1")]


def test_an_outcome_that_repeats_the_last_one_is_the_same_though_nothing_is_written(recorded):
    recorded.put(make_pod("one", cpu="1"))
    for _ in range(2):
        recorded.errors = {"Bind": CallError("no quorum")}
        recorded.cycle()
        recorded.now_ns += 600 * 1_000_000_000
        recorded.tell(FlushBackoff())
    assert told(recorded, "one") == [(1, "SchedulerError", "n1"), (2, "SchedulerError", "n1")]


def test_a_preemptor_has_the_node_on_which_room_is_made(recorded):
    recorded.attempt(make_pod("low", cpu="2"))
    recorded.attempt(make_pod("high", cpu="2", priority=100))
    (attempt,) = attempts_of(recorded.run.log, "default/high")
    assert (attempt.outcome, attempt.nominated_node, attempt.node) == ("Unschedulable", "n1", None)


def test_a_log_is_read_until_the_last_attempt_has_ended(recorded, monkeypatch):
    recorded.attempt(make_pod("one", cpu="1"))
    for name in ("two", "three", "four"):
        recorded.attempt(make_pod(name, cpu="9"))
    read: list[int] = []

    def noted(log, pod, first):
        for outcome in outcomes_of(log, pod, first):
            read.append(outcome.index)
            yield outcome

    monkeypatch.setattr(attempts, "outcomes_of", noted)
    assert told(recorded, "one") == [(1, "Scheduled", "n1")]
    every = [outcome.index for outcome in outcomes_of(recorded.run.log, "default/one", 0)]
    assert read == [index for index in every if index <= read[-1]]
    assert every[-1] > read[-1], "the others are read too"


@pytest.mark.parametrize("pod", ["batch", "urgent", "web", "hopeless"])
def test_checkpoints_change_nothing_about_attempts(tmp_path, pod):
    plain = recorded_log(tmp_path / "plain")
    with_checkpoints = recorded_log(tmp_path / "checkpoints", checkpoint_events=20)
    assert with_checkpoints.checkpoints
    found = attempts_of(with_checkpoints, f"default/{pod}")
    assert found == attempts_of(plain, f"default/{pod}")
    assert [each.event - 1 for each in found] == with_checkpoints.cycles_of(f"default/{pod}")
    assert [each.attempt for each in found] == [*range(1, len(found) + 1)]
    for log in (plain, with_checkpoints):
        log.close()

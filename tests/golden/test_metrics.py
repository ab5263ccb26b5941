"""In every recorded trace the metrics agree with the actions of the machine."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from podwright.scheduler.machine import Distribution, EmitEvent, MetricsSnapshot
from podwright.testing.parity.trace import TraceReplay

VECTORS = Path(__file__).parent / "vectors"

pytestmark = pytest.mark.golden


def cases(family):
    with gzip.open(VECTORS / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def total(seen: MetricsSnapshot, name: str, *first: str) -> float:
    """Sum a metric over all its labels, or over those with a prefix."""
    return sum(
        series.count if isinstance(series, Distribution) else series.value
        for family in seen.families
        if family.name == name
        for series in family.series
        if series.labels[: len(first)] == first
    )


class Listening:
    """A machine whose actions are seen."""

    def __init__(self, machine, see):
        self.machine = machine
        self.see = see

    def __getattr__(self, name):
        return getattr(self.machine, name)

    def handle(self, event, now_ns):
        actions = self.machine.handle(event, now_ns)
        self.see(actions)
        return actions


def replayed(case) -> tuple[MetricsSnapshot, list[EmitEvent]]:
    replay = TraceReplay(case)
    machine = replay.machine
    events: list[EmitEvent] = []

    def see(actions):
        events.extend(action for action in actions if isinstance(action, EmitEvent))

    replay.machine = Listening(machine, see)  # type: ignore[assignment]  # it answers as one
    for step in case["steps"]:
        replay.begin_step(step["dt"])
        replay.do(step)
    return machine.metrics_snapshot(), events


@pytest.mark.parametrize("family", ["cycle", "cycle_volumes"])
def test_attempts_are_as_many_as_events_say(family):
    for case in cases(family):
        seen, events = replayed(case)
        scheduled = sum(event.reason == "Scheduled" for event in events)
        failed = sum(
            event.reason == "FailedScheduling"
            # There was no attempt.
            and not event.note.startswith(("skip schedule deleting", "running PreEnqueue"))
            for event in events
        )
        name = "scheduler_schedule_attempts_total"
        assert total(seen, name) == scheduled + failed, case["id"]
        assert total(seen, name, "scheduled") == scheduled, case["id"]
        under_way = seen.count("scheduler_goroutines", "binding")
        decisions = seen.count("scheduler_scheduling_algorithm_duration_seconds")
        assert decisions == scheduled + failed + under_way, case["id"]
        waits = total(seen, "scheduler_pod_scheduling_sli_duration_seconds")
        assert waits == seen.count("scheduler_pod_scheduling_attempts") == scheduled, case["id"]

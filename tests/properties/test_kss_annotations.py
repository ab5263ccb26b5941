"""Laws of kube-scheduler-simulator's annotations under random histories of a cluster."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, note, strategies as st
from tests.properties.effort import effort
from tests.properties.machine_variants import START_NS, Gate, Slow, Variant
from tests.properties.test_machine import KINDS, OPERATIONS, PODS, Surroundings, step

from podwright.apimachinery.objects import format_duration, timestamp_text_nano, write_go_json
from podwright.scheduler.config import parse_gates, read_configuration
from podwright.simulation.kss.annotations import KssAttempt, annotations_after, kss_history
from podwright.simulation.kss.results import HISTORY, PREFIX
from podwright.simulation.recording.explanations.explain import Cycles
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.log.replay import verify

pytestmark = pytest.mark.property

OWN = (Gate, Slow)

ARRIVES: list[tuple[Any, ...]] = [("deliver", 0)] * 3
NODES: list[tuple[Any, ...]] = [("node", "n0", 4), ("node", "n1", 2), *ARRIVES]


@st.composite
def attempts(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """A pod is added and scheduled, and receives the result; or another one gets more time."""
    pod = (
        "pod",
        draw(st.sampled_from(PODS)),
        draw(st.integers(1, 3)),
        draw(st.sampled_from([0, 0, 10, 100])),
        draw(st.sampled_from(["", "", "", "permit", "pre_bind", "reserve"])),
        False,
        "",
    )
    how = st.sampled_from(["succeeds", "succeeds", "fails"])
    answers = [("answer", draw(st.integers(0, 3)), draw(how)) for _ in range(3)]
    wait = ("time", draw(st.sampled_from([0.3, 2.5, 11.0, 301.0])))
    return [pod, *ARRIVES, ("cycle",), *answers, *ARRIVES, wait]


LIVELY = st.lists(attempts() | st.builds(lambda one: [one], OPERATIONS), min_size=3, max_size=12)


class Recorded:
    """A machine for `Surroundings` whose events are all recorded."""

    def __init__(self, recorder: Any) -> None:
        self.handle = recorder.handle
        self._machine = recorder.machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)


def recorded(variant: Variant, history: list[tuple[Any, ...]]) -> DecisionLog:
    recorder = record(
        None,
        read_configuration(variant.configuration(), source="test"),
        plugins=OWN,
        gates=parse_gates(variant.gates),
        start=timestamp_text_nano(START_NS),
        assumed_pod_expiry=format_duration(variant.assumed_pod_expiry_ns),
    )
    around = Surroundings(variant)
    around.machine = Recorded(recorder)  # type: ignore[assignment]  # has the same interface
    for number, operation in enumerate(history):
        if operation == ("cycle",) and not recorder.machine.has_next:
            # No driver sends a cycle while one waits for an extender.
            continue
        note(f"{number}: {operation}")
        step(around, number, *operation)
    return recorder.log


def check(one: KssAttempt) -> None:
    """Compare the annotations of an attempt with its explanation."""
    explanation = one.explanation
    found = {
        key.removeprefix(PREFIX): json.loads(value)
        for key, value in one.results.items()
        if not key.endswith(("selected-node", "-history"))
    }
    plain = {key: value for key, value in one.results.items() if not key.startswith(f"{PREFIX}ext")}
    assert len(plain) == 13
    for key, value in plain.items():
        if not key.endswith("selected-node"):
            assert write_go_json(json.loads(value)) == value
    selected = one.results[f"{PREFIX}selected-node"]
    if not explanation.decision.node:
        assert not selected
    for node, statuses in found["filter-result"].items():
        others = {plugin for plugin, words in statuses.items() if words != "passed"}
        assert len(others) <= 1
        assert not (others and node in explanation.feasible)
    # The scores of plugins and of extenders were compared separately.
    sums = {node: sum(map(int, by.values())) for node, by in found["finalscore-result"].items()}
    for answers in found.get("extender-prioritize-result", {}).values():
        for entry in answers or ():
            if entry["Host"] in sums:
                sums[entry["Host"]] += entry["Score"]
    assert sums == explanation.totals
    order = [found[f"{point}-result"] for point in ("reserve", "permit", "prebind", "bind")]
    for earlier, later in pairwise(order):
        if later:
            assert set(earlier.values()) <= {"success", "wait"}
    assert found["permit-result"].keys() == found["permit-result-timeout"].keys()
    if any(order):
        assert selected


@effort(25)
@given(KINDS, LIVELY)
def test_every_attempt_has_its_decision(variant: Variant, parts: list[Any]) -> None:
    if "GangScheduling" in variant.gates:
        # Members of a group are explained as single pods.
        variant = variant._replace(gates="")
    log = recorded(variant, [*NODES, *(operation for part in parts for operation in part)])
    cycles = Cycles(log)
    for pod in cycles.pods:
        attempts = kss_history(log, pod, plugins=OWN)
        with_results = [one for one in attempts if one.results]
        for one in with_results:
            check(one)
        annotations = annotations_after(attempts)
        elements = json.loads(annotations.get(HISTORY, "[]"))
        assert elements == [one.results for one in with_results]
    assert verify(log, plugins=OWN).is_same

"""Values at their limits, and methods that a plugin or a row must override."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import podwright as pw
from podwright.scheduler.assembly.build import build_profiles
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.columns import Cluster
from podwright.scheduler.config import DEFAULT_GATES, KubeSchedulerConfiguration, effective
from podwright.scheduler.framework import Plugin
from podwright.scheduler.framework.extenders.extender_calls import MalformedJSON, typed_field
from podwright.scheduler.framework.rankings.rows import Row
from podwright.scheduler.framework.rankings.scores import FilterGroups, ScoreGroups
from podwright.scheduler.framework.run import PluginRunner
from podwright.testing import make_node, make_pod


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_integers_of_64_bits_are_accepted(value: int) -> None:
    assert typed_field({"count": value}, "Result", "count", int) == value


@pytest.mark.parametrize("value", [-(2**63) - 1, 2**63])
def test_greater_integers_are_rejected(value: int) -> None:
    with pytest.raises(MalformedJSON, match="out of range"):
        typed_field({"count": value}, "Result", "count", int)


class Scores(Plugin):
    """Returns a fixed score for every node."""

    name = "Scores"
    value = 0

    def score(self, cycle: pw.Cycle, node: pw.NodeView) -> int:
        return self.value

    def normalize_score(self, cycle: pw.Cycle, scores: pw.Scores) -> None:
        scores.values[scores.rows] = np.sign(scores.values[scores.rows])


def scored(value: int) -> pw.Decision:
    cls = type("Scores", (Scores,), {"value": value})
    scheduler = pw.Scheduler(plugins=[cls])
    scheduler.add(make_node("n1"), make_node("n2"))
    return scheduler.schedule(make_pod("web", cpu="1"))


def test_the_greatest_score_of_64_bits_is_accepted() -> None:
    assert scored(2**63 - 1).node


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1])
def test_a_score_of_more_bits_is_an_error_of_the_plugin(value: int) -> None:
    decision = scored(value)
    assert not decision.node
    assert decision.error is not None
    assert "Scores" in decision.error.message


ABSTRACT: list[tuple[Any, str]] = [
    (Plugin, "sign_pod"),
    (Row, "_lengthen"),
    (Row, "_evaluate"),
    (FilterGroups, "assign"),
    (FilterGroups, "rejected"),
    (ScoreGroups, "scores"),
]


@pytest.mark.parametrize(("cls", "method"), ABSTRACT)
def test_a_method_without_a_default_raises(cls: Any, method: str) -> None:
    function = getattr(cls, method)
    required = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is not parameter.KEYWORD_ONLY
    ]
    named = {
        name: None
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    with pytest.raises(NotImplementedError):
        function(*(None for _ in required), **named)


@pytest.mark.parametrize(
    ("nominated_priority", "fits"),
    [pytest.param(-1, True, id="lower"), pytest.param(0, False, id="equal")],
)
def test_nominated_pods_count_from_the_priority_of_the_pod_on(
    nominated_priority: int, fits: bool
) -> None:
    registry = Registry()
    configuration = effective(
        KubeSchedulerConfiguration(), DEFAULT_GATES, implements=registry.points_of
    )
    cluster = Cluster()
    cluster.put(make_node("n1", cpu="1"))
    cluster.nominate(make_pod("other", cpu="1", priority=nominated_priority), "n1")
    profile = build_profiles(configuration, registry)["default-scheduler"]
    pod = make_pod("web", cpu="1")
    assert pod.spec.priority is None
    assert bool(PluginRunner(profile, cluster).decide(pod, cycle_number=1).node) is fits

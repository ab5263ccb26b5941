"""Requirements, weights, delays and finalizers of stages."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import DRAW_BITS
from podwright.cluster.kubelets.stages.stage import (
    Bound,
    Delay,
    FinalizersStep,
    Requirement,
    Weight,
    choose,
    delay_between,
)
from podwright.cluster.kubelets.templates.jq import query
from podwright.cluster.kubelets.tests.lifecycle_driver import NOW, SECOND, at

LAST = (1 << DRAW_BITS) - 1
FROM = query(".from")
JITTER_FROM = query(".jitter")


@pytest.mark.parametrize(
    ("operator", "values", "met_by"),
    [
        pytest.param("In", ("a", "1"), ["a", 1], id="In: the text of a value"),
        pytest.param("NotIn", ("a", "true"), ["", "b", 1, None, []], id="NotIn: also nothing"),
        pytest.param("Exists", (), ["a", "", "b", 1, True, []], id="Exists: an empty value"),
        pytest.param("DoesNotExist", (), [None], id="DoesNotExist: null and absent"),
    ],
)
def test_requirements(operator, values, met_by):
    requirement = Requirement(query(".x"), operator, values)
    present = ["a", "", "b", 1, True, None, []]
    assert [value for value in present if requirement.is_met({"x": value})] == met_by
    assert requirement.is_met({}) is (operator in {"NotIn", "DoesNotExist"})


@pytest.mark.parametrize(
    ("value", "weight"),
    [
        pytest.param(None, 5, id="an absent value is the default"),
        pytest.param("7", 7, id="text"),
        pytest.param("0x10", 16, id="another base"),
        pytest.param(3, 3, id="a number"),
        pytest.param("heavy", None, id="no number"),
        pytest.param("", None, id="empty"),
        pytest.param([], 5, id="a list is the default"),
    ],
)
def test_weights(value, weight):
    assert Weight(5, FROM).of({"from": value}) == weight


@pytest.mark.parametrize(
    ("weights", "chosen"),
    [
        pytest.param([1], [0, 0, 0], id="one"),
        pytest.param([0, 0, 0], [0, 1, 2], id="all zero: equal"),
        pytest.param([1, 0, 3], [0, 2, 2], id="by weight, and zero never"),
        pytest.param([None, 0, None], [1, 1, 1], id="zero and an unreadable weight"),
        pytest.param([None, None], [0, 1, 1], id="no readable weight: equal"),
        pytest.param([-4, 2], [1, 1, 1], id="below zero is never"),
    ],
)
def test_one_of_several_stages_is_chosen(weights, chosen):
    assert [choose(weights, draw) for draw in (0, 1 << DRAW_BITS - 1, LAST)] == chosen


@pytest.mark.parametrize(
    ("delay", "document", "bounds"),
    [
        pytest.param(Delay(), {}, (0, 0), id="none"),
        pytest.param(Delay(Bound(5)), {}, (5, 5), id="a duration"),
        pytest.param(Delay(Bound(5), Bound(9)), {}, (5, 9), id="a duration and a longer jitter"),
        pytest.param(Delay(Bound(9), Bound(5)), {}, (5, 5), id="a shorter jitter is the delay"),
        pytest.param(Delay(Bound(5, FROM)), {"from": "3s"}, (3 * SECOND,) * 2, id="the document"),
        pytest.param(Delay(Bound(5, FROM)), {"from": "soon"}, (5, 5), id="no duration: default"),
        pytest.param(Delay(Bound(5, FROM)), {"from": ""}, (0, 0), id="empty: no delay"),
        pytest.param(Delay(Bound(5, FROM)), {"from": at(4)}, (4 * SECOND,) * 2, id="a time"),
        pytest.param(Delay(Bound(5, FROM)), {"from": at(-4)}, (0, 0), id="a past time"),
        pytest.param(
            Delay(Bound(SECOND), Bound(None, JITTER_FROM)),
            {"jitter": at(30)},
            (SECOND, 30 * SECOND),
            id="the latest time",
        ),
        pytest.param(
            Delay(Bound(SECOND), Bound(None, JITTER_FROM)), {}, (SECOND, SECOND), id="no jitter"
        ),
    ],
)
def test_delays(delay, document, bounds):
    sources = delay.sources(document)
    assert delay.bounds(sources, NOW) == bounds
    least_ns, most_ns = bounds
    assert delay_between(least_ns, most_ns, 0) == least_ns
    assert least_ns <= delay_between(least_ns, most_ns, LAST) <= max(most_ns - 1, least_ns)


@pytest.mark.parametrize(
    ("step", "after"),
    [
        pytest.param(FinalizersStep(add=("c", "a")), ("a", "b", "c"), id="added once"),
        pytest.param(FinalizersStep(remove=("a", "x")), ("b",), id="removed if there"),
        pytest.param(FinalizersStep(is_empty=True), (), id="emptied"),
        pytest.param(FinalizersStep(add=("n",), is_empty=True), ("n",), id="emptied, then added"),
    ],
)
def test_finalizers(step, after):
    assert step.after(["a", "b"]) == after

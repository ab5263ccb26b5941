"""Calls of plugins' methods, and what is made of their answers and exceptions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from podwright.apimachinery.objects import ArgumentError
from podwright.apimachinery.objects.errors import InputError
from podwright.scheduler.framework import Cycle, Plugin, Scores, Status, Verdicts
from podwright.scheduler.framework.adapter import (
    PluginFailure,
    filters_per_node,
    read_permit,
    run_filter,
    run_score,
)
from podwright.scheduler.framework.status import MissingStateError
from podwright.scheduler.preemption.tests.situations import cluster_of, pod
from podwright.testing import make_node

SECOND_NS = 1_000_000_000
WAIT = Status.wait("held")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(Status.OK, (Status.OK, 0), id="a status"),
        pytest.param(WAIT, (WAIT, 0), id="Wait without a time"),
        pytest.param((WAIT, "2s"), (WAIT, 2 * SECOND_NS), id="Wait with a time"),
        pytest.param((Status.OK, 0), (Status.OK, 0), id="success and 0, as upstream's plugins"),
        pytest.param((Status.OK, np.int64(0)), (Status.OK, 0), id="a 0 of NumPy"),
        pytest.param((Status.OK, "1m"), (Status.OK, 60 * SECOND_NS), id="success and a time"),
    ],
)
def test_the_answer_of_permit(answer: object, expected: tuple[Status, int]):
    assert read_permit(answer) == expected


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        pytest.param(None, ArgumentError, "returned None, not a Status", id="nothing"),
        pytest.param((), ArgumentError, "not a Status", id="an empty pair"),
        pytest.param((Status.OK,), ArgumentError, "not a Status", id="half a pair"),
        pytest.param((Status.OK, "1s", "2s"), ArgumentError, "not a Status", id="three parts"),
        pytest.param(("1s", Status.OK), ArgumentError, "not a Status", id="the other way round"),
        pytest.param((WAIT, 5), ArgumentError, "the timeout of Wait", id="a number without a unit"),
        pytest.param((WAIT, 0), ArgumentError, "the timeout of Wait", id="also 0, with Wait"),
        pytest.param((Status.OK, 5), ArgumentError, "timeout of Success", id="also with success"),
        pytest.param((WAIT, "soon"), InputError, "the timeout of Wait", id="no duration"),
        pytest.param((WAIT, "-1s"), InputError, "the timeout of Wait", id="less than nothing"),
    ],
)
def test_an_answer_of_permit_that_is_none(answer: object, error: type[Exception], message: str):
    with pytest.raises(error, match=message):
        read_permit(answer)


class OnColumns(Plugin):
    """Does for all nodes at once what a test gives it."""

    name = "OnColumns"

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def filter_columns(self, cycle: Cycle, nodes: Any, out: Verdicts) -> None:
        if self.error is not None:
            raise self.error

    def score_columns(self, cycle: Cycle, nodes: Any, out: Scores) -> None:
        if self.error is not None:
            raise self.error
        out.values[out.rows] = 7


class OfOurOwn(OnColumns):
    """The same as a plugin of podwright, whose answers are not checked."""

    __module__ = "podwright.scheduler.plugins.of_a_test"


def verdicts(plugin: Plugin) -> list[Status]:
    cycle = Cycle(pod("p"), cluster_of(make_node("a"), make_node("b")))
    rows = np.array([1], dtype=np.int32)
    out = Verdicts(np.zeros(2, dtype=np.int64), rows)
    run_filter(plugin, cycle, out)
    return [out.status_of(int(code)) for code in out.codes]


@pytest.mark.parametrize("plugin", [OnColumns, OfOurOwn])
def test_an_exception_of_a_plugin_on_columns_names_plugin_and_pod(plugin: type[OnColumns]):
    assert verdicts(plugin(None)) == [Status.OK, Status.OK]
    with pytest.raises(PluginFailure) as failed:
        verdicts(plugin(ValueError("no")))
    assert failed.value.status == Status.error(
        'running "OnColumns" filter plugin: ValueError: no (pod default/p)'
    ).by("OnColumns")


def test_a_missing_state_of_our_own_plugins_fails_the_nodes_in_question():
    missing = MissingStateError("not found")
    assert verdicts(OfOurOwn(missing)) == [Status.OK, Status.error("not found")]
    with pytest.raises(PluginFailure):
        verdicts(OnColumns(missing))


@pytest.mark.parametrize("plugin", [OnColumns, OfOurOwn])
def test_scores_on_columns(plugin: type[OnColumns]):
    cycle = Cycle(pod("p"), cluster_of(make_node("a"), make_node("b")))

    def scored(one: Plugin) -> list[int]:
        out = Scores(np.zeros(2, dtype=np.int64), np.array([1], dtype=np.int32))
        run_score(one, cycle, out)
        found: list[int] = out.values.tolist()
        return found

    assert scored(plugin(None)) == [0, 7]
    with pytest.raises(PluginFailure) as failed:
        scored(plugin(ValueError("no")))
    assert "ValueError: no (pod default/p)" in failed.value.status.message


class OnOneNode(Plugin):
    """Returns from Filter what a test gives it."""

    name = "OnOneNode"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def filter(self, cycle: Cycle, node: Any) -> Status:
        answer: Status = self.answer
        return answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(Status.error("broken"), "broken", id="an error"),
        pytest.param(WAIT, "held", id="Wait"),
        pytest.param(Status.skip(), "returned Skip", id="Skip"),
        pytest.param(
            None, "TypeError: returned None, not a Status (pod default/p, node b)", id="nothing"
        ),
    ],
)
def test_a_status_of_filter_that_neither_passes_nor_rejects_is_a_failure(
    answer: object, message: str
):
    # Upstream: pkg/scheduler/framework/runtime/framework.go, RunFilterPlugins
    with pytest.raises(PluginFailure) as failed:
        verdicts(OnOneNode(answer))
    assert failed.value.text == message
    assert failed.value.status == Status.error(f'running "OnOneNode" filter plugin: {message}').by(
        "OnOneNode"
    )
    rejected = Status.unschedulable("no")
    assert verdicts(OnOneNode(rejected)) == [Status.OK, rejected]


class PerNode(Plugin):
    name = "PerNode"

    def filter(self, cycle: Cycle, node: object) -> Status:
        return Status.OK


def test_which_filters_are_called_for_each_node():
    assert filters_per_node(PerNode())
    assert not filters_per_node(OnColumns(None))


class Scoring(OnOneNode):
    """Returns from Score what a test gives it."""

    def score(self, cycle: Cycle, node: Any) -> int:
        answer: int = self.answer
        return answer


@pytest.mark.parametrize("score", [-(2**63), 2**63 - 1, np.int32(5)])
def test_a_score_is_an_integer_of_64_bits(score: int):
    out = Scores(np.zeros(2, dtype=np.int64), np.array([1], dtype=np.int32))
    cycle = Cycle(pod("p"), cluster_of(make_node("a"), make_node("b")))
    run_score(Scoring(score), cycle, out)
    assert out.values.tolist() == [0, score]


@pytest.mark.parametrize("score", [-(2**63) - 1, 2**63, 1.0, None, "1"])
def test_a_score_that_is_no_integer_of_64_bits_is_a_failure(score: Any):
    out = Scores(np.zeros(2, dtype=np.int64), np.array([1], dtype=np.int32))
    cycle = Cycle(pod("p"), cluster_of(make_node("a"), make_node("b")))
    with pytest.raises(PluginFailure) as failed:
        run_score(Scoring(score), cycle, out)
    assert failed.value.text.startswith("TypeError: returned ")
    assert failed.value.text.endswith(", not an integer of 64 bits (pod default/p, node b)")


class WritesNumbers(Plugin):
    """Writes a code that no status has."""

    name = "WritesNumbers"

    def filter_columns(self, cycle: Cycle, nodes: Any, out: Verdicts) -> None:
        out.codes[1] = 7


def test_a_verdict_without_a_status_is_a_failure():
    with pytest.raises(PluginFailure, match="wrote the code 7, which stands for no status"):
        verdicts(WritesNumbers())

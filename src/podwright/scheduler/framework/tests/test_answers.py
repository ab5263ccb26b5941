"""What errors say about answers and exceptions of plugins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import podwright as pw
from podwright.scheduler.framework.adapter import described, raised, raised_at
from podwright.scheduler.framework.status import MissingStateError


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param(None, "None", id="nothing"),
        pytest.param(1.5, "1.5", id="a number"),
        pytest.param("a", "'a'", id="a text"),
        pytest.param("a" * 500, "'aaa", id="a long text"),
        pytest.param(10**5000, "a very long int", id="a number that Python does not write"),
        pytest.param(np.zeros(3), "an array of float64", id="an array"),
        pytest.param([1], "something of type list", id="anything else"),
        pytest.param(np.int64(1), "something of type int64", id="a number of NumPy"),
    ],
)
def test_an_answer_is_described_in_the_same_words_everywhere(answer: object, text: str) -> None:
    found = described(answer)
    assert found.startswith(text)
    assert found == text or (found.endswith("...") and len(found) < 200)


class Silent(Exception):  # noqa: N818 - the text names the class
    """An exception without a text."""

    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no"), "ValueError: no"),
        (ValueError(), "ValueError"),
        (Silent(), "Silent"),
    ],
)
def test_an_exception_is_named_by_type_and_text(error: Exception, text: str) -> None:
    assert raised(error) == text
    assert raised_at(error, "pod p") == f"{text} (pod p)"


def test_missing_state_is_told_in_upstreams_words() -> None:
    assert raised_at(MissingStateError("not found"), "pod p") == "not found"


def scheduled(**methods: object) -> pw.Decision:
    plugin = type("Mine", (pw.Plugin,), {"name": "Mine", **methods})
    scheduler = pw.Scheduler(plugins=[plugin])
    scheduler.add(*(pw.testing.make_node(f"n{number}") for number in range(2)))
    return scheduler.schedule(pw.testing.make_pod("p", cpu="1"))


def fails(*_: object) -> None:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        pytest.param(
            "filter_columns",
            fails,
            'running "Mine" filter plugin: ValueError: no (pod default/p)',
            id="a filter on columns raises",
        ),
        pytest.param(
            "filter_columns",
            lambda *_: [0],
            "returned something of type list; write the verdicts to `out`, for example"
            " out.reject(mask, status), and return nothing",
            id="a filter on columns returns",
        ),
        pytest.param(
            "score_columns",
            lambda *_: np.zeros(2),
            "returned an array of float64; write the scores to `out`, for example"
            " out.values[out.rows] = scores, and return nothing",
            id="a score on columns returns",
        ),
        pytest.param(
            "score",
            lambda *_: 2**63,
            "returned 9223372036854775808, not an integer of 64 bits",
            id="a score that is too great",
        ),
        pytest.param(
            "score",
            lambda *_: -(2**63) - 1,
            "returned -9223372036854775809, not an integer of 64 bits",
            id="a score that is too small",
        ),
        pytest.param("score", lambda *_: 1.0, "returned 1.0, not an integer", id="a fraction"),
        pytest.param("pod_key", fails, "ValueError: no (pod default/p)", id="a key raises"),
    ],
)
def test_a_plugin_that_answers_otherwise_ends_the_cycle(
    method: str, answer: object, message: str
) -> None:
    decision = scheduled(**{"filter": lambda *_: pw.Status.OK, method: answer})
    assert not decision.node
    assert decision.error is not None
    assert message in decision.error.message


def test_a_normalization_returns_nothing() -> None:
    decision = scheduled(score=lambda *_: 1, normalize_score=lambda *_: [1])
    assert decision.error is not None
    assert "write the normalized scores to out.values[out.rows]" in decision.error.message


def replaced_by(array: object) -> Callable[..., None]:
    def replace(_plugin: object, _cycle: object, *arguments: Any) -> None:
        arguments[-1].values = array

    return replace


@pytest.mark.parametrize(
    "array",
    [
        pytest.param(np.zeros(2), id="no integers"),
        pytest.param(np.zeros(2, dtype=np.int32), id="integers of 32 bits"),
        pytest.param(np.zeros(3, dtype=np.int64), id="one too many"),
        pytest.param(np.zeros(1, dtype=np.int64), id="one too few"),
        pytest.param(np.zeros((2, 1), dtype=np.int64), id="a matrix"),
        pytest.param([1, 2], id="a list"),
    ],
)
@pytest.mark.parametrize("method", ["score_columns", "normalize_score"])
def test_a_column_of_scores_may_not_be_replaced_by_anything_else(method: str, array: Any) -> None:
    methods: dict[str, Any] = {"score": lambda *_: 1, method: replaced_by(array)}
    if method == "score_columns":
        del methods["score"]
    decision = scheduled(**methods)
    assert decision.error is not None
    text = decision.error.message
    assert "TypeError: `out.values` must stay an array of int64 with 2 entries" in text


def test_a_column_of_scores_may_be_replaced_by_its_like() -> None:
    decision = scheduled(score=lambda *_: 1, normalize_score=replaced_by(np.array([5, 100])))
    assert (decision.error, decision.node) == (None, "n1")

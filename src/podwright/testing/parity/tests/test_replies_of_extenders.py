"""Scores of extenders count as in 1.16, in whatever form a recorded reply has them."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from podwright.testing.parity import FamilyReport, check_cases
from podwright.testing.parity.tests.test_wrong_values import FILES

Entries = list[dict[str, Any]]


def recorded() -> dict[str, Any]:
    """Return the smallest case in which the scores of an extender decide."""
    with gzip.open(FILES["classic_prioritize"], "rt", encoding="utf-8") as lines:
        for line in sorted(lines, key=len):
            case: dict[str, Any] = json.loads(line)
            answers = case.get("extender_answers") or [{}]
            scores = answers[0].get("prioritize", {}).get("scores")
            if scores and any(scores.values()) and "extender_calls" in case["expect"]:
                return case
    raise AssertionError("no such case")


CASE = recorded()
SCORES: dict[str, int] = CASE["extender_answers"][0]["prioritize"]["scores"]


def differences(body: object) -> list[str]:
    """Return the fields that differ if the extender's reply has this body."""
    case = copy.deepcopy(CASE)
    text = body if isinstance(body, str) else json.dumps(body)
    case["extender_answers"][0]["prioritize"] = {"body": text}
    reports: dict[str, FamilyReport] = {}
    check_cases([case], reports)
    return [each.field for each in reports["classic_prioritize"].mismatches]


def test_the_case_agrees_as_it_was_recorded() -> None:
    reports: dict[str, FamilyReport] = {}
    check_cases([CASE], reports)
    assert reports["classic_prioritize"].mismatches == []


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(lambda host, score: [{"host": host, "score": score}], id="as Go writes it"),
        pytest.param(lambda host, score: [{"HOST": host, "Score": score}], id="in any case"),
        pytest.param(
            lambda host, score: [{"host": host, "score": score - 3}, {"host": host, "score": 3}],
            id="in two entries, which are added up",
        ),
        pytest.param(
            lambda host, score: [{"host": host, "score": score}, {"host": host}],
            id="with one without a score, which is 0",
        ),
        pytest.param(
            lambda host, score: [{"host": host, "score": score}, {"score": 7}],
            id="with one of no host",
        ),
    ],
)
def test_a_body_has_the_scores_of_its_entries(written: Callable[[str, int], Entries]) -> None:
    assert differences([each for pair in SCORES.items() for each in written(*pair)]) == []


def test_another_score_is_a_difference() -> None:
    body = [{"host": host, "score": score + 1} for host, score in SCORES.items()]
    assert any(field.startswith("total") for field in differences(body))


def test_an_error_that_is_expected_and_does_not_come_is_a_difference() -> None:
    reports: dict[str, FamilyReport] = {}
    check_cases([CASE | {"expect": CASE["expect"] | {"error": "no"}}], reports)
    (wrong,) = reports["classic_prioritize"].mismatches
    assert (wrong.field, wrong.expected, wrong.actual) == ("error", "no", None)


@pytest.mark.parametrize(
    "body", ["null", "[]", "", "{", "{}", '[{"host": 1}]', '[{"score": "1"}]', "[1]"]
)
def test_a_body_without_scores_adds_none(body: str) -> None:
    assert any(field.startswith("total") for field in differences(body))

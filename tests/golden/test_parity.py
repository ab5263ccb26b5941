"""podwright decides every recorded case as the real kube-scheduler does, in every field."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podwright.scheduler.framework.events import ActionType, EventHint, Hint
from podwright.scheduler.queueing import HintTable
from podwright.testing.parity import queue
from podwright.testing.parity.comparison import Comparison
from podwright.testing.parity.report import (
    FAMILIES as ALL_FAMILIES,
    FamilyReport,
    check_cases,
)

VECTORS = Path(__file__).parent / "vectors"
FAMILIES = sorted(
    str(file.relative_to(VECTORS)).removesuffix(".jsonl.gz") for file in VECTORS.rglob("*.jsonl.gz")
)
"""Files by name; `found/` has cases in which podwright once differed."""

LEFT_OUT = {
    "config": {
        "the recorder did not pass an unknown feature gate, which kube-scheduler rejects": 1,
    },
    "gang": {
        "feature gate TopologyAwareWorkloadScheduling (alpha) is not implemented": 16,
        "feature gate WorkloadAwarePreemption (alpha) is not implemented": 24,
    },
}
"""The number of cases per family that are not compared, and the reason; all others are."""

NOT_GREEN: dict[str, str] = {}
"""Families with known differences, and the reason; each of them must have differences."""

pytestmark = pytest.mark.golden


def report_of(family: str) -> FamilyReport:
    reports: dict[str, FamilyReport] = {}
    check_cases(read(family), reports)
    name = family.rpartition("/")[2]
    assert list(reports) == [name]
    return reports[name]


def read(family: str) -> Iterator[dict[str, Any]]:
    with gzip.open(VECTORS / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def in_words(report: FamilyReport) -> str:
    """Return the agreement per field and the first differences."""
    shares = [
        f"{field}: {report.agreeing_fields[field]} of {count}"
        for field, count in report.fields.items()
        if report.agreeing_fields[field] != count
    ]
    first = [
        f"{wrong.case}: {wrong.field}: expected {wrong.expected!r}, got {wrong.actual!r}"
        for wrong in report.mismatches[:5]
    ]
    return "\n".join([f"{report.agreeing_cases} of {report.cases} cases agree", *shares, *first])


@pytest.mark.parametrize("family", [f for f in FAMILIES if f not in NOT_GREEN])
def test_every_field_of_every_case_agrees(family: str) -> None:
    report = report_of(family)
    assert not report.mismatches, in_words(report)
    assert report.agreeing_cases == report.cases
    assert report.left_out == LEFT_OUT.get(family, {})
    assert report.cases + report.left_out.total() == sum(1 for _ in read(family))
    assert report.agreeing_fields == report.fields


def test_all_families_are_here() -> None:
    of_1_36 = {family for family in ALL_FAMILIES if not family.startswith("classic_")}
    assert set(FAMILIES) == of_1_36 | {
        "found/cel",
        "found/config",
        "found/extenders",
        "found/gang",
    }
    assert len(of_1_36) == 43


QUANTITIES = {"id": "a", "family": "quantities", "quantities": ["1"], "expect": []}


def test_a_case_without_compared_fields_is_a_difference() -> None:
    reports: dict[str, FamilyReport] = {}
    check_cases([QUANTITIES | {"quantities": []}], reports)
    assert [wrong.field for wrong in reports["quantities"].mismatches] == ["nothing was compared"]
    assert (reports["quantities"].cases, reports["quantities"].agreeing_cases) == (1, 0)


def test_a_check_that_raises_is_a_difference_and_the_next_case_is_compared() -> None:
    reports: dict[str, FamilyReport] = {}
    whole = QUANTITIES | {"id": "b", "expect": [{"value": "1", "milli": "1000"}]}
    check_cases([QUANTITIES, whole], reports)
    (wrong,) = reports["quantities"].mismatches
    assert (wrong.case, wrong.field) == ("a", "the check failed")
    assert str(wrong.actual).startswith("ValueError: zip()")
    assert (reports["quantities"].cases, reports["quantities"].agreeing_cases) == (2, 1)


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ({"id": "a"}, "not a vector"),
        ({"id": "a", "family": 1}, "not a vector"),
        ({"id": "a", "family": "hint"}, "unknown family 'hint'; the families are balanced"),
        ({"id": "a", "family": "taints", "pod": {}}, "a case of taints needs objects, expect"),
    ],
)
def test_what_cannot_be_checked_is_refused(case: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        check_cases([case], {})


def test_a_hint_that_raises_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Hint:
        raise RuntimeError("broken")

    table = HintTable({"Broken": [EventHint("Node", ActionType.ALL, broken)]})
    monkeypatch.setattr(queue, "default_hints", lambda _: table)
    case = next(read("hints"))
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    event = {"resource": "Node", "action": "Add", "hints": {"Broken": "Error"}}
    case |= {"change": {"new": node}, "expect": {"events": [event]}}
    (result,) = queue.check_hints(case)
    assert isinstance(result, Comparison)
    assert result.agrees, result
    case["expect"] = {"events": [event | {"hints": {"Broken": "Queue"}}]}
    (result,) = queue.check_hints(case)
    assert isinstance(result, Comparison)
    assert not result.agrees


def test_families_that_are_not_green_really_disagree() -> None:
    green = [family for family in NOT_GREEN if not report_of(family).mismatches]
    assert not green, f"take them out of NOT_GREEN: {green}"


def test_families_that_are_not_checked_are_named_with_a_reason() -> None:
    assert all(NOT_GREEN.values())

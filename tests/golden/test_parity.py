"""podwright decides every recorded case as the real kube-scheduler does, in every field."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
        "upstream evicts for a group while its members return to the queue, some of them not"
        " gated": 1,
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


def test_families_that_are_not_green_really_disagree() -> None:
    green = [family for family in NOT_GREEN if not report_of(family).mismatches]
    assert not green, f"take them out of NOT_GREEN: {green}"


def test_families_that_are_not_checked_are_named_with_a_reason() -> None:
    assert all(NOT_GREEN.values())

"""podwright decides every recorded case as the real kube-scheduler did, field by field.

All vectors together take a quarter of a minute on one core, so all are in the normal run.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podwright.parity.report import NOT_YET, FamilyReport, check_cases

VECTORS = Path(__file__).parent / "vectors"
FAMILIES = sorted(
    str(file.relative_to(VECTORS)).removesuffix(".jsonl.gz") for file in VECTORS.rglob("*.jsonl.gz")
)
"""Files by name; `found/` holds cases on which podwright once differed."""

NOT_GREEN: dict[str, str] = {}
"""Families that can be checked but do not agree yet, and why; each must really disagree."""

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


@pytest.mark.parametrize("family", [f for f in FAMILIES if f not in {*NOT_YET, *NOT_GREEN}])
def test_every_field_of_every_case_agrees(family: str) -> None:
    report = report_of(family)
    assert not report.mismatches, in_words(report)
    assert report.agreeing_cases == report.cases
    assert report.cases + sum(report.left_out.values()) >= sum(1 for _ in read(family))


def test_families_that_are_not_green_really_disagree() -> None:
    green = [family for family in NOT_GREEN if not report_of(family).mismatches]
    assert not green, f"take them out of NOT_GREEN: {green}"


def test_families_that_are_not_checked_are_named_with_a_reason() -> None:
    assert set(NOT_YET) <= set(FAMILIES)
    assert all({**NOT_YET, **NOT_GREEN}.values())

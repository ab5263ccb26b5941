"""The v1.16 rules decide every recorded case as kube-scheduler 1.16 does, in every field."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from podwright.testing.parity.report import FamilyReport, check_cases

VECTORS = Path(__file__).parent / "classic"
FAMILIES = sorted(file.name.removesuffix(".jsonl.gz") for file in VECTORS.glob("*.jsonl.gz"))

pytestmark = pytest.mark.golden


def test_all_families_are_here():
    assert FAMILIES == [
        "classic_decision",
        "classic_events",
        "classic_node_tree",
        "classic_preemption",
        "classic_priorities",
        "classic_prioritize",
        "classic_queue",
        "classic_sequence",
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_field_of_every_case_agrees(family):
    reports: dict[str, FamilyReport] = {}
    with gzip.open(VECTORS / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        check_cases(map(json.loads, lines), reports)
    report = reports[family]
    wrong = [f"{m.case}: {m.field}: {m.expected!r} != {m.actual!r}" for m in report.mismatches[:5]]
    assert not wrong, "\n".join(wrong)
    assert report.cases == report.agreeing_cases > 0
    assert not report.left_out

"""Of the recorded cases of each family, the smallest that together have every field agree.

All of them are compared in `tests/golden/test_parity.py`.
"""

from __future__ import annotations

import gzip
import json
import re
from typing import Any

import pytest

from podwright.testing.parity import FamilyReport, check_cases
from podwright.testing.parity.tests.test_wrong_values import FILES

FIELD = re.compile(
    # Words that decide what happens.
    r'"(?:code|kind|op|operator|phase|policy|reason|status)": ?"[^"]*"'
    # The beginnings of errors.
    r'|"error": ?"[^"]{5,24}|"message": ?"preemption: [^"]{3,8}'
    # A field with the kind of its value, of which those that are empty are kinds of their own.
    r'|"[a-zA-Z_]+": ?(?:\[\]|\{\}|""|\D|0\b)?'
)


def smallest_cases(family: str) -> list[dict[str, Any]]:
    """Return each case that has a field, or a set of expected ones, that no smaller one has."""
    with gzip.open(FILES[family], "rt", encoding="utf-8") as lines:
        texts = [line for line in lines if '"WorkloadAwarePreemption"' not in line]
    chosen, seen = [], set[object]()
    for text in sorted(texts, key=len):
        given, _, expected = text.partition('"expect":')
        fields: set[object] = {(False, each) for each in FIELD.findall(given)}
        fields |= {(True, each) for each in FIELD.findall(expected)}
        case = json.loads(text)
        if isinstance(case.get("expect"), dict):
            fields.add(frozenset(case["expect"]))
        if not fields <= seen:
            chosen.append(case)
            seen |= fields
    return chosen


@pytest.mark.parametrize("family", sorted(FILES))
def test_the_smallest_cases_with_each_field_agree(family: str) -> None:
    reports: dict[str, FamilyReport] = {}
    cases = smallest_cases(family)
    check_cases(cases, reports)
    report = reports[family]
    assert report.mismatches == []
    assert report.agreeing_cases + report.left_out.total() == len(cases)
    assert report.agreeing_fields == report.fields

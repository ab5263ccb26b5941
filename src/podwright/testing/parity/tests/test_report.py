"""What the report of a comparison says of cases that are wrong themselves, or whose check fails."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from podwright.scheduler.framework.events import ActionType, EventHint, Hint
from podwright.scheduler.queueing import HintTable
from podwright.testing.parity import FamilyReport, check_case, check_cases, queue
from podwright.testing.parity.comparison import Comparison
from podwright.testing.parity.tests.test_recorded_cases import smallest_cases

QUANTITIES = {"id": "a", "family": "quantities", "quantities": ["1"], "expect": []}


def test_a_case_without_compared_fields_is_a_difference() -> None:
    reports: dict[str, FamilyReport] = {}
    check_cases([QUANTITIES | {"quantities": []}], reports)
    assert [wrong.field for wrong in reports["quantities"].mismatches] == ["nothing was compared"]
    assert (reports["quantities"].cases, reports["quantities"].agreeing_cases) == (1, 0)


HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def test_a_case_that_is_left_out_counts_as_neither_compared_nor_agreeing() -> None:
    reports: dict[str, FamilyReport] = {}
    case = {"id": "a", "family": "config", "file": HEAD, "accepted": True, "output": {}}
    check_cases([case | {"gates": "Unknown=true"}], reports)
    reason = "the recorder did not pass an unknown feature gate, which kube-scheduler rejects"
    assert reports["config"] == FamilyReport("config", left_out=Counter({reason: 1}))


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
    with pytest.raises(ValueError, match=problem):
        list(check_case(case))


def test_a_hint_that_raises_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Hint:
        raise RuntimeError("broken")

    table = HintTable({"Broken": [EventHint("Node", ActionType.ALL, broken)]})
    monkeypatch.setattr(queue, "default_hints", lambda _: table)
    case = smallest_cases("hints")[0]
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

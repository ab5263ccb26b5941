"""The conditions that the driver of a device has yet to set."""

from __future__ import annotations

import pytest

from podwright.cluster.controllers.devices.binding_conditions import _missing_conditions
from podwright.cluster.controllers.tests.staged_cluster import NOW, at

RESULT = {"bindingConditions": ["a", "b"], "bindingFailureConditions": ["x", "y"]}


def status(**conditions):
    return {"conditions": [{"type": name, "status": value} for name, value in conditions.items()]}


@pytest.mark.parametrize(
    ("present", "failure", "expected"),
    [
        (None, "", [("a", "Bound"), ("b", "Bound")]),
        (status(a="True"), "", [("b", "Bound")]),
        (status(a="False", b="True"), "", [("a", "Bound")]),
        (status(a="True", b="True"), "", []),
        (status(), "broken", [("x", "BindingFailed")]),
        (status(a="True", x="True"), "broken", []),
    ],
)
def test_each_condition_is_set_once(present, failure, expected):
    found = _missing_conditions(RESULT, present, failure, NOW)
    assert [(each["type"], each["reason"]) for each in found] == expected
    assert {each["status"] for each in found} <= {"True"}
    assert {each["message"] for each in found} <= {failure}
    assert {each["lastTransitionTime"] for each in found} <= {at(0)}


def test_without_a_condition_of_failure_there_is_none():
    assert _missing_conditions({"bindingConditions": ["a"]}, None, "broken", NOW) == []

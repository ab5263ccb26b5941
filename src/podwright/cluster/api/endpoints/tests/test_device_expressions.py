"""Expressions that select devices: which the API refuses."""

from __future__ import annotations

import pytest

from podwright.cluster.api.endpoints.kinds.device_expressions import device_expression_problems

_NESTED = (
    'device.attributes["a"].all(k, device.attributes["a"].all(l, device.attributes["a"].all(m,'
    ' device.attributes["a"].all(n, k.matches(l)))))'
)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        pytest.param('device.driver == "a"', "", id="an ordinary one"),
        pytest.param("device.driver", "Invalid value", id="one without a boolean result"),
        pytest.param(_NESTED, "Forbidden: too complex, exceeds cost limit", id="one that may cost"),
    ],
)
def test_what_is_wrong_with_an_expression(expression: str, problem: str) -> None:
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    found = device_expression_problems("DeviceClass", {"spec": spec})
    assert [text[: len(problem)] for _, text, _ in found] == [problem] * bool(problem)

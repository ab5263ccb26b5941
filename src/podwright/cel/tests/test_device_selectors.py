"""The estimated cost of selectors of devices."""

from __future__ import annotations

import pytest

from podwright.cel import compile_selector


@pytest.mark.parametrize(
    ("source", "cost"),
    [
        pytest.param("device.allowMultipleAllocations", 2, id="a field"),
        pytest.param("device.allowMultipleAllocations == true", 3, id="its comparison"),
        pytest.param(
            'device.allowMultipleAllocations == device.attributes["a"].b', 7, id="of two fields"
        ),
        pytest.param('device.driver == "a"', 3, id="a text"),
    ],
)
def test_the_estimate_is_upstreams(source: str, cost: int) -> None:
    assert compile_selector(source).max_cost() == cost

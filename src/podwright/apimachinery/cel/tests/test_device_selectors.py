"""The estimated and the counted cost of selectors of devices."""

from __future__ import annotations

import pytest

from podwright.apimachinery.cel import compile_selector, device_value


@pytest.mark.parametrize(
    ("source", "cost"),
    [
        pytest.param("device.allowMultipleAllocations", 2, id="a field"),
        pytest.param("device.allowMultipleAllocations == true", 3, id="its comparison"),
        pytest.param(
            'device.allowMultipleAllocations == device.attributes["a"].b', 7, id="of two fields"
        ),
        pytest.param('device.driver == "a"', 3, id="a text"),
        pytest.param(
            'device.attributes["a"].all(k, k.contains("b"))', 260, id="32 names of 32 characters"
        ),
        pytest.param(
            'device.attributes["a"].all(k, (k + k + k).contains("b"))', 1060, id="three of them"
        ),
        pytest.param('device.attributes["a"].b.includes("x")', 52, id="a list of 48 values"),
    ],
)
def test_the_estimate_is_upstreams(source: str, cost: int) -> None:
    assert compile_selector(source).max_cost() == cost


@pytest.mark.parametrize(
    ("source", "cost"),
    [
        pytest.param("[{0}].size() == 1", 16, id="a list without an element"),
        pytest.param("[{0}].sort().size() == 1", 17, id="a call with one argument"),
        pytest.param(
            "[{0}].sortBy(y, y).size() == 1", 19, id="both arguments of a call are evaluated"
        ),
    ],
)
def test_the_cost_with_an_absent_attribute_is_upstreams(source: str, cost: int) -> None:
    device = device_value("a.example", {"name": "d", "attributes": {}})
    selector = compile_selector(source.format('device.attributes["a.example"].size'))
    found = selector.evaluate(device)
    assert (found.error, found.cost) == ("no such key: size", cost)

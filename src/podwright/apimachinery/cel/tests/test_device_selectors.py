"""Selectors of devices: their variable, and their estimated and counted cost."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.cel import compile_selector, device_value
from podwright.apimachinery.cel.estimate import Range
from podwright.apimachinery.cel.uses.device_selectors import (
    _STORED,
    DeviceError,
    SelectorError,
    _DeviceBounds,
)


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
        pytest.param('"a".lowerAscii() == "a"', 2, id="a text that is written out"),
        pytest.param(
            'string(1).lowerAscii() == "a"', 1844674407370955266, id="a text that has no path"
        ),
    ],
)
def test_the_estimate_is_upstreams(source: str, cost: int) -> None:
    assert compile_selector(source).max_cost() == cost


@pytest.mark.parametrize(
    ("source", "low", "high"),
    [
        ('device.driver == "a"', 3, 3),
        ('device.driver.contains("a")', 2, 9),
        ('device.attributes.all(k, k == "a")', 3, 163),
        ('device.attributes["a"].all(k, k == "b")', 4, 164),
        ('device.attributes["a"].b.includes("x")', 5, 52),
        ('"x".includes("x")', 1, 48),
        ('["x"].includes("x")', 11, 58),
        ('[].join() == ""', 10, 10),
    ],
)
def test_the_estimate_begins_with_empty_maps_and_one_comparison(
    source: str, low: int, high: int
) -> None:
    cost = compile_selector(source)._compiled.cost()
    assert (cost.low, cost.high) == (low, high)


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


DEVICE = {
    "name": "gpu-0",
    "attributes": {
        "index": {"int": 3},
        "healthy": {"bool": False},
        "other.example/model": {"string": "a"},
        "driver": {"version": "1.2.3"},
    },
    "capacity": {"memory": {"value": "2Gi"}, "other.example/lanes": {"value": " 16 "}},
}


@pytest.mark.parametrize(
    "source",
    [
        'device.driver == "a.example"',
        'device.attributes["a.example"].index == 3',
        'device.attributes["a.example"].healthy == false',
        'device.attributes["other.example"].model == "a"',
        'device.attributes["a.example"].driver.isLessThan(semver("1.10.0"))',
        'device.capacity["a.example"].memory.compareTo(quantity("2Gi")) == 0',
        'device.capacity["other.example"].lanes.isGreaterThan(quantity("15"))',
        '!("model" in device.attributes["a.example"])',
        'device.attributes["unknown.example"].size() == 0',
        'device.capacity["unknown.example"].size() == 0',
        "!device.allowMultipleAllocations",
    ],
)
def test_a_name_without_a_domain_has_that_of_the_driver(source: str) -> None:
    found = compile_selector(source).evaluate(device_value("a.example", DEVICE))
    assert (found.matches, found.error) == (True, "")


def test_a_device_may_be_allocated_more_than_once() -> None:
    device = device_value("a.example", DEVICE | {"allowMultipleAllocations": True})
    assert compile_selector("device.allowMultipleAllocations").evaluate(device).matches


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"attributes": {"size": {}}}, "attribute size: unsupported attribute value"),
        (
            {"attributes": {"size": {"version": "1"}}},
            "attribute size: parse semantic version: No Major.Minor.Patch elements found",
        ),
        ({"capacity": {"memory": {"value": "much"}}}, "capacity memory: "),
    ],
)
def test_a_value_that_cannot_be_read_is_an_error(field: dict[str, Any], message: str) -> None:
    with pytest.raises(DeviceError) as error:
        device_value("a.example", {"name": "d"} | field)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (
            'other.example"].model',
            "type string could not be converted to bool: unsupported native conversion from string",
        ),
        (
            'a.example"].index',
            "type int could not be converted to bool: unsupported type conversion from 'int'",
        ),
        (
            'a.example"].driver',
            "type kubernetes.Semver could not be converted to bool: type conversion error from"
            " 'Semver' to 'bool'",
        ),
    ],
)
def test_a_value_that_is_not_a_bool_does_not_match(source: str, problem: str) -> None:
    selector = compile_selector(f'device.attributes["{source}')
    found = selector.evaluate(device_value("a.example", DEVICE))
    assert not found.matches
    assert found.error.startswith(f"CEL result of {problem}")


def test_a_selector_is_a_condition() -> None:
    with pytest.raises(SelectorError) as raised:
        compile_selector("1")
    assert str(raised.value) == "must evaluate to bool or the unknown type, not int"


@pytest.mark.parametrize(
    ("path", "most"),
    [
        (("x",), None),
        (("device",), 0),
        (("device", "driver"), 63),
        (("device", "driver", "a"), None),
        (("device", "allowMultipleAllocations"), 1),
        (("device", "other"), None),
        (("device", "attributes"), 32),
        (("device", "attributes", "@keys"), 63),
        (("device", "attributes", "@keys", "x"), None),
        (("device", "attributes", "@values"), 32),
        (("device", "attributes", "x"), None),
        (("device", "attributes", "@values", "@keys"), 32),
        (("device", "attributes", "@values", "@values"), 64),
        (("device", "attributes", "@values", "x"), 64),
        (("device", "attributes", "@values", "@values", "x"), None),
        (("device", "capacity", "@values", "@values"), 0),
        (("device", "capacity", "@items", "@items"), 0),
        (("device", "capacity", "@values", "@keys"), 32),
        (("device", "capacity", "@values", "x"), None),
    ],
)
def test_the_parts_of_a_device_have_upstreams_sizes(
    path: tuple[str, ...], most: int | None
) -> None:
    expected = None if most is None else Range(0, most)
    assert _DeviceBounds().size(path) == expected


def test_the_fields_of_a_literal_are_a_part_of_its_cost() -> None:
    text = "kubernetes.DRADevice{{driver: {}}}.driver == 'x'"
    plain, read = (_STORED.compile(text.format(one)).cost() for one in ('"y"', "device.driver"))
    assert (read.low - plain.low, read.high - plain.high) == (2, 2)


@pytest.mark.parametrize(
    ("expression", "matches"),
    [
        ('device.attributes["d"].model.includes("x")', True),
        ('device.attributes["d"].model.includes("y")', False),
        ('device.attributes["d"].numa.includes(1)', True),
        ('device.attributes["d"].numa.includes("1")', False),
        ('device.attributes["d"].healthy.includes(false)', True),
        ('["a", "b"].includes("b")', True),
        ('["a", "b"].includes("c")', False),
        ("[1, 2].includes(1.0)", True),
        ("[].includes(1)", False),
        ('[["a"]].includes(["a"])', True),
    ],
)
def test_a_value_includes_itself_and_a_list_its_elements(expression: str, matches: bool) -> None:
    attributes = {"model": {"string": "x"}, "numa": {"int": 1}, "healthy": {"bool": False}}
    device = device_value("d", {"attributes": attributes})
    found = compile_selector(expression).evaluate(device)
    assert (found.matches, found.error) == (matches, "")

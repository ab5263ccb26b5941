"""Rules about long lists do work in proportion to the length of the list."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from podwright.apimachinery.schema.validation import (
    admission,
    core,
    jobs,
    metadata,
    networking,
    node,
    services,
    storage,
    trust,
)
from podwright.apimachinery.schema.validation.custom import definition_schemas
from podwright.apimachinery.schema.validation.dynamic_resources import devices
from podwright.apimachinery.schema.validation.field_errors import TEXT_MAX, FieldErrors, repeats
from podwright.apimachinery.schema.validation.pods import pod_update, resources, scheduling
from podwright.apimachinery.schema.validation.rules import SEGMENT, distinct
from podwright.apimachinery.schema.warnings.pods import path_warnings, port_warnings

COUNT = 50


class Text(str):
    """A text that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Text.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


class Item(dict[str, Any]):
    """An object that counts how often it is compared."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        Text.compared += 1
        return dict.__eq__(self, other)

    __hash__ = None  # as of every dict


def _names(count: int) -> list[str]:
    return [Text(f"name-{number}") for number in range(count)]


def _numbers(count: int) -> list[Any]:
    return list(range(1, count + 1))


def _named(field: str = "name", **fields: Any) -> Callable[[int], list[Any]]:
    return lambda count: [Item({field: f"name-{number}"}, **fields) for number in range(count)]


RULES: dict[str, tuple[Callable[..., Any], Callable[[int], list[Any]]]] = {
    "review versions": (
        lambda items: admission.validate_review_versions(
            FieldErrors(), "v", items, needs_known=False
        ),
        _names,
    ),
    "resource names": (lambda items: distinct(SEGMENT)(FieldErrors(), "v", items), _names),
    "actions": (lambda items: admission._validate_actions(FieldErrors(), "v", items), _names),
    "conditions of signing requests": (
        lambda items: trust._validate_conditions(FieldErrors(), {"status": {"conditions": items}}),
        _named("type", status="True"),
    ),
    "keys of list maps": (
        lambda items: definition_schemas._validate_map_keys(
            FieldErrors(),
            {
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": items,
                "items": {"type": "object", "properties": {}},
            },
            "s",
        ),
        _names,
    ),
    "binding conditions": (
        lambda items: devices.validate_binding_conditions(
            FieldErrors(), "d", {"bindingConditions": items, "bindingFailureConditions": items}
        ),
        _names,
    ),
    "distinct items": (
        lambda items: devices.validate_distinct(
            FieldErrors(), "d", items, len(items), lambda *_: None
        ),
        _names,
    ),
    "zones of hints": (
        lambda items: networking._ZONES(FieldErrors(), "z", items),
        lambda count: _named()(min(count, 8)),
    ),
    "exit codes": (
        lambda items: jobs._validate_exit_codes(
            FieldErrors(), "c", {"operator": "In", "values": items}, set()
        ),
        _numbers,
    ),
    "owners": (
        lambda items: metadata._validate_owners(FieldErrors(), items),
        _named(apiVersion="v1", kind="Pod", uid="u"),
    ),
    "addresses of nodes": (
        lambda items: node._validate_addresses(FieldErrors(), items),
        _named("address", type="Hostname"),
    ),
    "tolerations of runtime classes": (
        lambda items: core.validate_runtime_class(
            FieldErrors(), {"handler": "h", "scheduling": {"tolerations": items}}
        ),
        _named("key", operator="Exists"),
    ),
    "kept tolerations": (
        lambda items: pod_update._validate_added_tolerations(
            FieldErrors(), {"tolerations": items}, {"tolerations": items}
        ),
        _named("key", operator="Exists"),
    ),
    "claims of containers": (
        lambda items: resources._validate_claims(FieldErrors(), "c", items, {"a"}),
        _named(),
    ),
    "spreading": (
        lambda items: scheduling.validate_spread_constraints(FieldErrors(), "c", items),
        _named("topologyKey", maxSkew=1, whenUnsatisfiable="DoNotSchedule"),
    ),
    "label keys": (
        lambda items: scheduling._validate_label_keys(
            FieldErrors(),
            "c",
            {
                "labelSelector": {"matchExpressions": [{"key": each} for each in items]},
                "matchLabelKeys": items,
                "mismatchLabelKeys": _names(len(items)),
            },
        ),
        _names,
    ),
    "families": (
        lambda items: services._validate_families(FieldErrors(), {"ipFamilies": items}),
        _names,
    ),
    "topologies": (
        lambda items: storage._validate_topologies(FieldErrors(), "t", items),
        lambda count: [
            {"matchLabelExpressions": [{"key": "zone", "values": [each]}]} for each in _names(count)
        ],
    ),
    "ports of containers": (
        lambda items: port_warnings([("c", {"ports": items})]),
        lambda count: [
            {"containerPort": 80, "hostPort": number, "protocol": "TCP"}
            for number in _numbers(count)
        ],
    ),
    "paths of volumes": (
        lambda items: path_warnings([{"name": "v", "configMap": {"items": items}}]),
        _named("path"),
    ),
}


def _work(rule: Callable[..., Any], items: list[Any]) -> int:
    """Return how many functions, generators and comparisons of texts a rule runs."""
    calls = 0

    def called(*_: Any) -> None:
        nonlocal calls
        calls += 1

    before = Text.compared
    sys.setprofile(called)
    try:
        rule(items)
    finally:
        sys.setprofile(None)
    return calls + Text.compared - before


@pytest.mark.parametrize("name", RULES)
def test_a_rule_is_linear_in_the_length_of_a_list(name):
    rule, make = RULES[name]
    _work(rule, make(2))  # what is computed once
    first = _work(rule, make(COUNT))
    assert _work(rule, make(10 * COUNT)) < 15 * first


def test_values_of_json_are_repeated_when_they_are_equal():
    values = ["a", {"b": [1], "c": None}, "a", {"c": None, "b": [1]}, {"b": [1]}, '"a"', 1, "1"]
    assert list(repeats(values)) == [False, False, True, True, False, False, False, False]


def test_errors_that_all_print_a_long_list_have_a_limit():
    errors, value = FieldErrors(), ["x" * 100] * 10_000
    for _ in range(1_000):
        errors.invalid("metadata.ownerReferences", value, "must not")
    assert sum(len(message) for _, message, _ in errors.problems) < 2 * TEXT_MAX
    assert len(errors) == 1_000
    assert errors.problems[-1][1] == 'Invalid value: "..."'


def test_files_that_all_overlap_have_as_many_warnings_as_a_reply_has_room_for():
    items = [{"path": "a/b"}] * 1_000
    assert len(path_warnings([{"name": "v", "configMap": {"items": items}}])) == 4096


def test_ports_that_all_overlap_have_as_many_warnings_as_a_reply_has_room_for():
    assert len(port_warnings([("c", {"ports": [{"containerPort": 80}] * 1_000})])) == 4096

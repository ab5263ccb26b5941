"""Values with types: errors, field sets, comparison, merging and removal."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.patching.typed_values import (
    difference_of,
    field_set,
    joined_errors,
    merged,
    removed_from,
    type_errors,
    with_named_fields,
)
from podwright.apimachinery.patching.value_types import DEDUCED, struct_type, structural_type

SPEC = struct_type("core.v1.PodSpec")
META = struct_type("meta.v1.ObjectMeta")
PORT = 'k:{"containerPort":80,"protocol":"TCP"}'
C = 'k:{"name":"c"}'

CUSTOM = structural_type(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"x-kubernetes-int-or-string": True},
                    "on": {"type": "boolean"},
                    "count": {"type": "integer"},
                    "tags": {
                        "type": "array",
                        "items": {"type": "string"},
                        "x-kubernetes-list-type": "set",
                    },
                    "plain": {"type": "array", "items": {"type": "object"}},
                    "byKey": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["kind", "id"],
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": {"type": "string"},
                                "kind": {"type": "string", "default": "A"},
                                "x": {"type": "integer"},
                            },
                        },
                    },
                    "whole": {
                        "type": "object",
                        "x-kubernetes-map-type": "atomic",
                        "properties": {"a": {"type": "string"}},
                    },
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "any": {"x-kubernetes-preserve-unknown-fields": True},
                    "map": {"type": "object", "additionalProperties": {"type": "string"}},
                    "template": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "x-kubernetes-preserve-unknown-fields": True,
                    },
                },
            }
        },
    }
)


# --------------------------------------------------------------------------- type errors


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"hostname": 1}, ".hostname: expected string, got &value.valueUnstructured{Value:1}"),
        ({"priority": "1"}, ".priority: expected numeric (int or float), got string"),
        ({"priority": True}, ".priority: expected numeric (int or float), got bool"),
        ({"hostIPC": "x"}, ".hostIPC: expected boolean, got &{x}"),
        ({"overhead": {"cpu": {}}}, ".overhead.cpu: expected any scalar, got &{map[]}"),
        ({"containers": {}}, ".containers: expected list, got &{map[]}"),
        ({"affinity": []}, ".affinity: expected map, got &{[]}"),
        ({"bogus": 1}, ".bogus: field not declared in schema"),
        ({"containers": [None]},
         ".containers: element 0: associative list with keys may not have a null element"),
        ({"containers": ["c"]},
         ".containers: element 0: associative list with keys may not have non-map elements"),
        ({"containers": [{"name": "c"}, {"name": "c"}]},
         '.containers: duplicate entries for key [name="c"]'),
        ({"containers": [{"name": "c", "bogus": 1}]},
         '.containers[name="c"].bogus: field not declared in schema'),
        ({"tolerations": [{"key": 1}]},
         ".tolerations[0].key: expected string, got &value.valueUnstructured{Value:1}"),
    ],
)  # fmt: skip
def test_a_wrong_type_is_reported_with_its_path(value: Any, message: str) -> None:
    assert type_errors(value, SPEC) == [message]


DUPLICATE = '.containers: duplicate entries for key [name="c"]'


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        pytest.param({"containers": [{"name": "c"}] * 3}, [DUPLICATE] * 2, id="each further item"),
        pytest.param(
            {"containers": [{"name": "c", "tty": 1}, None, {"name": "d", "tty": 1}]},
            ['.containers[name="c"].tty: expected boolean, got &{1}',
             ".containers: element 1: associative list with keys may not have a null element"],
            id="an item of a wrong form is the last of its list",
        ),
        pytest.param(
            {"tolerations": [{"key": 1}, 5], "bogus": 1, "other": 2, "priority": "x"},
            [".tolerations[0].key: expected string, got &value.valueUnstructured{Value:1}",
             ".tolerations[1]: expected map, got &{5}", ".bogus: field not declared in schema"],
            id="an unknown field is the last of its object",
        ),
        pytest.param({"overhead": {"cpu": ["a"]}, "priority": [1]},
                     [".overhead.cpu: expected any scalar, got &{[a]}",
                      ".priority: expected numeric (int or float), got []interface {}"],
                     id="lists in the place of scalars"),
        pytest.param({"overhead": {"cpu": True}, "priority": 1.5}, [], id="any scalar"),
    ],
)  # fmt: skip
def test_several_errors_of_types(value: Any, messages: list[str]) -> None:
    assert type_errors(value, SPEC) == messages


def test_errors_of_types_are_joined_in_lines() -> None:
    assert joined_errors(["a"]) == "a"
    assert joined_errors(["a", "b"]) == "errors:\n  a\n  b"
    assert type_errors(5, SPEC) == ["expected map, got &{5}"]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({}, "associative list without keys has an element that's a map type"),
        ([], "not supported: associative list with lists as elements"),
        (None, "associative list without keys has an element that's an explicit null"),
    ],
)
def test_an_item_of_a_set_is_a_scalar(item: Any, message: str) -> None:
    assert type_errors({"finalizers": [item]}, META) == [f".finalizers: element 0: {message}"]


@pytest.mark.parametrize(
    "value",
    [
        {"priority": None, "containers": None, "affinity": None},
        {"priority": 1, "overhead": {"cpu": 1}, "hostIPC": False},
        {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]},
    ],
)
def test_a_right_type_has_no_errors(value: Any) -> None:
    assert type_errors(value, SPEC) == []


def test_a_key_that_go_always_writes_has_its_zero_value() -> None:
    assert type_errors({"containers": [{"image": "i"}]}, SPEC) == []


def test_a_key_without_a_default_is_required() -> None:
    definitions = {
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "properties": {"k": {"type": "string"}}},
    }  # fmt: skip
    of = structural_type({"type": "object", "properties": {"l": definitions}})
    assert type_errors({"l": [{}]}, of) == [
        ".l: element 0: associative list with keys has an element that omits all key "
        'fields ["k"] (and doesn\'t have default values for any key fields)'
    ]


def test_nested_values_are_printed_as_go_does() -> None:
    found = type_errors({"schedulerName": {"a": [1, "b", None]}}, SPEC)
    assert found == [
        ".schedulerName: expected string, got &value.valueUnstructured{Value:"
        'map[string]interface {}{"a":[]interface {}{1, "b", interface {}(nil)}}}'
    ]


def test_the_types_of_a_structural_schema() -> None:
    spec = {"size": "1", "on": True, "count": 1, "free": {"x": [1]}, "any": 3, "map": {"a": "b"}}
    assert type_errors({"spec": spec, "metadata": {"labels": {}}}, CUSTOM) == []
    template = {"apiVersion": "v1", "metadata": {"bogus": 1}}
    wrong = {"on": 1, "bogus": 2}
    assert type_errors({"spec": wrong}, CUSTOM) == [
        ".spec.on: expected boolean, got &{1}",
        ".spec.bogus: field not declared in schema",
    ]
    assert type_errors({"spec": {"template": template}}, CUSTOM) == [
        ".spec.template.metadata.bogus: field not declared in schema"
    ]


# ---------------------------------------------------------------------------- field sets


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"hostname": "h", "priority": 0}, {"f:hostname": {}, "f:priority": {}}),
        pytest.param({"hostname": None}, {"f:hostname": {}}, id="null is set"),
        pytest.param({"affinity": {}}, {"f:affinity": {}}, id="an empty object is set"),
        pytest.param({"containers": []}, {}, id="an empty list of items with owners is not"),
        pytest.param({"tolerations": []}, {"f:tolerations": {}}, id="an empty atomic list is"),
        pytest.param({"tolerations": [{"key": "a"}]}, {"f:tolerations": {}}, id="atomic list"),
        pytest.param({"nodeSelector": {"a": "b"}}, {"f:nodeSelector": {}}, id="atomic map"),
        pytest.param({"overhead": {"cpu": "1"}}, {"f:overhead": {"f:cpu": {}}}, id="map"),
        pytest.param(
            {"containers": [{"name": "c", "ports": [{"containerPort": 80}]}]},
            {"f:containers": {C: {".": {}, "f:name": {},
                                  "f:ports": {PORT: {".": {}, "f:containerPort": {}}}}}},
            id="items with keys and a default of one",
        ),
        pytest.param(
            {"containers": [{"name": "c", "image": "a"}, {"name": "c", "image": "b"}]},
            {"f:containers": {C: {}}}, id="two items with one key have one owner",
        ),
    ],
)  # fmt: skip
def test_the_fields_of_a_pod_spec(value: Any, found: Any) -> None:
    assert field_set(value, SPEC) == found


def test_the_fields_of_a_custom_resource() -> None:
    spec = {
        "tags": ["b", "a"],
        "plain": [{"x": 1}],
        "byKey": [{"id": "1", "x": 2}],
        "whole": {"a": "b"},
        "free": {"x": {"y": [1]}, "z": {}},
        "any": [1],
    }
    assert field_set({"spec": spec}, CUSTOM) == {
        "f:spec": {
            "f:tags": {'v:"a"': {}, 'v:"b"': {}},
            "f:plain": {},
            "f:byKey": {'k:{"id":"1","kind":"A"}': {".": {}, "f:id": {}, "f:x": {}}},
            "f:whole": {},
            "f:free": {"f:x": {".": {}, "f:y": {}}, "f:z": {}},
            "f:any": {},
        }
    }


def test_the_fields_of_a_value_without_a_schema() -> None:
    assert field_set({"spec": {"a": [1], "b": {"c": 1}, "d": None}}, DEDUCED) == {
        "f:spec": {".": {}, "f:a": {}, "f:b": {".": {}, "f:c": {}}, "f:d": {}}
    }


# ----------------------------------------------------------------------------- comparison


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        ({"hostname": "a"}, {"hostname": "a"}, {}, {}),
        ({"hostname": "a"}, {"hostname": "b"}, {"f:hostname": {}}, {}),
        ({"hostname": "a"}, {}, {}, {"f:hostname": {}}),
        ({"hostname": "a"}, {"hostname": None}, {"f:hostname": {}}, {}),
        pytest.param(
            {}, {"overhead": {"cpu": "1"}}, {"f:overhead": {".": {}, "f:cpu": {}}}, {},
            id="a new map is added itself",
        ),
        pytest.param(
            {"overhead": {"cpu": "1"}}, {"overhead": {"memory": "1"}},
            {"f:overhead": {"f:memory": {}}}, {"f:overhead": {"f:cpu": {}}},
            id="keys of a map",
        ),
        pytest.param(
            {"overhead": {"cpu": "1"}}, {}, {}, {"f:overhead": {".": {}, "f:cpu": {}}},
            id="a map is removed itself",
        ),
        pytest.param({"overhead": {}}, {"overhead": None}, {"f:overhead": {}}, {},
                     id="null and an empty map differ"),
        pytest.param({"overhead": {"cpu": "1"}}, {"overhead": None},
                     {}, {"f:overhead": {"f:cpu": {}}}, id="null has no keys"),
        pytest.param(
            {"containers": None}, {"containers": [{"name": "c"}]},
            {"f:containers": {C: {".": {}, "f:name": {}}}}, {},
            id="items of a list that was null",
        ),
        pytest.param(
            {}, {"containers": [{"name": "c"}]},
            {"f:containers": {".": {}, C: {".": {}, "f:name": {}}}}, {}, id="a new list",
        ),
        pytest.param(
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"containers": [{"name": "b"}, {"name": "a"}]}, {}, {}, id="order does not count",
        ),
        pytest.param(
            {"tolerations": [{"key": "a"}]}, {"tolerations": []}, {"f:tolerations": {}}, {},
            id="an atomic list changes as a whole",
        ),
    ],
)  # fmt: skip
def test_differences_of_pod_specs(old: Any, new: Any, changed: Any, removed: Any) -> None:
    assert difference_of(old, new, SPEC) == (changed, removed)


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        (["a", "a"], ["a", "a"], {}, {}),
        (["a", "a"], ["a", "a", "a"], {'v:"a"': {}}, {}),
        (["a", "a"], ["a"], {'v:"a"': {}}, {'v:"a"': {}}),
        (["a"], ["a", "a"], {'v:"a"': {}}, {'v:"a"': {}}),
        (["a", "a"], ["b"], {'v:"b"': {}}, {'v:"a"': {}}),
    ],
)
def test_differences_of_duplicates(old: Any, new: Any, changed: Any, removed: Any) -> None:
    found = difference_of({"finalizers": old}, {"finalizers": new}, META)
    assert found.changed == ({"f:finalizers": changed} if changed else {})
    assert found.removed == ({"f:finalizers": removed} if removed else {})


@pytest.mark.parametrize(
    ("old", "new", "changed", "removed"),
    [
        (1, 1.0, None, None),
        (1, True, {}, None),
        ({"b": 1}, {"b": True}, {"f:b": {}}, None),
        ({"b": [1, {"c": 1}]}, {"b": [1, {"c": True}]}, {"f:b": {}}, None),
        (1, {"b": 1}, {".": {}, "f:b": {}}, None),
        ({"b": 1}, 1, {}, {"f:b": {}}),
        ([1], {"b": 1}, {".": {}, "f:b": {}}, None),
        (None, {"b": 1}, {"f:b": {}}, None),
        ({"b": 1}, {"c": 1}, {"f:c": {}}, {"f:b": {}}),
        ([1], [2], {}, None),
        (None, [], {}, None),
    ],
)
def test_differences_without_a_schema(old: Any, new: Any, changed: Any, removed: Any) -> None:
    found = difference_of({"a": old}, {"a": new}, DEDUCED)
    assert found.changed == ({} if changed is None else {"f:a": changed})
    assert found.removed == ({} if removed is None else {"f:a": removed})


# -------------------------------------------------------------------------------- merging


def containers(names: str) -> list[dict[str, str]]:
    """Return containers, each named by a letter."""
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("live", "configuration", "result"),
    [
        ("abc", "b", "abc"),
        pytest.param("abc", "x", "abcx", id="a new item stands last"),
        pytest.param("abc", "xc", "abxc", id="before the one it precedes"),
        pytest.param("abc", "ca", "bca", id="the order of the configuration"),
        pytest.param("abcd", "dxb", "acdxb", id="others stay where they are"),
        pytest.param("", "ab", "ab", id="nothing is there"),
        pytest.param("ab", "", "ab", id="nothing is set"),
        pytest.param("aab", "a", "ab", id="of two with one key the configuration is left"),
        pytest.param("aab", "b", "aab", id="two with one key stay"),
    ],
)
def test_order_of_merged_items(live: str, configuration: str, result: str) -> None:
    found = merged(
        {"containers": containers(live)}, {"containers": containers(configuration)}, SPEC
    )
    assert found == {"containers": containers(result)}


@pytest.mark.parametrize(
    ("live", "configuration", "result"),
    [
        ({"hostname": "a"}, {"priority": 1}, {"hostname": "a", "priority": 1}),
        ({"hostname": "a"}, {"hostname": None}, {"hostname": None}),
        ({"overhead": {"a": "1"}}, {"overhead": {"b": "2"}}, {"overhead": {"a": "1", "b": "2"}}),
        ({"overhead": {"a": "1"}}, {"overhead": None}, {"overhead": {"a": "1"}}),
        ({"overhead": {"a": "1"}}, {"overhead": {}}, {"overhead": {"a": "1"}}),
        ({"overhead": None}, {"overhead": {}}, {"overhead": {}}),
        ({"overhead": {}}, {"overhead": None}, {"overhead": None}),
        ({"containers": None}, {"containers": []}, {"containers": []}),
        ({"containers": []}, {"containers": None}, {"containers": None}),
        ({"overhead": ["a"]}, {"overhead": {"b": "2"}}, {"overhead": {"b": "2"}}),
        ({"containers": {"a": 1}}, {"containers": []}, {"containers": []}),
        (
            {"containers": [{"name": "c", "tty": True}, {"name": "c"}]},
            {"containers": [{"name": "c", "image": "2"}]},
            {"containers": [{"name": "c", "image": "2"}]},
        ),
        ({"nodeSelector": {"a": "1"}}, {"nodeSelector": {"b": "1"}}, {"nodeSelector": {"b": "1"}}),
        ({"tolerations": [{"key": "a"}]}, {"tolerations": []}, {"tolerations": []}),
        (
            {"containers": [{"name": "c", "image": "1", "tty": True}]},
            {"containers": [{"name": "c", "image": "2"}]},
            {"containers": [{"name": "c", "image": "2", "tty": True}]},
        ),
    ],
)
def test_merging_of_pod_specs(live: Any, configuration: Any, result: Any) -> None:
    assert merged(live, configuration, SPEC) == result


@pytest.mark.parametrize(
    ("live", "configuration", "result"),
    [
        ({"b": 1}, {"c": 2}, {"b": 1, "c": 2}),
        ({"b": 1}, None, {"b": 1}),
        ({"b": 1}, 3, 3),
        (3, {"b": 1}, {"b": 1}),
        ([1], [2], [2]),
        (1, True, True),
    ],
)
def test_merging_without_a_schema(live: Any, configuration: Any, result: Any) -> None:
    found = merged({"a": live}, {"a": configuration}, DEDUCED)
    assert found == {"a": result}
    assert type(found["a"]) is type(result)


def test_merging_what_is_there_gives_the_value_itself() -> None:
    live = {"containers": [{"name": "c", "image": "1", "tty": True}], "overhead": {"a": "1"}}
    same = {"containers": [{"name": "c", "tty": True}], "overhead": {"a": "1"}}
    assert merged(live, same, SPEC) is live


# -------------------------------------------------------------------------------- removal


@pytest.mark.parametrize(
    ("items", "left"),
    [
        ({}, {"overhead": {"a": "1"}, "containers": [{"name": "c", "image": "i"}]}),
        ({"f:containers": {}}, {"overhead": {"a": "1"}}),
        ({"f:containers": {C: {}}}, {"overhead": {"a": "1"}, "containers": []}),
        ({"f:containers": {C: {"f:image": {}}}},
         {"overhead": {"a": "1"}, "containers": [{"name": "c"}]}),
        ({"f:overhead": {"f:a": {}}},
         {"overhead": {}, "containers": [{"name": "c", "image": "i"}]}),
        ({"f:nodeSelector": {}},
         {"overhead": {"a": "1"}, "containers": [{"name": "c", "image": "i"}]}),
    ],
)  # fmt: skip
def test_removal_from_a_pod_spec(items: Any, left: Any) -> None:
    value = {"overhead": {"a": "1"}, "containers": [{"name": "c", "image": "i"}]}
    assert removed_from(value, items, SPEC) == left


def test_named_fields_on_the_way_become_members() -> None:
    found = {"f:containers": {C: {"f:image": {}}}, "f:overhead": {"f:cpu": {}}}
    assert with_named_fields(found, SPEC) == {
        "f:containers": {".": {}, C: {"f:image": {}}},
        "f:overhead": {".": {}, "f:cpu": {}},
    }
    assert with_named_fields({"f:a": {"f:b": {}}}, DEDUCED) == {"f:a": {"f:b": {}}}
    # Neither an item of a list nor a key that the type does not name is a field.
    odd = structural_type({"type": "object", "properties": {'"a"': {"type": "object"}}})
    for key in ('v:"a"', "f:a", "i:0"):
        assert with_named_fields({key: {"f:b": {}}}, odd) == {key: {"f:b": {}}}
    assert with_named_fields({'f:"a"': {"f:b": {}}}, odd) == {'f:"a"': {".": {}, "f:b": {}}}

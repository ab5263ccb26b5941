"""The types of values, from the table of kinds and from structural schemas, in tables."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.patching.value_types import (
    _NAMES_MAX,
    _ORDERS_MAX,
    DEDUCED,
    UntypedError,
    ValueType,
    struct_type,
    structural_type,
    zero_struct,
)


def shown(of: ValueType | None, depth: int = 1) -> str:
    """Return a type as a text: `[...]` for lists, `{...}` for maps, `!` after atomic ones."""
    if of is None:
        return "-"
    end = "!" if of.is_atomic else ""
    if of.form == "scalar":
        return of.scalar
    if of.form == "deduced":
        return f"?{end}"
    if of.form == "list":
        keys = " ".join(
            f"{key}={of.key_defaults[key]}" if key in of.key_defaults else key for key in of.keys
        )
        return f"[{shown(of.element, depth)}{f' by {keys}' if keys else ''}]{end}"
    fields = of.fields if depth else {}
    names = [f"{name}: {shown(each, depth - 1)}" for name, each in fields.items()]
    if of.element is not None:
        names.append(f"*: {shown(of.element, depth)}")
    return "{" + ", ".join(names) + "}" + end


def custom(schema: dict[str, Any]) -> str:
    """Return the type of the field `f` of custom objects."""
    of = structural_type({"type": "object", "properties": {"f": schema}})
    return shown(of.fields["f"])


TEXT = {"type": "string"}
OBJECT = {"type": "object", "properties": {"a": TEXT}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "string"}, "string", id="string"),
        pytest.param({"type": "boolean"}, "bool", id="boolean"),
        pytest.param({"type": "integer"}, "number", id="integer"),
        pytest.param({"type": "number"}, "number", id="number"),
        pytest.param({}, "?", id="nothing"),
        pytest.param({"x-kubernetes-int-or-string": True}, "?", id="a number or a text"),
        pytest.param({"x-kubernetes-preserve-unknown-fields": True}, "?", id="anything"),
        pytest.param({"properties": {"a": TEXT}}, "{a: string}", id="properties without a type"),
        pytest.param({"type": "object"}, "{*: ?}", id="an object without properties"),
        pytest.param(OBJECT, "{a: string}", id="an object"),
        pytest.param(OBJECT | {"x-kubernetes-preserve-unknown-fields": True}, "{a: string, *: ?}",
                     id="an object with others"),
        pytest.param(OBJECT | {"additionalProperties": True}, "{a: string, *: ?}",
                     id="any other property"),
        pytest.param({"type": "object", "additionalProperties": {"type": "integer"}},
                     "{*: number}", id="a map"),
        pytest.param({"type": "object", "additionalProperties": OBJECT}, "{*: {a: string}}",
                     id="a map of objects"),
        pytest.param(OBJECT | {"additionalProperties": False}, "{a: string}", id="no other"),
        pytest.param(OBJECT | {"x-kubernetes-map-type": "atomic"}, "{a: string}!", id="atomic"),
        pytest.param(OBJECT | {"x-kubernetes-map-type": "granular"}, "{a: string}", id="granular"),
        pytest.param(
            OBJECT | {"x-kubernetes-embedded-resource": True},
            "{a: string, apiVersion: string, kind: string, metadata: {}}", id="an object inside",
        ),
        pytest.param(
            {"type": "object", "x-kubernetes-embedded-resource": True},
            "{apiVersion: string, kind: string, metadata: {}}", id="any object inside",
        ),
        pytest.param({"type": "array", "items": TEXT}, "[string]!", id="a list"),
        pytest.param({"type": "array"}, "[?]!", id="a list of anything"),
        pytest.param({"type": "array", "items": OBJECT, "x-kubernetes-list-type": "atomic"},
                     "[{a: string}]!", id="an atomic list"),
        pytest.param({"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
                     "[string]", id="a set"),
        pytest.param(
            {"type": "array", "items": OBJECT, "x-kubernetes-list-type": "map",
             "x-kubernetes-list-map-keys": ["b", "a"]},
            "[{a: string} by a b]", id="a list by keys",
        ),
        pytest.param(
            {"type": "array", "items": {"properties": {"a": {"default": 0}, "b": {}}},
             "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]},
            "[{a: ?, b: ?} by a=0 b]", id="keys with defaults",
        ),
        pytest.param(
            {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set",
             "x-kubernetes-list-map-keys": ["a"]},
            "[string]", id="a set has no keys",
        ),
        pytest.param({"type": "array", "items": {"type": "array", "items": TEXT}},
                     "[[string]!]!", id="a list of lists"),
    ],
)  # fmt: skip
def test_the_type_of_a_structural_schema(schema, expected) -> None:
    assert custom(schema) == expected


def test_a_custom_object_has_the_fields_of_every_object() -> None:
    assert shown(structural_type({})) == "?"
    assert shown(structural_type(OBJECT)) == (
        "{a: string, apiVersion: string, kind: string, metadata: {}}"
    )
    own = {"type": "object", "properties": {"metadata": {"type": "object"}}}
    assert structural_type(own).fields["metadata"] is struct_type("meta.v1.ObjectMeta")


@pytest.mark.parametrize(
    ("struct", "field", "expected"),
    [
        ("core.v1.PodSpec", "nodeName", "string"),
        ("core.v1.PodSpec", "hostNetwork", "bool"),
        ("core.v1.PodSpec", "priority", "number"),
        ("core.v1.PodSpec", "nodeSelector", "{*: string}!"),
        ("core.v1.PodSpec", "tolerations", "[{}]!"),
        ("core.v1.PodSpec", "imagePullSecrets", "[{}! by name=]"),
        ("core.v1.PodSpec", "topologySpreadConstraints", "[{} by topologyKey= whenUnsatisfiable=]"),
        ("core.v1.Container", "ports", "[{} by containerPort=0 protocol=TCP]"),
        ("core.v1.Container", "command", "[string]!"),
        ("core.v1.Container", "env", "[{} by name=]"),
        ("meta.v1.ObjectMeta", "labels", "{*: string}"),
        ("meta.v1.ObjectMeta", "finalizers", "[string]"),
        ("meta.v1.ObjectMeta", "ownerReferences", "[{}! by uid=]"),
        ("core.v1.ServiceSpec", "ports", "[{} by port=0 protocol=TCP]"),
        ("core.v1.ServiceSpec", "selector", "{*: string}!"),
        ("core.v1.Secret", "data", "{*: string}"),
        ("apps.v1.ControllerRevision", "data", "?!"),
        ("resource.v1.AllocatedDeviceStatus", "data", "?!"),
    ],
)
def test_the_type_of_a_field_of_the_table(struct, field, expected) -> None:
    found = struct_type(struct).fields[field]
    assert shown(found, 0) == expected


@pytest.mark.parametrize(
    ("struct", "written"),
    [
        ("meta.v1.ObjectMeta", {}),
        ("core.v1.Pod", {"metadata": {}, "spec": {"containers": None}, "status": {}}),
        ("core.v1.Container", {"name": "", "resources": {}}),
        ("core.v1.ContainerPort", {"containerPort": 0}),
        (
            "core.v1.ContainerStatus",
            {
                "image": "", "imageID": "", "lastState": {}, "name": "", "ready": False,
                "restartCount": 0, "state": {},
            },
        ),
        (
            "meta.v1.Condition",
            {"lastTransitionTime": None, "message": "", "reason": "", "status": "", "type": ""},
        ),
        (
            "core.v1.Event",
            {
                "eventTime": None, "firstTimestamp": None, "involvedObject": {},
                "lastTimestamp": None, "metadata": {}, "reportingComponent": "",
                "reportingInstance": "", "source": {},
            },
        ),
    ],
)  # fmt: skip
def test_a_struct_without_values_is_as_go_writes_it(struct, written) -> None:
    """Fields without `omitempty` have a zero value; lists and times are null."""
    assert zero_struct(struct) == written


# --------------------------------------------------------------------- elements of lists


def by(*keys: str, **defaults: Any) -> ValueType:
    return ValueType("list", keys=keys, key_defaults=defaults)


@pytest.mark.parametrize(
    ("of", "item", "element"),
    [
        pytest.param(by(), "a", 'v:"a"', id="a value"),
        pytest.param(by(), 1, "v:1", id="a number"),
        pytest.param(by("name"), {"name": "a"}, 'k:{"name":"a"}', id="a key"),
        pytest.param(by("name"), {"name": None}, 'k:{"name":null}', id="a null"),
        pytest.param(by("port"), {"port": 80, "x": 1}, 'k:{"port":80}', id="others"),
        pytest.param(by("name"), "a", "", id="no map"),
        pytest.param(by("name", name="d"), {}, 'k:{"name":"d"}', id="a default"),
        pytest.param(by("b", "a"), {"a": 1, "b": 2}, 'k:{"a":1,"b":2}', id="two keys, sorted"),
        pytest.param(by("a", "b"), {"b": 2}, 'k:{"b":2}', id="one of two"),
        pytest.param(by("a", "b", a="d"), {"b": 2}, 'k:{"a":"d","b":2}', id="two with a default"),
        pytest.param(by("a", "b"), [1], "", id="no map of two"),
        pytest.param(by('q"'), {'q"': "x"}, 'k:{"q\\"":"x"}', id="a quoted key"),
        pytest.param(by('q"', "z"), {'q"': "x"}, 'k:{"q\\"":"x"}', id="a quoted key of two"),
    ],
)
def test_the_element_of_an_item(of, item, element) -> None:
    assert of.item_element(item) == element


@pytest.mark.parametrize("of", [by("name"), by("a", "b")])
def test_an_item_without_any_key_has_no_type(of) -> None:
    with pytest.raises(UntypedError):
        of.item_element({"x": 1})


def test_the_parts_of_a_map_are_sorted_and_kept_for_few_names() -> None:
    of = ValueType(
        "map",
        element=ValueType("scalar", scalar="number"),
        fields=lambda: {"b": ValueType("list", is_atomic=True), "c": by("name")},
    )
    parts = of.parts(("c", "a", "b"))
    assert [(name, key, shown(each)) for name, key, each in parts] == [
        ("a", "f:a", "number"), ("b", "f:b", "[-]!"), ("c", "f:c", "[- by name]"),
    ]  # fmt: skip
    assert of.parts(("c", "a", "b")) is parts
    node, below = of.node(("c", "a", "b"))
    assert node == {".": {}, "f:a": {}, "f:b": {}, "f:c": {}}
    assert [name for name, *_ in below] == ["c"]
    assert of.node(("c", "a", "b"))[0] is node
    plain = ValueType("map", fields=dict)
    assert plain.parts(("x",)) == [("x", "f:x", DEDUCED)]
    # The parts of a value without a type have none either.
    assert DEDUCED.parts(("x",)) == [("x", "f:x", DEDUCED)]


def test_the_parts_of_many_names_are_not_kept_nor_those_of_many_maps() -> None:
    of = ValueType("map", fields=dict)
    for count in (_NAMES_MAX, _NAMES_MAX + 1):
        names = tuple(map(str, range(count)))
        assert (of.parts(names) is of.parts(names)) is (count == _NAMES_MAX)
        assert (of.node(names)[0] is of.node(names)[0]) is (count == _NAMES_MAX)
    first = of.parts(("x",))
    for number in range(_ORDERS_MAX - 2):
        of.parts((f"a{number}",))
    assert of.parts(("x",)) is first
    of.parts(("one", "more"))
    assert of.parts(("x",)) is not first

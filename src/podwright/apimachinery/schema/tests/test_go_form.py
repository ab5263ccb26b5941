"""Go's form of documents: what upstream's structs omit, write and canonicalize."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import format_quantity
from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.go_form import GoForms
from podwright.apimachinery.schema.types import STRING_POINTERS, TIME_FIELDS, StructType


def go_form(api_version, kind, document):
    found = built_in().find(api_version, kind)
    assert found is not None
    return found.go_form({"apiVersion": api_version, "kind": kind, **document})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"hostNetwork": False}, {}, id="an empty value is omitted"),
        pytest.param({"hostUsers": False}, {"hostUsers": False}, id="a pointer to one is kept"),
        pytest.param({"priority": 0}, {"priority": 0}, id="also to a number"),
        pytest.param({"nodeName": ""}, {}, id="an empty text is omitted"),
        pytest.param({"runtimeClassName": ""}, {"runtimeClassName": ""}, id="but not its pointer"),
        pytest.param({"tolerations": []}, {}, id="an empty list is omitted"),
        pytest.param({"nodeSelector": {}}, {}, id="an empty map is omitted"),
        pytest.param({"securityContext": {}}, {"securityContext": {}}, id="an object is kept"),
        pytest.param({"hostname": None, "bogus": 1}, {}, id="nulls and unknown fields are lost"),
    ],
)
def test_optional_fields(spec, expected):
    found = go_form("v1", "Pod", {"spec": {"containers": [{"name": "c"}], **spec}})
    assert found["spec"] == {"containers": [{"name": "c", "resources": {}}]} | expected


def test_mandatory_fields_are_written():
    found = go_form("apps/v1", "DaemonSet", {})
    assert found["status"] == {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    }
    assert found["spec"]["template"]["spec"] == {"containers": None}


@pytest.mark.parametrize(
    ("api_version", "kind", "document", "path"),
    [
        pytest.param(
            "storage.k8s.io/v1", "CSINode", {"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}},
            ("spec", "drivers", 0, "topologyKeys"), id="the keys of a CSI driver",
        ),
        pytest.param(
            "v1", "Node", {"status": {"images": [{"sizeBytes": 1}]}},
            ("status", "images", 0, "names"), id="the names of an image",
        ),
        pytest.param(
            "v1", "Pod", {"spec": {"volumes": [{"name": "v", "projected": {}}]}},
            ("spec", "volumes", 0, "projected", "sources"), id="the sources of a volume",
        ),
        pytest.param(
            "resource.k8s.io/v1", "ResourceClaim", {"status": {"devices": [{"driver": "d"}]}},
            ("status", "devices", 0, "conditions"), id="the conditions of a device",
        ),
    ],
)  # fmt: skip
def test_mandatory_lists_are_null(api_version, kind, document, path):
    found = go_form(api_version, kind, document)
    for name in path[:-1]:
        found = found[name]
    assert found[path[-1]] is None


def test_mandatory_pointers_are_null():
    claim = {"spec": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}}
    source = go_form("v1", "PersistentVolumeClaim", claim)["spec"]["dataSource"]
    assert source["apiGroup"] is None
    volume = {"spec": {"azureFile": {"secretName": "a", "shareName": "b"}}}
    assert go_form("v1", "PersistentVolume", volume)["spec"]["azureFile"]["secretNamespace"] is None


def test_times_that_are_no_pointers_are_null():
    found = go_form("v1", "Event", {"metadata": {"name": "e"}})
    assert (found["firstTimestamp"], found["eventTime"]) == (None, None)
    assert "creationTimestamp" not in found["metadata"]


def test_values_are_canonical():
    found = go_form(
        "v1",
        "PersistentVolume",
        {
            "metadata": {"creationTimestamp": "2026-01-01T02:00:00.5+02:00"},
            "spec": {"capacity": {"storage": "1024Mi"}},
        },
    )
    assert found["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert found["spec"]["capacity"] == {"storage": "1Gi"}
    found = go_form(
        "coordination.k8s.io/v1", "Lease", {"spec": {"renewTime": "2026-01-01T00:00:00Z"}}
    )
    assert found["spec"] == {"renewTime": "2026-01-01T00:00:00.000000Z"}
    found = go_form("v1", "Secret", {"data": {"k": "YWI\n="}})
    assert found["data"] == {"k": "YWI="}


def test_fields_and_maps_have_gos_order():
    container = {"imagePullPolicy": "Always", "terminationMessagePolicy": "File", "name": "c"}
    found = go_form(
        "v1",
        "Pod",
        {
            "spec": {"priority": 1, "containers": [container]},
            "metadata": {"uid": "u", "labels": {"b": "1", "a": "2"}, "name": "p"},
        },
    )
    assert list(found) == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert list(found["metadata"]) == ["name", "uid", "labels"]
    assert list(found["metadata"]["labels"]) == ["a", "b"]
    assert list(found["spec"]) == ["containers", "priority"]
    assert list(found["spec"]["containers"][0])[-2:] == [
        "terminationMessagePolicy",
        "imagePullPolicy",
    ]


def test_the_form_of_a_form_is_the_same():
    document = {"spec": {"containers": [{"name": "c", "ports": [{"hostPort": 0}]}]}}
    once = go_form("v1", "Pod", document)
    assert go_form("v1", "Pod", once) == once


def test_parts_of_an_earlier_form_are_not_converted_again():
    pod = built_in().find("v1", "Pod")
    assert pod is not None
    containers = [{"name": name, "image": "", "env": [{"name": "E"}]} for name in "abc"]
    made = pod.go_form(
        {"metadata": {"labels": {"b": "", "a": ""}}, "spec": {"containers": containers}}
    )
    first, second, _ = made["spec"]["containers"]
    changed = made["spec"] | {
        "containers": [first, second | {"image": "", "tty": False}, {"name": "d"}]
    }
    again = pod.go_form(made | {"spec": changed}, like=made)
    assert again["metadata"] is made["metadata"]
    assert again["spec"]["containers"][0] is first
    assert again["spec"]["containers"][1] == second
    assert again["spec"]["containers"][1]["env"] is second["env"]
    assert again == pod.go_form(again)
    assert [*again["spec"]["containers"][2]] == ["name", "resources"]


@pytest.mark.parametrize(
    ("kind", "document", "stored"),
    [
        ("v1/LimitRange", {"spec": {"limits": []}}, {"spec": {"limits": None}}),
        ("v1/Pod", {"spec": {"volumes": [{"projected": {"sources": []}}]}},
         {"spec": {"volumes": [{"projected": {"sources": None}}]}}),
        ("v1/Pod", {"spec": {"volumes": [{"emptyDir": {}}]}}, None),
        ("apiextensions.k8s.io/v1/CustomResourceDefinition", {"status": {"conditions": []}}, None),
    ],
)  # fmt: skip
def test_an_empty_list_is_stored_as_none_unless_as_json(kind, document, stored):
    found = built_in().find(*kind.rsplit("/", 1))
    assert found is not None
    made = found.as_stored(document)
    assert made == (stored or document)
    assert stored or made is document


def test_every_pointer_that_is_listed_is_a_text_of_its_struct():
    kinds = built_in()
    for name, fields in STRING_POINTERS.items():
        texts = {
            field for field, each in kinds.type(name).fields.items() if each.type.name == "string"
        }
        assert texts >= fields, name


VALUES: dict[str, tuple[Any, ...]] = {
    "string": ("", "a", "é"),
    "bool": (False, True),
    "int32": (0, 1, -1),
    "int64": (0, 300, 2**40),
    "double": (0, 0.0, 1, 1.5),
    "quantity": ("0", "100m", "999Gi", "1k", "3n", "1500m", "12T", "7Ki"),
    "int-or-string": (0, 80, "", "http"),
    "time": ("2026-01-01T00:00:00Z",),
    "micro-time": ("2026-01-01T00:00:00.000000Z",),
    "bytes": ("", "YWI="),
    "any": ({"b": 1, "a": 2}, [], 1, "a"),
    "object": ({"b": 1, "a": {}}, {}),
}
NOT_CANONICAL = {
    "quantity": ("1000m", "0.5", "1024Mi", "1536", "1e3", "010", "0Gi", "+1", 1, 0),
    "time": ("2026-01-01T00:00:00.5+02:00",),
    "micro-time": ("2026-01-01T02:00:00.000000+02:00",),
    "bytes": ("YWI\n=",),
}


class Drawn:
    """Draws documents of types: many values are empty, and some of them null or not canonical."""

    def __init__(self, seed, *, odd_share):
        self.draws = random.Random(seed)
        self.odd_share = odd_share

    def is_odd(self):
        return self.draws.random() < self.odd_share

    def value(self, of, depth):
        draws = self.draws
        if of.element is not None:
            names = draws.sample(("b", "a", "c"), draws.choice((0, 1, 2)) if depth else 0)
            items = [None if self.is_odd() else self.value(of.element, depth - 1) for _ in names]
            return dict(zip(names, items, strict=True)) if of.container == "map" else items
        if of.is_struct:
            return self.struct(built_in().type(of.name), depth)
        choices = NOT_CANONICAL.get(of.name) if self.is_odd() else None
        return draws.choice(choices or VALUES[of.name])

    def struct(self, of, depth):
        fields = self.draws.sample([*of.fields.values()], min(len(of.fields), 5))
        chosen = {"spec": of.fields["spec"]} if "spec" in of.fields else {}
        chosen |= {each.name: each for each in fields if depth or not each.type.is_struct}
        return {
            name: None if self.is_odd() else self.value(field.type, max(depth - 1, 0))
            for name, field in chosen.items()
        }


KINDS = [each for each in built_in() if each.row.kind != "CustomResourceDefinition"]
"""Definitions have schemas with a form of their own."""


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.api_version}/{kind.row.kind}")
@pytest.mark.parametrize("odd_share", [0, 0.03])
def test_structs_and_walks_give_one_form(kind, odd_share):
    drawn = Drawn(kind.row.type, odd_share=odd_share)
    for _ in range(40):
        document = drawn.struct(kind.struct, 6)
        assert kind.decoding_problems(document) == []
        walked = built_in().struct_form(kind.row.type, document)
        assert msgspec.json.encode(kind.go_form(document)) == msgspec.json.encode(walked)


def test_canonical_documents_are_not_walked(monkeypatch):
    monkeypatch.setattr("podwright.apimachinery.schema.go_form.StructForm.convert", None)
    requests = {"memory": "64Mi", "cpu": "100m"}
    container = {"resources": {"requests": requests}, "name": "c", "stdin": False}
    found = go_form("v1", "Pod", {"spec": {"volumes": [], "containers": [container]}})
    assert [*found] == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert found["spec"] == {"containers": [{"name": "c", "resources": {"requests": requests}}]}
    assert [*found["spec"]["containers"][0]["resources"]["requests"]] == ["cpu", "memory"]


@pytest.mark.parametrize("suffix", ["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3"])
def test_amounts_that_are_not_walked_are_canonical(suffix):
    limits = built_in().find("v1", "LimitRange")
    assert limits is not None
    larger = (1_500, 2_000, 2_048, 2_050, 3_072, 4_100, 9_999, 10_000, 12_001, 65_536, 100_500)
    largest = (999_998, 999_999, 1_000_000, 1_000_500, 8_388_609, 123_456_789, 10**14 + 1, 10**15)
    for number in (*range(1_200), *larger, *largest):
        amount = f"{number}{suffix}"
        made = limits.go_form({"spec": {"limits": [{"type": "Pod", "max": {"cpu": amount}}]}})
        assert made["spec"]["limits"][0]["max"]["cpu"] == format_quantity(amount)


STRUCTS = {
    "Inner": StructType("Inner", {"n": "int32 1 zero", "s": "string 2"}),
    "Outer": StructType("Outer", {
        "strings": "[string] 1", "flags": "[bool] 2", "quantities": "[quantity] 3",
        "data": "[bytes] 4", "numbers": "[double] 5", "inners": "[Inner] 6",
        "lists": "[[string]] 7", "times": "[time] 8", "named": "{string} 9",
        "amounts": "{quantity} 10", "parts": "{Inner} 11", "groups": "{[string]} 12",
        "port": "int-or-string 13 required", "other": "int-or-string 14",
    }),
}  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("strings", ["a", None], ["a", ""]),
        ("flags", [True, None], [True, False]),
        ("quantities", ["1024Mi", None], ["1Gi", "0"]),
        ("data", ["YQ\n==", None], ["YQ==", ""]),
        ("numbers", [1.5, None], [1.5, 0]),
        ("inners", [{"n": 1, "s": ""}, None], [{"n": 1}, {"n": 0}]),
        ("lists", [["a", None], None], [["a", ""], None]),
        ("times", ["2026-01-01T02:00:00+02:00", None], ["2026-01-01T00:00:00Z", None]),
        ("named", {"b": None, "a": "x"}, {"a": "x", "b": ""}),
        ("amounts", {"b": None, "a": "1024Mi"}, {"a": "1Gi", "b": "0"}),
        ("parts", {"b": None, "a": {"s": "x"}}, {"a": {"n": 0, "s": "x"}, "b": {"n": 0}}),
        ("groups", {"b": None, "a": [None]}, {"a": [""], "b": None}),
        ("port", "http", "http"),
        ("other", 0, 0),
    ],
)
def test_null_entries_are_zero_values_of_their_types(field, value, expected):
    form = GoForms(STRUCTS.__getitem__).of("Outer")
    found = form.convert({field: value})
    assert found == {"port": 0} | {field: expected}
    assert list(found[field]) == list(expected) if isinstance(expected, dict) else True


def test_parts_in_gos_form_are_not_made_again():
    form = GoForms(STRUCTS.__getitem__).of("Outer")
    made = form.convert({"parts": {"a": {"s": "x"}, "b": {}}, "inners": [{"s": "y"}, {}]})
    again = form.convert(
        {"parts": {**made["parts"], "c": None}, "inners": [*made["inners"], {}]}, made
    )
    assert all(again["parts"][name] is made["parts"][name] for name in "ab")
    assert all(new is old for new, old in zip(again["inners"], made["inners"], strict=False))
    assert again["parts"]["c"] == again["inners"][2] == {"n": 0}


@pytest.mark.parametrize(("struct", "name"), sorted(TIME_FIELDS))
def test_a_time_that_is_no_pointer_is_null_in_its_struct_only(struct, name):
    found = built_in()
    assert found.struct_form(struct, {})[name] is None
    assert "lastTransitionTime" not in found.struct_form("core.v1.ContainerStateRunning", {})


LOOSE, MADE = {"description": "", "type": "a", "unknown": 1}, {"type": "a"}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"items": LOOSE}, {"items": MADE}),
        ({"items": [LOOSE, None]}, {"items": [MADE, {}]}),
        ({"items": {"items": LOOSE}}, {"items": {"items": MADE}}),
        ({"additionalProperties": LOOSE}, {"additionalProperties": MADE}),
        ({"additionalProperties": True}, {"additionalProperties": True}),
        ({"additionalItems": LOOSE}, {"additionalItems": MADE}),
        ({"additionalItems": {"additionalProperties": LOOSE}},
         {"additionalItems": {"additionalProperties": MADE}}),
        ({"allOf": [{"items": LOOSE}, None]}, {"allOf": [{"items": MADE}, {}]}),
        ({"anyOf": [{"items": LOOSE}]}, {"anyOf": [{"items": MADE}]}),
        ({"oneOf": [{"items": LOOSE}]}, {"oneOf": [{"items": MADE}]}),
        ({"not": {"items": LOOSE}}, {"not": {"items": MADE}}),
        ({"properties": {"k": {"items": LOOSE}, "l": None}},
         {"properties": {"k": {"items": MADE}, "l": {}}}),
        ({"patternProperties": {"k": {"items": LOOSE}}},
         {"patternProperties": {"k": {"items": MADE}}}),
        ({"definitions": {"k": {"items": LOOSE}}}, {"definitions": {"k": {"items": MADE}}}),
    ],
)  # fmt: skip
def test_schemas_in_schemas_are_in_gos_form(schema, expected):
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    status = version | {"subresources": {"status": {"x": 1}}}
    found = go_form(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        {"spec": {"versions": [version, status]}},
    )
    versions = found["spec"]["versions"]
    assert [each["schema"]["openAPIV3Schema"] for each in versions] == [expected] * 2
    assert "subresources" not in versions[0]
    assert versions[1]["subresources"] == {"status": {}}


def test_a_definition_without_a_spec_has_no_versions():
    found = go_form("apiextensions.k8s.io/v1", "CustomResourceDefinition", {})
    assert found["spec"]["versions"] is None

"""What a version of a definition says: names, columns, paths, and the objects that are its own."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema.structural.custom_kind import CustomKind, CustomVersion
from podwright.apimachinery.schema.structural.field_paths import ScalePaths
from podwright.apimachinery.schema.structural.tests.test_custom_kind import NAMES, OPEN, kind, train
from podwright.apimachinery.schema.table import Column, KindRow

Document = dict[str, Any]
SCALE = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
NAME = Column("Name", "string", "name", 0, "", "Name of the object.")
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def shown(problems: list[Any]) -> list[str]:
    return [f"{path}: {message}" for path, message, _ in problems]


@pytest.mark.parametrize(
    ("spec", "version", "expected"),
    [
        pytest.param(
            {"group": "example.com", "scope": "Namespaced", "preserveUnknownFields": True},
            {"name": "v1", "schema": {"openAPIV3Schema": OPEN}, "subresources": {"status": {}},
             "additionalPrinterColumns": [{"name": "C"}],
             "selectableFields": [{"jsonPath": ".spec.a"}, {"jsonPath": "spec.b"}]},
            CustomVersion(group="example.com", version="v1", names=NAMES, namespaced=True,
                          schema=OPEN, subresources={"status": {}}, columns=[{"name": "C"}],
                          selectable=("spec.a", "spec.b"), preserves_unknown=True),
            id="all parts"),
        pytest.param(
            {"group": "example.com", "scope": "Cluster"}, {"name": "v2"},
            CustomVersion(group="example.com", version="v2", names=NAMES, namespaced=False),
            id="a version of the cluster without any"),
        pytest.param(
            {"group": "example.com", "preserveUnknownFields": False},
            {"name": "v2", "schema": None, "subresources": None, "additionalPrinterColumns": None,
             "selectableFields": None},
            CustomVersion(group="example.com", version="v2", names=NAMES, namespaced=False),
            id="null parts"),
    ],
)  # fmt: skip
def test_a_version_has_the_parts_of_its_definition(
    spec: Document, version: Document, expected: CustomVersion
) -> None:
    assert CustomVersion.of(spec, version, NAMES) == expected


def test_the_facts_of_a_custom_resource_are_those_of_its_version() -> None:
    names = NAMES | {"shortNames": ["tr"], "categories": ["all"]}
    column = {"name": "C", "type": "integer", "format": "int32", "priority": 1, "jsonPath": ".a"}
    of = CustomKind(
        CustomVersion(
            group="example.com",
            version="v1",
            names=names,
            namespaced=True,
            subresources={"status": {}, "scale": SCALE},
            columns=[column, {"jsonPath": ".b", "description": "B."}, {"jsonPath": ".["}, column],
            selectable=("spec.a", "spec.b"),
        )
    )
    assert of.row == KindRow(
        group="example.com",
        version="v1",
        kind="Train",
        type="",
        resource="trains",
        singular="train",
        namespaced=True,
        verbs=VERBS,
        short_names=("tr",),
        categories=("all",),
        subresources={"status": "", "scale": "autoscaling/v1/Scale"},
        has_generation=True,
        columns=(
            NAME,
            Column(
                "C", "integer", "int32", 1, ".a",
                "Custom resource definition column (in JSONPath format): .a",
            ),
            Column("", "", "", 0, ".b", "B."),
        ),
        selectable={"spec.a": "", "spec.b": ""},
    )  # fmt: skip
    assert (of.api_version, of.list_kind, of.has_status) == ("example.com/v1", "TrainList", True)
    assert of.scale_paths == ScalePaths(".spec.n", ".status.n", "")


def test_a_version_without_names_has_empty_ones() -> None:
    version = CustomVersion(
        group="example.com", version="v1", names={"kind": "Train"}, namespaced=False
    )
    of = CustomKind(version)
    assert of.row == KindRow(
        group="example.com",
        version="v1",
        kind="Train",
        type="",
        resource="",
        singular="",
        namespaced=False,
        verbs=VERBS,
        subresources={},
        has_generation=True,
        columns=(
            NAME,
            Column(
                "Age", "date", "", 0, ".metadata.creationTimestamp",
                "Time at which the object was created.",
            ),
        ),
        selectable={},
    )  # fmt: skip
    assert (of.list_kind, of.has_status, of.scale_paths) == ("TrainList", False, None)
    assert (
        CustomKind(CustomVersion(group="", version="v1", names={}, namespaced=False)).row.kind == ""
    )


@pytest.mark.parametrize(
    ("subresources", "names", "paths"),
    [
        ({"status": {}}, {"status": ""}, None),
        ({"status": None, "scale": None}, {}, None),
        ({"scale": {}}, {"scale": "autoscaling/v1/Scale"}, ScalePaths("", "", "")),
        ({"scale": SCALE | {"labelSelectorPath": ".s"}}, {"scale": "autoscaling/v1/Scale"},
         ScalePaths(".spec.n", ".status.n", ".s")),
    ],
)  # fmt: skip
def test_subresources(subresources: Document, names: Document, paths: ScalePaths | None) -> None:
    of = kind(OPEN, subresources=subresources)
    assert (of.row.subresources, of.scale_paths) == (names, paths)


TYPED = {"type": "object", "properties": {"a": {"type": "string"}, "b": {
    "type": "integer", "default": 1}}}  # fmt: skip
OTHER_VERSION = {"apiVersion": "example.com/v2"}
OTHER_GROUP = {"apiVersion": "example.org/v1"}


@pytest.mark.parametrize(
    ("changes", "more", "unknown", "form"),
    [
        pytest.param({}, {}, ["spec.x: unknown field", "y: unknown field"],
                     {"spec": {"a": "z", "b": None}}, id="its own object"),
        pytest.param({}, {"preserves_unknown": True}, [],
                     {"spec": {"a": "z", "b": None, "x": 1}, "y": 2},
                     id="a version that preserves what it does not know keeps nulls, too"),
        pytest.param({"kind": "Car"}, {}, [],
                     {"y": 2, "spec": {"a": "z", "b": None, "x": 1}}, id="another kind"),
        pytest.param(OTHER_VERSION, {}, ["spec: unknown field", "y: unknown field"],
                     {"y": 2, "spec": {"a": "z", "b": None, "x": 1}},
                     id="another version of the group"),
        pytest.param(OTHER_GROUP, {}, [],
                     {"y": 2, "spec": {"a": "z", "b": None, "x": 1}}, id="another group"),
        pytest.param({"apiVersion": None}, {}, [],
                     {"y": 2, "spec": {"a": "z", "b": None, "x": 1}}, id="no version"),
    ],
)  # fmt: skip
def test_only_objects_of_the_kind_and_version_are_decoded_by_the_schema(
    changes: Document, more: Document, unknown: list[str], form: Document
) -> None:
    of = kind(TYPED, **more)
    document = {"y": 2} | train({"a": "z", "b": None, "x": 1}) | changes
    head = {name: document[name] for name in ("apiVersion", "kind", "metadata")}
    made = of.go_form(document)
    assert shown(of.decoding_problems(document)) == unknown
    assert made == head | form
    assert of.is_own(document) == (not changes)
    if not changes:
        assert list(made) == ["apiVersion", "kind", "metadata", *form], "fields have an order"
    completed = of.with_defaults(document)
    assert completed["spec"]["b"] == (None if changes else 1)


def test_an_object_is_read_by_the_schema_of_today() -> None:
    of = kind(TYPED)
    right = train({"a": "z", "b": 2})
    assert of.as_read(right) is right
    assert of.as_converted(right) is right
    old = {"y": 2} | train({"x": 1, "a": None}, bogus=1)
    assert of.as_converted(old) == train({}, bogus=1)
    assert of.as_read(old) == train({"b": 1})
    open_kind = kind(TYPED, preserves_unknown=True)
    assert open_kind.as_converted(old) is old
    assert open_kind.as_read(old) == {"y": 2} | train({"x": 1, "a": None, "b": 1})
    assert kind(OPEN).with_defaults(old) is old


EMBEDDING = kind(OPEN | {"properties": {"e": {"type": "object"} | OPEN | {
    "x-kubernetes-embedded-resource": True}, "f": {"type": "object"} | OPEN | {
    "x-kubernetes-embedded-resource": True}}})  # fmt: skip


def test_problems_of_embedded_objects_are_sorted_by_their_paths() -> None:
    wrong = {"kind": 1, "apiVersion": 2}
    found = EMBEDDING.decoding_problems(train({"f": wrong, "e": wrong}))
    assert [path for path, _, _ in found] == [
        "spec.e.apiVersion", "spec.e.kind", "spec.f.apiVersion", "spec.f.kind",
    ]  # fmt: skip


def test_the_schema_of_the_whole_object_embeds_its_parts_only() -> None:
    embedded = {"x-kubernetes-embedded-resource": True}
    of = CustomKind(
        CustomVersion(
            group="example.com", version="v1", names=NAMES, namespaced=True,
            schema=embedded | {"type": "object", "properties": {"e": OPEN | embedded}},
        )
    )  # fmt: skip
    document = {"kind": "A_b", "e": {"kind": "Pod"}}
    expected = ["e.apiVersion: Required value"]
    assert shown(of.problems_of_other_kind([], document, None)) == expected
    assert shown(of.problems_of_other_kind([], document, document)) == expected
    whole = train({}, resourceVersion="1") | {"e": {"kind": "Pod"}}
    assert shown(of.validation_problems(whole)) == expected
    assert shown(of.update_problems(whole, whole)) == expected


RULED = kind({"type": "object", "properties": {
    "a": {"type": "integer", "minimum": 0, "enum": [0, 1, 2, -1]}, "s": {"type": "string"},
}, "x-kubernetes-validations": [{"rule": "self.a == oldSelf.a", "message": "fixed"},
                                {"rule": "self.a < 2", "message": "small"}]})  # fmt: skip
UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was"
    " invalid; correct the existing errors to complete validation"
)


def test_rules_compare_with_the_stored_object_unless_a_value_is_of_a_wrong_type() -> None:
    def changed(new: Any, old: Any) -> tuple[list[str], list[str]]:
        documents = [train(each, resourceVersion="1") for each in (new, old)]
        wrong = [("kind", "Invalid value: ...", None)]
        return (
            shown(RULED.update_problems(*documents)),
            shown(RULED.problems_of_other_kind(wrong, *documents))[1:],
        )

    fixed, small = "spec: Invalid value: fixed", "spec: Invalid value: small"
    assert shown(RULED.validation_problems(train({"a": 2}))) == [small]
    assert changed({"a": 1}, {"a": 1}) == ([], [])
    assert changed({"a": 1}, {"a": 0}) == ([fixed], [fixed])
    assert changed({"a": 2}, {"a": 0}) == ([fixed, small], [fixed, small])
    negative = "spec.a: Invalid value: -1: spec.a in body should be greater than or equal to 0"
    assert changed({"a": -1}, {"a": -1}) == ([], [])
    assert shown(RULED.validation_problems(train({"a": -1}))) == [negative]
    assert changed({"a": 7}, {"a": 0})[0][1:] == [UNCHECKED]
    without = kind({"type": "object", "properties": {"a": {"type": "integer"}}})
    assert len(without.validation_problems(train({"a": "x"}))) == 1
    metadata = train({"a": 2}) | {"metadata": {}}
    assert shown(RULED.validation_problems(metadata)) == [UNCHECKED]


def test_the_namespace_is_checked_in_namespaces_only_and_finalizers_need_no_domain() -> None:
    of = CustomKind(CustomVersion(group="example.com", version="v1", names=NAMES, namespaced=False))
    spaced = train({}, namespace="a b", finalizers=["short"])
    namespaced = kind(OPEN)
    assert of.metadata_problems(spaced) == []
    assert [path for path, _, _ in namespaced.metadata_problems(spaced)] == ["metadata.namespace"]
    assert shown(namespaced.metadata_problems({"metadata": None})) == [
        "metadata.name: Required value: name or generateName is required",
    ]  # fmt: skip
    old = train({}, namespace="a", resourceVersion="1")
    new = train({}, namespace="a", resourceVersion="1", finalizers=["short"])
    assert namespaced.metadata_update_problems(new, old) == []
    assert namespaced.update_problems(new, old) == []
    assert namespaced.status_problems(new, old) == []
    renamed = train({}, namespace="a", resourceVersion="1", name="u")
    expected = ['metadata.name: Invalid value: "u": field is immutable']
    assert shown(namespaced.metadata_update_problems(renamed, old)) == expected
    assert shown(namespaced.update_problems(renamed, old)) == expected
    assert shown(namespaced.status_problems(renamed, old)) == expected


STATED = CustomKind(
    CustomVersion(
        group="example.com", version="v1", names=NAMES, namespaced=True,
        schema={"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "status": {"type": "object", "properties": {"n": {"type": "integer"}}}}},
        subresources={"status": {}, "scale": SCALE},
    )
)  # fmt: skip


def test_a_status_is_checked_alone() -> None:
    old = train({"n": "x"}, resourceVersion="1")
    wrong = old | {"status": {"n": "x"}}

    def paths(problems: list[Any]) -> list[str]:
        return [path for path, _, _ in problems]

    assert STATED.status_problems(old, old) == []
    assert paths(STATED.status_problems(wrong, old)) == ["status.n", ".status.n"]
    assert paths(STATED.status_problems(wrong, wrong)) == [".status.n"]
    assert paths(STATED.update_problems(wrong, wrong)) == [".spec.n", ".status.n"]
    assert kind(OPEN).status_problems(wrong, old) == []


def test_what_an_unchanged_part_violates_is_a_warning_about_that_object_only() -> None:
    new, old = (train({"a": 2}, resourceVersion=version) for version in "12")
    assert RULED.rule_warnings(new) == []
    assert RULED.update_problems(new, old) == []
    assert RULED.rule_warnings(new) == ["spec: Invalid value: small"]
    assert RULED.rule_warnings(dict(new)) == []


def test_duplicates_of_an_object_of_another_kind_may_stay() -> None:
    of = kind({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"})
    twice, once = train(["a", "a"]), train(["a"])
    for old, expected in (
        (None, ['spec[1]: Duplicate value: "a"']),
        (once, ['spec[1]: Duplicate value: "a"']),
        (twice, []),
    ):
        assert shown(of.problems_of_other_kind([], twice, old)) == expected


def test_an_absent_entry_of_a_map_has_no_keys() -> None:
    of = kind({
        "type": "array", "items": {"type": "object", "nullable": True, "properties": {
            "k": {"type": "string"}}},
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
    })  # fmt: skip
    assert shown(of.validation_problems(train([None, {"k": "a"}]))) == []

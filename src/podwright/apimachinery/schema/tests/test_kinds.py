"""One kind: its facts, its fields, and what is known about specs that objects share."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.schema import Kind, Schema, built_in
from podwright.apimachinery.schema.table import KindRow, Table, built_in_table

Document = dict[str, Any]
NOW_NS = 1_772_445_600_000_000_000


def kind(name: str, api_version: str = "v1") -> Kind:
    found = built_in().find(api_version, name)
    assert found is not None
    return found


def fresh(name: str, api_version: str = "v1") -> Kind:
    """Return a kind that has seen no object yet."""
    found = Schema(built_in_table()).find(api_version, name)
    assert found is not None
    return found


def pod(labels: Any = None, *, metadata: Any = (), **spec: Any) -> Document:
    usual = {"name": "a", "namespace": "d"} | ({"labels": labels} if labels else {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": usual | dict(metadata),
        "spec": {"containers": [{"name": "c", "image": "i:1"}]} | spec,
    }


@pytest.mark.parametrize(
    ("found", "api_version", "group_kind", "has_status", "is_stored"),
    [
        (kind("Pod"), "v1", ("", "Pod"), True, True),
        (kind("ConfigMap"), "v1", ("", "ConfigMap"), False, True),
        (kind("Deployment", "apps/v1"), "apps/v1", ("apps", "Deployment"), True, True),
        (kind("TokenReview", "authentication.k8s.io/v1"), "authentication.k8s.io/v1",
         ("authentication.k8s.io", "TokenReview"), False, False),
    ],
)  # fmt: skip
def test_the_facts_of_a_kind(
    found: Kind,
    api_version: str,
    group_kind: tuple[str, str],
    *,
    has_status: bool,
    is_stored: bool,
) -> None:
    assert (found.api_version, found.group_kind) == (api_version, group_kind)
    assert (found.has_status, found.is_stored) == (has_status, is_stored)
    assert bool(found.metadata_problems({})) == is_stored


WIDGET = "example.com/v1"
TYPES: dict[str, dict[str, str]] = {
    "example.v1.Widget": {
        "metadata": "meta.v1.ObjectMeta 1",
        "parts": "[example.v1.Part] 2",
        "named": "{[example.v1.Part]} 3",
        "one": "example.v1.Part 4",
        "sizes": "{quantity} 5",
        "amounts": "[quantity] 6",
        "amount": "quantity 7",
        "texts": "[string] 8",
        "flags": "{bool} 9",
        "counts": "[int32] 10",
        "large": "[int64] 11",
        "matrix": "[[int32]] 12",
        "any": "[any] 13",
    },
    "example.v1.Part": {"size": "quantity 1", "inner": "[example.v1.Part] 2", "text": "string 3"},
}


def widget(**facts: Any) -> Kind:
    built = built_in_table()
    row = KindRow(
        group="example.com", version="v1", kind="Widget", type="example.v1.Widget",
        resource="widgets", singular="widget", namespaced=True,
        verbs=("get",), subresources={},
    )  # fmt: skip
    made = Schema(
        Table(
            kinds={f"{WIDGET}/Widget": msgspec.structs.replace(row, **facts)},
            types=built.types | TYPES,
            unserved={},
        )
    ).find(WIDGET, "Widget")
    assert made is not None
    return made


def test_the_fields_of_each_struct_are_seen_once() -> None:
    structs = ("ObjectMeta", "ManagedFieldsEntry", "OwnerReference")
    others = [built_in_table().types[f"meta.v1.{name}"] for name in structs]
    expected = [name for struct in (*TYPES.values(), *others) for name in struct]
    found = [field.name for field in widget().fields()]
    assert sorted(found) == sorted(name for name in expected if name != "$atomic")


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("parts", (2,)),
        ("parts.size", (1,)),
        ("named.inner.inner.text", (3,)),
        ("one.size", (1,)),
        ("metadata.name", (1,)),
        ("parts.none", None),
        ("none", None),
        ("amount.size", None),
        ("sizes.size", None),
        ("none.size", None),
    ],
)
def test_a_path_has_the_names_of_fields_only(path: str, number: tuple[int, ...] | None) -> None:
    found = widget().field(path)
    assert (found and found.number) == number


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"texts": ["a", None]}, {"texts": ["a", ""]}),
        ({"flags": {"a": None, "b": True}}, {"flags": {"a": False, "b": True}}),
        ({"counts": [None], "large": [None, 1]}, {"counts": [0], "large": [0, 1]}),
        ({"matrix": [[None], None]}, {"matrix": [[0], None]}),
        ({"any": [None, {"a": None}]}, {"any": [None, {"a": None}]}),
        ({"parts": [None, {"inner": [None], "text": None}]},
         {"parts": [{}, {"inner": [{}], "text": None}]}),
        ({"named": {"a": [None], "b": None}}, {"named": {"a": [{}], "b": None}}),
        ({"one": {"inner": [None]}}, {"one": {"inner": [{}]}}),
        ({"parts": None, "unknown": [None], "one": 5, "texts": {"a": None}, "flags": [None]},
         {"parts": None, "unknown": [None], "one": 5, "texts": {"a": None}, "flags": [None]}),
    ],
)  # fmt: skip
def test_null_items_are_zero_values(given: Document, made: Document) -> None:
    assert widget().with_zero_items(given) == made
    without: Document = {"parts": [{}]}
    assert widget().with_zero_items(without) is without


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"PARTS": [{"Size": 1}, 2], "Any": [{"Size": 1}]},
         {"parts": [{"size": 1}, 2], "any": [{"Size": 1}]}),
        ({"Named": {"Key": [{"TEXT": "a"}]}, "oNE": {"INNER": [{"Text": "b"}]}},
         {"named": {"Key": [{"text": "a"}]}, "one": {"inner": [{"text": "b"}]}}),
        ({"bogus": {"Size": 1}, "parts": 5, "one": None, "Sizes": {"Cpu": "1"}},
         {"bogus": {"Size": 1}, "parts": 5, "one": None, "sizes": {"Cpu": "1"}}),
        ({"metadata": {"NAME": "a", "Labels": {"Name": "b"}}},
         {"metadata": {"name": "a", "labels": {"Name": "b"}}}),
    ],
)  # fmt: skip
def test_names_of_any_case_are_those_of_the_declaration(given: Document, made: Document) -> None:
    assert widget().with_declared_names(given) == made


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"amount": "1000m", "texts": ["1000m"]}, {"amount": "1", "texts": ["1000m"]}),
        ({"amounts": ["1", None, 0.5]}, {"amounts": ["1", None, "500m"]}),
        ({"sizes": {"a": None, "b": "1024Ki"}}, {"sizes": {"a": None, "b": "1Mi"}}),
        ({"named": {"a": [{"size": "1.0"}], "b": [{"text": "1.0"}]}},
         {"named": {"a": [{"size": "1"}], "b": [{"text": "1.0"}]}}),
        ({"one": {"size": 2, "text": None}}, {"one": {"size": "2", "text": None}}),
    ],
)  # fmt: skip
def test_quantities_are_canonical_wherever_they_are(given: Document, made: Document) -> None:
    before = msgspec.json.encode(given)
    found = widget().with_canonical_quantities(given)
    assert found == made
    assert msgspec.json.encode(given) == before, "the given document does not change"
    assert widget().with_canonical_quantities(found) is found


# --------------------------------------------------------------------------- shared specs


def test_equal_specs_are_one_object_unless_more_than_the_spec_matters() -> None:
    found = fresh("Pod")
    first, second = found.with_shared_spec(pod()), found.with_shared_spec(pod())
    assert first["spec"] is second["spec"]
    assert found.with_shared_spec(pod(priority=1))["spec"] is not first["spec"]
    assert found.shared_spec(pod()["spec"]) is first["spec"]
    assert found.shared_spec(first["spec"]) is first["spec"]
    assert found.facts_of(first) is found.facts_of(second) is not None
    assert first == pod()
    assert found.facts_of(pod()) is None
    others: tuple[Document, ...] = ({"kind": "Pod"}, {"spec": [1]})
    for document in others:
        assert found.with_shared_spec(document) is document
        assert found.facts_of(document) is None
    other = fresh("Pod")
    assert other.facts_of(first) is None, "a spec of another schema is not known"
    assert other.shared_spec(first["spec"]) is not first["spec"]
    service = fresh("Service")
    document = {"spec": {"ports": [{"port": 80}]}}
    assert service.with_shared_spec(document) is document


def test_a_spec_is_shared_when_it_occurs_again_or_at_once() -> None:
    found = fresh("Pod")
    first, second = pod(), pod()
    assert found.with_shared_spec(first, only_repeated=True) is first
    assert found.with_shared_spec(second, only_repeated=True)["spec"] == second["spec"]
    assert found.facts_of(found.with_shared_spec(second, only_repeated=True)) == {}
    large = pod(nodeSelector={"a": "x" * 70_000})
    assert found.with_shared_spec(large) is large
    assert found.shared_spec(large["spec"]) is large["spec"]


def test_facts_depend_on_the_metadata_that_is_read_with_the_spec() -> None:
    found = fresh("Pod")

    def facts(metadata: Any, **spec: Any) -> Any:
        shared = found.with_shared_spec(pod(**spec))
        return found.facts_of(shared | {"metadata": metadata})

    plain = facts({"name": "a"})
    assert facts({"name": "b", "labels": {"x": "y"}}) is plain
    assert facts({}) is plain
    assert facts(None) is plain
    assert facts([1]) is None
    annotated = facts({"name": "a", "annotations": {"x": "y"}})
    assert annotated is not plain
    assert facts({"name": "b", "annotations": {"x": "y"}}) is annotated
    assert facts({"name": "b", "annotations": {"x": "z"}}) is not annotated
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    named = facts({"name": "a"}, volumes=volumes)
    assert facts({"name": "a"}, volumes=volumes) is named
    assert facts({"name": "b"}, volumes=volumes) is not named


def test_what_is_known_of_a_spec_is_what_is_found_without_it() -> None:
    built = built_in_table()
    row = msgspec.structs.replace(built.kinds["v1/Pod"], is_spec_only=False)
    table = Table(kinds={"v1/Pod": row}, types=built.types, unserved={})
    plain_kind = Schema(table).find("v1", "Pod")
    assert plain_kind is not None
    wrong = {"containers": [{"name": "A", "image": "i"}]}
    plain: Document = {"metadata": {"name": "a", "namespace": "d"}}
    documents = [
        pod(),
        pod({"x": "y"}),
        pod(metadata={"labels": {"a b": "c"}}),
        pod(metadata={"name": ""}),
        pod(metadata={"annotations": {"a b": "c"}}),
        pod(**wrong),
        pod({"x": "y"}, **wrong),
        pod(metadata={"uid": 5}, **wrong),
        pod(metadata={"finalizers": ["x"]}, **wrong),
        pod(**wrong) | {"bogus": 1},
        pod(**wrong) | {"status": {"phase": 1}},
        pod(bogus=1),
        pod(bogus=1) | {"status": {"phase": "Running"}},
        pod(priority="x"),
        pod() | {"status": {"phase": 3}},
        pod() | {"status": {"conditions": [None]}},
        pod() | plain,
    ]
    found = fresh("Pod")
    for document in [*documents, *reversed(documents)]:
        alone = plain_kind.checked(document)
        assert found.checked(document) == alone
        shared = found.with_shared_spec(document)
        if not alone[1]:
            assert found.new_problems(shared) == []
            assert found.new_problems(shared) == []
            assert found.go_form(shared) == plain_kind.go_form(document)
            assert found.go_form(shared) == plain_kind.go_form(document)


def test_objects_of_one_spec_share_what_was_made_of_it() -> None:
    found = fresh("Pod")
    (first, _), (second, _) = found.checked(pod()), found.checked(pod({"x": "y"}))
    assert first["spec"] is second["spec"]
    assert found.facts_of(first) is not None
    assert found.checked(first)[0]["spec"] is first["spec"]
    formed = [found.go_form(found.with_shared_spec(pod())) for _ in range(2)]
    assert formed[0]["spec"] is formed[1]["spec"]
    again = found.go_form(formed[0])
    assert again["spec"] is formed[0]["spec"]
    assert found.go_form(formed[0] | {"metadata": {"name": "b"}})["spec"] is formed[0]["spec"]


def test_problems_are_not_shared_with_those_who_change_them() -> None:
    found = fresh("Pod")
    wrong = found.with_shared_spec(pod(containers=[{"name": "A", "image": "i"}]))
    for _ in range(3):
        problems = found.validation_problems(wrong)
        assert [path for path, _, _ in problems] == ["spec.containers[0].name"]
        problems.clear()
    for _ in range(3):
        _, problems = found.checked(wrong)
        assert [path for path, _, _ in problems] == ["spec.containers[0].name"]
        problems.clear()


def test_metadata_that_was_found_right_is_not_checked_again() -> None:
    found = fresh("Pod")
    shared = found.with_shared_spec(found.with_defaults(pod()))
    metadata: Document = {"name": "a", "namespace": "d"}
    assert found.new_problems(shared | {"metadata": metadata}) == []
    metadata["name"] = "A"  # no caller changes what it gave; here it shows what is known
    assert found.new_problems(shared | {"metadata": metadata}) == []
    other = {"name": "A", "namespace": "d"}
    for _ in range(2):
        problems = found.new_problems(shared | {"metadata": other})
        assert [path for path, _, _ in problems] == ["metadata.name"]
    absent: tuple[Document | None, ...] = ({}, None)
    for missing in absent:
        problems = found.new_problems(shared | {"metadata": missing})
        assert [path for path, _, _ in problems] == ["metadata.name"]
    plain = {"metadata": {"name": "A"}, "data": {}}
    assert [path for path, _, _ in kind("ConfigMap").new_problems(plain)] == ["metadata.name"]


# -------------------------------------------------------------------- updates, warnings


@pytest.mark.parametrize(
    ("steps", "immutable", "new", "expected"),
    [
        ((), ("mode",), {"metadata": {"name": "A"}}, []),
        (("metadata",), (), {"metadata": {"name": "b"}},
         ['metadata.name: Invalid value: "b": field is immutable']),
        (("metadata",), (), {"metadata": {"name": "a", "resourceVersion": "1"}}, []),
        (("new_metadata",), (), {"metadata": {"name": "b"}}, []),
        (("new_metadata",), (), {"metadata": None}, []),
        (("new",), (), {"metadata": {"name": "b"}}, []),
        (("immutable",), ("one.text", "one.size"),
         {"metadata": {"name": "b"}, "one": {"text": "x", "size": "1"}},
         ['one.text: Invalid value: "x": field is immutable']),
        (("immutable",), ("one.text",), {"metadata": {"name": "b"}, "one": 5},
         ["one.text: Invalid value: null: field is immutable"]),
    ],
)  # fmt: skip
def test_the_steps_of_an_update(
    steps: tuple[str, ...], immutable: tuple[str, ...], new: Document, expected: list[str]
) -> None:
    old: Document = {
        "metadata": {"name": "a", "resourceVersion": "1"},
        "one": {"text": "y", "size": "1"},
    }
    for facts, method in (
        ({"validation_of_update": steps}, "update_problems"),
        ({"validation_of_status": steps}, "status_problems"),
    ):
        found = widget(immutable=immutable, **facts)
        problems = getattr(found, method)(new, old)
        assert [f"{path}: {text}" for path, text, _ in problems] == expected


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("", ["metadata.finalizers[0]"]),
        ("node.k8s.io", []),
    ],
)
def test_finalizers_need_a_domain_unless_the_group_is_a_generic_one(
    group: str, expected: list[str]
) -> None:
    found = widget(
        group=group, validation_of_update=("metadata",), validation_of_status=("new_metadata",)
    )
    old = {"metadata": {"name": "a", "resourceVersion": "1"}}
    new = {"metadata": {"name": "a", "resourceVersion": "1", "finalizers": ["x"]}}
    for problems in (
        found.metadata_problems(new),
        found.update_problems(new, old),
        found.metadata_update_problems(new, old),
        found.status_problems(new, old),
    ):
        assert [path for path, _, _ in problems] == expected


def test_the_paths_that_a_kind_names_are_those_of_its_fields() -> None:
    for kind in built_in():
        row = kind.row
        named = [re.sub(r"\[[^]]*\]", "", path) for path in row.set_by_others]
        named += [each.split(" ")[0] for each in row.immutable]
        named += [row.pod_template] if row.pod_template else []
        unknown = [path for path in named if kind.field(path) is None]
        assert not unknown, (row.group, row.kind, unknown)

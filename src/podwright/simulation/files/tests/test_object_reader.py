"""Manifests are read strictly, objects from a server leniently."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import FieldError, Object, ResourceClaim, Unknown
from podwright.simulation.files import ObjectReader, Place, read_manifest
from podwright.simulation.files.object_reader import _with_suggestion

LISTED = 'Unsupported value: "Nver": supported values: "Always", "Never"'


def document(spec: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    whole = {"containers": [{"name": "main", "image": "app"}], **(spec or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": whole} | fields


def from_server(**fields: Any) -> dict[str, Any]:
    stored = document(**fields)
    stored["metadata"] = {"name": "web", "uid": "u1", "resourceVersion": "5"}
    return stored


def read(one: dict[str, Any], **options: Any) -> tuple[Object | None, list[str], tuple[str, ...]]:
    reader = ObjectReader(**options)
    obj = reader.read(one, Place("f"))
    return obj, list(map(str, reader.errors)), reader.warnings()


def test_an_unknown_field_of_a_manifest_is_an_error() -> None:
    obj, errors, warnings = read(document(spec={"tolerationz": []}))
    assert obj is not None
    assert errors == ['f: spec.tolerationz: unknown field; did you mean "tolerations"?']
    assert not warnings


def test_the_error_is_a_warning_with_warn_and_nothing_with_ignore() -> None:
    obj, errors, warnings = read(document(spec={"tolerationz": []}), validate="warn")
    assert obj is not None
    assert not errors
    assert warnings == ('f: spec.tolerationz: unknown field; did you mean "tolerations"?',)
    obj, errors, warnings = read(document(spec={"tolerationz": []}), validate="ignore")
    assert obj is not None
    assert not errors
    assert not warnings


@pytest.mark.parametrize("validate", ["warn", "ignore"])
def test_a_value_that_cannot_be_decoded_is_always_an_error(validate: str) -> None:
    obj, errors, _ = read(document(spec={"nodeName": 5}), validate=validate)
    assert obj is not None
    assert obj.raw["spec"]["nodeName"] == "5"
    assert errors == ["f: spec.nodeName: Invalid value: 5: must be a string; put it in quotes"]


def test_problems_of_decoding_and_of_values_are_reported_together() -> None:
    wrong = {"foo": 1, "preemptionPolicy": "Nver"}
    _, errors, _ = read(document(spec=wrong))
    paths = {error.partition(": ")[2].partition(":")[0] for error in errors}
    assert paths == {"spec.foo", "spec.preemptionPolicy"}


def test_an_object_that_cannot_be_decoded_keeps_its_name() -> None:
    obj, errors, _ = read(document(spec={"preemptionPolicy": "Nver", "priority": []}))
    assert len(errors) == 2
    assert isinstance(obj, Unknown)
    assert (obj.kind, obj.key) == ("Pod", "default/web")
    assert "priority" not in obj.raw["spec"]
    obj, errors, _ = read(document(metadata={"name": "web", "labels": []}))
    assert obj is not None
    assert obj.name == "web"
    obj, errors, _ = read(document(metadata=[1]))
    assert obj is None
    assert errors == ["f: metadata: Invalid value: [1]: must be an object"]


def test_unknown_fields_of_stored_objects_are_one_warning_for_each_kind() -> None:
    reader = ObjectReader()
    for _ in range(2):
        spec = {
            "newer": 1,
            "containers": [{"name": "a", "image": "app", "x": 1}, {"name": "b", "x": 1}],
        }
        assert reader.read(from_server(spec=spec), Place("dump.json")) is not None
    assert not reader.errors
    assert reader.warnings() == (
        "dump.json: v1 Pod: unknown fields spec.containers[].x, spec.newer ignored (newer than"
        " Kubernetes 1.36 or misspelled)",
    )


def test_five_unknown_fields_are_named_and_the_others_counted() -> None:
    spec = {f"newer{number}": 1 for number in range(7)}
    _, errors, warnings = read(from_server(spec=spec))
    assert not errors
    shown = ", ".join(f"spec.newer{number}" for number in range(5))
    assert [text.partition(" ignored")[0] for text in warnings] == [
        f"f: v1 Pod: unknown fields {shown} and 2 more"
    ]


@pytest.mark.parametrize(
    ("validate", "errors", "warnings"),
    [("strict", [ "f: twice", "f: again"], ()), ("warn", [], ("f: twice", "f: again")),
     ("ignore", [], ())],
)  # fmt: skip
def test_keys_that_are_there_twice_are_reported_as_other_mistakes_of_a_manifest(
    validate: Any, errors: list[str], warnings: tuple[str, ...]
) -> None:
    reader = ObjectReader(validate=validate)
    duplicates = [FieldError(source="f", message=text) for text in ("twice", "again")]
    reader.note_duplicates(duplicates)
    assert duplicates == []
    assert (list(map(str, reader.errors)), reader.warnings()) == (errors, warnings)


def test_unknown_fields_are_searched_in_a_thousand_objects_of_a_kind() -> None:
    reader = ObjectReader()
    for number in range(1, 1_002):
        spec = {f"newer{number}": 1} if number >= 1_000 else {}
        reader.read(from_server(spec=spec), Place("f"))
    (warning,) = reader.warnings()
    assert "unknown field spec.newer1000 ignored" in warning


@pytest.mark.parametrize(
    ("message", "value", "expected"),
    [
        pytest.param(LISTED, "Nver", f'{LISTED}; did you mean "Never"?', id="a near one"),
        pytest.param(LISTED, "x", LISTED, id="none is near"),
        pytest.param(LISTED, ["Never"], LISTED, id="no text"),
        pytest.param("Required value", "Never", "Required value", id="another error"),
        pytest.param(
            f'{LISTED}; did you mean "Never"?', "Nver", f'{LISTED}; did you mean "Never"?',
            id="once",
        ),
    ],
)  # fmt: skip
def test_an_enumeration_has_a_suggestion(message: str, value: Any, expected: str) -> None:
    assert _with_suggestion(message, value) == expected


def test_directives_of_a_patch_are_not_fields() -> None:
    patch = {
        "$patch": "merge",
        "spec": {
            "$setElementOrder/containers": [{"name": "a"}],
            "containers": [{"name": "a", "$patch": "delete"}, {"name": "b", "image": None}],
            "nodeName": None,
            "odd": 1,
        },
    }
    reader = ObjectReader()
    reader.check_patch(("", "Pod"), patch, Place("f"), path="patch")
    reader.check_patch(("example.com", "Widget"), {"spec": {"odd": 1}}, Place("f"), path="patch")
    assert list(map(str, reader.errors)) == ["f: patch.spec.odd: unknown field"]


def test_a_document_of_a_record_is_stored_without_a_uid() -> None:
    reader = ObjectReader()
    assert reader.read(document(foo=1), Place("f"), is_stored=True) is not None
    assert reader.warnings()


def test_an_older_version_of_a_stored_object_is_converted() -> None:
    budget = from_server() | {
        "apiVersion": "policy/v1beta1",
        "kind": "PodDisruptionBudget",
        "spec": {"minAvailable": 1},
    }
    obj, errors, warnings = read(budget)
    assert obj is not None
    assert not errors
    assert not warnings
    assert obj.raw["apiVersion"] == "policy/v1"


def test_an_older_version_with_other_fields_stays_as_it_is_with_a_warning() -> None:
    ingress = from_server() | {"apiVersion": "extensions/v1beta1", "kind": "Ingress"}
    ingress["spec"] = {"backend": {"serviceName": "web", "servicePort": 80}}
    reader = ObjectReader()
    for place in "fgh":
        obj = reader.read(ingress, Place(place))
        assert obj is not None
        assert obj.raw["apiVersion"] == "extensions/v1beta1"
    assert not reader.errors
    assert reader.warnings() == (
        "f: Ingress of extensions/v1beta1 is not read, since networking.k8s.io/v1 does not have its"
        " field spec.backend in that form",
    )


def test_an_older_version_in_a_manifest_is_an_error_that_names_the_successor() -> None:
    _, errors, _ = read(document() | {"apiVersion": "policy/v1beta1", "kind": "Eviction"})
    assert errors == [
        'f: kind: no matches for kind "Eviction" in version "policy/v1beta1"; use policy/v1'
    ]


def claim(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1beta1",
        "kind": "ResourceClaim",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu", **request}]}},
    }


def requests_of(obj: Object | None) -> Any:
    assert isinstance(obj, ResourceClaim)
    assert obj.raw["apiVersion"] == "resource.k8s.io/v1"
    return obj.raw["spec"]["devices"]["requests"]


def test_a_served_version_is_read_as_the_one_in_which_objects_are_stored() -> None:
    exact = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    obj, errors, warnings = read(claim({}))
    assert requests_of(obj) == [{"name": "r", "exactly": exact}]
    assert not errors
    assert not warnings
    stored = claim({"count": 1, "allocationMode": "ExactCount"})
    stored["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    obj, errors, warnings = read(stored)
    assert requests_of(obj) == [{"name": "r", "exactly": exact}]
    assert not errors
    assert not warnings


def test_what_is_wrong_with_a_served_version_is_said_with_the_paths_of_its_fields() -> None:
    _, errors, _ = read(claim({"odd": 1}))
    assert errors == ["f: spec.devices.requests[0].odd: unknown field"]
    _, errors, _ = read(claim({"count": "two"}))
    assert [error.partition(": Invalid")[0] for error in errors] == [
        "f: spec.devices.requests[0].count"
    ]
    stored = claim({"count": "two"})
    stored["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    _, errors, _ = read(stored)
    assert [error.partition(": Invalid")[0] for error in errors] == [
        "f: spec.devices.requests[0].count"
    ]
    _, errors, _ = read(claim({"count": -1}))
    assert [error.partition(": Invalid")[0] for error in errors] == [
        "f: spec.devices.requests[0].exactly.count"
    ]


def test_an_object_of_a_served_version_with_unknown_fields_is_read() -> None:
    reader = ObjectReader("warn")
    obj = reader.read(claim({"odd": 1}), Place("f"))
    assert [*requests_of(obj)[0]] == ["name", "exactly"]
    assert reader.warnings() == ("f: spec.devices.requests[0].odd: unknown field",)


def test_a_null_request_of_a_served_version_is_an_empty_one() -> None:
    empty = claim({})
    empty["spec"]["devices"]["requests"] = [None]
    _, errors, _ = read(empty)
    assert errors[1:] == [
        "f: spec.devices.requests[0]: Required value: exactly one of `exactly` or"
        " `firstAvailable` is required"
    ]
    obj, errors, _ = read(empty, validate="ignore")
    assert requests_of(obj) == [{"name": ""}]
    assert not errors


def test_an_older_autoscaler_has_metrics() -> None:
    spec = {
        "maxReplicas": 5,
        "targetCPUUtilizationPercentage": 50,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
    }
    head = {"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler"}
    obj, errors, _ = read({**head, "metadata": {"name": "web"}, "spec": spec})
    assert not errors
    assert obj is not None
    assert obj.raw["apiVersion"] == "autoscaling/v2"
    assert obj.raw["spec"]["metrics"] == [
        {
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 50},
            },
        }
    ]
    assert "status" not in obj.raw


def test_an_object_of_a_custom_kind_is_not_validated() -> None:
    stage = document(spec={"anything": 1}) | {"apiVersion": "kwok.x-k8s.io/v1alpha1"}
    obj, errors, warnings = read(stage | {"kind": "Stage"})
    assert obj is not None
    assert not errors
    assert not warnings


def test_a_new_object_is_valid_and_has_its_defaults() -> None:
    obj, errors, _ = read(document(spec={"priority": 5}))
    assert not errors
    assert obj is not None
    assert obj.raw["spec"]["restartPolicy"] == "Always"
    reader = ObjectReader(has_defaults=False)
    obj = reader.read(document(), Place("f"))
    assert obj is not None
    assert obj.raw["spec"] == {"containers": [{"name": "main", "image": "app"}]}
    requests = {"requests": {"cpu": "-1"}}
    _, errors, _ = read(
        document(spec={"containers": [{"name": "main", "image": "app", "resources": requests}]})
    )
    assert errors == [
        'f: spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than'
        " or equal to 0"
    ]


def test_a_new_definition_has_no_status() -> None:
    # Upstream: apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go,
    # PrepareForCreate. Older versions of controller-gen write this one.
    status = {"acceptedNames": {"kind": "", "plural": ""}, "conditions": [], "storedVersions": []}
    version = {"name": "v1", "served": True, "storage": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crates.example.org"},
        "spec": {
            "group": "example.org",
            "names": {"kind": "Crate", "plural": "crates"},
            "scope": "Namespaced",
            "versions": [version | {"schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
        "status": status,
    }
    obj, errors, _ = read(definition)
    assert not errors
    assert obj is not None
    assert obj.raw.get("status") is None


def test_the_taints_of_a_node_are_in_its_spec() -> None:
    taint = {"key": "gpu", "effect": "NoSchedul"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    _, errors, _ = read(node | {"spec": {"taints": [taint]}})
    assert errors == [
        'f: spec.taints[0].effect: Unsupported value: "NoSchedul": supported values: "NoSchedule",'
        ' "PreferNoSchedule", "NoExecute"; did you mean "NoSchedule"?'
    ]


def test_other_fields_of_a_node_are_where_they_are_reported() -> None:
    metadata = {"name": "n", "labels": {"a": "b c"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"podCIDR": "x"}}
    _, errors, _ = read(node)
    paths = [each.split(": ")[1] for each in errors]
    assert "metadata.labels" in paths
    assert all(path.startswith(("metadata.", "spec.podCIDR")) for path in paths), paths


def test_problems_of_equal_specs_are_reported_for_each_object() -> None:
    reader = ObjectReader()
    for _ in range(2):
        reader.read(document(spec={"containers": []}), Place("f"))
    assert list(map(str, reader.errors)) == ["f: spec.containers: Required value"] * 2


def test_objects_with_equal_specs_share_the_spec() -> None:
    first, second = (read(document())[0] for _ in range(2))
    assert first is not None
    assert second is not None
    assert first.raw["spec"] is second.raw["spec"]


YAML = b"""\
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: main
    imagee: app
    image: app
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: b}
  spec: {containers: [{name: b, image: app}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: c}
  spec:
    priorty: 5
    containers: [{name: c, image: app}]
"""


def refused(data: bytes) -> list[str]:
    return list(map(str, read_manifest(data, source="f").errors))


def test_errors_have_the_line_of_their_field() -> None:
    assert [line.partition(": unknown")[0] for line in refused(YAML)] == [
        "f: document 1 (line 8): spec.containers[0].imagee",
        "f: document 2 (line 22): items[1]: spec.priorty",
    ]


def test_errors_in_formatted_json_have_a_line() -> None:
    pods = {"apiVersion": "v1", "kind": "PodList", "items": [document(), document(foo=1)]}
    lines = msgspec.json.format(msgspec.json.encode(pods), indent=2)
    number = lines.decode().splitlines().index('      "foo": 1') + 1
    assert refused(lines) == [f"f: line {number}: items[1]: foo: unknown field"]
    assert refused(msgspec.json.encode(pods)) == ["f: items[1]: foo: unknown field"]


def test_lists_in_lists_are_taken_apart() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [document(foo=1)]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [inner, document()]}
    assert refused(msgspec.json.encode(outer)) == ["f: items[0]: items[0]: foo: unknown field"]


@pytest.mark.parametrize(
    ("api_version", "kind", "reason"),
    [
        ("v1", "APIGroupList", "APIGroupList says what an API server has"),
        ("v1", "APIResourceList", "APIResourceList says what an API server has"),
        (
            "troubleshoot.sh/v1beta2",
            "SupportBundle",
            "SupportBundle of troubleshoot.sh/v1beta2 without metadata configures another tool",
        ),
    ],
)
def test_a_document_of_another_purpose_is_a_warning(api_version, kind, reason):
    document = {"apiVersion": api_version, "kind": kind, "spec": {}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}
    found = read_manifest(msgspec.json.encode([document, node]), source="f")
    assert [entry.object.kind for entry in found.objects] == ["Node"]
    assert (found.errors, found.is_complete) == ((), True)
    assert found.warnings == (f"f: [0]: {reason}; it is not read",)


@pytest.mark.parametrize(
    ("api_version", "kind"), [("apps/v1", "Deployment"), ("v1", "Config"), ("example.com/v1", "")]
)
def test_an_object_that_was_cut_short_is_an_error(api_version, kind):
    document = {"apiVersion": api_version, "kind": kind, "spec": {}}
    assert read_manifest(msgspec.json.encode(document), source="f").errors


def _definition(**spec):
    version = {"name": "v1", "served": True, "storage": True}
    names = {"kind": "Widget", "plural": "widgets"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.x.io", "uid": "u", "resourceVersion": "1"},
        "spec": {"group": "x.io", "names": names, "versions": [version], **spec},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "missing"),
    [
        ({}, ""),
        ({"group": ""}, "spec.group"),
        ({"names": None}, "spec.names.plural"),
        ({"names": {"plural": "widgets"}}, "spec.names.kind"),
        ({"versions": []}, "spec.versions"),
        ({"versions": [None]}, "spec.versions[].name"),
        ({"versions": [{"name": "v1"}]}, "spec.versions[].storage"),
    ],
)
def test_an_edited_definition_that_lacks_what_names_its_kind_is_left_out(spec, missing):
    found = read_manifest(msgspec.json.encode(_definition(**spec)), source="f")
    lacks = f"f: CustomResourceDefinition widgets.x.io is not read, since it lacks {missing},"
    expected = (f"{lacks} which an API server requires",) if missing else ()
    assert (found.warnings, found.errors) == (expected, ())
    assert len(found.objects) == (not missing)


def test_an_edited_definition_with_a_wrong_value_is_an_error_whatever_it_lacks():
    found = read_manifest(msgspec.json.encode(_definition(group=7, versions=[])), source="f")
    assert [str(error).partition(": Invalid")[0] for error in found.errors] == ["f: spec.group"]
    assert found.warnings == ()


def test_null_items_of_an_edited_dump_are_zero_values_as_in_go():
    limits = [None, {"type": "Pod", "max": {"cpu": None}}]
    document = {
        "apiVersion": "v1", "kind": "LimitRange", "spec": {"limits": limits},
        "metadata": {"name": "l", "namespace": "a", "uid": "u", "resourceVersion": "1"},
    }  # fmt: skip
    (entry,) = read_manifest(msgspec.json.encode(document), source="f").objects
    assert isinstance(entry.object, Unknown)
    spec = entry.object.raw["spec"]
    assert spec == {"limits": [{}, {"type": "Pod", "max": {"cpu": "0"}}]}

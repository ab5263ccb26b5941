"""Rules that few objects break: parts that are left out, and values just over a limit."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import built_in
from podwright.apimachinery.schema.tests.kind_errors import (
    TEMPLATE,
    kind_of,
    of_changed_spec,
    of_new,
    of_schema,
)
from podwright.apimachinery.schema.tests.test_errors_of_networks import of_network, of_slice
from podwright.apimachinery.schema.tests.test_validation_admission import RULE, of_hook, problems
from podwright.apimachinery.schema.tests.test_validation_devices import (
    allocation,
    of_claim,
    status_problems,
)
from podwright.apimachinery.schema.tests.test_validation_gated_kinds import kind, texts
from podwright.apimachinery.schema.validation.custom.definition_schemas import (
    printed_schema,
    printed_version,
)
from podwright.apimachinery.schema.validation.dynamic_resources.devices import (
    _validate_identifier,
    validate_pool_name,
)
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.names import port_name
from podwright.apimachinery.schema.validation.pods.pod_update import ephemeral_container_problems
from podwright.apimachinery.schema.validation.pods.resources import (
    validate_container_resource_name,
    validate_pod_resource_name,
    validate_resource_name,
)
from podwright.apimachinery.schema.validation.rules import at_least
from podwright.apimachinery.schema.validation.signers import validate_signer_name
from podwright.apimachinery.schema.warnings.configuration import _certificate
from podwright.apimachinery.schema.warnings.pods import _go_text


def test_all_resources_may_stand_beside_subresources() -> None:
    assert of_hook(rules=[{**RULE, "resources": ["*", "pods/status"]}]) == []
    assert len(of_hook(rules=[{**RULE, "resources": ["*", "pods"]}])) == 1


_NAMES: Any = (validate_resource_name, validate_container_resource_name, validate_pod_resource_name)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("cpu", (0, 0, 0)),
        ("hugepages-2Mi", (0, 0, 0)),
        ("a.b/c", (0, 0, 1)),
        ("kubernetes.io/x", (0, 0, 1)),
        ("pods", (0, 1, 1)),
        ("requests.hugepages-2Mi", (0, 1, 1)),
        ("requests.a.b/c", (0, 1, 1)),
        ("x y", (1, 2, 1)),
        ("bogus", (1, 2, 1)),
        ("a_b/c d", (2, 3, 2)),
    ],
)
def test_so_many_errors_has_the_name_of_a_resource(name: str, counts: tuple[int, ...]) -> None:
    """Of anything, of a container and of a whole pod."""
    for validate, count in zip(_NAMES, counts, strict=True):
        errors = FieldErrors()
        assert validate(errors, "path", name) is (count == 0), validate
        assert len(errors.problems) == count, validate


@pytest.mark.parametrize(
    ("validate", "before", "after", "room", "most"),
    [
        (validate_pool_name, "", "", 253, 253),
        (_validate_identifier, "", "", 32, 32),
        (validate_signer_name, "a.b/", "", 567, 571),
        (validate_signer_name, "", "/a", 253, 253),
    ],
)
def test_a_length_is_that_of_the_bytes(
    validate: Any, before: str, after: str, room: int, most: int
) -> None:
    too_long = ("path", f"Too long: may not be more than {most} bytes")
    for end, is_too_long in (("a", False), ("\u00e9", True)):
        errors = FieldErrors()
        validate(errors, "path", before + "a" * (room - 1) + end + after)
        found = [(path, message) for path, message, _ in errors.problems]
        assert (too_long in found) is is_too_long


@pytest.mark.parametrize(
    ("field", "before", "has_error"),
    [
        ("dataSource", {}, True),
        ("dataSource", {"dataSource": {"kind": "X", "name": "n"}}, True),
        ("dataSource", {"dataSource": {"kind": "X", "name": "n", "apiGroup": ""}}, False),
        ("dataSourceRef", {"dataSource": {"kind": "X", "name": "n", "apiGroup": "g"}}, False),
    ],
)
def test_the_group_of_a_source_is_checked_unless_a_claim_had_one(
    field: str, before: Any, has_error: bool
) -> None:
    spec = {field: {"kind": "X", "name": "n", "apiGroup": "Wrong_Group"}}
    found = of_changed_spec("PersistentVolumeClaim", spec, before)
    assert any(text.startswith(f"spec.{field}.apiGroup: ") for text in found) is has_error


def test_data_that_are_not_base64_are_named() -> None:
    found = kind_of("Secret").decoding_problems({"data": {"k": "plain!"}})
    assert [(path, text) for path, text, _ in found] == [
        ("data[k]", 'Invalid value: "plain!": not base64; plain text belongs in stringData or in'
         " data of a ConfigMap"),
    ]  # fmt: skip


def test_the_selector_of_parameters_is_checked() -> None:
    wrong = {"matchExpressions": [{"key": "a", "operator": "In"}]}
    reference = {"selector": wrong, "parameterNotFoundAction": "Deny"}
    spec = {"policyName": "p", "validationActions": ["Deny"], "paramRef": reference}
    assert problems("ValidatingAdmissionPolicyBinding", spec=spec) == [
        "spec.paramRef.selector.matchExpressions[0].values: Required value: must be specified when"
        " `operator` is 'In' or 'NotIn'"
    ]


def test_a_migration_without_a_spec_needs_a_resource() -> None:
    found = kind("storagemigration.k8s.io/v1beta1", "StorageVersionMigration")
    assert texts(found.validation_problems({"metadata": {"name": "m"}}))[:1] == [
        "spec.resource.resource: Required value: resource is required to be set"
    ]


def test_a_claim_has_at_most_32_configurations() -> None:
    opaque = {"opaque": {"driver": "gpu.io", "parameters": {}}}
    assert of_claim(config=[opaque] * 32) == []
    assert of_claim(config=[opaque] * 33) == [
        "spec.devices.config: Too many: 33: must have at most 32 items"
    ]


def test_the_id_of_a_share_in_braces_is_a_uuid_in_another_form() -> None:
    uid = "{a0000000-0000-0000-0000-000000000000}"
    (found,) = status_problems({"allocation": allocation(shareID=uid)})
    assert f'"{uid}": uid must be in RFC 4122' in found


def test_a_generated_selector_that_is_not_valid_is_only_that() -> None:
    labels = {
        "batch.kubernetes.io/controller-uid": "u", "controller-uid": "u",
        "batch.kubernetes.io/job-name": "x", "job-name": "x",
    }  # fmt: skip
    template: dict[str, Any] = {**TEMPLATE, "metadata": {"labels": labels}}
    template["spec"] = {**template["spec"], "restartPolicy": "Never"}

    def of_selector(selector: dict[str, Any]) -> list[str]:
        spec = {"selector": selector, "template": template}
        found = of_new("Job", {"metadata": {"uid": "u"}, "spec": spec})
        return [each for each in found if "auto-generated" in each]

    assert len(of_selector({"matchLabels": {"a": "b"}})) == 1
    assert of_selector({"matchLabels": {"-": "c"}}) == []
    assert of_selector({"matchLabels": labels}) == []


def test_the_metadata_of_an_embedded_object_may_have_a_default_name() -> None:
    metadata = {
        "type": "object",
        "properties": {"name": {"type": "string", "default": "a"}},
    }
    part = {
        "type": "object", "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True, "properties": {"metadata": metadata},
    }  # fmt: skip
    found = of_schema({"type": "object", "properties": {"part": part}})
    assert [each for each in found if "top-level" in each] == []


def test_a_version_is_printed_with_its_columns_and_subresources() -> None:
    column = {"name": "a", "type": "string", "jsonPath": ".a"}
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    version = {
        "name": "v1", "served": True, "additionalPrinterColumns": [column],
        "subresources": {"status": {}, "scale": scale},
    }  # fmt: skip
    found = printed_version(version, ())
    assert (found["Name"], found["Served"], found["Storage"]) == ("v1", True, False)
    assert found["AdditionalPrinterColumns"] == [
        {"Name": "a", "Type": "string", "Format": "", "Description": "", "Priority": 0,
         "JSONPath": ".a"}
    ]  # fmt: skip
    assert found["Subresources"] == {
        "Status": {},
        "Scale": {
            "SpecReplicasPath": ".spec.n", "StatusReplicasPath": ".status.n",
            "LabelSelectorPath": None,
        },
    }  # fmt: skip
    assert (
        printed_version(version, {"additionalPrinterColumns"})["AdditionalPrinterColumns"] is None
    )


@pytest.mark.parametrize(
    ("name", "is_valid"),
    [
        ("cpu", True), ("hugepages-2Mi", True), ("foo", False), ("example.com/gpu", True),
        ("kubernetes.io/gpu", True), ("requests.example.com/gpu", False),
    ],
)  # fmt: skip
def test_the_names_of_resources_of_containers(name: str, is_valid: bool) -> None:
    errors = FieldErrors()
    assert validate_container_resource_name(errors, "p", name) is is_valid
    assert bool(errors.problems) is not is_valid


def test_hyphens_of_the_name_of_a_port() -> None:
    assert list(port_name("a-b")) == []
    assert list(port_name("a--b")) == ["must not contain consecutive hyphens"]


def test_ephemeral_containers_are_not_removed() -> None:
    old = {"spec": {"ephemeralContainers": [{"name": "a"}]}}
    found = ephemeral_container_problems({"spec": {}}, old)
    assert [message for _, message, _ in found] == [
        'Forbidden: existing ephemeral containers "a" may not be removed\n'
    ]


def test_ports_of_a_slice_without_names_are_repeated() -> None:
    assert of_slice(endpoints=[], ports=[{}, {}]) == ['ports[1].name: Duplicate value: ""']


def test_the_host_of_a_rule_comes_before_its_paths() -> None:
    rule = {"host": "1.2.3.4", "http": {"paths": []}}
    found = of_network("Ingress", {"spec": {"rules": [rule]}})
    assert [each.partition(": ")[0] for each in found] == [
        "rules[0].host", "rules[0].http.paths",
    ]  # fmt: skip


def test_a_key_is_either_matched_or_not_by_an_affinity() -> None:
    term = {
        "topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}},
        "matchLabelKeys": ["k"], "mismatchLabelKeys": ["k"],
    }  # fmt: skip
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    spec = {"containers": [{"name": "c", "image": "i"}], "affinity": affinity}
    path = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
    found = [each.partition(": exists")[0] for each in of_new("Pod", {"spec": spec})]
    assert found == [f'{path}.matchLabelKeys[0]: Invalid value: "k"']


def test_a_port_is_printed_with_its_zero_values() -> None:
    assert _go_text({}) == "{Name: HostPort:0 ContainerPort:0 Protocol: HostIP:}"


def test_only_a_key_alone_may_have_been_switched_with_the_certificate() -> None:
    assert "switched" in _certificate(["PRIVATE KEY"])
    assert "switched" not in _certificate(["PRIVATE KEY", "OTHER"])
    assert _certificate(["OTHER", "CERTIFICATE"]) == ""


def test_a_lower_bound_says_what_it_is_unless_it_has_another_text() -> None:
    for rule, text in (
        (at_least(2), "must be greater than or equal to 2"),
        (at_least(2, "x"), "x"),
    ):
        errors = FieldErrors()
        rule(errors, "p", 1)
        assert [message for _, message, _ in errors.problems] == [f"Invalid value: 1: {text}"]


def test_a_volume_keeps_its_node_affinity() -> None:
    expression = {"key": "zone", "operator": "In", "values": ["a"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    spec = {"nodeAffinity": {"required": terms}}
    assert of_changed_spec("PersistentVolume", spec, spec) == []
    (found,) = of_changed_spec("PersistentVolume", {}, spec)
    assert found.startswith("nodeAffinity: Invalid value: ")


def test_indexes_that_fail_later_are_not_those_that_completed() -> None:
    kind = kind_of("Job")
    spec = {"completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1}
    old = {"metadata": {"name": "j"}, "spec": spec, "status": {"completedIndexes": "1"}}
    new = {**old, "status": {"completedIndexes": "1", "failedIndexes": "1"}}
    texts = [message for _, message, _ in kind.status_problems(new, old)]
    assert [each for each in texts if "overlap at index: 1" in each]


def test_an_ingress_class_keeps_its_controller() -> None:
    def changed(before: str, after: str) -> list[str]:
        kind = built_in().find("networking.k8s.io/v1", "IngressClass")
        assert kind is not None
        old, new = (
            {"metadata": {"name": "c", "resourceVersion": "1"}, "spec": {"controller": name}}
            for name in (before, after)
        )
        return [path for path, _, _ in kind.update_problems(new, old)]

    assert changed("a.io/b", "a.io/b") == []
    assert changed("a.io/b", "a.io/c") == ["spec.controller"]


def test_a_schema_is_printed_with_all_its_fields() -> None:
    found = printed_schema({"title": "T", "format": "f", "description": "d", "type": "object"})
    assert [found[name] for name in ("Title", "Format", "Description", "Type")] == [
        "T", "f", "d", "object",
    ]  # fmt: skip
    assert [found[name] for name in ("ID", "Nullable", "Default", "Required")] == [
        "", False, None, None,
    ]  # fmt: skip
    # In the order of upstream's struct: apiextensions/types_jsonschema.go.
    assert list(found) == [
        "ID",
        "Schema",
        "Ref",
        "Description",
        "Type",
        "Nullable",
        "Format",
        "Title",
        "Default",
        "Maximum",
        "ExclusiveMaximum",
        "Minimum",
        "ExclusiveMinimum",
        "MaxLength",
        "MinLength",
        "Pattern",
        "MaxItems",
        "MinItems",
        "UniqueItems",
        "MultipleOf",
        "Enum",
        "MaxProperties",
        "MinProperties",
        "Required",
        "Items",
        "AllOf",
        "OneOf",
        "AnyOf",
        "Not",
        "Properties",
        "AdditionalProperties",
        "PatternProperties",
        "Dependencies",
        "AdditionalItems",
        "Definitions",
        "ExternalDocs",
        "Example",
        "XPreserveUnknownFields",
        "XEmbeddedResource",
        "XIntOrString",
        "XListMapKeys",
        "XListType",
        "XMapType",
        "XValidations",
    ]

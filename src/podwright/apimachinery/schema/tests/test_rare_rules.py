"""Rules that few objects break: parts that are left out, and values just over a limit."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.schema.tests.kind_errors import TEMPLATE, of_new
from podwright.apimachinery.schema.tests.test_errors_of_structure import of_schema
from podwright.apimachinery.schema.tests.test_validation_admission import RULE, of_hook, problems
from podwright.apimachinery.schema.tests.test_validation_devices import (
    allocation,
    of_claim,
    status_problems,
)
from podwright.apimachinery.schema.tests.test_validation_gated_kinds import kind, texts
from podwright.apimachinery.schema.validation.custom.definition_schemas import printed_version


def test_all_resources_may_stand_beside_subresources() -> None:
    assert of_hook(rules=[{**RULE, "resources": ["*", "pods/status"]}]) == []
    assert len(of_hook(rules=[{**RULE, "resources": ["*", "pods"]}])) == 1


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

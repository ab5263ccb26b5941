"""Versions of autoscalers, fields behind gates, quotas of pods and admin access, field by field."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import built_in, decode
from podwright.apimachinery.schema.types import SCALARS
from podwright.cluster.api.admission.quota.resource_quota import PodQuotas
from podwright.cluster.api.gated_fields import (
    GATED_FIELDS,
    disabled_fields,
    has_field,
    with_mount_option,
    without_comparisons,
    without_disabled,
)
from podwright.cluster.api.stages.checking import admin_access_problems
from podwright.cluster.api.versions.autoscaler_versions import (
    autoscaler_v1,
    autoscaler_v2,
    consistent_autoscaler,
)
from podwright.cluster.api.versions.conversions import VersionConversion, conversion_of
from podwright.cluster.api.versions.device_versions import CHANGED_DEVICE_KINDS, DEVICES_V1BETA1
from podwright.cluster.api.versions.resources import (
    Resources,
    built_in_resources,
    with_reset_owners,
)
from podwright.cluster.store import ObjectStore
from podwright.testing import make_pod

PREFIX = "autoscaling.alpha.kubernetes.io/"
SELECTOR = {"matchLabels": {"a": "b"}}
OWNER = {"kind": "Service", "name": "s"}


EXACT = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
TOLERATED = {
    "deviceClassName": "gpu",
    "selectors": [{"cel": {"expression": "true"}}],
    "allocationMode": "ExactCount",
    "count": 3,
    "adminAccess": False,
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "capacity": {"requests": {"memory": "1Gi"}},
}
ALTERNATIVES = [{"name": "x", **EXACT}, {"name": "y", **EXACT, "count": 2}]
REQUESTS = [
    {"name": "a", **EXACT},
    {"name": "b", **TOLERATED},
    {"name": "c", "deviceClassName": "gpu", "allocationMode": "All"},
    {"name": "d", "deviceClassName": "", "firstAvailable": ALTERNATIVES},
]
REQUESTS_V1 = [
    {"name": "a", "exactly": EXACT},
    {"name": "b", "exactly": TOLERATED},
    {"name": "c", "exactly": {"deviceClassName": "gpu", "allocationMode": "All"}},
    {"name": "d", "firstAvailable": ALTERNATIVES},
]
DEVICE = {
    "attributes": {"model": {"string": "x"}, "shared": {"bool": True}},
    "capacity": {"memory": {"value": "1Gi"}},
    "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}],
}
POOL = {"name": "p", "generation": 1, "resourceSliceCount": 1}


def of_devices(version: str, name: str) -> VersionConversion:
    kind = built_in().find(f"resource.k8s.io/{version}", name)
    assert kind is not None
    conversion = conversion_of(kind)
    assert conversion is not None
    return conversion


def versions(kind: str, spec: Document, spec_v1: Document, **rest: Any) -> Any:
    """Return an object as kube-apiserver answers for both versions."""
    head = {"metadata": {"name": "a"}, "kind": kind, **rest}
    return pytest.param(
        {"apiVersion": "resource.k8s.io/v1beta1", **head, "spec": spec},
        {"apiVersion": "resource.k8s.io/v1", **head, "spec": spec_v1},
        id=f"{kind} with {', '.join(spec)}",
    )


@pytest.mark.parametrize(
    ("older", "stored"),
    [
        versions("ResourceClaim", {"devices": {"requests": REQUESTS}},
                 {"devices": {"requests": REQUESTS_V1}}, status={}),
        versions("ResourceClaim", {"devices": {"requests": None}},
                 {"devices": {"requests": None}}, status={}),
        versions("ResourceClaimTemplate",
                 {"metadata": {}, "spec": {"devices": {"requests": REQUESTS}}},
                 {"metadata": {}, "spec": {"devices": {"requests": REQUESTS_V1}}}),
        versions("DeviceClass", {"selectors": [{"cel": {"expression": "true"}}]},
                 {"selectors": [{"cel": {"expression": "true"}}]}),
        versions("ResourceSlice",
                 {"driver": "d", "pool": POOL, "nodeName": "n",
                  "devices": [{"name": "g", "basic": DEVICE}, {"name": "h", "basic": {}}]},
                 {"driver": "d", "pool": POOL, "nodeName": "n",
                  "devices": [{"name": "g", **DEVICE}, {"name": "h"}]}),
        versions("ResourceSlice",
                 {"driver": "d", "pool": POOL, "allNodes": True},
                 {"driver": "d", "pool": POOL, "allNodes": True}),
    ],
)  # fmt: skip
def test_objects_of_devices_are_stored_in_v1_and_shown_in_each_version(older, stored):
    for version, shown in (("v1beta1", older), ("v1beta2", stored)):
        conversion = of_devices(version, older["kind"])
        assert conversion.storage_kind.api_version == "resource.k8s.io/v1"
        sent = shown | {"apiVersion": f"resource.k8s.io/{version}"}
        assert conversion.to_storage(sent) == stored
        assert conversion.from_storage(stored) == sent


def fields_of(name: str) -> set[str]:
    """Return the paths of all fields of a struct."""
    found: set[str] = set()
    pending = [(name, "", frozenset[str]())]
    while pending:
        name, path, above = pending.pop()
        for field in built_in().type(name).fields.values():
            found.add(f"{path}.{field.name}")
            inside = field.type.innermost
            if inside not in SCALARS and inside not in above:
                pending.append((inside, f"{path}.{field.name}", above | {inside}))
    return found


def test_kinds_whose_objects_are_converted_as_they_are_have_the_same_fields_in_all_versions():
    special = {"Event", "HorizontalPodAutoscaler"}
    kinds = [kind for kind in built_in() if conversion_of(kind) and kind.row.kind not in special]
    assert len(kinds) > 15
    for kind in kinds:
        conversion = conversion_of(kind)
        assert conversion is not None
        same = fields_of(kind.row.type) == fields_of(conversion.storage_kind.row.type)
        is_changed = kind.api_version == DEVICES_V1BETA1 and kind.row.kind in CHANGED_DEVICE_KINDS
        assert same is not is_changed, (kind.api_version, kind.row.kind)


@pytest.mark.parametrize(
    ("request_", "exactly"),
    [
        ({"deviceClassName": "gpu"}, EXACT),
        ({"count": 0, "allocationMode": "", "deviceClassName": "", "tolerations": None}, None),
        ({"adminAccess": False}, {**EXACT, "adminAccess": False, "deviceClassName": ""}),
    ],
)
def test_a_request_of_an_older_version_is_exact_if_one_of_its_fields_is_set(request_, exactly):
    spec = {"devices": {"requests": [{"name": "a", **request_}]}}
    stored = of_devices("v1beta1", "ResourceClaim").to_storage(
        {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceClaim", "spec": spec}
    )
    (found,) = stored["spec"]["devices"]["requests"]
    assert found.get("exactly") == exactly


def test_fields_of_a_slice_that_are_zero_in_an_older_version_are_not_set():
    spec = {"driver": "d", "pool": POOL, "nodeName": "", "allNodes": False}
    stored = of_devices("v1beta1", "ResourceSlice").to_storage(
        {"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceSlice", "spec": spec}
    )
    assert stored["spec"].keys().isdisjoint(("nodeName", "allNodes"))


@pytest.mark.parametrize(
    ("metric", "older"),
    [
        pytest.param(
            {"type": "Object", "object": {"describedObject": OWNER,
             "metric": {"name": "m", "selector": SELECTOR},
             "target": {"type": "Value", "value": "5"}}},
            {"type": "Object", "object": {"target": OWNER, "metricName": "m", "targetValue": "5",
             "selector": SELECTOR}},
            id="an object by its value",
        ),
        pytest.param(
            {"type": "Object", "object": {"describedObject": OWNER, "metric": {"name": "m"},
             "target": {"type": "AverageValue", "averageValue": "5"}}},
            {"type": "Object", "object": {"target": OWNER, "metricName": "m", "targetValue": "0",
             "averageValue": "5"}},
            id="an object by its average",
        ),
        pytest.param(
            {"type": "Pods", "pods": {"metric": {"name": "m", "selector": SELECTOR},
             "target": {"type": "AverageValue", "averageValue": "5"}}},
            {"type": "Pods", "pods": {"metricName": "m", "targetAverageValue": "5",
             "selector": SELECTOR}},
            id="pods",
        ),
        pytest.param(
            {"type": "Resource", "resource": {"name": "memory",
             "target": {"type": "AverageValue", "averageValue": "5"}}},
            {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "5"}},
            id="a resource by its amount",
        ),
        pytest.param(
            {"type": "Resource", "resource": {"name": "memory",
             "target": {"type": "Utilization", "averageUtilization": 50}}},
            {"type": "Resource", "resource": {"name": "memory", "targetAverageUtilization": 50}},
            id="a resource by its share",
        ),
        pytest.param(
            {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c",
             "target": {"type": "Utilization", "averageUtilization": 50}}},
            {"type": "ContainerResource", "containerResource": {"name": "cpu",
             "targetAverageUtilization": 50, "container": "c"}},
            id="a resource of a container",
        ),
        pytest.param(
            {"type": "External", "external": {"metric": {"name": "m", "selector": SELECTOR},
             "target": {"type": "Value", "value": "5"}}},
            {"type": "External", "external": {"metricName": "m", "metricSelector": SELECTOR,
             "targetValue": "5"}},
            id="an external one by its value",
        ),
        pytest.param(
            {"type": "External", "external": {"metric": {"name": "m"},
             "target": {"type": "AverageValue", "averageValue": "5"}}},
            {"type": "External", "external": {"metricName": "m", "targetAverageValue": "5"}},
            id="an external one by its average",
        ),
    ],
)  # fmt: skip
def test_a_metric_in_both_versions(metric, older):
    newer = autoscaler({"metrics": [metric]})
    found = autoscaler_v1(newer)
    assert found["apiVersion"] == "autoscaling/v1"
    assert json.loads(found["metadata"]["annotations"][f"{PREFIX}metrics"]) == [older]
    assert "metrics" not in found["spec"]
    again = autoscaler_v2(found)
    assert again["apiVersion"] == "autoscaling/v2"
    assert again["spec"]["metrics"] == [metric]
    assert not again["metadata"].get("annotations")


def autoscaler(spec: Document, version: str = "v2", **parts: Any) -> Document:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "namespace": "n"},
        "spec": {"scaleTargetRef": target, "maxReplicas": 3, **spec},
        **parts,
    }


def cpu(share: int, part: str = "target") -> Document:
    values: Document = {"averageUtilization": share}
    if part == "target":
        values = {"type": "Utilization"} | values
    return {"type": "Resource", "resource": {"name": "cpu", part: values}}


def test_the_share_of_the_cpu_has_a_field_in_v1():
    found = autoscaler_v1(autoscaler({"metrics": [cpu(60), cpu(70)]}))
    # The first of several.
    assert found["spec"]["targetCPUUtilizationPercentage"] == 60
    assert f"{PREFIX}metrics" not in (found["metadata"].get("annotations") or {})
    assert autoscaler_v2(found)["spec"]["metrics"] == [cpu(60)]
    # By amount, it is a metric as any other.
    amount = {"type": "Resource", "resource": {"name": "cpu",
              "target": {"type": "AverageValue", "averageValue": "1"}}}  # fmt: skip
    other = autoscaler_v1(autoscaler({"metrics": [amount]}))
    assert "targetCPUUtilizationPercentage" not in other["spec"]
    assert autoscaler_v2(other)["spec"]["metrics"] == [amount]


def test_a_converted_autoscaler_has_the_order_and_the_zeros_of_its_go_struct():
    """Upstream: HorizontalPodAutoscalerStatus in autoscaling/v2/types.go and v1/types.go."""
    newer = autoscaler_v2(autoscaler({}, "v1"))
    assert list(newer) == ["kind", "apiVersion", "metadata", "spec", "status"]
    assert list(newer["spec"]) == ["scaleTargetRef", "maxReplicas", "metrics"]
    assert newer["status"] == {"desiredReplicas": 0, "currentMetrics": None}
    older = autoscaler_v1(autoscaler({"metrics": [cpu(60)]}))
    assert list(older) == list(newer)
    assert older["status"] == {"currentReplicas": 0, "desiredReplicas": 0}
    assert not {"annotations"} & {*newer["metadata"], *older["metadata"]}


def test_an_autoscaler_without_metrics_has_80_percent_of_the_cpu():
    assert autoscaler_v2(autoscaler({}, "v1"))["spec"]["metrics"] == [cpu(80)]
    given = autoscaler({"targetCPUUtilizationPercentage": 50}, "v1")
    assert autoscaler_v2(given)["spec"]["metrics"] == [cpu(50)]


def test_the_status_and_the_behavior_in_both_versions():
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 60, "selectPolicy": "Max"}}
    condition = {"type": "AbleToScale", "status": "True"}
    current = {"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "4"}}}
    status = {
        "currentReplicas": 1,
        "desiredReplicas": 2,
        "currentMetrics": [cpu(30, "current"), current],
        "conditions": [condition],
    }
    given = autoscaler({"metrics": [cpu(60)], "behavior": behavior}, status=status)
    given["metadata"]["annotations"] = {"own": "kept", f"{PREFIX}metrics": "[]"}
    found = autoscaler_v1(given)
    annotations = found["metadata"]["annotations"]
    assert annotations["own"] == "kept"
    assert sorted(annotations) == [
        f"{PREFIX}behavior", f"{PREFIX}conditions", f"{PREFIX}current-metrics", "own",
    ]  # fmt: skip
    assert json.loads(annotations[f"{PREFIX}current-metrics"]) == [
        {"type": "Resource", "resource": {"name": "cpu", "currentAverageUtilization": 30,
                                          "currentAverageValue": "0"}},
        {"type": "Pods", "pods": {"metricName": "m", "currentAverageValue": "4"}},
    ]  # fmt: skip
    assert found["status"]["currentCPUUtilizationPercentage"] == 30
    assert {"currentMetrics", "conditions"}.isdisjoint(found["status"])
    again = autoscaler_v2(found)
    assert again["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 60
    assert again["spec"]["metrics"] == [cpu(60)]
    assert again["status"]["conditions"][0]["type"] == "AbleToScale"
    assert again["status"]["currentMetrics"][1]["pods"]["current"] == {"averageValue": "4"}
    assert "currentCPUUtilizationPercentage" not in again["status"]
    assert again["metadata"]["annotations"] == {"own": "kept"}
    used = autoscaler({}, "v1", status={"currentCPUUtilizationPercentage": 40,
                                        "currentReplicas": 1, "desiredReplicas": 1})  # fmt: skip
    assert autoscaler_v2(used)["status"]["currentMetrics"] == [cpu(40, "current")]


@pytest.mark.parametrize(
    "behavior",
    [
        {"scaleUp": {"policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 60},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ], "selectPolicy": "Min"}},
        {"scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1}]},
         "scaleUp": {"stabilizationWindowSeconds": 0}},
        {"scaleDown": {"tolerance": "100m"}},
    ],
)  # fmt: skip
def test_each_policy_of_the_behavior_returns_from_v1(behavior):
    found = autoscaler_v1(autoscaler({"behavior": behavior}))
    annotation = json.loads(found["metadata"]["annotations"][f"{PREFIX}behavior"])
    assert annotation.keys() == {"ScaleUp", "ScaleDown"}
    assert autoscaler_v2(found)["spec"]["behavior"] == behavior


@pytest.mark.parametrize("text", ["", "{", "null", '{"type": "x"}', "[1]"])
def test_annotations_that_are_no_metrics_are_dropped(text):
    given = autoscaler({"targetCPUUtilizationPercentage": 50}, "v1")
    given["metadata"]["annotations"] = {f"{PREFIX}metrics": text}
    found = autoscaler_v2(given)
    assert found["spec"]["metrics"] == [cpu(50)]
    assert consistent_autoscaler(given) == autoscaler_v1(found)
    assert consistent_autoscaler(found) is found


# ------------------------------------------------------------------------------ gates


@pytest.mark.parametrize(
    ("value", "path", "has"),
    [
        ({"a": {"b": 1}}, "a.b", True),
        ({"a": {"b": None}}, "a.b", False),
        ({"a": {"b": []}}, "a.b", False),
        ({"a": {"b": {}}}, "a.b", False),
        ({"a": {"b": 0}}, "a.b", True),
        ({"a": {}}, "a.b", False),
        ({"a": []}, "a.b", False),
        ({}, "a.b", False),
        ({"a": [{"c": 1}, {"b": 1}]}, "a.*.b", True),
        ({"a": [{"c": 1}]}, "a.*.b", False),
        ({"a": {"x": {"b": 1}}}, "a.*.b", True),
        ({"a": None}, "a.*.b", False),
    ],
)
def test_whether_a_field_is_set(value, path, has):
    assert has_field(value, path.split(".")) is has


CLAIM = ("resource.k8s.io", "ResourceClaim")


def claim(**exactly: Any) -> Document:
    return {"spec": {"devices": {"requests": [{"name": "a"}, {"name": "b", "exactly": exactly}]}}}


def test_fields_of_gates_that_are_off_are_dropped_unless_they_are_there_already():
    off = disabled_fields(frozenset({"DRAConsumableCapacity"}))
    groups = off[CLAIM]
    assert [[field.gates for field in group] for group in groups] == [
        [("DRAConsumableCapacity",)] * 6
    ]
    given = claim(capacity={"x": 1}, tolerations=[1], count=2)
    assert without_disabled(groups, given, None) == claim(tolerations=[1], count=2)
    # A stored object that has one of the fields keeps them all.
    assert without_disabled(groups, given, claim(capacity={"y": 1})) is given
    constraint = {"spec": {"devices": {"constraints": [{"distinctAttribute": "x"}]}}}
    assert without_disabled(groups, given, constraint) is given
    assert without_disabled(groups, given, claim()) == claim(tolerations=[1], count=2)
    plain = claim(count=2)
    assert without_disabled(groups, plain, None) is plain
    for requests in (None, "x", [None]):
        odd = {"spec": {"devices": {"requests": requests}}}
        assert without_disabled(groups, odd, None) is odd
    # Nothing is dropped if all are on; a field of two gates needs both.
    assert disabled_fields(frozenset()) == {}
    both = disabled_fields(frozenset({"DRAResourceClaimDeviceStatus"}))
    assert {".".join(field.path) for group in both["resource.k8s.io", "ResourceSlice"]
            for field in group} == {
        "spec.devices.*.bindsToNode", "spec.devices.*.bindingConditions",
        "spec.devices.*.bindingFailureConditions",
    }  # fmt: skip
    assert [[field.path for field in group] for group in both[CLAIM]] == [[("status", "devices")]]


def test_a_source_of_a_claim_is_dropped_only_with_a_namespace():
    off = disabled_fields(frozenset({"CrossNamespaceVolumeDataSource"}))
    groups = off["", "PersistentVolumeClaim"]
    near = {"spec": {"dataSourceRef": {"kind": "A", "name": "b"}}}
    far = {"spec": {"dataSourceRef": {"kind": "A", "name": "b", "namespace": "c"}, "x": 1}}
    assert without_disabled(groups, near, None) is near
    assert without_disabled(groups, far, None) == {"spec": {"x": 1}}
    assert without_disabled(groups, far, near) is far


def test_fields_of_maps_and_lists_are_dropped_everywhere():
    off = disabled_fields(frozenset({"DRAListTypeAttributes"}))
    groups = off["resource.k8s.io", "ResourceSlice"]
    device = {"attributes": {"a": {"ints": [1], "int": 2}, "b": {"bools": [True]}, "c": {"x": 1}}}
    given = {"spec": {"devices": [{"name": "d"}, device]}}
    assert without_disabled(groups, given, None) == {
        "spec": {
            "devices": [
                {"name": "d"},
                {"attributes": {"a": {"int": 2}, "b": {}, "c": {"x": 1}}},
            ]
        }
    }


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (("", "Pod"), "spec"),
        (("apps", "Deployment"), "spec.template.spec"),
        (("batch", "CronJob"), "spec.jobTemplate.spec.template.spec"),
        (("", "PodTemplate"), "template.spec"),
        (("node.k8s.io", "RuntimeClass"), "scheduling"),
    ],
)
def test_comparisons_of_tolerations_are_refused_in_their_place(kind, path):
    def document(*operators: str) -> Document:
        made: Document = {"tolerations": [{"operator": each} for each in operators]}
        for name in reversed(path.split(".")):
            made = {name: made}
        return made

    at = f"{path}.tolerations"
    before = [
        ("metadata.name", "x", None),
        (f"{at}[0].value", "number", None),
        (f"{at}[0].effect", "y", None),
        (f"{at}[1].effect", "z", None),
    ]
    text = 'Unsupported value: "Lt": supported values: "Equal", "Exists", "Lt", "Gt"'
    found = without_comparisons(kind, document("Lt", "Exists"), None, before)
    assert found == [before[0], (f"{at}[0].operator", text, "Lt"), before[2], before[3]]
    # In the second one, after what is wrong with the first.
    second = without_comparisons(kind, document("Exists", "Lt"), None, before)
    assert second == [*before, (f"{at}[1].operator", text, "Lt")]
    assert without_comparisons(kind, document("Exists"), None, before) is before
    assert without_comparisons(kind, document("Gt"), document("Lt"), before) is before
    assert without_comparisons(kind, document("Lt", "Exists"), document("Equal"), before) == found
    assert without_comparisons(kind, document("Lt", "Exists"), {}, before) == found
    assert without_comparisons(("", "Node"), document("Lt"), None, before) is before
    assert without_comparisons(kind, {}, None, before) is before


def test_volumes_are_mounted_with_labels_where_the_gate_is_on():
    path = "spec.securityContext.seLinuxChangePolicy"
    kept = [(path, "Unsupported value", "x"), ("spec.a", "Unsupported value", "MountOption")]
    assert with_mount_option([(path, "Unsupported value", "MountOption"), *kept]) == kept


def test_the_kinds_with_gated_fields():
    templates = {
        ("apps", name) for name in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
    }
    core = {("", name) for name in ("Node", "Pod", "PodTemplate", "ReplicationController")}
    devices = {
        ("resource.k8s.io", name)
        for name in ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
    }
    batch = {("batch", "CronJob"), ("batch", "Job")}
    others = {
        ("", "PersistentVolumeClaim"), ("autoscaling", "HorizontalPodAutoscaler"),
        ("scheduling.k8s.io", "PodGroup"), ("scheduling.k8s.io", "Workload"),
        ("storage.k8s.io", "CSIDriver"),
    }  # fmt: skip
    assert set(GATED_FIELDS) == templates | core | devices | batch | others


@pytest.mark.parametrize(
    ("kind", "gate", "kept", "dropped"),
    [
        ("apps/Deployment", "DeploymentReplicaSetTerminatingReplicas",
         {"status": {"replicas": 1}}, {"status": {"terminatingReplicas": 0}}),
        ("apps/ReplicaSet", "DeploymentReplicaSetTerminatingReplicas",
         {"status": {"replicas": 1}}, {"status": {"terminatingReplicas": 0}}),
        ("autoscaling/HorizontalPodAutoscaler", "HPAConfigurableTolerance",
         {"spec": {"behavior": {"scaleUp": {"x": 1}, "scaleDown": {"y": 1}}}},
         {"spec": {"behavior": {"scaleUp": {"tolerance": 1}, "scaleDown": {"tolerance": 2}}}}),
        ("resource.k8s.io/ResourceClaim", "DRADeviceBindingConditions",
         {"status": {"allocation": {"devices": {"results": [{"x": 1}]}}}},
         {"status": {"allocation": {"devices": {"results": [
             {"bindingConditions": ["a"], "bindingFailureConditions": ["b"]}]}}}}),
        ("resource.k8s.io/ResourceClaim", "DRAConsumableCapacity",
         {"status": {"allocation": {"devices": {"results": [{"x": 1}]}}, "devices": [{"y": 1}]}},
         {"status": {"allocation": {"devices": {"results": [
             {"shareID": "a", "consumedCapacity": {"b": 1}}]}}, "devices": [{"shareID": "a"}]}}),
        ("scheduling.k8s.io/PodGroup", "DRAWorkloadResourceClaims",
         {"spec": {"x": 1}, "status": {"y": 1}},
         {"spec": {"resourceClaims": [1]}, "status": {"resourceClaimStatuses": [1]}}),
        ("scheduling.k8s.io/PodGroup", "WorkloadAwarePreemption", {"spec": {"x": 1}},
         {"spec": {"disruptionMode": "Pod", "priorityClassName": "a", "priority": 1}}),
        ("scheduling.k8s.io/Workload", "TopologyAwareWorkloadScheduling",
         {"spec": {"podGroupTemplates": [{"name": "a"}]}},
         {"spec": {"podGroupTemplates": [{"schedulingConstraints": {"topology": []}}]}}),
        ("storage.k8s.io/CSIDriver", "VolumeLimitScaling", {"spec": {"x": 1}},
         {"spec": {"preventPodSchedulingIfMissing": True}}),
    ],
)  # fmt: skip
def test_what_a_kind_loses_while_a_gate_is_off(kind, gate, kept, dropped):
    groups = disabled_fields(frozenset({gate}))[tuple(kind.split("/"))]
    assert without_disabled(groups, merged(kept, dropped), None) == kept


def merged(left: Any, right: Any) -> Any:
    if isinstance(left, list):
        return [merged(one, other) for one, other in zip(left, right, strict=True)]
    if not isinstance(left, dict) or not isinstance(right, dict):
        return right
    both = {name: merged(left[name], right[name]) for name in left.keys() & right.keys()}
    return left | right | both


# ------------------------------------------------------------------------------ quotas


def quota(name: str, hard: dict[str, str], **spec: Any) -> Any:
    return decode(
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"hard": hard, **spec},
        }
    )


def exceeded(name: str, requested: str, used: str, limited: str) -> str:
    return f"exceeded quota: {name}, requested: {requested}, used: {used}, limited: {limited}"


def test_pods_are_counted_until_a_quota_is_used_up():
    quotas = PodQuotas(
        [
            quota("b", {"requests.cpu": "3", "configmaps": "1"}),
            quota("a", {"pods": "3"}),
            make_pod("x"),
        ],
        [make_pod("there", cpu="1")],
    )
    assert quotas.rejection(make_pod("one", cpu="2")) == ""
    # The first by name of those that are exceeded; what is rejected does not count.
    cpu_text = exceeded("b", "requests.cpu=1", "requests.cpu=3", "requests.cpu=3")
    assert quotas.rejection(make_pod("two", cpu="1")) == cpu_text
    assert quotas.rejection(make_pod("two", cpu="1")) == cpu_text
    assert quotas.rejection(make_pod("none")) == ""
    pods_text = exceeded("a", "pods=1", "pods=3", "pods=3")
    assert quotas.rejection(make_pod("three", cpu="1")) == pods_text
    assert quotas.rejection(make_pod("other", namespace="x", cpu="9")) == ""
    # Pods that exist count in any case.
    assert quotas.rejection(make_pod("forced", cpu="5"), is_forced=True) == ""
    used_up = exceeded("a", "pods=1", "pods=4", "pods=3")
    assert quotas.rejection(make_pod("four")) == used_up


def test_a_quota_with_scopes_counts_the_pods_in_them():
    quotas = PodQuotas([quota("q", {"pods": "1"}, scopes=["BestEffort"])], [])
    assert quotas.rejection(make_pod("a", cpu="1")) == ""
    assert quotas.rejection(make_pod("b")) == ""
    assert quotas.rejection(make_pod("c")) == exceeded("q", "pods=1", "pods=1", "pods=1")
    assert quotas.rejection(make_pod("d", cpu="1")) == ""
    assert PodQuotas([], [make_pod("a")]).rejection(make_pod("b")) == ""


# ------------------------------------------------------------------------------ admin access

RESOURCES = built_in_resources()
LABEL = "resource.kubernetes.io/admin-access"


@pytest.fixture(scope="module")
def store() -> ObjectStore:
    made = ObjectStore()
    for name, value in (("admin", "true"), ("denied", "false"), ("plain", "")):
        labels = {LABEL: value} if value else {}
        metadata = {"name": name, "labels": labels}
        made.put(decode({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}))
    return made


def requesting(namespace: str, *requests: Document, template: bool = False) -> Document:
    spec: Document = {"devices": {"requests": list(requests)}}
    return {"metadata": {"namespace": namespace}, "spec": {"spec": spec} if template else spec}


def allocated(namespace: str, *results: Document) -> Document:
    return {
        "metadata": {"namespace": namespace},
        "status": {"allocation": {"devices": {"results": list(results)}}},
    }


ADMIN = {"exactly": {"adminAccess": True}}
TEXT = (
    f"Forbidden: admin access to devices requires the `{LABEL}: true` label on the containing"
    " namespace"
)


@pytest.mark.parametrize(
    ("kind", "new", "old", "path"),
    [
        ("ResourceClaim", requesting("plain", {}, ADMIN), None,
         "spec.devices.requests[1].adminAccess"),
        ("ResourceClaim", requesting("plain", {"adminAccess": True}), None,
         "spec.devices.requests[0].adminAccess"),
        ("ResourceClaim", requesting("denied", ADMIN), None,
         "spec.devices.requests[0].adminAccess"),
        ("ResourceClaim", requesting("absent", ADMIN), None,
         "spec.devices.requests[0].adminAccess"),
        ("ResourceClaim", requesting("admin", ADMIN), None, None),
        ("ResourceClaim", requesting("plain", {"exactly": {}}), None, None),
        ("ResourceClaim", {"metadata": {}}, None, None),
        ("ResourceClaimTemplate", requesting("plain", ADMIN, template=True), None,
         "spec.devices.requests[0].adminAccess"),
        ("ResourceClaimTemplate", requesting("plain", ADMIN), None, None),
        ("ResourceSlice", requesting("plain", ADMIN), None, None),
        ("ResourceClaim", allocated("plain", {}, {"adminAccess": True}), {},
         "status.allocation.devices.results[1].adminAccess"),
        ("ResourceClaim", allocated("admin", {"adminAccess": True}), {}, None),
        ("ResourceClaim", allocated("plain", {"adminAccess": True}),
         allocated("plain", {"adminAccess": True}), None),
        ("ResourceClaim", allocated("plain", {"adminAccess": False}), {}, None),
        # What a changed claim requests was decided when it was made.
        ("ResourceClaim", requesting("plain", ADMIN), {}, None),
    ],
)  # fmt: skip
def test_admin_access_needs_the_label_of_the_namespace(store, kind, new, old, path):
    resource = RESOURCES["resource.k8s.io/v1", kind]
    found = admin_access_problems(store, resource, new, old)
    assert found == ([] if path is None else [(path, TEXT, None)])
    pods = RESOURCES["v1", "Pod"]
    assert admin_access_problems(store, pods, new, old) == []


def test_resources_are_found_by_their_group_their_version_and_their_storage():
    resources = Resources(["v1", "apps/v1", "autoscaling/v1", "autoscaling/v2"])
    revision = resources.revision
    assert revision > 0
    scaler = ("autoscaling", "HorizontalPodAutoscaler")
    found = resources.of_storage(scaler)
    assert found is not None
    assert (found.group, found.name) == scaler
    pod = resources.of_storage(("", "Pod"))
    assert pod is not None
    assert pod.plural == "pods"
    assert resources.of_storage(("", "Nothing")) is None
    for group, is_served in (("", True), ("apps", True), ("batch", False)):
        assert resources.has_group(group) is is_served
        assert resources.is_built_in(group) is is_served
        assert resources.has_version(group, "v1") is is_served
    assert not resources.has_version("apps", "v2")
    assert resources.has_version("autoscaling", "v2")
    boat = msgspec.structs.replace(pod, is_custom=True)
    row = boat.kind.row
    assert resources.find("", "v1", row.resource) is pod
    resources.add(boat)
    assert resources.find("", "v1", "pods") is boat
    assert resources.is_built_in("")
    resources.remove("", "v1", "pods")
    assert resources.find("", "v1", "pods") is None
    resources.remove("", "v1", "pods")
    assert resources.revision == revision + 3
    only = Resources(["resource.k8s.io/v1/resourceclaims", "v1"])
    assert [each.plural for each in only if each.group] == ["resourceclaims"]
    assert only.group_versions == ["resource.k8s.io/v1", "v1"]


@pytest.mark.parametrize(
    ("metadata", "owners"),
    [
        ({"name": "a", "managedFields": []}, [{}]),
        ({"name": "a", "managedFields": [{}]}, [{}]),
        ({"name": "a", "managedFields": None}, None),
        ({"name": "a"}, None),
    ],
)
def test_empty_managed_fields_are_one_empty_entry(metadata, owners):
    given = {"metadata": metadata, "data": {}}
    found = with_reset_owners(given)
    assert found["metadata"].get("managedFields") == owners
    assert found["metadata"]["name"] == "a"
    assert found["data"] == {}
    assert with_reset_owners({"metadata": "x"}) == {"metadata": "x"}
    assert with_reset_owners({}) == {}

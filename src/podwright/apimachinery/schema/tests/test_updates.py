"""Validation of changed objects: what may change, and what may not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from podwright.apimachinery.schema import built_in

Document = dict[str, Any]

KEPT = "Forbidden: pod updates may not change fields other than "
GATED = {"schedulingGates": [{"name": "a"}]}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def updated(api_version: str, kind: str, old: Document, **changes: Any) -> list[str]:
    """Return the errors of an update that sets fields, whose paths have `__` for dots."""
    found = built_in().find(api_version, kind)
    assert found is not None
    stored = found.with_defaults({"metadata": {"name": "x"}, **old})
    new = copy.deepcopy(stored)
    for name, value in changes.items():
        *parents, last = name.split("__")
        part = new
        for parent in parents:
            part = part.setdefault(parent, {})
        part[last] = value
    # The first lines: differences of specs follow.
    problems = found.update_problems(new, stored)
    return [f"{path}: {message}".partition("\n")[0] for path, message, _ in problems]


def pod(**spec: Any) -> Document:
    return {"spec": {"containers": [{"name": "c", "image": "a:1"}], **spec}}


def terms(*keys: str) -> Document:
    expressions = [{"key": key, "operator": "Exists"} for key in keys]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}}


@pytest.mark.parametrize(
    ("old", "changes", "starts"),
    [
        pytest.param(pod(), {}, [], id="nothing"),
        pytest.param(pod(), {"metadata__labels": {"a": "b"}}, [], id="a label"),
        pytest.param(pod(), {"spec__activeDeadlineSeconds": 60}, [], id="a deadline"),
        pytest.param(
            pod(activeDeadlineSeconds=60),
            {"spec__activeDeadlineSeconds": 90},
            [
                "spec.activeDeadlineSeconds: Invalid value: 90: must be less than or equal to"
                " previous value"
            ],
            id="a later deadline",
        ),
        pytest.param(pod(), {"spec__priority": 5}, [f"spec: {KEPT}"], id="the priority"),
        pytest.param(pod(), {"spec__nodeName": "n1"}, [f"spec: {KEPT}"], id="the node"),
        pytest.param(
            pod(), {"spec__nodeSelector": {"a": "b"}}, [f"spec: {KEPT}"], id="the node selector"
        ),
        pytest.param(
            pod(),
            {"spec__tolerations": [{"key": "a", "operator": "Exists"}]},
            [],
            id="one more toleration",
        ),
        pytest.param(
            pod(tolerations=[{"key": "a", "operator": "Exists"}]),
            {"spec__tolerations": []},
            [
                "spec.tolerations: Forbidden: existing toleration can not be modified except its"
                " tolerationSeconds"
            ],
            id="one toleration less",
        ),
        pytest.param(
            pod(),
            {"spec__containers": []},
            [
                "spec.containers: Required value",
                "spec.containers: Forbidden: pod updates may not add or remove containers",
            ],
            id="no containers",
        ),
        pytest.param(pod(**GATED), {"spec__schedulingGates": []}, [], id="a gate less"),
        pytest.param(
            pod(),
            {"spec__schedulingGates": [{"name": "a"}]},
            [
                "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new"
                " scheduling gate 'a'"
            ],
            id="a new gate",
        ),
        pytest.param(
            pod(),
            {"spec__schedulingGates": [{"name": "a"}, {"name": "a"}]},
            [
                'spec.schedulingGates[1]: Duplicate value: "a"',
                "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new"
                " scheduling gate 'a'",
            ],
            id="a new gate twice",
        ),
        pytest.param(
            pod(**GATED), {"spec__nodeSelector": {"a": "b"}}, [], id="a gated pod: fewer nodes"
        ),
        pytest.param(
            pod(**GATED, nodeSelector={"a": "b"}),
            {"spec__nodeSelector": {}},
            [
                "spec.nodeSelector: Invalid value: {}: only additions to spec.nodeSelector are"
                " allowed (no mutations or deletions)"
            ],
            id="a gated pod: more nodes",
        ),
        pytest.param(
            pod(**GATED), {"spec__affinity": terms("a")}, [], id="a gated pod: new affinity"
        ),
        pytest.param(
            pod(**GATED, affinity=terms("a")),
            {"spec__affinity": terms("a", "b")},
            [],
            id="a gated pod: narrower affinity",
        ),
        pytest.param(
            pod(**GATED, affinity=terms("a")),
            {"spec__affinity": terms("b")},
            [f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]: Invalid value: "],
            id="a gated pod: other affinity",
        ),
        pytest.param(
            pod(**GATED, affinity={"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}),
            {"spec__affinity": terms("a")},
            ["spec: Forbidden: pod updates may not change fields other than "],
            id="a gated pod: node affinity instead of other affinity",
        ),
    ],
)
def test_pods(old: Document, changes: Document, starts: list[str]) -> None:
    found = updated("v1", "Pod", old, **changes)
    assert len(found) == len(starts), found
    for message, start in zip(found, starts, strict=True):
        assert message.startswith(start)


def test_the_image_of_a_container_may_change() -> None:
    new = [{"name": "c", "image": "a:2"}]
    assert updated("v1", "Pod", pod(), spec__containers=new)[0].startswith("spec: ")
    kind = built_in().find("v1", "Pod")
    assert kind is not None
    stored = kind.with_defaults({"metadata": {"name": "x"}, **pod()})
    container = stored["spec"]["containers"][0] | {"image": "a:2"}
    changed = stored | {"spec": stored["spec"] | {"containers": [container]}}
    assert kind.update_problems(changed, stored) == []


def workload(**fields: Any) -> Document:
    template = {"metadata": {"labels": {"app": "x"}}, **pod()}
    return {"spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template, **fields}}


def job(**fields: Any) -> Document:
    return {"spec": {"template": pod(restartPolicy="Never"), **fields}}


CLAIM = {
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
    "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
}
PENDING = CLAIM | {"status": {"phase": "Pending"}}
IMMUTABLE_CLAIM = (
    "spec: Forbidden: spec is immutable after creation except resources.requests and"
    " volumeAttributesClassName for bound claims"
)
VOLUME = {
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "ebs", "volumeHandle": "v"},
    }
}


@pytest.mark.parametrize(
    ("kind", "old", "changes", "expected"),
    [
        pytest.param("Deployment", workload(), {"spec__replicas": 3}, [], id="replicas"),
        pytest.param(
            "Deployment",
            workload(),
            {"spec__selector": {"matchLabels": {"app": "x", "a": "b"}}},
            [
                'spec.template.metadata.labels: Invalid value: {"app":"x"}: `selector` does not'
                " match template `labels`",
                'spec.selector: Invalid value: {"matchLabels":{"a":"b","app":"x"}}: field is'
                " immutable",
            ],
            id="the selector of a deployment",
        ),
        pytest.param(
            "StatefulSet",
            workload(),
            {"spec__serviceName": "other"},
            [
                "spec: Forbidden: updates to statefulset spec for fields other than 'replicas',"
                " 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit',"
                " 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
            ],
            id="the service of a stateful set",
        ),
        pytest.param("StatefulSet", workload(), {"spec__minReadySeconds": 3}, [], id="ready"),
        pytest.param("Job", job(), {"spec__parallelism": 2}, [], id="parallelism"),
        pytest.param(
            "Job",
            job(),
            {"spec__completions": 2},
            ["spec.completions: Invalid value: 2: field is immutable"],
            id="the completions of a job",
        ),
        pytest.param(
            "Job",
            job(suspend=True)
            | {"status": {"conditions": [{"type": "Suspended", "status": "True"}]}},
            {"spec__template__spec__nodeSelector": {"a": "b"}},
            [],
            id="the node selector of a suspended job",
        ),
        pytest.param("PersistentVolumeClaim", PENDING, {"spec__volumeName": "v"}, [], id="bind"),
        pytest.param(
            "PersistentVolumeClaim",
            PENDING,
            {"spec__resources": {"requests": {"storage": "2Gi"}}},
            [IMMUTABLE_CLAIM],
            id="the size of a pending claim",
        ),
        pytest.param(
            "PersistentVolumeClaim",
            CLAIM,
            {"spec__resources": {"requests": {"storage": "2Gi"}}},
            [],
            id="a bound claim grows",
        ),
        pytest.param(
            "PersistentVolumeClaim",
            CLAIM,
            {"spec__resources": {"requests": {"storage": "1Mi"}}},
            [
                "spec.resources.requests.storage: Forbidden: field can not be less than"
                " status.capacity"
            ],
            id="a bound claim does not shrink",
        ),
        pytest.param(
            "PersistentVolumeClaim",
            PENDING,
            {"spec__storageClassName": "fast"},
            [],
            id="a class where there was none",
        ),
        pytest.param(
            "PersistentVolume", VOLUME, {"spec__claimRef": {"name": "c"}}, [], id="claimed"
        ),
        pytest.param(
            "PersistentVolume",
            VOLUME,
            {"spec__csi": {"driver": "ebs", "volumeHandle": "w"}},
            [
                "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable"
                " after creation"
            ],
            id="another volume behind a volume",
        ),
        pytest.param(
            "StorageClass",
            {"provisioner": "ebs"},
            {"reclaimPolicy": "Retain"},
            ['reclaimPolicy: Invalid value: "Retain": field is immutable'],
            id="a storage class",
        ),
        pytest.param(
            "PriorityClass",
            {"value": 5},
            {"value": 6},
            ["value: Forbidden: may not be changed in an update."],
            id="the value of a priority class",
        ),
        pytest.param(
            "PodDisruptionBudget",
            {"spec": {"minAvailable": 1}},
            {"spec__selector": {"matchLabels": {"a": "b"}}},
            [],
            id="the selector of a disruption budget",
        ),
        pytest.param(
            "CSINode",
            {"spec": {"drivers": [{"name": "ebs", "nodeID": "a", "allocatable": {"count": 1}}]}},
            {"spec__drivers": [{"name": "ebs", "nodeID": "a", "allocatable": {"count": 2}}]},
            [],
            id="the count of a driver",
        ),
        pytest.param(
            "ResourceClaim",
            {"spec": {"devices": {"requests": [{"name": "a", "exactly": {}}]}}},
            {"spec__devices": {}},
            [
                'spec: Invalid value: {"Devices":{"Requests":null,"Constraints":null,'
                '"Config":null}}: field is immutable'
            ],
            id="the spec of a claim",
        ),
        pytest.param(
            "VolumeAttributesClass",
            {"driverName": "ebs", "parameters": {"a": "b"}},
            {"driverName": "disk", "parameters": {"a": "c"}},
            [
                "driverName: Forbidden: updates to driverName are forbidden.",
                "parameters: Forbidden: updates to parameters are forbidden.",
            ],
            id="the driver of a class",
        ),
        pytest.param(
            "ControllerRevision",
            {"data": {"a": 1}, "revision": 1},
            {"data": {"a": 2}, "revision": -1},
            [
                "revision: Invalid value: -1: must be greater than or equal to 0",
                'data: Invalid value: {"a":2}: field is immutable',
            ],
            id="the data of a revision",
        ),
    ],
)
def test_other_kinds(kind: str, old: Document, changes: Document, expected: list[str]) -> None:
    found = next(each for each in built_in() if each.row.kind == kind and "v1" in each.api_version)
    assert updated(found.api_version, kind, old, **changes) == expected


@pytest.mark.parametrize(
    ("kind", "old", "changes", "starts"),
    [
        pytest.param("Node", {"spec": {"podCIDRs": ["10.1.0.0/24"]}}, {"spec__podCIDRs": ["x"]},
                     ["spec.podCIDRs[0]: Invalid value", "spec.podCIDRs: Forbidden"], id="a node"),
        pytest.param("PersistentVolume",
                     {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
                               "hostPath": {"path": "/a"}}},
                     {"spec__accessModes": []}, ["spec.accessModes: Required value"] * 2,
                     id="a volume, twice"),
        pytest.param("StorageClass", {"provisioner": "a"},
                     {"allowedTopologies": [{"matchLabelExpressions": [{"key": "a"}]}]},
                     ["allowedTopologies[0].matchLabelExpressions[0].values: Required value"],
                     id="a storage class"),
        pytest.param("RuntimeClass", {"handler": "a"},
                     {"scheduling": {"tolerations": [{"operator": "Exists"}] * 2}},
                     ["scheduling.tolerations[1]: Duplicate value"], id="a runtime class"),
        pytest.param("CSIStorageCapacity", {"storageClassName": "a"}, {"capacity": "-1"},
                     ["capacity: Invalid value"], id="the capacity of a storage"),
        pytest.param("CSIStorageCapacity", {"storageClassName": "a", "nodeTopology": {}},
                     {"nodeTopology": None}, ["nodeTopology: Invalid value: null: field is"],
                     id="an empty selector, which selects all, is not none"),
    ],
)  # fmt: skip
def test_changed_objects_are_checked_as_new_ones(
    kind: str, old: Document, changes: Document, starts: list[str]
) -> None:
    found = next(each for each in built_in() if each.row.kind == kind and "v1" in each.api_version)
    errors = updated(found.api_version, kind, old, **changes)
    assert len(errors) == len(starts)
    assert all(map(str.startswith, errors, starts)), errors


def status_errors(kind: str, status: Document, **old: Any) -> list[str]:
    found = built_in().find("v1", kind)
    assert found is not None
    stored = found.with_defaults({"metadata": {"name": "x"}, **old})
    problems = found.status_problems(stored | {"status": status}, stored)
    return [f"{path}: {message}" for path, message, _ in problems]


@pytest.mark.parametrize(
    ("kind", "ingress", "starts"),
    [
        pytest.param("ClusterIP", [{"ip": "10.1.1.1"}], [": Forbidden"], id="no load balancer"),
        pytest.param("LoadBalancer", [{"ip": "x", "ipMode": "VIP"}], ["[0].ip: Invalid"], id="ip"),
        pytest.param("LoadBalancer", [{"ip": "10.1.1.1"}], ["[0].ipMode: Required"], id="no mode"),
        pytest.param("LoadBalancer", [{"ipMode": "VIP"}], ["[0].ipMode: Forbidden"], id="a mode"),
        pytest.param("LoadBalancer", [{"ip": "10.1.1.1", "ipMode": "x"}],
                     ["[0].ipMode: Unsupported"], id="another mode"),
        pytest.param("LoadBalancer", [{"hostname": "1.2.3.4"}, {"hostname": "_"}],
                     ["[0].hostname: Invalid", "[1].hostname: Invalid"], id="hostnames"),
    ],
)  # fmt: skip
def test_the_addresses_of_a_service(kind: str, ingress: list[Document], starts: list[str]) -> None:
    errors = status_errors("Service", {"loadBalancer": {"ingress": ingress}}, spec={"type": kind})
    assert len(errors) == len(starts)
    for error, start in zip(errors, starts, strict=True):
        assert error.startswith(f"status.loadBalancer.ingress{start}")


@pytest.mark.parametrize(
    ("status", "starts"),
    [
        pytest.param({"resourceClaimName": "a"}, [".requestMappings: Required"], id="no requests"),
        pytest.param({"requestMappings": [{"containerName": "x", "requestName": "r"}]},
                     [".requestMappings[0].containerName: Invalid",
                      ".resourceClaimName: Required"], id="no such container"),
        pytest.param({"resourceClaimName": "_", "requestMappings": [
                        {"containerName": "c", "resourceName": "a/b", "requestName": "_"}]},
                     [".requestMappings[0].resourceName: Invalid", ".requestName: Invalid",
                      ".resourceClaimName: Invalid"], id="names"),
        pytest.param({"resourceClaimName": "a", "requestMappings": [
                        {"containerName": "c", "resourceName": "x/y", "requestName": "r"}] * 2},
                     [f".requestMappings[1].{name}: Duplicate"
                      for name in ("containerName", "resourceName", "requestName")], id="twice"),
    ],
)  # fmt: skip
def test_the_claim_for_extended_resources(status: Document, starts: list[str]) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"x/y": "1"}}}
    status = {"extendedResourceClaimStatus": status}
    errors = status_errors("Pod", status, spec={"containers": [container]})
    assert len(errors) == len(starts), errors
    for error, start in zip(errors, starts, strict=True):
        assert error.startswith(f"status.extendedResourceClaimStatus{start}")


HEALTHY = {"resourceID": "a", "health": "Healthy"}


def container(name: str = "c", **fields: Any) -> Document:
    return {"name": name, **fields}


def allocated(name: str, *resources: Document) -> Document:
    return {"allocatedResourcesStatus": [{"name": name, "resources": list(resources)}]}


@pytest.mark.parametrize(
    ("name", "status", "starts"),
    [
        pytest.param("containerStatuses", container(**allocated("cpu", HEALTHY)), [],
            id="a request of the container"),
        pytest.param("containerStatuses", container(**allocated("claim:g/r", HEALTHY)), [],
            id="a claim of the container"),
        pytest.param("containerStatuses", container(**allocated("claim:g")),
            [".allocatedResourcesStatus[0].name: Invalid value: \"claim:g\": must match one"],
            id="another request of the claim"),
        pytest.param("containerStatuses", container("gone", **allocated("nope")), [],
            id="a container that the pod does not have"),
        pytest.param("initContainerStatuses", container("i", **allocated("cpu")),
            [".allocatedResourcesStatus[0].name: Invalid value: \"cpu\": must match one"],
            id="the request of another container"),
        pytest.param("containerStatuses",
            container(**allocated("cpu", HEALTHY, HEALTHY | {"health": "", "message": ""})),
            [".allocatedResourcesStatus[0].resources[1].health: Unsupported value: \"\"",
             ".allocatedResourcesStatus[0].resources[1].message: Required value",
             ".allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: \"a\""],
            id="a device twice"),
        pytest.param("containerStatuses",
            container(**allocated("cpu", HEALTHY | {"message": "x" * 1025})),
            [".allocatedResourcesStatus[0].resources[0].message: Too long"], id="a long message"),
        pytest.param("ephemeralContainerStatuses", container("e", **allocated("cpu")),
            [".allocatedResourcesStatus: Forbidden"], id="an ephemeral container"),
        pytest.param("ephemeralContainerStatuses",
            container("e", user={"linux": {"uid": -1, "gid": 0, "supplementalGroups": [-2]}}),
            [".user.linux.uid: Invalid value: -1", ".user.linux.supplementalGroups[0]: Invalid"],
            id="a user"),
    ],
)  # fmt: skip
def test_the_statuses_of_containers(name: str, status: Document, starts: list[str]) -> None:
    resources = {"requests": {"cpu": "1"}, "claims": [{"name": "g", "request": "r"}]}
    spec = {
        "containers": [{"name": "c", "resources": resources}],
        "initContainers": [{"name": "i"}],
    }
    found = status_errors("Pod", {name: [status]}, spec=spec)
    assert len(found) == len(starts)
    for error, start in zip(found, starts, strict=True):
        assert error.startswith(f"status.{name}[0]{start}")


def test_a_container_of_windows_has_no_user_of_linux() -> None:
    status = {"containerStatuses": [container(user={"linux": {"uid": -1, "gid": 0}})]}
    (error,) = status_errors("Pod", status, spec={"os": {"name": "windows"}})
    assert error.startswith("status.containerStatuses[0].user.linux: Forbidden")


def test_a_suspended_job_that_has_started_is_inactive_once_its_status_says_so() -> None:
    changes = {"spec__template__spec__nodeSelector": {"a": "b"}}
    suspended = job(suspend=True)
    assert updated("batch/v1", "Job", suspended, **changes) == []
    started = suspended | {"status": {"startTime": "2026-01-01T00:00:00Z"}}
    (error,) = updated("batch/v1", "Job", started, **changes)
    assert error.startswith("spec.template: Invalid value: ")


@pytest.mark.parametrize(
    ("status", "starts"),
    [
        pytest.param({"completedIndexes": "0,2-3"}, [], id="indexes"),
        pytest.param(
            {"completedIndexes": "3-2"},
            ['completedIndexes: Invalid value: "3-2": error parsing completedIndexes: non-incr'],
            id="in another order",
        ),
        pytest.param(
            {"completedIndexes": "0-3", "failedIndexes": "2,4"},
            [
                'failedIndexes: Invalid value: "2,4": failedIndexes and completedIndexes overlap at'
                " index: 2"
            ],
            id="in both",
        ),
        pytest.param(
            {"completedIndexes": "0,4", "failedIndexes": "x,1-2,9"},
            ['failedIndexes: Invalid value: "x,1-2,9": error parsing failedIndexes: cannot'],
            id="malformed",
        ),
        pytest.param(
            {"uncountedTerminatedPods": {"succeeded": ["a", ""], "failed": ["a"]}},
            [
                'uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
                'uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
            ],
            id="uids twice",
        ),
    ],
)
def test_the_status_of_an_indexed_job(status: Document, starts: list[str]) -> None:
    found = built_in().find("batch/v1", "Job")
    assert found is not None
    spec = {"completions": 5, "completionMode": "Indexed", "backoffLimitPerIndex": 1}
    stored = {"metadata": {"name": "x"}, "spec": spec}
    problems = found.status_problems(stored | {"status": status}, stored)
    assert len(problems) == len(starts), problems
    for (path, message, _), start in zip(problems, starts, strict=True):
        assert f"{path}: {message}".startswith(f"status.{start}")


@pytest.mark.parametrize(("old", "new"), [({}, {"externalID": "x"}), ({"externalID": "x"}, {})])
def test_the_external_id_of_a_node_never_changes(old, new):
    node = built_in().find("v1", "Node")
    assert node is not None
    before, after = ({"metadata": {"name": "n"}, "spec": spec} for spec in (old, new))
    problem = ("spec.externalID", "Forbidden: may not be updated")
    assert problem in [each[:2] for each in node.update_problems(after, before)]
    assert node.update_problems(before, before) == []


BAD_LABEL = {"metadata__labels": {"a": "-"}}
LABEL = "metadata.labels"


@pytest.mark.parametrize(
    ("api_version", "kind", "old", "changes", "paths"),
    [
        pytest.param(
            "storage.k8s.io/v1", "StorageClass", {"provisioner": "a.b"},
            {"provisioner": "", "reclaimPolicy": "Retain"},
            [LABEL, "provisioner", LABEL, "provisioner", "reclaimPolicy"],
            id="new, as changed, immutable",
        ),
        pytest.param(
            "v1", "ConfigMap", {"data": {"a": "b"}, "immutable": True}, {"data": {"/": "c"}},
            [LABEL, "data", LABEL, "data[/]"], id="as changed, immutable, new",
        ),
        pytest.param(
            "rbac.authorization.k8s.io/v1", "ClusterRoleBinding",
            {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                         "name": "a"}},
            {"roleRef__name": ""}, [LABEL, "roleRef.name", LABEL, "roleRef"], id="a role last",
        ),
        pytest.param(
            "v1", "Node", {"spec": {"podCIDRs": ["10.0.0.0/24"]}},
            {"spec__podCIDRs": ["10.0.1.0/24"], "spec__taints": [{"key": "k", "effect": "x"}]},
            [LABEL, "metadata.taints[0].effect", LABEL, "spec.podCIDRs",
             "metadata.taints[0].effect"],
            id="taints after networks",
        ),
        pytest.param(
            "discovery.k8s.io/v1", "EndpointSlice", {"addressType": "IPv4", "endpoints": []},
            {"addressType": "IPv6"}, [LABEL, "addressType"], id="not as changed",
        ),
    ],
)  # fmt: skip
def test_the_errors_of_an_update_have_upstreams_order(api_version, kind, old, changes, paths):
    found = updated(api_version, kind, old, **BAD_LABEL, **changes)
    assert [each.partition(": ")[0] for each in found] == paths


def test_a_local_volume_needs_nodes_before_the_next_source_is_looked_at():
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    both = spec | {"csi": {"driver": "a", "volumeHandle": "b"}, "local": {"path": "/a"}}
    found = built_in().find("v1", "PersistentVolume")
    assert found is not None
    problems = found.validation_problems({"metadata": {"name": "x"}, "spec": both})
    assert [path for path, _, _ in problems] == ["spec.nodeAffinity", "spec.csi"]

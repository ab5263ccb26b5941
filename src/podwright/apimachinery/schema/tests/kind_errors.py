"""The errors of new and changed objects of any kind, as short lines for rows of tests."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.schema import Kind, built_in
from podwright.apimachinery.schema.defaults.pods import pull_policy
from podwright.apimachinery.schema.tests.pod_errors import shown
from podwright.apimachinery.schema.warnings import configuration

Document = dict[str, Any]
VERSIONS = {
    "StorageClass": "storage.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "CSIStorageCapacity": "storage.k8s.io/v1",
    "VolumeAttributesClass": "storage.k8s.io/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
    "DaemonSet": "apps/v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "ControllerRevision": "apps/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "Lease": "coordination.k8s.io/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "FlowSchema": "flowcontrol.apiserver.k8s.io/v1",
    "PriorityLevelConfiguration": "flowcontrol.apiserver.k8s.io/v1",
    "LocalSubjectAccessReview": "authorization.k8s.io/v1",
    "SubjectAccessReview": "authorization.k8s.io/v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "APIService": "apiregistration.k8s.io/v1",
    "ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicy": "admissionregistration.k8s.io/v1",
    "ValidatingAdmissionPolicyBinding": "admissionregistration.k8s.io/v1",
    "StorageVersionMigration": "storagemigration.k8s.io/v1beta1",
    "RuntimeClass": "node.k8s.io/v1",
    "IngressClass": "networking.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "VolumeAttachment": "storage.k8s.io/v1",
    "CSIDriver": "storage.k8s.io/v1",
    "Workload": "scheduling.k8s.io/v1alpha2",
    "PodGroup": "scheduling.k8s.io/v1alpha2",
}
"""The versions of kinds that are not in the core group."""


def kind_of(name: str) -> Kind:
    found = built_in().find(VERSIONS.get(name, "v1"), name)
    assert found is not None
    return found


def made(kind: Kind, document: Document) -> Document:
    namespace = {"namespace": "d"} if kind.row.namespaced else {}
    metadata = {"name": "x"} | namespace | document.get("metadata", {})
    return kind.with_defaults(document | {"metadata": metadata})


def of_new(name: str, document: Document) -> list[str]:
    kind = kind_of(name)
    problems = kind.validation_problems(made(kind, document))
    return [f"{path}: {shown(message)}" for path, message, _ in problems]


def of_raw(name: str, document: Document) -> list[str]:
    """Return the errors of an object as it is written, without its defaults."""
    problems = kind_of(name).validation_problems({"metadata": {"name": "x"}} | document)
    return [f"{path}: {shown(message)}" for path, message, _ in problems]


def of_update(name: str, new: Document, old: Document) -> list[str]:
    kind = kind_of(name)
    problems = kind.update_problems(made(kind, new), made(kind, old))
    return [f"{path}: {shown(message)}" for path, message, _ in problems]


def of_status(name: str, status: Document, was: Document | None = None) -> list[str]:
    kind = kind_of(name)
    problems = kind.status_problems(made(kind, {"status": status}), made(kind, {"status": was}))
    return [f"{path}: {shown(message)}" for path, message, _ in problems]


def of_metadata(metadata: Document) -> list[str]:
    problems = kind_of("ConfigMap").metadata_problems({"metadata": metadata})
    return [f"{path}: {shown(message)}" for path, message, _ in problems]


def of_spec(name: str, spec: Document) -> list[str]:
    return of_new(name, {"spec": BASES.get(name, {}) | spec})


def of_changed_spec(name: str, spec: Document, before: Document) -> list[str]:
    base = BASES.get(name, {})
    return of_update(name, {"spec": base | spec}, {"spec": base | before})


TEMPLATE: Document = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "a"}]},
}
SELECTOR: Document = {"matchLabels": {"a": "b"}}
SIZE: Document = {"requests": {"storage": "1Gi"}}
ONCE = ["ReadWriteOnce"]
BASES: dict[str, Document] = {
    "PersistentVolume": {
        "accessModes": ONCE,
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/a"},
    },
    "PersistentVolumeClaim": {"accessModes": ONCE, "resources": SIZE},
    "Service": {"ports": [{"port": 80}]},
    "Job": {"template": TEMPLATE | {"spec": TEMPLATE["spec"] | {"restartPolicy": "Never"}}},
    "DaemonSet": {"selector": SELECTOR, "template": TEMPLATE},
}
"""Valid specs, and their fields that rows replace."""


def definition(**spec: Any) -> Document:
    names = {"plural": "cars", "singular": "car", "kind": "Car", "listKind": "CarList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    usual = {"group": "a.b", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": "cars.a.b"}, "spec": usual | spec}


def of_definition(spec: Document) -> list[str]:
    return of_new("CustomResourceDefinition", definition(**spec))


def of_schema(schema: Document) -> list[str]:
    whole = {"openAPIV3Schema": {"type": "object", "properties": {"f": schema}}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": whole}]
    start = "spec.validation.openAPIV3Schema.properties[f]"
    return [line.removeprefix(start) for line in of_definition({"versions": versions})]


AVOIDED = "scheduler.alpha.kubernetes.io/preferAvoidPods"
TAINTS = "scheduler.alpha.kubernetes.io/taints"
ROUND_TRIP = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
AVOIDED_PODS = (
    '{"preferAvoidPods": [{}, {"podSignature": {}}, {"podSignature": {"podController": {}}},'
    ' {"podSignature": {"podController": {"controller": true}}}]}'
)


def version(name: str, *, storage: bool = True, **others: Any) -> Document:
    schema = {"openAPIV3Schema": {"type": "object"}}
    usual = {"name": name, "served": True, "storage": storage, "schema": schema}
    return usual | others


def warned(name: str, document: Document, old: Document | None = None) -> list[str]:
    found: list[str] = getattr(configuration, name)(document, old)
    return found


def flat(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict) and value:
        parts = {f"{path}.{key}": each for key, each in value.items()}
    elif isinstance(value, list) and value:
        parts = {f"{path}[{index}]": each for index, each in enumerate(value)}
    else:
        return {path[1:]: value}
    return {at: leaf for part, each in parts.items() for at, leaf in flat(each, part).items()}


def defaults_of(name: str, document: Document) -> list[str]:
    """Return what the defaults of a kind add, change and take away."""
    before, after = flat(document), flat(kind_of(name).with_defaults(document))
    added = [f"{at} = {each!r}" for at, each in after.items() if before.get(at, ()) != each]
    return added + [f"no {at}" for at in before if at and at not in after]


def of_pod(spec: Document) -> list[str]:
    usual = ("restartPolicy", "terminationGracePeriodSeconds", "dnsPolicy", "securityContext",
             "schedulerName", "containers[0].terminationMessage", "enableServiceLinks",
             "containers[0].resources", "preemptionPolicy", "hostNetwork")  # fmt: skip
    base = {"containers": [{"name": "c", "image": "a:b", "imagePullPolicy": "Never"}]}
    lines = [line.removeprefix("spec.") for line in defaults_of("Pod", {"spec": base | spec})]
    return [line for line in lines if not line.startswith((*usual, "status"))]


def policy_of(image: str) -> list[str]:
    return [pull_policy(image)]


def of_whole(schema: Document) -> list[str]:
    versions = [version("v1", schema={"openAPIV3Schema": schema})]
    start = "spec.validation.openAPIV3Schema"
    return [line.removeprefix(start) for line in of_definition({"versions": versions})]

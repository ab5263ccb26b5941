"""The objects that an API server creates at its first start.

Upstream: pkg/controlplane/controller/systemnamespaces/system_namespaces_controller.go;
pkg/apis/scheduling/v1/helpers.go, SystemPriorityClasses;
staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    PriorityClass,
    encode,
    timestamp_text,
)
from podwright.apimachinery.schema import decode, flow_control_specs


def namespace(name: str) -> KubernetesObject:
    """Return a namespace as the API server stores it."""
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }
    )


def _priority_class(name: str, value: int, description: str) -> Document:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": PriorityClass.kind,
        "metadata": {"name": name},
        "value": value,
        "description": description,
        "preemptionPolicy": "PreemptLowerPriority",
    }


SYSTEM_PRIORITY_CLASSES: Final = ("system-cluster-critical", "system-node-critical")

BOOTSTRAP_OBJECTS: Final = (
    *(
        encode(namespace(name))
        for name in ("default", "kube-node-lease", "kube-public", "kube-system")
    ),
    _priority_class(
        SYSTEM_PRIORITY_CLASSES[0],
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another"
        " node if necessary.",
    ),
    _priority_class(
        SYSTEM_PRIORITY_CLASSES[1],
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
)
"""The system namespaces and priority classes, as documents."""


def flow_control(now_ns: int) -> tuple[list[Document], list[Document]]:
    """Return the PriorityLevelConfigurations and the FlowSchemas of API priority and fairness."""
    found = flow_control_specs()
    levels = [
        _flow_object("PriorityLevelConfiguration", name, spec)
        for name, spec in found.levels.items()
    ]
    schemas = []
    for name, spec in found.schemas.items():
        level = spec["priorityLevelConfiguration"]["name"]
        message = (
            "This FlowSchema references the PriorityLevelConfiguration object named"
            f' "{level}" and it exists'
        )
        condition = {
            "type": "Dangling",
            "status": "False",
            "lastTransitionTime": timestamp_text(now_ns),
            "reason": "Found",
            "message": message,
        }
        made = _flow_object("FlowSchema", name, spec)
        schemas.append(made | {"status": {"conditions": [condition]}})
    return levels, schemas


def _flow_object(kind: str, name: str, spec: Document) -> Document:
    annotations = {"apf.kubernetes.io/autoupdate-spec": "true"}
    return {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "generation": 1, "annotations": annotations},
        "spec": spec,
    }

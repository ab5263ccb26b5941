"""The parts of API server admission that affect scheduling.

Pods from manifests are completed; pods from an API server are already complete and stay
unchanged.
Upstream: pkg/apis/core/v1/defaults.go, `SetDefaults_Pod`; plugin/pkg/admission/priority.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podwright.apimachinery.objects.decode import Document, decode_as
from podwright.apimachinery.objects.node import Node
from podwright.apimachinery.objects.pods.pod import Container, Pod, PodSpec, ResourceRequirements
from podwright.apimachinery.objects.workload import PriorityClass

DEFAULT_SCHEDULER_NAME = "default-scheduler"


def admit(pod: Pod, priority_classes: Iterable[PriorityClass]) -> Pod:
    """Return `pod` with the fields that admission sets.

    Parameters
    ----------
    priority_classes : iterable of PriorityClass
        The priority classes of the cluster. If the pod's class does not exist, the priority stays
        unset.
    """
    spec = pod.spec
    changes: dict[str, object] = {}
    if not spec.scheduler_name:
        changes["scheduler_name"] = DEFAULT_SCHEDULER_NAME
    if spec.priority is None:
        priority = _priority_class(spec, priority_classes)
        if priority is not None:
            changes["priority"] = priority.value
            if not spec.preemption_policy and priority.preemption_policy:
                changes["preemption_policy"] = priority.preemption_policy
    for field in ("containers", "init_containers"):
        containers: tuple[Container, ...] = getattr(spec, field)
        if any(_lacks_requests(container.resources) for container in containers):
            changes[field] = tuple(
                msgspec.structs.replace(c, resources=_with_requests(c.resources))
                for c in containers
            )
    if spec.resources is not None and _lacks_requests(spec.resources):
        changes["resources"] = _with_requests(spec.resources)
    if not changes:
        return pod
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(spec, **changes), raw=pod.raw)


def with_runtime_class(pod: Pod, runtime_class: Document) -> Pod:
    """Return a pod with the overhead, the node selector and the tolerations of its runtime class.

    Parameters
    ----------
    pod : Pod
        What it has itself stays.
    runtime_class : dict
        The document of the class.

    Notes
    -----
    Upstream: plugin/pkg/admission/runtimeclass/admission.go
    """
    overhead = (runtime_class.get("overhead") or {}).get("podFixed")
    scheduling = runtime_class.get("scheduling") or {}
    document = {
        "metadata": {"name": pod.metadata.name},
        "spec": {
            "overhead": overhead,
            "nodeSelector": scheduling.get("nodeSelector"),
            "tolerations": scheduling.get("tolerations"),
        },
    }
    added = decode_as(document, Pod).spec
    spec = pod.spec
    changes: dict[str, object] = {}
    if added.overhead and not spec.overhead:
        changes["overhead"] = added.overhead
    if added.node_selector:
        changes["node_selector"] = {**added.node_selector, **spec.node_selector}
    missing = tuple(each for each in added.tolerations if each not in spec.tolerations)
    if missing:
        changes["tolerations"] = (*spec.tolerations, *missing)
    if not changes:
        return pod
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(spec, **changes), raw=pod.raw)


def with_allocatable(node: Node) -> Node:
    """Return a node whose allocatable resources default to its capacity.

    Notes
    -----
    Upstream: pkg/apis/core/v1/defaults.go, `SetDefaults_NodeStatus`
    """
    status = node.status
    if status.allocatable or not status.capacity:
        return node
    status = msgspec.structs.replace(status, allocatable=status.capacity)
    return msgspec.structs.replace(node, status=status, raw=node.raw)


def without_pod_level_resources(pod: Pod) -> Pod:
    """Return `pod` without its pod-level resources, as without the gate PodLevelResources."""
    if pod.spec.resources is None:
        return pod
    spec = msgspec.structs.replace(pod.spec, resources=None)
    return msgspec.structs.replace(pod, spec=spec, raw=pod.raw)


def default_priority_class(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """Return the global default PriorityClass; None if there is none.

    Notes
    -----
    Of several global defaults the one with the lowest value applies; of equal values, the first
    by name. Upstream: plugin/pkg/admission/priority/admission.go, `getDefaultPriorityClass`
    """
    defaults = [each for each in classes if each.global_default]
    return min(defaults, key=lambda each: (each.value, each.name), default=None)


def _priority_class(spec: PodSpec, classes: Iterable[PriorityClass]) -> PriorityClass | None:
    name = spec.priority_class_name
    if not name:
        return default_priority_class(classes)
    return next((each for each in classes if each.name == name), None)


def _lacks_requests(resources: ResourceRequirements) -> bool:
    return not resources.limits.keys() <= resources.requests.keys()


def _with_requests(resources: ResourceRequirements) -> ResourceRequirements:
    if not _lacks_requests(resources):
        return resources
    return msgspec.structs.replace(resources, requests={**resources.limits, **resources.requests})

"""The status of a pod, from its record.

Upstream: pkg/kubelet/kubelet_pods.go, generateAPIPodStatus
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import msgspec

from podwright.apimachinery.objects import (
    Container,
    ContainerStatus,
    Document,
    Pod,
    PodStatus,
    timestamp_text,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets.kubelet.containers.container_statuses import container_statuses
from podwright.cluster.kubelets.kubelet.pod_admission import Rejection
from podwright.cluster.kubelets.kubelet.pod_conditions import conditions_of, phase_of
from podwright.cluster.kubelets.kubelet.pod_records import STATUS_FIELDS, TERMINAL_PHASES, PodRecord

_replace = msgspec.structs.replace
_CONTAINER_FIELDS: Final = frozenset(STATUS_FIELDS.values())


def status_of(pod: Document, record: PodRecord, host_address: str, now_ns: int) -> Document:
    """Return the status that the kubelet writes for a pod."""
    old = pod.get("status") or {}
    spec = pod.get("spec") or {}
    now = timestamp_text(now_ns)
    statuses = container_statuses(pod, record)
    phase = phase_of(spec, record, is_terminal=record.stop_ns is not None)
    if record.stop is not None and record.is_finished:
        phase = "Failed"
    elif phase in TERMINAL_PHASES and record.running:
        # A pod is not terminal before its last container has ended.
        phase = old.get("phase") or "Running"
    status = {
        name: value
        for name, value in old.items()
        if name not in _CONTAINER_FIELDS and name not in ("reason", "message")
    }
    status["phase"] = phase
    if phase == old.get("phase"):
        for name in ("reason", "message"):
            if old.get(name):
                status[name] = old[name]
    if record.stop is not None and phase == "Failed":
        status["reason"], status["message"] = record.stop
    generation = pod["metadata"].get("generation")
    if generation is not None:
        status["observedGeneration"] = generation
    status["conditions"] = conditions_of(pod, record, phase, statuses, now)
    status["hostIP"] = host_address
    status["hostIPs"] = _addresses(host_address)
    if record.pod_ip:
        status["podIP"] = record.pod_ip
        status["podIPs"] = [{"ip": record.pod_ip}]
    status.setdefault("startTime", timestamp_text(record.start_ns))
    return status | statuses


@lru_cache(maxsize=16_384)
def _addresses(address: str) -> list[Document]:
    # One for all pods of a node, since documents are immutable by convention.
    return [{"ip": address}]


def rejected_status(pod: Document, rejection: Rejection, now_ns: int) -> Document:
    """Return the status of a pod that the kubelet rejected."""
    status = dict(pod.get("status") or {})
    status["phase"], status["reason"] = "Failed", rejection.reason
    status["message"] = f"Pod was rejected: {rejection.message}"
    status.setdefault("startTime", timestamp_text(now_ns))
    generation = pod["metadata"].get("generation")
    if generation is not None:
        status["observedGeneration"] = generation
    return status


def with_status(pod: Pod, status: Document, record: PodRecord) -> Pod:
    """Return a pod with another status."""
    document = pod.raw | {"status": status}
    if record.resize is not None or status.get("resources") or status.get("allocatedResources"):
        changed = decode(document, source=f"the status of {pod.key}")
        assert isinstance(changed, Pod)
        return changed
    # The resources of the containers are those of the typed spec.
    bare = {name: value for name, value in status.items() if name not in _CONTAINER_FIELDS}
    typed = msgspec.convert(bare, PodStatus)
    typed = _replace(
        typed,
        container_statuses=_typed(status.get("containerStatuses"), pod.spec.containers),
        init_container_statuses=_typed(
            status.get("initContainerStatuses"), pod.spec.init_containers
        ),
    )
    return _replace(pod, status=typed, raw=document)


def _typed(
    statuses: list[Document] | None, containers: tuple[Container, ...]
) -> tuple[ContainerStatus, ...]:
    specs = {container.name: container for container in containers}
    return tuple(
        ContainerStatus(
            name=status["name"],
            allocated_resources=specs[status["name"]].resources.requests
            if "allocatedResources" in status
            else None,
            resources=_replace(specs[status["name"]].resources, claims=())
            if "resources" in status
            else None,
        )
        for status in statuses or ()
    )

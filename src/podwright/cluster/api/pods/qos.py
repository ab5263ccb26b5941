"""The quality-of-service class of a pod.

Upstream: pkg/apis/core/v1/helper/qos/qos.go
"""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.objects import Document


def qos_class(spec: Document) -> str:
    """Return the QoS class of a pod.

    Upstream: pkg/apis/core/v1/helper/qos/qos.go, ComputePodQOS
    """
    names = ("cpu", "memory")
    containers: list[Document] = [
        *(spec.get("containers") or []),
        *(spec.get("initContainers") or []),
    ]
    if spec.get("resources") is not None:
        # Resources of the pod as a whole take the place of those of its containers.
        containers = [spec]
    is_guaranteed = bool(containers)
    has_resources = False
    for container in containers:
        resources: dict[str, Any] = container.get("resources") or {}
        requests = {n: v for n, v in (resources.get("requests") or {}).items() if n in names}
        limits = {n: v for n, v in (resources.get("limits") or {}).items() if n in names}
        has_resources = has_resources or bool(requests or limits)
        # An absent request equals its limit, as the defaults of the API set it.
        if len(limits) < len(names) or any(requests.get(n, limits[n]) != limits[n] for n in limits):
            is_guaranteed = False
    if is_guaranteed:
        return "Guaranteed"
    return "Burstable" if has_resources else "BestEffort"

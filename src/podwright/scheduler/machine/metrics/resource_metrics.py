"""The requests and limits of pods, one series per pod and resource: ``/metrics/resources``.

Upstream: pkg/scheduler/metrics/resources/resources.go
"""

from __future__ import annotations

from collections.abc import Iterable

from podwright.apimachinery.objects import HUGE_PAGES_PREFIX, Pod, limit_nanos, request_nanos
from podwright.scheduler.machine.metrics.metric_snapshot import Family, MetricsSnapshot, Value

_NANOS = 10**9
_IN_BYTES = {"memory", "storage", "ephemeral-storage"}


def resource_snapshot(pods: Iterable[Pod]) -> MetricsSnapshot:
    """Return requests and limits of pods, without pods that have terminated on their node."""
    requests: list[Value] = []
    limits: list[Value] = []
    for pod in pods:
        if pod.spec.node_name and pod.status.phase in {"Succeeded", "Failed"}:
            continue
        requests += _values(pod, request_nanos(pod))
        limits += _values(pod, limit_nanos(pod))
    return MetricsSnapshot(
        tuple(
            [
                Family(name, tuple(sorted(values, key=lambda value: value.labels)))
                for name, values in (
                    ("kube_pod_resource_limit", limits),
                    ("kube_pod_resource_request", requests),
                )
                if values
            ]
        )
    )


def _values(pod: Pod, amounts: dict[str, int]) -> list[Value]:
    priority = "" if pod.spec.priority is None else str(pod.spec.priority)
    owner = (pod.metadata.namespace, pod.metadata.name, pod.spec.node_name)
    scheduler = pod.spec.scheduler_name
    return [
        Value((*owner, scheduler, priority, resource, _unit(resource)), nanos / _NANOS)
        for resource, nanos in amounts.items()
        if nanos
    ]


def _unit(resource: str) -> str:
    if resource == "cpu":
        return "cores"
    if resource in _IN_BYTES or resource.startswith(HUGE_PAGES_PREFIX):
        return "bytes"
    return "integer"

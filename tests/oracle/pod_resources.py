"""What a pod asks for: containers, init containers, pod level, overhead, resize status.

Upstream: component-helpers/resource/helpers.go (PodRequests, AggregateContainerRequests,
determineContainerReqs) and pkg/scheduler/framework/types.go (CalculateResource).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from tests.oracle import quantity

Document = dict[str, Any]
Amounts = dict[str, Fraction]

DEFAULT_REQUESTS: Amounts = {"cpu": Fraction(1, 10), "memory": Fraction(200 * 1024 * 1024)}
"""What an absent request counts for in scoring: 100m and 200 MiB per container."""


def amounts(document: Document | None) -> Amounts:
    """Read a resource list."""
    return {name: quantity.exact(text) for name, text in (document or {}).items()}


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, Fraction(0)) + amount


def _greatest(*lists: Amounts) -> Amounts:
    result: Amounts = {}
    for one in lists:
        for name, amount in one.items():
            result[name] = max(result[name], amount) if name in result else amount
    return result


def _is_resize_infeasible(pod: Document) -> bool:
    return any(
        condition.get("type") == "PodResizePending" and condition.get("reason") == "Infeasible"
        for condition in (pod.get("status") or {}).get("conditions") or []
    )


def _with_status(pod: Document, wanted: Amounts, status: Document | None) -> Amounts:
    """Count what is running where it exceeds what is wanted (determineContainerReqs)."""
    if status is None or status.get("resources") is None:
        return wanted
    running = amounts(status["resources"].get("requests"))
    allocated = amounts(status.get("allocatedResources"))
    if _is_resize_infeasible(pod):
        return _greatest(running, allocated)
    return _greatest(wanted, running, allocated)


def _container_sum(pod: Document, *, use_status: bool, defaults: Amounts) -> Amounts:
    spec, status = pod["spec"], pod.get("status") or {}
    statuses = {}
    if use_status:
        for field in ("containerStatuses", "initContainerStatuses"):
            for one in status.get(field) or []:
                statuses[one["name"]] = one

    def requests(container: Document, *, has_status: bool = True) -> Amounts:
        wanted = amounts((container.get("resources") or {}).get("requests"))
        if has_status:
            wanted = _with_status(pod, wanted, statuses.get(container["name"]))
        return {**defaults, **wanted}

    total: Amounts = {}
    for container in spec.get("containers") or []:
        _add(total, requests(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or []:
        is_sidecar = container.get("restartPolicy") == "Always"
        wanted = requests(container, has_status=is_sidecar)
        if is_sidecar:
            _add(total, wanted)
            _add(sidecars, wanted)
            now = dict(sidecars)
        else:
            now = dict(wanted)
            _add(now, sidecars)
        peak = _greatest(peak, now)
    return _greatest(total, peak)


def is_pod_level_resource(name: str) -> bool:
    """Tell whether a resource may be requested for the pod as a whole."""
    return name in {"cpu", "memory"} or name.startswith("hugepages-")


def pod_level_requests(pod: Document) -> Amounts:
    """Return spec.resources.requests, restricted to what is supported there."""
    found = amounts((pod["spec"].get("resources") or {}).get("requests"))
    return {name: amount for name, amount in found.items() if is_pod_level_resource(name)}


def pod_requests(
    pod: Document, *, use_status: bool = False, defaults: Amounts | None = None
) -> Amounts:
    """Sum up a pod's requests (PodRequests); `defaults` stand for absent container requests."""
    total = _container_sum(pod, use_status=use_status, defaults=defaults or {})
    pod_level = pod_level_requests(pod)
    if pod_level:
        if use_status:
            pod_level = _with_status(pod, pod_level, pod.get("status") or {})
        total |= {n: amount for n, amount in pod_level.items() if is_pod_level_resource(n)}
    _add(total, amounts(pod["spec"].get("overhead")))
    return total


def to_int(name: str, amount: Fraction) -> int:
    """Return cpu in millicores and everything else in whole units, rounded up."""
    scaled = amount * 1000 if name == "cpu" else amount
    return -(-scaled.numerator // scaled.denominator)


def integers(total: Amounts) -> dict[str, int]:
    """Return a resource list in integers."""
    return {name: to_int(name, amount) for name, amount in total.items()}


def assigned_requests(pod: Document) -> dict[str, int]:
    """Return what an assigned pod occupies."""
    return integers(pod_requests(pod, use_status=True))


def non_zero_requests(pod: Document) -> dict[str, int]:
    """Return the cpu and memory an assigned pod occupies for scoring.

    With pod-level resources only a resource that nobody names takes the default; an explicit
    zero is a name.
    """
    defaults = DEFAULT_REQUESTS
    if pod_level_requests(pod):
        plain = pod_requests(pod, use_status=True)
        defaults = {n: d for n, d in DEFAULT_REQUESTS.items() if n not in plain}
    found = integers(pod_requests(pod, use_status=True, defaults=defaults))
    return {name: found.get(name, 0) for name in ("cpu", "memory")}


def filter_requests(pod: Document) -> dict[str, int]:
    """Return what NodeResourcesFit asks for a pending pod; its status is ignored."""
    return integers(pod_requests(pod))


def fit_score_requests(pod: Document, *, with_pod_level: bool = False) -> dict[str, int]:
    """Return what the score of NodeResourcesFit adds for the pod (calculatePodResourceRequest).

    NewFit hands the feature gates to the filter but not to the embedded scorer, so the score
    knows neither pod-level requests nor resize status. `with_pod_level` is what the same function
    returns where the gates do arrive; the family `pod_requests` records that.
    """
    if with_pod_level:
        return integers(pod_requests(pod, use_status=True, defaults=DEFAULT_REQUESTS))
    total = _container_sum(pod, use_status=False, defaults=DEFAULT_REQUESTS)
    _add(total, amounts(pod["spec"].get("overhead")))
    return integers(total)


def balanced_score_requests(pod: Document) -> dict[str, int]:
    """Return what the score of NodeResourcesBalancedAllocation adds for the pod."""
    return integers(pod_requests(pod, use_status=True))


def is_native(name: str) -> bool:
    """Tell whether a resource belongs to Kubernetes itself (IsNativeResource)."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Tell whether a resource is extended (IsExtendedResourceName)."""
    return not is_native(name) and not name.startswith("requests.")


def is_scalar(name: str) -> bool:
    """Tell whether nodes keep count of a resource besides the fixed ones."""
    return (
        is_extended(name)
        or name.startswith(("hugepages-", "attachable-volumes-"))
        or "kubernetes.io/" in name
    )

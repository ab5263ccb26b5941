"""The requests of a pod: containers, init containers, pod level, overhead, resize status.

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
"""The default requests for scoring: 100m and 200 MiB per container."""


def amounts(document: Document | None) -> Amounts:
    """Parse a resource list."""
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


def _with_status(pod: Document, needed: Amounts, status: Document | None) -> Amounts:
    """Use the maximum of the running and the desired resources (determineContainerReqs)."""
    if status is None or status.get("resources") is None:
        return needed
    running = amounts(status["resources"].get("requests"))
    allocated = amounts(status.get("allocatedResources"))
    if _is_resize_infeasible(pod):
        return _greatest(running, allocated)
    return _greatest(needed, running, allocated)


def _container_sum(pod: Document, *, use_status: bool, defaults: Amounts) -> Amounts:
    spec, status = pod["spec"], pod.get("status") or {}
    statuses = {}
    if use_status:
        for field in ("containerStatuses", "initContainerStatuses"):
            for one in status.get(field) or []:
                statuses[one["name"]] = one

    def requests(container: Document, *, has_status: bool = True) -> Amounts:
        needed = amounts((container.get("resources") or {}).get("requests"))
        if has_status:
            needed = _with_status(pod, needed, statuses.get(container["name"]))
        return {**defaults, **needed}

    total: Amounts = {}
    for container in spec.get("containers") or []:
        _add(total, requests(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or []:
        is_sidecar = container.get("restartPolicy") == "Always"
        needed = requests(container, has_status=is_sidecar)
        if is_sidecar:
            _add(total, needed)
            _add(sidecars, needed)
            now = dict(sidecars)
        else:
            now = dict(needed)
            _add(now, sidecars)
        peak = _greatest(peak, now)
    return _greatest(total, peak)


def is_pod_level_resource(name: str) -> bool:
    """Whether a resource may be requested at pod level."""
    return name in {"cpu", "memory"} or name.startswith("hugepages-")


def pod_level_requests(pod: Document) -> Amounts:
    """Return spec.resources.requests, restricted to the supported resources."""
    found = amounts((pod["spec"].get("resources") or {}).get("requests"))
    return {name: amount for name, amount in found.items() if is_pod_level_resource(name)}


def pod_requests(
    pod: Document, *, use_status: bool = False, defaults: Amounts | None = None
) -> Amounts:
    """Sum a pod's requests (PodRequests), with `defaults` for missing container requests."""
    total = _container_sum(pod, use_status=use_status, defaults=defaults or {})
    pod_level = pod_level_requests(pod)
    if pod_level:
        effective = pod_level
        if use_status:
            effective = _with_status(pod, pod_level, pod.get("status") or {})
        total |= {name: effective.get(name, Fraction(0)) for name in pod_level}
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
    """Return the resources that an assigned pod occupies."""
    return integers(pod_requests(pod, use_status=True))


def non_zero_requests(pod: Document) -> dict[str, int]:
    """Return the cpu and memory that an assigned pod occupies for scoring.

    With pod-level resources only a resource without any request uses the default; an explicit
    zero is a request.
    """
    defaults = DEFAULT_REQUESTS
    if pod_level_requests(pod):
        plain = pod_requests(pod, use_status=True)
        defaults = {n: d for n, d in DEFAULT_REQUESTS.items() if n not in plain}
    found = integers(pod_requests(pod, use_status=True, defaults=defaults))
    return {name: found.get(name, 0) for name in ("cpu", "memory")}


def filter_requests(pod: Document) -> dict[str, int]:
    """Return the request of a pending pod for NodeResourcesFit; its status is ignored."""
    return integers(pod_requests(pod))


def fit_score_requests(pod: Document, *, with_pod_level: bool = False) -> dict[str, int]:
    """Return the request that the score of NodeResourcesFit adds (calculatePodResourceRequest).

    NewFit passes the feature gates to the filter but not to the embedded scorer, so the score
    ignores pod-level requests and the resize status. `with_pod_level` returns the result of the
    same function with the gates; the family `pod_requests` records that.
    """
    if with_pod_level:
        return integers(pod_requests(pod, use_status=True, defaults=DEFAULT_REQUESTS))
    total = _container_sum(pod, use_status=False, defaults=DEFAULT_REQUESTS)
    _add(total, amounts(pod["spec"].get("overhead")))
    return integers(total)


def balanced_score_requests(pod: Document) -> dict[str, int]:
    """Return the request that the score of NodeResourcesBalancedAllocation adds."""
    return integers(pod_requests(pod, use_status=True))


def is_native(name: str) -> bool:
    """Whether a resource is native (IsNativeResource)."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether a resource is extended (IsExtendedResourceName)."""
    return not is_native(name) and not name.startswith("requests.")


def is_scalar(name: str) -> bool:
    """Whether nodes count a resource besides the fixed ones."""
    return (
        is_extended(name)
        or name.startswith(("hugepages-", "attachable-volumes-"))
        or "kubernetes.io/" in name
    )

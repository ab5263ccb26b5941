"""What a pod asks for, and what it occupies.

Containers run side by side and are added; init containers run one after the other before
them, each beside the sidecars started so far, so their largest moment counts. Resources set
for the whole pod replace the containers' sum for the resources that they name (cpu, memory,
huge pages). Overhead comes on top.

A pod on a node may be in the middle of a resize: it occupies the largest of what its spec
says, what the kubelet has allocated and what the runtime has; once the kubelet has called the
resize infeasible, the spec no longer counts.

All results are plain dictionaries: cpu in milli-cores, everything else in base units.

Upstream: staging/src/k8s.io/component-helpers/resource/helpers.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from podwright.objects.meta import ResourceList
from podwright.objects.pod import Container, ContainerStatus, Pod
from podwright.objects.quantity import (
    INT64_MAX,
    INT64_MIN,
    parse_quantity,
    quantity_milli_value,
    quantity_value,
)

DEFAULT_MILLI_CPU_REQUEST = 100
"""What scoring assumes for a container without a cpu request."""

DEFAULT_MEMORY_REQUEST_BYTES = 200 * 1024 * 1024
"""What scoring assumes for a container without a memory request."""

HUGE_PAGES_PREFIX = "hugepages-"

_NANOS = 10**9
_MISSING = {
    "cpu": DEFAULT_MILLI_CPU_REQUEST * 10**6,
    "memory": DEFAULT_MEMORY_REQUEST_BYTES * _NANOS,
}

# Sums are kept in units of 10^-9, the finest a quantity has, and rounded once at the end:
# two containers with 1n each ask for one milli-core together, not for two.
_Nanos: TypeAlias = dict[str, int]


def assigned_requests(pod: Pod) -> dict[str, int]:
    """Return what the pod occupies once it is on a node; zeros are left out.

    Notes
    -----
    Upstream: pkg/scheduler/framework/types.go, PodInfo.CalculateResource
    """
    single = _of_single_container(pod)
    if single is not None:
        return single
    return _rounded(_pod_requests(pod, use_status=True))


def has_actual_resources(pod: Pod) -> bool:
    """Tell whether the status says that a pod has other resources than it asks for.

    The status of a container that does not name any says nothing: it counts with its spec.
    """
    status = pod.status
    if status.resources is not None or status.allocated_resources is not None:
        return True
    # Every pod that runs has some: nothing is made to look at them.
    for entry in status.container_statuses:
        if entry.resources is not None:
            return True
    for entry in status.init_container_statuses:  # noqa: SIM110 - as above
        if entry.resources is not None:
            return True
    return False


def pending_requests(pod: Pod) -> dict[str, int]:
    """Return what NodeResourcesFit asks for when the pod is pending; zeros are left out.

    Notes
    -----
    Status is not looked at.
    Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go, computePodResourceRequest
    """
    single = _of_single_container(pod)
    if single is not None:
        return single
    return _rounded(_pod_requests(pod, use_status=False))


def request_nanos(pod: Pod) -> dict[str, int]:
    """Return what a pod's spec asks for, not rounded: in units of 10^-9, cpu in 10^-9 cores.

    Notes
    -----
    Status is not looked at. Upstream: PodRequests
    """
    return _pod_requests(pod, use_status=False)


def limit_nanos(pod: Pod) -> dict[str, int]:
    """Return what a pod's spec allows it at most, in units of 10^-9, cpu in 10^-9 cores.

    Notes
    -----
    Overhead is added only where there is a limit. Upstream: PodLimits
    """
    spec = pod.spec
    limits = _containers(pod, (_nanos(c.resources.limits) for c in _all_containers(pod)), None)
    if spec.resources is not None:
        whole = _nanos(spec.resources.limits)
        limits.update({name: n for name, n in whole.items() if _is_pod_level_resource(name)})
    for name, nanos in _nanos(spec.overhead).items():
        if name in limits:
            limits[name] += nanos
    return limits


def non_zero_requests(pod: Pod) -> dict[str, int]:
    """Return the cpu and memory that the pod occupies for scoring.

    Notes
    -----
    A container without a request counts for a little; not so if the pod as a whole has one.
    Upstream: pkg/scheduler/framework/types.go, getNonMissingContainerRequests
    """
    single = _of_single_container(pod)
    if single is not None:
        return {"cpu": 0, "memory": 0} | _with_missing(pod, single, only_cpu_and_memory=True)
    missing = _MISSING
    if _has_pod_level_requests(pod):
        requests = _pod_requests(pod, use_status=True)
        missing = {name: nanos for name, nanos in _MISSING.items() if name not in requests}
    requests = _pod_requests(pod, use_status=True, missing=missing)
    return {
        "cpu": _milli(requests.get("cpu", 0)),
        "memory": _base(requests.get("memory", 0)),
    }


def score_requests_fit(pod: Pod) -> dict[str, int]:
    """Return what the scores of NodeResourcesFit add for the pod; cpu and memory always.

    Notes
    -----
    Differs from `non_zero_requests` for pods with requests of their own: every container
    without a request counts.
    Upstream: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go
    """
    single = _of_single_container(pod)
    if single is not None:
        return {"cpu": 0, "memory": 0} | _with_missing(pod, single)
    requests = _pod_requests(pod, use_status=True, missing=_MISSING)
    return {"cpu": 0, "memory": 0} | _rounded(requests)


def score_requests_balanced(pod: Pod) -> dict[str, int]:
    """Return what NodeResourcesBalancedAllocation adds for the pod; cpu and memory always.

    Notes
    -----
    Upstream: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go
    """
    return {"cpu": 0, "memory": 0} | assigned_requests(pod)


# ------------------------------------------------------------------------------ sums

_LARGE = 2**53
"""Amounts from here on go the long way, where upstream's overflow rules are followed."""


def _of_single_container(pod: Pod) -> dict[str, int] | None:
    """Return the requests of a pod with one container and nothing else; None for others.

    Most pods are like that, and nothing has to be added up for them. Equal to the long way:
    a property test says so.
    """
    spec = pod.spec
    if (
        len(spec.containers) != 1
        or spec.init_containers
        or spec.resources is not None
        or spec.overhead
        or has_actual_resources(pod)
    ):
        return None
    amounts = {}
    for name, text in spec.containers[0].resources.requests.items():
        amount = quantity_milli_value(text) if name == "cpu" else quantity_value(text)
        if not -_LARGE < amount < _LARGE:
            return None
        if amount:
            amounts[name] = amount
    return amounts


def _with_missing(
    pod: Pod, single: dict[str, int], *, only_cpu_and_memory: bool = False
) -> dict[str, int]:
    """Return the requests of a single container with what scoring assumes for missing ones."""
    named = pod.spec.containers[0].resources.requests
    amounts = {
        name: amount
        for name, amount in single.items()
        if not only_cpu_and_memory or name in ("cpu", "memory")
    }
    if "cpu" not in named:
        amounts["cpu"] = DEFAULT_MILLI_CPU_REQUEST
    if "memory" not in named:
        amounts["memory"] = DEFAULT_MEMORY_REQUEST_BYTES
    return amounts


def _pod_requests(pod: Pod, *, use_status: bool, missing: _Nanos | None = None) -> _Nanos:
    """Upstream: PodRequests."""
    spec, status = pod.spec, pod.status
    if use_status and (status.container_statuses or status.init_container_statuses):
        per_container = _resized_containers(pod)
    else:
        per_container = (_nanos(c.resources.requests) for c in _all_containers(pod))
    result = _containers(pod, per_container, missing)

    if spec.resources is not None and _has_pod_level_requests(pod):
        wanted = _nanos(spec.resources.requests)
        if use_status:
            wanted = _resized_pod_level(pod, wanted)
        result.update({name: n for name, n in wanted.items() if _is_pod_level_resource(name)})

    if spec.overhead:
        _add(result, _nanos(spec.overhead))
    return result


def _resized_containers(pod: Pod) -> Iterator[_Nanos]:
    """Yield what each container occupies during a resize (determineContainerReqs).

    Notes
    -----
    A container without `resources` in its status counts with its spec, even when the resize
    is infeasible; so does an init container that ends, as it is not resized.
    """
    infeasible = _is_resize_infeasible(pod)
    status_of: dict[str, ContainerStatus] = {}
    for entry in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        status_of[entry.name] = entry  # of two of one name, upstream takes the last
    n_containers = len(pod.spec.containers)
    for index, container in enumerate(_all_containers(pod)):
        status = status_of.get(container.name)
        own = _nanos(container.resources.requests)
        if index >= n_containers and not container.is_sidecar:
            status = None
        if status is not None and status.resources is not None:
            own = {} if infeasible else own
            _max(own, _nanos(status.resources.requests))
            _max(own, _nanos(status.allocated_resources))
        yield own


def _resized_pod_level(pod: Pod, wanted: _Nanos) -> _Nanos:
    """Return the pod-level requests in effect during a resize (effectivePodLevelResources)."""
    status = pod.status
    if status.resources is None and status.allocated_resources is None:
        return wanted
    result = {} if _is_resize_infeasible(pod) else wanted
    for reported in (
        status.resources.requests if status.resources is not None else None,
        status.allocated_resources,
    ):
        _max(result, _nanos(reported))
    return result


def _containers(pod: Pod, requests: Iterable[_Nanos], missing: _Nanos | None) -> _Nanos:
    """Add up containers and take the maximum over the moments of initialisation.

    Parameters
    ----------
    pod : Pod
        The pod.
    requests : iterable of dict
        One per container: containers first, then init containers, in order.
    missing : dict or None
        What a container counts for that does not name a resource.

    Notes
    -----
    Upstream: AggregateContainerRequests
    """
    result: _Nanos = {}
    sidecars: _Nanos = {}
    initial: _Nanos = {}
    n_containers = len(pod.spec.containers)
    for index, (container, own) in enumerate(zip(_all_containers(pod), requests, strict=True)):
        if missing:
            own = missing | own  # noqa: PLW2901  # what the container counts for from here on
        if index < n_containers:
            _add(result, own)
        elif container.is_sidecar:
            _add(result, own)
            _add(sidecars, own)
            _max(initial, sidecars)
        else:
            _add(own, sidecars)
            _max(initial, own)
    _max(result, initial)
    return result


def _all_containers(pod: Pod) -> tuple[Container, ...]:
    return pod.spec.containers + pod.spec.init_containers


def _is_resize_infeasible(pod: Pod) -> bool:
    for condition in pod.status.conditions:
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _is_pod_level_resource(name: str) -> bool:
    return name in {"cpu", "memory"} or name.startswith(HUGE_PAGES_PREFIX)


def _has_pod_level_requests(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(map(_is_pod_level_resource, resources.requests))


# ------------------------------------------------------------------------- arithmetic


def _nanos(requests: ResourceList | None) -> _Nanos:
    if not requests:
        return {}
    return {name: parse_quantity(text).nano for name, text in requests.items()}


def _add(into: _Nanos, other: _Nanos) -> None:
    for name, nanos in other.items():
        into[name] = into.get(name, 0) + nanos


def _max(into: _Nanos, other: _Nanos) -> None:
    for name, nanos in other.items():
        if name not in into or nanos > into[name]:
            into[name] = nanos


def _rounded(requests: _Nanos) -> dict[str, int]:
    rounded = {
        name: _milli(nanos) if name == "cpu" else _base(nanos) for name, nanos in requests.items()
    }
    return {name: amount for name, amount in rounded.items() if amount}


def _milli(nanos: int) -> int:
    return _int64(nanos, 10**6)


def _base(nanos: int) -> int:
    return _int64(nanos, _NANOS)


def _int64(nanos: int, unit: int) -> int:
    """Round away from zero; past int64 the answer is 0, as it is for one quantity upstream."""
    amount = -(-nanos // unit) if nanos >= 0 else nanos // unit
    return amount if INT64_MIN <= amount <= INT64_MAX else 0

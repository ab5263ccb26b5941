"""The resources that a pod requests, and those that it occupies.

The requests of containers are summed, because containers run concurrently. Init containers run
before them one after another, each beside the sidecars started so far, so the maximum over these
steps counts. Pod-level resources replace the sum for the resources that they name (cpu, memory,
huge pages). Overhead is added.

A pod on a node may be in the middle of a resize. It then occupies the maximum of its spec, the
resources allocated by the kubelet and the actual resources of the runtime. If the kubelet has
marked the resize infeasible, the spec does not count.

All results are plain dictionaries: cpu in milli-cores, everything else in base units.

Upstream: staging/src/k8s.io/component-helpers/resource/helpers.go;
pkg/apis/core/v1/helper/helpers.go, pkg/scheduler/util/utils.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from podwright.apimachinery.objects.meta import ResourceList
from podwright.apimachinery.objects.names import label_key_errors
from podwright.apimachinery.objects.pods.pod import Container, ContainerStatus, Pod
from podwright.apimachinery.objects.quantity import (
    Quantity,
    parse_quantity,
    quantity_milli_value,
    quantity_value,
)

DEFAULT_MILLI_CPU_REQUEST = 100
"""The cpu request that scoring assumes for a container without one."""

DEFAULT_MEMORY_REQUEST_BYTES = 200 * 1024 * 1024
"""The memory request that scoring assumes for a container without one."""

HUGE_PAGES_PREFIX = "hugepages-"

_NANOS = 10**9
_MISSING = {
    "cpu": DEFAULT_MILLI_CPU_REQUEST * 10**6,
    "memory": DEFAULT_MEMORY_REQUEST_BYTES * _NANOS,
}

# Sums are kept in units of 10^-9, the finest unit of a quantity, and rounded once at the end:
# two containers with 1n each request one milli-core together, not two.
_Nanos: TypeAlias = dict[str, int]

# Very large amounts are summed as quantities, whose sums overflow as upstream's do.
_Amount = TypeVar("_Amount", int, Quantity)
_Reader: TypeAlias = Callable[["ResourceList | None"], dict[str, _Amount]]


def assigned_requests(pod: Pod) -> dict[str, int]:
    """Return the resources that the pod occupies on a node, without zeros.

    Notes
    -----
    Upstream: pkg/scheduler/framework/types.go, PodInfo.CalculateResource
    """
    single = _of_single_container(pod)
    if single is not None:
        return single
    return _requests(pod, use_status=True)


def assigned_request_millis(pod: Pod) -> dict[str, int]:
    """Return the resources that the pod occupies on a node, in 10^-3 of a unit, zeros included.

    Notes
    -----
    Upstream: pkg/scheduler/framework/events.go, extractPodScaleDown
    """
    requests = _pod_requests(pod, _quantities, use_status=True)
    return {name: amount.milli_value() for name, amount in requests.items()}


def has_actual_resources(pod: Pod) -> bool:
    """Whether the status of a pod has other allocated or actual resources than its spec.

    A container whose status has no resources counts with its spec.
    """
    status = pod.status
    if status.resources is not None or status.allocated_resources is not None:
        return True
    # Every running pod has container statuses, so these loops avoid creating objects.
    for entry in status.container_statuses:
        if entry.resources is not None and not _is_as_specified(entry, pod.spec.containers):
            return True
    for entry in status.init_container_statuses:
        if entry.resources is not None and not _is_as_specified(entry, pod.spec.init_containers):
            return True
    return False


def _is_as_specified(status: ContainerStatus, containers: tuple[Container, ...]) -> bool:
    """Whether a container occupies what its spec requests, as almost every one does."""
    for container in containers:
        if container.name == status.name:
            requests, allocated = container.resources.requests, status.allocated_resources
            actual = None if status.resources is None else status.resources.requests
            return actual == requests and (not allocated or allocated == requests)
    return False


def has_same_actual_resources(pod: Pod, other: Pod) -> bool:
    """Whether pods with equal specs occupy the same: their statuses have the same resources."""
    status, others = pod.status, other.status
    if status is others:
        return True
    if not (has_actual_resources(pod) or has_actual_resources(other)):
        return True
    return (
        status.container_statuses == others.container_statuses
        and status.init_container_statuses == others.init_container_statuses
        and status.resources == others.resources
        and status.allocated_resources == others.allocated_resources
        and is_resize_infeasible(pod) == is_resize_infeasible(other)
    )


def pending_requests(pod: Pod) -> dict[str, int]:
    """Return the requests of a pending pod in NodeResourcesFit, without zeros.

    Notes
    -----
    The status is ignored.
    Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go, computePodResourceRequest
    """
    single = _of_single_container(pod)
    if single is not None:
        return single
    return _requests(pod, use_status=False)


def request_nanos(pod: Pod) -> dict[str, int]:
    """Return the requests in a pod's spec, not rounded: in units of 10^-9, cpu in 10^-9 cores.

    Notes
    -----
    The status is ignored. Upstream: PodRequests
    """
    return _pod_requests(pod, _nanos, use_status=False)


def limit_nanos(pod: Pod) -> dict[str, int]:
    """Return the limits in a pod's spec, in units of 10^-9, cpu in 10^-9 cores.

    Notes
    -----
    Overhead is added only to resources that have a limit. Upstream: PodLimits
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
    A container without a request counts with a default, unless the pod has pod-level requests.
    Upstream: pkg/scheduler/framework/types.go, getNonMissingContainerRequests
    """
    single = _of_single_container(pod)
    if single is not None:
        amounts = _with_missing(pod, single)
        return {"cpu": amounts["cpu"], "memory": amounts["memory"]}
    missing = tuple(_MISSING)
    if _has_pod_level_requests(pod):
        named = _pod_requests(pod, _nanos, use_status=True)
        missing = tuple([name for name in _MISSING if name not in named])
    requests = _requests(pod, use_status=True, missing=missing)
    return {"cpu": requests.get("cpu", 0), "memory": requests.get("memory", 0)}


def score_requests_fit(pod: Pod) -> dict[str, int]:
    """Return the requests that the scores of NodeResourcesFit add, always with cpu and memory.

    Notes
    -----
    Differs from `non_zero_requests` for pods with pod-level requests: every container without a
    request counts with a default.
    Upstream: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go
    """
    single = _of_single_container(pod)
    if single is not None:
        return _with_missing(pod, single)
    return {"cpu": 0, "memory": 0} | _requests(pod, use_status=True, missing=tuple(_MISSING))


def score_requests_balanced(pod: Pod) -> dict[str, int]:
    """Return the requests that NodeResourcesBalancedAllocation adds, always with cpu and memory.

    Notes
    -----
    Upstream: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go
    """
    return {"cpu": 0, "memory": 0} | assigned_requests(pod)


# ------------------------------------------------------------------------------ sums

_LARGE = 2**53
"""Amounts from here on are summed by the slow path, which follows upstream's overflow rules."""


def _of_single_container(pod: Pod) -> dict[str, int] | None:
    """Return the requests of a pod that has one container and nothing else; None for others.

    A fast path for most pods, which need no sums. A property test compares it with the slow path.
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
    (container,) = spec.containers
    for name, text in container.resources.requests.items():
        amount = quantity_milli_value(text) if name == "cpu" else quantity_value(text)
        if amount:
            amounts[name] = amount
    return amounts


def _with_missing(pod: Pod, single: dict[str, int]) -> dict[str, int]:
    """Return the requests of a single container with scoring's defaults for missing ones."""
    (container,) = pod.spec.containers
    named = container.resources.requests
    cpu = 0 if "cpu" in named else DEFAULT_MILLI_CPU_REQUEST
    memory = 0 if "memory" in named else DEFAULT_MEMORY_REQUEST_BYTES
    return {"cpu": cpu, "memory": memory} | single


def _requests(pod: Pod, *, use_status: bool, missing: tuple[str, ...] = ()) -> dict[str, int]:
    """Return the requests as integers, without zeros.

    Parameters
    ----------
    missing : tuple of str
        The resources that a container without a request of its own counts with a default for.
    """
    defaults = {name: _MISSING[name] for name in missing}
    nanos = _pod_requests(pod, _nanos, use_status=use_status, missing=defaults)
    if all(abs(amount) < _LARGE * _NANOS for amount in nanos.values()):
        return _rounded(nanos)
    parsed = {name: Quantity(amount, -9) for name, amount in defaults.items()}
    sums = _pod_requests(pod, _quantities, use_status=use_status, missing=parsed)
    amounts = {
        name: amount.milli_value() if name == "cpu" else amount.value()
        for name, amount in sums.items()
    }
    return {name: amount for name, amount in amounts.items() if amount}


def _pod_requests(
    pod: Pod,
    read: _Reader[_Amount],
    *,
    use_status: bool,
    missing: Mapping[str, _Amount] | None = None,
) -> dict[str, _Amount]:
    """Upstream: PodRequests."""
    spec, status = pod.spec, pod.status
    if use_status and (status.container_statuses or status.init_container_statuses):
        per_container = _resized_containers(pod, read)
    else:
        per_container = (read(c.resources.requests) for c in _all_containers(pod))
    result = _containers(pod, per_container, missing)

    if spec.resources is not None and _has_pod_level_requests(pod):
        requested = read(spec.resources.requests)
        effective = _resized_pod_level(pod, requested, read) if use_status else requested
        for name in requested:
            if _is_pod_level_resource(name):
                # One that the kubelet has not reported counts as zero while it is infeasible.
                result[name] = effective[name] if name in effective else read({name: "0"})[name]

    if spec.overhead:
        _add(result, read(spec.overhead))
    return result


def _resized_containers(pod: Pod, read: _Reader[_Amount]) -> Iterator[dict[str, _Amount]]:
    """Yield the resources that each container occupies during a resize (determineContainerReqs).

    Notes
    -----
    A container without `resources` in its status counts with its spec, even if the resize is
    infeasible. So does an init container that is not a sidecar, because it is not resized.
    """
    infeasible = is_resize_infeasible(pod)
    status_of: dict[str, ContainerStatus] = {}
    for entry in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        status_of[entry.name] = entry  # as upstream, the last of several with one name
    n_containers = len(pod.spec.containers)
    for index, container in enumerate(_all_containers(pod)):
        status = status_of.get(container.name)
        own = read(container.resources.requests)
        if index >= n_containers and not container.is_sidecar:
            status = None
        if status is not None and status.resources is not None:
            own = {} if infeasible else own
            _max(own, read(status.resources.requests))
            _max(own, read(status.allocated_resources))
        yield own


def _resized_pod_level(
    pod: Pod, requested: Mapping[str, _Amount], read: _Reader[_Amount]
) -> dict[str, _Amount]:
    """Return the pod-level requests in effect during a resize.

    Notes
    -----
    Allocated resources alone, without actual ones, do not count.
    Upstream: PodRequests, determineEffectiveRequests
    """
    status = pod.status
    if status.resources is None:
        return dict(requested)
    result = {} if is_resize_infeasible(pod) else dict(requested)
    _max(result, read(status.resources.requests))
    _max(result, read(status.allocated_resources))
    return result


def _containers(
    pod: Pod,
    requests: Iterable[dict[str, _Amount]],
    missing: Mapping[str, _Amount] | None,
) -> dict[str, _Amount]:
    """Sum the containers and take the maximum over the steps of initialization.

    Parameters
    ----------
    pod : Pod
        The pod.
    requests : iterable of dict
        One per container: containers first, then init containers, in order.
    missing : dict or None
        The defaults for a container without a request.

    Notes
    -----
    Upstream: AggregateContainerRequests
    """
    result: dict[str, _Amount] = {}
    sidecars: dict[str, _Amount] = {}
    initial: dict[str, _Amount] = {}
    n_containers = len(pod.spec.containers)
    for index, (container, own) in enumerate(zip(_all_containers(pod), requests, strict=True)):
        if missing:
            own = {**missing, **own}  # noqa: PLW2901 - the effective requests of the container
        if index < n_containers:
            _add(result, own)
        # A sidecar keeps running: it counts beside the containers and beside later init containers.
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


def is_resize_infeasible(pod: Pod) -> bool:
    """Whether the node has no room for a resize of the pod."""
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


def _quantities(requests: ResourceList | None) -> dict[str, Quantity]:
    return {name: parse_quantity(text) for name, text in (requests or {}).items()}


def _add(into: dict[str, _Amount], other: Mapping[str, _Amount]) -> None:
    for name, amount in other.items():
        into[name] = into[name] + amount if name in into else amount


def _max(into: dict[str, _Amount], other: Mapping[str, _Amount]) -> None:
    for name, amount in other.items():
        if name not in into:
            into[name] = amount
        elif amount > into[name]:
            into[name] = _compared(amount, into[name])


def _compared(amount: _Amount, other: _Amount) -> _Amount:
    """Return an amount as it is after a comparison with another one.

    Notes
    -----
    A comparison with a decimal makes a decimal of a 64-bit mantissa.
    Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go, Quantity.Cmp
    """
    match amount, other:
        case Quantity(), Quantity(is_decimal=True):
            return replace(amount, is_decimal=True)
        case _:
            return amount


def _rounded(requests: _Nanos) -> dict[str, int]:
    rounded = {
        name: _round_up(nanos, 10**6 if name == "cpu" else _NANOS)
        for name, nanos in requests.items()
    }
    return {name: amount for name, amount in rounded.items() if amount}


def _round_up(nanos: int, unit: int) -> int:
    """Divide, and round away from zero."""
    return -(-nanos // unit) if nanos >= 0 else nanos // unit


# Kinds of resources, by name.

_QUOTA_PREFIX = "requests."
_NATIVE = "kubernetes.io/"
_PREFIXES = ("hugepages-", "attachable-volumes-")


@lru_cache(maxsize=4_096)
def is_extended_resource(name: str) -> bool:
    """Whether a resource is an extended resource, such as example.com/gpu."""
    if "/" not in name or _NATIVE in name or name.startswith(_QUOTA_PREFIX):
        return False
    return not label_key_errors(_QUOTA_PREFIX + name)


@lru_cache(maxsize=4_096)
def is_scalar_resource(name: str) -> bool:
    """Whether the scheduler counts a resource as a scalar resource, besides the fixed ones."""
    return name.startswith(_PREFIXES) or _NATIVE in name or is_extended_resource(name)


# Keys of pods with equal requests, computed without summing the requests.


def status_changes_requests(pod: Pod) -> bool:
    """Whether a pod's status affects the resources that it occupies.

    Only a pod that has started has such a status: it may be in the middle of a resize.
    """
    status = pod.status
    return (
        bool(status.container_statuses or status.init_container_statuses)
        or status.resources is not None
        or status.allocated_resources is not None
    )


def request_key(pod: Pod) -> Hashable:
    """Return a key that is equal only for pods with the same requests.

    Pods of one template share it. Computing it takes a few microseconds; summing the requests
    takes some tens. Equal requests in different notations have different keys.
    """
    spec = pod.spec
    key: tuple[Hashable, ...] = tuple(
        [tuple(container.resources.requests.items()) for container in spec.containers]
    )
    if spec.init_containers:
        key = (
            key,
            tuple(
                [
                    (container.is_sidecar, *container.resources.requests.items())
                    for container in spec.init_containers
                ]
            ),
        )
    if spec.resources is not None or spec.overhead:
        of_pod = () if spec.resources is None else tuple(spec.resources.requests.items())
        key = (key, of_pod, tuple(spec.overhead.items()))
    if status_changes_requests(pod):
        names = tuple([container.name for container in (*spec.containers, *spec.init_containers)])
        # Not the whole status: its times would make all pods of a template different.
        actual: tuple[object, ...] = ()
        if has_actual_resources(pod):
            status = pod.status
            actual = (
                status.container_statuses,
                status.init_container_statuses,
                status.resources,
                status.allocated_resources,
                is_resize_infeasible(pod),
            )
        key = (key, names, msgspec.json.encode(actual))
    return key

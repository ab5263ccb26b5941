"""How many replicas a resource metric asks for: the usage of the pods against its target.

Upstream: pkg/controller/podautoscaler/replica_calculator.go, GetResourceReplicas,
GetRawResourceReplicas, groupPods and calculateRequests; metrics/utilization.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Any, Final, NamedTuple

from podwright.apimachinery.objects import (
    Document,
    Pod,
    assigned_request_millis,
    condition_of,
    encode,
    quantity_milli_value,
    timestamp_ns,
)
from podwright.cluster.api import MEASURED, DeclaredUsages

_SECOND_NS: Final = 1_000_000_000
_INITIALIZATION_NS: Final = 300 * _SECOND_NS
_READINESS_DELAY_NS: Final = 30 * _SECOND_NS
_WINDOW_NS: Final = 15 * _SECOND_NS
"""Over how long a metrics server measures, as its `--metric-resolution` has it."""


class CalculationError(ValueError):
    """Why the usage of pods gives no number of replicas."""


class Tolerance(NamedTuple):
    """By how much the usage may differ from the target without a change."""

    down: float = 0.1
    up: float = 0.1

    def has(self, ratio: float) -> bool:
        """Whether a ratio of usage to target changes nothing."""
        return 1 - self.down <= ratio <= 1 + self.up


class Proposal(NamedTuple):
    """The number of replicas that a metric asks for.

    Attributes
    ----------
    replicas : int
    average_milli : int
        The usage of a pod, in thousandths.
    utilization : int, optional
        The usage in percent of the requests, where that is the target.
    """

    replicas: int
    average_milli: int
    utilization: int | None = None


class ResourceTarget(NamedTuple):
    """The target of a metric of a resource.

    Attributes
    ----------
    resource : str
    container : str
        Only of this container; of the whole pod if empty.
    utilization : int, optional
        In percent of the requests.
    average_milli : int
        Without `utilization`: the usage of a pod, in thousandths.
    """

    resource: str
    container: str
    utilization: int | None
    average_milli: int


def measured(
    pods: Iterable[Pod], target: ResourceTarget, usages: DeclaredUsages
) -> dict[str, int] | None:
    """Return what the pods use of a resource, in thousandths, by their names.

    Pods of which it is not known are left out; None if nothing is known of any pod.

    Raises
    ------
    UsageError
        A declared usage is not an amount.

    Notes
    -----
    Upstream: pkg/controller/podautoscaler/metrics/client.go, getContainerMetrics, getPodMetrics
    """
    found = {}
    has_metrics = False
    for pod in pods:
        used = usages.of(pod, dict.fromkeys((*MEASURED, target.resource)))
        has_metrics |= bool(used)
        if target.container:
            used = {name: used[name] for name in used if name == target.container}
        amounts = [of_container.get(target.resource) for of_container in used.values()]
        known = [each.milli_value() for each in amounts if each is not None]
        if known and len(known) == len(amounts):
            found[pod.name] = sum(known)
    return found if has_metrics else None


def proposed_replicas(
    pods: Iterable[Pod],
    metrics: Mapping[str, int],
    target: ResourceTarget,
    current: int,
    tolerance: Tolerance,
    now_ns: int,
) -> Proposal:
    """Return the number of replicas at which the pods would use what the target says.

    Parameters
    ----------
    pods : iterable of Pod
    metrics : mapping of str to int
        What they use, as of `measured`.
    target : ResourceTarget
    current : int
        The number of replicas.
    tolerance : Tolerance
    now_ns : int

    Raises
    ------
    CalculationError
        There are no pods, no metrics of them, or no requests.
    """
    several = list(pods)
    if not several:
        raise CalculationError("no pods returned by selector while calculating replica count")
    ready, unready, missing = _grouped(several, metrics, target, now_ns)
    if not ready:
        raise CalculationError("did not receive metrics for targeted pods (pods might be unready)")
    requests: dict[str, int] = {}
    if target.utilization is not None:
        requests = {pod.name: _milli_request(pod, target) for pod in several}
    ratio, average, utilization = _ratio(ready, requests, target)
    counts_unready = bool(unready) and ratio > 1
    replicas = current
    if not counts_unready and not missing:
        if not tolerance.has(ratio):
            replicas = ceil(ratio * len(ready))
        return Proposal(replicas, average, utilization)
    usage = dict(ready)
    if ratio < 1:
        # What is missing would be reason enough to keep the pods.
        usage.update((name, _assumed(requests.get(name), target)) for name in missing)
    elif ratio > 1:
        usage.update((name, 0) for name in missing)
    if counts_unready:
        usage.update((name, 0) for name in unready)
    assumed, *_ = _ratio(usage, requests, target)
    if not tolerance.has(assumed) and (ratio < 1) == (assumed < 1):
        proposed = ceil(assumed * len(usage))
        if not ((assumed < 1 and proposed > current) or (assumed > 1 and proposed < current)):
            replicas = proposed
    return Proposal(replicas, average, utilization)


def _ratio(
    usage: Mapping[str, int], requests: Mapping[str, int], target: ResourceTarget
) -> tuple[float, int, int | None]:
    """Return the ratio of usage to target, the usage of a pod, and what it is in percent."""
    total, average = sum(usage.values()), sum(usage.values()) // len(usage)
    if target.utilization is None:
        return average / target.average_milli, average, None
    requested = sum(requests[name] for name in usage)
    if not requested:
        raise CalculationError("no metrics returned matched known pods")
    percent = total * 100 // requested
    return percent / target.utilization, average, percent


def _assumed(request: int | None, target: ResourceTarget) -> int:
    """Return what a pod without metrics uses, where fewer replicas would do for the others."""
    if target.utilization is None or request is None:
        return target.average_milli
    return request * max(100, target.utilization) // 100


def _grouped(
    pods: Iterable[Pod], metrics: Mapping[str, int], target: ResourceTarget, now_ns: int
) -> tuple[dict[str, int], list[str], list[str]]:
    """Return the usage of the ready pods, and the names of unready ones and without metrics."""
    ready: dict[str, int] = {}
    unready: list[str] = []
    missing: list[str] = []
    for pod in pods:
        if pod.metadata.deletion_timestamp is not None or pod.status.phase == "Failed":
            continue
        if pod.status.phase == "Pending":
            unready.append(pod.name)
            continue
        if pod.name not in metrics:
            missing.append(pod.name)
        elif target.resource == "cpu" and _is_unready(pod, now_ns):
            unready.append(pod.name)
        else:
            ready[pod.name] = metrics[pod.name]
    return ready, unready, missing


def _is_unready(pod: Pod, now_ns: int) -> bool:
    condition = condition_of(pod, "Ready")
    start_ns = timestamp_ns(pod.status.start_time)
    if condition is None or start_ns is None:
        return True
    is_ready, since_ns = condition.status != "False", timestamp_ns(condition.last_transition_time)
    since_ns = since_ns or 0
    if start_ns + _INITIALIZATION_NS > now_ns:
        return not is_ready or now_ns < since_ns + _WINDOW_NS
    return not is_ready and start_ns + _READINESS_DELAY_NS > since_ns


def _milli_request(pod: Pod, target: ResourceTarget) -> int:
    resource = target.resource
    spec = encode(pod)["spec"]
    if not target.container and (spec.get("resources") or {}).get("requests"):
        requests = assigned_request_millis(pod)
        if resource not in requests:
            raise CalculationError(f"missing pod-level request for {resource} in Pod {pod.name}")
        return requests[resource]
    sidecars = (
        each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"
    )
    counted = [
        each for each in (*spec["containers"], *sidecars) if target.container in ("", each["name"])
    ]
    if not counted:
        raise CalculationError(f"container {target.container} not found in Pod {pod.name}")
    return sum(_of_container(each, resource, pod.name) for each in counted)


def _of_container(container: Document, resource: str, pod: str) -> int:
    requests: dict[str, Any] = (container.get("resources") or {}).get("requests") or {}
    if resource not in requests:
        raise CalculationError(
            f"missing request for {resource} in container {container['name']} of Pod {pod}"
        )
    return quantity_milli_value(requests[resource])

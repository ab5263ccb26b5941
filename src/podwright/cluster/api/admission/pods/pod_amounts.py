"""What a pod requests and is limited to, as admission counts it.

Upstream: staging/src/k8s.io/component-helpers/resource/helpers.go, PodRequests and PodLimits;
plugin/pkg/admission/limitranger/admission.go, podRequests and podLimits
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from podwright.apimachinery.objects import Document
from podwright.cluster.api.admission.amounts import Amounts, add, amounts_of, raise_to, sum_of

Kind: TypeAlias = Literal["requests", "limits"]


def spec_amounts(spec: Document, kind: Kind) -> Amounts:
    """Return the amounts in a spec without overhead; the whole pod's cpu and memory come first.

    Notes
    -----
    So LimitRanger counts.
    """
    total = _of_containers(spec, kind, {}, is_infeasible=False)
    whole = amounts_of((spec.get("resources") or {}).get(kind))
    total.update({name: amount for name, amount in whole.items() if name in ("cpu", "memory")})
    return total


def pod_amounts(pod: Document, kind: Kind) -> Amounts:
    """Return the amounts that a pod occupies: during a resize, the larger ones.

    Notes
    -----
    So ResourceQuota counts.
    """
    spec: Document = pod.get("spec") or {}
    status: Document = pod.get("status") or {}
    statuses = {
        each.get("name", ""): each
        for name in ("containerStatuses", "initContainerStatuses")
        for each in status.get(name) or ()
    }
    total = _of_containers(spec, kind, statuses, is_infeasible=_is_infeasible(status))
    whole = amounts_of((spec.get("resources") or {}).get(kind))
    total.update({name: amount for name, amount in whole.items() if is_pod_level(name)})
    for name, amount in amounts_of(spec.get("overhead")).items():
        if kind == "requests":
            add(total, {name: amount})
        elif name in total and total[name].nano:
            total[name] = sum_of(total[name], amount)
    return total


def has_pod_level_resources(spec: Document) -> bool:
    """Whether a spec has resources of the pod as a whole."""
    resources = spec.get("resources") or {}
    return any(
        is_pod_level(name) for kind in ("requests", "limits") for name in resources.get(kind) or ()
    )


def is_pod_level(name: str) -> bool:
    """Whether a pod as a whole can have the resource."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _is_infeasible(status: Document) -> bool:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodResizePending":
            return bool(condition.get("reason") == "Infeasible")
    return False


def _of_containers(
    spec: Document, kind: Kind, statuses: dict[str, Document], *, is_infeasible: bool
) -> Amounts:
    """Return the sum over containers, or the largest step of initialization."""

    def own(container: Document, *, is_resizable: bool) -> Amounts:
        amounts = amounts_of((container.get("resources") or {}).get(kind))
        status = statuses.get(container.get("name", "")) if is_resizable else None
        if status is None or status.get("resources") is None:
            return amounts
        actual = amounts_of(status["resources"].get(kind))
        effective: Amounts = {} if is_infeasible else amounts
        raise_to(effective, actual)
        if kind == "requests":
            raise_to(effective, amounts_of(status.get("allocatedResources")))
        return effective

    total: Amounts = {}
    for container in spec.get("containers") or ():
        add(total, own(container, is_resizable=True))
    sidecars: Amounts = {}
    largest: Amounts = {}
    for container in spec.get("initContainers") or ():
        is_sidecar = container.get("restartPolicy") == "Always"
        step = own(container, is_resizable=is_sidecar)
        if is_sidecar:
            add(total, step)
            add(sidecars, step)
            raise_to(largest, sidecars)
        else:
            add(step, sidecars)
            raise_to(largest, step)
    raise_to(total, largest)
    return total

"""What pods use.

Upstream: pkg/quota/v1/evaluator/core/pods.go
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from podwright.apimachinery.objects import Document, is_extended_resource, timestamp_ns
from podwright.cluster.api.admission.amounts import ONE, Amounts, add, amounts_of
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.pods.pod_amounts import has_pod_level_resources, pod_amounts
from podwright.cluster.api.admission.quota.evaluators import Evaluator, selects
from podwright.cluster.api.pods.qos import qos_class

REQUESTS: Final = "requests."
DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"

_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
_REQUIRED: Final = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)
"""What every container has to specify if a quota limits it; no other resource."""

_HUGE_PAGES: Final = ("hugepages-", "requests.hugepages-")


class Pods(Evaluator):
    """Counts pods and what their containers request."""

    def __init__(self) -> None:
        super().__init__("", "pods")
        named = {f"{prefix}{name}" for name in _COMPUTE for prefix in ("", REQUESTS, "limits.")}
        self.names = frozenset({self.count, "pods", *named})

    def handles(self, attributes: Attributes) -> bool:
        """Whether a pod is created or resized, or gets or loses its deadline."""
        if attributes.subresource == "resize":
            return attributes.operation == "UPDATE"
        if attributes.subresource:
            return False
        if attributes.operation == "UPDATE":
            return _has_deadline(attributes.object or {}) != _has_deadline(attributes.old or {})
        return attributes.operation == "CREATE"

    def matching(self, names: AbstractSet[str]) -> list[str]:
        """Return the names in a quota that count for pods, extended resources among them."""
        return sorted(
            name
            for name in names
            if name in self.names or name.startswith(_HUGE_PAGES) or is_extended_request(name)
        )

    def matches_scope(self, requirement: Document, obj: Document) -> bool:
        """Whether a pod is in a scope."""
        spec: Document = obj.get("spec") or {}
        match requirement.get("scopeName"):
            case "Terminating":
                return _has_deadline(obj)
            case "NotTerminating":
                return not _has_deadline(obj)
            case "BestEffort":
                return _is_best_effort(obj)
            case "NotBestEffort":
                return not _is_best_effort(obj)
            case "PriorityClass":
                return selects(requirement, spec.get("priorityClassName") or "")
            case "CrossNamespacePodAffinity":
                return _has_affinity_to_others(spec)
            case _:
                return False

    def missing(self, required: list[str], obj: Document) -> str:
        """Return which required resources which containers do not specify."""
        spec: Document = obj.get("spec") or {}
        if has_pod_level_resources(spec):
            return ""
        names = _REQUIRED.intersection(required)
        lacking: dict[str, set[str]] = {}
        for field in ("containers", "initContainers"):
            for container in spec.get(field) or ():
                resources = container.get("resources") or {}
                used = _used(
                    amounts_of(resources.get("requests")), amounts_of(resources.get("limits"))
                )
                for name in names.difference(used):
                    lacking.setdefault(name, set()).add(container.get("name", ""))
        if not lacking:
            return ""
        texts = (f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))
        return f"must specify {'; '.join(texts)}"

    def usage(self, obj: Document, now_ns: int) -> Amounts:
        """Return what a pod uses; one that has ended counts only as an object."""
        used: Amounts = {self.count: ONE}
        if not _has_ended(obj, now_ns):
            add(used, _used(pod_amounts(obj, "requests"), pod_amounts(obj, "limits")))
        return used


def is_extended_request(name: str) -> bool:
    """Whether a name in a quota is a request of an extended resource or of a device class.

    Upstream: isExtendedResourceNameForQuota
    """
    if not name.startswith(REQUESTS):
        return False
    is_native = "/" not in name or "kubernetes.io/" in name
    return not is_native or name.startswith(REQUESTS + DEVICE_CLASS)


def _used(requests: Amounts, limits: Amounts) -> Amounts:
    """Upstream: podComputeUsageHelper."""
    used: Amounts = {"pods": ONE}
    for name in _COMPUTE:
        if name in requests:
            used[name] = used[REQUESTS + name] = requests[name]
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith("hugepages-"):
            used[name] = used[REQUESTS + name] = amount
        elif is_extended_resource(name) or name.startswith(DEVICE_CLASS):
            used[REQUESTS + name] = amount
    return used


def _has_ended(pod: Document, now_ns: int) -> bool:
    """Whether a pod has terminated, or its grace period is over."""
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return True
    metadata: Document = pod.get("metadata") or {}
    since, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if not since or grace is None:
        return False
    deleted_ns = timestamp_ns(since)
    return deleted_ns is not None and now_ns > deleted_ns + grace * 10**9


def _has_deadline(pod: Document) -> bool:
    seconds = (pod.get("spec") or {}).get("activeDeadlineSeconds")
    return seconds is not None and seconds >= 0


def _is_best_effort(pod: Document) -> bool:
    known = (pod.get("status") or {}).get("qosClass")
    return bool((known or qos_class(pod.get("spec") or {})) == "BestEffort")


def _has_affinity_to_others(spec: Document) -> bool:
    affinity: Document = spec.get("affinity") or {}
    for name in ("podAffinity", "podAntiAffinity"):
        part: Document = affinity.get(name) or {}
        required = part.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = part.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms = [*required, *(each.get("podAffinityTerm") or {} for each in preferred)]
        if any(
            term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms
        ):
            return True
    return False

"""How the objects of a resource count: the general rule, services, claims, and the scopes.

Upstream: staging/src/k8s.io/apiserver/pkg/quota/v1/generic/evaluator.go;
pkg/quota/v1/evaluator/core/{registry,services}.go; pkg/apis/core/v1/helper/helpers.go,
ScopedResourceSelectorRequirementsAsSelector;
pkg/quota/v1/evaluator/core/persistent_volume_claims.go
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from podwright.apimachinery.objects import Document, Quantity
from podwright.cluster.api.admission.amounts import ONE, ZERO, Amounts, amounts_of, rounded_up
from podwright.cluster.api.admission.attributes import Attributes
from podwright.cluster.api.admission.default_classes import class_of_claim

LEGACY_COUNTS: Final = frozenset(
    {"configmaps", "resourcequotas", "replicationcontrollers", "secrets"}
)
"""Core resources that quotas count also without the prefix `count/`."""


class Evaluator:
    """Counts the objects of a resource.

    Parameters
    ----------
    group, resource : str

    Attributes
    ----------
    count : str
        The name of the number of objects in a quota.
    names : frozenset of str
        All names in a quota that count for the resource.
    """

    def __init__(self, group: str, resource: str) -> None:
        self.count = f"count/{resource}.{group}" if group else f"count/{resource}"
        own = {resource} if not group and resource in LEGACY_COUNTS else set()
        self.names = frozenset({self.count, *own})

    def handles(self, attributes: Attributes) -> bool:
        """Whether a write can change what the objects use."""
        return attributes.operation == "CREATE" and not attributes.subresource

    def matching(self, names: AbstractSet[str]) -> list[str]:
        """Return the names in a quota that count for the resource."""
        return sorted(name for name in self.names if name in names)

    def matches_scope(self, _requirement: Document, _obj: Document) -> bool:
        """Whether an object is in a scope; objects of most resources are in none."""
        return False

    def missing(self, _required: list[str], _obj: Document) -> str:
        """Return which required resources an object does not specify; "" if there are none."""
        return ""

    def usage(self, _obj: Document, _now_ns: int) -> Amounts:
        """Return what an object uses."""
        return dict.fromkeys(sorted(self.names), ONE)


class Services(Evaluator):
    """Counts services, their node ports and load balancers."""

    def __init__(self) -> None:
        super().__init__("", "services")
        self.names = frozenset(
            {self.count, "services", "services.nodeports", "services.loadbalancers"}
        )

    def handles(self, attributes: Attributes) -> bool:
        """Whether a service is created or changed."""
        return attributes.operation in ("CREATE", "UPDATE") and not attributes.subresource

    def usage(self, obj: Document, _now_ns: int) -> Amounts:
        """Return what a service uses, also before its ports are allocated."""
        spec: Document = obj.get("spec") or {}
        ports: list[Document] = spec.get("ports") or []
        kind = spec.get("type")
        count = 0
        if kind == "NodePort":
            count = len(ports)
        elif kind == "LoadBalancer":
            is_given = spec.get("allocateLoadBalancerNodePorts") is False
            count = sum(bool(port.get("nodePort")) for port in ports) if is_given else len(ports)
        return {
            self.count: ONE,
            "services": ONE,
            "services.loadbalancers": ONE if kind == "LoadBalancer" else ZERO,
            "services.nodeports": Quantity(count, 0),
        }


# ----------------------------------------------------------------------------------------- scopes


def scope_requirements(quota: Document) -> list[Document]:
    """Return the scopes of a quota as requirements."""
    spec: Document = quota.get("spec") or {}
    plain = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    selector: Document = spec.get("scopeSelector") or {}
    return [*plain, *(selector.get("matchExpressions") or ())]


def selects(requirement: Document, value: str) -> bool:
    """Whether a requirement selects an object by the value of its scope; "" means no value."""
    values = requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return bool(value) and value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return bool(value)
        case "DoesNotExist":
            return not value
        case _:
            return False


# ----------------------------------------------------------------------------------------- claims

_OF_CLASS: Final = ".storageclass.storage.k8s.io/"
_NAMES: Final = ("persistentvolumeclaims", "requests.storage")


class Claims(Evaluator):
    """Counts claims and the storage that they request."""

    def __init__(self) -> None:
        super().__init__("", "persistentvolumeclaims")
        self.names = frozenset({self.count, *_NAMES})

    def handles(self, attributes: Attributes) -> bool:
        """Whether a claim, or the storage allocated to it, changes."""
        return attributes.subresource in ("", "status") and attributes.operation in (
            "CREATE",
            "UPDATE",
        )

    def matching(self, names: AbstractSet[str]) -> list[str]:
        """Return the names in a quota that count for claims, those of classes among them."""
        suffixes = tuple(_OF_CLASS + name for name in _NAMES)
        return sorted(name for name in names if name in self.names or name.endswith(suffixes))

    def matches_scope(self, requirement: Document, obj: Document) -> bool:
        """Whether a claim has, had or will have a volume attributes class of the scope."""
        if requirement.get("scopeName") != "VolumeAttributesClass":
            return False
        classes = _attributes_classes(obj)
        return any(selects(requirement, each) for each in classes or {""})

    def usage(self, obj: Document, _now_ns: int) -> Amounts:
        """Return what a claim uses."""
        used: Amounts = {"persistentvolumeclaims": ONE, self.count: ONE}
        storage = _storage(obj)
        if storage is not None:
            used["requests.storage"] = storage
        if name := class_of_claim(obj):
            used[f"{name}{_OF_CLASS}persistentvolumeclaims"] = ONE
            if storage is not None:
                used[f"{name}{_OF_CLASS}requests.storage"] = storage
        return used


def _storage(claim: Document) -> Quantity | None:
    """Return the storage that a claim requests, or that is allocated if that is more."""
    resources = (claim.get("spec") or {}).get("resources") or {}
    requested = amounts_of(resources.get("requests")).get("storage")
    if requested is None:
        return None
    allocated = amounts_of((claim.get("status") or {}).get("allocatedResources")).get("storage")
    is_more = allocated is not None and allocated.nano > rounded_up(requested).nano
    return rounded_up(allocated if allocated is not None and is_more else requested)


def _attributes_classes(claim: Document) -> set[str]:
    status: Document = claim.get("status") or {}
    names = (
        (claim.get("spec") or {}).get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )
    return {name for name in names if name}

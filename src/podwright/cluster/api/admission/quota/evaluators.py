"""How the objects of a resource count: the general rule, and services.

Upstream: staging/src/k8s.io/apiserver/pkg/quota/v1/generic/evaluator.go;
pkg/quota/v1/evaluator/core/{registry,services}.go
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

from podwright.apimachinery.objects import Document, Quantity
from podwright.cluster.api.admission.amounts import ONE, ZERO, Amounts
from podwright.cluster.api.admission.attributes import Attributes

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

"""Services: addresses, families and ports that follow from the type, without allocation.

Upstream: pkg/registry/core/service/strategy.go, dropTypeDependentFields;
pkg/registry/core/service/storage/{alloc,storage}.go, initIPFamilyFields, normalizeClusterIPs,
patchAllocatedValues
"""

from __future__ import annotations

import json
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import Problem
from podwright.cluster.api.strategies.parts import without

HEADLESS: Final = "None"
_WITH_PORTS: Final = ("NodePort", "LoadBalancer")
_DUAL_STACK: Final = ["IPv4", "IPv6"]
_SINGLE_STACK: Final = ["IPv4"]


def needs_cluster_ip(spec: Document) -> bool:
    """Whether a service of this type has an address."""
    return spec.get("type") != "ExternalName"


def needs_node_ports(spec: Document) -> bool:
    """Whether the ports of a service of this type have node ports."""
    if spec.get("type") == "NodePort":
        return True
    return spec.get("type") == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not (
        False
    )


def needs_health_check(spec: Document) -> bool:
    """Whether a load balancer checks which nodes have pods of the service.

    Upstream: pkg/api/service/util.go, NeedsHealthCheck
    """
    return (spec.get("type"), spec.get("externalTrafficPolicy")) == ("LoadBalancer", "Local")


def new_service(service: Document, _now_ns: int) -> Document:
    """Return a new service without status, with its address in both fields and its families."""
    spec = _with_address_lists(dict(service.get("spec") or {}), {})
    return without(service, "status") | {"spec": _with_families(spec, {})}


def changed_service(new: Document, old: Document, _now_ns: int) -> Document:
    """Return a changed service that keeps what was allocated and drops what its type has not."""
    stored: Document = old.get("spec") or {}
    spec = _with_allocated(dict(new.get("spec") or {}), stored)
    spec = _without_other_types(_with_address_lists(spec, stored), stored)
    spec = _with_families(spec, stored)
    made = new | {"spec": spec}
    if "status" in old:
        status = made["status"] = old["status"]
        if spec.get("type") != "LoadBalancer" and (status or {}).get("loadBalancer"):
            made["status"] = status | {"loadBalancer": {}}
    return made


def _with_address_lists(spec: Document, stored: Document) -> Document:
    """Return a spec with the list of addresses that belongs to its single one.

    Upstream: pkg/registry/core/service/storage/storage.go, normalizeClusterIPs
    """
    address, addresses = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if not stored:
        return spec | {"clusterIPs": [address]} if address and not addresses else spec
    before, list_before = stored.get("clusterIP") or "", stored.get("clusterIPs") or []
    if address == before:
        addresses = addresses or list_before
    elif addresses == list_before:
        addresses = [address] if address else []
    found = spec | {"clusterIPs": addresses}
    if not addresses and not needs_cluster_ip(spec):
        del found["clusterIPs"]
    return found


def _with_families(spec: Document, stored: Document) -> Document:
    if not needs_cluster_ip(spec):
        return spec
    found = dict(spec)
    is_headless = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    default = "RequireDualStack" if is_headless else "SingleStack"
    policy = spec.get("ipFamilyPolicy")
    if policy is None:
        policy = stored.get("ipFamilyPolicy") or default
    found["ipFamilyPolicy"] = policy
    if policy == "SingleStack":
        # With unchanged lists the policy alone says that the second of each is to go.
        for name in ("clusterIPs", "ipFamilies"):
            values = found.get(name) or []
            if len(values) > 1 and values == stored.get(name):
                found[name] = values[:1]
    if is_headless:
        families: list[str] = found.get("ipFamilies") or _SINGLE_STACK
        if len(families) == 1 and policy != "SingleStack":
            families = [*families, *(each for each in _DUAL_STACK if each not in families)]
        return found | {"ipFamilies": families}
    addresses = found.get("clusterIPs") or [found.get("clusterIP") or ""]
    # Families that are not given follow from the addresses; the allocation rejects IPv6.
    if not found.get("ipFamilies") and ":" not in addresses[0]:
        found["ipFamilies"] = _SINGLE_STACK
    return found


def family_problems(spec: Document, stored: Document | None) -> list[Problem]:
    """Return what is wrong with the address families of a cluster that has IPv4 only.

    Parameters
    ----------
    spec : dict
        The completed spec.
    stored : dict or None
        The stored spec; None for a new service.

    Notes
    -----
    Upstream: pkg/registry/core/service/storage/alloc.go, initIPFamilyFields
    """
    policy = spec.get("ipFamilyPolicy")
    addresses, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    if not needs_cluster_ip(spec):
        return []
    at = "spec.ipFamilyPolicy"
    texts: list[str] = []
    if policy == "SingleStack":
        text = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
        texts += [text.format("cluster IPs")] if len(addresses) == 2 else []
        texts += [text.format("IP families")] if len(families) == 2 else []
    elif stored is not None:
        text = "must be 'SingleStack' to release the secondary {}"
        texts += [text.format("cluster IP")] if _is_reduced(addresses, stored, "clusterIPs") else []
        texts += [text.format("IP family")] if _is_reduced(families, stored, "ipFamilies") else []
    problems: list[Problem] = [(at, f'Invalid value: "{policy}": {text}', policy) for text in texts]
    text = f"Invalid value: {json.dumps(addresses)}: IPv6 is not configured on this cluster"
    problems += [
        (f"spec.clusterIPs[{index}]", text, addresses)
        for index, address in enumerate(addresses)
        if ":" in address and index >= len(families)
    ]
    if problems or (spec.get("clusterIP") == HEADLESS and not spec.get("selector")):
        return problems
    if policy == "RequireDualStack":
        text = "this cluster is not configured for dual-stack services"
        problems.append((at, f'Invalid value: "{policy}": {text}', policy))
    for index, family in enumerate(families):
        if family != "IPv4":
            text = f'Invalid value: "{family}": not configured on this cluster'
            problems.append((f"spec.ipFamilies[{index}]", text, family))
    return problems


def _is_reduced(values: list[str], stored: Document, name: str) -> bool:
    before = stored.get(name) or []
    return len(before) == 2 and len(values) == 1 and values[0] == before[0]


def _without_other_types(spec: Document, stored: Document) -> Document:
    if needs_cluster_ip(stored) and not needs_cluster_ip(spec):
        addresses = "clusterIP", "clusterIPs"
        if all((spec.get(name) or None) == (stored.get(name) or None) for name in addresses):
            _drop_unchanged(spec, stored, addresses)
        _drop_unchanged(spec, stored, ("ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"))
    has_no_ports = stored.get("type") in _WITH_PORTS and spec.get("type") not in _WITH_PORTS
    if has_no_ports and _node_ports(spec) <= _node_ports(stored):
        spec["ports"] = [
            {name: value for name, value in port.items() if name != "nodePort"}
            for port in spec.get("ports") or ()
        ]
    if needs_health_check(stored) and not needs_health_check(spec):
        _drop_unchanged(spec, stored, ("healthCheckNodePort",))
    if stored.get("type") == "LoadBalancer" and spec.get("type") != "LoadBalancer":
        _drop_unchanged(spec, stored, ("allocateLoadBalancerNodePorts", "loadBalancerClass"))
    if _is_external(stored) and not _is_external(spec):
        _drop_unchanged(spec, stored, ("externalTrafficPolicy",))
    return spec


def _is_external(spec: Document) -> bool:
    """Whether a service can be reached from outside.

    Upstream: pkg/api/service/util.go, ExternallyAccessible
    """
    kind = spec.get("type")
    return kind in _WITH_PORTS or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _drop_unchanged(spec: Document, stored: Document, names: tuple[str, ...]) -> None:
    for name in names:
        if spec.get(name) == stored.get(name):
            spec.pop(name, None)


def _with_allocated(spec: Document, stored: Document) -> Document:
    if needs_cluster_ip(spec) and needs_cluster_ip(stored):
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and stored.get(name):
                spec[name] = stored[name]
    if needs_node_ports(spec) and needs_node_ports(stored):
        known = {port.get("name") or "": port.get("nodePort") for port in stored.get("ports") or ()}
        taken = _node_ports(spec)
        ports: list[Document] = []
        for port in spec.get("ports") or ():
            number = known.get(port.get("name") or "")
            is_kept = not port.get("nodePort") and number and number not in taken
            ports.append(port | {"nodePort": number} if is_kept else port)
        spec["ports"] = ports
    if (
        needs_health_check(spec)
        and not spec.get("healthCheckNodePort")
        and stored.get("healthCheckNodePort")
    ):
        spec["healthCheckNodePort"] = stored["healthCheckNodePort"]
    return spec


def _node_ports(spec: Document) -> set[int]:
    return {port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")}

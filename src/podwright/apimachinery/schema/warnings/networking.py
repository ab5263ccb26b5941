"""Warnings about services, endpoints, ingresses and network policies.

Upstream: pkg/api/service/warnings.go; pkg/registry/networking/{ingress,networkpolicy}/strategy.go;
pkg/registry/core/endpoint/strategy.go; pkg/registry/discovery/endpointslice/strategy.go
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import printed
from podwright.apimachinery.schema.warnings.addresses import cidr_warnings, ip_warnings

_HINTS: Final = "service.kubernetes.io/topology-aware-hints"
_MODE: Final = "service.kubernetes.io/topology-mode"
_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_SLICE_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_SLICE_CONTROLLERS: Final = (
    "endpointslice-controller.k8s.io",
    "endpointslicemirroring-controller.k8s.io",
)


def service_warnings(service: Document, old: Document | None) -> list[str]:
    """Return the warnings about a Service."""
    del old
    notes = (service.get("metadata") or {}).get("annotations") or {}
    spec: Document = service.get("spec") or {}
    found: list[str] = []
    if _HINTS in notes:
        found.append(f"annotation {_HINTS} is deprecated, please use {_MODE} instead")
    found += [*_addresses(spec), *_ignored(spec)]
    if spec.get("trafficDistribution") == "PreferClose":
        found.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return found


def _addresses(spec: Document) -> Iterator[str]:
    """Yield the warnings about the addresses of a Service."""
    external = spec.get("externalIPs") or ()
    is_headless = _is_headless(spec)
    if spec.get("clusterIP") not in (None, "", "None"):
        for index, text in enumerate(spec.get("clusterIPs") or ()):
            yield from ip_warnings(f"spec.clusterIPs[{index}]", text)
    if is_headless:
        if spec.get("loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if external:
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    for index, text in enumerate(external):
        yield from ip_warnings(f"spec.externalIPs[{index}]", text)
    if external and not is_headless and spec.get("type") != "ExternalName":
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    yield from ip_warnings("spec.loadBalancerIP", spec.get("loadBalancerIP") or "")
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        yield from cidr_warnings(f"spec.loadBalancerSourceRanges[{index}]", text)


def _ignored(spec: Document) -> Iterator[str]:
    """Yield the warnings about fields that a type of Service ignores."""
    is_external = spec.get("type") == "ExternalName"
    if is_external and spec.get("externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if not is_external and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'


def _is_headless(spec: Document) -> bool:
    return spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"


def load_balancer_warnings(document: Document, old: Document | None) -> list[str]:
    """Return the warnings about the addresses in the status of a Service or an Ingress."""
    del old
    status: Document = (document.get("status") or {}).get("loadBalancer") or {}
    return [
        text
        for index, each in enumerate(status.get("ingress") or ())
        for text in ip_warnings(f"status.loadBalancer.ingress[{index}]", each.get("ip") or "")
    ]


def ingress_warnings(ingress: Document, old: Document | None) -> list[str]:
    """Return the warnings about a new Ingress."""
    notes = (ingress.get("metadata") or {}).get("annotations") or {}
    has_class = (ingress.get("spec") or {}).get("ingressClassName") is not None
    if old is not None or _INGRESS_CLASS not in notes or has_class:
        return []
    return [
        f"annotation {printed(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName'"
        " instead"
    ]


def network_policy_warnings(policy: Document, old: Document | None) -> list[str]:
    """Return the warnings about a NetworkPolicy."""
    del old
    spec: Document = policy.get("spec") or {}
    found: list[str] = []
    for field, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(field) or ()):
            for number, peer in enumerate(rule.get(peers) or ()):
                block = peer.get("ipBlock")
                if block is None:
                    continue
                path = f"spec.{field}[{index}].{peers}[{number}].ipBlock"
                found += cidr_warnings(f"{path}.cidr", block.get("cidr") or "")
                for each, text in enumerate(block.get("except") or ()):
                    found += cidr_warnings(f"{path}.except[{each}]", text)
    return found


def endpoints_warnings(endpoints: Document, old: Document | None) -> list[str]:
    """Return the warnings about Endpoints that no controller made."""
    del old
    labels = (endpoints.get("metadata") or {}).get("labels") or {}
    if labels.get(_MANAGED_BY) == "endpoint-controller":
        return []
    return [
        text
        for index, subset in enumerate(endpoints.get("subsets") or ())
        for field in ("addresses", "notReadyAddresses")
        for number, address in enumerate(subset.get(field) or ())
        for text in ip_warnings(f"subsets[{index}].{field}[{number}].ip", address.get("ip") or "")
    ]


def endpoint_slice_warnings(endpoint_slice: Document, old: Document | None) -> list[str]:
    """Return the warnings about an EndpointSlice."""
    found: list[str] = []
    if old is None and endpoint_slice.get("addressType") == "FQDN":
        found.append("spec.addressType: FQDN endpoints are deprecated")
    labels = (endpoint_slice.get("metadata") or {}).get("labels") or {}
    if labels.get(_SLICE_MANAGED_BY) in _SLICE_CONTROLLERS:
        return found
    for index, endpoint in enumerate(endpoint_slice.get("endpoints") or ()):
        for number, text in enumerate(endpoint.get("addresses") or ()):
            found += ip_warnings(f"endpoints[{index}].addresses[{number}]", text)
    return found

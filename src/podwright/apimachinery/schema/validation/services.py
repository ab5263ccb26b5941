"""Validation of services.

Upstream: pkg/apis/core/validation/validation.go, validateService
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.endpoints import validate_not_special
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, repeats
from podwright.apimachinery.schema.validation.internal_structs import internal_form
from podwright.apimachinery.schema.validation.metadata import validate_labels
from podwright.apimachinery.schema.validation.names import (
    dns_label,
    dns_subdomain,
    ip_address,
    port_number,
    port_number_or_name,
    qualified_name,
    strict_cidr,
)
from podwright.apimachinery.schema.validation.pods.containers import PROTOCOLS

_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_DISTRIBUTIONS: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_AFFINITY_MAX_S: Final = 86400
_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"


def validate_service(errors: FieldErrors, service: Document) -> None:
    """Check a new service."""
    _validate_spec(errors, service.get("spec") or {}, ())


def validate_service_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed service, which keeps its cluster addresses."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if spec.get("type") != "ExternalName":
        # Upstream checks what the addresses depend on before it allocates them.
        count = len(errors)
        _validate_addresses(errors, spec)
        if len(errors) > count:
            return
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        _validate_kept_addresses(errors, spec, before)
    balanced = spec.get("type") == before.get("type") == "LoadBalancer"
    name = "loadBalancerClass"
    if balanced and spec.get(name) != before.get(name):
        errors.invalid(f"spec.{name}", spec.get(name), "may not change once set")
    ranges = before.get("loadBalancerSourceRanges") or ()
    _validate_spec(errors, spec, [each.strip() for each in ranges])


def _addresses(spec: Document) -> list[str]:
    """Return the cluster addresses; a single one may be written alone."""
    written: list[str] = spec.get("clusterIPs") or []
    return written or ([spec["clusterIP"]] if spec.get("clusterIP") else [])


def _is_headless(spec: Document) -> bool:
    return _addresses(spec) == ["None"]


def _validate_kept_addresses(errors: FieldErrors, spec: Document, before: Document) -> None:
    addresses, former = _addresses(spec), _addresses(before)
    if not addresses or (_is_headless(spec) and _is_headless(before)):
        return  # the server keeps addresses that a request does not have
    text = "may not change once set"
    for index, (new, old) in enumerate(zip(addresses, former, strict=False)):
        if new != old:
            errors.invalid(f"spec.clusterIPs[{index}]", addresses, text)


def _validate_spec(errors: FieldErrors, spec: Document, former: Collection[str]) -> None:
    """Check a spec; the source ranges that it had before are not checked again."""
    kind, ports = spec.get("type") or "ClusterIP", spec.get("ports") or []
    is_headless = _is_headless(spec)
    if not ports and not is_headless and kind != "ExternalName":
        errors.required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and is_headless:
        text = f"may not be set to 'None' for {kind} services"
        errors.invalid("spec.clusterIPs[0]", "None", text)
    if kind == "ExternalName":
        _validate_external(errors, spec)
    names: set[str] = set()
    for index, port in enumerate(ports):
        _validate_port(errors, f"spec.ports[{index}]", port, names, needs_name=len(ports) > 1)
    validate_labels(errors, "spec.selector", spec.get("selector"))
    _validate_affinity(errors, spec)
    if kind != "ExternalName":
        _validate_addresses(errors, spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        if problems := ip_address(address):
            errors.each(f"spec.externalIPs[{index}]", address, problems)
        else:
            validate_not_special(errors, f"spec.externalIPs[{index}]", address)
    if kind not in _TYPES:
        errors.unsupported("spec.type", kind, _TYPES)
    _validate_unique_ports(errors, kind, ports)
    _validate_balancer(errors, kind, spec, former)
    _validate_traffic(errors, kind, spec)


def _validate_external(errors: FieldErrors, spec: Document) -> None:
    text = "may not be set for ExternalName services"
    if _addresses(spec):
        errors.forbidden("spec.clusterIPs", text)
    for name in ("ipFamilies", "ipFamilyPolicy"):
        if spec.get(name):
            errors.forbidden(f"spec.{name}", text)
    name = (spec.get("externalName") or "").removesuffix(".")
    if name:
        errors.each("spec.externalName", name, dns_subdomain(name))
    else:
        errors.required("spec.externalName")


def _validate_port(
    errors: FieldErrors, path: str, port: Document, names: set[str], *, needs_name: bool
) -> None:
    name, number = port.get("name") or "", port.get("port") or 0
    if needs_name and not name:
        errors.required(f"{path}.name")
    elif name:
        errors.each(f"{path}.name", name, dns_label(name))
        if name in names:
            errors.duplicate(f"{path}.name", name)
        names.add(name)
    errors.each(f"{path}.port", number, port_number(number))
    protocol = port.get("protocol") or "TCP"
    if protocol not in PROTOCOLS:
        errors.unsupported(f"{path}.protocol", protocol, PROTOCOLS)
    # The default target is the port itself.
    port_number_or_name(errors, f"{path}.targetPort", port.get("targetPort") or number)
    if (application := port.get("appProtocol")) is not None:
        errors.each(f"{path}.appProtocol", application, qualified_name(application))


def _validate_affinity(errors: FieldErrors, spec: Document) -> None:
    affinity, config = spec.get("sessionAffinity") or "None", spec.get("sessionAffinityConfig")
    if affinity not in ("ClientIP", "None"):
        errors.unsupported("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
    if affinity == "ClientIP" and seconds is not None and not 0 < seconds <= _AFFINITY_MAX_S:
        at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
        text = f"must be greater than 0 and less than {_AFFINITY_MAX_S}"
        errors.invalid(at, seconds, text)


def _validate_addresses(errors: FieldErrors, spec: Document) -> None:
    addresses, path = _addresses(spec), "spec.clusterIPs"
    first = spec.get("clusterIP") or ""
    if first and spec.get("clusterIPs") and addresses[0] != first:
        errors.invalid(path, addresses, "first value must match `clusterIP`")
    if not first and addresses:
        errors.invalid(path, addresses, "must be empty when `clusterIP` is not specified")
    _validate_families(errors, spec)
    before = len(errors)
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                text = "'None' must be the first and only value"
                errors.invalid(path, addresses, text)
            continue
        errors.each(f"{path}[{index}]", address, ip_address(address))
    if len(addresses) > 2:
        errors.invalid(path, addresses, "may only hold up to 2 values")
    if len(errors) > before or _is_headless(spec):
        return
    versions = [ipaddress.ip_address(each).version for each in addresses]
    if len(versions) > 1 and len({*versions}) < 2:
        text = "may specify no more than one IP for each IP family"
        errors.invalid(path, addresses, text)
    for index, (version, family) in enumerate(
        zip(versions, spec.get("ipFamilies") or (), strict=False)
    ):
        if family != f"IPv{version}":
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.invalid(f"{path}[{index}]", addresses[index], text)


def _validate_families(errors: FieldErrors, spec: Document) -> None:
    families: list[str] = spec.get("ipFamilies") or []
    for index, (family, is_repeated) in enumerate(zip(families, repeats(families), strict=True)):
        if family not in ("IPv4", "IPv6"):
            errors.unsupported(f"spec.ipFamilies[{index}]", family, ("IPv4", "IPv6"))
        if is_repeated:
            errors.duplicate(f"spec.ipFamilies[{index}]", family)
    policy = spec.get("ipFamilyPolicy")
    choices = ("PreferDualStack", "RequireDualStack", "SingleStack")
    if policy is not None and policy not in choices:
        errors.unsupported("spec.ipFamilyPolicy", policy, choices)


def _validate_unique_ports(errors: FieldErrors, kind: str, ports: list[Document]) -> None:
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                text = "may not be used when `type` is 'ClusterIP'"
                errors.forbidden(f"spec.ports[{index}].nodePort", text)
    nodes: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        if number := port.get("nodePort"):
            key = (port.get("protocol") or "TCP", number)
            if key in nodes:
                errors.duplicate(f"spec.ports[{index}].nodePort", number)
            nodes.add(key)
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        protocol, number = port.get("protocol") or "TCP", port.get("port") or 0
        if (protocol, number) in seen:
            # Upstream prints what it compares.
            shown = internal_form({"protocol": protocol, "port": number}, "ServicePort")
            errors.duplicate(f"spec.ports[{index}]", shown)
        seen.add((protocol, number))


def _validate_balancer(
    errors: FieldErrors, kind: str, spec: Document, former: Collection[str]
) -> None:
    is_balanced = kind == "LoadBalancer"
    if ranges := spec.get("loadBalancerSourceRanges"):
        at = "spec.LoadBalancerSourceRanges"
        if not is_balanced:
            errors.forbidden(at, _BALANCED)
        for index, text in enumerate(ranges):
            # Spaces around a network are a part of the API.
            if (value := text.strip()) not in former:
                errors.each(f"{at}[{index}]", value, strict_cidr(value))
    if spec.get("allocateLoadBalancerNodePorts") is not None and not is_balanced:
        errors.forbidden("spec.allocateLoadBalancerNodePorts", _BALANCED)
    if (name := spec.get("loadBalancerClass")) is not None:
        if is_balanced:
            errors.each("spec.loadBalancerClass", name, qualified_name(name))
        else:
            errors.forbidden("spec.loadBalancerClass", _BALANCED)


def _validate_traffic(errors: FieldErrors, kind: str, spec: Document) -> None:
    external = spec.get("externalTrafficPolicy") or ""
    is_accessible = kind in ("LoadBalancer", "NodePort") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    at = "spec.externalTrafficPolicy"
    if external and not is_accessible:
        errors.invalid(at, external, "may only be set for externally-accessible services")
    elif external and external not in ("Cluster", "Local"):
        errors.unsupported(at, external, ("Cluster", "Local"))
    health = spec.get("healthCheckNodePort")
    needs_check = kind == "LoadBalancer" and external == "Local"
    if health and not needs_check:
        text = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        errors.invalid("spec.healthCheckNodePort", health, text)
    elif health:
        errors.each("spec.healthCheckNodePort", health, port_number(health))
    internal = spec.get("internalTrafficPolicy")
    if internal is not None and internal not in ("Cluster", "Local"):
        errors.unsupported("spec.internalTrafficPolicy", internal, ("Cluster", "Local"))
    distribution = spec.get("trafficDistribution")
    if distribution is not None and distribution not in _DISTRIBUTIONS:
        errors.unsupported("spec.trafficDistribution", distribution, _DISTRIBUTIONS)

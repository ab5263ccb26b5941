"""Validation of services.

Upstream: pkg/apis/core/validation/validation.go, validateService
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    internal_form,
    repeats,
)
from podwright.apimachinery.schema.validation.metadata import validate_labels
from podwright.apimachinery.schema.validation.names import (
    ip_address,
    port_number_or_name,
    qualified_name,
    strict_cidr,
)
from podwright.apimachinery.schema.validation.networking import validate_not_special
from podwright.apimachinery.schema.validation.pods.containers import PROTOCOLS

_RANGES: Final = "service.beta.kubernetes.io/load-balancer-source-ranges"
_BALANCED: Final = "may only be used when `type` is 'LoadBalancer'"


def validate_service(errors: FieldErrors, service: Document) -> None:
    """Check a new service."""
    _validate_spec(errors, service.get("spec") or {}, ())
    _validate_annotated_ranges(errors, service, {})


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
    # Upstream checks the class as that of a changed service, and as that of a new one.
    _validate_class(errors, spec)
    name = "healthCheckNodePort"
    if _needs_check(spec) and _needs_check(before) and spec.get(name) != before.get(name):
        errors.forbidden(f"spec.{name}", "field is immutable")
    ranges = before.get("loadBalancerSourceRanges") or ()
    _validate_spec(errors, spec, [each.strip() for each in ranges])
    _validate_annotated_ranges(errors, new, old)


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
    _validate_ports(errors, "spec.ports", ports)
    validate_labels(errors, "spec.selector", spec.get("selector"))
    _AFFINITY[spec.get("sessionAffinity") == "ClientIP"](errors, "spec", spec)
    if kind != "ExternalName":
        _validate_addresses(errors, spec)
    _LATER(errors, "spec", spec)
    _validate_unique_ports(errors, kind, ports)
    _validate_balancer(errors, kind, spec, former)
    _validate_traffic(errors, kind, spec)


def _validate_external(errors: FieldErrors, spec: Document) -> None:
    if _addresses(spec):
        errors.forbidden("spec.clusterIPs", _NOT_EXTERNAL)
    _EXTERNAL(errors, "spec", spec)


def _validate_external_name(errors: FieldErrors, path: str, name: str) -> None:
    r.required(r.SUBDOMAIN)(errors, path, name.removesuffix("."))


def _validate_external_address(errors: FieldErrors, path: str, address: str) -> None:
    if problems := ip_address(address):
        errors.each(path, address, problems)
    else:
        validate_not_special(errors, path, address)


def _validate_target_port(errors: FieldErrors, path: str, port: Document) -> None:
    # The default target is the port itself.
    target = port.get("targetPort") or port.get("port") or 0
    port_number_or_name(errors, f"{path}.targetPort", target)


_NOT_EXTERNAL: Final = "may not be set for ExternalName services"
_EXTERNAL: Final = r.struct(
    ipFamilies=r.optional(r.forbidden(_NOT_EXTERNAL)),
    ipFamilyPolicy=r.optional(r.forbidden(_NOT_EXTERNAL)),
    externalName=r.always(_validate_external_name, ""),
)


def _validate_ports(errors: FieldErrors, path: str, ports: list[Document]) -> None:
    names = [port.get("name") or "" for port in ports]
    for index, is_repeated in enumerate(repeats(names)):
        at = f"{path}[{index}]"
        _NAME[len(ports) > 1](errors, at, ports[index])
        if is_repeated and names[index]:
            errors.duplicate(f"{at}.name", names[index])
        _PORT(errors, at, ports[index])


_NAME: Final = (r.struct(name=r.optional(r.LABEL)), r.struct(name=r.required(r.LABEL)))
_PORT: Final = r.all_of(
    r.struct(port=r.always(r.PORT, 0), protocol=r.always(r.one_of(*PROTOCOLS), "TCP")),
    _validate_target_port,
    r.struct(appProtocol=r.QUALIFIED),
)
_AFFINITY: Final = [
    r.struct(
        sessionAffinity=r.optional(r.one_of("ClientIP", "None")),
        sessionAffinityConfig=r.struct(clientIP=r.struct(timeoutSeconds=seconds)),
    )
    for seconds in (
        r.all_of(),
        r.valid(lambda seconds: 0 < seconds <= 86400, "must be greater than 0 and less than 86400"),
    )
]
_LATER: Final = r.struct(
    externalIPs=r.each(_validate_external_address),
    type=r.optional(r.one_of("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")),
)
_CLUSTER_OR_LOCAL: Final = r.one_of("Cluster", "Local")
_TRAFFIC: Final = r.struct(
    internalTrafficPolicy=_CLUSTER_OR_LOCAL,
    trafficDistribution=r.one_of("PreferClose", "PreferSameZone", "PreferSameNode"),
)


def _validate_addresses(errors: FieldErrors, spec: Document) -> None:
    addresses, path = _addresses(spec), "spec.clusterIPs"
    first = spec.get("clusterIP") or ""
    if first and addresses[0] != first:
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
        if family in {"IPv4", "IPv6"} - {f"IPv{version}"}:
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.invalid(f"{path}[{index}]", addresses[index], text)


def _validate_families(errors: FieldErrors, spec: Document) -> None:
    _FAMILIES(errors, "spec", spec)


_FAMILIES: Final = r.struct(
    ipFamilies=r.distinct(r.one_of("IPv4", "IPv6")),
    ipFamilyPolicy=r.one_of("PreferDualStack", "RequireDualStack", "SingleStack"),
)


def _validate_unique_ports(errors: FieldErrors, kind: str, ports: list[Document]) -> None:
    if kind == "ClusterIP":
        text = "may not be used when `type` is 'ClusterIP'"
        r.each(r.struct(nodePort=r.optional(r.forbidden(text))))(errors, "spec.ports", ports)
    pairs = [(port.get("protocol") or "TCP", port.get("port") or 0) for port in ports]
    nodes = [f"{pair[0]}/{port.get('nodePort')}" for pair, port in zip(pairs, ports, strict=True)]
    for index, is_repeated in enumerate(repeats(nodes)):
        if is_repeated and ports[index].get("nodePort"):
            errors.duplicate(f"spec.ports[{index}].nodePort", ports[index]["nodePort"])
    for index, is_repeated in enumerate(repeats(pairs)):
        if is_repeated:
            # Upstream prints what it compares.
            protocol, number = pairs[index]
            shown = internal_form({"protocol": protocol, "port": number}, "ServicePort")
            errors.duplicate(f"spec.ports[{index}]", shown)


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
    _validate_class(errors, spec)


def _validate_annotated_ranges(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check the annotation that names ranges of a service without them."""
    value, before = (
        ((each.get("metadata") or {}).get("annotations") or {}).get(_RANGES) for each in (new, old)
    )
    spec = new.get("spec") or {}
    if value is None or spec.get("loadBalancerSourceRanges"):
        return
    at = f"metadata.annotations[{_RANGES}]"
    if spec.get("type") != "LoadBalancer":
        errors.forbidden(at, _BALANCED)
    if value != before and value.strip():
        for text in value.split(","):
            errors.each(at, text.strip(), strict_cidr(text.strip()))


def _validate_class(errors: FieldErrors, spec: Document) -> None:
    if (name := spec.get("loadBalancerClass")) is None:
        return
    if spec.get("type") == "LoadBalancer":
        errors.each("spec.loadBalancerClass", name, qualified_name(name))
    else:
        errors.forbidden("spec.loadBalancerClass", _BALANCED)


def _needs_check(spec: Document) -> bool:
    return (spec.get("type"), spec.get("externalTrafficPolicy")) == ("LoadBalancer", "Local")


def _validate_traffic(errors: FieldErrors, kind: str, spec: Document) -> None:
    external = spec.get("externalTrafficPolicy") or ""
    is_accessible = kind in ("LoadBalancer", "NodePort") or (
        kind == "ClusterIP" and bool(spec.get("externalIPs"))
    )
    at = "spec.externalTrafficPolicy"
    if external and not is_accessible:
        errors.invalid(at, external, "may only be set for externally-accessible services")
    elif external:
        _CLUSTER_OR_LOCAL(errors, at, external)
    health = spec.get("healthCheckNodePort")
    if health and not _needs_check(spec):
        text = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        errors.invalid("spec.healthCheckNodePort", health, text)
    elif health:
        r.PORT(errors, "spec.healthCheckNodePort", health)
    _TRAFFIC(errors, "spec", spec)

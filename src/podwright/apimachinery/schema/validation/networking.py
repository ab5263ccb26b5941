"""Validation of ingresses, network policies, and ranges of addresses.

Upstream: pkg/apis/networking/validation/validation.go
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import FieldErrors
from podwright.apimachinery.schema.validation.metadata import validate_label_selector
from podwright.apimachinery.schema.validation.names import (
    canonical_cidr,
    cidr,
    dns_label,
    dns_subdomain,
    domain_prefixed_path,
    network,
    path_segment,
    port_name,
    port_number,
    strict_cidr,
    wildcard_subdomain,
)
from podwright.apimachinery.schema.validation.pods.containers import PROTOCOLS

_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_INVALID_IN_PATH: Final = ("//", "/./", "/../", "%2f", "%2F")
_INVALID_END: Final = ("/..", "/.")
_CONTROLLER_MAX_BYTES: Final = 250
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_POLICY_TYPES: Final = ("Ingress", "Egress")
_MOST_CIDRS: Final = 2

# --------------------------------------------------------------------------- ingresses


def validate_ingress(errors: FieldErrors, ingress: Document) -> None:
    """Check a new ingress."""
    spec = ingress.get("spec") or {}
    _validate_ingress_spec(errors, spec, checks_secrets=True, checks_wildcards=True)
    annotations = (ingress.get("metadata") or {}).get("annotations") or {}
    annotated, named = annotations.get(_CLASS_ANNOTATION), spec.get("ingressClassName")
    if annotated is not None and named is not None and annotated != named:
        text = "must match `ingressClassName` when both are specified"
        errors.invalid(f"annotations.{_CLASS_ANNOTATION}", annotated, text)


def validate_ingress_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed ingress; what was invalid before may stay."""
    before = old.get("spec") or {}
    _validate_ingress_spec(
        errors,
        new.get("spec") or {},
        checks_secrets=not any(_secret_problems(each) for each in before.get("tls") or ()),
        checks_wildcards=not any(map(_is_invalid_wildcard, before.get("rules") or ())),
    )


def _is_invalid_wildcard(rule: Document) -> bool:
    if "*" not in (rule.get("host") or ""):
        return False
    found = FieldErrors()
    _validate_http(found, "", rule.get("http"))
    return bool(found.problems)


def _secret_problems(tls: Document) -> list[str]:
    name = tls.get("secretName")
    return dns_subdomain(name) if name else []


def _validate_ingress_spec(
    errors: FieldErrors, spec: Document, *, checks_secrets: bool, checks_wildcards: bool
) -> None:
    rules, default = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and default is None:
        text = "either `defaultBackend` or `rules` must be specified"
        errors.invalid("spec", spec.get("rules"), text)
    if default is not None:
        _validate_backend(errors, "spec.defaultBackend", default)
    for index, rule in enumerate(rules):
        path, host = f"spec.rules[{index}]", rule.get("host") or ""
        _validate_host(errors, f"{path}.host", host)
        if "*" not in host or checks_wildcards:
            _validate_http(errors, f"{path}.http", rule.get("http"))
    for index, tls in enumerate(spec.get("tls") or ()):
        path = f"spec.tls[{index}]"
        for at, host in enumerate(tls.get("hosts") or ()):
            errors.each(f"{path}.hosts[{at}]", host, _host_problems(host))
        if checks_secrets:
            errors.each(f"{path}.secretName", tls.get("secretName"), _secret_problems(tls))
    if (name := spec.get("ingressClassName")) is not None:
        errors.each("spec.ingressClassName", name, dns_subdomain(name))


def _host_problems(host: str) -> list[str]:
    return wildcard_subdomain(host) if "*" in host else dns_subdomain(host)


def _validate_host(errors: FieldErrors, path: str, host: str) -> None:
    if not host:
        return
    if _is_address(host):
        errors.invalid(path, host, "must be a DNS name, not an IP address")
    errors.each(path, host, _host_problems(host))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _validate_http(errors: FieldErrors, path: str, http: Document | None) -> None:
    if http is None:
        return
    paths = http.get("paths") or []
    if not paths:
        errors.required(f"{path}.paths")
    for index, each in enumerate(paths):
        _validate_path(errors, f"{path}.paths[{index}]", each)


def _validate_path(errors: FieldErrors, at: str, path: Document) -> None:
    path_type, text = path.get("pathType"), path.get("path") or ""
    if path_type is None:
        errors.required(f"{at}.pathType", "pathType must be specified")
        return
    if path_type not in _PATH_TYPES:
        errors.unsupported(f"{at}.pathType", path_type, _PATH_TYPES)
    elif path_type == "ImplementationSpecific":
        if text and not text.startswith("/"):
            errors.invalid(f"{at}.path", text, "must be an absolute path")
    else:
        errors.each(f"{at}.path", text, _path_problems(text))
    _validate_backend(errors, f"{at}.backend", path.get("backend") or {})


def _path_problems(text: str) -> Iterable[str]:
    if not text.startswith("/"):
        yield "must be an absolute path"
    for sequence in _INVALID_IN_PATH:
        if sequence in text:
            yield f"must not contain '{sequence}'"
    for end in _INVALID_END:
        if text.endswith(end):
            yield f"cannot end with '{end}'"


def _validate_backend(errors: FieldErrors, path: str, backend: Document) -> None:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        errors.invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        _validate_reference(errors, f"{path}.resource", resource)
    elif service is not None:
        if name := service.get("name"):
            errors.each(f"{path}.service.name", name, dns_label(name))
        else:
            errors.required(f"{path}.service.name")
        _validate_backend_port(errors, path, service.get("port") or {})
    else:
        errors.invalid(path, "", "resource or service backend is required")


def _validate_backend_port(errors: FieldErrors, path: str, port: Document) -> None:
    name, number = port.get("name"), port.get("number")
    if name and number:
        errors.invalid(path, "", "cannot set both port name & port number")
    elif name:
        errors.each(f"{path}.service.port.name", name, port_name(name))
    elif number:
        errors.each(f"{path}.service.port.number", number, port_number(number))
    else:
        errors.required(path, "port name or number is required")


def _validate_reference(errors: FieldErrors, path: str, reference: Document) -> None:
    if (group := reference.get("apiGroup")) is not None:
        errors.each(f"{path}.apiGroup", group, dns_subdomain(group))
    for name in ("kind", "name"):
        if value := reference.get(name):
            errors.each(f"{path}.{name}", value, path_segment(value))
        else:
            errors.required(f"{path}.{name}")


# --------------------------------------------------------------------- ingress classes


def validate_ingress_class(errors: FieldErrors, ingress_class: Document) -> None:
    """Check a new ingress class."""
    spec = ingress_class.get("spec") or {}
    path, controller = "spec.controller", spec.get("controller") or ""
    if len(controller.encode()) > _CONTROLLER_MAX_BYTES:
        errors.too_long(path, _CONTROLLER_MAX_BYTES)
    domain_prefixed_path(errors, path, controller)
    parameters = spec.get("parameters")
    if parameters is not None:
        _validate_parameters(errors, parameters)


def validate_ingress_class_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed ingress class, which keeps its controller."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    errors.immutable("spec.controller", spec.get("controller"), before.get("controller"))
    validate_ingress_class(errors, new)


def _validate_parameters(errors: FieldErrors, parameters: Document) -> None:
    path = "spec.parameters"
    _validate_reference(errors, path, parameters)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        errors.required(f"{path}.scope")
    elif scope == "Namespace":
        if namespace is None:
            errors.required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
        else:
            errors.each(f"{path}.namespace", namespace, dns_label(namespace))
    elif scope != "Cluster":
        errors.unsupported(f"{path}.scope", scope, ("Cluster", "Namespace"))
    elif namespace is not None:
        errors.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")


# -------------------------------------------------------------------- network policies


def validate_network_policy(errors: FieldErrors, policy: Document) -> None:
    """Check a new network policy."""
    _validate_policy(errors, policy, frozenset())


def _validate_policy(errors: FieldErrors, policy: Document, former: frozenset[str]) -> None:
    """Check a network policy; the networks that it had before are valid anywhere in it."""
    spec = policy.get("spec") or {}
    validate_label_selector(errors, "spec.podSelector", spec.get("podSelector"))
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            for at, port in enumerate(rule.get("ports") or ()):
                _validate_policy_port(errors, f"{path}.ports[{at}]", port)
            for at, peer in enumerate(rule.get(peers) or ()):
                _validate_peer(errors, f"{path}.{peers}[{at}]", peer, former)
    types = spec.get("policyTypes") or []
    if len(types) > len(_POLICY_TYPES):
        text = "may not specify more than two policyTypes"
        errors.invalid("spec.policyTypes", types, text)
        return
    for index, each in enumerate(types):
        if each not in _POLICY_TYPES:
            errors.unsupported(f"spec.policyTypes[{index}]", each, _POLICY_TYPES)


def validate_network_policy_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed network policy."""
    _validate_policy(errors, new, frozenset(_networks_of(old)))


def _networks_of(policy: Document) -> Iterator[str]:
    spec = policy.get("spec") or {}
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for rule in spec.get(direction) or ():
            for peer in rule.get(peers) or ():
                block = peer.get("ipBlock") or {}
                yield block.get("cidr") or ""
                yield from block.get("except") or ()


def _validate_policy_port(errors: FieldErrors, path: str, port: Document) -> None:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in PROTOCOLS:
        errors.unsupported(f"{path}.protocol", protocol, ("TCP", "UDP", "SCTP"))
    if number is None:
        if end is not None:
            text = "may not be specified when `port` is not specified"
            errors.invalid(f"{path}.endPort", end, text)
    elif isinstance(number, str):
        if end is not None:
            text = "may not be specified when `port` is non-numeric"
            errors.invalid(f"{path}.endPort", end, text)
        errors.each(f"{path}.port", number, port_name(number))
    else:
        errors.each(f"{path}.port", number, port_number(number))
        if end is not None:
            if end < number:
                # Upstream shows the first port instead of the invalid one.
                text = "must be greater than or equal to `port`"
                errors.invalid(f"{path}.endPort", number, text)
            errors.each(f"{path}.endPort", end, port_number(end))


def _validate_peer(errors: FieldErrors, path: str, peer: Document, former: frozenset[str]) -> None:
    selectors = [
        name for name in ("podSelector", "namespaceSelector") if peer.get(name) is not None
    ]
    for name in selectors:
        validate_label_selector(errors, f"{path}.{name}", peer[name])
    block = peer.get("ipBlock")
    if block is not None:
        _validate_block(errors, f"{path}.ipBlock", block, former)
    if not selectors and block is None:
        errors.required(path, "must specify a peer")
    elif selectors and block is not None:
        errors.forbidden(path, "may not specify both ipBlock and another peer")


def _validate_block(
    errors: FieldErrors, path: str, block: Document, former: frozenset[str]
) -> None:
    text = block.get("cidr") or ""
    if not text:
        errors.required(f"{path}.cidr")
        return
    errors.each(f"{path}.cidr", text, () if text in former else strict_cidr(text))
    if cidr(text):
        return
    whole = network(text)
    for index, each in enumerate(block.get("except") or ()):
        at = f"{path}.except[{index}]"
        errors.each(at, each, () if each in former else strict_cidr(each))
        if cidr(each):
            continue
        part = network(each)
        if part == whole or part.version != whole.version or not _is_part(part, whole):
            errors.invalid(at, each, "must be a strict subset of `cidr`")


def _is_part(
    part: ipaddress.IPv4Network | ipaddress.IPv6Network,
    whole: ipaddress.IPv4Network | ipaddress.IPv6Network,
) -> bool:
    return part.prefixlen > whole.prefixlen and part.network_address in whole


# --------------------------------------------------------------------------- addresses


def validate_ip_address(errors: FieldErrors, address: Document) -> None:
    """Check a new IPAddress; its name is an address."""
    path, parent = "spec.parentRef", (address.get("spec") or {}).get("parentRef")
    if parent is None:
        errors.required(path)
        return
    if group := parent.get("group"):
        errors.each(f"{path}.group", group, dns_subdomain(group))
    for name in ("resource", "name", "namespace"):
        if value := parent.get(name):
            errors.each(f"{path}.{name}", value, path_segment(value))
        elif name != "namespace":
            errors.required(f"{path}.{name}")


def validate_ip_address_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed IPAddress, which keeps its parent."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    errors.immutable(
        "spec.parentRef", spec.get("parentRef"), before.get("parentRef"), "*ParentReference"
    )


def validate_service_cidr(errors: FieldErrors, service_cidr: Document) -> None:
    """Check a new range of cluster addresses."""
    path, ranges = "spec.cidrs", (service_cidr.get("spec") or {}).get("cidrs") or []
    if not ranges:
        errors.required(path, "at least one CIDR required")
        return
    if len(ranges) > _MOST_CIDRS:
        errors.invalid(path, {"CIDRs": ranges}, "may only hold up to 2 values")
        return
    for index, each in enumerate(ranges):
        errors.each(f"{path}[{index}]", each, canonical_cidr(each))
    versions = [network(each).version for each in ranges if not cidr(each)]
    if len(versions) == _MOST_CIDRS and versions[0] == versions[1]:
        text = (
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and"
            " 2001:db8::/64"
        )
        errors.invalid(path, ranges, text)


def validate_service_cidr_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed range, to which one of the other family may be added."""
    path = "spec.cidrs"
    ranges = (new.get("spec") or {}).get("cidrs") or []
    before = (old.get("spec") or {}).get("cidrs") or []
    if len(ranges) != len(before) and (len(before), len(ranges)) != (1, _MOST_CIDRS):
        errors.invalid(path, ranges, "field is immutable")
        return
    for index, (now, then) in enumerate(zip(ranges, before, strict=False)):
        errors.immutable(f"{path}[{index}]", now, then)
    if len(ranges) != len(before):
        validate_service_cidr(errors, new)

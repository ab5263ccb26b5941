"""Validation of ingresses, network policies, and ranges of addresses.

Upstream: pkg/apis/networking/validation/validation.go; pkg/apis/discovery/validation/validation.go;
pkg/apis/core/validation/validation.go, ValidateEndpoints.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
from podwright.apimachinery.schema.validation.field_errors import FieldErrors, repeats, same
from podwright.apimachinery.schema.validation.metadata import (
    validate_label_selector,
    validate_labels,
)
from podwright.apimachinery.schema.validation.names import (
    canonical_cidr,
    canonical_ip,
    cidr,
    dns_label,
    dns_subdomain,
    domain_prefixed_path,
    ip_address,
    network,
    strict_cidr,
    wildcard_subdomain,
)
from podwright.apimachinery.schema.validation.pods.containers import PROTOCOLS

_INVALID_IN_PATH: Final = ("//", "/./", "/../", "%2f", "%2F")
_INVALID_END: Final = ("/..", "/.")
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_MOST_CIDRS: Final = 2

# --------------------------------------------------------------------------- ingresses


def validate_ingress_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed ingress; what was invalid before may stay."""
    before = old.get("spec") or {}
    checks_secrets = not any(_secret_problems(each) for each in before.get("tls") or ())
    checks_wildcards = not any(map(_is_invalid_wildcard, before.get("rules") or ()))
    rule = _ingress(checks_secrets=checks_secrets, checks_wildcards=checks_wildcards)
    rule(errors, "spec", new.get("spec") or {})


def _is_invalid_wildcard(rule: Document) -> bool:
    found = FieldErrors()
    if "*" in (rule.get("host") or ""):
        r.struct(http=_HTTP)(found, "", rule)
    return bool(found.problems)


def _secret_problems(tls: Document) -> list[str]:
    name = tls.get("secretName")
    return dns_subdomain(name) if name else []


def _host_problems(host: str) -> list[str]:
    return wildcard_subdomain(host) if "*" in host else dns_subdomain(host)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _validate_path(errors: FieldErrors, path: str, rule: Document) -> None:
    kind, text, at = rule.get("pathType"), rule.get("path") or "", f"{path}.path"
    if kind == "ImplementationSpecific":
        if text and not text.startswith("/"):
            errors.invalid(at, text, "must be an absolute path")
    elif kind in ("Exact", "Prefix"):
        errors.each(at, text, _path_problems(text))
    if kind is not None:
        _validate_backend(errors, f"{path}.backend", rule.get("backend") or {})


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
        _REFERENCE(errors, f"{path}.resource", resource)
    elif service is not None:
        r.struct(name=r.required(r.LABEL))(errors, f"{path}.service", service)
        port = service.get("port") or {}
        if port.get("name") and port.get("number"):
            errors.invalid(path, "", "cannot set both port name & port number")
        elif port.get("name") or port.get("number"):
            _BACKEND_PORT(errors, f"{path}.service.port", port)
        else:
            errors.required(path, "port name or number is required")
    else:
        errors.invalid(path, "", "resource or service backend is required")


def _validate_some_backend(errors: FieldErrors, path: str, spec: Document) -> None:
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        text = "either `defaultBackend` or `rules` must be specified"
        errors.invalid(path, spec.get("rules"), text)


def _validate_class_annotation(errors: FieldErrors, _path: str, ingress: Document) -> None:
    annotations = (ingress.get("metadata") or {}).get("annotations") or {}
    annotated = annotations.get(_CLASS_ANNOTATION)
    named = (ingress.get("spec") or {}).get("ingressClassName")
    if annotated is not None and named is not None and annotated != named:
        text = "must match `ingressClassName` when both are specified"
        errors.invalid(f"annotations.{_CLASS_ANNOTATION}", annotated, text)


_REFERENCE: Final = r.struct(
    apiGroup=r.SUBDOMAIN, kind=r.required(r.SEGMENT), name=r.required(r.SEGMENT)
)
_BACKEND_PORT: Final = r.struct(name=r.optional(r.PORT_NAME), number=r.optional(r.PORT))
_HTTP: Final = r.struct(
    paths=r.required(
        r.each(
            r.all_of(
                r.struct(
                    pathType=r.not_null(
                        r.one_of("Exact", "ImplementationSpecific", "Prefix"),
                        detail="pathType must be specified",
                    )
                ),
                _validate_path,
            )
        )
    )
)
_HOST: Final = r.form(_host_problems)


def _ingress(*, checks_secrets: bool, checks_wildcards: bool) -> r.Rule:
    def check_http(errors: FieldErrors, path: str, rule: Document) -> None:
        if checks_wildcards or "*" not in (rule.get("host") or ""):
            r.struct(http=_HTTP)(errors, path, rule)

    not_address = r.valid(
        lambda host: not _is_address(host), "must be a DNS name, not an IP address"
    )
    secret = r.SUBDOMAIN if checks_secrets else r.all_of()
    return r.all_of(
        _validate_some_backend,
        r.struct(
            defaultBackend=_validate_backend,
            rules=r.each(r.all_of(r.struct(host=r.optional(not_address, _HOST)), check_http)),
            tls=r.each(r.struct(hosts=r.each(_HOST), secretName=r.optional(secret))),
            ingressClassName=r.SUBDOMAIN,
        ),
    )


validate_ingress: Final = r.of_object(
    r.struct(spec=r.always(_ingress(checks_secrets=True, checks_wildcards=True), {})),
    _validate_class_annotation,
)


# --------------------------------------------------------------------- ingress classes


def _validate_scope(errors: FieldErrors, path: str, parameters: Document) -> None:
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope == "Namespace":
        text = "`parameters.scope` is set to 'Namespace'"
        r.struct(namespace=r.not_null(r.LABEL, detail=text))(errors, path, parameters)
    elif scope == "Cluster" and namespace is not None:
        errors.forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")


validate_ingress_class: Final = r.of_spec(
    r.struct(
        controller=r.always(r.all_of(r.max_bytes(250), domain_prefixed_path), ""),
        parameters=r.all_of(
            _REFERENCE,
            r.struct(scope=r.not_null(r.one_of("Cluster", "Namespace"))),
            _validate_scope,
        ),
    )
)


def validate_ingress_class_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed ingress class, which keeps its controller."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    controllers = (each.get("controller") or "" for each in (spec, before))
    errors.immutable("spec.controller", *controllers)
    validate_ingress_class(errors, new)


# -------------------------------------------------------------------- network policies


def _policy(former: frozenset[str]) -> r.Rule:
    """Return the rule of a network policy; the networks that it had are valid anywhere in it."""

    def check_block(errors: FieldErrors, path: str, block: Document) -> None:
        _validate_block(errors, path, block, former)

    ports = r.each(r.all_of(r.struct(protocol=r.one_of("TCP", "UDP", "SCTP")), _validate_ports))
    selector = validate_label_selector
    peers = r.each(
        r.all_of(
            r.struct(podSelector=selector, namespaceSelector=selector, ipBlock=check_block),
            _validate_peer,
        )
    )
    return r.struct(
        podSelector=selector,
        ingress=r.each(r.struct(ports=ports, **{"from": peers})),
        egress=r.each(r.struct(ports=ports, to=peers)),
        policyTypes=_validate_types,
    )


def _validate_types(errors: FieldErrors, path: str, types: list[str]) -> None:
    if len(types) > 2:
        errors.invalid(path, types, "may not specify more than two policyTypes")
    else:
        r.each(r.one_of("Ingress", "Egress"))(errors, path, types)


def _validate_ports(errors: FieldErrors, path: str, port: Document) -> None:
    number, end, at = port.get("port"), port.get("endPort"), f"{path}.endPort"
    if number is None or isinstance(number, str):
        if end is not None:
            what = "not specified" if number is None else "non-numeric"
            errors.invalid(at, end, f"may not be specified when `port` is {what}")
        r.struct(port=r.PORT_NAME)(errors, path, port)
        return
    r.PORT(errors, f"{path}.port", number)
    if end is not None:
        if end < number:
            # Upstream shows the first port instead of the invalid one.
            errors.invalid(at, number, "must be greater than or equal to `port`")
        r.PORT(errors, at, end)


def _validate_peer(errors: FieldErrors, path: str, peer: Document) -> None:
    has_selector = any(peer.get(n) is not None for n in ("podSelector", "namespaceSelector"))
    has_block = peer.get("ipBlock") is not None
    if not has_selector and not has_block:
        errors.required(path, "must specify a peer")
    elif has_selector and has_block:
        errors.forbidden(path, "may not specify both ipBlock and another peer")


validate_network_policy: Final = r.of_spec(_policy(frozenset()))


def validate_network_policy_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed network policy."""
    _policy(frozenset(_networks_of(old)))(errors, "spec", new.get("spec") or {})


def _networks_of(policy: Document) -> Iterator[str]:
    spec = policy.get("spec") or {}
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for rule in spec.get(direction) or ():
            for peer in rule.get(peers) or ():
                if block := peer.get("ipBlock"):
                    yield from (block.get("cidr", ""), *(block.get("except") or ()))


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
        if not _is_part(part, whole):
            errors.invalid(at, each, "must be a strict subset of `cidr`")


def _is_part(
    part: ipaddress.IPv4Network | ipaddress.IPv6Network,
    whole: ipaddress.IPv4Network | ipaddress.IPv6Network,
) -> bool:
    return part.prefixlen > whole.prefixlen and part.network_address in whole


# --------------------------------------------------------------------------- addresses


validate_ip_address: Final = r.of_spec(
    r.struct(
        parentRef=r.not_null(
            r.struct(
                group=r.optional(r.SUBDOMAIN),
                resource=r.required(r.SEGMENT),
                name=r.required(r.SEGMENT),
                namespace=r.optional(r.SEGMENT),
            )
        )
    )
)


def _validate_ranges(errors: FieldErrors, path: str, ranges: list[str]) -> None:
    if len(ranges) > _MOST_CIDRS:
        errors.invalid(path, {"CIDRs": ranges}, "may only hold up to 2 values")
        return
    r.each(r.form(canonical_cidr))(errors, path, ranges)
    versions = [network(each).version for each in ranges if not cidr(each)]
    if len(versions) == _MOST_CIDRS and versions[0] == versions[1]:
        text = (
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and"
            " 2001:db8::/64"
        )
        errors.invalid(path, ranges, text)


validate_service_cidr: Final = r.of_spec(
    r.struct(cidrs=r.required(_validate_ranges, detail="at least one CIDR required"))
)


def validate_service_cidr_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed range, to which one of the other family may be added."""
    path = "spec.cidrs"
    given = (new.get("spec") or {}).get("cidrs")
    ranges, before = given or [], (old.get("spec") or {}).get("cidrs") or []
    if len(ranges) != len(before) and (len(before), len(ranges)) != (1, _MOST_CIDRS):
        errors.invalid(path, given, "field is immutable")
        return
    for index, (now, then) in enumerate(zip(ranges, before, strict=False)):
        errors.immutable(f"{path}[{index}]", now, then)
    if len(ranges) != len(before):
        validate_service_cidr(errors, new)


# Validation of endpoints and endpoint slices.

_VERSIONS: Final = {"IPv4": 4, "IPv6": 6}


def _slice(address_type: str, *, checks_endpoints: bool = True) -> r.Rule:
    """Return the rule of an EndpointSlice with a type of addresses."""

    def check_address(errors: FieldErrors, path: str, address: str) -> None:
        _validate_address(errors, path, address, address_type)

    endpoint = r.struct(
        addresses=r.required(
            r.each(check_address, most=100, checks_too_many=True),
            detail="must contain at least 1 address",
        ),
        nodeName=r.SUBDOMAIN,
        deprecatedTopology=_validate_topology,
        hostname=r.LABEL,
        hints=r.all_of(r.struct(forZones=_ZONES), r.struct(forNodes=_NODES)),
    )
    endpoints = r.each(endpoint, most=1000) if checks_endpoints else r.all_of()
    return r.struct(addressType=_ADDRESS_TYPE, ports=_validate_ports_endpoints, endpoints=endpoints)


def validate_endpoint_slice(errors: FieldErrors, endpoint_slice: Document) -> None:
    """Check a new EndpointSlice."""
    _slice(endpoint_slice.get("addressType") or "")(errors, "", endpoint_slice)


def validate_endpoint_slice_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed EndpointSlice; one that keeps the endpoints is not refused for them."""
    is_changed = not same(new.get("endpoints"), old.get("endpoints"))
    _slice(new.get("addressType") or "", checks_endpoints=is_changed)(errors, "", new)


def _validate_address(errors: FieldErrors, path: str, address: str, address_type: str) -> None:
    if address_type == "FQDN":
        _validate_domain(errors, path, address)
    elif address_type in _VERSIONS:
        if problems := (canonical_ip if address_type == "IPv6" else ip_address)(address):
            errors.each(path, address, problems)
            return
        parsed = ipaddress.ip_address(address)
        if parsed.version != _VERSIONS[address_type]:
            article = f"must be an {address_type} address"
            errors.invalid(path.rpartition("[")[0], address, article)
        validate_not_special(errors, path, address)


def _validate_domain(errors: FieldErrors, path: str, name: str) -> None:
    if not name:
        errors.required(path)
        return
    name = name.removesuffix(".")
    if problems := dns_subdomain(name):
        errors.invalid(path, name, ",".join(problems))
    elif "." not in name:
        text = "should be a domain with at least two segments separated by dots"
        errors.invalid(path, name, text)
    else:
        for label in name.split("."):
            if problems := dns_label(label):
                errors.invalid(path, label, ",".join(problems))
                return


_LEADING_ZEROS: Final = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])(?=[0-9.]*$)")


def validate_not_special(errors: FieldErrors, path: str, text: str) -> None:
    """Check that an address can be one of an endpoint. Upstream: ValidateEndpointIP."""
    try:
        # Upstream reads leading zeros here.
        address = ipaddress.ip_address(_LEADING_ZEROS.sub("", text))
    except ValueError:
        errors.invalid(path, text, "must be a valid IP address")
        return
    # Go knows no difference between an IPv4 address and its form in IPv6.
    address = getattr(address, "ipv4_mapped", None) or address
    first, second, third = address.packed[:3]
    is_link_multicast = (
        (first, second, third) == (224, 0, 0)
        if address.version == 4
        else first == 0xFF and second & 0x0F == 2
    )
    for is_special, problem in (
        (address.is_unspecified, f"may not be unspecified ({text})"),
        (address.is_loopback, "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (address.is_link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (
            is_link_multicast,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        ),
    ):
        if is_special:
            errors.invalid(path, text, problem)


def _validate_topology(errors: FieldErrors, path: str, labels: Document) -> None:
    if len(labels) > 16:
        errors.too_many(path, len(labels), 16)
    validate_labels(errors, path, labels)


def _hints(rule_of_name: r.Rule) -> r.Rule:
    """Return the rule of hints with distinct names."""

    def check(errors: FieldErrors, path: str, hints: list[Document]) -> None:
        names = [hint.get("name") or "" for hint in hints]
        if len(names) > 8:
            errors.too_many(path, len(names), 8)
            return
        for index, (name, is_repeated) in enumerate(zip(names, repeats(names), strict=True)):
            if is_repeated:
                errors.duplicate(f"{path}[{index}].name", name)
            rule_of_name(errors, f"{path}[{index}].name", name)

    return check


_ZONES: Final = _hints(r.LABEL_VALUE)
_NODES: Final = _hints(r.SUBDOMAIN)


def _validate_ports_endpoints(errors: FieldErrors, path: str, ports: list[Document]) -> None:
    if len(ports) > 20_000:
        errors.too_many(path, len(ports), 20_000)
        return
    names = [port.get("name") or "" for port in ports]
    for index, is_repeated in enumerate(repeats(names)):
        at = f"{path}[{index}]"
        r.optional(r.LABEL)(errors, f"{at}.name", names[index])
        if is_repeated:
            errors.duplicate(f"{at}.name", names[index])
        _PROTOCOL(errors, at, ports[index])


_ADDRESS_TYPE: Final = r.required(r.one_of("FQDN", "IPv4", "IPv6"))
_PROTOCOL: Final = r.struct(protocol=r.not_null(r.one_of(*PROTOCOLS)), appProtocol=r.QUALIFIED)


# --------------------------------------------------------------------------- endpoints


def _validate_some_address(errors: FieldErrors, path: str, subset: Document) -> None:
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        errors.required(path, "must specify `addresses` or `notReadyAddresses`")


def _validate_endpoint_ports(errors: FieldErrors, path: str, ports: list[Document]) -> None:
    r.each(_PORT[len(ports) > 1])(errors, path, ports)


_ADDRESSES: Final = r.each(
    r.all_of(
        r.struct(ip=r.always(r.ADDRESS, ""), hostname=r.optional(r.LABEL), nodeName=r.SUBDOMAIN),
        r.struct(ip=r.always(validate_not_special, "")),
    )
)
_PORT: Final = [
    r.struct(
        name=name,
        port=r.always(r.PORT, 0),
        protocol=r.required(r.one_of(*PROTOCOLS)),
        appProtocol=r.QUALIFIED,
    )
    for name in (r.optional(r.LABEL), r.required(r.LABEL))
]
validate_endpoints: Final = r.of_object(
    r.struct(
        subsets=r.each(
            r.all_of(
                _validate_some_address,
                r.struct(
                    addresses=_ADDRESSES,
                    notReadyAddresses=_ADDRESSES,
                    ports=_validate_endpoint_ports,
                ),
            )
        )
    )
)


# --------------------------------------------------------------------------- endpoints

"""Validation of endpoints and endpoint slices.

Upstream: pkg/apis/discovery/validation/validation.go;
pkg/apis/core/validation/validation.go, ValidateEndpoints
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation.field_errors import (
    FieldErrors,
    repeats,
    same,
)
from podwright.apimachinery.schema.validation.metadata import validate_labels
from podwright.apimachinery.schema.validation.names import (
    canonical_ip,
    dns_label,
    dns_subdomain,
    ip_address,
    label_value,
    port_number,
    qualified_name,
)
from podwright.apimachinery.schema.validation.pods.containers import PROTOCOLS

_ADDRESS_TYPES: Final = ("FQDN", "IPv4", "IPv6")
_VERSIONS: Final = {"IPv4": 4, "IPv6": 6}
_MOST_ENDPOINTS: Final = 1_000
_MOST_ADDRESSES: Final = 100
_MOST_PORTS: Final = 20_000
_MOST_LABELS: Final = 16
_MOST_ZONES: Final = 8


def validate_endpoint_slice(errors: FieldErrors, endpoint_slice: Document) -> None:
    """Check a new EndpointSlice."""
    _validate_slice(errors, endpoint_slice, None)


def _validate_slice(errors: FieldErrors, endpoint_slice: Document, former: Document | None) -> None:
    address_type = endpoint_slice.get("addressType") or ""
    if not address_type:
        errors.required("addressType")
    elif address_type not in _ADDRESS_TYPES:
        errors.unsupported("addressType", address_type, _ADDRESS_TYPES)
    _validate_slice_ports(errors, endpoint_slice.get("ports") or [])
    # An update that keeps the endpoints is not refused for them.
    if former is None or not same(endpoint_slice.get("endpoints"), former.get("endpoints")):
        _validate_endpoints(errors, endpoint_slice.get("endpoints") or [], address_type)


def validate_endpoint_slice_update(errors: FieldErrors, new: Document, old: Document) -> None:
    """Check a changed EndpointSlice, which keeps its type of addresses."""
    _validate_slice(errors, new, old)
    errors.immutable("addressType", new.get("addressType"), old.get("addressType"))


def _validate_endpoints(errors: FieldErrors, endpoints: list[Document], address_type: str) -> None:
    if len(endpoints) > _MOST_ENDPOINTS:
        errors.too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        path, addresses = f"endpoints[{index}]", endpoint.get("addresses") or []
        if not addresses:
            errors.required(f"{path}.addresses", "must contain at least 1 address")
        elif len(addresses) > _MOST_ADDRESSES:
            errors.too_many(f"{path}.addresses", len(addresses), _MOST_ADDRESSES)
        for at, address in enumerate(addresses):
            _validate_address(errors, f"{path}.addresses[{at}]", address, address_type)
        if (node := endpoint.get("nodeName")) is not None:
            errors.each(f"{path}.nodeName", node, dns_subdomain(node))
        labels = endpoint.get("deprecatedTopology") or {}
        if len(labels) > _MOST_LABELS:
            errors.too_many(f"{path}.deprecatedTopology", len(labels), _MOST_LABELS)
        validate_labels(errors, f"{path}.deprecatedTopology", labels)
        if (hostname := endpoint.get("hostname")) is not None:
            errors.each(f"{path}.hostname", hostname, dns_label(hostname))
        _validate_zones(errors, f"{path}.hints.forZones", endpoint.get("hints") or {})


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
    is_link_multicast = address.is_multicast and (
        address in ipaddress.ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16")
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


def _validate_zones(errors: FieldErrors, path: str, hints: Document) -> None:
    zones = [zone.get("name") or "" for zone in hints.get("forZones") or ()]
    if len(zones) > _MOST_ZONES:
        errors.too_many(path, len(zones), _MOST_ZONES)
        return
    for index, (zone, is_repeated) in enumerate(zip(zones, repeats(zones), strict=True)):
        at = f"{path}[{index}].name"
        if is_repeated:
            errors.duplicate(at, zone)
        errors.each(at, zone, label_value(zone))


def _validate_slice_ports(errors: FieldErrors, ports: list[Document]) -> None:
    if len(ports) > _MOST_PORTS:
        errors.too_many("ports", len(ports), _MOST_PORTS)
        return
    names: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"ports[{index}]", port.get("name") or ""
        if name:
            errors.each(f"{path}.name", name, dns_label(name))
        if name in names:
            errors.duplicate(f"{path}.name", name)
        names.add(name)
        _validate_protocol(errors, path, port)


def _validate_protocol(errors: FieldErrors, path: str, port: Document) -> None:
    protocol, application = port.get("protocol"), port.get("appProtocol")
    if protocol is None:
        errors.required(f"{path}.protocol")
    elif protocol not in PROTOCOLS:
        errors.unsupported(f"{path}.protocol", protocol, PROTOCOLS)
    if application is not None:
        errors.each(f"{path}.appProtocol", application, qualified_name(application))


# --------------------------------------------------------------------------- endpoints


def validate_endpoints(errors: FieldErrors, endpoints: Document) -> None:
    """Check new Endpoints."""
    for index, subset in enumerate(endpoints.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.required(path, "must specify `addresses` or `notReadyAddresses`")
        for name in ("addresses", "notReadyAddresses"):
            for at, address in enumerate(subset.get(name) or ()):
                _validate_endpoint(errors, f"{path}.{name}[{at}]", address)
        ports = subset.get("ports") or []
        for at, port in enumerate(ports):
            _validate_port(errors, f"{path}.ports[{at}]", port, needs_name=len(ports) > 1)


def validate_endpoints_update(errors: FieldErrors, new: Document, _old: Document) -> None:
    """Check changed Endpoints."""
    validate_endpoints(errors, new)


def _validate_endpoint(errors: FieldErrors, path: str, address: Document) -> None:
    text = address.get("ip") or ""
    errors.each(f"{path}.ip", text, ip_address(text))
    if hostname := address.get("hostname"):
        errors.each(f"{path}.hostname", hostname, dns_label(hostname))
    if (node := address.get("nodeName")) is not None:
        errors.each(f"{path}.nodeName", node, dns_subdomain(node))
    validate_not_special(errors, f"{path}.ip", text)


def _validate_port(errors: FieldErrors, path: str, port: Document, *, needs_name: bool) -> None:
    name, number = port.get("name") or "", port.get("port") or 0
    if name:
        errors.each(f"{path}.name", name, dns_label(name))
    elif needs_name:
        errors.required(f"{path}.name")
    errors.each(f"{path}.port", number, port_number(number))
    _validate_protocol(errors, path, port)

"""Validation of endpoints and endpoint slices.

Upstream: pkg/apis/discovery/validation/validation.go;
pkg/apis/core/validation/validation.go, ValidateEndpoints
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.validation import rules as r
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
)
from podwright.apimachinery.schema.validation.pods.containers import PROTOCOLS

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
        hints=r.struct(forZones=_validate_zones),
    )
    endpoints = r.each(endpoint, most=1000) if checks_endpoints else r.all_of()
    return r.struct(addressType=_ADDRESS_TYPE, ports=_validate_ports, endpoints=endpoints)


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


def _validate_topology(errors: FieldErrors, path: str, labels: Document) -> None:
    if len(labels) > 16:
        errors.too_many(path, len(labels), 16)
    validate_labels(errors, path, labels)


def _validate_zones(errors: FieldErrors, path: str, zones: list[Document]) -> None:
    names = [zone.get("name") or "" for zone in zones]
    if len(names) > 8:
        errors.too_many(path, len(names), 8)
        return
    for index, (name, is_repeated) in enumerate(zip(names, repeats(names), strict=True)):
        if is_repeated:
            errors.duplicate(f"{path}[{index}].name", name)
        r.LABEL_VALUE(errors, f"{path}[{index}].name", name)


def _validate_ports(errors: FieldErrors, path: str, ports: list[Document]) -> None:
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
    r.all_of(r.struct(name=name, port=r.always(r.PORT, 0)), _PROTOCOL)
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

"""Warnings about addresses and networks that are not in their standard form.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go, GetWarningsForIP,
GetWarningsForCIDR
"""

from __future__ import annotations

import ipaddress
import re

from podwright.apimachinery.schema.validation.field_errors import printed

_OCTETS = re.compile(r"\d+\.\d+\.\d+\.\d+")


def ip_warnings(path: str, text: str) -> list[str]:
    """Return the warnings about an address; none if it is not one."""
    plain = _without_zeros(text)
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        return []
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    if mapped is not None or plain != text:
        better = str(mapped or address)
        return [
            f"{path}: non-standard IP address {printed(text)} is invalid: use {printed(better)}"
        ]
    if address.version == 6 and str(address) != text:
        return [
            f"{path}: IPv6 address {printed(text)} should be in RFC 5952 canonical format"
            f" ({printed(str(address))})"
        ]
    return []


def cidr_warnings(path: str, text: str) -> list[str]:
    """Return the warnings about a network; none if it is not one."""
    host, _, length = text.partition("/")
    plain = f"{_without_zeros(host)}/{length.lstrip('0') or '0'}"
    try:
        interface = ipaddress.ip_interface(plain)
    except ValueError:
        return []
    network = str(interface.network)
    is_mapped = (
        isinstance(interface, ipaddress.IPv6Interface) and interface.ip.ipv4_mapped is not None
    )
    found: list[str] = []
    if interface.ip != interface.network.network_address:
        single = f"{interface.ip}/{interface.max_prefixlen}"
        found.append(
            f"{path}: CIDR value {printed(text)} is ambiguous in this context (should be"
            f" {printed(network)} or {printed(single)}?)"
        )
    if is_mapped or plain != text:
        found.append(
            f"{path}: non-standard CIDR value {printed(text)} is invalid: use {printed(network)}"
        )
    if not found and interface.version == 6 and network != text:
        found.append(
            f"{path}: IPv6 CIDR value {printed(text)} should be in RFC 5952 canonical format"
            f" ({printed(network)})"
        )
    return found


def _without_zeros(text: str) -> str:
    """Return an IPv4 address without the zeros before its numbers."""
    if not _OCTETS.fullmatch(text):
        return text
    return ".".join(part.lstrip("0") or "0" for part in text.split("."))

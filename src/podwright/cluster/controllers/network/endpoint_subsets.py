"""The canonical form of the subsets of endpoints.

Each address is in one subset only, with all its ports, and is ready only if it is for all of them.
Upstream orders subsets, ports and addresses by hashes; here they are ordered by their values.

Upstream: pkg/api/v1/endpoints/util.go, RepackSubsets
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import ip_address
from typing import Any, TypeAlias

from podwright.apimachinery.objects import Document

PortKey: TypeAlias = tuple[tuple[str, Any], ...]
AddressKey: TypeAlias = tuple[str, str]


def repacked(subsets: Iterable[Document]) -> list[Document]:
    """Return subsets in canonical form."""
    known: dict[AddressKey, Document] = {}
    ready: dict[PortKey, dict[AddressKey, bool]] = {}
    for subset in subsets:
        ports: Sequence[Document] = subset.get("ports") or ({},)
        for port in ports:
            states = ready.setdefault(tuple(sorted(port.items())), {})
            for field, is_ready in (("addresses", True), ("notReadyAddresses", False)):
                for address in subset.get(field) or ():
                    key = (address["ip"], (address.get("targetRef") or {}).get("uid", ""))
                    known.setdefault(key, address)
                    # Not ready for one port is not ready.
                    states[key] = is_ready and states.get(key, True)
    ports_of: dict[tuple[tuple[AddressKey, bool], ...], list[PortKey]] = {}
    for port_key, states in sorted(ready.items(), key=lambda item: repr(item[0])):
        ports_of.setdefault(tuple(sorted(states.items())), []).append(port_key)
    packed: list[Document] = []
    for addresses, port_keys in ports_of.items():
        subset = {}
        for field, is_ready in (("addresses", True), ("notReadyAddresses", False)):
            keys = sorted((key for key, state in addresses if state is is_ready), key=_by_ip)
            if keys:
                subset[field] = [known[key] for key in keys]
        if with_ports := [dict(each) for each in port_keys if each]:
            subset["ports"] = with_ports
        packed.append(subset)
    return packed


def _by_ip(key: AddressKey) -> tuple[int, int, str]:
    address = ip_address(key[0])
    return (address.version, int(address), key[1])

"""Allocation of cluster IPs and node ports for services, by seeded draws.

The allocations of the stored services are followed from the store, so that a deleted service gives
its own back by itself.

Upstream: pkg/registry/core/service/storage/alloc.go; pkg/registry/core/service/{ipallocator,
portallocator}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from ipaddress import IPv4Address, IPv4Network, ip_address
from typing import Final

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema import Problem, path_segment
from podwright.cluster.api.followed import Followed
from podwright.cluster.api.rejections import internal, invalid
from podwright.cluster.api.strategies.services import (
    HEADLESS,
    family_problems,
    needs_cluster_ip,
    needs_health_check,
    needs_node_ports,
)
from podwright.cluster.store import ObjectStore

SERVICE_NETWORK: Final = IPv4Network("10.0.0.0/24")
"""Upstream's default `--service-cluster-ip-range`."""

NODE_PORTS: Final = range(30_000, 32_768)
"""Upstream's default `--service-node-port-range`."""

_NO_ADDRESSES: Final = (SERVICE_NETWORK.network_address, SERVICE_NETWORK.broadcast_address)
_STATIC_ADDRESSES: Final = 16
"""The lowest addresses, which are drawn last, as upstream reserves them for explicit ones."""

_SERVICE: Final = ("", "Service")
_ADDRESS_FIELDS: Final = ("spec.clusterIP", "spec.ipFamil")
_LATER: Final = ("may not be set to 'None' for", "may not change once set")
"""In the errors about addresses that upstream finds after the allocation."""
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")


def check_address_owner(service: Document) -> None:
    """Reject a new service whose name cannot be that of the owner of an IPAddress.

    Upstream allocates an address before it validates the service.

    Raises
    ------
    Rejection
        There is no name, or it cannot be a segment of a path.
    """
    spec, name = service.get("spec") or {}, service["metadata"].get("name") or ""
    if spec.get("type") == "ExternalName" or spec.get("clusterIP") or family_problems(spec, None):
        return
    details = [f'Invalid value: "{name}": {text}' for text in path_segment(name)]
    if not name:
        details = ["Required value"]
    if details:
        address = SERVICE_NETWORK.network_address + 1 + _STATIC_ADDRESSES
        text = (
            f'Invalid value: [""]: failed to allocate IP: IPAddress.networking.k8s.io "{address}"'
            f" is invalid: spec.parentRef.name: {details[0]}"
        )
        raise invalid("", "Service", name, [("spec.clusterIPs", text, [""])])


def check_addresses(service: Document, found: Iterable[Problem]) -> None:
    """Reject a service with mistakes on which its addresses depend, which has no other errors.

    Parameters
    ----------
    found : iterable of Problem
        What is wrong with the service.

    Raises
    ------
    Rejection
        Some of it prevents the allocation.
    """
    if (service.get("spec") or {}).get("type") == "ExternalName":
        return
    addresses = [
        each
        for each in found
        if each[0].startswith(_ADDRESS_FIELDS) and not any(text in each[1] for text in _LATER)
    ]
    if addresses:
        raise invalid("", "Service", service["metadata"].get("name") or "", addresses)


class ServiceAllocations:
    """The addresses and node ports of all services.

    Parameters
    ----------
    store : ObjectStore
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._addresses: dict[str, str] = {}
        self._ports: dict[tuple[int, str], str] = {}
        self._services = Followed(store, _SERVICE)
        self._specs: dict[str, Document] = {}

    def allocate(self, service: Document, stored: Document | None, *, is_dry_run: bool) -> Document:
        """Return a service with the address and the node ports that it needs.

        Parameters
        ----------
        service : dict
            The new or changed service.
        stored : dict or None
            The stored service; None for a new one.
        is_dry_run : bool
            Whether nothing is stored: as upstream, what is taken is not looked at then.

        Raises
        ------
        Rejection
            A requested address or port is taken, or out of range; the first one is named.
        """
        self._catch_up()
        metadata = service["metadata"]
        name = metadata.get("name", "")
        # Upstream allocates before it finds that a name is taken: a new service owns nothing yet.
        key = "" if stored is None else f"{metadata.get('namespace', '')}/{name}"
        spec: Document = dict(service.get("spec") or {})
        before = None if stored is None else stored.get("spec") or {}
        if problems := family_problems(spec, before):
            raise invalid("", "Service", name, problems)
        problem = None
        if needs_cluster_ip(spec) and spec.get("clusterIP") != HEADLESS:
            problem = self._allocate_address(spec, key, is_dry_run=is_dry_run)
        if problem is None and spec.get("type") in ("LoadBalancer", "NodePort"):
            problem = self._allocate_ports(spec, key, before, is_dry_run=is_dry_run)
        if problem is not None:
            raise invalid("", "Service", name, [problem])
        if needs_health_check(spec) and not needs_health_check(before or {}):
            self._allocate_health_check(spec, is_dry_run=is_dry_run)
        if spec.get("type") == "ExternalName":
            # Upstream: registry/core/service/storage, defaultOnReadInternalTrafficPolicy
            spec.pop("internalTrafficPolicy", None)
        return service | {"spec": spec}

    def _allocate_address(self, spec: Document, key: str, *, is_dry_run: bool) -> Problem | None:
        requested = spec.get("clusterIP")
        if not requested:
            # Upstream does not look for a free one in a dry run: ipallocator.go
            first = str(SERVICE_NETWORK.network_address)
            address = first if is_dry_run else self._free_address()
            spec["clusterIP"], spec["clusterIPs"] = address, [address]
            return None
        addresses = spec.get("clusterIPs") or [requested]
        for address in addresses:
            reason = self._address_problem(address, key, is_dry_run=is_dry_run)
            if reason:
                shown = "[" + ",".join(f'"{each}"' for each in addresses) + "]"
                text = f"Invalid value: {shown}: failed to allocate IP {address}: {reason}"
                return "spec.clusterIPs", text, addresses
        return None

    def _address_problem(self, address: str, key: str, *, is_dry_run: bool) -> str:
        if not is_dry_run and self._addresses.get(address, key) != key:
            return "provided IP is already allocated"
        parsed = ip_address(address)
        is_within = isinstance(parsed, IPv4Address) and parsed in SERVICE_NETWORK
        if is_within and parsed not in _NO_ADDRESSES:
            return ""
        # Upstream calls the allocator of the range in a dry run, else the one of all ranges.
        if is_within or is_dry_run:
            return (
                f"the provided IP ({address}) is not in the valid range. The range of valid IPs is"
                f" {SERVICE_NETWORK}"
            )
        return "the provided network does not match the current range"

    def _free_address(self) -> str:
        first, count = SERVICE_NETWORK.network_address, SERVICE_NETWORK.num_addresses - 2
        drawn = count - _STATIC_ADDRESSES
        start = self._draw("ip")
        order = [
            *((start + step) % drawn + _STATIC_ADDRESSES for step in range(drawn)),
            *range(_STATIC_ADDRESSES),
        ]
        for offset in order:
            address = str(first + 1 + offset)
            if address not in self._addresses:
                return address
        raise invalid(
            "", "Service", "", [("spec.clusterIPs", "Internal error: range is full", None)]
        )

    def _allocate_ports(
        self, spec: Document, key: str, before: Document | None, *, is_dry_run: bool
    ) -> Problem | None:
        is_new = before is None
        check = (before or {}).get("healthCheckNodePort") or 0
        taken = {(check, protocol) for protocol in _PROTOCOLS}
        ports: list[Document] = []
        draws = needs_node_ports(spec)
        # Upstream: registry/core/service/storage/alloc.go, initNodePorts
        shared: dict[int, int] = {
            port["port"]: port["nodePort"]
            for port in reversed(spec.get("ports") or ())
            if is_new and port.get("nodePort")
        }
        for index, port in enumerate(spec.get("ports") or ()):
            number, protocol = port.get("nodePort"), port.get("protocol", "TCP")
            if number:
                reason = self._port_problem(number, (protocol,), key, taken, is_dry_run=is_dry_run)
                if reason:
                    path = f"spec.ports[{index}].nodePort"
                    return path, f"Invalid value: {number}: {reason}", number
            elif not draws:
                ports.append(port)
                continue
            else:
                number = shared.get(port["port"]) or self._free_port(_not_in(taken, (protocol,)))
            taken.add((number, protocol))
            if is_new:
                shared.setdefault(port["port"], number)
            ports.append(port | {"nodePort": number})
        spec["ports"] = ports
        return None

    def _allocate_health_check(self, spec: Document, *, is_dry_run: bool) -> None:
        """Allocate the port of health checks, which is a port of its own.

        Upstream: registry/core/service/storage/alloc.go, allocHealthCheckNodePort
        """
        taken = {
            (port["nodePort"], port.get("protocol", "TCP"))
            for port in spec.get("ports") or ()
            if port.get("nodePort")
        }
        requested = spec.get("healthCheckNodePort")
        if not requested:
            spec["healthCheckNodePort"] = self._free_port(_not_in(taken, _PROTOCOLS))
            return
        # The service has no such port yet, so that one of its own is another's as well.
        reason = self._port_problem(requested, _PROTOCOLS, "", taken, is_dry_run=is_dry_run)
        if reason:
            text = f"failed to allocate requested HealthCheck NodePort {requested}: {reason}"
            raise internal(text)

    def _port_problem(
        self,
        number: int,
        protocols: tuple[str, ...],
        key: str,
        taken: set[tuple[int, str]],
        *,
        is_dry_run: bool,
    ) -> str:
        if number not in NODE_PORTS and not is_dry_run:
            return (
                "provided port is not in the valid range. The range of valid ports is"
                f" {NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
            )
        owner = self._owner_of(number)
        is_taken = any((number, protocol) in taken for protocol in protocols)
        if is_taken or (owner is not None and owner != key):
            return "provided port is already allocated"
        return ""

    def _owner_of(self, number: int) -> str | None:
        for protocol in _PROTOCOLS:
            owner = self._ports.get((number, protocol))
            if owner is not None:
                return owner
        return None

    def _free_port(self, is_free: Callable[[int], bool]) -> int:
        start = self._draw("port")
        for step in range(len(NODE_PORTS)):
            number = NODE_PORTS[(start + step) % len(NODE_PORTS)]
            if self._owner_of(number) is None and is_free(number):
                return number
        raise invalid(
            "", "Service", "", [("spec.ports", "Internal error: all node ports are taken", None)]
        )

    def _draw(self, stream: str) -> int:
        version = self._store.resource_version + 1
        text = f"{stream}/{self._store.seed}/{version}".encode()
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")

    # ------------------------------------------------------------------------ following

    def _catch_up(self) -> None:
        for key, service in self._services.changes():
            self._record(self._specs.pop(key, {}), key, is_present=False)
            if service is not None:
                spec = self._specs[key] = service.get("spec") or {}
                self._record(spec, key, is_present=True)

    def _record(self, spec: Document, key: str, *, is_present: bool) -> None:
        for address in spec.get("clusterIPs") or ():
            if is_present and address != HEADLESS:
                self._addresses[address] = key
            else:
                self._addresses.pop(address, None)
        numbers = [
            (port.get("nodePort"), port.get("protocol", "TCP")) for port in spec.get("ports") or ()
        ]
        numbers.append((spec.get("healthCheckNodePort"), "TCP"))
        for number, protocol in numbers:
            if not number:
                continue
            if is_present:
                self._ports[number, protocol] = key
            else:
                self._ports.pop((number, protocol), None)


def _not_in(taken: set[tuple[int, str]], protocols: tuple[str, ...]) -> Callable[[int], bool]:
    return lambda number: all((number, protocol) not in taken for protocol in protocols)

"""Host ports in use, per slot.

Upstream: pkg/scheduler/framework/types.go, `HostPortInfo`; which containers count is
pkg/scheduler/util/utils.go, `GetHostPorts`.
"""

from __future__ import annotations

from typing import NamedTuple

from podwright.objects import ContainerPort, Pod

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - the wildcard of the rule, not an address to bind to


class HostPort(NamedTuple):
    """One port on the host."""

    ip: str
    protocol: str
    port: int


def host_ports(pod: Pod) -> tuple[HostPort, ...]:
    """Return the host ports that a pod holds: containers and restartable init containers."""
    spec = pod.spec
    found: list[HostPort] = []
    for container in spec.containers:
        found += _of(container.ports)
    for container in spec.init_containers:
        if container.restart_policy == "Always":
            found += _of(container.ports)
    return tuple(found)


def _of(ports: tuple[ContainerPort, ...]) -> list[HostPort]:
    return [
        HostPort(port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for port in ports
        if port.host_port > 0
    ]


class PortUse:
    """The host ports taken on each slot."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken: dict[int, dict[HostPort, int]] = {}

    def count(self, slot: int, ports: tuple[HostPort, ...], sign: int) -> None:
        """Take (1) or free (-1) `ports` on `slot`; a port may be taken more than once."""
        taken = self._taken.setdefault(slot, {})
        for port in ports:
            left = taken.get(port, 0) + sign
            if left:
                taken[port] = left
            else:
                del taken[port]
        if not taken:
            del self._taken[slot]

    def conflicts(self, slot: int, ports: tuple[HostPort, ...]) -> bool:
        """Tell whether any of `ports` is taken on `slot`; the wildcard meets every address."""
        taken = self._taken.get(slot)
        if not taken:
            return False
        return any(
            ours.port == theirs.port
            and ours.protocol == theirs.protocol
            and (ours.ip == theirs.ip or ANY_ADDRESS in (ours.ip, theirs.ip))
            for ours in ports
            for theirs in taken
        )

    def slots(self) -> list[int]:
        """Return the slots where any host port is taken."""
        return list(self._taken)

"""Host ports in use, per slot.

Upstream: pkg/scheduler/framework/types.go, `HostPortInfo`; pkg/scheduler/util/utils.go,
`GetHostPorts`.
"""

from __future__ import annotations

from typing import NamedTuple

from podwright.apimachinery.objects import ContainerPort, Pod

ANY_ADDRESS = "0.0.0.0"


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

    __slots__ = ("_before_dry_run", "_slots", "_taken")

    def __init__(self) -> None:
        self._taken: dict[int, dict[HostPort, int]] = {}
        # The same the other way round: per protocol and port, address and slot.
        self._slots: dict[tuple[str, int], dict[str, dict[int, None]]] = {}
        self._before_dry_run: tuple[int, dict[HostPort, int]] | None = None

    def count(self, slot: int, ports: tuple[HostPort, ...], sign: int) -> None:
        """Take (1) or free (-1) `ports` on `slot`; a port may be taken more than once."""
        taken = self._taken.setdefault(slot, {})
        for port in ports:
            before = taken.get(port, 0)
            left = before + sign
            if self._before_dry_run is not None:
                # As in upstream's set, removing any pod frees the port, even if another pod
                # uses it.
                left = max(sign, 0)
            if left:
                taken[port] = left
                self._take(slot, port)
            elif before:
                del taken[port]
                self._free(slot, port)
        if not taken:
            del self._taken[slot]

    def begin_dry_run(self, slot: int) -> None:
        """Count as upstream's dry runs do, where a port is taken or not, until the end.

        Notes
        -----
        Upstream: staging/src/k8s.io/kube-scheduler/framework/types.go, `HostPortInfo`. The golden
        case is preemption-t-0107.
        """
        self._before_dry_run = (slot, dict(self._taken.get(slot, {})))

    def end_dry_run(self) -> None:
        """Restore the ports of the start of the dry run."""
        assert self._before_dry_run is not None, "no dry run has started"
        slot, before = self._before_dry_run
        self._before_dry_run = None
        now = self._taken.pop(slot, {})
        for port in now:
            if port not in before:
                self._free(slot, port)
        for port in before:
            if port not in now:
                self._take(slot, port)
        if before:
            self._taken[slot] = before

    def conflicts(self, slot: int, ports: tuple[HostPort, ...]) -> bool:
        """Return whether any of `ports` is taken on `slot`; the wildcard meets every address."""
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

    def conflicting_slots(self, ports: tuple[HostPort, ...]) -> list[int]:
        """Return the slots where any of `ports` is taken; a slot may be listed twice."""
        found: list[int] = []
        for ours in ports:
            for ip, slots in self._slots.get((ours.protocol, ours.port), {}).items():
                if ours.ip == ip or ANY_ADDRESS in (ours.ip, ip):
                    found += slots
        return found

    def slots(self) -> list[int]:
        """Return the slots where any host port is taken."""
        return list(self._taken)

    def _take(self, slot: int, port: HostPort) -> None:
        of_port = self._slots.setdefault((port.protocol, port.port), {})
        of_port.setdefault(port.ip, {})[slot] = None

    def _free(self, slot: int, port: HostPort) -> None:
        of_port = self._slots[port.protocol, port.port]
        slots = of_port[port.ip]
        del slots[slot]
        if not slots:
            del of_port[port.ip]
            if not of_port:
                del self._slots[port.protocol, port.port]

"""Host ports of pods.

Upstream: pkg/scheduler/util/utils.go (GetHostPorts), staging/src/k8s.io/kube-scheduler/framework/
types.go (HostPortInfo.CheckConflict).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

Document = dict[str, Any]

_ANY = "0.0.0.0"


class HostPort(NamedTuple):
    """A port on an address of the host."""

    ip: str
    protocol: str
    port: int

    def conflicts(self, other: HostPort) -> bool:
        """Whether two ports conflict on one host."""
        return (self.protocol, self.port) == (other.protocol, other.port) and (
            self.ip == other.ip or _ANY in {self.ip, other.ip}
        )


def host_ports(pod: Document) -> Iterator[HostPort]:
    """Yield the host ports of containers and sidecars; plain init containers do not count."""
    containers = list(pod["spec"].get("containers") or [])
    containers += [
        container
        for container in pod["spec"].get("initContainers") or []
        if container.get("restartPolicy") == "Always"
    ]
    for container in containers:
        for port in container.get("ports") or []:
            if port.get("hostPort", 0) > 0:
                yield HostPort(
                    port.get("hostIP") or _ANY, port.get("protocol") or "TCP", port["hostPort"]
                )

"""NodePorts: the host ports of a pod must be free on the node.

**What it does.** Rejects nodes where a host port of the pod is in use: same port, same
protocol, and the same address or one of the two addresses is 0.0.0.0.

**Why it matters.** Two such pods on one node could not both start.

**Configuration.** None.

**Example.** Two pods with ``hostPort: 80`` need two nodes; with one node the second pod is
pending with ``node(s) didn't have free ports for the requested pod ports``.

Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import HostPort, PortUse, host_ports
from podwright.scheduler.framework import (
    HOST_PORTS,
    NODE,
    POD,
    ActionType,
    Cycle,
    EventHint,
    Hint,
    NodeColumns,
    NodeView,
    Plugin,
    Reads,
    StateKey,
    Status,
    Verdicts,
)
from podwright.scheduler.plugins.hints.objects import only, queue_if

_REJECTION = Status.unschedulable("node(s) didn't have free ports for the requested pod ports")
_FEW_ROWS = 64
_HOST_PORTS: StateKey[tuple[HostPort, ...]] = StateKey("PreFilterNodePorts")


class NodePorts(Plugin):
    """Reject nodes where a host port of the pod is taken."""

    name = "NodePorts"
    key_reads_all_labels = False
    pre_filter_reads = Reads.NOTHING
    filter_reads = Reads.NODE | Reads.PODS

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return deleted pods and new nodes."""
        return (
            EventHint(POD, ActionType.DELETE, after_pod_deleted),
            EventHint(NODE, ActionType.ADD),
        )

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the numbers of the host ports.

        Upstream leaves out protocol and address, and counts every init container.
        """
        containers = (*pod.spec.containers, *pod.spec.init_containers)
        ports = {port.host_port for container in containers for port in container.ports}
        return {HOST_PORTS: sorted(ports - {0})}

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the host ports."""
        return host_ports(pod)

    def pre_filter(self, cycle: Cycle) -> Status:
        """Skip pods without host ports."""
        requested = host_ports(cycle.pod)
        if not requested:
            return Status.SKIPPED
        cycle.write(_HOST_PORTS, requested)
        return Status.OK

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject nodes with a conflict."""
        ports = cycle.cluster.ports
        requested = cycle.read(_HOST_PORTS)
        code = out.code_of(_REJECTION)
        # Finding all slots with a conflict costs the same for any number of rows.
        if len(out.rows) <= _FEW_ROWS:
            for slot in out.rows.tolist():
                out.codes[slot] = code if ports.conflicts(slot, requested) else 0
        else:
            out.codes[out.rows] = 0
            out.codes[ports.conflicting_slots(requested)] = code

    def rejection_details(self, cycle: Cycle, node: NodeView) -> list[str]:
        """Return the ports that are taken, and the pods that have them."""
        requested = cycle.read(_HOST_PORTS)
        return [
            f"host port {port.port}/{port.protocol} is taken by pod {pod.key}"
            for port in dict.fromkeys(requested)
            for pod in node.pods
            if _has(pod, port)
        ]


def _has(pod: Pod, *ports: HostPort) -> bool:
    use = PortUse()
    use.count(0, host_ports(pod), 1)
    return use.conflicts(0, ports)


# The hints of events: whether one may have undone the rejection of a pod.


def after_pod_deleted(pod: Pod, old: object | None, _new: object | None) -> Hint:
    """Queue if the deleted pod used a port that the pod requests."""
    deleted = only(Pod, old)
    if not deleted.spec.node_name and not deleted.status.nominated_node_name:
        return Hint.SKIP
    return queue_if(_has(deleted, *host_ports(pod)))

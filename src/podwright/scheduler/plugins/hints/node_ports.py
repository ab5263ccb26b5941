"""NodePorts: deleted pods that free ports.

Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go
"""

from __future__ import annotations

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import PortUse, host_ports
from podwright.scheduler.framework import NODE, POD, ActionType, EventHint, Hint
from podwright.scheduler.plugins.hints.objects import only, queue_if


def events_to_register() -> tuple[EventHint, ...]:
    """Return deleted pods and new nodes."""
    return (
        EventHint(POD, ActionType.DELETE, after_pod_deleted),
        EventHint(NODE, ActionType.ADD),
    )


def after_pod_deleted(pod: Pod, old: object | None, _new: object | None) -> Hint:
    """Queue if the deleted pod used a port that the pod requests."""
    deleted = only(Pod, old)
    if not deleted.spec.node_name and not deleted.status.nominated_node_name:
        return Hint.SKIP
    use = PortUse()
    use.count(0, host_ports(deleted), 1)
    return queue_if(use.conflicts(0, host_ports(pod)))

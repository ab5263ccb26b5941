"""NodeName: a pod with a node name fits only on that node.

**What it does.** Rejects every node but the one in ``spec.nodeName``.

**Why it matters.** Pods are rarely created with a node name; those that are must run on that node.

**Configuration.** None.

**Example.** ``spec.nodeName: n1`` allows n1; the other nodes are rejected with ``node(s) didn't
match the requested node name``.

Upstream: pkg/scheduler/framework/plugins/nodename/node_name.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import (
    NODE,
    NODE_NAME,
    ActionType,
    Cycle,
    EventHint,
    NodeColumns,
    Plugin,
    Reads,
    Status,
    Verdicts,
)

_REJECTION = Status.unresolvable("node(s) didn't match the requested node name")


class NodeName(Plugin):
    """Reject all nodes but the one that the pod names."""

    name = "NodeName"
    key_reads_all_labels = False
    filter_reads = Reads.NODE

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return new nodes; upstream does not compare the name."""
        return (EventHint(NODE, ActionType.ADD),)

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the requested node's name."""
        return {NODE_NAME: pod.spec.node_name}

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the requested node's name."""
        return pod.spec.node_name

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Pass the node of that name."""
        name = cycle.pod.spec.node_name
        if not name:
            return
        out.codes[out.rows] = out.code_of(_REJECTION)
        slot = nodes.slot_of.get(name)
        if slot is not None:
            out.codes[slot] = 0

"""The Events of the autoscaler, in upstream's words."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import KubernetesObject, Node
from podwright.cluster.api import RecordEvent
from podwright.cluster.store import kind_of

NAME: Final = "cluster-autoscaler"
"""The name of the controller, and the source of its Events."""

_STATUS: Final = ("", "ConfigMap", "kube-system/cluster-autoscaler-status")
"""The object of Events that are about groups."""


def object_event(
    obj: KubernetesObject, reason: str, note: str, severity: str = "Normal"
) -> RecordEvent:
    """Return an Event about an object."""
    group, kind = kind_of(obj)
    return RecordEvent(group, kind, obj.key, obj.uid, severity, reason, note, NAME)


def status_event(severity: str, reason: str, note: str) -> RecordEvent:
    """Return an Event about the autoscaler and its groups."""
    return RecordEvent(*_STATUS, "", severity, reason, note, NAME)


def is_node_ready(node: Node) -> bool:
    """Return whether the condition Ready of a node is true."""
    return any(each.type == "Ready" and each.status == "True" for each in node.status.conditions)

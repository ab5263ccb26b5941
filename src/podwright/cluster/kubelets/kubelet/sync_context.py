"""What the parts of a sync share: the pod, its record and the time, and what the sync collects."""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Document, Pod
from podwright.cluster.api import RecordEvent, UpdateObject
from podwright.cluster.kubelets.kubelet.kubelet_node import KubeletNode
from podwright.cluster.kubelets.kubelet.pod_records import (
    ContainerKind,
    ContainerRecord,
    PodRecord,
    containers_of,
)

_LISTS: Final[dict[ContainerKind, str]] = {
    "init": "initContainers",
    "sidecar": "initContainers",
    "app": "containers",
    "ephemeral": "ephemeralContainers",
}


class SyncContext:
    """The context of a sync of one pod at one time.

    Parameters
    ----------
    pod : Pod
    record : PodRecord
        Is changed.
    node : KubeletNode
        The node of the pod.
    now_ns : int

    Attributes
    ----------
    document, metadata, spec : dict
        Of the pod.
    containers : list of (ContainerKind, dict)
        Of the pod, in the order in which they start.
    events : list of RecordEvent
    writes : list of UpdateObject
        Of the claims that were prepared.
    due_ns : int, optional
        When the pod has to be synced again; None for not before it changes.
    """

    def __init__(self, pod: Pod, record: PodRecord, node: KubeletNode, now_ns: int) -> None:
        self.pod = pod
        self.document: Document = pod.raw
        self.metadata: Document = pod.raw["metadata"]
        self.spec: Document = pod.raw.get("spec") or {}
        self.containers = containers_of(self.spec)
        self.record = record
        self.node = node
        self.now_ns = now_ns
        self.events: list[RecordEvent] = []
        self.writes: list[UpdateObject] = []
        self.due_ns: int | None = None

    def sync_at(self, due_ns: int) -> None:
        """Sync the pod again at a time, or earlier."""
        if self.due_ns is None or due_ns < self.due_ns:
            self.due_ns = due_ns

    def event(self, event_type: str, reason: str, note: str, field_path: str = "") -> None:
        """Record an Event of the pod."""
        self.events.append(self.node.event_of(self.pod, event_type, reason, note, field_path))

    def container_event(
        self, known: ContainerRecord, event_type: str, reason: str, note: str
    ) -> None:
        """Record an Event of a container."""
        self.event(event_type, reason, note, f"spec.{_LISTS[known.kind]}{{{known.name}}}")

    @property
    def pod_text(self) -> str:
        """The pod as Events of the kubelet name it."""
        metadata = self.metadata
        return f"{metadata['name']}_{metadata.get('namespace', '')}({metadata.get('uid', '')})"

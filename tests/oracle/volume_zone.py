"""VolumeZone: volumes with zone and region labels.

Upstream: pkg/scheduler/framework/plugins/volumezone/volume_zone.go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.oracle.cluster import Node, labels_of
from tests.oracle.plugin import (
    SKIP_FILTER,
    Document,
    Plugin,
    PreFilter,
    Rejection,
    unresolvable,
)
from tests.oracle.volumes import claims_of, class_of, get_claim

_BETA_TO_GA = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_LABELS = [*_BETA_TO_GA, *_BETA_TO_GA.values()]


class VolumeLabel(NamedTuple):
    """A topology label of a volume; several zones are joined by `__`."""

    key: str
    values: set[str]


class VolumeZone(Plugin):
    """Reject nodes outside the zones of the pod's volumes."""

    name = "VolumeZone"

    def _labels(self, pod: Document) -> list[VolumeLabel] | Rejection:
        found: list[VolumeLabel] = []
        for claim in claims_of(pod, with_ephemeral=False):
            document = get_claim(self.cluster, pod, claim.name)
            if document is None:
                return unresolvable(f'persistentvolumeclaim "{claim.name}" not found')
            volume_name = document["spec"].get("volumeName")
            if not volume_name:
                if reason := self._unbound_reason(document):
                    return unresolvable(reason)
                continue
            volume = self.cluster.get("PersistentVolume", volume_name)
            if volume is None:
                return unresolvable(f'persistentvolume "{volume_name}" not found')
            labels = labels_of(volume)
            for key in _LABELS:
                # A label with an empty part is ignored (LabelZonesToSet).
                values = {value.strip() for value in labels.get(key, "").split("__")}
                if key in labels and "" not in values:
                    found.append(VolumeLabel(key, values))
        return found

    def _unbound_reason(self, claim: Document) -> str | None:
        name = class_of(claim)
        if not name:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = self.cluster.get("StorageClass", name)
        if storage_class is None:
            return f'storageclass.storage.k8s.io "{name}" not found'
        mode = storage_class.get("volumeBindingMode")
        if mode is None:
            return f'VolumeBindingMode not set for StorageClass "{name}"'
        return None if mode == "WaitForFirstConsumer" else "PersistentVolume had no name"

    def pre_filter(self, pod: Document) -> PreFilter:
        """Collect the topology labels of the bound volumes."""
        labels = self._labels(pod)
        if isinstance(labels, Rejection):
            return PreFilter(rejection=labels)
        return PreFilter(state=labels) if labels else SKIP_FILTER

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node; a node without topology labels passes."""
        if not any(key in node.labels for key in _LABELS):
            return None
        labels = self._labels(pod) if state is None else state
        if isinstance(labels, Rejection):
            return labels
        for label in labels:
            value = node.labels.get(label.key)
            if value is None:
                value = node.labels.get(_BETA_TO_GA.get(label.key, label.key))
            if value is None or value not in label.values:
                return unresolvable("node(s) had no available volume zone")
        return None

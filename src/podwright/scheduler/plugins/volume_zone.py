"""VolumeZone: nodes must be in the zones of the pod's volumes.

**What it does.** Rejects nodes whose zone or region is none of those in the labels of the
pod's bound volumes. A label may list several zones, ``us-east-1a__us-east-1b``. Nodes without
any zone or region label pass.

**Why it matters.** Older volumes without node affinity have only labels for their zone.

**Configuration.** None.

**Example.** A volume with ``topology.kubernetes.io/zone: a`` rejects nodes in zone b: ``node(s)
had no available volume zone``.

Upstream: pkg/scheduler/framework/plugins/volumezone/volume_zone.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar

import numpy as np

from podwright._arrays import Mask
from podwright.apimachinery.objects import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    ZONE,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from podwright.scheduler.columns import (
    ABSENT,
    MULTI_ZONE_DELIMITER,
    NodeColumns,
    Reads,
    StorageIndex,
    any_of,
    claim_names,
    class_of,
)
from podwright.scheduler.framework import (
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    STORAGE_CLASS,
    ActionType,
    Cycle,
    EventHint,
    Hint,
    Plugin,
    PreFilterResult,
    StateKey,
    Status,
    Verdicts,
    volumes_fragment,
)
from podwright.scheduler.plugins.hints.objects import after_named_claim, changed, queue_if

ZONE_CONFLICT = Status.unresolvable("node(s) had no available volume zone")

TOPOLOGY_LABELS = (BETA_ZONE, BETA_REGION, ZONE, REGION)
_SUCCESSORS = {BETA_ZONE: ZONE, BETA_REGION: REGION}

Topologies = tuple[tuple[str, frozenset[str]], ...]
"""Labels and the values that a node may have there."""

_STATE: StateKey[Topologies] = StateKey("PreFilterVolumeZone")


def volume_topologies(volume: PersistentVolume) -> Topologies:
    """Return where a volume is, by its labels; lists with an empty zone are passed over."""
    found: list[tuple[str, frozenset[str]]] = []
    for key in TOPOLOGY_LABELS:
        text = volume.metadata.labels.get(key)
        if text is None:
            continue
        zones = frozenset(zone.strip() for zone in text.split(MULTI_ZONE_DELIMITER))
        if "" not in zones:
            found.append((key, zones))
    return tuple(found)


class VolumeZone(Plugin):
    """Keep pods in the zones of their volumes."""

    name = "VolumeZone"
    key_reads_all_labels = False
    pre_filter_reads: ClassVar[Reads] = Reads.STORAGE
    filter_reads: ClassVar[Reads] = Reads.NODE | Reads.STORAGE

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return classes that wait for pods, nodes, claims and volumes."""
        add_or_update = ActionType.ADD | ActionType.UPDATE
        return (
            EventHint(STORAGE_CLASS, ActionType.ADD, after_class_added),
            EventHint(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL),
            EventHint(PERSISTENT_VOLUME_CLAIM, add_or_update, after_named_claim),
            EventHint(PERSISTENT_VOLUME, add_or_update, after_volume_change),
        )

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the volumes."""
        return volumes_fragment(pod)

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the claims; ephemeral ones do not count here."""
        names = claim_names(pod)
        return (pod.metadata.namespace, names) if names else ()

    def pre_filter(self, cycle: Cycle) -> Status | PreFilterResult:
        """Find the zones and regions of the pod's volumes; skip if none has any."""
        found = _topologies(cycle)
        if isinstance(found, Status):
            return found
        if not found:
            return Status.SKIPPED
        cycle.write(_STATE, found)
        return Status.OK

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject labelled nodes whose zone or region is not the volume's.

        Notes
        -----
        Without PreFilter the volumes are looked up here. Upstream: volume_zone.go, `Filter`
        """
        rows, topologies = out.rows, cycle.find(_STATE)
        if topologies is None:
            found = _topologies(cycle)
            if isinstance(found, Status):
                out.codes[rows] = out.code_of(found)
                return
            topologies = found
        # A node without any zone or region label passes, whatever the volume has.
        labelled: Mask = np.zeros(len(rows), dtype=np.bool_)
        for key in TOPOLOGY_LABELS:
            labelled |= nodes.label_ids(key)[rows] != ABSENT
        fits: Mask = np.ones(len(rows), dtype=np.bool_)
        for key, values in topologies:
            ids = nodes.label_ids(key)[rows]
            if key in _SUCCESSORS:
                # The volume may have the deprecated label, and the node only its successor.
                newer = nodes.label_ids(_SUCCESSORS[key])[rows]
                ids = np.where(ids == ABSENT, newer, ids)
            fits &= any_of(ids, values, nodes)
        out.codes[rows[labelled & ~fits]] = out.code_of(ZONE_CONFLICT)


def _topologies(cycle: Cycle) -> Topologies | Status:
    """Return the zones and regions of the pod's volumes, or why they are unknown."""
    namespace, storage = cycle.pod.metadata.namespace, cycle.cluster.storage
    found: list[tuple[str, frozenset[str]]] = []
    for name in claim_names(cycle.pod):
        if not name:
            return Status.unresolvable("PersistentVolumeClaim had no name")
        claim = storage.claims.get(f"{namespace}/{name}")
        if claim is None:
            return Status.unresolvable(f'persistentvolumeclaim "{name}" not found')
        volume_name = claim.spec.volume_name
        if not volume_name:
            status = _unbound(claim, storage)
            if status.is_success:
                continue
            return status
        volume = storage.volumes.get(volume_name)
        if volume is None:
            return Status.unresolvable(f'persistentvolume "{volume_name}" not found')
        found += volume_topologies(volume)
    return tuple(found)


def _unbound(claim: PersistentVolumeClaim, storage: StorageIndex) -> Status:
    """Pass over a claim that waits for its pod, reject any other that is not bound."""
    class_name = class_of(claim)
    if not class_name:
        return Status.unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
    storage_class = storage.classes.get(class_name)
    if storage_class is None:
        return Status.unresolvable(f'storageclass.storage.k8s.io "{class_name}" not found')
    if storage_class.volume_binding_mode is None:
        return Status.unresolvable(f'VolumeBindingMode not set for StorageClass "{class_name}"')
    if storage_class.volume_binding_mode == "WaitForFirstConsumer":
        return Status.OK
    return Status.unresolvable("PersistentVolume had no name")


# The hints of events: whether one may have undone the rejection of a pod.


def after_class_added(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the class binds when a pod comes."""
    _, storage_class = changed(StorageClass, old, new)
    return queue_if(storage_class.volume_binding_mode == "WaitForFirstConsumer")


def after_volume_change(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the volume is new or its topology labels changed."""
    before, after = changed(PersistentVolume, old, new)
    return queue_if(before is None or volume_topologies(before) != volume_topologies(after))

"""NodeVolumeLimits: the volumes of a node must not exceed the limits of its CSI drivers.

**What it does.** Counts, per driver, the volumes that the pods of a node use and those that a
VolumeAttachment names, each once, and rejects nodes where the pod's additional volumes would
exceed the limit in the node's CSINode. Cloud disks of in-tree plugins count for the CSI driver
that replaces them; a claim without a volume counts for its class's provisioner.

**Why it matters.** On a node beyond its limit, the pod waits for a volume that is never attached.

**Configuration.** None. With the gate VolumeLimitScaling, which is off by default, nodes whose
CSINode does not name a driver of the pod's volumes are also rejected, if its CSIDriver sets
``preventPodSchedulingIfMissing``.

**Example.** A node with 24 of 25 volumes rejects a pod with two new volumes: ``node(s) exceed
max volume count``.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import ClassVar

import numpy as np

from podwright._arrays import I32Array, Mask
from podwright.apimachinery.objects import CSINode, Pod, Volume, VolumeAttachment
from podwright.scheduler.columns import (
    CSIVolume,
    NodeColumns,
    Reads,
    StorageIndex,
    claim_uses,
    csi_volumes,
    has_ephemeral_claims,
    inline_volumes,
    migration_of,
)
from podwright.scheduler.config import DEFAULT_GATES, Gates
from podwright.scheduler.framework import (
    CSI_NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    VOLUME_ATTACHMENT,
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
from podwright.scheduler.plugins.hints.objects import (
    after_used_claim,
    changed,
    claim_name,
    migrated_driver,
    only,
    queue_if,
)

TOO_MANY = Status.unschedulable("node(s) exceed max volume count")

_STATE: StateKey[tuple[CSIVolume, ...] | Status] = StateKey("NodeVolumeLimits")


class NodeVolumeLimits(Plugin):
    """Attach no more volumes to a node than its CSI drivers take."""

    name = "NodeVolumeLimits"
    key_reads_all_labels = False
    pre_filter_reads: ClassVar[Reads] = Reads.STORAGE
    filter_reads: ClassVar[Reads] = Reads.NODE | Reads.PODS | Reads.STORAGE
    takes_gates: ClassVar[bool] = True

    def __init__(self, *, gates: Gates = DEFAULT_GATES) -> None:
        self._requires_drivers = "VolumeLimitScaling" in gates

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return CSI nodes, deleted pods, new claims and detached volumes."""
        return (
            EventHint(CSI_NODE, ActionType.ADD),
            EventHint(CSI_NODE, ActionType.UPDATE, after_csi_node_updated),
            EventHint(POD, ActionType.DELETE, after_pod_deleted),
            EventHint(PERSISTENT_VOLUME_CLAIM, ActionType.ADD, after_used_claim),
            EventHint(VOLUME_ATTACHMENT, ActionType.DELETE, after_attachment_deleted),
        )

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the volumes."""
        return volumes_fragment(pod)

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the claims and cloud disks; with ephemeral claims, also whose they are."""
        if not any(map(_may_count, pod.spec.volumes)):
            return ()
        uses = claim_uses(pod)
        owner = (pod.key, pod.metadata.uid) if has_ephemeral_claims(pod.spec) else ()
        return (pod.metadata.namespace, uses, inline_volumes(pod), owner)

    def key_is_of_template(self, pod: Pod) -> bool:
        """Return whether no claim is named after the pod."""
        return not has_ephemeral_claims(pod.spec)

    def pre_filter(self, cycle: Cycle) -> Status | PreFilterResult:
        """Skip pods without volumes that could count."""
        if not any(map(_may_count, cycle.pod.spec.volumes)):
            return Status.SKIPPED
        cycle.write(_STATE, _new_volumes(cycle))
        return Status.OK

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject the slots where attached and new volumes of a driver exceed its limit.

        Notes
        -----
        Upstream's Filter does not need its PreFilter, which only skips. Upstream: csi.go
        """
        new, rows = cycle.find(_STATE), out.rows
        if new is None:
            if not any(map(_may_count, cycle.pod.spec.volumes)):
                return
            new = _new_volumes(cycle)
        if isinstance(new, Status):
            out.codes[rows] = out.code_of(new)
            return
        storage = cycle.cluster.storage
        if self._requires_drivers:
            rows = _reject_without_driver(new, storage, rows, out)
        full: Mask = np.zeros(len(rows), dtype=np.bool_)
        for driver, count in Counter(volume.driver for volume in new).items():
            limits = storage.csi_nodes.limits(driver)
            if limits is None:
                continue
            limit = limits[rows]
            further = np.full(len(rows), count, dtype=np.int64)
            for volume in new:
                holders = storage.use.holders(volume) if volume.driver == driver else ()
                if holders:
                    # A volume that a pod of the node uses already is not attached again.
                    is_holder: Mask = np.zeros(nodes.n_slots, dtype=np.bool_)
                    is_holder[list(holders)] = True
                    further -= is_holder[rows]
            attached = storage.use.attached(driver)[rows]
            full |= (limit >= 0) & (further > 0) & (attached + further > limit)
        out.codes[rows[full]] = out.code_of(TOO_MANY)
        errors = storage.use.errors() if new else {}
        if errors:
            for slot in rows[np.isin(rows, list(errors))].tolist():
                # Upstream does not read the volumes of a node without limits (csi.go, Filter).
                if storage.csi_nodes.has_limits(slot):
                    out.reject_slot(slot, Status.error(errors[slot]))

    def filter_ignores_pods(self, cycle: Cycle) -> bool:
        """Return whether every node has room for the volumes, those of nominated pods included.

        Without pods there is more room, so the filter passes wherever it passes with all.
        """
        new, storage = cycle.find(_STATE), cycle.cluster.storage
        if isinstance(new, Status):
            return True  # the volumes cannot be counted on any node
        if new is None or storage.use.errors():
            return False
        counts = Counter(volume.driver for volume in new)
        limited = {
            driver: limits
            for driver in counts
            if (limits := storage.csi_nodes.limits(driver)) is not None
        }
        if not limited:
            return True
        nominated = cycle.cluster.nominated.values()
        volumes = [sum(len(pod.spec.volumes) for pod in there.values()) for there in nominated]
        more = max(volumes, default=0)
        return not any(
            np.any((limits >= 0) & (storage.use.attached(driver) + counts[driver] + more > limits))
            for driver, limits in limited.items()
        )


def _reject_without_driver(
    new: tuple[CSIVolume, ...], storage: StorageIndex, rows: I32Array, out: Verdicts
) -> I32Array:
    """Reject the slots that lack a driver whose absence keeps pods away; return the others.

    Notes
    -----
    Where several are missing, the reason names the driver of the first volume; upstream names
    any. Upstream: csi.go, `checkCSIDriverOnNode`
    """
    for name in dict.fromkeys(volume.driver for volume in new):
        driver = storage.csi_drivers.get(name)
        if driver is None or not driver.spec.prevent_pod_scheduling_if_missing:
            continue
        installed = storage.csi_nodes.installed(name)
        is_there: Mask = (
            np.zeros(len(rows), dtype=np.bool_) if installed is None else installed[rows] != 0
        )
        missing = Status.unschedulable(f"{name} CSI driver is not installed on the node")
        out.codes[rows[~is_there]] = out.code_of(missing)
        rows = rows[is_there]
    return rows


def _may_count(volume: Volume) -> bool:
    return (
        volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or migration_of(volume) is not None
    )


def _new_volumes(cycle: Cycle) -> tuple[CSIVolume, ...] | Status:
    """Return the CSI volumes of the pod, or why they cannot be counted on any node."""
    pod, storage = cycle.pod, cycle.cluster.storage
    for name, _ in claim_uses(pod):
        if name and f"{pod.metadata.namespace}/{name}" not in storage.claims:
            return Status.unresolvable(
                f"looking up PVC {pod.metadata.namespace}/{name}: "
                f'persistentvolumeclaim "{name}" not found'
            )
    found: dict[CSIVolume, None] = {}
    for volume in csi_volumes(pod, storage.claims.get, storage.csi_volume):
        if isinstance(volume, str):
            return Status.error(volume)
        found[volume] = None
    return tuple(found)


# The hints of events: whether one may have undone the rejection of a pod.


def after_csi_node_updated(_pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if a driver's limit grew."""
    before, after = changed(CSINode, old, new)
    return queue_if(
        before is not None
        and any(
            count > limits.get(driver, 0)
            for limits in (_limits(before),)
            for driver, count in _limits(after).items()
        )
    )


def after_pod_deleted(_pod: Pod, old: object | None, _new: object | None) -> Hint:
    """Queue if a placed pod with CSI volumes was deleted."""
    deleted = only(Pod, old)
    return queue_if(
        (deleted.spec.node_name or deleted.status.nominated_node_name)
        and any(
            claim_name(deleted, volume) is not None or migrated_driver(volume) is not None
            for volume in deleted.spec.volumes
        )
    )


def after_attachment_deleted(pod: Pod, old: object | None, _new: object | None) -> Hint:
    """Queue if the pod may need a volume of that driver."""
    attachment = only(VolumeAttachment, old)
    return queue_if(
        any(
            claim_name(pod, volume) is not None
            or migrated_driver(volume) == attachment.spec.attacher
            for volume in pod.spec.volumes
        )
    )


def _limits(csi_node: CSINode) -> dict[str, int]:
    return {
        driver.name: driver.allocatable.count
        for driver in csi_node.spec.drivers
        if driver.allocatable is not None and driver.allocatable.count is not None
    }

"""NodeVolumeLimits: the number of volumes that a CSI driver can attach to a node.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.oracle.cluster import Node, namespace_of
from tests.oracle.plugin import (
    SKIP_FILTER,
    Document,
    Plugin,
    PluginError,
    PreFilter,
    Rejection,
    unresolvable,
    unschedulable,
)
from tests.oracle.volumes import claims_of, class_of, foreign_ephemeral_claim, get_claim

# The plugin does not skip in-tree disks that are migrated to CSI drivers.
_MIGRATABLE = (
    "awsElasticBlockStore",
    "gcePersistentDisk",
    "azureDisk",
    "azureFile",
    "cinder",
    "portworxVolume",
    "vsphereVolume",
)


class NodeVolumeLimits(Plugin):
    """Count distinct volumes per driver."""

    name = "NodeVolumeLimits"

    def pre_filter(self, pod: Document) -> PreFilter:
        """Skip pods without relevant volumes."""
        volumes = pod["spec"].get("volumes") or []
        if claims_of(pod) or any(volume.get(kind) for volume in volumes for kind in _MIGRATABLE):
            return PreFilter()
        return SKIP_FILTER

    def _volume_of(self, claim: Document) -> tuple[str, str] | None:
        """Return (driver, handle) of a claim's volume (getCSIDriverInfo)."""
        volume_name = claim["spec"].get("volumeName")
        volume = self.cluster.get("PersistentVolume", volume_name) if volume_name else None
        if volume is not None:
            csi = volume["spec"].get("csi")
            return (csi["driver"], csi["volumeHandle"]) if csi else None
        # An unbound claim counts for the driver of its class.
        storage_class = self.cluster.get("StorageClass", class_of(claim) or "?")
        if storage_class is None:
            return None
        name = f"{namespace_of(claim)}/{claim['metadata']['name']}"
        return storage_class.get("provisioner", ""), f"unbound-{name}"

    def _volumes(self, pod: Document, *, is_new: bool) -> set[tuple[str, str]]:
        """Return the attachable volumes of a pod (filterAttachableVolumes)."""
        found = set()
        for claim in claims_of(pod):
            document = get_claim(self.cluster, pod, claim.name)
            if document is None:
                if is_new:
                    raise LookupError(
                        f"looking up PVC {namespace_of(pod)}/{claim.name}: "
                        f'persistentvolumeclaim "{claim.name}" not found'
                    )
                continue
            if claim.is_ephemeral and (error := foreign_ephemeral_claim(pod, document)):
                raise PluginError(error)
            volume = self._volume_of(document)
            if volume and all(volume):
                found.add(volume)
        return found

    def _attached(self, node: Node) -> set[tuple[str, str]]:
        """Return the volumes of the node's pods and of its VolumeAttachments."""
        attached = set()
        for other in node.pods:
            attached |= self._volumes(other, is_new=False)
        for attachment in self.cluster.all_of("VolumeAttachment"):
            spec = attachment["spec"]
            volume_name = (spec.get("source") or {}).get("persistentVolumeName")
            volume = self.cluster.get("PersistentVolume", volume_name) if volume_name else None
            if spec.get("nodeName") == node.name and volume and volume["spec"].get("csi"):
                attached.add((spec["attacher"], volume["spec"]["csi"]["volumeHandle"]))
        return attached

    def filter(self, state: Any, pod: Document, node: Node) -> Rejection | None:
        """Filter one node."""
        try:
            new = self._volumes(pod, is_new=True)
        except LookupError as error:
            return unresolvable(str(error))
        csi_node = self.cluster.get("CSINode", node.name)
        limits = {
            driver["name"]: driver["allocatable"]["count"]
            for driver in ((csi_node or {}).get("spec") or {}).get("drivers") or []
            if (driver.get("allocatable") or {}).get("count") is not None
        }
        if not new or not limits:
            return None
        attached = self._attached(node)
        have = Counter(driver for driver, _ in attached)
        want = Counter(driver for driver, _ in new - attached)
        for driver, count in want.items():
            if driver in limits and have[driver] + count > limits[driver]:
                return unschedulable("node(s) exceed max volume count")
        return None

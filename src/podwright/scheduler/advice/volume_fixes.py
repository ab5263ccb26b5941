"""The attach limits of nodes: why they reject a pod, and plans after which they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from podwright.apimachinery.objects import CSINode, Node, Pod, Volume, VolumeAttachment, with_fields
from podwright.scheduler.advice import pod_edits
from podwright.scheduler.advice.edits import Edit, Plan
from podwright.scheduler.columns import Cluster, CSIVolume, csi_volumes


class VolumeFixes:
    """Proposes plans for nodes whose CSI drivers attach no further volumes.

    Parameters
    ----------
    pod : Pod
    cluster : Cluster
    """

    def __init__(self, pod: Pod, cluster: Cluster) -> None:
        self._pod = pod
        self._cluster = cluster
        self._storage = cluster.storage
        # A volume of the driver may be named by several volumes of the pod.
        self._own: dict[CSIVolume, list[Volume]] = {}
        for volume in pod.spec.volumes:
            alone = with_fields(pod, "spec", volumes=(volume,))
            for found in csi_volumes(alone, self._storage.claims.get, self._storage.csi_volume):
                if isinstance(found, CSIVolume):
                    self._own.setdefault(found, []).append(volume)

    def of_node(self, node: Node) -> list[Plan]:
        """Return plans after which a node has room for the volumes of the pod."""
        slot = self._cluster.nodes.slot_of[node.name]
        new = [each for each in self._own if slot not in self._storage.use.holders(each)]
        excess = self._excess(slot, new)
        if not excess:
            return []
        stale = self._stale_attachments(node.name, slot)
        detached: list[Edit] = []
        removed: list[Edit] = []
        for driver, count in excess.items():
            detached += [
                _detach(attachment, node.name)
                for volume in [each for each in stale if each.driver == driver][:count]
                for attachment in stale[volume]
            ]
            removed += [
                pod_edits.remove_volume(each)
                for volume in [each for each in new if each.driver == driver][-count:]
                for each in self._own[volume]
            ]
        has_enough = all(
            sum(each.driver == driver for each in stale) >= count
            for driver, count in excess.items()
        )
        return [tuple(detached), tuple(removed)] if has_enough else [tuple(removed)]

    def refusals(self, node: Node) -> Iterator[str]:
        """Yield the drivers that attach no further volumes to a node, with the pod's claims."""
        slot = self._cluster.nodes.slot_of[node.name]
        new = [each for each in self._own if slot not in self._storage.use.holders(each)]
        for driver in self._excess(slot, new):
            names = dict.fromkeys(
                _claim_or_name(self._pod, volume)
                for each in new
                if each.driver == driver
                for volume in self._own[each]
            )
            attached = int(self._storage.use.attached(driver)[slot])
            yield (
                f"CSI driver {driver} attaches at most {dict(self.limits(node.name))[driver]}"
                f" volumes to the node and has attached {attached}; the pod adds {', '.join(names)}"
            )

    def _excess(self, slot: int, new: list[CSIVolume]) -> dict[str, int]:
        """Return, for each driver, how many volumes there would be beyond the limit of a node."""
        found: dict[str, int] = {}
        for driver, count in Counter(volume.driver for volume in new).items():
            limits = self._storage.csi_nodes.limits(driver)
            limit = -1 if limits is None else int(limits[slot])
            over = int(self._storage.use.attached(driver)[slot]) + count - limit
            if limit >= 0 and over > 0:
                found[driver] = over
        return found

    def _stale_attachments(
        self, node_name: str, slot: int
    ) -> dict[CSIVolume, list[VolumeAttachment]]:
        """Return the attachments of volumes that no pod on the node uses."""
        return {
            volume: list(attachments)
            for volume, attachments in self._storage.attached_to(node_name).items()
            if slot not in self._storage.use.holders(volume)
        }

    def csi_node(self, name: str, new_name: str) -> Iterator[CSINode]:
        """Yield the CSINode of a new node that is like another one, if that one has one."""
        found = self._storage.csi_nodes.copy_for(name, new_name)
        if found is not None:
            yield found

    def limits(self, name: str) -> tuple[tuple[str, int], ...]:
        """Return the limits of a node for the drivers of the pod's volumes."""
        slot = self._cluster.nodes.slot_of[name]
        drivers = sorted({volume.driver for volume in self._own})
        columns = {driver: self._storage.csi_nodes.limits(driver) for driver in drivers}
        return tuple(
            (driver, -1 if limits is None else int(limits[slot]))
            for driver, limits in columns.items()
        )


def _detach(attachment: VolumeAttachment, node_name: str) -> Edit:
    name = attachment.metadata.name
    return Edit(
        key=("detach", name),
        text=f"delete VolumeAttachment {name}, whose volume no pod on node {node_name} uses",
        effort=3.4,
        command=f"kubectl delete volumeattachment {name}",
        node=node_name,
        drop=(attachment,),
    )


def _claim_or_name(pod: Pod, volume: Volume) -> str:
    if volume.persistent_volume_claim is not None:
        return f"claim {pod.namespace}/{volume.persistent_volume_claim.claim_name}"
    if volume.ephemeral is not None:
        return f"claim {pod.namespace}/{pod.name}-{volume.name}"
    return f"volume {volume.name}"

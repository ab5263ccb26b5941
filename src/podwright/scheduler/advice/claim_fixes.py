"""Plans for claims and volumes: claims to create, classes to use, labels for access to volumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from podwright.apimachinery.objects import (
    CSINode,
    Node,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    Volume,
    VolumeAttachment,
    decode_as,
    with_fields,
)
from podwright.scheduler.advice import node_edits, pod_edits
from podwright.scheduler.advice.edits import Edit, Plan
from podwright.scheduler.columns import Cluster, CSIVolume, claim_names, class_of, csi_volumes


class ClaimFixes:
    """Proposes plans for the claims of a pod.

    Parameters
    ----------
    pod : Pod
    cluster : Cluster
    """

    def __init__(self, pod: Pod, cluster: Cluster) -> None:
        self._pod = pod
        self._cluster = cluster

    def plans(self) -> Iterator[Plan]:
        """Yield plans for claims that do not exist or that are not provisioned."""
        claims = {
            name: self._cluster.storage.claim(f"{self._pod.metadata.namespace}/{name}")
            for name in claim_names(self._pod)
        }
        missing = [name for name, claim in claims.items() if claim is None]
        waiting = [
            claim for claim in claims.values() if claim is not None and not claim.spec.volume_name
        ]
        known = self._cluster.storage.classes
        absent = dict.fromkeys(
            name for claim in waiting if (name := class_of(claim)) and name not in known
        )
        create = tuple(_new_class(name) for name in absent)
        delayed = [each for each in self._classes() if _is_delayed(each)]
        if missing:
            for storage_class in self._classes():
                claim_edits = (self._new_claim(name, storage_class) for name in missing)
                yield (*claim_edits, *create)
        elif create:
            yield create
        if not missing and waiting:
            for storage_class in delayed:
                yield tuple(_with_class(claim, storage_class.name) for claim in waiting)
            if not delayed and not create:
                name = next(n for n in ("standard", "standard-delayed") if n not in known)
                yield (_new_class(name), *(_with_class(claim, name) for claim in waiting))

    def _classes(self) -> list[StorageClass]:
        """Return the classes, the default one first."""
        mark = "storageclass.kubernetes.io/is-default-class"
        classes = self._cluster.storage.classes.values()
        return sorted(classes, key=lambda c: (c.metadata.annotations.get(mark) != "true", c.name))

    def _new_claim(self, name: str, storage_class: StorageClass) -> Edit:
        document = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": self._pod.metadata.namespace},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": storage_class.name,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        claim = decode_as(document, PersistentVolumeClaim)
        return Edit(
            key=("claim", name),
            text=f"create PersistentVolumeClaim {name} with storageClassName {storage_class.name}",
            effort=2.0,
            put=(claim,),
        )

    def volume_labels(self, node: Node) -> dict[str, str]:
        """Return the labels that a node needs in order to access the volumes of the pod."""
        storage = self._cluster.storage
        labels: dict[str, str] = {}
        for name in claim_names(self._pod):
            claim = storage.claim(f"{self._pod.metadata.namespace}/{name}")
            volume = None if claim is None else storage.volume(claim.spec.volume_name)
            if volume is None:
                continue
            for key, value in volume.metadata.labels.items():
                if key.endswith(("/zone", "/region")):
                    # The label of a volume in several zones joins them by two underscores.
                    labels[key] = value.split("__")[0]
            affinity = volume.spec.node_affinity
            terms = (
                ()
                if affinity is None or affinity.required is None
                else (affinity.required.node_selector_terms)
            )
            for expression in terms[0].match_expressions if terms else ():
                is_in = expression.operator == "In" and expression.values
                # The host name of a local volume belongs to one node: no other node can have it.
                if is_in and expression.key != node_edits.HOSTNAME:
                    labels[expression.key] = expression.values[0]
        return {k: v for k, v in labels.items() if node.metadata.labels.get(k) != v}


def _is_delayed(storage_class: StorageClass) -> bool:
    """Return whether volumes of a class are provisioned for the node of their pod."""
    return storage_class.volume_binding_mode == "WaitForFirstConsumer"


def _new_class(name: str) -> Edit:
    document = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    return Edit(
        key=("class", name),
        text=f"create StorageClass {name} with volumeBindingMode: WaitForFirstConsumer",
        effort=2.5,
        put=(decode_as(document, StorageClass),),
    )


def _with_class(claim: PersistentVolumeClaim, name: str) -> Edit:
    return Edit(
        key=("claim class", claim.key),
        text=f"use storageClassName {name} in PersistentVolumeClaim {claim.key}",
        effort=2.3,
        put=(with_fields(claim, "spec", storage_class_name=name),),
    )


# The attach limits of nodes: why they reject a pod, and plans after which they do not.


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
        columns = {v.driver: self._storage.csi_nodes.limits(v.driver) for v in self._own}
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

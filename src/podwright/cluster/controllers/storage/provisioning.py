"""Dynamic provisioning: the volume that a CSI provisioner creates for a claim.

The volume is named after the uid of the claim and has its storage class. Its node affinity comes
from the node that the scheduler selected; without one, from the class's allowed topologies or
from a zone of the cluster, chosen by a hash of the claim's uid.

Upstream: github.com/kubernetes-csi/external-provisioner pkg/controller/controller.go and
topology.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final

from podwright.apimachinery.objects import (
    CSINode,
    Document,
    KubernetesObject,
    Node,
    PersistentVolumeClaim,
    StorageClass,
    encode,
    timestamp_ns,
    timestamp_text,
)
from podwright.apimachinery.schema import decode
from podwright.cluster.api import section
from podwright.cluster.controllers.kinds import CSI_NODE, NODE
from podwright.cluster.controllers.lister import Lister

PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
IS_DEFAULT: Final = "storageclass.kubernetes.io/is-default-class"
ZONE: Final = "topology.kubernetes.io/zone"


def default_class(classes: Iterable[StorageClass]) -> str | None:
    """Return the name of the default class; the newest one of several.

    Notes
    -----
    Upstream: pkg/volume/util/storageclass.go, GetDefaultClass
    """
    defaults = [each for each in classes if each.metadata.annotations.get(IS_DEFAULT) == "true"]
    defaults.sort(
        key=lambda each: (-(timestamp_ns(each.metadata.creation_timestamp) or 0), each.name)
    )
    return defaults[0].name if defaults else None


def volume_name(claim: PersistentVolumeClaim) -> str:
    """Return the name of the volume provisioned for a claim."""
    return f"pvc-{claim.uid}"


def provisioned(
    lister: Lister, claim: PersistentVolumeClaim, storage_class: StorageClass, now_ns: int
) -> KubernetesObject:
    """Return the provisioned volume of a claim, with a claimRef to it."""
    written = section(claim, "spec")
    capacity = (written.get("resources") or {}).get("requests") or {}
    spec: Document = {
        "accessModes": list(claim.spec.access_modes),
        "capacity": {"storage": capacity.get("storage", "0")},
        "claimRef": reference_to(claim),
        **_source(claim, storage_class),
        "persistentVolumeReclaimPolicy": storage_class.reclaim_policy or "Delete",
        "storageClassName": storage_class.name,
        "volumeMode": claim.spec.volume_mode or "Filesystem",
    }
    if storage_class.mount_options:
        spec["mountOptions"] = list(storage_class.mount_options)
    expressions = _topology(lister, claim, storage_class)
    if expressions:
        terms = [{"matchExpressions": expressions}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": volume_name(claim),
            "annotations": {PROVISIONED_BY: storage_class.provisioner},
            "finalizers": ["kubernetes.io/pv-protection"],
        },
        "spec": spec,
        "status": {"phase": "Pending", "lastPhaseTransitionTime": timestamp_text(now_ns)},
    }
    return decode(volume, source=f"the volume of PersistentVolumeClaim {claim.key}")


def _source(claim: PersistentVolumeClaim, storage_class: StorageClass) -> Document:
    """Return the source of a volume: of CSI, or a directory if the name is not one of a driver.

    The provisioners of kind (`rancher.io/local-path`) and minikube (`k8s.io/minikube-hostpath`)
    make directories, and the names of CSI drivers have no slash.
    """
    if "/" in storage_class.provisioner:
        return {"hostPath": {"path": f"/{volume_name(claim)}", "type": "DirectoryOrCreate"}}
    source: Document = {
        "driver": storage_class.provisioner,
        "fsType": "ext4",
        "volumeHandle": f"vol-{_digest(claim.uid)[:17]}",
    }
    if storage_class.parameters:
        source["volumeAttributes"] = dict(storage_class.parameters)
    return {"csi": source}


def reference_to(claim: PersistentVolumeClaim) -> Document:
    """Return the claimRef of a claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": claim.name,
        "namespace": claim.namespace,
        "resourceVersion": claim.metadata.resource_version,
        "uid": claim.uid,
    }


def _topology(
    lister: Lister, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> list[Document]:
    """Return the label requirements of nodes that can access the volume."""
    selected = claim.metadata.annotations.get(SELECTED_NODE)
    node = lister.get(NODE, selected) if selected else None
    if isinstance(node, Node):
        labels = node.metadata.labels
        keys = _topology_keys(lister, node, storage_class.provisioner)
        return [_is_in(key, labels[key]) for key in keys if key in labels]
    if storage_class.allowed_topologies:
        choices: list[list[Document]] = [
            [_is_in(term.key, value) for term in topology.match_label_expressions[:1]]
            + [_is_in(term.key, term.values[0]) for term in topology.match_label_expressions[1:]]
            for topology in storage_class.allowed_topologies
            for value in topology.match_label_expressions[0].values
        ]
        return choices[_choice(claim, len(choices))]
    zones = sorted(
        {
            zone
            for each in lister.all(NODE).values()
            if (zone := each.metadata.labels.get(ZONE)) is not None
        }
    )
    return [_is_in(ZONE, zones[_choice(claim, len(zones))])] if zones else []


def _topology_keys(lister: Lister, node: Node, driver: str) -> Sequence[str]:
    csi_node = lister.get(CSI_NODE, node.name)
    if isinstance(csi_node, CSINode):
        for entry in csi_node.spec.drivers:
            if entry.name == driver:
                return entry.topology_keys
    return (ZONE,)


def _is_in(key: str, value: str) -> Document:
    return {"key": key, "operator": "In", "values": [value]}


def _choice(claim: PersistentVolumeClaim, count: int) -> int:
    return int(_digest(claim.uid or str(encode(claim))), 16) % count


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()

"""The common parts of the volume plugins: claims of a pod, classes, node affinity of volumes.

Upstream: component-helpers/storage/volume/helpers.go, component-helpers/storage/ephemeral/

ephemeral.go.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.oracle.cluster import Cluster, Node, namespace_of
from tests.oracle.selectors import matches_node_selector

Document = dict[str, Any]


class Claim(NamedTuple):
    """The name of a claim that a pod uses, and whether it is created from the pod's template."""

    name: str
    is_ephemeral: bool


def claims_of(pod: Document, *, with_ephemeral: bool = True) -> list[Claim]:
    """Return the claims of a pod, in the order of its volumes."""
    claims = []
    for volume in pod["spec"].get("volumes") or []:
        if volume.get("persistentVolumeClaim"):
            claims.append(Claim(volume["persistentVolumeClaim"].get("claimName", ""), False))
        elif volume.get("ephemeral") and with_ephemeral:
            claims.append(Claim(f"{pod['metadata']['name']}-{volume['name']}", True))
    return claims


def get_claim(cluster: Cluster, pod: Document, name: str) -> Document | None:
    """Return a claim of the pod's namespace."""
    return cluster.get("PersistentVolumeClaim", name, namespace_of(pod))


def foreign_ephemeral_claim(pod: Document, claim: Document) -> str | None:
    """Return the error if the claim was not created for the pod (ephemeral.VolumeIsForPod)."""
    owners = claim["metadata"].get("ownerReferences") or []
    controller = next((one for one in owners if one.get("controller")), None)
    if controller and controller.get("uid") == pod["metadata"].get("uid"):
        return None
    namespace, name = namespace_of(pod), claim["metadata"]["name"]
    return (
        f"PVC {namespace}/{name} was not created for pod "
        f"{namespace}/{pod['metadata']['name']} (pod is not owner)"
    )


def class_of(document: Document) -> str:
    """Return the storage class of a claim or a volume; the annotation has precedence."""
    annotations = document["metadata"].get("annotations") or {}
    beta = annotations.get("volume.beta.kubernetes.io/storage-class")
    if beta is not None:
        return str(beta)
    return document["spec"].get("storageClassName") or ""


def reaches(volume: Document, node: Node) -> bool:
    """Whether the volume's node affinity matches the node (CheckNodeAffinity)."""
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    return required is None or matches_node_selector(required, node.document)

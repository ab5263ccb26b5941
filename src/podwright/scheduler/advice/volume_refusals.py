"""Why nodes cannot use the volumes of a pod, with the names of claims, volumes and their zones."""

from __future__ import annotations

from collections.abc import Iterator

from podwright.apimachinery.objects import (
    Node,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    node_selector,
)
from podwright.scheduler.columns import READ_WRITE_ONCE_POD, Cluster, claim_names, class_of

_ZONE_LABELS = ("/zone", "/region")


def unusable_volumes(pod: Pod, node: Node, cluster: Cluster) -> Iterator[str]:
    """Yield what the claims of a pod have against a node: bound volumes and where they are."""
    yield from unbound_claims(pod, cluster)
    for claim in _claims(pod, cluster):
        volume = cluster.storage.volume(claim.spec.volume_name)
        if volume is not None and (place := _other_place(volume, node)):
            yield f"PersistentVolume {volume.name} of claim {claim.key} is in {place}"


def unbound_claims(pod: Pod, cluster: Cluster) -> Iterator[str]:
    """Yield the claims of a pod without a volume, with their classes."""
    for claim in _claims(pod, cluster):
        name = claim.spec.volume_name
        if not name:
            yield _unbound(claim, cluster)
        elif cluster.storage.volume(name) is None:
            yield f"PersistentVolume {name} of claim {claim.key} does not exist"


def exclusive_claims(pod: Pod, cluster: Cluster) -> Iterator[str]:
    """Yield the claims of a pod that only one pod may use."""
    for claim in _claims(pod, cluster):
        if READ_WRITE_ONCE_POD in claim.spec.access_modes:
            yield f"claim {claim.key} has access mode {READ_WRITE_ONCE_POD} and is in use"


def _claims(pod: Pod, cluster: Cluster) -> Iterator[PersistentVolumeClaim]:
    for name in claim_names(pod):
        claim = cluster.storage.claim(f"{pod.namespace}/{name}")
        if claim is not None:
            yield claim


def _unbound(claim: PersistentVolumeClaim, cluster: Cluster) -> str:
    name = class_of(claim)
    kind = f"storage class {name}" if name else "no storage class"
    known = "" if not name or name in cluster.storage.classes else ", which does not exist"
    return f"claim {claim.key} ({kind}{known}) is not bound to a PersistentVolume"


def _other_place(volume: PersistentVolume, node: Node) -> str:
    """Return where a volume is, if a node cannot use it there; "" otherwise."""
    labels = node.metadata.labels
    affinity = volume.spec.node_affinity
    required = None if affinity is None else affinity.required
    if required is not None and not node_selector(required).matches(node.name, labels):
        return " or ".join(map(_term_text, required.node_selector_terms)) or "no node"
    zones = {
        key: value
        for key, value in volume.metadata.labels.items()
        if key.endswith(_ZONE_LABELS) and key in labels and labels[key] not in value.split("__")
    }
    return " and ".join(f"{key}={value}, the node in {labels[key]}" for key, value in zones.items())


def _term_text(term: NodeSelectorTerm) -> str:
    parts = []
    for each in (*term.match_expressions, *term.match_fields):
        values = ", ".join(each.values)
        is_one = each.operator == "In" and len(each.values) == 1
        parts.append(f"{each.key}={values}" if is_one else f"{each.key} {each.operator} [{values}]")
    return " and ".join(parts)

"""Plans for claims and volumes: claims to create, classes to use, labels for access to volumes."""

from __future__ import annotations

from collections.abc import Iterator

from podwright.apimachinery.objects import (
    Node,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    decode_as,
    with_fields,
)
from podwright.scheduler.advice import node_edits
from podwright.scheduler.advice.edits import Edit, Plan
from podwright.scheduler.columns import Cluster, claim_names, class_of


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

"""From a template to a pod.

A template is read once; what all pods of one owner have in common they share, the document of
their spec included, so that whoever completes pods does it once for all of them.

Upstream: pkg/controller/controller_utils.go, GetPodFromTemplate
"""

from __future__ import annotations

from typing import Any

import msgspec

from podwright.controllers.adoption import controller_reference
from podwright.controllers.lister import Lister
from podwright.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    ObjectMeta,
    Pod,
    decode_pod,
)
from podwright.store import GroupKind

_METADATA = ("labels", "annotations", "finalizers")


def controller_reference_document(owner: KubernetesObject) -> Document:
    """Return the reference by which an owner controls what it makes, as documents have it."""
    reference = controller_reference(owner)
    return {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "name": reference.name,
        "uid": reference.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_from_template(owner: KubernetesObject, template: Document) -> Pod:
    """Return the pod that an owner makes of a template; its name is left to the store.

    Parameters
    ----------
    owner : KubernetesObject
        Who controls it.
    template : dict
        The document of a pod template.

    Raises
    ------
    InvalidObject
        The template is not one.
    """
    written: Document = template.get("metadata") or {}
    metadata: dict[str, Any] = {
        "generateName": f"{owner.name}-",
        "namespace": owner.namespace,
        "ownerReferences": [controller_reference_document(owner)],
    }
    for name in _METADATA:
        if written.get(name):
            metadata[name] = written[name]
    document: Document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }
    return decode_pod(document, source=f"{owner.kind} {owner.key}: template")


def owners_with_priority_class(lister: Lister, kind: GroupKind, name: str) -> list[NamespacedName]:
    """Return the owners whose pods are of a priority class, sorted.

    Pods of a class that does not exist are refused. Upstream tries again and again; here their
    owners are looked at again when the class is there.
    """
    return sorted(
        key
        for key, owner in lister.all(kind).items()
        if ((owner.raw.get("spec") or {}).get("template") or {})
        .get("spec", {})
        .get("priorityClassName")
        == name
    )


class PodTemplates:
    """The pods of owners, each made once for all of its replicas."""

    def __init__(self) -> None:
        # The template is kept beside the pod: an address alone could be somebody else's later.
        self._pods: dict[str, tuple[Document, Pod]] = {}

    def pod(self, owner: KubernetesObject, template: Document) -> Pod:
        """Return the pod that an owner makes of a template; see `pod_from_template`."""
        known = self._pods.get(owner.uid)
        if known is None or known[0] is not template:
            known = self._pods[owner.uid] = (template, pod_from_template(owner, template))
        return known[1]

    def forget(self, owner: KubernetesObject) -> None:
        """Forget an owner that is gone."""
        self._pods.pop(owner.uid, None)


def with_labels(pod: Pod, labels: dict[str, str]) -> Pod:
    """Return a pod with more labels."""
    merged = {**pod.metadata.labels, **labels}
    metadata: ObjectMeta = msgspec.structs.replace(pod.metadata, labels=merged)
    document = {**pod.raw, "metadata": {**pod.raw["metadata"], "labels": merged}}
    return msgspec.structs.replace(pod, metadata=metadata, raw=document)

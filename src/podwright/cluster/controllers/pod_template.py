"""Pods from pod templates.

A template is decoded once. All pods of one owner share the resulting objects, including the
document of the spec, so that admission completes that document once for all of them.

Upstream: pkg/controller/controller_utils.go, GetPodFromTemplate
"""

from __future__ import annotations

from typing import Any

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    ObjectMeta,
    Pod,
    decode_pod,
)
from podwright.cluster.controllers.adoption import controller_reference
from podwright.cluster.controllers.lister import Lister
from podwright.cluster.store import GroupKind

_METADATA = ("labels", "annotations", "finalizers")


def controller_reference_document(owner: KubernetesObject) -> Document:
    """Return the controller reference to an owner as a document."""
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
    """Return the pod of a template, with a `generateName` and no name.

    Parameters
    ----------
    owner : KubernetesObject
        The controlling owner.
    template : dict
        A pod template as a document.

    Raises
    ------
    InvalidObject
        The template is invalid.
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
    """Return the owners whose template names a priority class, sorted.

    Admission rejects pods whose priority class does not exist. Upstream retries with backoff;
    here the owners are requeued when the class is created.
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
    """A cache of the pods that owners create, one per template."""

    def __init__(self) -> None:
        # The template is kept beside the pod and compared by identity: keeping a reference
        # prevents another object from reusing its address.
        self._pods: dict[str, tuple[Document, Pod]] = {}

    def pod(self, owner: KubernetesObject, template: Document) -> Pod:
        """Return the pod of an owner's template; see `pod_from_template`."""
        known = self._pods.get(owner.uid)
        if known is None or known[0] is not template:
            known = self._pods[owner.uid] = (template, pod_from_template(owner, template))
        return known[1]

    def forget(self, owner: KubernetesObject) -> None:
        """Forget an owner that was removed."""
        self._pods.pop(owner.uid, None)


def with_labels(pod: Pod, labels: dict[str, str]) -> Pod:
    """Return a pod with labels added."""
    merged = {**pod.metadata.labels, **labels}
    metadata: ObjectMeta = msgspec.structs.replace(pod.metadata, labels=merged)
    document = {**pod.raw, "metadata": {**pod.raw["metadata"], "labels": merged}}
    return msgspec.structs.replace(pod, metadata=metadata, raw=document)

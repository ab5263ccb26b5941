"""The deletion of a definition, which deletes its objects first.

A deletion marks the definition and adds a finalizer. Its objects are deleted, and when the last one
is gone, the finalizer is removed.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/etcd.go;
staging/src/k8s.io/apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go
"""

from __future__ import annotations

from typing import Any, Final

from podwright.apimachinery.objects import Document, timestamp_text
from podwright.cluster.api.endpoints.custom_resources.conditions import with_condition

FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_PENDING: Final = (
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
_IN_PROGRESS: Final = ("InstanceDeletionInProgress", "CustomResource deletion is in progress")
_COMPLETED: Final = ("InstanceDeletionCompleted", "removed all instances")
_NEVER: Final = ("NeverEstablished", "resource was never established")


def marked_for_deletion(definition: Document, now_ns: int) -> Document | None:
    """Return a definition as its deletion marks it; None if it was marked before."""
    metadata: Document = definition["metadata"]
    if metadata.get("deletionTimestamp") is not None:
        return None
    finalizers: list[Any] = list(metadata.get("finalizers") or ())
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)
    marked = {"deletionTimestamp": timestamp_text(now_ns), "finalizers": finalizers}
    made = definition | {"metadata": metadata | marked}
    return with_condition(made, "Terminating", "True", *_PENDING, now_ns)


def awaits_cleanup(definition: Document) -> bool:
    """Whether the objects of a definition are to be deleted."""
    metadata = definition["metadata"]
    is_marked = metadata.get("deletionTimestamp") is not None
    return is_marked and FINALIZER in (metadata.get("finalizers") or ())


def in_progress(definition: Document, now_ns: int) -> Document:
    """Return a definition whose objects are being deleted."""
    return with_condition(definition, "Terminating", "True", *_IN_PROGRESS, now_ns)


def cleaned(definition: Document, now_ns: int, *, was_established: bool) -> Document:
    """Return a definition without objects, and without the finalizer that waited for this."""
    why = _COMPLETED if was_established else _NEVER
    made = with_condition(definition, "Terminating", "False", *why, now_ns)
    metadata = dict(made["metadata"])
    left = [each for each in metadata.get("finalizers") or () if each != FINALIZER]
    if left:
        metadata["finalizers"] = left
    else:
        metadata.pop("finalizers", None)
    return made | {"metadata": metadata}

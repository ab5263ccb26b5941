"""How the steps of a stage change an object: patched documents, and objects decoded from them."""

from __future__ import annotations

from typing import Any

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    Object,
    Pod,
    PodStatus,
    api_group,
)
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api import ApplyObject, PatchObject, Scope
from podwright.cluster.kubelets.patches import apply_patch, plain_patch
from podwright.cluster.kubelets.stages.stage import (
    ApplyStep,
    FinalizersStep,
    PatchStep,
    StageContext,
)


def with_finalizers(document: Document, step: FinalizersStep) -> Document:
    """Return the document with its finalizers changed by a step."""
    metadata = document.get("metadata") or {}
    present = tuple(metadata.get("finalizers") or ())
    finalizers = step.after(present)
    if finalizers == present:
        return document
    changed = {key: value for key, value in metadata.items() if key != "finalizers"}
    if finalizers:
        changed["finalizers"] = list(finalizers)
    return document | {"metadata": changed}


def apply_patch_step(
    document: Document, original: Document, step: PatchStep, context: StageContext
) -> Document:
    """Return the document with a step's patch applied.

    The patch is rendered from `original`, the document before the first step of the stage.

    Raises
    ------
    PatchError, TemplateError, ValueError
        The patch cannot be rendered or applied.
    """
    patch: Any = step.render(original, context)
    if patch is None:
        return document
    if step.is_plain:
        return document | {step.root: plain_patch(document.get(step.root) or {}, patch)}
    if step.root and step.type == "json":
        patch = [_with_root(step.root, operation) for operation in patch]
    elif step.root:
        patch = {step.root: patch}
    return apply_patch(document, patch, step.type)


def applied_request(
    document: Document, step: ApplyStep, context: StageContext, user: str
) -> ApplyObject | PatchObject:
    """Return the request of a step that applies another object.

    An object without a namespace is in that of the document, if its kind is namespaced.

    Raises
    ------
    TemplateError, ValueError
        The object cannot be rendered, or is not an object with a name.

    Notes
    -----
    Upstream: KWOK pkg/utils/lifecycle/apply.go
    """
    rendered: Any = step.render(document, context)
    metadata = rendered.get("metadata") if isinstance(rendered, dict) else None
    if not isinstance(metadata, dict) or not all(map(rendered.get, ("apiVersion", "kind"))):
        raise ValueError("an applied object has apiVersion, kind and metadata")
    group = api_group(str(rendered["apiVersion"]))
    kind = (group, str(rendered["kind"]))
    namespace = (document.get("metadata") or {}).get("namespace")
    if namespace and "namespace" not in metadata and built_in().is_namespaced(*kind):
        rendered = rendered | {"metadata": metadata | {"namespace": namespace}}
    obj = decode(rendered, source="the applied object")
    user = step.as_user or user
    if step.subresource:
        part = {step.subresource: rendered.get(step.subresource)}
        return PatchObject(kind, obj.key, part, user, "status")
    return ApplyObject(obj, "main", user)


def decode_changed(obj: KubernetesObject, after: Document, scope: Scope, *, source: str) -> Object:
    """Return the object decoded from a document that a stage has changed.

    The result equals `decode` of the whole document; a changed pod status is decoded alone.
    """
    if scope == "status" and isinstance(obj, Pod) and obj.raw:
        # `decode` below repeats the conversion if it fails here, and reports the error.
        try:
            status = msgspec.convert(after.get("status"), PodStatus)
        except msgspec.ValidationError:
            pass
        else:
            if not _has_quantities(status):
                return msgspec.structs.replace(obj, status=status, raw=after)
    return decode(after, source=source)


def _has_quantities(status: PodStatus) -> bool:
    if status.resources is not None or status.allocated_resources is not None:
        return True
    return any(
        entry.resources is not None or entry.allocated_resources is not None
        for entry in (*status.container_statuses, *status.init_container_statuses)
    )


def _with_root(root: str, operation: Any) -> Any:
    if not isinstance(operation, dict):
        return operation
    return operation | {
        name: f"/{root}{operation[name]}" for name in ("path", "from") if name in operation
    }


def scope_of(before: Document, after: Document) -> Scope:
    """Return which part differs between two documents of an object."""
    if before.get("status") == after.get("status"):
        return "main"
    others = {"status": None}
    return "status" if before | others == after | others else "whole"

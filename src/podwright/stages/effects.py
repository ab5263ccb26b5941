"""What the steps of a stage make of an object: patched documents, and objects read from them."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from podwright.api import Scope
from podwright.objects import Document, KubernetesObject, Object, Pod, PodStatus, decode
from podwright.stages.patches import apply_patch, plain_patch
from podwright.stages.stage import FinalizersStep, PatchStep, StageContext


def with_finalizers(document: Document, step: FinalizersStep) -> Document:
    """Return the document with the finalizers that a step leaves."""
    metadata = document.get("metadata") or {}
    present = tuple(metadata.get("finalizers") or ())
    finalizers = step.after(present)
    if finalizers == present:
        return document
    changed = {key: value for key, value in metadata.items() if key != "finalizers"}
    if finalizers:
        changed["finalizers"] = list(finalizers)
    return document | {"metadata": changed}


def patched(
    document: Document, original: Document, step: PatchStep, moment: StageContext
) -> Document:
    """Return the document with a step's patch, which is made for the original one.

    Raises
    ------
    PatchError, TemplateError, ValueError
        The patch cannot be made, or cannot be carried out.
    """
    patch: Any = step.render(original, moment)
    if patch is None:
        return document
    if step.is_plain:
        return document | {step.root: plain_patch(document.get(step.root) or {}, patch)}
    if step.root and step.type == "json":
        patch = [_below(step.root, operation) for operation in patch]
    elif step.root:
        patch = {step.root: patch}
    return cast(Document, apply_patch(document, patch, step.type))


def read_again(obj: KubernetesObject, after: Document, scope: Scope, *, source: str) -> Object:
    """Return the object of a document in which a stage has changed something.

    It is what `decode` makes of the whole document.
    """
    if scope == "status" and isinstance(obj, Pod) and obj.raw:
        # What `decode` does, for the part that is another one; it says what is wrong, if so.
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


def _below(root: str, operation: Any) -> Any:
    if not isinstance(operation, dict):
        return operation
    return operation | {
        name: f"/{root}{operation[name]}" for name in ("path", "from") if name in operation
    }


def scope_of(before: Document, after: Document) -> Scope:
    """Return what differs between two documents of an object."""
    if before.get("status") == after.get("status"):
        return "main"
    others = {"status": None}
    return "status" if before | others == after | others else "whole"

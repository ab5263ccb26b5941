"""References of pods and workloads to priority classes that do not exist.

Upstream: plugin/pkg/admission/priority/admission.go, which forbids such pods
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from podwright.api import BOOTSTRAP_OBJECTS
from podwright.files.object_reader import Sourced
from podwright.objects import Document, FieldError, Object, Pod, PriorityClass, encode, nearest
from podwright.schema import built_in
from podwright.store import kind_of


def missing_priority_classes(sourced: Sequence[Sourced]) -> Iterator[FieldError]:
    """Yield an error for each pod and template whose priority class does not exist.

    A pod that has its priority does not need its class. The classes that every cluster has exist.
    """
    kind = PriorityClass.kind
    classes = {entry.object.name for entry in sourced if entry.object.kind == kind}
    classes |= {
        document["metadata"]["name"] for document in BOOTSTRAP_OBJECTS if document["kind"] == kind
    }
    for entry in sourced:
        path = _pod_spec_path(entry.object)
        spec = None if path is None else _at(entry.object.raw or encode(entry.object), path)
        if spec is None:
            continue
        name = spec.get("priorityClassName")
        if name and name not in classes and spec.get("priority") is None:
            near = nearest(name, classes)
            hint = f'; did you mean "{near}"?' if near else ""
            yield FieldError(
                source=entry.source,
                path=f"{path}.priorityClassName",
                message=f'there is no PriorityClass "{name}"{hint}',
                value=name,
            )


def _pod_spec_path(obj: Object) -> str | None:
    """Return the path of the pod spec in an object; None if it has none."""
    if isinstance(obj, Pod):
        return "spec"
    template = built_in().pod_templates.get(kind_of(obj))
    return None if template is None else f"{template}.spec"


def _at(document: Document, path: str) -> Document | None:
    found: Any = document
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else None

"""References of pods and workloads to priority classes and runtime classes that do not exist.

Upstream: plugin/pkg/admission/priority/admission.go and plugin/pkg/admission/runtimeclass/
admission.go, which forbid such pods
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from podwright.apimachinery.objects import (
    Document,
    FieldError,
    Object,
    Pod,
    PriorityClass,
    encode,
    nearest,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.api import BOOTSTRAP_OBJECTS
from podwright.cluster.store import kind_of
from podwright.simulation.files.documents import is_from_server
from podwright.simulation.files.object_reader import Sourced

_RUNTIME_CLASS: Final = "RuntimeClass"


def missing_classes(sourced: Sequence[Sourced]) -> Iterator[FieldError]:
    """Yield an error for each priority class and runtime class of a pod that does not exist.

    A pod that has its priority does not need its priority class, and an object of a server does
    not need its runtime class unless there are others. The priority classes that every cluster has
    exist.
    """
    priority_classes = _names_of(PriorityClass.kind, sourced) | {
        document["metadata"]["name"]
        for document in BOOTSTRAP_OBJECTS
        if document["kind"] == PriorityClass.kind
    }
    runtime_classes = _names_of(_RUNTIME_CLASS, sourced)
    for entry in sourced:
        path = _pod_spec_path(entry.object)
        if path is None:
            continue
        document = entry.object.raw or encode(entry.object)
        spec = _at(document, path)
        if spec is None:
            continue
        name = spec.get("priorityClassName")
        if name and name not in priority_classes and spec.get("priority") is None:
            field = f"{path}.priorityClassName"
            yield _missing(entry, field, PriorityClass.kind, name, priority_classes)
        name = spec.get("runtimeClassName")
        if name and name not in runtime_classes:
            if not runtime_classes and is_from_server(document):
                continue  # a dump of the kinds that the scheduler reads
            field = f"{path}.runtimeClassName"
            yield _missing(entry, field, _RUNTIME_CLASS, name, runtime_classes)


def _names_of(kind: str, sourced: Sequence[Sourced]) -> set[str]:
    return {entry.object.name for entry in sourced if entry.object.kind == kind}


def _missing(entry: Sourced, path: str, kind: str, name: str, names: set[str]) -> FieldError:
    near = nearest(name, names)
    hint = f'; did you mean "{near}"?' if near else ""
    message = f'there is no {kind} "{name}"{hint}'
    return FieldError(source=entry.source, path=path, message=message, value=name)


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

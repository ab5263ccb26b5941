"""Objects that pods and pod templates name: classes, claims and nodes.

A dump may lack them. That of `kubectl cluster-info dump` has no classes; the pods in it have the
priorities that their classes gave them, and their workloads create more such pods. A dump of nodes
and pods has no claims.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from podwright.apimachinery.documents import first_names
from podwright.apimachinery.objects import (
    Document,
    FieldError,
    Node,
    Object,
    ObjectMeta,
    PersistentVolumeClaim,
    Pod,
    PriorityClass,
    ResourceClaim,
    encode,
    nearest,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.api import BOOTSTRAP_OBJECTS
from podwright.cluster.store import kind_of
from podwright.simulation.files.json_documents import is_from_server
from podwright.simulation.files.object_reader import Sourced

_RUNTIME_CLASS: Final = "RuntimeClass"


def missing_classes(sourced: Sequence[Sourced]) -> Iterator[FieldError]:
    """Yield an error for each priority class and runtime class of a pod that does not exist.

    A pod that has its priority does not need its priority class. A workload that a server has
    stored may name one that does not exist, since servers do not check templates. An object of a
    server does not need its runtime class unless there are others. The priority classes that every
    cluster has exist.
    """
    priority_classes = _priority_classes(sourced)
    runtime_classes = _names_of(_RUNTIME_CLASS, sourced)
    for entry, path, document, spec in _pod_specs(sourced):
        name = spec.get("priorityClassName", "")
        if _needs(spec, priority_classes) and not is_from_server(document):
            field = f"{path}.priorityClassName"
            yield _missing(entry, field, PriorityClass.kind, name, priority_classes)
        name = spec.get("runtimeClassName")
        if name and name not in runtime_classes:
            if not runtime_classes and is_from_server(document):
                continue  # a dump of the kinds that the scheduler reads
            field = f"{path}.runtimeClassName"
            yield _missing(entry, field, _RUNTIME_CLASS, name, runtime_classes)


def with_classes_of_pods(sourced: Sequence[Sourced], warnings: list[str]) -> list[Sourced]:
    """Add the priority classes that objects need and only the pods of a server show.

    Of several pods of a class, the last created one counts: a class may have been replaced by one
    with another value.

    Parameters
    ----------
    warnings : list of str
        Gets a text that lists the added classes.
    """
    known = _priority_classes(sourced)
    shown: dict[str, Pod] = {}
    for entry in sourced:
        pod = entry.object
        if not isinstance(pod, Pod) or not pod.metadata.uid or pod.spec.priority is None:
            continue
        name = pod.spec.priority_class_name
        if name and name not in known:
            earlier = shown.setdefault(name, pod)
            if _created(pod) > _created(earlier):
                shown[name] = pod
    if not shown:
        return list(sourced)
    needed = {
        spec["priorityClassName"] for _, _, _, spec in _pod_specs(sourced) if _needs(spec, known)
    }
    added = [_class_of(name, shown[name]) for name in sorted(needed & shown.keys())]
    if added:
        values = ", ".join(f"{each.name} ({each.value})" for each in added)
        warnings.append(f"PriorityClasses that are missing have the values of pods: {values}")
    return [*sourced, *(Sourced(f"the pods of {each.name}", each) for each in added)]


def missing_claims(sourced: Sequence[Sourced]) -> Iterator[str]:
    """Yield a warning for each kind of claims that the pods of a dump use and it does not have.

    Without its claims a pod that is pending, or that a plan moves, is unschedulable, and the
    volumes and devices in use are not counted.
    """
    living = [
        pod
        for entry in sourced
        if isinstance(pod := entry.object, Pod) and pod.metadata.uid and not pod.is_terminal
    ]
    mounting = [
        pod.key
        for pod in living
        if any(volume.persistent_volume_claim is not None for volume in pod.spec.volumes)
    ]
    if mounting and not _names_of(PersistentVolumeClaim.kind, sourced):
        yield _lack("persistentvolumeclaims, persistentvolumes and storageclasses", mounting)
    using = [pod.key for pod in living if pod.spec.resource_claims or _has_extended_claim(pod)]
    if using and not _names_of(ResourceClaim.kind, sourced):
        yield _lack("resourceclaims, resourceslices and deviceclasses", using)


def missing_nodes(sourced: Sequence[Sourced]) -> Iterator[str]:
    """Yield a warning if pods are on nodes that do not exist: the scheduler does not see them.

    Upstream: pkg/scheduler/backend/cache/cache.go, `updateNodeInfoSnapshotList`
    """
    nodes = _names_of(Node.kind, sourced)
    absent = [
        pod.spec.node_name
        for entry in sourced
        if isinstance(pod := entry.object, Pod)
        and not pod.is_terminal
        and pod.spec.node_name
        and pod.spec.node_name not in nodes
    ]
    if absent:
        subject = "1 pod is" if len(absent) == 1 else f"{len(absent)} pods are"
        names = first_names(sorted(set(absent)), 3)
        yield f"{subject} left out, on nodes that are not in the input: {names}"


def _has_extended_claim(pod: Pod) -> bool:
    """Whether the scheduler has made a claim for an extended resource of a pod."""
    return "extendedResourceClaimStatus" in (pod.raw.get("status") or ())


def _lack(kinds: str, pods: list[str]) -> str:
    return f"the dump lacks claims of {first_names(pods, 3)}: it needs {kinds}, too"


def _created(pod: Pod) -> str:
    return pod.metadata.creation_timestamp or ""


def _class_of(name: str, pod: Pod) -> PriorityClass:
    return PriorityClass(
        metadata=ObjectMeta(name=name),
        value=pod.spec.priority or 0,
        preemption_policy=pod.spec.preemption_policy,
    )


def _priority_classes(sourced: Sequence[Sourced]) -> set[str]:
    return _names_of(PriorityClass.kind, sourced) | {
        document["metadata"]["name"]
        for document in BOOTSTRAP_OBJECTS
        if document["kind"] == PriorityClass.kind
    }


def _names_of(kind: str, sourced: Sequence[Sourced]) -> set[str]:
    return {entry.object.name for entry in sourced if entry.object.kind == kind}


def _needs(spec: Document, priority_classes: set[str]) -> bool:
    """Whether the priority of a pod depends on a class that does not exist."""
    name = spec.get("priorityClassName")
    return bool(name) and name not in priority_classes and spec.get("priority") is None


def _missing(entry: Sourced, path: str, kind: str, name: str, names: set[str]) -> FieldError:
    near = nearest(name, names)
    hint = f'; did you mean "{near}"?' if near else ""
    message = f'there is no {kind} "{name}"{hint}'
    return FieldError(source=entry.source, path=path, message=message, value=name)


def _pod_specs(sourced: Sequence[Sourced]) -> Iterator[tuple[Sourced, str, Document, Document]]:
    """Yield each object that has a pod spec, with its path, the document and the spec."""
    for entry in sourced:
        path = _pod_spec_path(entry.object)
        if path is None:
            continue
        document = entry.object.raw or encode(entry.object)
        spec: Any = document
        for name in path.split("."):
            spec = spec.get(name) if isinstance(spec, dict) else None
        if isinstance(spec, dict):
            yield entry, path, document, spec


def _pod_spec_path(obj: Object) -> str | None:
    """Return the path of the pod spec in an object; None if it has none."""
    if isinstance(obj, Pod):
        return "spec"
    template = built_in().pod_templates.get(kind_of(obj))
    return None if template is None else f"{template}.spec"

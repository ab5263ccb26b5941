"""The pod template that a remedy changes, for a pod of a controller.

The edits that were tried on the pod are made in the template of its top owner. The template has
not all that the pod has: admission and the controller add fields. A change that the template cannot
express gives none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    OwnerReference,
    Pod,
    encode,
    workload_of,
)
from podwright.apimachinery.patching import (
    merge_difference,
    merge_patched,
    strategic_difference,
    strategic_merged as merged,
)
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api import update_problems
from podwright.cluster.controllers import pod_from_template
from podwright.cluster.store import GroupKind, kind_of
from podwright.scheduler.advice import Remedy

Present: TypeAlias = Callable[[GroupKind, str], KubernetesObject | None]
"""Returns an object of the cluster as it is, by kind and "namespace/name"."""

_BY_ADMISSION: Final = frozenset({"priority", "preemptionPolicy"})
"""Fields that admission sets from the priority class."""


def owners_of_pod(pod: KubernetesObject, present: Present) -> list[KubernetesObject]:
    """Return the controllers of a pod that exist: its own first, the top one last."""
    found: list[KubernetesObject] = []
    obj = pod
    while (reference := obj.metadata.controller) is not None:
        owner = present(_group_kind(reference), f"{obj.namespace}/{reference.name}")
        if owner is None:
            break
        found.append(owner)
        obj = owner
    if not found and isinstance(pod, Pod) and (workload := workload_of(pod)) is not None:
        # A ReplicaSet that is missing, as in a dump without it.
        deployment = present(("apps", workload[0]), workload[1])
        return [] if deployment is None else [deployment]
    return found


def owner_text(pod: KubernetesObject) -> str:
    """Return the workload of a pod as text, or the owner that does not control it."""
    workload = workload_of(pod) if isinstance(pod, Pod) else None
    if workload is not None:
        return f"{workload[0]} {workload[1]}"
    owner = pod.metadata.owner_references[0]
    return f"{owner.kind} {pod.namespace}/{owner.name}"


def _group_kind(reference: OwnerReference) -> GroupKind:
    group, _, _ = reference.api_version.rpartition("/")
    return group, reference.kind


def has_template(owner: KubernetesObject) -> bool:
    """Return whether the pods of an owner are made from a template that is known."""
    return kind_of(owner) in built_in().pod_templates


def with_changed_template(
    owner: KubernetesObject, before: KubernetesObject, remedy: Remedy
) -> KubernetesObject | None:
    """Return an owner whose pods have the change of a remedy.

    Parameters
    ----------
    before : Pod
        The pod without the change.

    Returns
    -------
    KubernetesObject, optional
        None if the template cannot express the change.
    """
    document = encode(owner)
    path = built_in().pod_templates[kind_of(owner)].split(".")
    levels = [document]
    for name in path:
        levels.append(levels[-1].get(name) or {})
    template = levels.pop()
    patch = _template_patch(owner, template, before, remedy)
    if patch is None:
        return None
    changed = merge_patched(template, patch)
    for level, name in zip(reversed(levels), reversed(path), strict=True):
        changed = {**level, name: changed}
    return decode(changed, source=f"{owner.kind} {owner.key}")


def refusal(new: KubernetesObject, old: KubernetesObject) -> str:
    """Return why kube-apiserver refuses a changed object; "" if it accepts it."""
    return "; ".join(f"{path}: {message}" for path, message, _ in update_problems(new, old)[:1])


def _template_patch(
    owner: KubernetesObject, template: Document, before: KubernetesObject, remedy: Remedy
) -> Document | None:
    plain = pod_from_template(owner, template)
    changed = plain
    try:
        for edit in remedy.pod_edits:
            changed = edit(changed)
    except LookupError:
        # Admission added what the edit changes.
        return None
    wanted = _difference(before, remedy.pod)
    patch = _difference(plain, changed)
    if _fields(patch) == _fields(wanted):
        return patch
    # Requests that a LimitRange sets are not in the template: there they are set.
    if _fields(wanted) <= {("spec", "containers"), ("spec", "initContainers")}:
        return _difference_by_names(plain, before, remedy.pod)
    return None


def _fields(patch: Document) -> set[tuple[str, str]]:
    return {(section, name) for section, fields in patch.items() for name in fields}


def _difference(before: KubernetesObject, after: KubernetesObject) -> Document:
    """Return the merge patch of labels and spec, without what admission sets."""
    documents = [_parts(encode(obj)) for obj in (before, after)]
    return merge_difference(*documents)


def _parts(document: Document) -> Document:
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    return {
        "metadata": {"labels": metadata["labels"]} if metadata.get("labels") else {},
        "spec": {name: value for name, value in spec.items() if name not in _BY_ADMISSION},
    }


def _difference_by_names(plain: Pod, before: KubernetesObject, after: Pod) -> Document | None:
    """Return the patch that makes the changes of a pod in the containers of a template."""
    kind = built_in().find("v1", "Pod")
    assert kind is not None, "pods are a kind"
    patch = strategic_difference(kind, _parts(encode(before)), _parts(encode(after)))
    if not patch:
        return None
    template = _parts(encode(plain))
    return merge_difference(template, merged(kind, template, patch))

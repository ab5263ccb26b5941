"""How many replicas of a pod's workload have a node after a remedy, by trial.

A remedy was tried for one pod. The others of its workload need the same: a change of the pod
template reaches all of them by a rollout, and a change of the cluster may have room for some only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    OwnerReference,
    Pod,
    encode,
    with_fields,
    with_node_name,
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
from podwright.cluster.controllers import Rollout, RolloutSet, deployment_spec, pod_from_template
from podwright.cluster.store import POD, GroupKind, kind_of
from podwright.scheduler.advice import Remedy, UnknownReply
from podwright.scheduler.assembly import ReplicaTrial, Scheduler
from podwright.simulation.recording.explanations.document_structs import ReplicaOutcome

_MOST_REPLICAS: Final = 1_000
"""The replicas of larger workloads are not tried, because each remedy tries all of them."""
_AT_ONCE: Final = frozenset({"Job", "CronJob"})
_ONE_BY_ONE: Final = frozenset({"StatefulSet", "DaemonSet"})


class Replicas:
    """The pods of the workload of a pod that does not fit.

    Parameters
    ----------
    scheduler : Scheduler
        In the state of the explanation.
    pod : Pod
    present : callable
        Returns an object of the cluster by kind and "namespace/name".
    """

    def __init__(self, scheduler: Scheduler, pod: Pod, present: Present) -> None:
        self._scheduler = scheduler
        self._workload = workload_of(pod)
        found = present(POD, pod.key)
        owners = [] if found is None else owners_of_pod(found, present)
        self._owner = owners[-1] if owners else None
        self._pending: list[Pod] = []
        self._placed: list[Pod] = []
        if self._workload is not None:
            self._pending = self._of_workload(scheduler.in_queue_order())
            pods = scheduler.cluster.pods.values()
            self._placed = self._of_workload(placed.pod for placed in pods)

    def _of_workload(self, pods: Iterable[Pod]) -> list[Pod]:
        assert self._workload is not None, "a pod of a workload"
        namespace = self._workload[1].partition("/")[0]
        return [
            pod for pod in pods if pod.namespace == namespace and workload_of(pod) == self._workload
        ]

    def after(self, remedy: Remedy) -> ReplicaOutcome | None:
        """Try a remedy for all replicas.

        Returns
        -------
        ReplicaOutcome, optional
            None if there is one replica only, or the others cannot be tried.
        """
        owner = self._owner
        count = len(self._pending) + len(self._placed)
        if self._workload is None or not 1 < count <= _MOST_REPLICAS:
            return None
        text = f"{self._workload[0]} {self._workload[1]}"
        is_rollout = owner is not None and bool(remedy.pod_edits) and _replaces(owner)
        rolled = owner if is_rollout else None
        try:
            with self._scheduler.trying(remedy) as trial:
                if rolled is None:
                    fit = sum([trial.place(_changed(pod, remedy)) for pod in self._pending])
                    total = len(self._pending)
                elif rolled.kind == "Deployment":
                    if _has_own_objects(remedy.pod):
                        return None
                    fit, total = self._roll(trial, remedy, rolled)
                else:
                    fit, total = self._replace(trial, remedy, rolled), count
                kept = sum(trial.keeps(pod.key) for pod in self._placed)
        except (LookupError, UnknownReply):
            # The template does not have what the edit changes, or an extender is not known.
            return None
        if total == 1 == fit:
            return None
        return ReplicaOutcome(
            workload=text,
            fit=fit,
            total=total,
            is_rollout=is_rollout,
            kept=kept,
            placed=len(self._placed),
        )

    def _replace(self, trial: ReplicaTrial, remedy: Remedy, owner: KubernetesObject) -> int:
        """Replace pods that keep their names; return how many have a node then."""
        pending = [_changed(pod, remedy) for pod in self._pending]
        if owner.kind in _AT_ONCE:
            for pod in (*self._pending, *self._placed):
                trial.remove(pod.key)
            return sum([trial.place(_changed(pod, remedy)) for pod in self._placed]) + sum(
                [trial.place(pod) for pod in pending]
            )
        # Pods that are not ready are replaced first; then one waits for the other.
        fit = sum([trial.place(pod) for pod in pending])
        if fit < len(pending):
            return fit
        for pod in sorted(self._placed, key=_ordinal, reverse=True):
            trial.remove(pod.key)
            if not trial.place(_changed(pod, remedy)):
                break
            fit += 1
        return fit

    def _roll(
        self, trial: ReplicaTrial, remedy: Remedy, owner: KubernetesObject
    ) -> tuple[int, int]:
        """Take the steps of a deployment's strategy until none is left.

        Returns
        -------
        tuple of int
            How many new replicas have a node, and how many there are to be.
        """
        spec = deployment_spec(encode(owner).get("spec") or {})
        old = [*reversed(self._placed), *reversed(self._pending)]  # the last one is removed first
        old_set = RolloutSet("old", "", len(old), {}, available=len(self._placed))
        new_set = RolloutSet("new", "", 0, {})
        rollout = Rollout(spec, new_set, [old_set])
        new = [_numbered(remedy.pod, number) for number in range(spec.replicas)]
        has_progress = True
        while has_progress:
            before = (old_set.replicas, new_set.replicas, new_set.available)
            if spec.is_recreate:
                rollout.scale_down_old()
                rollout.resize(new_set, rollout.new_size())
            else:
                rollout.roll()
            while len(old) > old_set.replicas:
                trial.remove(old.pop().key)
            while new_set.available < new_set.replicas and trial.place(new[new_set.available]):
                new_set.available += 1
            # Counted now: new pods may have preempted old ones.
            old_set.available = sum(trial.keeps(pod.key) for pod in old)
            has_progress = before != (old_set.replicas, new_set.replicas, new_set.available)
        return new_set.available, spec.replicas


def _replaces(owner: KubernetesObject) -> bool:
    """Return whether the pods of an owner are replaced if its pod template changes."""
    if owner.kind in ("Deployment", *_AT_ONCE):
        return True
    spec = encode(owner).get("spec") or {}
    is_kept = (spec.get("updateStrategy") or {}).get("type") == "OnDelete"
    return owner.kind in _ONE_BY_ONE and not is_kept


def _has_own_objects(pod: Pod) -> bool:
    """Return whether a pod uses claims that are made for it, which other replicas do not have."""
    return bool(pod.spec.resource_claims) or any(
        volume.ephemeral is not None for volume in pod.spec.volumes
    )


def _changed(pod: Pod, remedy: Remedy) -> Pod:
    for edit in remedy.pod_edits:
        pod = edit(pod)
    return with_node_name(pod, "") if pod.spec.node_name else pod


def _numbered(pod: Pod, number: int) -> Pod:
    """Return a new replica; its name is longer than those that a controller gives."""
    name = f"{pod.metadata.name}-new-{number}"
    return with_fields(pod, "metadata", name=name, uid=f"{pod.metadata.uid}-new-{number}")


def _ordinal(pod: Pod) -> tuple[int, str]:
    number = pod.metadata.name.rpartition("-")[2]
    return (int(number) if number.isdecimal() else -1, pod.key)


# The pod template that a remedy changes, for a pod of a controller.
#
# The edits that were tried on the pod are made in the template of its top owner. The template has
# not all that the pod has: admission and the controller add fields. A change that the template
# cannot express gives none.

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
        if owner is None or owner in found:  # owners may own each other
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

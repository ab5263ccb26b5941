"""The pods that the controllers of workloads would create, without running the controllers.

For a dry run of scheduling, each workload is expanded into the pods that it lacks. The pods are
those of the controllers, made by the same functions; only their names end with a number where
upstream draws five letters. Rollouts are not considered: a stateful set gets all its pods at once,
and the existing pods of a deployment count whatever their template is.

Upstream: pkg/controller/{deployment,replicaset,statefulset,daemon,job}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from podwright.apimachinery.objects import (
    Document,
    KubernetesObject,
    NamespacedName,
    Node,
    Object,
    OwnerReference,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    StorageClass,
    decode_as,
    encode,
    with_fields,
    without_label_keys,
    workload_of,
)
from podwright.cluster.api import PodQuotas, check_objects
from podwright.cluster.controllers.adoption import pod_from_template
from podwright.cluster.controllers.apps.controller_revisions import template_hash
from podwright.cluster.controllers.apps.daemon_pods import (
    Placement,
    base_daemon_pod,
    daemon_pod,
    target_node,
)
from podwright.cluster.controllers.apps.deployment_status import (
    TEMPLATE_HASH,
    replica_set_document,
)
from podwright.cluster.controllers.apps.rollout import REVISION, deployment_spec, revision_number
from podwright.cluster.controllers.apps.stateful_pods import (
    stateful_claim,
    stateful_pod,
    stateful_spec,
)
from podwright.cluster.controllers.autoscaling.autoscaled import HpaBound, autoscaled
from podwright.cluster.controllers.batch.job_spec import (
    finished_condition,
    index_of,
    job_spec,
    pods_of,
)
from podwright.cluster.controllers.devices.resource_claim import expand_claims
from podwright.cluster.controllers.expansion import EXPANDED_KINDS, ExpandedWorkload, Expansion
from podwright.cluster.controllers.kinds import (
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from podwright.cluster.controllers.pod_state import is_active
from podwright.cluster.controllers.storage.provisioning import default_class
from podwright.cluster.controllers.workload_fields import number, spec_of, status_of
from podwright.cluster.store import GroupKind, kind_of

_OF_ONE_POD: Final = frozenset(
    {
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "controller-revision-hash",
        "pod-template-generation",
        "statefulset.kubernetes.io/pod-name",
    }
)
"""Labels that controllers add to pods, and templates do not have."""


class _Workload(NamedTuple):
    """The pods of a workload that are to be created, or why none are."""

    pods: list[Pod]
    note: str = ""


def expanded(objects: Iterable[Object], hpa: HpaBound, without_effect: Iterable[str]) -> Expansion:
    """Return the pods and the resource claims that controllers would create; see `expand`.

    Parameters
    ----------
    without_effect : iterable of str
        Notes about objects that change nothing here.
    """
    scaled, notes = autoscaled(objects, hpa)
    expansion = _Expander(scaled).run()
    expansion.notes[:0] = [*notes, *without_effect]
    return _within_quotas(scaled, expansion)


def _within_quotas(given: Sequence[Object], expansion: Expansion) -> Expansion:
    """Return an expansion without the pods that a quota rejects.

    Pods of a server exist already; all others are created, given ones before those of workloads.
    """
    pods = [obj for obj in given if isinstance(obj, Pod)]
    quotas = PodQuotas(given, (pod for pod in pods if pod.uid or pod.spec.node_name))
    new = [pod for pod in pods if not pod.uid and not pod.spec.node_name]
    new += [obj for obj in expansion.objects if isinstance(obj, Pod)]
    rejected = {pod.key: text for pod in new if (text := quotas.rejection(pod))}
    if not rejected:
        return expansion
    notes: list[str] = []
    workloads: list[ExpandedWorkload] = []
    left = dict(rejected)
    for workload in expansion.workloads:
        made = workload.pods[len(workload.pods) - workload.new_count :]
        texts = [left.pop(key) for key in made if key in left]
        if texts:
            count = f"{len(texts)} of {workload.new_count} new pods"
            notes.append(f"{workload.kind} {workload.key}: {count} not created: {texts[0]}")
        workloads.append(
            msgspec.structs.replace(
                workload,
                pods=tuple(key for key in workload.pods if key not in rejected),
                new_count=workload.new_count - len(texts),
            )
        )
    notes += [f"Pod {key}: not created: {text}" for key, text in left.items()]
    return expansion._replace(
        objects=[
            obj for obj in expansion.objects if not isinstance(obj, Pod) or obj.key not in rejected
        ],
        workloads=workloads,
        notes=[*expansion.notes, *notes],
        rejected=rejected,
    )


def missing_replica_sets(objects: Iterable[Object]) -> list[Object]:
    """Return the replica sets of deployments that their pods name and that are not there.

    Without them, as in a dump of deployments and pods, the controllers would create others, and all
    pods once more. Of several sets of a deployment, the one of the youngest pod has the template of
    the deployment, and the others, of which a rollout is to delete the pods, those of their pods.
    """
    given = list(objects)
    deployments = {obj.key: obj for obj in given if kind_of(obj) == DEPLOYMENT}
    sets = [obj for obj in given if kind_of(obj) == REPLICA_SET]
    for obj in sets:
        if owner := obj.metadata.controller:
            deployments.pop(f"{obj.namespace}/{owner.name}", None)
    present = {obj.key for obj in sets}
    pods: dict[NamespacedName, dict[OwnerReference, list[Pod]]] = {}
    for obj in given if deployments else ():
        if isinstance(obj, Pod) and is_active(obj) and (owner := obj.metadata.controller):
            kind, key = workload_of(obj) or ("", "")
            is_missing = f"{obj.namespace}/{owner.name}" not in present
            is_of_set = (owner.kind, kind) == (REPLICA_SET[1], DEPLOYMENT[1])
            if is_of_set and key in deployments and is_missing:
                pods.setdefault(key, {}).setdefault(owner, []).append(obj)
    found: list[Object] = []
    for key, of_sets in pods.items():
        newest = max(of_sets.values(), key=_youngest)
        for members in of_sets.values():
            made = _replica_set_of(deployments[key], members, is_newest=members is newest)
            found.append(made)
    return found


def _youngest(pods: Iterable[Pod]) -> str:
    """Return when the youngest of some pods was created."""
    return max(pod.metadata.creation_timestamp or "" for pod in pods)


def _replica_set_of(
    deployment: KubernetesObject, pods: Sequence[Pod], *, is_newest: bool
) -> Object:
    """Return the replica set of some pods of a deployment, as a server has it."""
    owner = pods[0].metadata.controller
    assert owner is not None, "a pod of a deployment has a controller"
    spec = deployment_spec(spec_of(deployment))
    annotations = deployment.metadata.annotations
    revision = {REVISION: annotations[REVISION]} if REVISION in annotations else {}
    if not is_newest:
        spec, revision = msgspec.structs.replace(spec, template=pod_template(pods)), {}
    document = replica_set_document(
        deployment,
        spec,
        name=owner.name,
        label=pods[0].metadata.labels[TEMPLATE_HASH],
        replicas=len(pods),
        annotations=revision,
    )
    document["metadata"] |= {"uid": owner.uid, "resourceVersion": "1"}
    return decode_as(document, ReplicaSet, source=f"{deployment.kind} {deployment.key}")


def pod_template(pods: Sequence[Pod]) -> Document:
    """Return a template of which the pods of a controller may have been made.

    It has the labels that all pods have, and the spec of the first one.
    """
    common = set.intersection(*(set(pod.metadata.labels.items()) for pod in pods))
    labels = {key: value for key, value in sorted(common) if key not in _OF_ONE_POD}
    spec = without_label_keys(encode(pods[0])["spec"], pods[0].metadata.labels)
    spec = {name: value for name, value in spec.items() if name not in ("nodeName", "hostname")}
    return {"metadata": {"labels": labels}, "spec": spec}


class _Expander:
    def __init__(self, objects: list[Object]) -> None:
        sets = missing_replica_sets(objects)
        objects = [*sets, *objects]
        self._objects = objects
        self._nodes = [obj for obj in objects if isinstance(obj, Node)]
        self._names = {obj.key for obj in objects if isinstance(obj, Pod)}
        self._claims = {obj.key for obj in objects if isinstance(obj, PersistentVolumeClaim)}
        self._owned: dict[tuple[str, NamespacedName], list[KubernetesObject]] = {}
        for obj in objects:
            self._count(obj)
        self._added: list[Object] = sets

    def run(self) -> Expansion:
        workloads = [obj for obj in self._objects if kind_of(obj) in EXPANDED_KINDS]
        check_objects(workloads)
        deployments = {obj.key for obj in workloads if kind_of(obj) == DEPLOYMENT}
        found: list[ExpandedWorkload] = []
        for owner in workloads:
            controller = owner.metadata.controller
            if (
                controller is not None
                and controller.kind == DEPLOYMENT[1]
                and f"{owner.namespace}/{controller.name}" in deployments
            ):
                continue
            found.append(self._expand(owner))
        claims = expand_claims((*self._objects, *self._added))
        added = [
            claims.pods.pop(obj.key, obj) if isinstance(obj, Pod) else obj for obj in self._added
        ]
        return Expansion([*added, *claims.claims], found, claims.pods, claims.notes, {})

    def _count(self, obj: KubernetesObject) -> None:
        controller = obj.metadata.controller
        if controller is not None:
            owner = (controller.kind, f"{obj.namespace}/{controller.name}")
            self._owned.setdefault(owner, []).append(obj)

    def _existing(self, owner: KubernetesObject) -> list[Pod]:
        """Return the active pods of a workload, also those of its replica sets and jobs."""
        found: list[Pod] = []
        for obj in self._owned.get((owner.kind, owner.key), ()):
            if isinstance(obj, Pod):
                if is_active(obj):
                    found.append(obj)
            elif kind_of(obj) in EXPANDED_KINDS:
                found += self._existing(obj)
        return found

    def _expand(self, owner: KubernetesObject) -> ExpandedWorkload:
        existing = self._existing(owner)
        result = _MAKERS[kind_of(owner)](self, owner, existing)
        pods = [self._named(pod) for pod in result.pods]
        self._added += pods
        return ExpandedWorkload(
            kind=owner.kind,
            key=owner.key,
            pods=tuple(pod.key for pod in (*existing, *pods)),
            new_count=len(pods),
            note=result.note,
            is_of_server=owner.metadata.is_from_server,
        )

    def _named(self, pod: Pod) -> Pod:
        """Give a pod without a name the first free number after its `generateName`."""
        if not pod.name:
            prefix, namespace = pod.metadata.generate_name, pod.namespace
            number = 0
            while f"{namespace}/{prefix}{number}" in self._names:
                number += 1
            pod = with_fields(pod, "metadata", name=f"{prefix}{number}")
        self._names.add(pod.key)
        return pod

    # ---------------------------------------------------------------- kinds

    def deployment(self, owner: KubernetesObject, existing: list[Pod]) -> _Workload:
        spec = deployment_spec(spec_of(owner))
        missing = _missing(owner, spec.replicas, existing, "replicas")
        if not missing:
            return _Workload([])
        sets = [
            obj
            for obj in self._owned.get((owner.kind, owner.key), ())
            if kind_of(obj) == REPLICA_SET
        ]
        if sets:
            newest = max(
                sets, key=lambda each: revision_number(each.metadata.annotations.get(REVISION))
            )
            template = spec_of(newest).get("template") or {}
            return _Workload([pod_from_template(newest, template)] * missing)
        if spec_of(owner).get("paused"):
            return _Workload([], "it is paused")
        label = template_hash(spec.template, None)
        document = replica_set_document(
            owner,
            spec,
            name=f"{owner.name}-{label}",
            label=label,
            replicas=spec.replicas,
            annotations={},
        )
        replica_set = decode_as(document, ReplicaSet, source=f"{owner.kind} {owner.key}")
        self._added.append(replica_set)
        return _Workload([pod_from_template(replica_set, document["spec"]["template"])] * missing)

    def replicas(self, owner: KubernetesObject, existing: list[Pod]) -> _Workload:
        spec = spec_of(owner)
        missing = _missing(owner, number(spec.get("replicas"), 1), existing, "replicas")
        if not missing:
            return _Workload([])
        return _Workload([pod_from_template(owner, spec.get("template") or {})] * missing)

    def stateful_set(self, owner: KubernetesObject, existing: list[Pod]) -> _Workload:
        spec = stateful_spec(spec_of(owner))
        if not _missing(owner, spec.replicas, existing, "replicas"):
            return _Workload([])
        base = pod_from_template(owner, spec.template)
        revision = f"{owner.name}-{template_hash(spec.template, None)}"
        names = {pod.name for pod in existing}
        pods: list[Pod] = []
        for ordinal in range(spec.start, spec.start + spec.replicas):
            pod = stateful_pod(base, owner, spec, ordinal, revision)
            if pod.name in names:
                continue
            pods.append(pod)
            for template in spec.claim_templates:
                claim = stateful_claim(template, owner, spec, ordinal)
                if claim.key not in self._claims:
                    self._claims.add(claim.key)
                    self._added.append(self._with_default_class(claim))
        return _Workload(pods)

    def _with_default_class(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Return a claim as the admission plugin DefaultStorageClass completes it."""
        if claim.spec.storage_class_name is not None:
            return claim
        name = default_class(obj for obj in self._objects if isinstance(obj, StorageClass))
        return claim if name is None else with_fields(claim, "spec", storage_class_name=name)

    def daemon_set(self, owner: KubernetesObject, existing: list[Pod]) -> _Workload:
        template = spec_of(owner).get("template") or {}
        base = base_daemon_pod(owner, template, template_hash(template, None), "1")
        placement = Placement(base)
        nodes = [node.name for node in self._nodes if placement.verdict(node)[0]]
        present = {target_node(pod) for pod in existing}
        missing = _missing(owner, len(nodes), existing, "currentNumberScheduled")
        lacking = [name for name in nodes if name not in present]
        return _Workload([daemon_pod(base, name) for name in lacking[:missing]])

    def job(self, owner: KubernetesObject, existing: list[Pod]) -> _Workload:
        spec = job_spec(owner)
        if spec.suspend:
            return _Workload([], "it is suspended")
        ended = finished_condition(owner)
        if ended is not None:
            return _Workload([], f"it has the condition {ended.get('type')}")
        count = spec.parallelism
        if spec.completions is not None:
            done = number(status_of(owner).get("succeeded"), 0)
            count = min(count, max(spec.completions - done, 0))
        missing = _missing(owner, count, existing, "active")
        if not missing:
            return _Workload([])
        indexes: list[int | None] = [None] * missing
        if spec.is_indexed:
            present = {index_of(pod, spec.completions) for pod in existing}
            free = [i for i in range(spec.completions or 0) if i not in present]
            indexes = [*free[:missing]]
        return _Workload(pods_of(owner, spec, indexes))

    def cron_job(self, owner: KubernetesObject, _existing: list[Pod]) -> _Workload:
        spec = spec_of(owner)
        if spec.get("suspend"):
            return _Workload([], "it is suspended")
        return _Workload([], f'it creates jobs by its schedule "{spec.get("schedule")}"')


_MAKERS: Final[dict[GroupKind, Callable[[_Expander, KubernetesObject, list[Pod]], _Workload]]] = {
    DEPLOYMENT: _Expander.deployment,
    REPLICA_SET: _Expander.replicas,
    REPLICATION_CONTROLLER: _Expander.replicas,
    STATEFUL_SET: _Expander.stateful_set,
    DAEMON_SET: _Expander.daemon_set,
    JOB: _Expander.job,
    CRON_JOB: _Expander.cron_job,
}


def _missing(owner: KubernetesObject, desired: int, existing: list[Pod], reported: str) -> int:
    """Return how many pods the controller of a workload has yet to create.

    Parameters
    ----------
    reported : str
        The field of the status with the number of existing pods.
    """
    present = len(existing)
    if owner.metadata.is_from_server:
        present = max(present, number(status_of(owner).get(reported), 0))
    return max(desired - present, 0)

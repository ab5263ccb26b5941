"""Review of the inputs of a run: kinds without effect, and loads that do not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from typing import Final

import msgspec

from podwright.apimachinery.devices import is_cards
from podwright.apimachinery.objects import (
    CREATION_TIME,
    KubernetesObject,
    Node,
    Pod,
    Unknown,
    api_group,
    decode,
    encode,
    pending_requests,
    quantity_milli_value,
    quantity_value,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.kubelets import RUN_DELAY, Stage, fast_stages
from podwright.cluster.store import GroupKind, kind_of

WITHOUT_EFFECT: Final[dict[GroupKind, str]] = {
    ("", "ResourceQuota"): "limits nothing",
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): "changes no objects",
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): "rejects no objects",
    ("autoscaling", "HorizontalPodAutoscaler"): "scales no workload",
}
"""Built-in kinds that change pods in a real cluster and have no effect in a simulation."""

_NAMES_SHOWN: Final = 3
_ENDED: Final = ("Succeeded", "Failed")


class IgnoredKind(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Objects of a kind that has no effect.

    Attributes
    ----------
    kind, api_version : str
    count : int
    effect : str
        What the kind does not do.
    """

    kind: str
    api_version: str
    count: int
    effect: str


class LoadEstimate(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A load that does not fit on the initial nodes, because its pods never end.

    Attributes
    ----------
    pods : int
        The pods that never end.
    fitting : int
        At most so many of them fit.
    resource : str
        The resource that limits them most.
    requested, allocatable : int
        Its sums over these pods and over all nodes; CPU in milli-CPU, memory in bytes.
    """

    pods: int
    fitting: int
    resource: str
    requested: int
    allocatable: int


class InputReview(msgspec.Struct, frozen=True, kw_only=True):
    """The review of the inputs of a run.

    Attributes
    ----------
    ignored_kinds : tuple of IgnoredKind
    estimate : LoadEstimate, optional
    jobs_without_duration : tuple of str
        Jobs whose pods complete as soon as they run.
    starts_at_once : bool
        Whether the built-in stages start pods without delay.
    missing_owners : dict of str to str
        The owner of each pod of a dump whose owner is not in the dump.
    """

    ignored_kinds: tuple[IgnoredKind, ...] = ()
    estimate: LoadEstimate | None = None
    jobs_without_duration: tuple[str, ...] = ()
    starts_at_once: bool = True
    missing_owners: dict[str, str] = {}

    @property
    def job_note(self) -> str:
        """A sentence about the Jobs without duration; empty if there are none."""
        jobs = self.jobs_without_duration
        if not jobs:
            return ""
        more = f" and {len(jobs) - _NAMES_SHOWN} more" if len(jobs) > _NAMES_SHOWN else ""
        return (
            f"{', '.join(jobs[:_NAMES_SHOWN])}{more}: no duration, so the pods complete as soon as"
            f" they run (0s); set --job-duration, or the annotation {RUN_DELAY} of the pod template"
        )


def starts_at_once(stages: Iterable[Stage] | None) -> bool:
    """Tell whether pods start without delay: by the built-in stage, or without stages of a user."""
    pod_ready = next(stage for stage in fast_stages() if stage.name == "pod-ready")
    return stages is None or any(stage is pod_ready for stage in stages)


def ignored_kinds(
    objects: Iterable[KubernetesObject], staged: Container[GroupKind] = ()
) -> tuple[IgnoredKind, ...]:
    """Return the kinds among the objects that have no effect, in the order of their names.

    Parameters
    ----------
    staged : container of (group, kind)
        Kinds that Stages apply to.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for obj in objects:
        kind = kind_of(obj)
        effect = WITHOUT_EFFECT.get(kind)
        if effect is None and _is_custom(obj) and kind not in staged:
            effect = "is not a known kind"
        if effect is not None:
            counts[obj.kind, obj.api_version, effect] += 1
    return tuple(
        IgnoredKind(kind=kind, api_version=version, count=count, effect=effect)
        for (kind, version, effect), count in sorted(counts.items())
    )


def _is_custom(obj: KubernetesObject) -> bool:
    if is_cards(obj):
        return False
    return isinstance(obj, Unknown) and not built_in().is_built_in(api_group(obj.api_version))


def load_estimate(objects: Iterable[KubernetesObject]) -> LoadEstimate | None:
    """Return how many of the pods that never end fit at most; None if all of them may.

    Pods are compared with the sum over all nodes, so fewer pods may fit. Pods of Jobs, pods with a
    duration and pods of the openb trace end, and do not count; nor do gated pods.
    """
    several = list(objects)
    allocatable: Counter[str] = Counter()
    for obj in several:
        if isinstance(obj, Node):
            # Upstream: pkg/apis/core/v1/defaults.go, `SetDefaults_NodeStatus`
            quantities = obj.status.allocatable or obj.status.capacity
            for name, text in quantities.items():
                value = quantity_milli_value(text) if name == "cpu" else quantity_value(text)
                allocatable[name] += value
    counts: Counter[tuple[tuple[str, int], ...]] = Counter()
    for pod, count in _endless_pods(several):
        counts[tuple(sorted({**pending_requests(pod), "pods": 1}.items()))] += count
    total = sum(counts.values())
    if not allocatable or not total:
        return None
    found: LoadEstimate | None = None
    shapes = [(dict(shape), count) for shape, count in counts.items()]
    for name in sorted({name for shape in counts for name, _ in shape}):
        # The smallest requests first: the order in which the sum has room for most pods.
        amounts = sorted((shape.get(name, 0), count) for shape, count in shapes)
        fitting, left = 0, allocatable[name]
        for amount, count in amounts:
            some = count if not amount else min(count, left // amount)
            fitting, left = fitting + some, left - some * amount
        if fitting < total and (found is None or fitting < found.fitting):
            found = LoadEstimate(
                pods=total,
                fitting=fitting,
                resource=name,
                requested=sum(amount * count for amount, count in amounts),
                allocatable=allocatable[name],
            )
    return found


def _endless_pods(objects: Iterable[KubernetesObject]) -> Iterator[tuple[Pod, int]]:
    """Yield pods that never end, or a pod of a template, with their numbers."""
    several = list(objects)
    uids = {obj.metadata.uid for obj in several if obj.metadata.uid}
    for obj in several:
        controller = obj.metadata.controller
        # The controller is counted with all its replicas.
        if controller is not None and controller.uid in uids:
            continue
        if isinstance(obj, Pod):
            pod, count = obj, 1
        elif kind_of(obj) in built_in().scaled:
            spec = encode(obj).get("spec") or {}
            template = spec.get("template") or {}
            document = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {**(template.get("metadata") or {}), "name": obj.name},
                "spec": template.get("spec") or {},
            }
            made = decode(document)
            assert isinstance(made, Pod), made.kind
            replicas = spec.get("replicas")
            pod, count = made, 1 if replicas is None else replicas
        else:
            continue
        annotations = pod.metadata.annotations
        ends = RUN_DELAY in annotations or CREATION_TIME in annotations
        if not ends and pod.status.phase not in _ENDED and not pod.spec.scheduling_gates:
            yield pod, count

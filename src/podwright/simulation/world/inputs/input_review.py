"""Review of the inputs of a run: kinds without effect, loads that do not fit, Jobs without end."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Final, TypeVar

import msgspec

from podwright.apimachinery.devices import is_cards
from podwright.apimachinery.documents import first_names
from podwright.apimachinery.objects import (
    CREATION_TIME,
    Document,
    KubernetesObject,
    NamespacedName,
    Node,
    Pod,
    Unknown,
    api_group,
    decode_pod,
    encode,
    pending_requests,
    quantity_milli_value,
    quantity_value,
    require_objects,
)
from podwright.apimachinery.schema import built_in, decode
from podwright.cluster.api import USAGE_KINDS, check_objects, unknown_fields
from podwright.cluster.controllers import autoscalers_with_usage
from podwright.cluster.kubelets import RUN_DELAY, STAGE, Stage, fast_stages
from podwright.cluster.store import GroupKind, ObjectStore, kind_of
from podwright.scheduler.config import Gates, format_duration
from podwright.simulation.files import GATED_KINDS, FieldValidation, require_validation

_AUTOSCALER: Final = ("autoscaling", "HorizontalPodAutoscaler")

WITHOUT_EFFECT: Final[dict[GroupKind, str]] = {
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): "changes no objects",
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): "rejects no objects",
    _AUTOSCALER: "scales to its bounds only: no usage is declared",
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
        return (
            f"{first_names(jobs)}: no duration, so the pods complete as soon as they run (0s); set"
            f" --job-duration, or the annotation {RUN_DELAY} of the pod template"
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
        Kinds that Stages or inputs of this run give an effect.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    several = list(objects)
    scaled = autoscalers_with_usage(several)
    for obj in several:
        kind = kind_of(obj)
        effect = None if kind in staged else WITHOUT_EFFECT.get(kind)
        if kind == _AUTOSCALER and obj.key in scaled:
            continue
        if (
            effect is None
            and _is_custom(obj)
            and not (kind in staged or kind in (STAGE, *USAGE_KINDS))
        ):
            effect = "is not a known kind"
        if effect is not None:
            counts[obj.kind, obj.api_version, effect] += 1
    return tuple(
        IgnoredKind(kind=kind, api_version=version, count=count, effect=effect)
        for (kind, version, effect), count in sorted(counts.items())
    )


def gated_kinds(store: ObjectStore, gates: Gates) -> tuple[IgnoredKind, ...]:
    """Return the kinds of a store that only a feature gate that is off gives an effect."""
    found = []
    for kind, names in GATED_KINDS.items():
        objects = store.list(kind).objects
        off = [name for name in names if name not in gates]
        if objects and off:
            effect = f"needs the feature gate {', '.join(off)}, which is off"
            first = objects[0]
            found.append(
                IgnoredKind(
                    kind=first.kind,
                    api_version=first.api_version,
                    count=len(objects),
                    effect=effect,
                )
            )
    return tuple(found)


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
                "metadata": {**(template.get("metadata") or {}), "name": obj.name},
                "spec": template.get("spec") or {},
            }
            replicas = spec.get("replicas")
            pod, count = decode_pod(document), 1 if replicas is None else replicas
        else:
            continue
        annotations = pod.metadata.annotations
        ends = RUN_DELAY in annotations or CREATION_TIME in annotations
        if not ends and pod.status.phase not in _ENDED and not pod.spec.scheduling_gates:
            yield pod, count


# The check of objects before they are added to a world.


def check_added(objects: Sequence[KubernetesObject], validate: FieldValidation) -> None:
    """Check objects as the API server does; `validate` says what is done about unknown fields.

    Raises
    ------
    ArgumentError
        If one of them is not an object.
    InputError
        If the value of `validate` is not supported.
    InvalidObject
        With the errors of all objects.
    """
    require_objects(objects)
    require_validation(validate)
    check_objects(objects, allows_unknown_fields=validate != "strict")
    if validate == "warn":
        for error in unknown_fields(objects):
            warnings.warn(str(error), stacklevel=3)


# How long the pods of Jobs run, where neither an annotation nor a Stage says so.
#
# The built-in stages complete a pod of a Job as soon as it runs. A duration for all Jobs without
# one is set as the annotation of their pod templates, and of the pods that they have.

T = TypeVar("T", bound=KubernetesObject)

_GROUP: Final = "batch"
_FINISHED: Final = ("Complete", "Failed")


def jobs_without_duration(objects: Iterable[KubernetesObject]) -> tuple[str, ...]:
    """Return the Jobs and CronJobs whose pods would complete as soon as they run.

    Returns
    -------
    tuple of str
        Such as `job/default/train`, without duplicates.
    """
    found = (obj for obj in objects if not isinstance(obj, Pod) and _has_no_duration(obj))
    return tuple(dict.fromkeys(f"{obj.kind.lower()}/{obj.key}" for obj in found))


def with_job_duration(obj: T, duration_ns: int) -> T:
    """Return a Job, CronJob or pod of a Job with a duration, unless it has one.

    Parameters
    ----------
    obj : object
        Others are returned as they are.
    duration_ns : int
        How long the pods run.
    """
    if not _has_no_duration(obj):
        return obj
    document = dict(encode(obj))
    place = document
    # Only what is on the path is copied; the rest is shared with the original.
    for name in _template_path(obj) or ():
        place[name] = dict(place.get(name) or {})
        place = place[name]
    metadata = place["metadata"] = dict(place.get("metadata") or {})
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {**annotations, RUN_DELAY: format_duration(duration_ns)}
    changed: Any = decode(document)
    return changed  # type: ignore[no-any-return]  # an object of the same kind


def _template_path(obj: KubernetesObject) -> list[str] | None:
    """Return the path of the pod template of a Job or CronJob; empty for a pod of a Job."""
    if isinstance(obj, Pod):
        owner = obj.metadata.controller
        is_of_job = owner is not None and api_group(owner.api_version) == _GROUP
        return [] if is_of_job and not obj.is_terminal else None
    kind = kind_of(obj)
    path = built_in().pod_templates.get(kind) if kind[0] == _GROUP else None
    return path.split(".") if path else None


def _has_no_duration(obj: KubernetesObject) -> bool:
    path = _template_path(obj)
    if path is None:
        return False
    document = encode(obj)
    conditions = (document.get("status") or {}).get("conditions") or ()
    if any(each.get("type") in _FINISHED and each.get("status") == "True" for each in conditions):
        return False
    template: Document = document
    for name in path:
        template = template.get(name) or {}
    return RUN_DELAY not in ((template.get("metadata") or {}).get("annotations") or {})


# The review of a world whose objects come from Python, instead of from files.
#
# A simulation reviews its inputs before it starts. A world receives objects at any time: those that
# can be in a review are kept, and the load is estimated before virtual time advances first.

_NEVER_IN_REVIEWS: Final = (Node, Pod)
_EVENT: Final[GroupKind] = ("", "Event")


class WorldReview:
    """Collects the review of a world.

    Parameters
    ----------
    stages : sequence of Stage, optional
        The stages of the world; the built-in ones if left out.
    given : InputReview, optional
        The review of the inputs, if it exists already: nothing is collected then.
    is_new : bool
        Whether the world is new: the load of a restored world is not estimated.
    """

    def __init__(
        self, stages: Sequence[Stage] | None, given: InputReview | None, *, is_new: bool
    ) -> None:
        self._staged = {(stage.group, stage.kind) for stage in stages or ()}
        self._starts_at_once = starts_at_once(stages)
        self._given = given
        self._added: dict[tuple[GroupKind, NamespacedName], KubernetesObject] = {}
        self._estimate: LoadEstimate | None = None
        self._has_begun = given is not None or not is_new

    def copy(self) -> WorldReview:
        """Return a copy that is continued independently."""
        return deepcopy(self, {id(obj): obj for obj in self._added.values()})

    def add(self, obj: KubernetesObject) -> None:
        """Receive an object that a user creates or replaces."""
        # The many pods and nodes of a world are in no review, so they are not kept.
        if self._given is None and not isinstance(obj, _NEVER_IN_REVIEWS):
            self._added[kind_of(obj), obj.key] = obj

    def begin(self, store: ObjectStore) -> None:
        """Estimate the initial load, once: before time advances first."""
        if not self._has_begun:
            self._has_begun = True
            # Events have no pods, and there may be 100,000 of them, at rest.
            kinds = [kind for kind in store.kinds() if kind != _EVENT]
            objects = (obj for kind in kinds for obj in store.list(kind).objects)
            self._estimate = load_estimate(objects)

    def review(self) -> InputReview:
        """Return the review that was given, or that of the objects so far."""
        if self._given is not None:
            return self._given
        added = tuple(self._added.values())
        return InputReview(
            ignored_kinds=ignored_kinds(added, self._staged),
            estimate=self._estimate,
            jobs_without_duration=jobs_without_duration(added) if self._starts_at_once else (),
            starts_at_once=self._starts_at_once,
        )

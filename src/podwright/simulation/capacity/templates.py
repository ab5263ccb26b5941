"""Templates of pods: a pod or a workload as a source of pods that are alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from math import ceil
from typing import Any, Final

import msgspec

from podwright.apimachinery.documents import problem, raise_errors, required
from podwright.apimachinery.objects import (
    POD_GROUP_LABEL,
    FieldError,
    NamespacedName,
    Object,
    Pod,
    PodGroup,
    PodSchedulingGroup,
    decode,
    encode,
    with_fields,
)
from podwright.cluster.controllers import EXPANDED_KINDS, expand
from podwright.cluster.store import kind_of
from podwright.scheduler.assembly import Scheduler
from podwright.simulation.files import without_server_fields

_UNCOUNTED: Final = (("apps", "DaemonSet"), ("batch", "CronJob"))
"""The kinds of workloads whose spec does not say how many pods they have."""

_FIRST_PART: Final = 16


class Template(msgspec.Struct, frozen=True):
    """A pod or a workload whose pods are counted.

    Attributes
    ----------
    obj : Object
        As a user would create it: without a node, a status and what a server sets.
    weight : int
        How many pods of it a set has.
    """

    obj: Object
    weight: int = 1

    @property
    def name(self) -> str:
        """The name that results show: that of a pod, or `kind/name`."""
        kind, name = self.obj.kind, self.obj.name
        return name if kind == "Pod" else f"{kind.lower()}/{name}"


def templates_of(
    objects: Iterable[Object], ratio: Sequence[int] = (), *, source: str = "pods"
) -> list[Template]:
    """Return the templates among objects, in their order.

    Parameters
    ----------
    ratio : sequence of int
        The weights. By default those of several templates are their replicas.
    source : str
        Of the objects, for errors.

    Raises
    ------
    InputError
        If there are none, a workload has no replicas to count, or the ratio does not match.
    """
    found: list[Template] = []
    errors: list[FieldError] = []
    for index, obj in enumerate(objects):
        spec = encode(obj).get("spec") or {}
        if is_template(obj):
            if not isinstance(obj, Pod) and not spec.get("template"):
                errors.append(required(f"[{index}].spec.template"))
                continue
            replicas = spec.get(_count_fields(obj)[0]) or 1
            found.append(Template(as_new(obj), max(1, replicas)))
        elif kind_of(obj) in EXPANDED_KINDS:
            message = f"a {obj.kind} has no replicas to count; give a Pod with its template"
            errors.append(problem(f"[{index}].kind", message))
    if not found and not errors:
        errors.append(problem("", "contains no Pod and no workload, whose pods are to be counted"))
    if ratio and len(ratio) != len(found):
        forms = "1 pod or workload" if len(found) == 1 else f"{len(found)} pods and workloads"
        message = f"has {len(ratio)} number{'s' * (len(ratio) != 1)} for {forms}"
        errors.append(problem("ratio", message))
    errors += [
        problem(f"ratio[{index}]", f"{weight} is not a positive number")
        for index, weight in enumerate(ratio)
        if weight < 1
    ]
    raise_errors(errors, source=source)
    if len(found) == 1 or ratio:
        weights = ratio or (1,)
        return [
            msgspec.structs.replace(each, weight=weight)
            for each, weight in zip(found, weights, strict=True)
        ]
    return found


def is_template(obj: Object) -> bool:
    """Return whether the pods of an object can be counted."""
    is_workload = kind_of(obj) in EXPANDED_KINDS and kind_of(obj) not in _UNCOUNTED
    return isinstance(obj, Pod) or is_workload


def _count_fields(obj: Object) -> tuple[str, ...]:
    """Return the fields of a workload's spec that say how many pods it has."""
    return ("parallelism", "completions") if obj.kind == "Job" else ("replicas",)


def as_new(obj: Object) -> Object:
    """Return an object as a user would create it."""
    given = encode(obj)
    document = without_server_fields(given)
    metadata = document.get("metadata") or {}
    if obj.kind == "Pod" and (owners := (given.get("metadata") or {}).get("ownerReferences")):
        # More of a pod are more replicas of its owner, which are spread by default.
        metadata = metadata | {"ownerReferences": owners}
    name = metadata.get("generateName", "pod").rstrip("-")
    return decode(document | {"metadata": {"namespace": "default", "name": name, **metadata}})


class Replicas:
    """The pods of a template, one after the other, as their controller creates them.

    Parameters
    ----------
    scheduler : Scheduler
        Gets the objects that the pods need, such as claims. `remove_objects` takes them back.
    template : Template
    references : iterable of Object
        Objects that the template may refer to: templates of resource claims.

    Attributes
    ----------
    weight : int
        How many pods of it a set has.
    gang : (PodGroup or CoschedulingPodGroup, int) or None
        The group of its pods, and how many of them it needs. Each set has a copy of the group.

    Notes
    -----
    Pods that differ in their names only share one spec, so that the scheduler keeps the results of
    earlier cycles.
    """

    def __init__(
        self, scheduler: Scheduler, template: Template, references: Iterable[Object] = ()
    ) -> None:
        self.weight = template.weight
        pod = decode(pod_document(template.obj))
        assert isinstance(pod, Pod), pod.kind
        self.gang = scheduler.gang_of(pod)
        self._scheduler = scheduler
        self._obj = template.obj
        self._made = 0
        self._references = [obj for obj in references if obj.kind == "ResourceClaimTemplate"]
        self._needs_objects = False
        self._added: list[Object] = []
        self._seen: set[NamespacedName] = set()
        self._pods = self._make()

    def __next__(self) -> Pod:
        """Return the next pod, which is pending in the scheduler."""
        return next(self._pods)

    def __iter__(self) -> Iterator[Pod]:
        return self

    def remove_objects(self) -> None:
        """Take back the objects that were added for the pods."""
        self._scheduler.remove(*reversed(self._added))
        self._added.clear()

    def _make(self) -> Iterator[Pod]:
        first = self._created(1)
        is_numbered = self._obj.kind == "StatefulSet" or _is_indexed(self._obj)
        if self._needs_objects or self.gang or is_numbered:
            yield from self._each_created(first)
        else:
            yield from self._alike(first[0])

    def _alike(self, pod: Pod) -> Iterator[Pod]:
        scheduler = self._scheduler
        base = pod.name.rpartition("-")[0]
        keys = (f"{base}-{number}" for number in count())
        names = (name for name in keys if not self._is_known(f"{pod.namespace}/{name}"))
        pod = with_fields(pod, "metadata", name=next(names))
        scheduler.add(pod)
        pod = scheduler.pending[pod.key]  # as admission completes it
        yield pod
        for name in names:
            key = f"{pod.namespace}/{name}"
            scheduler.pending[key] = with_fields(pod, "metadata", name=name, uid=key)
            yield scheduler.pending[key]

    def _is_known(self, key: NamespacedName) -> bool:
        return key in self._scheduler.cluster.pods or key in self._scheduler.pending

    def _each_created(self, pods: list[Pod]) -> Iterator[Pod]:
        number = _FIRST_PART
        while True:
            for pod in pods:
                if not self._is_known(pod.key):
                    self._scheduler.add(self._in_gang(pod))
                    yield self._scheduler.pending[pod.key]
            pods = self._created(number)
            number *= 2

    def _in_gang(self, pod: Pod) -> Pod:
        """Return a pod as a member of the group of its set, which exists then."""
        if self.gang is None:
            return pod
        number, self._made = self._made // self.weight, self._made + 1
        name = f"{self.gang[0].name}-{number}"
        group = with_fields(self.gang[0], "metadata", name=name, uid="")
        self._scheduler.add(group)
        self._added.append(group)
        if isinstance(group, PodGroup):
            reference = PodSchedulingGroup(pod_group_name=name)
            return with_fields(pod, "spec", scheduling_group=reference)
        labels = {**pod.metadata.labels, POD_GROUP_LABEL: name}
        return with_fields(pod, "metadata", labels=labels)

    def _created(self, number: int) -> list[Pod]:
        """Return the pods among the first so many that are new, and add what they need."""
        of_kind = self._scaled(number)
        expansion = expand([*self._references, *of_kind])
        added = expansion.with_objects(of_kind)
        needed = [
            obj
            for obj in added
            if not isinstance(obj, Pod)
            and kind_of(obj) not in EXPANDED_KINDS
            and f"{obj.kind} {obj.key}" not in self._seen
        ]
        self._needs_objects = self._needs_objects or bool(needed)
        self._seen.update(f"{obj.kind} {obj.key}" for obj in needed)
        new = [obj for obj in needed if not self._exists(obj)]
        self._scheduler.add(*new)
        self._added += new
        pods = [obj for obj in added if isinstance(obj, Pod) and obj.key not in self._seen]
        self._seen.update(pod.key for pod in pods)
        return pods

    def _exists(self, obj: Object) -> bool:
        """Whether a claim is there already, of a pod that the cluster has."""
        cluster = self._scheduler.cluster
        if obj.kind == "PersistentVolumeClaim":
            return obj.key in cluster.storage.claims
        return obj.kind == "ResourceClaim" and obj.key in cluster.devices.claims

    def _scaled(self, number: int) -> list[Object]:
        document = encode(self._obj)
        if self._obj.kind == "Pod":
            return [
                decode({**document, "metadata": {**document["metadata"], "name": f"{name}"}})
                for name in (f"{document['metadata']['name']}-{i}" for i in range(number))
            ]
        fields = dict.fromkeys(_count_fields(self._obj), number)
        return [decode({**document, "spec": {**document["spec"], **fields}})]


def sources_of(
    scheduler: Scheduler, templates: Sequence[Template], references: Iterable[Object]
) -> list[Replicas]:
    """Return what makes the pods of `templates`.

    Their weights are multiplied such that each gang has enough members in a set.
    """
    sources = [Replicas(scheduler, each, references) for each in templates]
    members: Counter[NamespacedName] = Counter()
    for each in sources:
        if each.gang is not None:
            members[each.gang[0].key] += each.weight
    gangs = [each.gang for each in sources if each.gang is not None]
    turns = max((ceil(least / members[group.key]) for group, least in gangs), default=1)
    for each in sources:
        each.weight *= turns
    return sources


def pod_document(obj: Object) -> dict[str, Any]:
    """Return the pod of a template, as JSON."""
    document = encode(obj)
    template: Mapping[str, Any] = document if obj.kind == "Pod" else document["spec"]["template"]
    metadata = {**(template.get("metadata") or {}), "name": obj.name, "namespace": obj.namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def _is_indexed(obj: Object) -> bool:
    return bool(encode(obj).get("spec", {}).get("completionMode") == "Indexed")

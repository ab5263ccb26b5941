"""Workloads whose pods declare their usage, and the autoscalers that act on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from podwright.apimachinery.documents import invalid
from podwright.apimachinery.objects import (
    FieldError,
    KubernetesObject,
    NamespacedName,
    Pod,
    api_group,
)
from podwright.cluster.api import (
    RESOURCE_USAGE,
    SHARED_USAGE_PREFIX,
    USAGE_KINDS,
    USAGE_PREFIX,
    ClusterUsageSpec,
    section,
    usage_problem,
    usage_spec,
)
from podwright.cluster.controllers.kinds import HPA
from podwright.cluster.store import GroupKind, kind_of


def declares_usage(target: KubernetesObject, usages: Iterable[KubernetesObject] = ()) -> bool:
    """Whether the pods of a workload may have a declared usage.

    Its annotations or those of its template may declare it, or one of some objects of KWOK with the
    usage of pods in its namespace.
    """
    shared = any(name.startswith(SHARED_USAGE_PREFIX) for name in target.metadata.annotations)
    return shared or bool(_declarations(target)) or any(_covers(each, target) for each in usages)


def _covers(usage: KubernetesObject, target: KubernetesObject) -> bool:
    if kind_of(usage) == RESOURCE_USAGE:
        return usage.namespace == target.namespace
    spec = usage_spec(usage, [])
    return isinstance(spec, ClusterUsageSpec) and spec.covers(target.namespace)


def wrong_usages(obj: KubernetesObject) -> list[FieldError]:
    """Return what is wrong with the usage that an object declares, without its source."""
    found: list[FieldError] = []
    if kind_of(obj) in USAGE_KINDS:
        usage_spec(obj, found)
    annotations = (
        ("spec.template.metadata.annotations", _declarations(obj)),
        ("metadata.annotations", _annotated(obj.metadata.annotations, SHARED_USAGE_PREFIX)),
    )
    for path, declared in annotations:
        found += [
            invalid(f"{path}[{name}]", text, problem)
            for name, text in declared.items()
            if (problem := usage_problem(text))
        ]
    return found


def _declarations(obj: KubernetesObject) -> dict[str, str]:
    """Return the annotations with usage in the template of an object, whatever its kind is."""
    if isinstance(obj, Pod):
        return {}
    template = section(obj, "spec").get("template")
    metadata = template.get("metadata") if isinstance(template, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict):
        return {}
    return _annotated(annotations, USAGE_PREFIX)


def _annotated(annotations: Mapping[str, object], prefix: str) -> dict[str, str]:
    return {name: str(text) for name, text in annotations.items() if name.startswith(prefix)}


def autoscalers_with_usage(objects: Iterable[KubernetesObject]) -> set[NamespacedName]:
    """Return the autoscalers among some objects whose targets, also among them, declare usage."""
    several = list(objects)
    scaled: dict[tuple[GroupKind, NamespacedName], list[NamespacedName]] = {}
    for each in several:
        if kind_of(each) == HPA:
            target = section(each, "spec").get("scaleTargetRef") or {}
            kind = (api_group(str(target.get("apiVersion") or "v1")), str(target.get("kind")))
            name = f"{each.namespace}/{target.get('name')}"
            scaled.setdefault((kind, name), []).append(each.key)
    if not scaled:
        return set()
    targets = (each for each in several if (kind_of(each), each.key) in scaled)
    usages = [each for each in several if kind_of(each) in USAGE_KINDS]
    declaring = ((kind_of(each), each.key) for each in targets if declares_usage(each, usages))
    return {key for target in declaring for key in scaled[target]}

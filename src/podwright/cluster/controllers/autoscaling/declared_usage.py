"""Workloads whose pods declare their usage, and the autoscalers that act on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Pod, api_group
from podwright.cluster.api import USAGE_PREFIX, section, usage_problem
from podwright.cluster.controllers.kinds import HPA
from podwright.cluster.store import GroupKind, kind_of


def declares_usage(target: KubernetesObject) -> bool:
    """Whether the pods of a workload declare their usage, by the annotations of its template."""
    return bool(_declarations(target))


def wrong_usages(obj: KubernetesObject) -> Iterator[tuple[str, str, str]]:
    """Yield the annotation, text and problem of each usage of a template that is no amount."""
    for name, text in _declarations(obj).items():
        if problem := usage_problem(text):
            yield name, text, problem


def _declarations(obj: KubernetesObject) -> dict[str, str]:
    """Return the annotations with usage in the template of an object, whatever its kind is."""
    if isinstance(obj, Pod):
        return {}
    template = section(obj, "spec").get("template")
    metadata = template.get("metadata") if isinstance(template, dict) else None
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict):
        return {}
    return {name: str(text) for name, text in annotations.items() if name.startswith(USAGE_PREFIX)}


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
    declaring = ((kind_of(each), each.key) for each in targets if declares_usage(each))
    return {key for target in declaring for key in scaled[target]}

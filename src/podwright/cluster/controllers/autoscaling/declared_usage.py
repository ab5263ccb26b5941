"""The usage that pods declare: what a metrics server would have measured.

The annotations `kwok.x-k8s.io/usage-cpu` and `kwok.x-k8s.io/usage-memory` of a pod say what each
of its containers uses. A running pod without the annotation of a resource has no metrics of it.

Upstream: sigs.k8s.io/kwok, kustomize/metrics/usage/usage-from-annotation.yaml
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from podwright.apimachinery.objects import (
    KubernetesObject,
    NamespacedName,
    Pod,
    QuantityError,
    api_group,
    parse_quantity,
)
from podwright.cluster.api import section
from podwright.cluster.controllers.kinds import HPA
from podwright.cluster.store import GroupKind, kind_of

_PREFIX: Final = "kwok.x-k8s.io/usage-"


def declares_usage(target: KubernetesObject) -> bool:
    """Whether the pods of a workload declare their usage, by the annotations of its template."""
    return bool(_declarations(target))


def wrong_usages(obj: KubernetesObject) -> Iterator[tuple[str, str, str]]:
    """Yield the annotation, text and problem of each usage of a template that is no amount."""
    for name, text in _declarations(obj).items():
        if problem := _problem(text):
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
    return {name: str(text) for name, text in annotations.items() if name.startswith(_PREFIX)}


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


class UsageError(ValueError):
    """A declared usage that is no amount, with the path of its annotation."""


def declared_milli_usage(pod: Pod, resource: str) -> int | None:
    """Return what each container of a pod uses of a resource, in thousandths; None if unknown.

    Raises
    ------
    UsageError
        The annotation is not a quantity, or negative.
    """
    name = f"{_PREFIX}{resource}"
    text = pod.metadata.annotations.get(name)
    if text is None or pod.status.phase != "Running":
        return None
    if problem := _problem(text):
        raise UsageError(
            f'pod {pod.key}: metadata.annotations[{name}]: Invalid value: "{text}": {problem}'
        )
    return parse_quantity(text).milli_value()


def _problem(text: str) -> str:
    """Return why a text is no usage; "" if it is."""
    try:
        usage = parse_quantity(text)
    except QuantityError as error:
        return str(error)
    return "must be greater than or equal to 0" if usage.nano < 0 else ""

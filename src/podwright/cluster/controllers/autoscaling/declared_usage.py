"""The usage that pods declare: what a metrics server would have measured.

The annotations `kwok.x-k8s.io/usage-cpu` and `kwok.x-k8s.io/usage-memory` of a pod say what each
of its containers uses. A running pod without the annotation of a resource has no metrics of it.

Upstream: sigs.k8s.io/kwok, kustomize/metrics/usage/usage-from-annotation.yaml
"""

from __future__ import annotations

from collections.abc import Iterable
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
from podwright.cluster.store import kind_of

_PREFIX: Final = "kwok.x-k8s.io/usage-"


def declares_usage(target: KubernetesObject) -> bool:
    """Whether the pods of a workload declare their usage, by the annotations of its template."""
    template = section(target, "spec").get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return any(name.startswith(_PREFIX) for name in annotations)


def autoscalers_with_usage(objects: Iterable[KubernetesObject]) -> set[NamespacedName]:
    """Return the autoscalers among some objects whose targets, also among them, declare usage."""
    several = list(objects)
    declaring = {(kind_of(each), each.key) for each in several if declares_usage(each)}
    found = set()
    for each in several if declaring else ():
        if kind_of(each) == HPA:
            target = section(each, "spec").get("scaleTargetRef") or {}
            kind = (api_group(str(target.get("apiVersion") or "v1")), str(target.get("kind")))
            if (kind, f"{each.namespace}/{target.get('name')}") in declaring:
                found.add(each.key)
    return found


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
    try:
        usage = parse_quantity(text).milli_value()
    except QuantityError as error:
        raise UsageError(_message(pod, name, text, str(error))) from None
    if usage < 0:
        raise UsageError(_message(pod, name, text, "must be greater than or equal to 0"))
    return usage


def _message(pod: Pod, name: str, text: str, reason: str) -> str:
    return f'pod {pod.key}: metadata.annotations[{name}]: Invalid value: "{text}": {reason}'

"""The usage that pods declare: what a metrics server would have measured.

The annotations `kwok.x-k8s.io/usage-cpu` and `kwok.x-k8s.io/usage-memory` of a pod say what each
of its containers uses. A running pod without the annotation of a resource has no metrics of it.

Upstream: sigs.k8s.io/kwok, kustomize/metrics/usage/usage-from-annotation.yaml
"""

from __future__ import annotations

from typing import Final

from podwright.apimachinery.objects import Pod, Quantity, QuantityError, parse_quantity

USAGE_PREFIX: Final = "kwok.x-k8s.io/usage-"
"""The beginning of the names of the annotations; the resource follows."""


class UsageError(ValueError):
    """A declared usage that is no amount, with the path of its annotation."""


def declared_usage(pod: Pod, resource: str) -> Quantity | None:
    """Return what each container of a pod uses of a resource; None if unknown.

    Raises
    ------
    UsageError
        The annotation is not a quantity, or negative.
    """
    name = f"{USAGE_PREFIX}{resource}"
    text = pod.metadata.annotations.get(name)
    if text is None or pod.status.phase != "Running":
        return None
    if problem := usage_problem(text):
        raise UsageError(
            f'pod {pod.key}: metadata.annotations[{name}]: Invalid value: "{text}": {problem}'
        )
    return parse_quantity(text)


def usage_problem(text: str) -> str:
    """Return why a text is no usage; "" if it is."""
    try:
        usage = parse_quantity(text)
    except QuantityError as error:
        return str(error)
    return "must be greater than or equal to 0" if usage.nano < 0 else ""

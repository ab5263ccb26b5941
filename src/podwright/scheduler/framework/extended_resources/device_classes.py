"""Which extended resources of a pod device classes may back."""

from __future__ import annotations

from collections.abc import Iterator

from podwright.apimachinery.objects import Pod, is_extended_resource
from podwright.scheduler.columns import DEVICE_CLASS_PREFIX


def extended_requests(pod: Pod) -> tuple[str, ...]:
    """Return the extended resources in a pod's spec, sorted.

    A pod may request an amount of 0 of them, which only the sum of its requests shows.
    """
    return tuple(sorted({name for name in _requested_names(pod) if _may_be_backed(name)}))


def _requested_names(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    for container in (*spec.containers, *spec.init_containers):
        yield from container.resources.requests
    if spec.resources is not None:
        yield from spec.resources.requests
    yield from spec.overhead


def _may_be_backed(name: str) -> bool:
    return name.startswith(DEVICE_CLASS_PREFIX) or is_extended_resource(name)

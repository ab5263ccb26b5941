"""Extended resources that device classes back, which are not implemented.

Upstream allocates devices for such a resource on nodes that do not have it as an allocatable
amount. Without that, a pod would be rejected although it fits, or placed although there is no
device left; it is refused instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from podwright.columns import DEVICE_CLASS_PREFIX, Cluster
from podwright.framework.status import Status
from podwright.objects import Pod, is_extended_resource, pending_requests


def extended_requests(pod: Pod) -> tuple[str, ...]:
    """Return the extended resources in a pod's spec, sorted.

    A pod may request an amount of 0 of them, which only the sum of its requests shows.
    """
    return tuple(sorted({name for name in _requested_names(pod) if _may_be_backed(name)}))


def device_class_refusal(pod: Pod, cluster: Cluster) -> Status | None:
    """Return a rejection if a device class backs a resource of the pod; None otherwise."""
    names = extended_requests(pod)
    if not names:
        return None
    amounts = pending_requests(pod)
    backed = [
        f'{name} of DeviceClass "{device_class}"'
        for name in names
        if amounts.get(name) and (device_class := cluster.device_classes.class_of(name))
    ]
    if not backed:
        return None
    text = "extended resources of device classes are not supported"
    return Status.unresolvable(f"{text}: {', '.join(backed)}")


def _requested_names(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    for container in (*spec.containers, *spec.init_containers):
        yield from container.resources.requests
    if spec.resources is not None:
        yield from spec.resources.requests
    yield from spec.overhead


def _may_be_backed(name: str) -> bool:
    return name.startswith(DEVICE_CLASS_PREFIX) or is_extended_resource(name)

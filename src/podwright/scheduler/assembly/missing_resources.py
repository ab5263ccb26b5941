"""Resources that pods request and no node has, mostly because of a misspelled name."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podwright.apimachinery.objects import (
    DeviceClass,
    Node,
    Pod,
    nearest,
    pending_requests,
    quantity_value,
    with_allocatable,
)
from podwright.scheduler.columns import DEVICE_CLASS_PREFIX


class MissingResource(msgspec.Struct, frozen=True):
    """A resource that no node has.

    Parameters
    ----------
    name : str
    pod_count : int
        The number of pods that request it.
    near : str
        A resource of some node that may have been meant; "" if there is none.
    """

    name: str
    pod_count: int
    near: str = ""

    def __str__(self) -> str:
        subject = "1 pod requests" if self.pod_count == 1 else f"{self.pod_count} pods request"
        hint = f'; did they mean "{self.near}"?' if self.near else ""
        return f"{subject} {self.name}, which no node has{hint}"


def missing_resources(
    pods: Iterable[Pod], nodes: Iterable[Node], classes: Iterable[DeviceClass] = ()
) -> list[MissingResource]:
    """Return the requested resources that no node has, by name; none if there are no nodes.

    Parameters
    ----------
    pods : iterable of Pod
        Pods without a node; the requests of placed pods are not checked.
    classes : iterable of DeviceClass
        Devices of these are allocated for extended resources.
    """
    there: set[str] = set()
    has_nodes = False
    for node in nodes:
        has_nodes = True
        there.update(
            name
            for name, amount in with_allocatable(node).status.allocatable.items()
            if quantity_value(amount) > 0
        )
    if not has_nodes:
        return []
    for each in classes:
        there |= {each.spec.extended_resource_name or "", DEVICE_CLASS_PREFIX + each.name}
    counts: dict[str, int] = {}
    for pod in pods:
        for name in pending_requests(pod):
            if name not in there:
                counts[name] = counts.get(name, 0) + 1
    known = sorted(there)
    return [
        MissingResource(name, counts[name], nearest(name, known) or "") for name in sorted(counts)
    ]

"""Resources that pods ask for and no node has at all, which mostly are misspelt."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from podwright.objects import Node, Pod, nearest, pending_requests, quantity_value


class MissingResource(msgspec.Struct, frozen=True):
    """A resource that no node has.

    Parameters
    ----------
    name : str
    pod_count : int
        How many pods ask for it.
    near : str
        A resource of some node that may have been meant; "" if there is none.
    """

    name: str
    pod_count: int
    near: str = ""

    def __str__(self) -> str:
        asks = "1 pod asks" if self.pod_count == 1 else f"{self.pod_count} pods ask"
        hint = f'; did they mean "{self.near}"?' if self.near else ""
        return f"{asks} for {self.name}, which no node has{hint}"


def missing_resources(pods: Iterable[Pod], nodes: Iterable[Node]) -> list[MissingResource]:
    """Find what is asked for and allocatable nowhere, by name; nothing if there are no nodes.

    Parameters
    ----------
    pods : iterable of Pod
        Those that have no node: what a placed pod asks for was there, or is not looked at.
    """
    there: set[str] = set()
    has_nodes = False
    for node in nodes:
        has_nodes = True
        there.update(
            name
            for name, amount in node.status.allocatable.items()
            if name not in there and quantity_value(amount) > 0
        )
    if not has_nodes:
        return []
    counts: dict[str, int] = {}
    for pod in pods:
        for name in pending_requests(pod):
            if name not in there:
                counts[name] = counts.get(name, 0) + 1
    known = sorted(there)
    return [
        MissingResource(name, counts[name], nearest(name, known) or "") for name in sorted(counts)
    ]

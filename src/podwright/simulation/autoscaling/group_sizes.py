"""The sizes of node groups over time, for the report of a run."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from podwright._checkpointed import Checkpointed, Saved
from podwright.apimachinery.objects import KubernetesObject, Node, timestamp_text
from podwright.simulation.autoscaling.node_groups import Autoscaling, pool_of

_HOUR_NS = 3_600_000_000_000


class SizeChange(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a group from a time on.

    Attributes
    ----------
    time : str
    size : int
        The number of its nodes.
    """

    time: str
    size: int


class GroupSizes(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The size of a node group during a run.

    Attributes
    ----------
    name : str
    sizes : tuple of SizeChange
        In order of time.
    node_hours : float
    cost : float
        Of these hours, by the price of the group.
    """

    name: str
    sizes: tuple[SizeChange, ...] = ()
    node_hours: float = 0.0
    cost: float = 0.0


class NodeGroupSizes(Checkpointed):
    """Observes the nodes of groups.

    Parameters
    ----------
    autoscaling : Autoscaling
    start_ns : int
        The start of the run.
    """

    _sizes: Saved[dict[str, list[tuple[int, int]]]]

    def __init__(self, autoscaling: Autoscaling, start_ns: int) -> None:
        self._groups = autoscaling.groups
        self._label = autoscaling.options.pool_label
        self._sizes = {each.name: [(start_ns, 0)] for each in autoscaling.groups}

    def changed(
        self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
    ) -> None:
        """Receive an added or a removed node; other changes have no effect."""
        node = old if new is None else new
        if not isinstance(node, Node) or (old is not None and new is not None):
            return
        sizes = self._sizes.get(pool_of(node, self._label))
        if sizes is None:
            return
        size = sizes[-1][1] + (1 if old is None else -1)
        if sizes[-1][0] == now_ns:
            sizes.pop()
        sizes.append((now_ns, size))

    def report(self, now_ns: int) -> tuple[GroupSizes, ...]:
        """Return the sizes until a time."""
        found = []
        for group in self._groups:
            sizes = self._sizes[group.name]
            spans = pairwise([*sizes, (now_ns, 0)])
            hours = sum(n * (end_ns - at_ns) for (at_ns, n), (end_ns, _) in spans) / _HOUR_NS
            found.append(
                GroupSizes(
                    name=group.name,
                    sizes=tuple(SizeChange(time=timestamp_text(at), size=n) for at, n in sizes),
                    node_hours=hours,
                    cost=hours * group.price,
                )
            )
        return tuple(found)

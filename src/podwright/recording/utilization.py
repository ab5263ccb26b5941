"""The utilization of resources over a run: time-weighted means and exact peaks.

The meter is advanced each time virtual time advances, with the state that held until then. States
that lasted no time do not count, except for the last one. The sums over nodes are kept up to date
from the journals of the node columns, so the cost grows with the number of changed nodes.
"""

from __future__ import annotations

import msgspec
import numpy as np

from podwright._arrays import I64Array, I64Matrix
from podwright.columns import NodeColumns


class ResourceUse(msgspec.Struct):
    """The utilization of one resource so far.

    Attributes
    ----------
    share : float
        Requested divided by allocatable since `since_ns`; -1 while no node has the resource.
    since_ns : int
        The time since which the share holds.
    area_ns : float
        The sum of earlier shares, each multiplied by its duration in nanoseconds.
    lasted_ns : int
        The total duration of these shares.
    peak : float
        The highest share that lasted.
    """

    share: float
    since_ns: int
    area_ns: float = 0.0
    lasted_ns: int = 0
    peak: float = 0.0


class UtilizationMeter:
    """Measures the utilization of all resources of a cluster.

    Attributes
    ----------
    uses : dict of str to ResourceUse
        The measurements by resource.
    """

    def __init__(self) -> None:
        self.uses: dict[str, ResourceUse] = {}
        self._versions: tuple[int, int] | None = None
        self._allocatable: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self._requested: I64Matrix = np.zeros((0, 0), dtype=np.int64)
        self._allocatable_sums: I64Array = np.zeros(0, dtype=np.int64)
        self._requested_sums: I64Array = np.zeros(0, dtype=np.int64)

    def advance(self, nodes: NodeColumns, before_ns: int, now_ns: int) -> None:
        """Count the current state from a time until another one.

        Parameters
        ----------
        before_ns : int
            The time of the last changes.
        now_ns : int
            The next time; after `before_ns`, unless the run ends.
        """
        if self._update_sums(nodes):
            self._set_shares(nodes, before_ns)
        for use in self.uses.values():
            if now_ns > use.since_ns and use.share > use.peak:
                use.peak = use.share

    def end(self, nodes: NodeColumns, now_ns: int) -> None:
        """Count the last state, which may have lasted no time."""
        self.advance(nodes, now_ns, now_ns)
        for use in self.uses.values():
            _close(use, now_ns)
            use.peak = max(use.peak, use.share)

    def means(self) -> dict[str, tuple[float, float]]:
        """Return mean and peak of each resource, after `end`."""
        return {
            name: (use.area_ns / use.lasted_ns if use.lasted_ns else max(use.share, 0.0), use.peak)
            for name, use in self.uses.items()
        }

    def _set_shares(self, nodes: NodeColumns, at_ns: int) -> None:
        for name, column in nodes.resources.items():
            allocatable = int(self._allocatable_sums[column])
            # -1: nothing is allocatable; `_close` leaves such times out of the mean.
            share = int(self._requested_sums[column]) / allocatable if allocatable else -1.0
            use = self.uses.get(name)
            if use is None:
                if allocatable:
                    self.uses[name] = ResourceUse(share, at_ns)
            elif use.share != share:
                _close(use, at_ns)
                use.share = share

    def _update_sums(self, nodes: NodeColumns) -> bool:
        """Update the sums over live nodes; return whether any node may have changed."""
        versions = (nodes.node_journal.version, nodes.pods_journal.version)
        if versions == self._versions:
            return False
        slots = self._changed_slots(nodes)
        self._versions = versions
        if slots is None:
            alive = nodes.alive[:, None]
            self._allocatable = np.where(alive, nodes.allocatable, 0)
            self._requested = np.where(alive, nodes.requested, 0)
            self._allocatable_sums = self._allocatable.sum(axis=0)
            self._requested_sums = self._requested.sum(axis=0)
            return True
        alive = nodes.alive[slots, None]
        allocatable = np.where(alive, nodes.allocatable[slots], 0)
        requested = np.where(alive, nodes.requested[slots], 0)
        self._allocatable_sums += (allocatable - self._allocatable[slots]).sum(axis=0)
        self._requested_sums += (requested - self._requested[slots]).sum(axis=0)
        self._allocatable[slots], self._requested[slots] = allocatable, requested
        return True

    def _changed_slots(self, nodes: NodeColumns) -> I64Array | None:
        """Return the slots that changed since the last update; None for all."""
        if self._versions is None or self._allocatable.shape != nodes.allocatable.shape:
            return None
        changed = nodes.node_journal.since(self._versions[0])
        changed_pods = nodes.pods_journal.since(self._versions[1])
        if changed is None or changed_pods is None:
            return None
        # A slot in both journals must change the sums once.
        slots: I64Array = np.unique(np.concatenate((changed, changed_pods))).astype(np.int64)
        return slots

    @classmethod
    def restore(cls, uses: dict[str, ResourceUse]) -> UtilizationMeter:
        """Return a meter that continues from the `uses` of another one."""
        meter = cls()
        meter.uses = dict(uses)
        return meter


def _close(use: ResourceUse, at_ns: int) -> None:
    """Add the time since which the current share holds."""
    if use.share >= 0:
        use.area_ns += use.share * (at_ns - use.since_ns)
        use.lasted_ns += at_ns - use.since_ns
    use.since_ns = at_ns

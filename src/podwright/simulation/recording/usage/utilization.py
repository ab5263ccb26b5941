"""The utilization of resources over a run: time-weighted means and exact peaks.

The meter is advanced each time virtual time advances, with the state that held until then. States
that lasted no time do not count, except for the last one.
"""

from __future__ import annotations

from podwright._arrays import I64Array
from podwright.simulation.recording.usage.node_amounts import NodeAmounts
from podwright.simulation.recording.usage.time_weighted import ABSENT, TimeWeightedShare


class ResourceUse(TimeWeightedShare):
    """The utilization of one resource so far: requested divided by allocatable.

    Attributes
    ----------
    peak : float
        The highest share that lasted.
    """

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

    def advance(
        self, amounts: NodeAmounts, changed: I64Array | None, before_ns: int, now_ns: int
    ) -> None:
        """Count the current state from a time until another one.

        Parameters
        ----------
        changed : (k,) int64, optional
            What the last update of the amounts returned.
        before_ns : int
            The time of the last changes.
        now_ns : int
            The next time; after `before_ns`, unless the run ends.
        """
        if changed is None or len(changed):
            self._set_shares(amounts, before_ns)
        for use in self.uses.values():
            if now_ns > use.since_ns and use.share > use.peak:
                use.peak = use.share

    def end(self, amounts: NodeAmounts, changed: I64Array | None, now_ns: int) -> None:
        """Count the last state, which may have lasted no time."""
        self.advance(amounts, changed, now_ns, now_ns)
        for use in self.uses.values():
            use.close(now_ns)
            use.peak = max(use.peak, use.share)

    def means(self) -> dict[str, tuple[float, float]]:
        """Return mean and peak of each resource, after `end`."""
        return {name: (use.mean, use.peak) for name, use in self.uses.items()}

    def _set_shares(self, amounts: NodeAmounts, at_ns: int) -> None:
        for name, column in amounts.columns.items():
            allocatable = int(amounts.allocatable_sums[column])
            share = int(amounts.requested_sums[column]) / allocatable if allocatable else ABSENT
            use = self.uses.get(name)
            if use is not None:
                use.change(share, at_ns)
            elif allocatable:
                self.uses[name] = ResourceUse(share, at_ns)

    @classmethod
    def restore(cls, uses: dict[str, ResourceUse]) -> UtilizationMeter:
        """Return a meter that continues from the `uses` of another one."""
        meter = cls()
        meter.uses = dict(uses)
        return meter

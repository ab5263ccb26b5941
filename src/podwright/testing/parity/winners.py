"""The nodes with the greatest total, which `winners` in the vectors lists."""

from __future__ import annotations

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import Decision, PluginRunner


def winners_among(cluster: Cluster, totals: I64Array, found: I32Array) -> list[str]:
    """Return the names of the feasible nodes with the greatest total, sorted.

    Parameters
    ----------
    totals : (n_slots,) int64
    found : (k,) int32
        The feasible slots, at least one.
    """
    best = totals[found].max()
    names = cluster.nodes.names
    return sorted(names[slot] for slot in found.tolist() if totals[slot] == best)


def winners_of(runner: PluginRunner, decision: Decision) -> list[str]:
    """Return the winners of the last cycle of a runner that keeps totals."""
    if runner.scored is not None:
        return winners_among(runner.cluster, *runner.scored)
    return [decision.node] if decision.node else []


class Winners:
    """Follows a runner that keeps totals: the winners of every cycle, by pod."""

    def __init__(self, runner: PluginRunner) -> None:
        self._cluster = runner.cluster
        self._by_pod: dict[str, list[str]] = {}
        runner.on_scored = self._note

    def clear(self) -> None:
        """Begin a step."""
        self._by_pod.clear()

    def of(self, decision: Decision) -> list[str]:
        """Return the winners of a decision of this step."""
        if decision.pod.key in self._by_pod:
            return self._by_pod[decision.pod.key]
        return [decision.node] if decision.node else []

    def _note(self, pod: Pod, totals: I64Array, found: I32Array) -> None:
        self._by_pod[pod.key] = winners_among(self._cluster, totals, found)

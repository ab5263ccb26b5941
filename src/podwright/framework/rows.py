"""One plugin's answer for one pod key, over all slots, kept current.

A row remembers the journal versions up to which it is right. Bringing it up to date asks
the plugin again about the slots that the journals name, or about all if that is too many.
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array
from podwright.columns import Cluster, Reads
from podwright.framework.adapter import run_filter, run_score
from podwright.framework.cycle import Cycle
from podwright.framework.plugin import Plugin
from podwright.framework.scores import Normalization, Scores
from podwright.framework.verdicts import Verdicts
from podwright.kernels.normalize import extremes

_NONE: I32Array = np.empty(0, dtype=np.int32)
_JOURNALS = Reads.NODE | Reads.PODS


class Row:
    """What filter rows and score rows have in common: when they have to be asked again."""

    __slots__ = ("_numbering", "_versions", "cycle", "node_version", "plugin", "pods_version", "reads")

    def __init__(self, plugin: Plugin, reads: Reads, cycle: Cycle) -> None:
        self.plugin = plugin
        self.reads = reads
        self.cycle = cycle
        self.node_version = -1
        self.pods_version = -1
        self._numbering = cycle.cluster.numbering
        self._versions: tuple[int, ...] = ()

    @property
    def reads_pods(self) -> bool:
        """Whether pods coming and going can change this row."""
        return bool(self.reads & Reads.PODS)

    def bring_up_to_date(self, cluster: Cluster, cycle: Cycle) -> None:
        """Ask the plugin about whatever changed.

        Parameters
        ----------
        cycle : Cycle
            A prepared cycle of a pod with this row's key; kept for later catching up.
        """
        self.cycle = cycle
        nodes = cluster.nodes
        versions = cluster.version_of(self.reads & ~_JOURNALS)
        node_version, pods_version = nodes.node_journal.version, nodes.pods_journal.version
        changed: I32Array | None
        if versions != self._versions or self._numbering != cluster.numbering:
            changed = None
        else:
            changed = self._changed(cluster)
        self._versions = versions
        self._numbering = cluster.numbering
        self.node_version, self.pods_version = node_version, pods_version
        if changed is None or 4 * len(changed) > nodes.n_slots + 64:
            self._lengthen(nodes.n_slots)
            self._evaluate(cluster.live_slots(), is_everything=True)
        elif len(changed):
            self._lengthen(nodes.n_slots)
            live = changed[nodes.alive[changed]]
            self._evaluate(live, is_everything=False)

    def catch_up(self, slots: I32Array, pods_version: int) -> None:
        """Ask again about `slots`, the only ones whose pods changed up to `pods_version`."""
        self.pods_version = pods_version
        self._evaluate(slots, is_everything=False)

    def _changed(self, cluster: Cluster) -> I32Array | None:
        nodes = cluster.nodes
        of_nodes = nodes.node_journal.since(self.node_version) if self.node_version >= 0 else None
        if of_nodes is None:
            return None
        if not self.reads & Reads.PODS:
            return of_nodes
        of_pods = nodes.pods_journal.since(self.pods_version)
        if of_pods is None:
            return None
        if not len(of_nodes):
            return of_pods
        both: I32Array = np.concatenate([of_nodes, of_pods])
        return both

    def _lengthen(self, n_slots: int) -> None:
        raise NotImplementedError

    def _evaluate(self, slots: I32Array, *, is_everything: bool) -> None:
        raise NotImplementedError


class VerdictRow(Row):
    """A filter plugin's codes."""

    __slots__ = ("verdicts",)

    def __init__(self, plugin: Plugin, cycle: Cycle) -> None:
        super().__init__(plugin, plugin.filter_reads, cycle)
        self.verdicts = Verdicts(np.empty(0, dtype=np.int64), _NONE)

    def _lengthen(self, n_slots: int) -> None:
        if len(self.verdicts.codes) != n_slots:
            self.verdicts.lengthen(n_slots)

    def _evaluate(self, slots: I32Array, *, is_everything: bool) -> None:
        verdicts = self.verdicts
        if is_everything:
            verdicts.codes[:] = 0
        else:
            verdicts.codes[slots] = 0
        verdicts.rows = slots
        run_filter(self.plugin, self.cycle, verdicts)


class ScoreRow(Row):
    """A score plugin's raw scores.

    Attributes
    ----------
    constant : int or None
        The raw score that every live slot has; None if they differ. Known only for rows
        with a default normalisation, which is then the same for every feasible set.
    """

    __slots__ = ("constant", "scores")

    def __init__(self, plugin: Plugin, cycle: Cycle) -> None:
        super().__init__(plugin, plugin.score_reads, cycle)
        self.scores = Scores(np.empty(0, dtype=np.int64), _NONE)
        self.constant: int | None = None

    def _lengthen(self, n_slots: int) -> None:
        if len(self.scores.values) != n_slots:
            self.scores.lengthen(n_slots)

    def _evaluate(self, slots: I32Array, *, is_everything: bool) -> None:
        scores = self.scores
        scores.rows = slots
        run_score(self.plugin, self.cycle, scores)
        if self.plugin.normalization in (Normalization.DEFAULT, Normalization.DEFAULT_REVERSED):
            least, greatest = extremes(scores.values, slots)
            if is_everything:
                self.constant = int(least) if least == greatest else None
            elif len(slots) and not (least == greatest == self.constant):
                self.constant = None

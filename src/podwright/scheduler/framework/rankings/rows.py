"""Rows: the result of one plugin for one pod key, over all slots, updated incrementally.

A row has the journal versions for which it is valid. An update calls the plugin for the slots
that the journals name, or for all slots if there are too many.
"""

from __future__ import annotations

import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.framework.adapter import PluginFailure, run_filter, run_score
from podwright.scheduler.framework.cycle import Cycle
from podwright.scheduler.framework.plugin import Plugin
from podwright.scheduler.framework.rankings.scores import MAX_NODE_SCORE, Normalization, Scores
from podwright.scheduler.framework.rankings.verdicts import Verdicts
from podwright.scheduler.kernels import normalize, select

_NONE: I32Array = np.empty(0, dtype=np.int32)
_NO_NUMBERS: I64Array = np.empty(0, dtype=np.int64)
_PODS = Reads.PODS.value
_JOURNALS = (Reads.NODE | Reads.PODS).value
_GREATEST_RAW = 2**50
"""Raw scores up to here cannot overflow in a default normalization."""


class UncacheableScore(Exception):  # noqa: N818 - it is caught and changes how the plugin is run
    """A score of a row is invalid, or the plugin failed, at a node that may be infeasible.

    Upstream scores feasible nodes only, so this is an error only if the node is feasible. The
    plugin is then run in every cycle, on the feasible nodes.
    """

    def __init__(self, plugin: Plugin) -> None:
        super().__init__(plugin.name)
        self.plugin = plugin


class Row:
    """The common part of filter rows and score rows: when a plugin must be called again.

    Attributes
    ----------
    reads : Reads
        What the row depends on.
    reads_pods : bool
        Whether pods coming and going can change this row.
    other_reads : int
        The `Reads` of other objects than nodes and pods.
    node_version, pods_version : int
        Journal versions up to which the row is right.
    objects_version : int
        That of the cluster for which the rest that the row depends on was last compared.
    is_spare : bool
        True: the next pod whose key is not kept overwrites this row.
    """

    __slots__ = (
        "_versions",
        "cycle",
        "is_spare",
        "node_version",
        "objects_version",
        "other_reads",
        "plugin",
        "pods_version",
        "reads",
        "reads_pods",
    )

    def __init__(self, plugin: Plugin, reads: Reads, cycle: Cycle) -> None:
        self.plugin = plugin
        self.cycle = cycle
        self.reads = reads
        self.is_spare = False
        self.reads_pods = bool(int(reads) & _PODS)
        self.node_version = -1
        self.pods_version = -1
        self.other_reads = int(reads) & ~_JOURNALS
        self.objects_version = -1
        self._versions: tuple[int, ...] = ()

    def bring_up_to_date(self, cluster: Cluster, cycle: Cycle, objects_version: int) -> None:
        """Call the plugin for the slots that changed.

        Parameters
        ----------
        cycle : Cycle
            A prepared cycle of a pod with this row's key; kept for later catching up.
        objects_version : int
            The cluster's.
        """
        nodes = cluster.nodes
        node_version, pods_version = nodes.node_journal.version, nodes.pods_journal.version
        is_same_world = self.objects_version == objects_version or not self.other_reads
        if (
            is_same_world
            and self.node_version == node_version
            and (self.pods_version == pods_version or not self.reads_pods)
        ):
            return
        self.cycle = cycle
        changed: I32Array | None = None
        versions = () if is_same_world else cluster.version_of(self.other_reads)
        if is_same_world or versions == self._versions:
            changed = self._changed(cluster)
        # If the plugin fails, the row keeps its versions, and the next update tries the same.
        if changed is None or 4 * len(changed) > nodes.n_slots + 64:
            self._lengthen(nodes.n_slots)
            self._evaluate(cluster.live_slots(), is_everything=True)
        elif len(changed):
            self._lengthen(nodes.n_slots)
            self._evaluate(changed[nodes.alive[changed]], is_everything=False)
        if not is_same_world:
            self._versions = versions
        self.objects_version = objects_version
        self.node_version, self.pods_version = node_version, pods_version

    def restart(self, cycle: Cycle) -> None:
        """Forget everything: the row is used for another key, and for the moment."""
        self.is_spare = True
        self.cycle = cycle
        self.node_version = -1

    def catch_up(self, slots: I32Array, pods_version: int) -> None:
        """Update `slots`, the only ones whose pods changed up to `pods_version`."""
        # If the plugin fails, the journal still names these slots for the versions of the row.
        self._evaluate(slots, is_everything=False)
        self.pods_version = pods_version

    def _changed(self, cluster: Cluster) -> I32Array | None:
        """Return the slots that changed since the row's versions; None: too many."""
        nodes = cluster.nodes
        of_nodes = nodes.node_journal.since(self.node_version) if self.node_version >= 0 else None
        if of_nodes is None or not self.reads_pods:
            return of_nodes
        of_pods = nodes.pods_journal.since(self.pods_version)
        if of_pods is None or not len(of_nodes):
            return of_pods
        both: I32Array = np.concatenate([of_nodes, of_pods])
        return both

    def _lengthen(self, n_slots: int) -> None:
        raise NotImplementedError

    def _evaluate(self, slots: I32Array, *, is_everything: bool) -> None:
        raise NotImplementedError


class VerdictRow(Row):
    """A filter plugin's codes.

    Attributes
    ----------
    verdicts : Verdicts
    rejects_any : bool
        False: every slot passes, so there is nothing to merge.
    """

    __slots__ = ("rejects_any", "verdicts")

    def __init__(self, plugin: Plugin, cycle: Cycle, reads: Reads | None = None) -> None:
        super().__init__(plugin, plugin.filter_reads if reads is None else reads, cycle)
        self.verdicts = Verdicts(_NO_NUMBERS, _NONE)
        self.rejects_any = False

    def _lengthen(self, n_slots: int) -> None:
        if len(self.verdicts.codes) != n_slots:
            self.verdicts.lengthen(n_slots)

    def _evaluate(self, slots: I32Array, *, is_everything: bool) -> None:
        verdicts = self.verdicts
        codes = verdicts.codes
        verdicts.rows = slots
        if is_everything:
            codes.fill(0)
            run_filter(self.plugin, self.cycle, verdicts)
            self.rejects_any = select.has_code(codes)
        else:
            # Mostly one slot has changed, and operations on arrays have a high fixed cost.
            only = slots.item() if len(slots) == 1 else None
            codes[slots if only is None else only] = 0
            run_filter(self.plugin, self.cycle, verdicts)
            # A partial update never resets it: other slots may be rejected still.
            if not self.rejects_any:
                rejects = codes[slots].any() if only is None else codes[only]
                self.rejects_any = bool(rejects)


class ScoreRow(Row):
    """A score plugin's raw scores.

    Attributes
    ----------
    scores : Scores
    constant : int or None
        The raw score that every live slot has; None if they differ or if that is not known.
        A row with a default normalization and a constant is the same for every feasible set.
    """

    __slots__ = ("_greatest", "_watches_constant", "constant", "scores")

    def __init__(self, plugin: Plugin, cycle: Cycle, reads: Reads | None = None) -> None:
        super().__init__(plugin, plugin.score_reads if reads is None else reads, cycle)
        self.scores = Scores(_NO_NUMBERS, _NONE)
        self.constant: int | None = None
        self._watches_constant = not self.reads_pods
        is_raw = plugin.normalization is Normalization.NONE
        self._greatest = MAX_NODE_SCORE if is_raw else _GREATEST_RAW

    def _lengthen(self, n_slots: int) -> None:
        if len(self.scores.values) != n_slots:
            self.scores.lengthen(n_slots)

    def _evaluate(self, slots: I32Array, *, is_everything: bool) -> None:
        scores = self.scores
        scores.rows = slots
        if self.plugin.scores_in_range:
            try:
                run_score(self.plugin, self.cycle, scores)
            except PluginFailure as failure:
                # It fails only cycles with two feasible nodes or more.
                raise UncacheableScore(self.plugin) from failure
        else:
            self._score_checked(slots)
        if self._watches_constant:
            least, greatest = normalize.extremes(scores.values, slots)
            if is_everything:
                self.constant = int(least) if least == greatest else None
            elif len(slots) and not (least == greatest == self.constant):
                self.constant = None

    def _score_checked(self, slots: I32Array) -> None:
        """Score slots, and check that every feasible set has normalized scores in range."""
        try:
            run_score(self.plugin, self.cycle, self.scores)
        except PluginFailure as failure:
            raise UncacheableScore(self.plugin) from failure
        least, greatest = normalize.extremes(self.scores.values, slots)
        if len(slots) and not 0 <= least <= greatest <= self._greatest:
            raise UncacheableScore(self.plugin)

"""Opportunistic batching: the decision for one pod suggests a node for the next similar one.

Theory of operation
-------------------
A full cycle stores the other feasible nodes, best first. If the next pod has the same signature,
and the node that was chosen last has no room for it, then the best of the stored nodes is
probably what a full cycle would choose. It is *suggested*: filtered alone, and if it passes it is
chosen without scoring. Each suggestion removes a node from the list. The list is dropped when a
different pod is scheduled, when it is half a second old, or when the last node has room for one
more pod, since the rank of that node is unknown then.

The list is not updated. A node that was added, or has room again, is not in it, and scores change
with every pod; so a suggestion can differ from the choice of a full cycle. That is why batching is
off by default (docs/decisions/0008).

    stored ── same signature, last node full, in time ──► suggest ── passes ──► taken
       ▲                                                     └──── rejected ──┐
       └────────────────── a full cycle chose among several ◄─────────────────┘

Upstream: pkg/scheduler/framework/runtime/batch.go
"""

from __future__ import annotations

from enum import StrEnum

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array
from podwright.apimachinery.objects import TIE_STREAM, Pod, draw
from podwright.scheduler.framework import (
    BatchReport,
    Decision,
    FilterNode,
    PluginRunner,
    Signature,
    Signer,
    TieRule,
)
from podwright.scheduler.kernels import select
from podwright.scheduler.kernels._jit import count_cycle
from podwright.scheduler.machine.metrics.machine_metrics import Metrics

MAX_AGE_NS = 500_000_000
_ATTEMPTS = "scheduler_batch_attempts_total"
"""How long results are used. Upstream: `maxBatchAge`."""


class Flush(StrEnum):
    """Why stored results were not used, or nothing was stored; upstream's labels."""

    POD_SKIPPED = "pod_skipped"
    """Another pod was popped in between, or the last cycle failed."""
    POD_INCOMPATIBLE = "pod_incompatible"
    """The pod has another signature, or none."""
    EXPIRED = "expired"
    """The results are too old."""
    NODE_MISSING = "node_missing"
    """The node that was chosen last is gone."""
    NODE_NOT_FULL = "node_not_full"
    """The node that was chosen last would take this pod too."""
    POD_NOT_BATCHABLE = "pod_not_batchable"
    """Nothing is stored: the pod has no signature."""
    EMPTY_LIST = "empty_list"
    """Nothing is stored: there was no other feasible node."""


class BatchSnapshot(msgspec.Struct, frozen=True, array_like=True):
    """What a `Batch` remembers, as plain values.

    Parameters
    ----------
    signature : bytes
        Of the pods that the nodes are for; empty: nothing is stored.
    nodes, totals : tuple
        The nodes that are left, in the order in which they are kept.
    last_cycle : int
        The last cycle that chose a node; -1 before the first.
    """

    signature: bytes
    nodes: tuple[str, ...]
    totals: tuple[int, ...]
    stored_ns: int
    last_cycle: int
    last_node: str


class NodesLeft:
    """The feasible nodes of a cycle that were not taken, best first.

    Among equals the profile's tie rule decides, with the draw of the current cycle. Nodes
    are known by name: one that goes and comes back is the same node.

    Parameters
    ----------
    names : list of str
        By position in `totals`; kept.
    totals : (n,) int64, written
        -1 for positions that are not meant; kept.
    order : (k,) int32, written
        The positions that are meant: in the order in which they were found, or as a heap.
    """

    __slots__ = ("_count", "_found", "_names", "_order", "_rule", "_seed", "_totals")

    def __init__(
        self, names: list[str], totals: I64Array, order: I32Array, rule: TieRule, seed: int
    ) -> None:
        self._names = names
        self._totals = totals
        self._order = order
        self._count = len(order)
        self._rule = rule
        self._seed = seed
        self._found: I64Array = np.zeros(3, dtype=np.int64)

    @classmethod
    def after(
        cls, chosen: int, names: list[str], totals: I64Array, found: I32Array, runner: PluginRunner
    ) -> NodesLeft:
        """Return what is left of the `found` slots when the `chosen` one is taken.

        Parameters
        ----------
        totals : (n_slots,) int64
            The weighted totals; -1 where not feasible.
        found : (k,) int32
            The feasible slots, in the order in which the search found them.
        """
        rule = runner.profile.tie_rule
        left = cls(names, totals, found, rule, runner.seed)
        if rule is TieRule.HEAP:
            left._order = select.make_heap(totals, found)
            top = left._pop_heap()
            assert top == chosen, f"slot {chosen} was chosen, {top} is on top"
        else:
            left._remove(chosen)
        return left

    def __len__(self) -> int:
        """Return how many nodes are left."""
        return self._count

    def pop(self, cycle_number: int) -> str:
        """Take the best node."""
        assert self._count, "no node is left"
        count_cycle(len(self._names))
        if self._rule is TieRule.HEAP:
            return self._names[self._pop_heap()]
        position = self._best(cycle_number)
        self._remove(position)
        return self._names[position]

    def _best(self, cycle_number: int) -> int:
        if self._rule is TieRule.DRAWN:
            return select.pick_drawn(
                self._totals, draw(self._seed, TIE_STREAM, cycle_number), self._found
            )
        equals: list[int] = np.flatnonzero(self._totals == self._totals.max()).tolist()
        return min(equals, key=self._names.__getitem__)

    def _pop_heap(self) -> int:
        position = select.pop_heap(self._totals, self._order, self._count)
        self._count -= 1
        return position

    def _remove(self, position: int) -> None:
        self._totals[position] = -1
        self._count -= 1

    def entries(self) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return the names and totals of what is left, in an order that `restored` takes."""
        kept = self._order[: self._count]
        if self._rule is not TieRule.HEAP:
            kept = np.flatnonzero(self._totals >= 0).astype(np.int32)
        names = tuple(self._names[position] for position in kept.tolist())
        return names, tuple(self._totals[kept].tolist())

    @classmethod
    def restored(
        cls, names: tuple[str, ...], totals: tuple[int, ...], runner: PluginRunner
    ) -> NodesLeft:
        """Return the nodes that `entries` wrote down."""
        # By the heap rule `entries` wrote the array of the heap, which is a heap again.
        order: I32Array = np.arange(len(names), dtype=np.int32)
        values: I64Array = np.array(totals, dtype=np.int64)
        return cls(list(names), values, order, runner.profile.tie_rule, runner.seed)


class _Stored(msgspec.Struct, frozen=True):
    """What a full cycle left behind."""

    signature: Signature
    nodes: NodesLeft
    stored_ns: int


class Batch:
    """Decides for the pods of one profile, from earlier results where they apply.

    Parameters
    ----------
    runner : PluginRunner
        With `keeps_totals`.
    """

    def __init__(self, runner: PluginRunner) -> None:
        assert runner.keeps_totals, "there would be nothing to store"
        self._runner = runner
        self._signer = Signer(runner.profile)
        self._stored: _Stored | None = None
        self._last_cycle = -1
        self._last_node = ""

    def decide(
        self, pod: Pod, *, cycle_number: int, now_ns: int, popped: int | None = None
    ) -> Decision:
        """Choose a node for `pod`, or return why there is none; see `PluginRunner.decide`.

        Parameters
        ----------
        pod : Pod
        cycle_number : int
            The number of pods popped until this one, of all profiles.
        now_ns : int
            The present.
        popped : int, optional
            The number of pods popped so far, if more are popped: the members of a pod group.

        Returns
        -------
        Decision
            With `batch`, unless the cycle ended before Filter.
        """
        signature = self._signer.sign(pod)
        popped = cycle_number if popped is None else popped
        flushed: list[Flush] = []
        hint: str | None = None

        def suggest(judge: FilterNode) -> str:
            nonlocal hint
            reason = self._why_not(signature, popped, now_ns, judge)
            if reason is not None:
                flushed.append(reason)
            if reason is None and self._stored is not None and len(self._stored.nodes):
                hint = self._stored.nodes.pop(cycle_number)
            else:
                hint = ""
            return hint

        decision = self._runner.decide(pod, cycle_number=cycle_number, suggest=suggest)
        if hint is None:
            return decision
        if decision.node:
            self._last_cycle, self._last_node = popped, decision.node
            # A suggested node was taken without scores, so that there is nothing new to store.
            if decision.node != hint:
                reason = self._store(signature, decision, now_ns)
                if reason is not None:
                    flushed.append(reason)
        report = BatchReport(hint, bool(hint) and decision.node == hint, tuple(flushed))
        return msgspec.structs.replace(decision, batch=report)

    def _why_not(
        self, signature: Signature | None, popped: int, now_ns: int, judge: FilterNode
    ) -> Flush | None:
        """Return why what is stored is of no use; None if it is, or if nothing is stored."""
        stored = self._stored
        if stored is None or not len(stored.nodes):
            return None
        # The first reason that applies is counted, so the order of the checks shows in metrics.
        if popped != self._last_cycle + 1:
            return Flush.POD_SKIPPED
        if signature is None or signature != stored.signature:
            return Flush.POD_INCOMPATIBLE
        if now_ns > stored.stored_ns + MAX_AGE_NS:
            return Flush.EXPIRED
        status = judge(self._last_node)
        if status is None:
            return Flush.NODE_MISSING
        return None if status.is_rejection else Flush.NODE_NOT_FULL

    def _store(self, signature: Signature | None, decision: Decision, now_ns: int) -> Flush | None:
        """Keep what a full cycle left behind; returns why there is nothing to keep."""
        self._stored = None
        scored = self._runner.scored
        if scored is None:
            return Flush.EMPTY_LIST
        if signature is None:
            return Flush.POD_NOT_BATCHABLE
        totals, found = scored
        # A copy: nodes may be added or deleted before the next pod.
        names = list(self._runner.cluster.nodes.names)
        nodes = NodesLeft.after(decision.slot, names, totals, found, self._runner)
        self._stored = _Stored(signature, nodes, now_ns)
        return None

    # ------------------------------------------------------------ writing down

    def snapshot(self) -> BatchSnapshot:
        """Write down what is remembered."""
        stored = self._stored
        if stored is None or not len(stored.nodes):
            return BatchSnapshot(b"", (), (), 0, self._last_cycle, self._last_node)
        names, totals = stored.nodes.entries()
        return BatchSnapshot(
            stored.signature, names, totals, stored.stored_ns, self._last_cycle, self._last_node
        )

    def restore(self, snapshot: BatchSnapshot) -> None:
        """Restore the state of `snapshot`."""
        self._last_cycle, self._last_node = snapshot.last_cycle, snapshot.last_node
        self._stored = None
        if snapshot.nodes:
            nodes = NodesLeft.restored(snapshot.nodes, snapshot.totals, self._runner)
            self._stored = _Stored(snapshot.signature, nodes, snapshot.stored_ns)


def count_batch(metrics: Metrics, profile: str, decision: Decision) -> None:
    """Count what batching did in a cycle.

    Notes
    -----
    Upstream: pkg/scheduler/framework/runtime/batch.go, GetNodeHint and StoreScheduleResults. A
    hint that was not used counts only if another node was found.
    """
    report = decision.batch
    if report is None:
        return
    hinted = "hint" if report.hint else "no_hint"
    metrics.observe("scheduler_get_node_hint_duration_seconds", (hinted, profile), 0)
    if not report.hint:
        metrics.count(_ATTEMPTS, (profile, "no_hint"))
    elif decision.node:
        metrics.count(_ATTEMPTS, (profile, "hint_used" if report.is_used else "hint_not_used"))
    if decision.node:
        metrics.observe("scheduler_store_schedule_results_duration_seconds", (profile,), 0)
    for reason in report.flushed:
        metrics.count("scheduler_batch_cache_flushed_total", (profile, reason))

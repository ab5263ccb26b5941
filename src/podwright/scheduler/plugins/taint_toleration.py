"""TaintToleration: a pod must tolerate the taints of its node.

**What it does.** Rejects nodes with a taint NoSchedule or NoExecute that the pod does not
tolerate. Scores a node by how many PreferNoSchedule taints the pod does not tolerate; the
fewest get 100.

**Why it matters.** Taints reserve nodes: control planes, GPUs, nodes about to be drained.

**Configuration.** None. The operators Gt and Lt compare numbers if the gate
TaintTolerationComparisonOperators is on; while it is off, as by default, they tolerate nothing.

**Example.** A node with the taint ``gpu=yes:NoSchedule`` is rejected with ``node(s) had
untolerated taint(s)``, except for pods with the toleration ``{key: gpu, operator: Exists}``.

Upstream: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

import numpy as np

from podwright._arrays import I64Array
from podwright.apimachinery.objects import Pod, Taint, Toleration, tolerates, untolerated_taint
from podwright.scheduler.config import DEFAULT_GATES, Gates
from podwright.scheduler.framework import (
    Cycle,
    EventHint,
    NodeColumns,
    Normalization,
    Plugin,
    Reads,
    Scores,
    StateKey,
    Status,
    Verdicts,
    tolerations_fragment,
)
from podwright.scheduler.plugins import hints

_REJECTION = Status.unresolvable("node(s) had untolerated taint(s)")


class _PerTaintSet:
    """A number for every distinct set of taints, worked out once."""

    __slots__ = ("_known", "_number_of")

    def __init__(self, number_of: Callable[[tuple[Taint, ...]], int]) -> None:
        self._number_of = number_of
        self._known: I64Array = np.empty(0, dtype=np.int64)

    def of(self, nodes: NodeColumns) -> I64Array:
        """Return the numbers by position in `nodes.taint_sets.values`: (n_taint_sets,) int64."""
        sets = nodes.taint_sets.values
        known = self._known
        if len(known) < len(sets):
            new = np.array([self._number_of(s) for s in sets[len(known) :]], dtype=np.int64)
            self._known = known = np.concatenate([known, new])
        return known


_UNTOLERATED: StateKey[_PerTaintSet] = StateKey("TaintToleration/untolerated")
_INTOLERABLE: StateKey[_PerTaintSet] = StateKey(
    "PreScoreTaintToleration", "failed to read {} from cycleState: not found"
)


class TaintToleration(Plugin):
    """Reject nodes with untolerated taints, and prefer nodes with few."""

    name = "TaintToleration"
    key_reads_all_labels = False
    filter_reads = Reads.NODE
    pre_score_reads = Reads.NOTHING
    score_reads = Reads.NODE
    normalization = Normalization.DEFAULT_REVERSED
    scores_in_range = True
    takes_gates = True

    def __init__(self, *, gates: Gates = DEFAULT_GATES) -> None:
        self._compares = "TaintTolerationComparisonOperators" in gates

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the events that could undo a rejection, with their hint functions."""
        return hints.taint_toleration.events_to_register(comparison_operators=self._compares)

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return the tolerations."""
        return tolerations_fragment(pod)

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the tolerations."""
        return pod.spec.tolerations

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject nodes with a taint that the pod does not tolerate."""
        # Upstream has no PreFilter either.
        table = cycle.find(_UNTOLERATED)
        if table is None:
            tolerations, compares = cycle.pod.spec.tolerations, self._compares
            table = _PerTaintSet(
                lambda taints: _is_kept_away(taints, tolerations, compares=compares)
            )
            cycle.write(_UNTOLERATED, table)
        codes = table.of(nodes) * out.code_of(_REJECTION)
        out.codes[out.rows] = codes[nodes.taint_set_ids[out.rows]]

    def pre_score(self, cycle: Cycle) -> Status:
        """Store the tolerations that apply to PreferNoSchedule."""
        # A toleration without an effect applies to all effects.
        tolerations = tuple(
            t for t in cycle.pod.spec.tolerations if t.effect in ("", "PreferNoSchedule")
        )
        compares = self._compares
        cycle.write(
            _INTOLERABLE,
            _PerTaintSet(lambda taints: _count(taints, tolerations, compares=compares)),
        )
        return Status.OK

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Count the taints that the pod would rather avoid."""
        counts = cycle.read(_INTOLERABLE).of(nodes)
        out.values[out.rows] = counts[nodes.taint_set_ids[out.rows]]


def _is_kept_away(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], *, compares: bool
) -> int:
    untolerated = untolerated_taint(taints, tolerations, comparison_operators=compares)
    return int(untolerated is not None)


def _count(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], *, compares: bool
) -> int:
    """Upstream: countIntolerableTaintsPreferNoSchedule."""
    return sum(
        taint.effect == "PreferNoSchedule"
        and not any(tolerates(t, taint, comparison_operators=compares) for t in tolerations)
        for taint in taints
    )

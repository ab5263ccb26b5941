"""NodeAffinity: node selectors and node affinity of pods.

**What it does.** Rejects nodes that match neither ``spec.nodeSelector`` and the required node
affinity, nor the affinity that the configuration adds to every pod. Scores a node by the sum of
the weights of the preferred terms that it matches. For a pod whose required terms all name
nodes, only these nodes are filtered.

**Why it matters.** Pods select hardware, zones and single nodes with it; the DaemonSet
controller assigns its pods to nodes with it.

**Configuration.** ``addedAffinity``: required and preferred terms for every pod of the profile,
in addition to the pod's.

**Example.** ``nodeSelector: {disk: ssd}`` allows nodes with that label; the others are rejected
with ``node(s) didn't match Pod's node affinity/selector``.

Upstream: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import ClassVar

import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.apimachinery.objects import (
    NodeAffinity as Affinity,
    NodeSelector,
    NodeSelectorTerm,
    NodeTerm,
    Pod,
    SelectorError,
    preferred_node_terms,
)
from podwright.scheduler.columns import node_selector_mask, node_term_mask
from podwright.scheduler.config import NodeAffinityArgs
from podwright.scheduler.framework import (
    Cycle,
    EventHint,
    NodeColumns,
    Normalization,
    Plugin,
    PreFilterResult,
    Reads,
    Scores,
    StateKey,
    Status,
    Verdicts,
    node_affinity_fragment,
)
from podwright.scheduler.plugins import hints

_REJECTION = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
_REJECTION_ENFORCED = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")
_CONFLICT = Status.unresolvable("pod affinity terms conflict")
_NO_AFFINITY = Affinity()
_NAME = "metadata.name"
_TERMS: StateKey[tuple[tuple[int, NodeTerm], ...]] = StateKey("PreScoreNodeAffinity")


class NodeAffinity(Plugin):
    """Filters and scores nodes by node selector and node affinity."""

    name = "NodeAffinity"
    key_reads_all_labels = False
    Args: ClassVar[type[NodeAffinityArgs]] = NodeAffinityArgs
    pre_filter_reads = Reads.NOTHING
    filter_reads = Reads.NODE
    pre_score_reads = Reads.NOTHING
    score_reads = Reads.NODE
    normalization = Normalization.DEFAULT
    scores_in_range = True

    def __init__(self, args: NodeAffinityArgs | None = None) -> None:
        added = (args.added_affinity if args is not None else None) or _NO_AFFINITY
        self._added_required = added.required
        preferred = added.preferred
        # A term that matches nothing still keeps the score from being skipped; see golden
        # case mixed_config-t-0351.
        self._adds_preferred = bool(preferred)
        self._added_terms = preferred_node_terms(preferred)

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the events that could undo a rejection, with their hint functions."""
        return hints.node_affinity.events_to_register(added_affinity=self._added_required)

    def sign_pod(self, pod: Pod) -> Mapping[str, object]:
        """Return node selector and node affinity."""
        return node_affinity_fragment(pod)

    def pod_key(self, pod: Pod) -> Hashable:
        """Return node selector and node affinity."""
        spec = pod.spec
        affinity = spec.affinity
        if affinity is None or affinity.node_affinity is None:
            return tuple(sorted(spec.node_selector.items())) if spec.node_selector else ()
        return (tuple(sorted(spec.node_selector.items())), affinity.node_affinity)

    def pre_filter(self, cycle: Cycle) -> Status | PreFilterResult:
        """Skip pods without requirements; restrict pods that name nodes to these."""
        required = cycle.pod.spec.node_affinity.required
        if required is None:
            has_no_requirements = self._added_required is None and not cycle.pod.spec.node_selector
            return Status.SKIPPED if has_no_requirements else Status.OK
        names = _named_nodes(required)
        if names is None:
            return Status.OK
        return PreFilterResult(names) if names else _CONFLICT

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject nodes that the profile, the node selector or the required terms exclude."""
        rows, codes = out.rows, out.codes
        matches = _labels_match(cycle.pod, nodes, rows)
        required = cycle.pod.spec.node_affinity.required
        if required is not None:
            matches &= node_selector_mask(required, nodes, rows)
        codes[rows] = np.where(matches, 0, out.code_of(_REJECTION))
        if self._added_required is not None:
            allowed = node_selector_mask(self._added_required, nodes, rows)
            codes[rows[~allowed]] = out.code_of(_REJECTION_ENFORCED)

    def pre_score(self, cycle: Cycle) -> Status:
        """Skip pods without preferred terms; fail if a term cannot be read."""
        preferred = cycle.pod.spec.node_affinity.preferred
        if not preferred and not self._adds_preferred:
            return Status.SKIPPED
        try:
            terms = preferred_node_terms(preferred)
        except SelectorError as error:
            return Status.error(str(error))
        cycle.write(_TERMS, self._added_terms + terms)
        return Status.OK

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Add up the weights of the terms that match.

        Notes
        -----
        Without its PreScore it reads the terms here. Upstream: node_affinity.go, `Score`
        """
        rows, terms = out.rows, cycle.find(_TERMS)
        if terms is None:
            terms = self._added_terms + preferred_node_terms(cycle.pod.spec.node_affinity.preferred)
        sums: I64Array = np.zeros(len(rows), dtype=np.int64)
        for weight, term in terms:
            sums += weight * node_term_mask(term, nodes, rows)
        out.values[rows] = sums


def _labels_match(pod: Pod, nodes: NodeColumns, rows: I32Array) -> Mask:
    matches: Mask = np.ones(len(rows), dtype=np.bool_)
    for key, value in pod.spec.node_selector.items():
        matches &= nodes.has_label(key, value)[rows]
    return matches


def _named_nodes(required: NodeSelector) -> frozenset[str] | None:
    """Return the nodes that the terms name; None if a term names none, or there is no term.

    An empty set means that the names within each term exclude one another.
    """
    names: frozenset[str] | None = None
    for term in required.node_selector_terms:
        of_term = _named_by(term)
        if of_term is None:
            return None
        names = of_term if names is None else names | of_term
    return names


def _named_by(term: NodeSelectorTerm) -> frozenset[str] | None:
    names: frozenset[str] | None = None
    for field in term.match_fields:
        if field.key == _NAME and field.operator == "In":
            named = frozenset(field.values)
            names = named if names is None else names & named
    return names

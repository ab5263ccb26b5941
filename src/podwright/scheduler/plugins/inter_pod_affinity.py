"""InterPodAffinity: places pods near or away from other pods.

**What it does.** Rejects nodes whose topology domain has no pod that matches the pod's required
affinity, or has a pod that its required anti-affinity, or that of a placed pod, forbids. Scores
nodes by the weights of preferred terms: those of the pod and, by symmetry, those of placed pods
that match the pod.

**Why it matters.** It places communicating pods together, and separates replicas or tenants.

**Configuration.** ``hardPodAffinityWeight``: the weight in scoring of a placed pod's required
affinity for the pod; ``ignorePreferredTermsOfExistingPods``: a pod without preferred terms is
not scored.

**Example.** With required anti-affinity to ``app=db`` on ``kubernetes.io/hostname`` nodes that
run such a pod are rejected with ``node(s) didn't match pod anti-affinity rules``.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/{filtering,scoring}.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np

from podwright._arrays import I32Array, I64Array, Mask
from podwright.apimachinery.objects import (
    NamespacedName,
    Node,
    Pod,
    PodAffinityTerm,
    label_selector,
)
from podwright.scheduler.columns import (
    NO_TERMS,
    NO_WEIGHTED_TERMS,
    AffinityTerms,
    Cluster,
    Counted,
    CountedGroups,
    Counter,
    Digits,
    DomainRule,
    PodSelector,
    SelectorCounters,
    TermKind,
    WeightedTerms,
    affinity_terms,
)
from podwright.scheduler.config import InterPodAffinityArgs
from podwright.scheduler.framework import (
    LABELS,
    NODE,
    POD,
    ActionType,
    Cycle,
    EventHint,
    FilterGroups,
    Hint,
    NodeColumns,
    NodeView,
    Normalization,
    PlacedPod,
    Plugin,
    Reads,
    ScoreGroups,
    Scores,
    StateKey,
    Status,
    Verdicts,
)
from podwright.scheduler.kernels import affinity_terms as term_kernels, spread as spread_kernels
from podwright.scheduler.plugins.hints.objects import changed, only, queue_if

_AFFINITY, _ANTI_AFFINITY, _OF_PLACED = 1, 2, 3
_STATUSES = {
    _AFFINITY: Status.unresolvable("node(s) didn't match pod affinity rules"),
    _ANTI_AFFINITY: Status.unschedulable("node(s) didn't match pod anti-affinity rules"),
    _OF_PLACED: Status.unschedulable("node(s) didn't satisfy existing pods anti-affinity rules"),
}
_NO_LABELS: Mapping[str, str] = {}


class _PodKey(msgspec.Struct, frozen=True):
    """What inter-pod affinity reads of a pod."""

    namespace: str
    labels: frozenset[tuple[str, str]]
    terms: AffinityTerms


class _FilterState:
    """The required terms that apply to a pod, as counters, and the changes of a dry run.

    Attributes
    ----------
    affinity : dict of str to Counter
        By topology key: pods that match all the pod's required affinity terms.
    anti, of_placed : dict of str to Counter
        By topology key: pods that an anti-affinity term of the pod means; placed pods with
        an anti-affinity term that means the pod.
    affinity_pods : tuple of PodSelector
        All must match.
    anti_pods : tuple of (str, PodSelector)
        By term: topology key, and the pods that match.
    matches_self : bool
        Whether the pod matches all its own required affinity terms.
    changes : dict of (int, str, int) to int
        In a dry run, per code of the rule, topology key and label value, the added count.
    """

    __slots__ = (
        "affinity", "affinity_pods", "anti", "anti_pods", "changes", "cluster", "labels",
        "matches_self", "namespace", "of_placed",
    )  # fmt: skip

    def __init__(self, cluster: Cluster, namespace: str, labels: Mapping[str, str]) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.labels = labels
        self.affinity: dict[str, Counter] = {}
        self.anti: dict[str, Counter] = {}
        self.of_placed: dict[str, Counter] = {}
        self.affinity_pods: tuple[PodSelector, ...] = ()
        self.anti_pods: tuple[tuple[str, PodSelector], ...] = ()
        self.matches_self = False
        self.changes: dict[tuple[int, str, int], int] = {}

    def clone(self) -> _FilterState:
        copy = _FilterState(self.cluster, self.namespace, self.labels)
        copy.affinity, copy.anti, copy.of_placed = self.affinity, self.anti, self.of_placed
        copy.affinity_pods, copy.anti_pods = self.affinity_pods, self.anti_pods
        copy.matches_self = self.matches_self
        copy.changes = dict(self.changes)
        return copy

    @property
    def is_first(self) -> bool:
        """Whether no pod anywhere matches the affinity terms, but the pod itself does."""
        if not self.matches_self:
            return False
        total = sum(n for (rule, _, _), n in self.changes.items() if rule == _AFFINITY)
        # Without a net change any count above 0 decides; with one, only the sum can show 0.
        if not total:
            return not any(term_kernels.is_any_counted(c.current()) for c in self.affinity.values())
        return total + sum(int(c.current().sum()) for c in self.affinity.values()) == 0

    def update(self, placed: PlacedPod, sign: int) -> None:
        """Count a pod that is added (1) or removed (-1) (`updateWithPod`)."""
        metadata = placed.pod.metadata
        namespace, labels, slot = metadata.namespace, metadata.labels, placed.slot
        if placed.keys.term_ids:
            for key in self._keys_against(placed):
                self._change(_OF_PLACED, key, slot, sign)
        if self.affinity_pods and all(p.matches(namespace, labels) for p in self.affinity_pods):
            for key in self.affinity:
                self._change(_AFFINITY, key, slot, sign)
        for key, pods in self.anti_pods:
            if pods.matches(namespace, labels):
                self._change(_ANTI_AFFINITY, key, slot, sign)

    def _keys_against(self, placed: PlacedPod) -> Iterator[str]:
        """Yield the topology keys of a pod's anti-affinity terms that mean the pod."""
        labels = self.cluster.namespaces.get(self.namespace, _NO_LABELS)
        for term_id in placed.keys.term_ids:
            term = self.cluster.selectors.term(term_id)
            if term.kind == TermKind.REQUIRED_ANTI and term.matches(
                self.namespace, self.labels, labels
            ):
                yield term.topology_key

    def details(self, node: NodeView, away: _KeepingAway) -> Iterator[str]:
        """Yield the labels and pods that a node lacks, and the pods that keep the pod away."""
        for key, counter in self.affinity.items():
            if key not in node.labels:
                yield f"label {key} (it has none)"
            elif not self.is_first and not counter.current()[counter.domains.reading[node.slot]]:
                yield f"a pod in {key}={node.labels[key]} that matches the pod's affinity"
        for what in (_MATCHES, _MEANS):
            for key in dict.fromkeys([*(key for key, _ in self.anti_pods), *self.of_placed]):
                names = away.get((what, key, node.labels.get(key, "")), ())
                if names:
                    more = len(names) - 1
                    others = f" (as {'does' if more == 1 else 'do'} {more} more)" if more else ""
                    yield f"pod {names[0]} in {key}={node.labels[key]} {what}{others}"

    def keeping_away(self) -> _KeepingAway:
        """Return the placed pods that keep the pod away."""
        found: _KeepingAway = {}
        for name, placed in self.cluster.pods.items():
            namespace, labels = placed.pod.metadata.namespace, placed.pod.metadata.labels
            reasons = [
                (_MATCHES, key) for key, pods in self.anti_pods if pods.matches(namespace, labels)
            ]
            reasons += [(_MEANS, key) for key in self._keys_against(placed)]
            of_node = NodeView(self.cluster, placed.slot).labels if reasons else _NO_LABELS
            for what, key in dict.fromkeys(reasons):
                if key in of_node:
                    found.setdefault((what, key, of_node[key]), []).append(name)
        return found

    def _change(self, rule: int, topology_key: str, slot: int, sign: int) -> None:
        value = int(self.cluster.nodes.label_ids(topology_key)[slot])
        if value >= 0:
            change = (rule, topology_key, value)
            self.changes[change] = self.changes.get(change, 0) + sign

    def code_of(self, slot: int) -> int:
        """Return the verdict on a slot, with the changes of the dry run."""
        is_near = True
        for key, counter in self.affinity.items():
            count = self._count(_AFFINITY, key, counter, slot)
            if count is None:
                return _AFFINITY
            is_near &= count > 0
        if not is_near and not self.is_first:
            return _AFFINITY
        for rule, counters in ((_ANTI_AFFINITY, self.anti), (_OF_PLACED, self.of_placed)):
            # A pod added in the dry run may bring a topology key for which there is no counter.
            changed = [key for code, key, _ in self.changes if code == rule]
            for key in {**counters, **dict.fromkeys(changed)}:
                count = self._count(rule, key, counters.get(key), slot)
                if count is not None and count > 0:
                    return rule
        return 0

    def _count(self, rule: int, key: str, counter: Counter | None, slot: int) -> int | None:
        """Return how many pods are counted in the slot's domain; None if it has none."""
        value = int(self.cluster.nodes.label_ids(key)[slot])
        if value < 0:
            return None
        count = self.changes.get((rule, key, value), 0)
        if counter is not None:
            counts = counter.current()
            count += int(counts[counter.domains.reading[slot]])
        return count


class _FilteredGroups(CountedGroups, FilterGroups):
    """Nodes in whose domains the same of the counted pods are, as required terms see them."""

    def __init__(
        self, state: _FilterState, counters: Sequence[Counter], digits: list[Digits]
    ) -> None:
        super().__init__(counters, digits)
        self._state = state

    def rejected(self) -> Mask | None:
        """Return which groups a term rejects; None if domains have other numbers."""
        counts = self._counts()
        if counts is None:
            return None
        rejected: Mask = np.zeros(self.n_groups, dtype=np.bool_)
        is_first = self._state.is_first
        n_required = len(self._state.affinity)
        for i, (of_counter, digits) in enumerate(zip(counts, self._digits, strict=True)):
            term_kernels.reject_groups(of_counter, digits, i < n_required, is_first, rejected)
        return rejected


class _ScoreState:
    """One counter of weights per topology key."""

    __slots__ = ("counters",)

    def __init__(self, counters: tuple[Counter, ...]) -> None:
        self.counters = counters


_FILTER: StateKey[_FilterState] = StateKey(
    "PreFilterInterPodAffinity", "error reading {} from cycleState: not found"
)
_MATCHES: Final = "matches the pod's anti-affinity"
_MEANS: Final = "has anti-affinity that matches the pod"
_KeepingAway: TypeAlias = dict[tuple[str, str, str], list[NamespacedName]]
"""Pods by the reason, topology key and domain."""
_AWAY: StateKey[_KeepingAway] = StateKey("InterPodAffinity/away")
_FILTERING: Final = {TermKind.REQUIRED_ANTI: 1}
"""The terms of placed pods that reject nodes, as `SelectorCounters.terms_matching` takes them."""


class _Found(NamedTuple):
    """What PreFilter or PreScore has found about placed pods.

    Attributes
    ----------
    terms : dict of str to WeightedTerms
        Those that match the pod, by topology key.
    present : dict of (str, tuple of Counted) to bool
        By topology key and what was asked for, whether such pods are placed.
    """

    terms: dict[str, WeightedTerms]
    present: dict[tuple[str, tuple[Counted, ...]], bool]

    def is_same(self, terms: dict[str, WeightedTerms], selectors: SelectorCounters) -> bool:
        """Return whether the same would be found now, where these terms match the pod."""
        return (
            terms.keys() == self.terms.keys()
            and all(np.array_equal(terms[key].ids, self.terms[key].ids) for key in terms)
            and all(selectors.is_present(*asked) == was for asked, was in self.present.items())
        )


_FOUND_TO_FILTER: StateKey[_Found] = StateKey("PreFilterInterPodAffinity/found")
_FOUND_TO_SCORE: StateKey[_Found] = StateKey("PreScoreInterPodAffinity/found")

_SCORE: StateKey[_ScoreState] = StateKey(
    "PreScoreInterPodAffinity", "failed to read {} from cycleState: not found"
)


class InterPodAffinity(Plugin):
    """Place pods near or away from other pods."""

    name = "InterPodAffinity"
    key_reads_all_labels = False
    Args: ClassVar[type[InterPodAffinityArgs]] = InterPodAffinityArgs
    pre_filter_reads = Reads.NAMESPACES | Reads.TERMS
    filter_reads = Reads.CLUSTER
    pre_score_reads = Reads.NAMESPACES | Reads.TERMS
    score_reads = Reads.CLUSTER
    normalization = Normalization.CUSTOM
    scores_in_range = True

    def __init__(self, args: InterPodAffinityArgs | None = None) -> None:
        args = args or InterPodAffinityArgs()
        # What a matching pod adds to the score of its domain, times the weight of its term.
        self._factors = {
            TermKind.REQUIRED: args.hard_pod_affinity_weight,
            TermKind.PREFERRED: 1,
            TermKind.PREFERRED_ANTI: -1,
        }
        self._ignores_placed = args.ignore_preferred_terms_of_existing_pods

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return pods that come, go or are relabelled, and the labels of nodes."""
        pod_actions = ActionType.ADD | ActionType.UPDATE_POD_LABEL | ActionType.DELETE
        return (
            EventHint(POD, pod_actions, after_pod_change),
            EventHint(NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL, after_node_change),
        )

    def sign_pod(self, pod: Pod) -> Mapping[str, object] | None:
        """Return the labels, which terms of placed pods select.

        Pods with terms have no fragment. Upstream omits the labels when the preferred terms of
        placed pods are ignored, although required ones are not.
        """
        affinity = pod.spec.affinity
        if affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity):
            return None
        return {} if self._ignores_placed else {LABELS: pod.metadata.labels}

    def pod_key(self, pod: Pod) -> Hashable:
        """Return namespace, labels (terms of placed pods select them) and the pod's terms."""
        metadata = pod.metadata
        labels = frozenset(metadata.labels.items())
        terms = affinity_terms(pod)
        if terms is NO_TERMS:
            return (metadata.namespace, labels)
        return _PodKey(metadata.namespace, labels, terms)

    # ------------------------------------------------------------ filtering

    def pre_filter(self, cycle: Cycle) -> Status:
        """Find the required terms that concern the pod; skip if there are none."""
        pod, cluster = cycle.pod, cycle.cluster
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        terms = affinity_terms(pod)
        if terms.errors:
            return Status.unresolvable(f"parsing pod: {'; '.join(terms.errors)}")
        of_placed = _terms_matching(cycle, _FILTERING)
        cycle.write(_FOUND_TO_FILTER, _Found(of_placed, {}))
        if not of_placed and not terms.required and not terms.required_anti:
            return Status.SKIPPED
        state = _FilterState(cluster, namespace, labels)
        state.affinity_pods = tuple([t.resolve(cluster.namespaces) for t in terms.required])
        state.matches_self = all(p.matches(namespace, labels) for p in state.affinity_pods)
        # Upstream counts a pod for a term only if it matches all of them (filtering.go,
        # podMatchesAllAffinityTerms), so all counters have the same selectors.
        for term in terms.required:
            state.affinity[term.topology_key] = cluster.selectors.counter(
                DomainRule.of_key(term.topology_key), ((state.affinity_pods, 1),)
            )
        state.anti_pods = tuple(
            [(t.topology_key, t.resolve(cluster.namespaces)) for t in terms.required_anti]
        )
        meant: dict[str, list[Counted]] = {}
        for key, pods in state.anti_pods:
            meant.setdefault(key, []).append(((pods,), 1))
        state.anti = _counters(cluster, meant, {})
        state.of_placed = _counters(cluster, {}, of_placed)
        cycle.write(_FILTER, state)
        return Status.OK

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject by the pod's affinity, its anti-affinity, and that of placed pods."""
        state = cycle.read(_FILTER)
        out.decode = _STATUSES.__getitem__
        rows, codes = out.rows, out.codes
        if state.changes:
            for slot in rows.tolist():
                codes[slot] = state.code_of(slot)
            return
        if state.affinity:
            is_first = state.is_first
            for counter in state.affinity.values():
                counts = counter.current()
                term_kernels.require_counted(
                    counter.domains.reading, counts, is_first, _AFFINITY, rows, codes
                )
        for counter in state.anti.values():
            counts = counter.current()
            term_kernels.reject_counted(
                counter.domains.reading, counts, _ANTI_AFFINITY, rows, codes
            )
        for counter in state.of_placed.values():
            counts = counter.current()
            term_kernels.reject_counted(counter.domains.reading, counts, _OF_PLACED, rows, codes)

    def rejection_details(self, cycle: Cycle, node: NodeView) -> list[str]:
        """Return the labels and pods that a node lacks, and the pods that keep the pod away."""
        state, away = cycle.read(_FILTER), cycle.find(_AWAY)
        if away is None:
            away = state.keeping_away()
            cycle.write(_AWAY, away)
        return list(state.details(node, away))

    def filter_groups(self, cycle: Cycle) -> FilterGroups | None:
        """Return nodes that have the counted pods in the same of their domains as groups."""
        state = cycle.read(_FILTER)
        counters = [*state.affinity.values(), *state.anti.values(), *state.of_placed.values()]
        digits = CountedGroups.digits_of(counters, of_presence=True)
        return None if digits is None else _FilteredGroups(state, counters, digits)

    def add_pod(self, cycle: Cycle, placed: PlacedPod) -> None:
        """Count one pod more."""
        cycle.read(_FILTER).update(placed, 1)

    def remove_pod(self, cycle: Cycle, placed: PlacedPod) -> None:
        """Count one pod less."""
        cycle.read(_FILTER).update(placed, -1)

    # ------------------------------------------------------------ scoring

    def pre_score(self, cycle: Cycle) -> Status:
        """Find the terms that score; skip if none of them matches a placed pod."""
        cluster = cycle.cluster
        terms = affinity_terms(cycle.pod)
        own = (*terms.preferred, *terms.preferred_anti)
        if self._ignores_placed and not own:
            return Status.SKIPPED
        if terms.errors:
            return Status.error(f"failed to parse pod: {'; '.join(terms.errors)}")
        carried = _terms_matching(cycle, self._factors)
        meant: dict[str, list[Counted]] = {}
        for spec in own:
            weight = spec.weight * self._factors[spec.kind]
            counted = ((spec.resolve(cluster.namespaces),), weight)
            meant.setdefault(spec.topology_key, []).append(counted)
        # All of them are evaluated, so that `terms_version` changes when one of the results
        # changes.
        asked = [(key, tuple(counted)) for key, counted in meant.items()]
        present = {each: cluster.selectors.is_present(*each) for each in asked}
        cycle.write(_FOUND_TO_SCORE, _Found(carried, present))
        if not carried and not any(present.values()):
            return Status.SKIPPED
        counters = _counters(cluster, meant, carried)
        cycle.write(_SCORE, _ScoreState(tuple(counters.values())))
        return Status.OK

    def finds_same_terms(self, cycle: Cycle) -> bool:
        """Return whether the same terms of placed pods match the pod, and its own the same way."""
        to_filter, to_score = cycle.find(_FOUND_TO_FILTER), cycle.find(_FOUND_TO_SCORE)
        selectors = cycle.cluster.selectors
        return (
            to_filter is not None
            and to_score is not None
            and to_filter.is_same(_terms_matching(cycle, _FILTERING), selectors)
            and to_score.is_same(_terms_matching(cycle, self._factors), selectors)
        )

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Add up the weights in the domains of each node."""
        counters = cycle.read(_SCORE).counters
        out.clear()
        for counter in counters:
            counts = counter.current()
            term_kernels.add_counts(counter.domains.reading, counts, out.rows, out.values)

    def normalize_score(self, cycle: Cycle, out: Scores) -> None:
        """Scale from the least to the greatest."""
        term_kernels.normalize_between(out.rows, out.values)

    def score_groups(self, cycle: Cycle) -> ScoreGroups | None:
        """Return nodes in whose domains the weights add up alike as groups."""
        counters = cycle.read(_SCORE).counters
        digits = CountedGroups.digits_of(counters)
        return None if digits is None else _ScoredGroups(counters, digits)


class _ScoredGroups(CountedGroups, ScoreGroups):
    """Nodes in whose domains weights add up alike."""

    def scores(self, sizes: I64Array) -> I64Array | None:
        """Return the points of the slots of each group; None if domains have other numbers."""
        counts = self._counts()
        if counts is None:
            return None
        values: I64Array = np.zeros(self.n_groups, dtype=np.int64)
        for of_counter, digits in zip(counts, self._digits, strict=True):
            spread_kernels.add_counted(of_counter, digits, values)
        rows: I32Array = np.empty(self.n_groups, dtype=np.int32)
        filled = spread_kernels.filled_groups(sizes, rows)
        term_kernels.normalize_between(rows[:filled], values)
        return values


def _terms_matching(cycle: Cycle, factors: Mapping[TermKind, int]) -> dict[str, WeightedTerms]:
    """Return the terms of placed pods that match the pod."""
    metadata, cluster = cycle.pod.metadata, cycle.cluster
    labels_of_namespace = cluster.namespaces.get(metadata.namespace, _NO_LABELS)
    return cluster.selectors.terms_matching(
        factors, metadata.namespace, metadata.labels, labels_of_namespace
    )


def _counters(
    cluster: Cluster,
    meant: Mapping[str, list[Counted]],
    carried: Mapping[str, WeightedTerms],
) -> dict[str, Counter]:
    """Return one counter per topology key, of matching pods and of pods that have terms."""
    return {
        key: cluster.selectors.counter(
            DomainRule.of_key(key),
            tuple(meant.get(key, ())),
            carried.get(key, NO_WEIGHTED_TERMS),
        )
        for key in {**meant, **carried}
    }


# The hints of events: whether one may have undone the rejection of a pod.


def after_pod_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if another pod started to help or ceased to hurt, or the pod itself changed."""
    before = None if old is None else only(Pod, old)
    after = None if new is None else only(Pod, new)
    if after is not None and before is not None and after.metadata.uid == pod.metadata.uid:
        return Hint.QUEUE
    if any(other is not None and not _has_node(other) for other in (before, after)):
        return Hint.SKIP
    affinity, anti_affinity = _required(pod)
    if after is None:
        gone = only(Pod, old)
        return queue_if(
            _meets_all(pod, anti_affinity, gone) or _meets_all(gone, _required(gone)[1], pod)
        )
    if before is None:
        return queue_if(_meets_all(pod, affinity, after))
    return queue_if(
        (_meets_all(pod, affinity, after) and not _meets_all(pod, affinity, before))
        or (_meets_all(pod, anti_affinity, before) and not _meets_all(pod, anti_affinity, after))
    )


def after_node_change(pod: Pod, old: object | None, new: object | None) -> Hint:
    """Queue if the node joined a domain that could help, or left one that hurt."""
    before, after = changed(Node, old, new)
    affinity, anti_affinity = _required(pod)
    has = after.metadata.labels
    if before is None:
        # A new node has no pods, so nothing keeps the pod off it.
        return queue_if(anti_affinity or any(term.topology_key in has for term in affinity))
    had = before.metadata.labels
    joined = any(
        term.topology_key in has and has[term.topology_key] != had.get(term.topology_key)
        for term in affinity
    )
    left = any(
        term.topology_key in had and had[term.topology_key] != has.get(term.topology_key)
        for term in anti_affinity
    )
    return queue_if(joined or left)


def _has_node(other: Pod) -> bool:
    # Upstream, isSchedulableAfterPodChange: a nominated pod counts on its node as a placed one.
    return bool(other.spec.node_name or other.status.nominated_node_name)


def _required(pod: Pod) -> tuple[tuple[PodAffinityTerm, ...], tuple[PodAffinityTerm, ...]]:
    """Return the pod's required terms of affinity and of anti-affinity."""
    spec = pod.spec
    return (
        spec.pod_affinity.required,
        spec.pod_anti_affinity.required,
    )


def _meets_all(owner: Pod, terms: Sequence[PodAffinityTerm], other: Pod) -> bool:
    """Return whether a pod meets every one of the owner's terms; no terms are not met."""
    return bool(terms) and all(_matches(owner, term, other) for term in terms)


def _matches(owner: Pod, term: PodAffinityTerm, other: Pod) -> bool:
    namespaces = term.namespaces
    if not namespaces and term.namespace_selector is None:
        namespaces = (owner.metadata.namespace,)
    # Upstream's hints compare the namespace selector with no labels at all, so one that requires
    # a label never matches here; see golden case hints-t-0198.
    in_namespace = other.metadata.namespace in namespaces or (
        label_selector(term.namespace_selector).matches({})
    )
    return in_namespace and label_selector(term.label_selector).matches(other.metadata.labels)

"""PodTopologySpread: spreads matching pods evenly over topology domains.

**What it does.** For each constraint of the pod it counts the pods that match the constraint's
selector in every domain (zone, host, rack) of its topology key. Constraints with
``DoNotSchedule`` reject nodes whose domain would exceed the emptiest one by more than
``maxSkew``; constraints with ``ScheduleAnyway`` score nodes higher the fewer such pods their
domain has.

**Why it matters.** It keeps the replicas of a service from failing together.

**Configuration.** ``defaultingType: System`` adds soft constraints over hosts (maxSkew 3) and
zones (5) to pods without constraints that a service or a controller selects; ``List`` uses
``defaultConstraints`` instead. Without the gate MatchLabelKeysInPodTopologySpread, which is on,
``matchLabelKeys`` is not read.

**Example.** ``{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable:
DoNotSchedule}`` with counts 2, 1, 1 allows the second and third zone; the first is rejected
with ``node(s) didn't match pod topology spread constraints``.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering,scoring}.go
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import ClassVar

import msgspec
import numpy as np

from podwright._arrays import F64Array, I64Matrix, Mask
from podwright.apimachinery.objects import (
    EVERYTHING,
    LabelSelector,
    NodeSelector,
    OwnerReference,
    Pod,
    Selector,
    SelectorError,
    Toleration,
    TopologySpreadConstraint,
    UnsatisfiableAction,
    label_selector,
    labels_as_selector,
)
from podwright.scheduler.columns import (
    Cluster,
    CountedGroups,
    Counter,
    Digits,
    DomainRule,
    LabelKeys,
    PodSelector,
    SelectorCounters,
    conjunction,
    default_selector,
    kept_selector,
)
from podwright.scheduler.config import DEFAULT_GATES, Gates, PodTopologySpreadArgs
from podwright.scheduler.framework import (
    Cycle,
    EventHint,
    FilterGroups,
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
from podwright.scheduler.kernels import spread as spread_kernels
from podwright.scheduler.kernels.spread import (
    IS_PER_NODE,
    MAX_SKEW_LESS_ONE,
    MISSING_LABEL,
    TOO_SKEWED,
)
from podwright.scheduler.plugins import hints
from podwright.scheduler.plugins.soft_spreading import ScoreState, SpreadGroups

_HOSTNAME = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"
_REASON = "node(s) didn't match pod topology spread constraints"
_STATUSES = {
    MISSING_LABEL: Status.unresolvable(f"{_REASON} (missing required label)"),
    TOO_SKEWED: Status.unschedulable(_REASON),
}
_SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(
        max_skew=3, topology_key=_HOSTNAME, when_unsatisfiable="ScheduleAnyway"
    ),
    TopologySpreadConstraint(max_skew=5, topology_key=_ZONE, when_unsatisfiable="ScheduleAnyway"),
)
_GREATEST_COUNT = 2**31 - 1


class Constraint(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled constraint of one pod.

    Parameters
    ----------
    max_skew : int
    topology_key : str
    selector : Selector
        Which pods of the pod's namespace are counted.
    min_domains : int
        With fewer eligible domains the least count is taken as 0.
    matches_self : bool
        Whether the selector matches the pod itself.
    node_selector, affinity : tuple of (str, str), NodeSelector, optional
        Nodes that count; empty and None if nodeAffinityPolicy is Ignore.
    tolerations : tuple of Toleration, optional
        Of the pod; None if nodeTaintsPolicy is Ignore.
    compares_tolerations : bool
        Whether their operators Gt and Lt compare.
    """

    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    matches_self: bool
    node_selector: tuple[tuple[str, str], ...] = ()
    affinity: NodeSelector | None = None
    tolerations: tuple[Toleration, ...] | None = None
    compares_tolerations: bool = False


class Spreading(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a pod that spreading reads; pods with equal parts share all results.

    Parameters
    ----------
    namespace : str
    hard, soft : tuple of Constraint
        The pod's constraints, or the default ones, their selector still to be deduced.
    is_own : bool
        Whether the constraints are the pod's own.
    labels : frozenset of (str, str)
        The pod's labels, if the default selector is used.
    controller : OwnerReference, optional
        The pod's controller, likewise.
    kept : Selector
        What Services and the controller imply at the source of a copied pod, likewise.
    error : str
        Why the constraints could not be compiled.
    """

    namespace: str
    hard: tuple[Constraint, ...] = ()
    soft: tuple[Constraint, ...] = ()
    is_own: bool = True
    labels: frozenset[tuple[str, str]] = frozenset()
    controller: OwnerReference | None = None
    kept: Selector = EVERYTHING
    error: str = ""


class _HardConstraint:
    """A constraint of the filter and its counts."""

    __slots__ = ("constraint", "counter", "most")

    def __init__(self, constraint: Constraint, counter: Counter) -> None:
        self.constraint = constraint
        self.counter = counter
        self.most = constraint.max_skew - constraint.matches_self

    def excess(self, node: NodeView, cluster: Cluster) -> str:
        """Return the numbers of pods by which a node's domain has too many; "" if it has not."""
        rule, domains, counts = self.constraint, self.counter.domains, self.counter.current()
        counted = counts[: domains.n_counted]
        are_few = domains.n_counted < rule.min_domains
        least = 0 if are_few else int(counted.min(initial=_GREATEST_COUNT))
        count = int(counts[domains.reading[node.slot]])
        if count <= least + self.most:
            return ""
        key, plural = rule.topology_key, "s" * (count != 1)
        text = f"{key}={node.labels[key]} has {count} matching pod{plural}"
        if are_few:
            known = f"minDomains is {rule.min_domains}, {domains.n_counted} exist"
            return f"{text}: maxSkew is {rule.max_skew}, {known}"
        slot = int(np.flatnonzero(domains.counting == counted.argmin())[0])
        other = NodeView(cluster, slot).labels[key]
        return f"{text}, and {key}={other} has {least}: maxSkew is {rule.max_skew}"


class _FilteredGroups(CountedGroups, FilterGroups):
    """Nodes in whose domains equally many pods are, as hard constraints see them."""

    def __init__(self, hard: tuple[_HardConstraint, ...], digits: list[Digits]) -> None:
        super().__init__([each.counter for each in hard], digits)
        self._hard = hard

    def rejected(self) -> Mask | None:
        """Return which groups exceed the skew of a constraint, or lack a domain."""
        counts = self._counts()
        if counts is None:
            return None
        rejected: Mask = np.zeros(self.n_groups, dtype=np.bool_)
        for of_counter, hard, digits in zip(counts, self._hard, self._digits, strict=True):
            spread_kernels.reject_groups(
                of_counter,
                digits,
                hard.counter.domains.n_counted,
                hard.constraint.min_domains,
                hard.most,
                rejected,
            )
        return rejected


class _FilterState:
    """The hard constraints, and in a dry run its changes.

    Attributes
    ----------
    hard : tuple of _HardConstraint
    namespace : str
    changes : tuple of dict or None
        Per constraint the count added to each domain; None outside of dry runs.
    lowest : tuple of _TwoLowest
        Per constraint the two lowest domains that upstream keeps.
    """

    __slots__ = ("changes", "hard", "lowest", "namespace")

    def __init__(self, hard: tuple[_HardConstraint, ...], namespace: str) -> None:
        self.hard = hard
        self.namespace = namespace
        self.changes: tuple[dict[int, int], ...] | None = None
        self.lowest: tuple[_TwoLowest, ...] = ()

    def clone(self) -> _FilterState:
        copy = _FilterState(self.hard, self.namespace)
        if self.changes is not None:
            copy.changes = tuple([dict(change) for change in self.changes])
            copy.lowest = tuple([lowest.clone() for lowest in self.lowest])
        return copy

    def update(self, placed: PlacedPod, sign: int) -> None:
        """Count a pod that is added (1) or removed (-1)."""
        if placed.pod.metadata.namespace != self.namespace:
            return
        labels = placed.pod.metadata.labels
        for i, hard in enumerate(self.hard):
            if not hard.constraint.selector.matches(labels):
                continue
            counts = hard.counter.current()
            domain = hard.counter.domains.cells[placed.slot]
            if domain < 0:
                continue
            if self.changes is None:
                self.changes = tuple([{} for _ in self.hard])
                self.lowest = tuple([_TwoLowest.of(other.counter) for other in self.hard])
            change = self.changes[i]
            change[domain] = change.get(domain, 0) + sign
            self.lowest[i].update(domain, int(counts[domain]) + change[domain])

    def code_of(self, slot: int) -> int:
        """Return the verdict on a slot, with the changes of the dry run."""
        assert self.changes is not None, "nothing was simulated"
        for hard, change, lowest in zip(self.hard, self.changes, self.lowest, strict=True):
            counts = hard.counter.current()
            domains = hard.counter.domains
            domain = int(domains.reading[slot])
            if domain < 0:
                return MISSING_LABEL
            few = domains.n_counted < hard.constraint.min_domains
            least = 0 if few else lowest.counts[0]
            if int(counts[domain]) + change.get(domain, 0) - least > hard.most:
                return TOO_SKEWED
        return 0


class _TwoLowest:
    """The two domains with the fewest pods, as upstream keeps them.

    Only these two are followed, so after changes in several domains the second may not be
    the second lowest any more, nor the first the lowest. Upstream: filtering.go, `criticalPaths`
    """

    __slots__ = ("counts", "domains")

    def __init__(self, domains: list[int], counts: list[int]) -> None:
        self.domains = domains
        self.counts = counts

    @classmethod
    def of(cls, counter: Counter) -> _TwoLowest:
        """Find the two lowest domains of a counter; among equals the first ones."""
        counts = counter.current()[: counter.domains.n_counted]
        domains = [-1, -1]
        least = [_GREATEST_COUNT, _GREATEST_COUNT]
        if len(counts):
            domains[0] = int(counts.argmin())
            least[0] = int(counts[domains[0]])
        if len(counts) > 1:
            others = counts.copy()
            others[domains[0]] = _GREATEST_COUNT
            domains[1] = int(others.argmin())
            least[1] = int(counts[domains[1]])
        return cls(domains, least)

    def clone(self) -> _TwoLowest:
        return _TwoLowest(list(self.domains), list(self.counts))

    def update(self, domain: int, count: int) -> None:
        """Update the count of a domain."""
        domains, counts = self.domains, self.counts
        if domain in domains:
            counts[domains.index(domain)] = count
            if counts[0] > counts[1]:
                domains.reverse()
                counts.reverse()
        elif count < counts[0]:
            domains[1], counts[1] = domains[0], counts[0]
            domains[0], counts[0] = domain, count
        elif count < counts[1]:
            domains[1], counts[1] = domain, count


_PLAIN_POD = Pod()

_FILTER: StateKey[_FilterState] = StateKey("PreFilterPodTopologySpread")
_SCORE: StateKey[ScoreState] = StateKey(
    "PreScorePodTopologySpread", "error reading {} from cycleState: not found"
)


class PodTopologySpread(Plugin):
    """Spread matching pods over topology domains."""

    name = "PodTopologySpread"
    key_reads_all_labels = False
    Args: ClassVar[type[PodTopologySpreadArgs]] = PodTopologySpreadArgs
    pre_filter_reads = Reads.WORKLOADS
    filter_reads = Reads.CLUSTER
    pre_score_reads = Reads.WORKLOADS
    score_reads = Reads.CLUSTER
    normalization = Normalization.CUSTOM
    scores_in_range = True

    takes_gates = True

    def __init__(
        self, args: PodTopologySpreadArgs | None = None, *, gates: Gates = DEFAULT_GATES
    ) -> None:
        args = args or PodTopologySpreadArgs()
        self._reads_label_keys = "MatchLabelKeysInPodTopologySpread" in gates
        self._compares = "TaintTolerationComparisonOperators" in gates
        self._is_system_default = args.defaulting_type == "System"
        self._defaults = _SYSTEM_DEFAULTS if self._is_system_default else args.default_constraints
        # Default constraints have no selector yet: compiled, they are the same for every pod
        # without node affinity, unless they depend on labels or tolerations.
        self._plain_defaults: tuple[tuple[Constraint, ...], tuple[Constraint, ...]] | None = None
        if not any(c.match_label_keys or c.node_taints_policy for c in self._defaults):
            self._plain_defaults = (
                self._compile(_PLAIN_POD, self._defaults, "DoNotSchedule"),
                self._compile(_PLAIN_POD, self._defaults, "ScheduleAnyway"),
            )

    def events_to_register(self) -> tuple[EventHint, ...]:
        """Return the events that could undo a rejection, with their hint functions."""
        return hints.pod_topology_spread.events_to_register(
            self._selector_of, default_constraints=self._widened_defaults
        )

    def _widened_defaults(self, pod: Pod) -> tuple[TopologySpreadConstraint, ...]:
        """Return the default constraints with selectors that mean every pod of the namespace.

        Hint functions cannot read the cluster, so the real selector is unknown to them. An
        unnecessary requeue costs one attempt; a missing requeue would strand the pod.
        """
        return tuple(
            msgspec.structs.replace(constraint, label_selector=LabelSelector())
            for constraint in self._defaults
        )

    def sign_pod(self, pod: Pod) -> Mapping[str, object] | None:
        """Return nothing; where other pods matter, no pod is like another.

        They do for pods with constraints, and for every pod if there are default constraints.
        """
        if pod.spec.topology_spread_constraints or self._defaults:
            return None
        return {}

    def pod_key(self, pod: Pod) -> Hashable:
        """Return the compiled constraints, and what default ones are deduced from."""
        return self._spreading(pod)

    # ------------------------------------------------------------ filtering

    def pre_filter(self, cycle: Cycle) -> Status:
        """Prepare the counts of the hard constraints; skip without any."""
        spreading = self._spreading(cycle.pod)
        if spreading is None:
            return Status.SKIPPED
        if spreading.error:
            return Status.error(f"get constraints from pod: {spreading.error}")
        constraints = _with_selectors(spreading, spreading.hard, cycle)
        if not constraints:
            return Status.SKIPPED
        keys = _distinct_keys(constraints)
        selectors = cycle.cluster.selectors
        hard = tuple(
            [
                _HardConstraint(c, _counter(selectors, spreading.namespace, c, _rule(c, keys)))
                for c in constraints
            ]
        )
        cycle.write(_FILTER, _FilterState(hard, spreading.namespace))
        return Status.OK

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        """Reject nodes that lack a key or whose domain would have too many pods."""
        state = cycle.read(_FILTER)
        out.decode = _STATUSES.__getitem__
        if state.changes is not None:
            for slot in out.rows.tolist():
                out.codes[slot] = state.code_of(slot)
            return
        for hard in state.hard:
            counts = hard.counter.current()
            domains = hard.counter.domains
            spread_kernels.reject_skewed(
                domains.reading,
                counts,
                domains.n_counted,
                hard.constraint.min_domains,
                hard.most,
                out.rows,
                out.codes,
            )

    def rejection_details(self, cycle: Cycle, node: NodeView) -> list[str]:
        """Return the labels that a node lacks, or the numbers of pods that differ too much."""
        hard = cycle.read(_FILTER).hard
        keys = dict.fromkeys(each.constraint.topology_key for each in hard)
        missing = [f"label {key} (it has none)" for key in keys if key not in node.labels]
        return missing or [text for each in hard if (text := each.excess(node, cycle.cluster))]

    def filter_groups(self, cycle: Cycle) -> FilterGroups | None:
        """Return nodes in whose domains equally many of the pods are as groups."""
        hard = cycle.read(_FILTER).hard
        digits = CountedGroups.digits_of([each.counter for each in hard])
        return None if digits is None else _FilteredGroups(hard, digits)

    def add_pod(self, cycle: Cycle, placed: PlacedPod) -> None:
        """Count one pod more."""
        cycle.read(_FILTER).update(placed, 1)

    def remove_pod(self, cycle: Cycle, placed: PlacedPod) -> None:
        """Count one pod less."""
        cycle.read(_FILTER).update(placed, -1)

    # ------------------------------------------------------------ scoring

    def pre_score(self, cycle: Cycle) -> Status:
        """Prepare the counts of the soft constraints; skip without any."""
        spreading = self._spreading(cycle.pod)
        if spreading is None:
            return Status.SKIPPED
        if spreading.error:
            return Status.error(
                "calculating preScoreState: obtaining pod's soft topology spread constraints: "
                f"{spreading.error}"
            )
        constraints = _with_selectors(spreading, spreading.soft, cycle)
        if not constraints:
            return Status.SKIPPED
        # Nodes without a zone are still spread over hosts by the system defaults.
        requires_all = spreading.is_own or not self._is_system_default
        keys = _distinct_keys(constraints) if requires_all else ()
        settings: I64Matrix = np.full((len(constraints), 3), -1, dtype=np.int64)
        counters = []
        for i, constraint in enumerate(constraints):
            is_per_node = constraint.topology_key == _HOSTNAME
            rule = _soft_rule(constraint, keys)
            counters.append(
                _counter(cycle.cluster.selectors, spreading.namespace, constraint, rule)
            )
            # Upstream adds it to the weighted count, so that a larger maxSkew waters down the
            # differences between domains (scoring.go, scoreForCount).
            settings[i, MAX_SKEW_LESS_ONE] = constraint.max_skew - 1
            settings[i, IS_PER_NODE] = is_per_node
        state = ScoreState(tuple(counters), settings, requires_all=requires_all)
        cycle.write(_SCORE, state)
        return Status.OK

    def score_columns(self, cycle: Cycle, nodes: NodeColumns, out: Scores) -> None:
        """Write the weighted counts of matching pods."""
        state = cycle.read(_SCORE)
        counts, rows = state.counts(), out.rows
        sums: F64Array = np.zeros(len(rows), dtype=np.float64)
        for counter, count_of, setting in zip(state.counters, counts, state.settings, strict=True):
            domains = counter.domains.reading
            spread_kernels.add_spread_scores(
                domains, count_of, setting, state.requires_all, rows, sums
            )
        spread_kernels.round_scores(sums, rows, out.values)

    def normalize_score(self, cycle: Cycle, out: Scores) -> None:
        """Turn fewer pods into more points."""
        state = cycle.read(_SCORE)
        domains = state.counters[0].domains.reading
        spread_kernels.normalize_spread(domains, state.requires_all, out.rows, out.values)

    def score_groups(self, cycle: Cycle) -> ScoreGroups | None:
        """Return nodes of one domain that have equally many of the pods as groups."""
        return SpreadGroups.of(cycle.read(_SCORE))

    # ------------------------------------------------------------ constraints

    def _spreading(self, pod: Pod) -> Spreading | None:
        """Return what spreading reads of a pod; None if it cannot have constraints."""
        spec, metadata = pod.spec, pod.metadata
        if spec.topology_spread_constraints:
            try:
                hard = self._compile(pod, spec.topology_spread_constraints, "DoNotSchedule")
                soft = self._compile(pod, spec.topology_spread_constraints, "ScheduleAnyway")
            except SelectorError as error:
                return Spreading(namespace=metadata.namespace, error=str(error))
            return Spreading(namespace=metadata.namespace, hard=hard, soft=soft)
        if not self._defaults:
            return None
        if self._plain_defaults is not None and not spec.node_selector and spec.affinity is None:
            hard, soft = self._plain_defaults
        else:
            hard = self._compile(pod, self._defaults, "DoNotSchedule")
            soft = self._compile(pod, self._defaults, "ScheduleAnyway")
        return Spreading(
            namespace=metadata.namespace,
            hard=hard,
            soft=soft,
            is_own=False,
            labels=frozenset(metadata.labels.items()),
            controller=metadata.controller,
            kept=kept_selector(pod),
        )

    def _compile(
        self, pod: Pod, constraints: Iterable[TopologySpreadConstraint], action: UnsatisfiableAction
    ) -> tuple[Constraint, ...]:
        """Compile the constraints with one action (`filterTopologySpreadConstraints`)."""
        spec, labels = pod.spec, pod.metadata.labels
        required = spec.node_affinity.required
        node_selector = tuple(sorted(spec.node_selector.items()))
        compiled = []
        for constraint in constraints:
            if constraint.when_unsatisfiable != action:
                continue
            selector = self._selector_of(constraint, labels)
            honors_affinity = constraint.node_affinity_policy != "Ignore"
            honors_taints = constraint.node_taints_policy == "Honor"
            min_domains = constraint.min_domains
            compiled.append(
                Constraint(
                    max_skew=constraint.max_skew,
                    topology_key=constraint.topology_key,
                    selector=selector,
                    min_domains=1 if min_domains is None else min_domains,
                    matches_self=selector.matches(labels),
                    node_selector=node_selector if honors_affinity else (),
                    affinity=required if honors_affinity else None,
                    tolerations=spec.tolerations if honors_taints else None,
                    compares_tolerations=honors_taints and self._compares,
                )
            )
        return tuple(compiled)

    def _selector_of(
        self, constraint: TopologySpreadConstraint, labels: Mapping[str, str]
    ) -> Selector:
        """Return which pods a constraint counts for a pod that has the labels."""
        selector = label_selector(constraint.label_selector)
        keys = constraint.match_label_keys if self._reads_label_keys else ()
        merged = {key: labels[key] for key in keys if key in labels}
        # Upstream, mergeLabelSetWithSelector: an absent selector selects nothing, also with keys.
        if not merged or constraint.label_selector is None:
            return selector
        return conjunction(selector, labels_as_selector(merged).requirements)


def _with_selectors(
    spreading: Spreading, constraints: tuple[Constraint, ...], cycle: Cycle
) -> tuple[Constraint, ...]:
    """Deduce the selector of default constraints; none are left if nothing selects the pod."""
    if spreading.is_own or not constraints:
        return constraints
    labels = dict(spreading.labels)
    selector = default_selector(
        cycle.cluster.workloads, spreading.namespace, labels, spreading.controller
    )
    if spreading.kept.requirements:
        selector = conjunction(selector, spreading.kept.requirements)
    if selector.is_empty:
        return ()
    matches_self = selector.matches(labels)
    return tuple(
        [
            msgspec.structs.replace(c, selector=selector, matches_self=matches_self)
            for c in constraints
        ]
    )


def _distinct_keys(constraints: tuple[Constraint, ...]) -> LabelKeys:
    return LabelKeys(sorted({constraint.topology_key for constraint in constraints}))


def _rule(constraint: Constraint, keys: tuple[str, ...]) -> DomainRule:
    """Return the domains of a hard constraint: nodes that have all keys count."""
    return DomainRule(
        topology_key=constraint.topology_key,
        read_keys=(constraint.topology_key,),
        counted_keys=keys,
        node_selector=constraint.node_selector,
        affinity=constraint.affinity,
        tolerations=constraint.tolerations,
        compares_tolerations=constraint.compares_tolerations,
    )


def _soft_rule(constraint: Constraint, keys: tuple[str, ...]) -> DomainRule:
    """Return the domains of a soft constraint; without `keys` no node is ignored."""
    key = constraint.topology_key
    read_keys = keys or (key,)
    if key == _HOSTNAME:
        # Upstream counts a host's own pods, whether or not it would take the pod.
        return DomainRule(topology_key="", read_keys=read_keys)
    return DomainRule(
        topology_key=key,
        read_keys=read_keys,
        counted_keys=keys,
        node_selector=constraint.node_selector,
        affinity=constraint.affinity,
        tolerations=constraint.tolerations,
        compares_tolerations=constraint.compares_tolerations,
        absent_is_empty=not keys,
    )


def _counter(
    selectors: SelectorCounters, namespace: str, constraint: Constraint, rule: DomainRule
) -> Counter:
    if constraint.selector == EVERYTHING:
        # An empty selector counts no pod at all, though it matches every one.
        return selectors.counter(rule)
    pods = (PodSelector(constraint.selector, frozenset((namespace,))),)
    return selectors.counter(rule, ((pods, 1),), of_live=True)

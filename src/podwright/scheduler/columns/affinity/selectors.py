"""Selector counters: placed pods that match a selector, per topology domain, and pods per term.

A placed pod belongs to a label class (its namespace and labels), and carries interned terms.
Placing it costs an entry in a log for its class and one for each of its terms, however many
selectors there are. Who reads a counter brings it up to date; a selector finds the classes that
it matches, and a pod the terms that match it, from lists by label value.

Start with `SelectorCounters.counter` for counts, and `terms_matching` for the terms of placed
pods that match a given pod. `counters` records where pods are and has the arithmetic,
`domains` the topology, `matching` the comparisons, `term_index` the terms of placed pods.

Notes
-----
Upstream: pkg/scheduler/framework/plugins/helper/spread.go, `DefaultSelector`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias
from weakref import WeakValueDictionary

from podwright.apimachinery.objects import (
    OwnerReference,
    Pod,
    ReplicaSet,
    ReplicationController,
    Requirement,
    Selector,
    SelectorError,
    StatefulSet,
    label_selector,
    labels_as_selector,
)
from podwright.scheduler.columns.affinity.counters import (
    NO_WEIGHTED_TERMS,
    Counter,
    PlacementLog,
    WeightedTerms,
)
from podwright.scheduler.columns.affinity.domains import DomainRule, Domains
from podwright.scheduler.columns.affinity.matching import (
    LabelClasses,
    Matcher,
    PodSelector,
    SelectorFile,
)
from podwright.scheduler.columns.affinity.term_index import (
    AffinityTerm,
    SelectedLabels,
    TermIndex,
    TermKind,
    affinity_terms,
    keys_of_selector,
)
from podwright.scheduler.columns.nodes import NodeColumns
from podwright.scheduler.columns.placement import PlacedPod
from podwright.scheduler.columns.workloads import WorkloadIndex

Counted: TypeAlias = tuple[tuple[PodSelector, ...], int]
"""Pods that match all of these selectors, and what each of them adds."""

_COUNTER_BYTES = 256 << 20
"""The memory limit of counters; the least recently used are dropped first."""

_LEAST_COUNTERS = 16
"""This many counters are kept regardless of memory: those of one cycle."""

_MOST_PRESENCES = 65_536
"""After so many selectors all of them are forgotten; those in use come again."""

_LEAST_IDLE, _MOST_IDLE = 256, 1_024
"""So many label classes and terms without a placed pod are kept, besides one for each with pods:
every rollout and every Job has labels that no later pod has. Each takes 13 KB with the results of
the scheduler. Forgetting them takes the more time the more pods are placed, so that many are kept
where there are many pods: one for each `_PODS_OF_IDLE`."""

_PODS_OF_IDLE = 8


class Presence:
    """Whether any pod that selectors match is on a node that has a certain label.

    Attributes
    ----------
    topology_key : str
    matchers : tuple of Matcher
    witness : (int, int), optional
        The label class and the slot of one such pod; None if there is none.
    """

    __slots__ = ("matchers", "topology_key", "witness")

    def __init__(self, topology_key: str, matchers: tuple[Matcher, ...]) -> None:
        self.topology_key = topology_key
        self.matchers = matchers
        self.witness: tuple[int, int] | None = None


class SelectorCounters:
    """Label classes, terms, and the counters over them.

    Parameters
    ----------
    nodes : NodeColumns
    selected : SelectedLabels, optional
        Receives the label keys that terms use.
    counter_bytes : int
        How much memory counters may take.

    Attributes
    ----------
    generation : int
        Grows when classes and terms are forgotten (`renew`); their numbers and all counters that
        were given out before are invalid then.
    terms_version : int
        Grows when a term gets its first pod on a node with the topology label, or loses the
        last one; and likewise when a selector that `is_present` was called for matches its first
        pod, or loses the last one.
    """

    def __init__(
        self,
        nodes: NodeColumns,
        selected: SelectedLabels | None = None,
        *,
        counter_bytes: int = _COUNTER_BYTES,
    ) -> None:
        self.terms_version = 0
        self.generation = 0
        self._selected = SelectedLabels() if selected is None else selected
        self._nodes = nodes
        self._presences: dict[object, Presence] = {}
        self._witnesses: dict[tuple[int, int], list[Presence]] = {}
        self._counter_bytes = counter_bytes
        self._begin()

    def _begin(self) -> None:
        """Start without classes, terms and counters."""
        self._classes = LabelClasses()
        self._placed = PlacementLog()
        self._terms = TermIndex()
        self._carriers = PlacementLog()
        self._matchers: WeakValueDictionary[tuple[PodSelector, ...], Matcher]
        self._matchers = WeakValueDictionary()
        self._domains: dict[DomainRule, Domains] = {}
        self._counters: OrderedDict[object, Counter] = OrderedDict()
        self._used_bytes = 0
        # By topology key of terms and presences, whether the node in a slot has the label.
        self._labeled: dict[str, bytearray] = {}
        self._term_labels: list[bytearray] = []
        self._crowded_at = _LEAST_IDLE
        self._forget_presences()

    # ---------------------------------------------------------------- interning

    def class_of(self, namespace: str, labels: Mapping[str, str]) -> int:
        """Return the number of the (namespace, labels) class."""
        number = self._classes.find(namespace, labels)
        if number == len(self._placed.totals):
            self._placed.add_group()
        return number

    def terms_of(self, pod: Pod) -> tuple[int, ...]:
        """Return the numbers of the pod's own (anti-)affinity terms."""
        return tuple([self._term_of(spec) for spec in affinity_terms(pod).all])

    def term(self, term_id: int) -> AffinityTerm:
        """Return the term of a number."""
        return self._terms.terms.values[term_id]

    # ---------------------------------------------------------------- reading

    def counter(
        self,
        rule: DomainRule,
        counted: tuple[Counted, ...] = (),
        terms: WeightedTerms = NO_WEIGHTED_TERMS,
        *,
        of_live: bool = False,
    ) -> Counter:
        """Return the counter of some pods over some domains.

        Parameters
        ----------
        rule : DomainRule
        counted : tuple of ((PodSelector, ...), int)
            Pods that match all selectors of an entry add its number.
        terms : WeightedTerms
            Carriers of a term add its weight.
        of_live : bool
            Leaves out terminating pods.
        """
        key = (rule, counted, terms.ids.tobytes(), terms.weights.tobytes(), of_live)
        counter = self._counters.get(key)
        if counter is not None:
            self._counters.move_to_end(key)
            return counter
        counter = Counter(
            key,
            self._domains_of(rule),
            tuple([(self._matcher(parts), weight) for parts, weight in counted]),
            terms,
            of_live=of_live,
            logs=(self._placed, self._carriers),
            topology=self._nodes.topology_journal,
            attach=self._attach,
        )
        self._attach(counter)
        return counter

    def is_present(self, topology_key: str, counted: tuple[Counted, ...]) -> bool:
        """Return whether any of some pods is on a node with a topology label; see `counter`."""
        key = (topology_key, tuple([parts for parts, _ in counted]))
        presence = self._presences.get(key)
        if presence is None:
            if len(self._presences) >= _MOST_PRESENCES:
                self._forget_presences()
            matchers = tuple([self._matcher(parts) for parts, _ in counted])
            presence = self._presences[key] = Presence(topology_key, matchers)
            self._watch(presence)
        return presence.witness is not None

    def terms_matching(
        self,
        factors: Mapping[TermKind, int],
        namespace: str,
        labels: Mapping[str, str],
        namespace_labels: Mapping[str, str],
    ) -> dict[str, WeightedTerms]:
        """Return the terms of placed pods that match a pod; see `TermIndex.matching`."""
        return self._terms.matching(factors, namespace, labels, namespace_labels)

    # ---------------------------------------------------------------- what happens

    def placed(self, placed: PlacedPod, sign: int) -> None:
        """Count (1) or stop counting (-1) a pod on its slot."""
        keys = placed.keys
        slot = placed.slot
        self._placed.record(keys.class_id, slot, sign, is_terminating=placed.is_terminating)
        if keys.term_ids:
            self._count_terms(placed, sign)
        if sign > 0:
            if self._absent_count:
                self._notice(keys.class_id, slot)
        elif (keys.class_id, slot) in self._witnesses:
            for presence in self._witnesses.pop((keys.class_id, slot)):
                self._watch_again(presence)

    def placed_all(self, placed: Collection[PlacedPod]) -> None:
        """Count many pods on their slots, as `placed` does one after the other."""
        self._placed.record_all(
            [each.keys.class_id for each in placed],
            [each.slot for each in placed],
            [each.is_terminating for each in placed],
        )
        for each in placed:
            self._count_terms(each, 1)
            if self._absent_count:
                self._notice(each.keys.class_id, each.slot)

    def _count_terms(self, placed: PlacedPod, sign: int) -> None:
        slot = placed.slot
        for term_id in placed.keys.term_ids:
            self._carriers.record(term_id, slot, sign, is_terminating=placed.is_terminating)
            if self._term_labels[term_id][slot]:
                self._count_carrier(term_id, sign)

    def node_added(self, slot: int) -> None:
        """Handle a new slot: no pod is on it yet."""
        for key, labeled in self._labeled.items():
            labeled.append(self._nodes.label_ids(key).item(slot) >= 0)

    def node_changed(self, slot: int, pods: Iterable[PlacedPod]) -> None:
        """Handle a changed Node object in `slot`, where `pods` are; its labels may have changed."""
        for key, labeled in self._labeled.items():
            is_there = self._nodes.label_ids(key).item(slot) >= 0
            if is_there == labeled[slot]:
                continue
            labeled[slot] = is_there
            sign = 1 if is_there else -1
            for placed in pods:
                for term_id in placed.keys.term_ids:
                    if self.term(term_id).topology_key == key:
                        self._count_carrier(term_id, sign)
            for presence in self._presences.values():
                if presence.topology_key == key:
                    self._unwatch(presence)
                    self._watch_again(presence)

    @property
    def is_crowded(self) -> bool:
        """Whether so many classes, terms and keys have no pod that it is time to `renew`."""
        count = self._classes.count + len(self._terms.terms) + len(self._labeled)
        if count <= self._crowded_at:
            return False
        # As a garbage collector does: the work for what is in use is shared by what is freed.
        idle = min(max(_LEAST_IDLE, self._placed.pod_count // _PODS_OF_IDLE), _MOST_IDLE)
        self._crowded_at = idle + 2 * (self._placed.used_count + self._carriers.used_count)
        return count > self._crowded_at

    def renew(self) -> None:
        """Forget all classes, terms and counters; the placed pods get new keys, and are counted.

        The nodes keep their slots. Nothing that was given out before may be used any more.
        """
        self.generation += 1
        self._begin()

    # ---------------------------------------------------------------- terms

    def _term_of(self, spec: AffinityTerm) -> int:
        number = self._terms.id_of(spec)
        if number == len(self._carriers.totals):
            self._carriers.add_group()
            self._term_labels.append(self._labels(spec.topology_key))
            self._selected.add(keys_of_selector(spec.selector))
        return number

    def _count_carrier(self, term_id: int, sign: int) -> None:
        counts = self._terms.carrier_counts
        counts[term_id] += sign
        # The first one has come, or the last one has gone.
        if counts[term_id] == (sign > 0):
            self.terms_version += 1

    def _labels(self, topology_key: str) -> bytearray:
        """Return per slot whether the node has a label."""
        labeled = self._labeled.get(topology_key)
        if labeled is None:
            there = self._nodes.label_ids(topology_key) >= 0
            labeled = self._labeled[topology_key] = bytearray(there)
        return labeled

    # ---------------------------------------------------------------- presence

    def _watch(self, presence: Presence) -> None:
        """Find a witness of a presence, or wait for one."""
        witness = presence.witness = self._find_witness(presence)
        if witness is not None:
            self._witnesses.setdefault(witness, []).append(presence)
            return
        self._absent_count += 1
        for matcher in presence.matchers:
            first = matcher.parts[0]
            self._absent.add(presence, first.selector, first.namespaces)

    def _unwatch(self, presence: Presence) -> None:
        witness = presence.witness
        if witness is not None:
            self._witnesses[witness].remove(presence)
            return
        self._absent_count -= 1
        for matcher in presence.matchers:
            first = matcher.parts[0]
            self._absent.discard(presence, first.selector, first.namespaces)

    def _watch_again(self, presence: Presence) -> None:
        """Find another witness of a presence that is not watched."""
        was_present = presence.witness is not None
        self._watch(presence)
        if was_present != (presence.witness is not None):
            self.terms_version += 1

    def _notice(self, class_id: int, slot: int) -> None:
        """Make a pod the witness of the presences that waited for it."""
        namespace, labels = self._classes.value(class_id)
        for presence in self._absent.candidates(namespace, labels):
            if (
                presence.witness is None
                and self._labels(presence.topology_key)[slot]
                and any(matcher.matches(namespace, labels) for matcher in presence.matchers)
            ):
                self._unwatch(presence)
                presence.witness = class_id, slot
                self._witnesses.setdefault(presence.witness, []).append(presence)
                self.terms_version += 1

    def _find_witness(self, presence: Presence) -> tuple[int, int] | None:
        labeled = self._labels(presence.topology_key)
        if not any(labeled):
            return None
        for matcher in presence.matchers:
            # The newest first: their pods are more likely to be there.
            for class_id in self._placed.with_pods(matcher.class_ids())[::-1].tolist():
                for slot in self._placed.slots_of(class_id).tolist():
                    if labeled[slot]:
                        return class_id, slot
        return None

    def _forget_presences(self) -> None:
        """Forget all presences; results that depend on them are made again."""
        self._presences.clear()
        self._absent: SelectorFile[Presence] = SelectorFile()
        self._absent_count = 0
        self._witnesses.clear()
        self.terms_version += 1

    # ---------------------------------------------------------------- counters

    def _matcher(self, parts: tuple[PodSelector, ...]) -> Matcher:
        matcher = self._matchers.get(parts)
        if matcher is None:
            matcher = self._matchers[parts] = Matcher(parts, self._classes)
        return matcher

    def _domains_of(self, rule: DomainRule) -> Domains:
        domains = self._domains.get(rule)
        if domains is None:
            domains = self._domains[rule] = Domains(rule, self._nodes)
        return domains

    def _attach(self, counter: Counter) -> None:
        """Make room for the counts of a counter."""
        counter.is_attached = True
        self._counters[counter.key] = counter
        # After a detachment the old domains may be gone, with their last counter.
        domains = counter.domains = self._domains_of(counter.domains.rule)
        domains.catch_up()
        counter.cost_bytes = 8 * domains.n_domains + 24 * len(counter.terms.ids) + 1_024
        if not domains.n_counters:
            counter.cost_bytes += 8 * domains.n_slots
        domains.n_counters += 1
        self._used_bytes += counter.cost_bytes
        while self._used_bytes > self._counter_bytes and len(self._counters) > _LEAST_COUNTERS:
            _, oldest = self._counters.popitem(last=False)
            self._detach(oldest)

    def _detach(self, counter: Counter) -> None:
        """Drop the counts of a counter; it counts again at the next read."""
        counter.is_attached = False
        self._used_bytes -= counter.cost_bytes
        domains = counter.domains
        domains.n_counters -= 1
        if not domains.n_counters:
            self._domains.pop(domains.rule, None)
        counter.drop()


# The default selector of topology spreading, from Services and owners of a pod.

_KINDS = {
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
}


def default_selector(
    workloads: WorkloadIndex,
    namespace: str,
    labels: Mapping[str, str],
    controller: OwnerReference | None,
) -> Selector:
    """Deduce a selector from the services that select a pod and the controller that owns it.

    Returns
    -------
    Selector
        Empty if nothing selects the pod.
    """
    merged: dict[str, str] = {}
    for service in workloads.services.get(namespace, {}).values():
        required = service.spec.selector
        # A service without a selector passes, and adds nothing.
        if all(labels.get(key) == value for key, value in required.items()):
            merged.update(required)
    owner: object = None
    if controller is not None and (controller.api_version, controller.kind) in _KINDS:
        owner = workloads.controllers.get((controller.kind, namespace, controller.name))
    if isinstance(owner, ReplicationController):
        merged.update(owner.spec.selector)
    selector = labels_as_selector(merged)
    if isinstance(owner, ReplicaSet | StatefulSet):
        try:
            other = label_selector(owner.spec.selector)
        except SelectorError:
            return selector
        return conjunction(selector, other.requirements)
    return selector


def conjunction(selector: Selector, requirements: tuple[Requirement, ...]) -> Selector:
    """Return a selector that also demands `requirements`; "nothing" demands them alone."""
    both = {*selector.requirements, *requirements}
    return Selector(tuple(sorted(both, key=lambda r: (r.key, r.operator, r.values))))

"""Selector counters: placed pods that match a selector, per topology domain, and pods per term.

Counters are updated when pods are placed and removed; nothing is recounted per pod. A placed
pod belongs to a label class (its namespace and labels). A class and a selector are compared
once, when the later of the two appears. Placing a pod costs an entry in the log of its class
and one addition per counter of the class. The terms of placed pods are interned in the same
way, and the pods that have a term are counted.

Start with `SelectorCounters.counter` for counts, and `terms_matching` for the terms of placed
pods that match a given pod. `placement_log` records where pods are, `counters` has the arithmetic,
`domains` the topology, `matching` the comparisons, `terms` the terms.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import TypeAlias

from podwright.columns.counters import Counter
from podwright.columns.domains import DomainRule, Domains
from podwright.columns.interning import Interner
from podwright.columns.matching import (
    ClassFile,
    LabelClass,
    Matcher,
    PodSelector,
    SelectorFile,
)
from podwright.columns.nodes import NodeColumns
from podwright.columns.placement import PlacedPod
from podwright.columns.placement_log import Follower, PlacementLog, Presence
from podwright.columns.selected_labels import SelectedLabels, keys_of_selector
from podwright.columns.terms import AffinityTerm, Term, TermKind, affinity_terms
from podwright.objects import Pod

Counted: TypeAlias = tuple[tuple[PodSelector, ...], int]
"""Pods that match all of these selectors, and what each of them adds."""

_COUNTER_BYTES = 256 << 20
"""The memory limit of counters; the least recently used are dropped first."""

_LEAST_COUNTERS = 16
"""This many counters are kept regardless of memory: those of one cycle."""


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
    terms_version : int
        Grows when a term gets its first pod on a node with the topology label, or loses the
        last one; and likewise when a selector that `presence` was called for matches its first
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
        self._selected = SelectedLabels() if selected is None else selected
        self._nodes = nodes
        self._class_ids: Interner[tuple[str, frozenset[tuple[str, str]]]] = Interner()
        self._classes: list[LabelClass] = []
        self._class_file = ClassFile()
        self._matchers: dict[tuple[PodSelector, ...], Matcher] = {}
        self._matcher_file: SelectorFile[Matcher] = SelectorFile()
        self._term_ids: Interner[AffinityTerm] = Interner()
        self._terms: list[Term] = []
        self._term_file: SelectorFile[Term] = SelectorFile()
        self._domains: dict[DomainRule, Domains] = {}
        self._counters: OrderedDict[object, Counter] = OrderedDict()
        self._presences: dict[object, Presence] = {}
        self._presence_domains: dict[str, Domains] = {}
        self._counter_bytes = counter_bytes
        self._used_bytes = 0

    # ---------------------------------------------------------------- interning

    def class_of(self, namespace: str, labels: Mapping[str, str]) -> int:
        """Return the number of the (namespace, labels) class."""
        number = self._class_ids.id_of((namespace, frozenset(labels.items())))
        if number == len(self._classes):
            self._add_class(LabelClass(number, namespace, labels, PlacementLog()))
        return number

    def terms_of(self, pod: Pod) -> tuple[int, ...]:
        """Return the numbers of the pod's own (anti-)affinity terms."""
        affinity = pod.spec.affinity
        if affinity is None or (
            affinity.pod_affinity is None and affinity.pod_anti_affinity is None
        ):
            return ()
        return tuple([self._term_of(spec).id for spec in affinity_terms(pod).all])

    def term(self, term_id: int) -> AffinityTerm:
        """Return the term of a number."""
        return self._terms[term_id].spec

    def domains(self, rule: DomainRule) -> Domains:
        """Return the domains of a rule; call `catch_up` before reading them."""
        domains = self._domains.get(rule)
        if domains is None:
            domains = self._domains[rule] = Domains(rule, self._nodes)
        return domains

    # ---------------------------------------------------------------- reading

    def counter(
        self,
        rule: DomainRule,
        counted: tuple[Counted, ...] = (),
        terms: tuple[tuple[Term, int], ...] = (),
        *,
        of_live: bool = False,
    ) -> Counter:
        """Return the counter of some pods over some domains.

        Parameters
        ----------
        rule : DomainRule
        counted : tuple of ((PodSelector, ...), int)
            Pods that match all selectors of an entry add its number.
        terms : tuple of (Term, int)
            Carriers of a term add its number.
        of_live : bool
            Leaves out terminating pods.
        """
        key = (rule, counted, tuple([(term.id, weight) for term, weight in terms]), of_live)
        counter = self._counters.get(key)
        if counter is not None:
            self._counters.move_to_end(key)
            return counter
        counter = Counter(
            key,
            self.domains(rule),
            tuple([(self._matcher(parts), weight) for parts, weight in counted]),
            terms,
            of_live=of_live,
            attach=self._attach,
        )
        self._attach(counter)
        return counter

    def presence(self, topology_key: str, counted: tuple[Counted, ...]) -> Presence:
        """Return whether any of some pods is on a node with a topology label; see `counter`."""
        key = (topology_key, tuple([parts for parts, _ in counted]))
        presence = self._presences.get(key)
        if presence is None:
            presence = self._presences[key] = self._new_presence(topology_key)
            for parts, _ in counted:
                matcher = self._matcher(parts)
                matcher.presences.append(presence)
                for log in matcher.classes.values():
                    presence.follow(log)
        return presence

    def terms_matching(
        self,
        kinds: Collection[TermKind],
        namespace: str,
        labels: Mapping[str, str],
        namespace_labels: Mapping[str, str],
    ) -> list[Term]:
        """Return the terms of placed pods that match a pod, in the order of their numbers.

        Only terms of which a carrier is on a node with the topology label are returned.
        """
        found = [
            term
            for term in self._term_file.candidates(namespace, labels)
            if term.presence.count > 0
            and term.spec.kind in kinds
            and term.spec.matches(namespace, labels, namespace_labels)
        ]
        found.sort(key=lambda term: term.id)
        return found

    # ---------------------------------------------------------------- what happens

    def placed(self, placed: PlacedPod, sign: int) -> None:
        """Count (1) or stop counting (-1) a pod on its slot."""
        keys = placed.keys
        slot = placed.slot
        terminating = placed.pod.metadata.deletion_timestamp is not None
        self._classes[keys.class_id].log.record(slot, sign, is_terminating=terminating)
        for term_id in keys.term_ids:
            self._terms[term_id].log.record(slot, sign, is_terminating=terminating)

    def node_added(self, slot: int) -> None:
        """Do nothing for a new slot: domains catch up when they are read."""

    def node_changed(self, slot: int) -> None:
        """Handle a changed Node object in `slot`; its labels may have changed."""
        # Counters catch up when they are read. Whether a term has pods is not read from a
        # counter, so `terms_version` must change.
        for key, domains in self._presence_domains.items():
            if slot < domains.n_slots:
                is_there = self._nodes.label_ids(key)[slot] >= 0
                if is_there != (domains.cells[slot] >= 0):
                    domains.catch_up()

    def node_removed(self, slot: int) -> None:
        """Handle the deletion of the node in `slot`; its pods were removed before."""

    def namespaces_changed(self, labels_of: Mapping[str, Mapping[str, str]]) -> None:
        """Update the labels of all namespaces; callers resolve namespace selectors."""

    def renumber(self) -> None:
        """Clear all slots: nodes get new slots, and their pods are placed again."""
        for cls in self._classes:
            cls.log.clear()
        for term in self._terms:
            term.log.clear()
        for domains in self._domains.values():
            domains.forget()
            for follower in domains.followers:
                follower.start_over()
        self.terms_version += 1

    # ---------------------------------------------------------------- machinery

    def _add_class(self, cls: LabelClass) -> None:
        self._classes.append(cls)
        self._class_file.add(cls)
        for matcher in self._matcher_file.candidates(cls.namespace, cls.labels):
            if matcher.matches(cls.namespace, cls.labels):
                matcher.classes[cls.id] = cls.log
                for counter, weight in matcher.counters:
                    _follow(counter, cls.log, weight)
                for presence in matcher.presences:
                    presence.follow(cls.log)

    def _matcher(self, parts: tuple[PodSelector, ...]) -> Matcher:
        matcher = self._matchers.get(parts)
        if matcher is None:
            matcher = self._matchers[parts] = Matcher(parts)
            first = parts[0]
            self._matcher_file.add(matcher, first.selector, first.namespaces)
            for cls in self._class_file.candidates(first):
                if matcher.matches(cls.namespace, cls.labels):
                    matcher.classes[cls.id] = cls.log
        return matcher

    def _term_of(self, spec: AffinityTerm) -> Term:
        number = self._term_ids.id_of(spec)
        if number < len(self._terms):
            return self._terms[number]
        log = PlacementLog()
        presence = self._new_presence(spec.topology_key)
        presence.follow(log)
        term = Term(number, spec, log, presence)
        self._terms.append(term)
        self._selected.add(keys_of_selector(spec.selector))
        # A namespace selector may match any namespace, also one that is created later.
        namespaces = spec.namespaces if spec.namespace_selector.is_nothing else None
        self._term_file.add(term, spec.selector, namespaces)
        return term

    def _new_presence(self, topology_key: str) -> Presence:
        domains = self.domains(DomainRule.of_key(topology_key))
        self._presence_domains[topology_key] = domains
        presence = Presence(domains, self._terms_changed)
        domains.followers.append(presence)
        return presence

    def _terms_changed(self) -> None:
        self.terms_version += 1

    def _attach(self, counter: Counter) -> None:
        """Subscribe a counter to the logs that it counts."""
        counter.is_attached = True
        self._counters[counter.key] = counter
        # After a detachment the old domains may be gone, with their last follower.
        domains = counter.domains = self.domains(counter.domains.rule)
        domains.catch_up()
        counter.cost_bytes = 8 * domains.n_domains + 1_024
        if not domains.followers:
            counter.cost_bytes += 16 * domains.n_slots
        domains.followers.append(counter)
        for matcher, weight in counter.matchers:
            matcher.counters.append((counter, weight))
            for log in matcher.classes.values():
                _follow(counter, log, weight)
        for term, weight in counter.terms:
            _follow(counter, term.log, weight)
        self._used_bytes += counter.cost_bytes
        while self._used_bytes > self._counter_bytes and len(self._counters) > _LEAST_COUNTERS:
            _, oldest = self._counters.popitem(last=False)
            self._detach(oldest)

    def _detach(self, counter: Counter) -> None:
        """Drop the counts of a counter; it follows the logs again at the next read."""
        counter.is_attached = False
        self._used_bytes -= counter.cost_bytes
        for matcher, weight in counter.matchers:
            matcher.counters.remove((counter, weight))
            for log in matcher.classes.values():
                _unfollow(counter, log)
        for term, _ in counter.terms:
            _unfollow(counter, term.log)
        followers = counter.domains.followers
        followers.remove(counter)
        if not followers:
            self._domains.pop(counter.domains.rule, None)
        counter.drop()


def _follow(follower: Follower, log: PlacementLog, weight: int) -> None:
    if follower.of_live:
        log.followers_of_live = (*log.followers_of_live, (follower, weight))
    else:
        log.followers = (*log.followers, (follower, weight))


def _unfollow(counter: Counter, log: PlacementLog) -> None:
    if counter.of_live:
        log.followers_of_live = tuple(
            [pair for pair in log.followers_of_live if pair[0] is not counter]
        )
    else:
        log.followers = tuple([pair for pair in log.followers if pair[0] is not counter])

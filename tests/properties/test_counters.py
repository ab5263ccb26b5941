"""Counters of pods over topology domains, under random histories, compared with a recount."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.properties.effort import effort

from podwright.apimachinery.objects import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    labels_as_selector,
)
from podwright.apimachinery.objects.decode import decode_pod
from podwright.apimachinery.objects.pods.toleration import untolerated_taint
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.affinity import selectors as selectors_module
from podwright.scheduler.columns.affinity.counters import WeightedTerms
from podwright.scheduler.columns.affinity.domains import DomainRule
from podwright.scheduler.columns.affinity.matching import PodSelector
from podwright.scheduler.columns.affinity.term_index import TermKind, affinity_terms
from podwright.scheduler.framework import Cycle, Verdicts
from podwright.scheduler.framework.plugin import Plugin
from podwright.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from podwright.scheduler.plugins.pod_topology_spread import PodTopologySpread

pytestmark = pytest.mark.property

ZONE, HOST = "zone", "kubernetes.io/hostname"
TAINT = {"key": "dedicated", "value": "a", "effect": "NoSchedule"}
WEB, DB = labels_as_selector({"app": "web"}), labels_as_selector({"app": "db"})
FRONT = labels_as_selector({"tier": "front"})
ANY = labels_as_selector({})
BOTH = (ZONE, HOST)
ON_SSD = NodeSelector((NodeSelectorTerm(match_expressions=(
    NodeSelectorRequirement("disk", "In", ("ssd",)),)),))  # fmt: skip

RULES = (
    DomainRule.of_key(ZONE),
    DomainRule.of_key(HOST),
    DomainRule(topology_key=ZONE, read_keys=(ZONE,), counted_keys=BOTH),
    DomainRule(topology_key=ZONE, read_keys=BOTH, counted_keys=BOTH, affinity=ON_SSD),
    DomainRule(topology_key=HOST, read_keys=(HOST,), counted_keys=(HOST,), tolerations=()),
    DomainRule(topology_key=ZONE, read_keys=(ZONE,), node_selector=(("disk", "ssd"),)),
    DomainRule(topology_key=ZONE, read_keys=(ZONE,), absent_is_empty=True),
    DomainRule(topology_key="", read_keys=(HOST,)),
)
COUNTED = (
    (((PodSelector(WEB, frozenset({"a"})),), 1),),
    (((PodSelector(WEB),), 3), ((PodSelector(FRONT, frozenset({"a", "b"})),), -2)),
    (((PodSelector(WEB), PodSelector(FRONT, frozenset({"a"}))), 1),),
    (((PodSelector(ANY, frozenset({"b"})),), 1),),
)

labels = st.fixed_dictionaries(
    {}, optional={"app": st.sampled_from(["web", "db"]), "tier": st.just("front")}
)


def term(key: str, app: str, **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
AFFINITIES: tuple[dict[str, Any], ...] = (
    {},
    {"podAntiAffinity": {REQUIRED: [term(HOST, "web"), term(ZONE, "db")]}},
    {"podAffinity": {REQUIRED: [term(ZONE, "web", namespaceSelector={})]}},
    {"podAffinity": {PREFERRED: [{"weight": 7, "podAffinityTerm": term(ZONE, "web")}]}},
    {"podAntiAffinity": {REQUIRED: [term(HOST, "web", namespaces=["a", "b"])]}},
)


STANDING = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n0", "labels": {ZONE: "x", HOST: "n0", "disk": "ssd"}},
}


@st.composite
def node_documents(draw: st.DrawFn, name: str) -> dict[str, Any]:
    node_labels = draw(
        st.fixed_dictionaries(
            {},
            optional={
                ZONE: st.sampled_from(["x", "y", ""]),
                HOST: st.just(name),
                "disk": st.sampled_from(["ssd", "hdd"]),
            },
        )
    )
    taints = [TAINT] if draw(st.booleans()) else []
    metadata = {"name": name, "labels": node_labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {"taints": taints}}


@st.composite
def pod_documents(draw: st.DrawFn, name: str, node: str) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": draw(st.sampled_from(["a", "b"])),
        "labels": draw(labels),
        "uid": name,
    }
    if draw(st.integers(0, 2)) == 0:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec: dict[str, Any] = {"nodeName": node, "affinity": draw(st.sampled_from(AFFINITIES))}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def recounted(cluster: Cluster, slot: int, rule_: DomainRule) -> tuple[str | int | None, bool]:
    """Return the domain of a node, and whether its pods count, by the definition."""
    node = cluster.nodes.objects[slot]
    assert node is not None
    have = node.metadata.labels
    counts = all(key in have for key in rule_.counted_keys)
    counts &= all(have.get(key) == value for key, value in rule_.node_selector)
    if rule_.affinity is not None:
        counts &= have.get("disk") == "ssd"
    if rule_.tolerations is not None:
        counts &= untolerated_taint(node.spec.taints, rule_.tolerations) is None
    if not rule_.topology_key:
        return slot, counts
    value = have.get(rule_.topology_key, "" if rule_.absent_is_empty else None)
    return value, counts and value is not None


class Histories(RuleBasedStateMachine):
    """Nodes and pods are added, changed and removed; counters are correct at any time."""

    @initialize(
        is_cramped=st.booleans(),
        initial=st.lists(
            st.tuples(st.sampled_from(RULES), st.sampled_from(COUNTED), st.booleans()),
            min_size=1,
            max_size=4,
        ),
    )
    def start(self, is_cramped: bool, initial: list[tuple[DomainRule, Any, bool]]) -> None:
        self.cluster = Cluster()
        self.counters: list[Any] = []
        self.terms_seen: tuple[int, frozenset[int]] | None = None
        if is_cramped:
            self.cluster.selectors._counter_bytes = 1
        self.cluster.put(decode(STANDING))
        for domains, counted, of_live in initial:
            self.ask(domains, counted, of_live)

    @rule(data=st.data(), number=st.integers(0, 4))
    def put_node(self, data: st.DataObject, number: int) -> None:
        self.cluster.put(decode(data.draw(node_documents(f"n{number}"))))

    @rule(number=st.integers(1, 4))
    def delete_node(self, number: int) -> None:
        slot = self.cluster.nodes.slot_of.get(f"n{number}")
        if slot is not None:
            node = self.cluster.nodes.objects[slot]
            assert node is not None
            self.cluster.delete(node)

    @rule(
        data=st.data(),
        places=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), min_size=2, max_size=6),
        is_watched=st.booleans(),
    )
    def put_pods(
        self, data: st.DataObject, places: list[tuple[int, int]], is_watched: bool
    ) -> None:
        if is_watched:
            self.look()
        for number, node in places:
            self.cluster.put(decode_pod(data.draw(pod_documents(f"p{number}", f"n{node}"))))
        if is_watched:
            self.look()

    @rule(number=st.integers(0, 12), namespace=st.sampled_from(["a", "b"]))
    def delete_pod(self, number: int, namespace: str) -> None:
        self.cluster.remove(f"{namespace}/p{number}")

    @rule(domains=st.sampled_from(RULES), counted=st.sampled_from(COUNTED), of_live=st.booleans())
    def ask(self, domains: DomainRule, counted: Any, of_live: bool) -> None:
        counter = self.cluster.selectors.counter(domains, counted, of_live=of_live)
        if counter not in self.counters:
            self.counters.append(counter)

    @rule(domains=st.sampled_from(RULES), weight=st.integers(1, 3))
    def ask_for_terms(self, domains: DomainRule, weight: int) -> None:
        n_terms = min(3, len(self.cluster.selectors._terms.terms))
        terms = WeightedTerms(np.arange(n_terms, dtype=np.int32), np.full(n_terms, weight))
        self.counters.append(self.cluster.selectors.counter(domains, (), terms))

    @rule()
    def renumber(self) -> None:
        self.cluster._renumber()
        # What was given out before may not be used any more; readers ask again.
        self.counters.clear()

    @rule()
    def look(self) -> None:
        """Compare; not after each step, so that counters have several changes to process."""
        for counter in self.counters:
            self.compare(counter)

    def compare(self, counter: Any) -> None:
        cluster, domain_rule = self.cluster, counter.domains.rule
        counts = counter.current()
        expected: dict[Any, int] = {}
        counted_domains = set()
        for slot in cluster.live_slots().tolist():
            domain, is_counted = recounted(cluster, slot, domain_rule)
            if not is_counted:
                continue
            counted_domains.add(domain)
            for placed in cluster.pods_on[slot].values():
                expected[domain] = expected.get(domain, 0) + self.worth(counter, placed.pod)
        domains = counter.domains
        assert domains.n_counted == len(counted_domains)
        found = sorted(counts[: domains.n_counted].tolist())
        assert found == sorted(expected.get(domain, 0) for domain in counted_domains)
        for slot in cluster.live_slots().tolist():
            have = cluster.nodes.labels_of(slot)
            domain, _ = recounted(cluster, slot, domain_rule)
            reads = all(key in have for key in domain_rule.read_keys)
            assert (domains.reading[slot] >= 0) == reads
            if reads:
                assert counts[domains.reading[slot]] == expected.get(domain, 0)
        if domain_rule.absent_is_empty and domains.empty_domain >= 0:
            assert counts[domains.empty_domain] == expected.get("", 0)

    def worth(self, counter: Any, pod: Pod) -> int:
        if counter.of_live and pod.is_terminating:
            return 0
        namespace, have = pod.metadata.namespace, pod.metadata.labels
        worth: int = sum(
            weight
            for matcher, weight in counter.matchers
            if all(part.matches(namespace, have) for part in matcher.parts)
        )
        own = affinity_terms(pod).all
        for term_id, weight in zip(*counter.terms, strict=True):
            worth += int(weight) * own.count(self.cluster.selectors.term(int(term_id)))
        return worth

    @invariant()
    def terms_with_carriers_are_known(self) -> None:
        if not hasattr(self, "cluster"):
            return
        cluster = self.cluster
        there = set()
        for slot in cluster.live_slots().tolist():
            for placed in cluster.pods_on[slot].values():
                for term_ in affinity_terms(placed.pod).all:
                    if term_.topology_key in cluster.nodes.labels_of(slot):
                        there.add(term_)
        for app in ("web", "db"):
            meant = [t for t in there if t.matches("a", {"app": app}, {})]
            factors = dict.fromkeys(TermKind, 1)
            by_key = cluster.selectors.terms_matching(factors, "a", {"app": app}, {})
            found = [
                (key, cluster.selectors.term(term_id), weight)
                for key, (ids, weights) in by_key.items()
                for term_id, weight in zip(ids.tolist(), weights.tolist(), strict=True)
            ]
            assert len(found) == len(meant)
            assert {(t.topology_key, t, t.weight or 1) for t in meant} == set(found)
        now = frozenset(cluster.selectors._terms.terms.find(t) for t in there)
        version = cluster.selectors.terms_version
        if self.terms_seen is not None and self.terms_seen[1] != now:
            assert version > self.terms_seen[0]
        self.terms_seen = (version, now)


@pytest.fixture(autouse=True)
def _few_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors_module, "_LEAST_COUNTERS", 2)


Histories.TestCase.settings = effort(100, stateful_step_count=40)
TestHistories = Histories.TestCase


def spread(key: str, skew: int, **more: Any) -> dict[str, Any]:
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }


PENDING: tuple[tuple[type[Plugin], dict[str, Any]], ...] = (
    (PodTopologySpread, {"topologySpreadConstraints": [spread(ZONE, 1)]}),
    (
        PodTopologySpread,
        {"topologySpreadConstraints": [spread(ZONE, 2, minDomains=2), spread(HOST, 1)]},
    ),
    (
        PodTopologySpread,
        {"topologySpreadConstraints": [spread(HOST, 1, nodeTaintsPolicy="Honor")]},
    ),
    *((InterPodAffinity, {"affinity": affinity}) for affinity in AFFINITIES),
)


@effort(150)
@given(data=st.data(), which=st.sampled_from(PENDING), pending_labels=labels)
def test_a_dry_run_has_the_counts_of_the_changed_cluster(
    data: st.DataObject, which: Any, pending_labels: dict[str, str]
) -> None:
    plugin_class, spec = which
    plugin = plugin_class()
    nodes = [data.draw(node_documents(f"n{i}")) for i in range(4)]
    count = data.draw(st.integers(0, 8))
    places = [data.draw(st.integers(0, 3)) for _ in range(count)]
    pods = [data.draw(pod_documents(f"p{i}", f"n{at}")) for i, at in enumerate(places)]
    added = [data.draw(pod_documents(f"q{i}", "n0")) for i in range(data.draw(st.integers(0, 2)))]
    for document in [*pods, *added]:
        # Upstream's dry runs count terminating pods, its counts do not.
        document["metadata"].pop("deletionTimestamp", None)
    gone = {i for i, at in enumerate(places) if at == 0 and data.draw(st.booleans())}
    pending = decode_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "a", "labels": pending_labels, "uid": "p"},
            "spec": spec,
        }
    )
    before, after = Cluster(), Cluster()
    for document in nodes:
        before.put(decode(document))
        after.put(decode(document))
    for i, document in enumerate(pods):
        before.put(decode_pod(document))
        if i not in gone:
            after.put(decode_pod(document))
    for document in added:
        after.put(decode_pod(document))
    cycle = Cycle(pending, before)
    if not plugin.pre_filter(cycle).is_success:
        return
    simulated = cycle.clone()
    for i in sorted(gone):
        plugin.remove_pod(simulated, before.pods[decode_pod(pods[i]).key])
    with before.dry_run(0) as dry_run:
        for document in added:
            plugin.add_pod(simulated, dry_run.add(decode_pod(document)))
    real = Cycle(pending, after)
    expected = code_at(plugin, real, 0) if plugin.pre_filter(real).is_success else 0
    assert code_at(plugin, simulated, 0) == expected
    # The dry run leaves the cycle unchanged.
    fresh = Cycle(pending, before)
    plugin.pre_filter(fresh)
    assert [code_at(plugin, cycle, s) for s in range(4)] == [
        code_at(plugin, fresh, s) for s in range(4)
    ]


def code_at(plugin: Plugin, cycle: Cycle, slot: int) -> int:
    nodes = cycle.cluster.nodes
    codes = np.zeros(nodes.n_slots, dtype=np.int64)
    plugin.filter_columns(cycle, nodes, Verdicts(codes, np.array([slot], dtype=np.int32)))
    return int(codes[slot])


def test_logs_do_not_grow_with_pods_that_left() -> None:
    cluster = Cluster()
    cluster.put(decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}))
    pod = decode_pod(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n"}}
    )
    for i in range(2_000):
        named = msgspec.structs.replace(pod.metadata, name=f"p{i % 3}")
        cluster.put(msgspec.structs.replace(pod, metadata=named))
        cluster.remove(f"default/p{(i + 1) % 3}")
    assert len(cluster.selectors._placed.entries) <= 1_024

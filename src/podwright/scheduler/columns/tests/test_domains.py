"""Topology domains by each kind of rule, node by node, however the nodes come."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from podwright.apimachinery.objects import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Toleration,
)
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.affinity.domains import DomainRule, Domains, LabelKeys
from podwright.testing import make_node

ZONE, RACK, DISK = "zone", "rack", "disk"
IS_FAST = NodeSelectorRequirement(DISK, "In", ("fast",))
FAST = NodeSelector((NodeSelectorTerm(match_expressions=(IS_FAST,)),))


class Case:
    """A rule, and the same rule for the labels and taints of one node."""

    def __init__(
        self,
        *,
        counts: Callable[[dict[str, str], bool], bool] = lambda _labels, _tainted: True,
        is_read: Callable[[dict[str, str]], bool] = lambda _labels: True,
        **rule: Any,
    ) -> None:
        self.rule = DomainRule(**rule)
        self.counts = counts
        self.is_read = is_read

    def domain(self, name: str, labels: dict[str, str]) -> str | None:
        """Return what makes the domain of a node; None if it has none."""
        if not self.rule.topology_key:
            return name
        return labels.get(self.rule.topology_key, "" if self.rule.absent_is_empty else None)


CASES = {
    "the label": Case(topology_key=ZONE),
    "every node": Case(topology_key=""),
    "a label that all constraints need": Case(
        topology_key=ZONE,
        read_keys=(ZONE, RACK),
        counted_keys=(ZONE, RACK),
        counts=lambda labels, _: ZONE in labels and RACK in labels,
        is_read=lambda labels: ZONE in labels and RACK in labels,
    ),
    "a label that only counting needs": Case(
        topology_key=ZONE,
        read_keys=(ZONE,),
        counted_keys=(RACK,),
        counts=lambda labels, _: RACK in labels,
        is_read=lambda labels: ZONE in labels,
    ),
    "a node selector": Case(
        topology_key=ZONE,
        node_selector=((DISK, "fast"),),
        counts=lambda labels, _: labels.get(DISK) == "fast",
    ),
    "node affinity": Case(
        topology_key=ZONE, affinity=FAST, counts=lambda labels, _: labels.get(DISK) == "fast"
    ),
    "no tolerations": Case(
        topology_key=ZONE, tolerations=(), counts=lambda _, is_tainted: not is_tainted
    ),
    "a toleration": Case(topology_key=ZONE, tolerations=(Toleration(operator="Exists"),)),
    "every node, of which those with a label are read": Case(
        topology_key="", read_keys=(RACK,), is_read=lambda labels: RACK in labels
    ),
    "the empty value for nodes without the label": Case(topology_key=ZONE, absent_is_empty=True),
    "the same, where some do not count": Case(
        topology_key=ZONE,
        absent_is_empty=True,
        counted_keys=(RACK,),
        counts=lambda labels, _: RACK in labels,
    ),
    "the same, also of nodes that are neither counted nor read": Case(
        topology_key=ZONE,
        read_keys=(ZONE,),
        tolerations=(),
        absent_is_empty=True,
        counts=lambda _, is_tainted: not is_tainted,
        is_read=lambda labels: ZONE in labels,
    ),
}
PLACES: tuple[tuple[dict[str, str], bool], ...] = (
    ({ZONE: "a"}, False),
    ({ZONE: "b", DISK: "fast"}, False),
    ({ZONE: "a", RACK: "1", DISK: "fast"}, True),
    ({}, False),
    ({RACK: "1", DISK: "slow"}, False),
    ({ZONE: "c", RACK: "2"}, True),
    ({ZONE: "b", RACK: "1", DISK: "fast"}, False),
    ({ZONE: "", RACK: "2"}, False),
    ({ZONE: "d", DISK: "fast"}, True),
    ({RACK: "2", DISK: "fast"}, False),
)


def node(number: int, place: tuple[dict[str, str], bool]) -> Node:
    labels, is_tainted = place
    taints = ["k=v:NoSchedule"] if is_tainted else []
    return make_node(f"n{number}", labels=labels, taints=taints)


def check(domains: Domains, case: Case, cluster: Cluster) -> None:
    """Compare the domains with what the rule says of each node."""
    domains.catch_up()
    nodes = cluster.nodes
    assert domains.is_current
    assert domains.n_slots == nodes.n_slots == len(domains.counting) == len(domains.reading)
    counted: dict[str, int] = {}
    read: dict[str, int] = {}
    for slot, each in enumerate(nodes.objects):
        counting, reading = int(domains.counting[slot]), int(domains.reading[slot])
        assert domains.cells[slot] == counting
        if each is None:
            assert (counting, reading) == (-1, -1)
            continue
        labels = dict(each.metadata.labels)
        domain = case.domain(each.metadata.name, labels)
        is_counted = domain is not None and case.counts(labels, bool(each.spec.taints))
        is_read = domain is not None and case.is_read(labels)
        assert (counting >= 0, reading >= 0) == (is_counted, is_read), each.metadata.name
        assert min(counting, reading) >= -1, "-1 is not a domain"
        if is_counted:
            assert counted.setdefault(str(domain), counting) == counting
        if is_read:
            assert read.setdefault(str(domain), reading) == reading
    both = counted | read
    assert {**both, **counted} == both, "a domain has one number"
    assert len(set(both.values())) == len(both), "and no two have the same"
    # The counted ones come first, whoever reads them.
    assert sorted(counted.values()) == list(range(len(counted)))
    assert domains.n_counted == len(counted)
    assert set(both.values()) <= set(range(domains.n_domains))
    if case.rule.absent_is_empty:
        # A feasible node without the label makes this domain, as it does upstream.
        alive = [each for each in nodes.objects if each is not None]
        has_empty = any(not each.metadata.labels.get(ZONE) for each in alive)
        assert (domains.empty_domain >= 0) == has_empty
        assert domains.empty_domain == both.get("", domains.empty_domain)
    else:
        assert domains.empty_domain == -1


def domains_of(case: Case, cluster: Cluster) -> Domains:
    return Domains(case.rule, cluster.nodes)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("together", [1, 3, 5, 10])
@pytest.mark.parametrize("alike", [1, 2])
def test_domains_follow_new_nodes(case: Case, together: int, alike: int) -> None:
    """So many nodes come before the domains are read, and so many with the same labels."""
    cluster = Cluster()
    domains = domains_of(case, cluster)
    for start in range(0, 3 * len(PLACES), together):
        for number in range(start, start + together):
            cluster.put(node(number, PLACES[number // alike % len(PLACES)]))
        check(domains, case, cluster)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_domains_follow_changed_and_deleted_nodes(case: Case) -> None:
    cluster = Cluster()
    for number, place in enumerate(PLACES):
        cluster.put(node(number, place))
    domains = domains_of(case, cluster)
    check(domains, case, cluster)
    for number in range(len(PLACES)):
        for place in PLACES[number + 1 :: 3]:
            cluster.put(node(number, place))
            check(domains, case, cluster)
    for number in (0, 3, 7, 9):
        cluster.delete(node(number, PLACES[number]))
        cluster.put(node(number + 20, PLACES[number]))
        check(domains, case, cluster)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("is_tainted", [False, True])
def test_domains_get_values_that_no_node_had(case: Case, is_tainted: bool) -> None:
    cluster = Cluster()
    # The first value is one of another label, the last one has two nodes.
    cluster.put(make_node("first", labels={DISK: "value"}))
    named = [place for place in PLACES if place[0].get(ZONE)]
    for number, place in enumerate([*named, named[-1]]):
        cluster.put(node(number, place))
    domains = domains_of(case, cluster)
    check(domains, case, cluster)
    cluster.put(node(len(named), ({ZONE: "unseen", RACK: "1", DISK: "fast"}, is_tainted)))
    check(domains, case, cluster)
    cluster.put(make_node("first", labels={ZONE: "value", RACK: "1"}))
    check(domains, case, cluster)
    for number, labels in enumerate(({}, {RACK: "1"}, {ZONE: "new"}, {ZONE: "newer", RACK: "1"})):
        cluster.put(node(number, (labels, is_tainted)))
        check(domains, case, cluster)
        cluster.put(node(number, (labels | {ZONE: f"new{number}"}, is_tainted)))
        check(domains, case, cluster)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_domains_keep_their_numbers_while_no_node_moves(case: Case) -> None:
    cluster = Cluster()
    for number, place in enumerate(PLACES):
        cluster.put(node(number, place))
    domains = domains_of(case, cluster)
    domains.catch_up()
    before = domains.numbering
    for number, (labels, is_tainted) in enumerate(PLACES):
        cluster.put(node(number, (labels | {"color": "red"}, is_tainted)))
        check(domains, case, cluster)
    assert domains.numbering == before
    cluster.delete(node(1, PLACES[1]))
    check(domains, case, cluster)
    assert domains.numbering == before + 1


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("seed", range(3))
def test_domains_follow_any_changes(case: Case, seed: int) -> None:
    random, cluster = Random(seed), Cluster()
    domains = domains_of(case, cluster)
    for _ in range(40):
        for _ in range(random.choice((1, 1, 2, 7))):
            number = random.randrange(12)
            if random.random() < 0.3:
                cluster.delete(node(number, PLACES[0]))
            else:
                cluster.put(node(number, random.choice(PLACES)))
        check(domains, case, cluster)


@pytest.mark.parametrize(
    ("labels", "renumbered"),
    [
        pytest.param([{ZONE: "a", RACK: "1"}], 0, id="counted in a counted domain"),
        pytest.param([{ZONE: "a"}], 0, id="not counted in a counted domain"),
        pytest.param([{ZONE: "b"}, {ZONE: "b"}], 0, id="not counted in an uncounted domain"),
        pytest.param(
            [{ZONE: "b"}, {ZONE: "a", RACK: "1"}], 0, id="counted in the first domain, with another"
        ),
        pytest.param([{ZONE: "b"}, {}, {RACK: "1"}], 0, id="without the label"),
        pytest.param([{ZONE: "b", RACK: "1"}, {ZONE: "c", RACK: "1"}], 0, id="new domains"),
        pytest.param(
            [{ZONE: "b"}, {ZONE: "b", RACK: "1"}], 1, id="first not counted, then counted"
        ),
        pytest.param(
            [{ZONE: "b"}, {ZONE: "c", RACK: "1"}], 1, id="a counted domain after an uncounted one"
        ),
    ],
)
@pytest.mark.parametrize("together", [False, True])
def test_new_nodes_leave_the_numbers_of_domains_while_counted_ones_are_first(
    labels: list[dict[str, str]], renumbered: int, *, together: bool
) -> None:
    case, cluster = CASES["a label that only counting needs"], Cluster()
    cluster.put(make_node("first", labels={ZONE: "a", RACK: "1"}))
    domains = domains_of(case, cluster)
    before = domains.numbering
    for number, each in enumerate(labels):
        cluster.put(make_node(f"n{number}", labels=each))
        if not together:
            check(domains, case, cluster)
    check(domains, case, cluster)
    assert domains.numbering == before + renumbered


@pytest.mark.parametrize(("count", "renumbered"), [(256, 0), (257, 1)])
def test_many_new_nodes_are_numbered_with_all_others(count: int, renumbered: int) -> None:
    case, cluster = CASES["the label"], Cluster()
    domains = domains_of(case, cluster)
    cluster.put(node(0, PLACES[0]))
    check(domains, case, cluster)
    before = domains.numbering
    for number in range(1, count + 1):
        cluster.put(make_node(f"n{number}", labels={ZONE: f"z{number % 40}"}))
    check(domains, case, cluster)
    assert (domains.n_domains, domains.numbering) == (41, before + renumbered)


@pytest.mark.parametrize(
    ("nodes", "renumbered"),
    [
        pytest.param(100, 0, id="a quarter of the nodes and sixteen are compared with their rows"),
        pytest.param(99, 1, id="with more, all nodes are numbered again, whatever changed"),
    ],
)
def test_changed_nodes_are_compared_while_they_are_few(nodes: int, renumbered: int) -> None:
    case, cluster = CASES["the label"], Cluster()
    for number in range(nodes):
        cluster.put(make_node(f"n{number}", labels={ZONE: "a"}))
    domains = domains_of(case, cluster)
    domains.catch_up()
    before = domains.numbering
    for number in range(41):
        cluster.put(make_node(f"n{number}", labels={ZONE: "a", "color": "red"}))
    check(domains, case, cluster)
    assert domains.numbering == before + renumbered


def test_keys_of_labels_are_equal_if_they_are_the_same_in_order() -> None:
    keys = LabelKeys((ZONE, RACK))
    assert keys == LabelKeys((ZONE, RACK)) == (ZONE, RACK)
    assert len({keys, LabelKeys((ZONE, RACK)), (ZONE, RACK)}) == 1
    for other in ((), (ZONE,), (RACK, ZONE), (ZONE, RACK, DISK)):
        assert keys != LabelKeys(other)
        assert not keys == other  # noqa: SIM201


def test_domains_are_numbered_from_the_beginning() -> None:
    case, cluster = CASES["the label"], Cluster()
    empty = domains_of(case, cluster)
    assert (empty.numbering, empty.n_slots, empty.n_counted, empty.n_domains) == (1, 0, 0, 0)
    assert (empty.n_counters, empty.empty_domain, empty.is_current) == (0, -1, True)
    for number, place in enumerate(PLACES):
        cluster.put(node(number, place))
    assert not empty.is_current
    domains = domains_of(case, cluster)
    assert (domains.numbering, domains.n_slots, domains.is_current) == (1, len(PLACES), True)
    check(domains, case, cluster)
    check(empty, case, cluster)
    assert (domains.numbering, empty.numbering) == (1, 1), "new nodes follow"

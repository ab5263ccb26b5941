import msgspec
import numpy as np
import pytest

from podwright.apimachinery.objects import LabelSelector, decode_pod, label_selector
from podwright.apimachinery.objects.decode import decode_node
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.affinity.counters import (
    NO_WEIGHTED_TERMS,
    PlacementLog,
    WeightedTerms,
)
from podwright.scheduler.columns.affinity.domains import DomainRule
from podwright.scheduler.columns.affinity.matching import PodSelector
from podwright.scheduler.columns.affinity.selectors import SelectorCounters
from podwright.scheduler.columns.affinity.term_index import TermKind
from podwright.scheduler.columns.pod_keys import PodKeysCache
from podwright.scheduler.kernels import placements

ZONE = "zone"
LEAST = 1_024
"""A log of up to so many new entries is left as it is."""
STAYING, GOING = 0, 1
"""The groups of `filled`."""


def counts(log, group=STAYING, *, of_live=False, weight=1, domains=(0, 1, 2, 3)):
    found = np.zeros(4, dtype=np.int64)
    groups = np.array([group], dtype=np.int32)
    log.count_into(found, np.array(domains, dtype=np.int32), groups, weight, of_live=of_live)
    return found.tolist()


def note(log, slot, sign, group=STAYING, *, is_terminating=False, times=1):
    for _ in range(times):
        log.record(group, slot, sign, is_terminating=is_terminating)


def log_of(n_groups=1):
    log = PlacementLog()
    for _ in range(n_groups):
        log.add_group()
    return log


def filled(*, n_entries):
    """Return a log: a pod on slots 0, 1 (terminating) and 2 (two); those of a group came and went.

    The last entry is one of the pods that stay.
    """
    log = log_of(2)
    note(log, 0, 1)
    note(log, 1, 1, is_terminating=True)
    note(log, 2, 1)
    while log.version - log.base < n_entries - 2:
        note(log, 3, 1, GOING)
        note(log, 3, -1, GOING)
    note(log, 2, 1)
    return log


# -------------------------------------------------------------------- compaction


@pytest.mark.parametrize("more", [*range(8)])
def test_counts_are_the_same_before_and_after_compaction(more):
    log = filled(n_entries=LEAST - 4)
    for _ in range(more):
        assert counts(log) == [1, 1, 2, 0]
        assert counts(log, of_live=True) == [1, 0, 2, 0]
        note(log, 3, 1)
        assert counts(log) == [1, 1, 2, 1]
        note(log, 3, -1)
    assert counts(log) == [1, 1, 2, 0]
    assert counts(log, of_live=True) == [1, 0, 2, 0]
    assert counts(log, GOING) == [0, 0, 0, 0]
    assert log.slots_of(STAYING).tolist() == [0, 1, 2]
    assert log.slots_of(GOING).tolist() == []
    assert log.with_pods(np.array([1, 0], dtype=np.int32)).tolist() == [0]


def test_compaction_keeps_one_entry_for_each_pod_that_is_there():
    log = filled(n_entries=LEAST)
    assert len(log.entries) == LEAST
    version = log.version
    note(log, 0, 1, GOING)
    assert len(log.entries) == 1
    assert log.base == version
    # Slot and whether the pod is terminating, twice on slot 2 as there are two pods.
    assert log._entries.tolist() == [0, 1 << 1 | 1, 2 << 1, 2 << 1]
    assert counts(log) == [1, 1, 2, 0]
    assert counts(log, GOING) == [1, 0, 0, 0]


def test_a_group_that_is_added_after_a_compaction_has_no_pods():
    log = filled(n_entries=LEAST)
    note(log, 0, 1)
    log.add_group()
    assert counts(log, 2) == [0, 0, 0, 0]
    assert log.slots_of(2).tolist() == []
    note(log, 3, 1, 2)
    assert counts(log, 2) == [0, 0, 0, 1]
    assert log.slots_of(2).tolist() == [3]
    assert counts(log) == [2, 1, 2, 0]


def test_a_log_without_pods_becomes_empty_and_can_be_reused():
    log = log_of()
    while len(log.entries) < LEAST:
        note(log, 0, 1)
        note(log, 0, -1)
    note(log, 1, 1)
    assert counts(log) == [0, 1, 0, 0]
    assert len(log.entries) == 1
    note(log, 1, -1)
    assert counts(log) == [0, 0, 0, 0]
    note(log, 0, 1)
    assert counts(log) == [1, 0, 0, 0]


def test_a_log_is_compacted_when_it_has_grown_by_a_quarter():
    log = log_of()
    note(log, 1, 1, times=LEAST)
    lengths = []
    for _ in range(4_000):
        note(log, 2, 1)
        note(log, 2, -1)
        lengths.append(len(log.entries))
    assert counts(log) == [0, LEAST, 0, 0]
    assert max(lengths) == LEAST + LEAST // 4


# -------------------------------------------------------------------- counting


@pytest.mark.parametrize("is_compacted", [False, True])
def test_pods_add_their_weight_to_existing_counts(is_compacted):
    log = filled(n_entries=LEAST if is_compacted else 6)
    note(log, 3, 1, GOING)
    found = np.array([10, 20, 30, 40], dtype=np.int64)
    domains = np.array([3, 3, -1, 0], dtype=np.int32)
    both = np.array([GOING, STAYING], dtype=np.int32)
    log.count_into(found, domains, both[1:], 5, of_live=False)
    assert found.tolist() == [10, 20, 30, 50], "slots 0 and 1 are in domain 3, slot 2 in none"
    log.count_into(found, domains, both, np.array([100, -1]), of_live=True)
    assert found.tolist() == [110, 20, 30, 49], "the terminating one on slot 1 is left out"


def test_removing_a_terminating_pod_removes_no_live_one():
    log = log_of()
    note(log, 0, 1, times=2)
    note(log, 0, -1)
    note(log, 0, 1, is_terminating=True)
    assert (counts(log), counts(log, of_live=True)) == ([2, 0, 0, 0], [1, 0, 0, 0])
    note(log, 0, -1, is_terminating=True)
    assert (counts(log), counts(log, of_live=True)) == ([1, 0, 0, 0], [1, 0, 0, 0])


# -------------------------------------------------------------------- counters on a cluster


def node(name, zone=None, **labels):
    labels = labels if zone is None else {ZONE: zone, **labels}
    return decode_node(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    )


def pod(name, on, *, terminating=False, app="a", away_from=None, key=ZONE):
    metadata = {"name": name, "namespace": "default", "uid": name, "labels": {"app": app}}
    if terminating:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec = {"nodeName": on, "containers": []}
    if away_from is not None:
        term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": away_from}}}
        terms = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAntiAffinity": terms}
    return decode_pod({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def selecting(app="a"):
    selector = label_selector(LabelSelector(match_labels={"app": app}))
    return PodSelector(selector, frozenset({"default"}))


def counter_of(cluster, *, of_live=False, weight=1, rule=None):
    return cluster.selectors.counter(
        rule or DomainRule.of_key(ZONE), (((selecting(),), weight),), of_live=of_live
    )


def by_zone(cluster, counter):
    """Return the counts by the name of the zone."""
    current = counter.current()
    nodes, domains = cluster.nodes, counter.domains
    zones = {}
    for name, slot in nodes.slot_of.items():
        zone = nodes.labels_of(slot).get(ZONE)
        if zone is not None:
            assert domains.reading[slot] >= 0, name
            zones[zone] = int(current[domains.reading[slot]])
    return zones


def test_a_counter_that_follows_and_one_made_after_compaction_agree():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(node("n2", "y"))
    cluster.put(node("bare"))
    following = counter_of(cluster)
    live = counter_of(cluster, of_live=True)
    for i in range(LEAST):
        cluster.put(pod(f"stays{i}", ("n1", "n2", "bare")[i % 3]))
        cluster.put(pod("comes-and-goes", "n1"))
        cluster.put(pod("comes-and-goes", "n1", terminating=True))
        if i % 2:
            cluster.delete(pod("comes-and-goes", "n1"))
        cluster.put(pod("other", "n2", app="b"))
        anew = counter_of(cluster, weight=2)
        anew.recount()
        expected = {"x": i // 3 + 2 - i % 2, "y": (i + 2) // 3}
        assert by_zone(cluster, following) == expected
        assert by_zone(cluster, anew) == {zone: 2 * n for zone, n in expected.items()}
        assert by_zone(cluster, live) == {"x": i // 3 + 1, "y": (i + 2) // 3}


@pytest.mark.parametrize("of_live", [False, True])
@pytest.mark.parametrize("weight", [1, 3, -2])
def test_a_counter_is_updated_by_its_weight_and_not_rebuilt_for_each_pod(of_live, weight):
    cluster = Cluster()
    cluster.put(node("n0", "w"))
    cluster.put(node("n1", "x"))
    counter = counter_of(cluster, of_live=of_live, weight=weight)
    before = counter.current()
    cluster.put(pod("a", "n1"))
    cluster.put(pod("b", "n1"))
    assert by_zone(cluster, counter) == {"w": 0, "x": 2 * weight}
    cluster.put(pod("b", "n1", terminating=True))
    assert by_zone(cluster, counter) == {"w": 0, "x": (1 if of_live else 2) * weight}
    cluster.delete(pod("b", "n1"))
    cluster.delete(pod("a", "n1"))
    assert by_zone(cluster, counter) == {"w": 0, "x": 0}
    assert counter.current() is before


def test_counters_of_the_same_pods_share_what_finds_them():
    cluster = Cluster()
    ((matcher, _),) = counter_of(cluster).matchers
    for other in (counter_of(cluster, weight=2), counter_of(cluster, of_live=True)):
        assert [each for each, _ in other.matchers] == [matcher]


def test_pods_on_nodes_without_the_label_are_in_no_domain_that_comes_later():
    cluster = Cluster()
    cluster.put(node("bare"))
    cluster.put(node("n0", "z0"))
    counter = counter_of(cluster)
    counter.current()
    cluster.put(pod("a", "bare"))
    cluster.put(pod("b", "n0"))
    for number in range(1, 40):
        expected = {"z0": 1} | {f"z{i}": 0 for i in range(1, number)}
        assert by_zone(cluster, counter) == expected
        cluster.put(node(f"n{number}", f"z{number}"))


def test_pods_are_counted_where_nodes_count_and_read_where_they_have_the_label():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(node("n2", "x", rank="gold"))
    cluster.put(pod("a", "n1"))
    rule = DomainRule(topology_key=ZONE, read_keys=(ZONE,), counted_keys=(ZONE, "rank"))
    counter = counter_of(cluster, rule=rule)
    assert by_zone(cluster, counter) == {"x": 0}
    cluster.put(pod("b", "n1"))
    cluster.put(pod("c", "n2"))
    assert by_zone(cluster, counter) == {"x": 1}


@pytest.mark.parametrize("weight", [1, -7])
@pytest.mark.parametrize("of_live", [False, True])
def test_pods_with_a_term_are_counted_before_and_after_the_first_read(weight, of_live):
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(node("n2", "y"))
    cluster.put(pod("shy", "n1", app="b", away_from="a"))
    cluster.put(pod("going", "n1", app="b", away_from="a", terminating=True))
    factors = dict.fromkeys(TermKind, weight)
    found = cluster.selectors.terms_matching(factors, "default", {"app": "a"}, {})
    counter = cluster.selectors.counter(DomainRule.of_key(ZONE), (), found[ZONE], of_live=of_live)
    on_n1 = 1 if of_live else 2
    assert by_zone(cluster, counter) == {"x": on_n1 * weight, "y": 0}
    cluster.put(pod("shy too", "n2", app="b", away_from="a"))
    cluster.put(pod("going too", "n2", app="b", away_from="a", terminating=True))
    assert by_zone(cluster, counter) == {"x": on_n1 * weight, "y": on_n1 * weight}


def test_terminating_pods_are_counted_unless_they_are_left_out():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(pod("a", "n1"))
    cluster.put(pod("b", "n1", terminating=True))
    rule, counted = DomainRule.of_key(ZONE), (((selecting(),), 1),)
    counters = cluster.selectors.counter(rule, counted), counter_of(cluster, of_live=True)
    assert [by_zone(cluster, each) for each in counters] == [{"x": 2}, {"x": 1}]
    assert counter_of(cluster, of_live=False) is counters[0]


@pytest.mark.parametrize("of_live", [False, True])
def test_a_dropped_counter_is_rebuilt_when_it_is_used_again(of_live):
    cluster = Cluster()
    cluster.selectors = SelectorCounters(cluster.nodes, cluster.selected_labels, counter_bytes=1)
    cluster._keys = PodKeysCache(cluster.nodes, cluster.selectors)
    cluster.put(node("n1", "x"))
    counter = counter_of(cluster, of_live=of_live)
    cluster.put(pod("a", "n1"))
    assert by_zone(cluster, counter) == {"x": 1}
    for weight in range(2, 200):
        counter_of(cluster, weight=weight)
    assert not counter.is_attached, "200 newer counters did not displace it"
    cluster.put(pod("b", "n1"))
    assert by_zone(cluster, counter) == {"x": 2}
    assert counter.is_attached
    cluster.put(pod("c", "n1"))
    assert by_zone(cluster, counter) == {"x": 3}


def limited(counter_bytes):
    """Return a cluster of three nodes in two zones whose counters take so much memory."""
    cluster = Cluster()
    cluster.selectors = SelectorCounters(
        cluster.nodes, cluster.selected_labels, counter_bytes=counter_bytes
    )
    for name, zone in (("n1", "x"), ("n2", "x"), ("n3", "y")):
        cluster.put(node(name, zone, rack=name))
    return cluster


def test_the_memory_of_a_counter_is_that_of_its_domains_and_terms():
    cluster = limited(1 << 20)
    first, second = counter_of(cluster), counter_of(cluster, weight=2)
    # Counters over the same domains have the rows of the nodes in common.
    assert first.cost_bytes - second.cost_bytes == 8 * 3
    of_racks = counter_of(cluster, rule=DomainRule.of_key("rack"))
    assert of_racks.cost_bytes - first.cost_bytes == 8
    two = WeightedTerms(np.arange(2, dtype=np.int32), np.ones(2, dtype=np.int64))
    with_terms = cluster.selectors.counter(DomainRule.of_key(ZONE), (), two)
    assert with_terms.cost_bytes - second.cost_bytes == 2 * 24


@pytest.mark.parametrize(
    ("spare_bytes", "dropped"),
    [
        pytest.param(0, [], id="exactly the memory of all"),
        pytest.param(-1, [1], id="a byte less: the least recently used one goes"),
        pytest.param(-1_500, [1, 2], id="less than the memory of two"),
        pytest.param(-100_000, [1, 2, 3, 4], id="those of one cycle stay anyway"),
    ],
)
def test_counters_take_no_more_memory_than_they_may(spare_bytes, dropped):
    free = limited(1 << 20)
    costs = [counter_of(free, weight=weight).cost_bytes for weight in range(20)]
    cluster = limited(sum(costs) + spare_bytes)
    counters = [counter_of(cluster, weight=weight) for weight in range(16)]
    assert counter_of(cluster, weight=0) is counters[0], "used again"
    counters += [counter_of(cluster, weight=weight) for weight in range(16, 20)]
    assert [i for i, each in enumerate(counters) if not each.is_attached] == dropped


def test_a_term_without_a_carrier_on_a_node_matches_no_pod():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    shy = pod("shy", "n1", app="b", away_from="a")
    cluster.put(shy)
    for count in 1, 0:
        factors = dict.fromkeys(TermKind, 1)
        found = cluster.selectors.terms_matching(factors, "default", {"app": "a"}, {})
        assert len(found) == count
        cluster.delete(shy)


def is_present(cluster, *apps):
    return cluster.selectors.is_present(ZONE, tuple(((selecting(app),), 1) for app in apps))


def test_a_counter_grows_with_new_zones():
    cluster = Cluster()
    cluster.put(node("n0", "z0"))
    counter = counter_of(cluster)
    assert by_zone(cluster, counter) == {"z0": 0}
    for i in range(1, 40):
        cluster.put(node(f"n{i}", f"z{i}"))
        cluster.put(pod(f"p{i}", f"n{i}"))
        cluster.put(pod(f"q{i}", f"n{i - 1}"))
        assert by_zone(cluster, counter) == {f"z{j}": (j > 0) + (j < i) for j in range(i + 1)}


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"status": {"allocatable": {"cpu": "3"}}}, id="allocatable"),
        pytest.param({"status": {"images": [{"names": ["app:v1"]}]}}, id="a pulled image"),
        pytest.param({"metadata": {"annotations": {"beat": "1"}}}, id="an annotation"),
        pytest.param({"spec": {"unschedulable": True}}, id="cordoned"),
        pytest.param({"metadata": {"labels": {"color": "red"}}}, id="a label of no rule"),
        pytest.param({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, id="a taint"),
    ],
)
def test_an_update_that_moves_no_node_recounts_nothing(changed):
    cluster = Cluster()
    for name, zone in (("n1", "x"), ("n2", "y")):
        cluster.put(node(name, zone))
    counter = counter_of(cluster)
    assert not is_present(cluster, "a")
    cluster.put(pod("a", "n1"))
    before, version = counter.current(), cluster.selectors.terms_version
    update = msgspec.to_builtins(node("n1", "x").raw)
    for part, fields in changed.items():
        for field, value in fields.items():
            at = update.setdefault(part, {})
            at[field] = {**at[field], **value} if isinstance(at.get(field), dict) else value
    cluster.put(decode_node(update))
    assert counter.current() is before
    assert is_present(cluster, "a")
    assert cluster.selectors.terms_version == version


def test_a_taint_matters_to_the_domains_that_honor_it():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    rule = DomainRule(topology_key=ZONE, read_keys=(ZONE,), counted_keys=(ZONE,), tolerations=())
    counter = counter_of(cluster, rule=rule)
    cluster.put(pod("a", "n1"))
    assert by_zone(cluster, counter) == {"x": 1}
    tainted = msgspec.to_builtins(node("n1", "x").raw)
    tainted["spec"] = {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    cluster.put(decode_node(tainted))
    assert by_zone(cluster, counter) == {"x": 0}


def test_a_node_that_moves_to_another_zone_takes_its_pods_along():
    cluster = Cluster()
    for name, zone in (("n1", "x"), ("n2", "y")):
        cluster.put(node(name, zone))
    counter = counter_of(cluster)
    cluster.put(pod("a", "n1"))
    cluster.put(pod("b", "n2"))
    assert by_zone(cluster, counter) == {"x": 1, "y": 1}
    cluster.put(node("n1", "y"))
    assert by_zone(cluster, counter) == {"y": 2}
    cluster.delete(node("n1"))
    assert by_zone(cluster, counter) == {"y": 1}
    cluster.put(node("n1", "x"))
    assert by_zone(cluster, counter) == {"x": 1, "y": 1}, "its pod was there all the time"


@pytest.mark.parametrize(
    ("allocated", "entries"), [pytest.param("1", 1, id="as asked"), pytest.param("2", 3, id="more")]
)
def test_a_pod_that_starts_is_counted_anew_only_if_it_occupies_something_else(allocated, entries):
    cluster = Cluster()
    cluster.put(node("n", "z"))
    resources = {"requests": {"cpu": "1"}}
    actual = {"requests": {"cpu": allocated}}
    spec = {"nodeName": "n", "containers": [{"name": "main", "resources": resources}]}
    document = {"metadata": {"name": "p", "uid": "p"}, "spec": spec}
    cluster.put_pod("default/p", decode_pod(document))
    status = {"name": "main", "resources": actual, "allocatedResources": actual["requests"]}
    started = decode_pod(document | {"status": {"containerStatuses": [status]}})
    cluster.put_pod("default/p", started)
    assert cluster.pods["default/p"].pod is started
    assert cluster.nodes.requested[0].max() == 1_000 * int(allocated)
    assert cluster.selectors._placed.version == entries


@pytest.mark.parametrize("is_terminating", [False, True])
def test_a_placed_pod_with_other_labels_is_counted_by_those(is_terminating):
    cluster = Cluster()
    cluster.put(node("n", "z"))
    counters = [
        cluster.selectors.counter(
            DomainRule.of_key(ZONE), (((selecting(app),), 1),), of_live=of_live
        )
        for app in ("a", "b")
        for of_live in (False, True)
    ]
    for number in range(3):
        cluster.put_pod(f"default/{number}", pod(str(number), "n"))
    requested = cluster.nodes.requested.copy()
    assert [each.current().sum() for each in counters] == [3, 3, 0, 0]
    for number in range(2):
        other = pod(str(number), "n", app="b", terminating=is_terminating)
        cluster.put_pod(f"default/{number}", other)
        assert cluster.pods[f"default/{number}"].pod is other
    live = 0 if is_terminating else 2
    assert [each.current().sum() for each in counters] == [1, 1, 2, live]
    assert (cluster.nodes.requested == requested).all()
    for number in range(3):
        cluster.remove(f"default/{number}")
    assert [each.current().sum() for each in counters] == [0, 0, 0, 0]
    assert not cluster.nodes.requested.any()


def matching_shy(cluster, key=ZONE):
    """Return how many terms against app a are carried where nodes have the label."""
    factors = dict.fromkeys(TermKind, 1)
    found = cluster.selectors.terms_matching(factors, "default", {"app": "a"}, {})
    return len(found[key].ids) if key in found else 0


def test_terms_of_pods_count_while_their_node_has_the_label():
    cluster = Cluster()
    cluster.put(node("n1"))
    cluster.put(node("n2", "x"))
    cluster.put(pod("shy", "n1", app="b", away_from="a"))
    assert matching_shy(cluster) == 0
    cluster.put(node("n1", "y"))
    assert matching_shy(cluster) == 1
    cluster.put(node("n1", "y", color="red"))
    assert matching_shy(cluster) == 1
    cluster.put(node("n1", color="red"))
    assert matching_shy(cluster) == 0
    cluster.put(pod("shy too", "n2", app="b", away_from="a"))
    assert matching_shy(cluster) == 1
    cluster.put(node("n1", "y"))
    cluster.delete(pod("shy too", "n2"))
    assert matching_shy(cluster) == 1
    cluster.delete(pod("shy", "n1"))
    assert matching_shy(cluster) == 0


def test_terms_of_pods_on_a_new_node_without_the_label_do_not_count():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(pod("shy", "n1", app="b", away_from="a"))
    assert matching_shy(cluster) == 1
    cluster.delete(pod("shy", "n1"))
    cluster.put(node("n2", color="red"))
    cluster.put(pod("shy too", "n2", app="b", away_from="a"))
    assert matching_shy(cluster) == 0
    cluster.put(node("n3", "z"))
    cluster.put(pod("shy as well", "n3", app="b", away_from="a"))
    assert matching_shy(cluster) == 1


def test_a_node_may_change_one_of_several_labels_that_terms_use():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    for key in (ZONE, "rack", "room"):
        cluster.put(pod(f"shy of {key}", "n1", app="b", away_from="a", key=key))
    assert [matching_shy(cluster, key) for key in (ZONE, "rack", "room")] == [1, 0, 0]
    cluster.put(node("n1", "x", room="r"))
    assert [matching_shy(cluster, key) for key in (ZONE, "rack", "room")] == [1, 0, 1]
    cluster.put(node("n1", "x", rack="r"))
    assert [matching_shy(cluster, key) for key in (ZONE, "rack", "room")] == [1, 1, 0]


def test_only_the_first_and_the_last_carrier_of_a_term_change_the_version_of_the_terms():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    changes = []
    for change in (cluster.put, cluster.delete):
        for name in ("shy", "shy too", "shy as well"):
            version = cluster.selectors.terms_version
            change(pod(name, "n1", app="b", away_from="a"))
            changes.append(cluster.selectors.terms_version - version)
    assert changes == [1, 0, 0, 0, 0, 1]


def test_renewed_selectors_are_of_another_generation():
    # What was given out before, such as the keys of pods, may not be used any more.
    cluster = Cluster()
    assert cluster.selectors.generation == 0
    cluster.selectors.renew()
    assert cluster.selectors.generation == 1


def test_the_labels_that_terms_select_are_those_of_the_cluster():
    cluster = Cluster()
    before = cluster.selected_labels.version
    cluster.put(node("n1", "x"))
    assert cluster.selected_labels.version == before
    cluster.put(pod("shy", "n1", app="b", away_from="a"))
    assert cluster.selected_labels.version > before


def test_a_carrier_that_terminates_carries_its_terms_once():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(pod("shy", "n1", app="b", away_from="a"))
    cluster.put(pod("shy", "n1", app="b", away_from="a", terminating=True))
    assert matching_shy(cluster) == 1
    cluster.delete(pod("shy", "n1", app="b", away_from="a", terminating=True))
    assert matching_shy(cluster) == 0


def test_a_carrier_with_other_labels_carries_its_terms_once():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(pod("shy", "n1", app="b", away_from="a"))
    used = cluster.selectors._placed.used_count
    for app in ("c", "d", "b", "c"):
        cluster.put(pod("shy", "n1", app=app, away_from="a"))
        assert matching_shy(cluster) == 1
        assert cluster.selectors._placed.used_count == used, "the pod is of one class"
    cluster.delete(pod("shy", "n1", app="c", away_from="a"))
    assert matching_shy(cluster) == 0
    assert cluster.selectors._placed.pod_count == 0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_domains_of_counters_that_are_dropped_are_numbered_again(count):
    cluster = limited(1)
    counters = [counter_of(cluster, weight=weight) for weight in range(count)]
    domains = counters[0].domains
    assert all(counter.domains is domains for counter in counters)
    rack = DomainRule.of_key("rack")
    for weight in range(40):
        counter_of(cluster, weight=weight, rule=rack)
    for counter in counters:
        assert counter.current().tolist() == [0, 0]
        assert counter.domains is counters[0].domains is not domains


def test_domains_are_freed_with_their_last_counter():
    cluster = limited(1)
    first, second = counter_of(cluster), counter_of(cluster, weight=2)
    costs, domains = [first.cost_bytes, second.cost_bytes], first.domains
    rack = DomainRule.of_key("rack")
    for weight in range(40):
        counter_of(cluster, weight=weight, rule=rack)
    assert (first.is_attached, second.is_attached) == (False, False)
    assert first.current().tolist() == [0, 0]
    assert first.domains is not domains, "they are numbered again"
    second.current()
    # The first one to come back has the rows of the nodes again.
    assert [first.cost_bytes, second.cost_bytes] == costs
    assert second.domains is first.domains


@pytest.mark.parametrize("of_live", [False, True])
@pytest.mark.parametrize("count", [1, 64, 65, 1_100])
def test_however_many_carriers_came_and_went_they_are_counted(count, of_live):
    cluster = Cluster()
    for name, zone in (("n1", "x"), ("n2", "y"), ("bare", None)):
        cluster.put(node(name, zone))
    cluster.put(pod("shy", "n1", app="b", away_from="a"))
    found = cluster.selectors.terms_matching(FACTORS, "default", {"app": "a"}, {})
    rule, terms = DomainRule.of_key(ZONE), found[ZONE]
    counter = cluster.selectors.counter(rule, (), terms, of_live=of_live)
    both = cluster.selectors.counter(rule, (((selecting("b"),), 10),), terms, of_live=of_live)
    assert (by_zone(cluster, counter), by_zone(cluster, both)) == (
        {"x": 3, "y": 0},
        {"x": 13, "y": 0},
    )
    for number in range(count):
        going = {"terminating": number == 0}
        cluster.put(pod(f"p{number}", ("n2", "bare")[number % 2], app="b", away_from="a", **going))
    on_n2 = (count + 1) // 2 - of_live
    assert by_zone(cluster, counter) == {"x": 3, "y": 3 * on_n2}
    assert by_zone(cluster, both) == {"x": 13, "y": 13 * on_n2}
    for number in range(count):
        cluster.delete(pod(f"p{number}", ("n2", "bare")[number % 2], app="b", away_from="a"))
    assert by_zone(cluster, counter) == {"x": 3, "y": 0}
    assert by_zone(cluster, both) == {"x": 13, "y": 0}


@pytest.mark.parametrize("counts_carriers", [False, True])
@pytest.mark.parametrize(("count", "passes"), [(1, 0), (64, 0), (65, 1)])
def test_a_read_follows_few_changes_and_counts_again_after_many(
    monkeypatch, count, passes, counts_carriers
):
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(pod("shy", "n1", app="b", away_from="a"))
    terms = cluster.selectors.terms_matching(FACTORS, "default", {"app": "a"}, {})[ZONE]
    counted = () if counts_carriers else (((selecting("b"),), 3),)
    counter = cluster.selectors.counter(
        DomainRule.of_key(ZONE), counted, terms if counts_carriers else NO_WEIGHTED_TERMS
    )
    # Read at a later version than 0, from which on it follows.
    for number in range(2):
        cluster.put(pod(f"early{number}", "n1", app="b", away_from="a"))
        assert by_zone(cluster, counter) == {"x": 3 * (number + 2)}
    calls = []
    count_ordered = placements.count_ordered

    def count_and_record(*given):
        calls.append(given)
        count_ordered(*given)

    monkeypatch.setattr(placements, "count_ordered", count_and_record)
    for number in range(count):
        cluster.put(pod(f"p{number}", "n1", app="b", away_from="a"))
    assert by_zone(cluster, counter) == {"x": 3 * (count + 3)}
    assert len(calls) == passes
    assert by_zone(cluster, counter) == {"x": 3 * (count + 3)}
    assert len(calls) == passes, "nothing has changed"


def test_a_counter_of_pods_follows_however_many_terms_they_have():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    counter = counter_of(cluster, weight=3)
    before = counter.current()
    terms = [{"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": app}}} for app in "bcd"]
    spec = {
        "nodeName": "n1",
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
    }
    for number in range(60):
        metadata = {"name": f"p{number}", "namespace": "default", "labels": {"app": "a"}}
        cluster.put(decode_pod({"metadata": metadata, "spec": spec}))
    assert by_zone(cluster, counter) == {"x": 180}
    assert counter.current() is before, "not counted again"


def test_a_counter_of_terms_follows_however_many_pods_have_none():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(pod("shy", "n1", app="b", away_from="a"))
    terms = cluster.selectors.terms_matching(FACTORS, "default", {"app": "a"}, {})[ZONE]
    counter = cluster.selectors.counter(DomainRule.of_key(ZONE), (), terms)
    before = counter.current()
    for number in range(100):
        cluster.put(pod(f"p{number}", "n1"))
    cluster.put(pod("second", "n1", app="b", away_from="a"))
    assert by_zone(cluster, counter) == {"x": 6}
    assert counter.current() is before, "not counted again"


FACTORS = dict.fromkeys(TermKind, 3)

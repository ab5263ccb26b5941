"""Which nodes are in one group, by what is counted in their domains."""

import numpy as np
import pytest

from podwright.apimachinery.objects import LabelSelector, decode_pod, label_selector
from podwright.apimachinery.objects.decode import decode_node
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.affinity.counted_groups import CountedGroups, Digits
from podwright.scheduler.columns.affinity.domains import DomainRule
from podwright.scheduler.columns.affinity.matching import PodSelector

HOST, ZONE = "kubernetes.io/hostname", "zone"
MANY = 17
"""More hosts than domains that are digits themselves."""


def node(name, **labels):
    metadata = {"name": name, "labels": labels}
    return decode_node({"apiVersion": "v1", "kind": "Node", "metadata": metadata})


def pod(name, on):
    metadata = {"name": name, "namespace": "d", "labels": {"app": "a"}}
    return decode_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"nodeName": on, "containers": []},
        }
    )


def hosts(*counts):
    """Return a cluster of hosts with so many pods each; those after the counts have none."""
    cluster = Cluster()
    for i in range(MANY):
        cluster.put(node(f"n{i}", **{HOST: f"n{i}", ZONE: f"z{i % 2}"}))
    cluster.put(node("bare"))
    for i, count in enumerate(counts):
        for k in range(count):
            cluster.put(pod(f"p{i}-{k}", f"n{i}"))
    return cluster


def counter_of(cluster, key, *, weight=1):
    selector = label_selector(LabelSelector(match_labels={"app": "a"}))
    counted = ((PodSelector(selector, frozenset({"d"})),), weight)
    return cluster.selectors.counter(DomainRule.of_key(key), (counted,))


def assigned(cluster, groups):
    """Return the groups of all nodes; None if there are none for the counts of now."""
    out = np.zeros(cluster.nodes.n_slots, dtype=np.int32)
    return out.tolist() if groups.assign(cluster.live_slots(), out) else None


def test_few_domains_are_digits_and_nodes_without_one_have_the_last():
    cluster = hosts(3)
    counter = counter_of(cluster, ZONE)
    assert Digits.of(counter) == Digits(3)
    groups = CountedGroups([counter], [Digits(3)])
    assert groups.n_groups == 3
    assert assigned(cluster, groups) == [i % 2 for i in range(MANY)] + [2]


@pytest.mark.parametrize(
    ("counts", "weight", "expected"),
    [
        # From as many below the least count as may be added, to as many above the greatest.
        pytest.param((), 1, Digits(6, 1, -2), id="no pods"),
        pytest.param((1,), 1, Digits(9, 1, -3), id="one host has a pod"),
        pytest.param((2,) * MANY, 1, Digits(6, 2, -2), id="two pods on each"),
        pytest.param((4,) * (MANY - 1) + (2,), 1, Digits(9, 2, -4), id="multiples of two"),
        pytest.param((1,), 5, Digits(9, 5, -15), id="each pod counts five times"),
        pytest.param((1,) * MANY, -3, Digits(6, 3, -9), id="each pod counts negatively"),
    ],
)
def test_counts_of_hosts_are_digits(counts, weight, expected):
    cluster = hosts(*counts)
    counter = counter_of(cluster, HOST, weight=weight)
    assert Digits.of(counter) == expected
    groups = assigned(cluster, CountedGroups([counter], [expected]))
    assert groups is not None
    *of_hosts, of_bare = groups
    assert of_bare == expected.base - 1
    of_pods = [expected.lowest + digit * expected.unit for digit in of_hosts]
    assert of_pods == [weight * count for count in (*counts, *[0] * MANY)][:MANY]


def test_groups_follow_the_counts_until_one_has_no_digit():
    cluster = hosts(1)
    counter = counter_of(cluster, HOST)
    groups = CountedGroups([counter], [Digits(9, 1, -3)])
    found = []
    for i in range(4):
        cluster.put(pod(f"q{i}", "n0"))
        now = assigned(cluster, groups)
        found.append(now and now[:2])
    assert found == [[5, 3], [6, 3], [7, 3], None]


def test_only_the_presence_of_pods_is_a_digit():
    cluster = hosts(1, 5)
    counter = counter_of(cluster, HOST)
    digits = Digits.of(counter, of_presence=True)
    assert digits == Digits(3, 1, 0, is_capped=True)
    groups = CountedGroups([counter], [digits])
    assert assigned(cluster, groups) == [1, 1, *[0] * (MANY - 2), 2]
    for i in range(9):
        cluster.put(pod(f"q{i}", "n2"))
    assert assigned(cluster, groups) == [1, 1, 1, *[0] * (MANY - 3), 2]


def test_domains_of_several_nodes_have_no_digits_if_there_are_many():
    cluster = hosts()
    counter = counter_of(cluster, HOST)
    assert CountedGroups.digits_of([counter]) == [Digits(6, 1, -2)]
    cluster.put(node("twin", **{HOST: "n0"}))
    assert Digits.of(counter) is None
    assert CountedGroups.digits_of([counter_of(cluster, ZONE), counter]) is None


def test_the_digits_of_several_counters_make_one_group():
    cluster = hosts(1)
    counters = [counter_of(cluster, ZONE), counter_of(cluster, HOST)]
    digits = CountedGroups.digits_of(counters)
    assert digits == [Digits(3), Digits(9, 1, -3)]
    groups = CountedGroups(counters, digits)
    assert groups.n_groups == 27
    # The count plus three times three, and the zone.
    of_hosts = [(4 if i == 0 else 3) * 3 + i % 2 for i in range(MANY)]
    assert assigned(cluster, groups) == [*of_hosts, 8 * 3 + 2]
    assert CountedGroups.digits_of(counters, of_presence=True) == [
        Digits(3),
        Digits(3, 1, 0, is_capped=True),
    ]


def test_groups_end_with_the_domains_of_a_counter(monkeypatch):
    cluster = hosts()
    counter = counter_of(cluster, ZONE)
    groups = CountedGroups([counter], [Digits(3)])
    monkeypatch.setattr(counter, "domains", counter_of(cluster, HOST).domains)
    assert assigned(cluster, groups) is None

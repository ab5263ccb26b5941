"""Whether any pod that selectors match is on a node with a topology label."""

import itertools

import pytest

from podwright.apimachinery.objects import LabelSelector, label_selector
from podwright.scheduler.columns import Cluster
from podwright.scheduler.columns.affinity import selectors as selectors_module
from podwright.scheduler.columns.affinity.matching import PodSelector
from podwright.scheduler.columns.tests.test_counters import (
    LEAST,
    ZONE,
    is_present,
    node,
    pod,
    selecting,
)
from podwright.testing import make_pod


def test_a_presence_changes_with_the_first_and_the_last_pod():
    cluster = Cluster()
    for name, zone in (("n1", "x"), ("n2", "y"), ("bare", None)):
        cluster.put(node(name, zone))
    cluster.put(pod("early", "n1", app="b"))
    found = [is_present(cluster, "a", "b")]
    versions = [cluster.selectors.terms_version]
    for change in (
        lambda: cluster.put(pod("a1", "n1")),
        lambda: cluster.put(pod("a2", "n2", terminating=True)),
        lambda: cluster.put(pod("a3", "bare")),
        lambda: cluster.delete(pod("early", "n1", app="b")),
        lambda: cluster.delete(pod("a2", "n2", terminating=True)),
        lambda: cluster.delete(pod("a1", "n1")),
        lambda: cluster.put(node("bare", "z")),
        lambda: cluster.put(node("bare")),
        lambda: cluster.delete(pod("a3", "bare")),
        lambda: cluster.put(pod("b2", "n1", app="b", terminating=True)),
    ):
        change()
        versions.append(cluster.selectors.terms_version)
        found.append(is_present(cluster, "a", "b"))
    assert found == [*[True] * 6, False, True, False, False, True]
    changes = [late - early for early, late in itertools.pairwise(versions)]
    assert changes == [0, 0, 0, 0, 0, 1, 1, 1, 0, 1]


def test_a_presence_counts_terminating_pods_from_before_its_first_read():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(node("bare"))
    cluster.put(pod("going", "n1", terminating=True))
    cluster.put(pod("elsewhere", "bare"))
    assert is_present(cluster, "a")
    cluster.delete(pod("going", "n1", terminating=True))
    assert not is_present(cluster, "a")


def test_selectors_that_begin_alike_wait_for_one_pod():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    others = (((selecting(), selecting("b")), 1), ((selecting(),), 1), ((selecting(),), 2))
    for _ in range(2):
        assert not cluster.selectors.is_present(ZONE, others)
        cluster.put(pod("a1", "n1"))
        assert cluster.selectors.is_present(ZONE, others)
        cluster.delete(pod("a1", "n1"))
    assert not cluster.selectors.is_present(ZONE, others)


def test_a_pod_of_another_selector_changes_no_presence():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    assert not is_present(cluster, "a")
    version = cluster.selectors.terms_version
    cluster.put(pod("other", "n1", app="b"))
    assert not is_present(cluster, "a")
    assert cluster.selectors.terms_version == version


@pytest.mark.parametrize(
    ("labels", "namespace", "ends"),
    [
        pytest.param({"app": "a", "tier": "web"}, "default", True, id="all that is selected"),
        pytest.param({"app": "a"}, "default", False, id="one of two labels"),
        pytest.param({"app": "a", "tier": "db"}, "default", False, id="another value"),
        pytest.param({"app": "a", "tier": "web"}, "other", False, id="another namespace"),
    ],
)
def test_a_pod_ends_the_absence_of_those_that_match_in_all(labels, namespace, ends):
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    both = label_selector(LabelSelector(match_labels={"app": "a", "tier": "web"}))
    counted = ((PodSelector(both, frozenset({"default"})),), 1)

    def is_there():
        return cluster.selectors.is_present(ZONE, (counted,))

    assert not is_there()
    cluster.put(make_pod("p", namespace=namespace, labels=labels, node="n1"))
    assert is_there() is ends
    cluster.put(make_pod("q", labels={"app": "a", "tier": "web"}, node="n1"))
    assert is_there()


def test_the_topology_keys_of_pods_that_are_gone_are_forgotten():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(pod("a", "n1"))
    cluster.put(pod("gone", "n1"))
    for number in range(2 * LEAST):
        cluster.selectors.is_present(f"key-{number}", (((selecting("a"),), 1),))
    assert len(cluster.selectors._labeled) == 2 * LEAST
    cluster.delete(pod("gone", "n1"))
    assert not cluster.selectors._labeled
    assert is_present(cluster, "a")
    cluster.put(node("n2", "y"))
    cluster.put(pod("b", "n2", app="b"))
    assert is_present(cluster, "b")


def test_forgotten_presences_are_found_again(monkeypatch):
    monkeypatch.setattr(selectors_module, "_MOST_PRESENCES", 2)
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(pod("a1", "n1"))
    found = [is_present(cluster, app) for app in "abca"]
    assert found == [True, False, False, True]
    version = cluster.selectors.terms_version
    assert version > 0, "results that depend on forgotten ones are made again"
    cluster.delete(pod("a1", "n1"))
    assert cluster.selectors.terms_version == version + 1
    assert not is_present(cluster, "a")


def test_what_is_present_changes_no_version_when_it_is_read_or_forgotten(monkeypatch):
    monkeypatch.setattr(selectors_module, "_MOST_PRESENCES", 2)
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    for app in "ad":
        cluster.put(pod(app, "n1", app=app))
    versions = [cluster.selectors.terms_version]
    for app in "abcd":
        is_present(cluster, app)
        versions.append(cluster.selectors.terms_version)
    changes = [late - early for early, late in itertools.pairwise(versions)]
    assert changes == [0, 0, 1, 0], "but once for all that are forgotten"
    cluster.delete(pod("a", "n1"))
    assert cluster.selectors.terms_version == versions[-1], "no reader of it is left"
    cluster.delete(pod("d", "n1", app="d"))
    assert cluster.selectors.terms_version == versions[-1] + 1


def test_a_pod_without_the_label_does_not_end_the_absence_of_others():
    cluster = Cluster()
    cluster.put(node("n1", "x"))
    cluster.put(node("bare"))
    assert not is_present(cluster, "a")
    cluster.put(pod("elsewhere", "bare"))
    assert not is_present(cluster, "a")
    cluster.put(pod("here", "n1"))
    assert is_present(cluster, "a")

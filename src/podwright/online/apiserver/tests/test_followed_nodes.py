"""Nodes and their pods, followed in parts by a watch."""

import pytest

from podwright.cluster.api.endpoints import HttpReply
from podwright.cluster.store import ObjectStore
from podwright.online.apiserver.scheduling.present_scheduler import (
    PART_CHANGES,
    FollowedNodes,
    present_objects,
    stored_objects,
)
from podwright.online.apiserver.tests.conftest import START_NS, cluster_of, pod, request
from podwright.scheduler.machine import SchedulerOptions
from podwright.testing import make_node, make_pod


def followed(store):
    found = FollowedNodes(store, SchedulerOptions())
    taken(found)
    return found


def taken(followed):
    """Take all changes; return the number of parts."""
    parts = 0
    while followed.take(0):
        parts += 1
    return parts


def names(followed):
    nodes = followed.machine.cluster.nodes
    return {nodes.names[slot] for slot in range(nodes.n_slots) if nodes.alive[slot]}


def test_a_large_cluster_is_read_in_parts():
    store = ObjectStore()
    for number in range(3 * PART_CHANGES):
        store.put(make_node(f"n{number}"))
    found = FollowedNodes(store, SchedulerOptions())
    assert found.take(0)
    assert 0 < len(names(found)) <= PART_CHANGES
    assert taken(found) >= 2
    assert len(names(found)) == 3 * PART_CHANGES


def test_pods_count_as_pending_until_they_have_a_node_or_are_gone():
    store = ObjectStore()
    store.put(make_node("n1"))
    for name in ("a", "b", "c"):
        store.put(make_pod(name))
    found = followed(store)
    assert found.count_pods() == {"pending": 3, "placed": 0}
    store.put(make_pod("a", node="n1"))
    store.drop(("", "Pod"), "default/b")
    taken(found)
    assert found.count_pods() == {"pending": 1, "placed": 1}


def test_it_begins_anew_when_the_history_was_discarded():
    store = ObjectStore()
    store.put(make_node("n1"))
    found = followed(store)
    before = found.machine
    store.put(make_node("n2"))
    store.drop(("", "Node"), "n1")
    store.compact(store.resource_version)
    taken(found)
    assert found.machine is not before
    assert names(found) == {"n2"}


@pytest.mark.parametrize("has_scheduler", [True, False])
def test_a_scheduler_starts_with_what_it_reads_and_a_simulation_with_what_it_does_not_make(
    has_scheduler,
):
    cluster = cluster_of(1, has_scheduler=has_scheduler, has_controllers=False, has_lifecycle=False)
    for path, body in {
        "/api/v1/namespaces/default/configmaps": {"metadata": {"name": "map"}},
        "/api/v1/namespaces/default/pods": pod("pod"),
        "/apis/coordination.k8s.io/v1/namespaces/default/leases": {"metadata": {"name": "lease"}},
    }.items():
        reply = cluster.handle(request("POST", path, body), START_NS)
        assert isinstance(reply, HttpReply)
        assert reply.status == 201
    made = {"map", "pod", "lease", "node-0"}
    for objects, names in (
        (present_objects(cluster.schedulers[0]), ["node-0", "pod"]),
        (stored_objects(cluster.store), ["map", "node-0", "pod"]),
    ):
        assert [each.name for each in objects if each.name in made] == names

"""Temporary changes of a cluster: everything is as before at the end, also the order of pods."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import decode, decode_pod, with_fields
from podwright.scheduler.advice import edited
from podwright.scheduler.advice.trial_cluster import PlacedPods, _current, release_claims
from podwright.scheduler.columns import Cluster
from podwright.testing import make_node, make_pod


@pytest.fixture
def cluster():
    cluster = Cluster(device_taint_rules=True)
    for name in ("a", "b"):
        cluster.put(make_node(name, cpu="8"))
    for number in range(4):
        cluster.put(make_pod(f"p{number}", cpu="1", node="ab"[number % 2]))
    cluster.nominate(make_pod("waiting", cpu="1"), "a")
    return cluster


def content(cluster):
    return {
        "pods": {key: placed.slot for key, placed in cluster.pods.items()},
        "order": [list(pods) for pods in cluster.pods_on[:2]],
        "requested": cluster.nodes.requested[:2].tolist(),
        "nominated": {node: list(pods) for node, pods in cluster.nominated.items()},
        "nodes": sorted(cluster.nodes.slot_of),
        "cordoned": [node.spec.unschedulable for node in cluster.nodes.objects[:2]],
    }


@pytest.mark.parametrize("is_journal_lost", [False, True])
def test_all_changes_are_reverted(cluster, is_journal_lost):
    before = content(cluster)
    cordoned = with_fields(make_node("a", cpu="8"), "spec", unschedulable=True)
    removed = cluster.pods["default/p0"].pod
    with edited(cluster, put=[cordoned, make_node("new", cpu="8")], delete=[removed]) as pods:
        cluster.place(make_pod("mine", cpu="1"), cluster.nodes.slot_of["new"])
        cluster.nominate(make_pod("waiting", cpu="1"), "new")
        assert pods.since() == ["default/mine"]
        assert "default/p0" not in cluster.pods
        assert cluster.nodes.objects[0].spec.unschedulable
        if is_journal_lost:
            cluster.nodes.pods_journal.forget()
            assert pods.since() == ["default/mine"]
    assert content(cluster) == before


@pytest.mark.parametrize(
    ("api_version", "kind", "spec"),
    [
        ("v1", "PersistentVolumeClaim", {"spec": {"volumeName": "v"}}),
        ("v1", "PersistentVolume", {"spec": {"storageClassName": "s"}}),
        ("storage.k8s.io/v1", "StorageClass", {"provisioner": "p"}),
        ("resource.k8s.io/v1", "ResourceClaim", {"spec": {"devices": {}}}),
        ("resource.k8s.io/v1", "DeviceClass", {"spec": {}}),
        ("resource.k8s.io/v1alpha3", "DeviceTaintRule", {"spec": {"taint": {"key": "k"}}}),
    ],
)
def test_an_object_of_each_kind_gets_its_version_back_or_is_gone(cluster, api_version, kind, spec):
    head = {"apiVersion": api_version, "kind": kind, **spec}
    first, second, new = (
        decode({**head, "metadata": {"name": name, "namespace": "x", "labels": {"l": value}}})
        for name, value in (("a", "1"), ("a", "2"), ("b", "1"))
    )
    cluster.put(first)
    with edited(cluster, put=[second, new]):
        assert [_current(cluster, each) for each in (first, new)] == [second, new]
    assert [_current(cluster, each) for each in (first, new)] == [first, None]


@pytest.mark.parametrize(
    ("given", "is_free"),
    [
        pytest.param({"spec": {"resourceClaims": [{"name": "c"}]}}, True, id="it names a claim"),
        pytest.param(
            {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "c"}}},
            True,
            id="a claim was made for its extended resources",
        ),
        pytest.param({}, False, id="it has no claims"),
    ],
)
def test_the_claims_of_deleted_pods_are_free(cluster, given, is_free):
    head = {"metadata": {"name": "p", "namespace": "x", "uid": "u"}}
    pod = decode_pod({"spec": {"containers": []}, **head, **given})
    user = {"resource": "pods", "name": "p", "uid": "u"}
    results = [{"driver": "d", "pool": "p", "device": "d0", "request": "r"}]
    claim = decode(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "x", "resourceVersion": "1"},
            "spec": {"devices": {}},
            "status": {"allocation": {"devices": {"results": results}}, "reservedFor": [user]},
        }
    )
    cluster.put(claim)
    release_claims(cluster, [pod])
    found = cluster.devices.claim("x/c")
    assert (found.status.allocation is None) is is_free


def test_changes_are_reverted_after_an_error(cluster):
    before = content(cluster)
    with pytest.raises(ValueError, match="in a trial"), edited(cluster, put=[make_node("new")]):
        raise ValueError("in a trial")
    assert content(cluster) == before


@pytest.mark.parametrize(
    "nominate",
    [
        pytest.param({"other": "a"}, id="another pod to the same node"),
        pytest.param({"other": "b"}, id="another pod to another node"),
        pytest.param({"waiting": "b"}, id="the same pod to another node"),
        pytest.param({"waiting": "b", "other": "a", "third": "b"}, id="several"),
    ],
)
def test_pods_that_were_nominated_meanwhile_are_not_any_more(cluster, nominate):
    before = content(cluster)
    with edited(cluster):
        for name, node in nominate.items():
            cluster.nominate(make_pod(name, cpu="1"), node)
        assert content(cluster) != before
    assert content(cluster) == before
    assert cluster.nominations.node_of() == {"default/waiting": "a"}


def test_nested_changes_are_reverted_one_after_the_other(cluster):
    before = content(cluster)
    pod = cluster.pods["default/p2"].pod
    with edited(cluster, delete=[pod]):
        inside = content(cluster)
        with edited(cluster, put=[make_node("new")], delete=[cluster.pods["default/p1"].pod]):
            assert content(cluster) != inside
        assert content(cluster) == inside
    assert content(cluster) == before


@pytest.mark.parametrize(
    ("change", "is_current"),
    [
        pytest.param(lambda _: None, True, id="nothing"),
        pytest.param(lambda c: c.place(make_pod("new"), 0), False, id="a pod is placed"),
        pytest.param(lambda c: c.remove("default/p1"), False, id="a pod is removed"),
        pytest.param(lambda c: c.nominate(make_pod("new"), "a"), False, id="a pod is nominated"),
        pytest.param(
            lambda c: c.clear_nomination(make_pod("waiting")), False, id="and one is not any more"
        ),
        pytest.param(lambda c: c.put(make_node("c")), False, id="a node is added"),
    ],
)
def test_a_copy_of_the_placed_pods_is_current_until_one_of_them_changes(
    cluster, change, is_current
):
    copy = PlacedPods(cluster)
    change(cluster)
    assert copy.is_current() is is_current

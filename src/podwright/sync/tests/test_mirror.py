"""The rules of a sync, one test each."""

import json

import pytest

from podwright.client import BoundPods, SyncPolicies
from podwright.client.cluster import ChangedObject, Meta
from podwright.objects import SOURCE_UID
from podwright.sync.change_merge import SourceChange
from podwright.sync.mirror import (
    BindPod,
    Create,
    Delete,
    Mirror,
    PatchPod,
    Replace,
)
from podwright.sync.placements import Placements
from podwright.sync.seen_pods import RECENT_MAX, SeenPods
from podwright.sync.source_kinds import source_kinds
from podwright.sync.tests.source_changes import KINDS, change, node_of, taken


@pytest.mark.parametrize(
    ("bound", "is_initial", "node", "rescheduled"),
    [
        (BoundPods.initial, True, "n1", 0),
        (BoundPods.initial, False, "", 1),
        (BoundPods.none, True, "", 1),
        (BoundPods.none, False, "", 1),
        (BoundPods.kss, True, "n1", 0),
        (BoundPods.kss, False, "n1", 0),
    ],
)
def test_which_bound_pods_keep_their_node(bound, is_initial, node, rescheduled):
    mirror = Mirror(SyncPolicies(bound=bound))
    assert node_of(taken(mirror, change("Add", "p", node="n1", initial=is_initial))) == node
    assert mirror.rescheduled == rescheduled


@pytest.mark.parametrize(
    "metadata",
    [
        {"ownerReferences": [{"kind": "DaemonSet", "name": "d"}]},
        {"annotations": {"kubernetes.io/config.mirror": "x"}},
    ],
)
def test_static_pods_and_pods_of_daemon_sets_keep_their_node(metadata):
    mirror = Mirror(SyncPolicies(bound=BoundPods.none))
    assert node_of(taken(mirror, change("Add", "p", node="n1", metadata=metadata))) == "n1"


def test_owners_are_dropped_and_the_uid_is_kept_in_an_annotation():
    metadata = {"ownerReferences": [{"kind": "ReplicaSet", "name": "web"}]}
    (created,) = taken(Mirror(SyncPolicies()), change("Add", "p", metadata=metadata))
    assert "ownerReferences" not in created.obj["metadata"]
    assert created.obj["metadata"]["annotations"] == {SOURCE_UID: "u1"}


def test_owners_can_be_kept():
    metadata = {"ownerReferences": [{"kind": "ReplicaSet", "name": "web"}]}
    mirror = Mirror(SyncPolicies(keeps_owners=True))
    (created,) = taken(mirror, change("Add", "p", metadata=metadata))
    assert created.obj["metadata"]["ownerReferences"] == metadata["ownerReferences"]


@pytest.mark.parametrize(("keeps", "names"), [(False, []), (True, ["kube-api-access-x"])])
def test_service_accounts_and_their_volumes_are_dropped_or_kept(keeps, names):
    token = {
        "name": "kube-api-access-x",
        "projected": {"sources": [{"serviceAccountToken": {}}]},
    }
    spec = {"serviceAccountName": "sa", "volumes": [token], "containers": []}
    mirror = Mirror(SyncPolicies(keeps_accounts=keeps))
    (created,) = taken(mirror, change("Add", "p", spec=spec))
    assert [each["name"] for each in created.obj["spec"].get("volumes", [])] == names
    assert ("serviceAccountName" in created.obj["spec"]) is keeps


def test_running_pods_can_be_left_out():
    mirror = Mirror(SyncPolicies(excludes_running=True))
    assert taken(mirror, change("Add", "a", node="n1", initial=True)) == []
    assert taken(mirror, change("Add", "b", uid="u2", initial=True))
    assert taken(mirror, change("Delete", "a")) == []


def test_changes_of_pods_with_a_node_are_ignored():
    mirror = Mirror(SyncPolicies())
    taken(mirror, change("Add", "p"))
    labels = {"labels": {"a": "b"}}
    assert taken(mirror, change("Update", "p", node="n1", metadata=labels)) == []
    assert mirror.ignored == 1


def test_labels_of_pods_with_a_node_can_be_followed():
    mirror = Mirror(SyncPolicies(follows_labels=True))
    taken(mirror, change("Add", "p"))
    (patch,) = taken(mirror, change("Update", "p", node="n1", metadata={"labels": {"a": "b"}}))
    assert patch == PatchPod(
        KINDS["pods"],
        "default/p",
        {"metadata": {"labels": {"a": "b"}}},
    )


def test_changes_of_pending_pods_are_mirrored():
    mirror = Mirror(SyncPolicies())
    gated = {"schedulingGates": [{"name": "g"}]}
    taken(mirror, change("Add", "p", spec=gated))
    (patch,) = taken(mirror, change("Update", "p", metadata={"labels": {"a": "b"}}, spec={}))
    assert patch.patch == {
        "metadata": {"labels": {"a": "b"}}, "spec": {"schedulingGates": None}
    }  # fmt: skip


def test_deletions_are_mirrored_once():
    mirror = Mirror(SyncPolicies())
    taken(mirror, change("Add", "p"))
    assert taken(mirror, change("Delete", "p")) == [Delete(KINDS["pods"], "default/p")]
    assert taken(mirror, change("Delete", "p")) == []


def test_deletions_can_be_ignored_also_those_before_a_restart():
    policies = SyncPolicies(ignores_deletions=True)
    mirror = Mirror(policies)
    taken(mirror, change("Add", "p"))
    assert taken(mirror, change("Delete", "p")) == []
    # Another object of its name replaces it.
    again = taken(mirror, change("Add", "p", uid="u2"))
    assert [type(each) for each in again] == [Delete, Create]
    assert not Mirror(policies, present={("pods", "default/gone"): "u2"}).synced()


def test_another_pod_of_the_same_name_replaces_the_first():
    mirror = Mirror(SyncPolicies())
    taken(mirror, change("Add", "p"))
    operations = taken(mirror, change("Update", "p", uid="u2"))
    assert [type(each) for each in operations] == [Delete, Create]


def test_nodes_are_mirrored_with_their_status():
    mirror = Mirror(SyncPolicies())
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    (created,) = taken(mirror, change("Add", "n", kind="nodes", status=status))
    assert created.obj["status"] == status
    (replaced,) = taken(mirror, change("Update", "n", kind="nodes", status={}))
    assert isinstance(replaced, Replace)
    assert replaced.has_status
    (claim,) = (
        operation
        for event in ("Add", "Update")
        for operation in taken(mirror, change(event, "c", kind="persistentvolumeclaims"))
        if isinstance(operation, Replace)
    )
    assert not claim.has_status


def test_the_status_of_nodes_can_be_that_of_their_creation():
    mirror = Mirror(SyncPolicies(freezes_node_status=True))
    status = {"allocatable": {"cpu": "4"}}
    (created,) = taken(mirror, change("Add", "n", kind="nodes", status=status))
    assert created.obj["status"] == status
    (replaced,) = taken(mirror, change("Update", "n", kind="nodes", status={}))
    assert not replaced.has_status


def test_a_deleted_object_of_another_kind_has_no_effect_on_a_pod_of_its_name():
    mirror = Mirror(SyncPolicies())
    done = change("Add", "p", node="n1", initial=True, status={"phase": "Succeeded"},
                  spec={"containers": []})  # fmt: skip
    taken(mirror, change("Add", "p", uid="u2", kind="persistentvolumeclaims"), done)
    taken(mirror, change("Delete", "p", uid="u2", kind="persistentvolumeclaims"))
    assert mirror.unfreed(lambda _: True).pods == 1


def test_finished_pods_free_their_resources_on_request_only():
    containers = [{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]
    spec = {"containers": containers, "overhead": {"cpu": "500m"}}
    done = change("Update", "p", spec=spec, node="n1", status={"phase": "Succeeded"})
    mirror = Mirror(SyncPolicies())
    taken(mirror, change("Add", "p", spec=spec))
    assert taken(mirror, done, done) == []
    unfreed = mirror.unfreed(lambda _: True)
    assert (unfreed.pods, unfreed.milli_cpu, unfreed.memory_bytes) == (1, 1500, 1 << 30)
    assert mirror.unfreed(lambda _: False).pods == 0, "it has no node here"
    taken(mirror, change("Delete", "p"))
    assert mirror.unfreed(lambda _: True).pods == 0

    mirror = Mirror(SyncPolicies(mirrors_pod_status=True))
    taken(mirror, change("Add", "p", spec=spec))
    (patch,) = taken(mirror, done)
    assert (patch.patch, patch.subresource) == ({"status": {"phase": "Succeeded"}}, "status")
    assert mirror.unfreed(lambda _: True).pods == 0


def test_a_restart_creates_what_is_new_and_deletes_what_is_gone():
    present = {("pods", "default/same"): "u1", ("pods", "default/gone"): "u2",
               ("pods", "default/again"): "u3"}  # fmt: skip
    mirror = Mirror(SyncPolicies(), present=present, seen=SeenPods("2030-01-01T00:00:05Z"))
    later = "2030-01-01T00:00:09Z"
    assert taken(mirror, change("Add", "same", uid="u1", initial=True)) == []
    again = taken(mirror, change("Add", "again", uid="u4", initial=True, created=later))
    assert [type(each) for each in again] == [Delete, Create]
    new = taken(mirror, change("Add", "new", uid="u5", initial=True, created=later))
    assert [type(each) for each in new] == [Create]
    assert mirror.synced() == [("pods", "default/gone")]
    assert mirror.seen.until == later


def test_what_the_destination_has_deleted_stays_deleted_after_a_restart():
    mirror = Mirror(SyncPolicies(), present={}, seen=SeenPods("2030-01-01T00:00:15Z"))
    early = change("Add", "p", initial=True, created="2030-01-01T00:00:04Z")
    assert taken(mirror, early) == []
    assert mirror.kept_deleted == 1
    # A label of it changes nothing, and its deletion has nothing to delete.
    assert taken(mirror, change("Delete", "p")) == []


def test_what_the_destination_has_deleted_can_be_created_again_by_a_restart():
    policies = SyncPolicies(restores_deleted=True)
    mirror = Mirror(policies, present={}, seen=SeenPods("2030-01-01T00:00:15Z"))
    early = change("Add", "p", initial=True, created="2030-01-01T00:00:04Z")
    assert [type(each) for each in taken(mirror, early)] == [Create]
    assert mirror.kept_deleted == 0


def test_pods_of_the_last_seconds_are_known_by_their_uids_after_a_restart():
    before = Mirror(SyncPolicies())
    old = change("Add", "old", uid="u0", created="2030-01-01T00:00:01Z")
    first = change("Add", "p", uid="u1", created="2030-01-01T00:00:05Z")
    second = change("Add", "q", uid="u2", created="2030-01-01T00:00:07Z")
    taken(before, old, second, first)
    assert (before.seen.until, before.seen.recent) == ("2030-01-01T00:00:07Z", ["u1", "u2"])
    mirror = Mirror(SyncPolicies(), seen=SeenPods(before.seen.until, before.seen.recent))
    for name, uid in (("p", "u1"), ("q", "u2")):
        assert taken(mirror, change("Add", name, uid=uid, initial=True)) == []
    early = "2030-01-01T00:00:01Z"
    assert taken(mirror, change("Add", "old", uid="u0", initial=True, created=early)) == []
    # Others of these seconds were created later, by an API server whose clock is behind.
    (created,) = taken(mirror, change("Add", "r", uid="u3", initial=True))
    assert isinstance(created, Create)
    assert mirror.seen.recent == ["u1", "u2", "u3"]


def test_so_many_uids_are_saved_as_an_object_has_room_for():
    seen = SeenPods()
    for number in range(RECENT_MAX):
        seen.add(f"u{number}", "2030-01-01T00:00:05Z")
    assert len(seen.recent) == RECENT_MAX
    seen.add("one more", "2030-01-01T00:00:05Z")
    assert len(seen.recent) == 0
    seen.add("later", "2030-01-01T00:00:11Z")
    assert seen.recent == ["later"]


def test_differences_are_those_of_pods_that_all_sides_have_placed():
    placements = Placements(3)
    assert placements.put(0, "p", "n1") is None
    assert placements.put(1, "p", "n1") is None
    found = placements.put(2, "p", "n2")
    assert found is not None
    assert found.nodes == ["n1", "n1", "n2"]
    assert placements.put(2, "p", "n2") is None
    assert (placements.elsewhere(1), placements.elsewhere(2)) == (0, 1)
    assert [each.pod for each in placements.different()] == ["p"]
    placements.drop(0, "p")
    assert placements.different() == []
    assert placements.elsewhere(2) == 0


def test_a_pod_that_a_side_cannot_place_differs_from_one_that_is_not_decided():
    placements = Placements(2)
    assert placements.put(0, "p", "n1") is None
    assert placements.put(1, "p", None) is None
    assert placements.elsewhere(1) == 0
    found = placements.put(1, "p", "")
    assert found is not None
    assert (found.nodes, placements.elsewhere(1)) == (["n1", ""], 1)
    assert not placements.is_placed(1, "p")
    assert placements.put(1, "p", "n1") is None
    assert placements.different() == []


def resources(cpu):
    return [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]


def test_resizes_are_followed_on_request_only():
    added = change("Add", "p", spec={"containers": resources("1")}, node="n1", initial=True)
    resized = change("Update", "p", spec={"containers": resources("2")}, node="n1")
    mirror = Mirror(SyncPolicies())
    taken(mirror, added)
    assert taken(mirror, resized) == []
    assert mirror.ignored == 1

    mirror = Mirror(SyncPolicies(follows_resources=True))
    taken(mirror, added)
    (patch,) = taken(mirror, resized, resized)
    assert isinstance(patch, PatchPod)
    assert (patch.patch, patch.subresource) == ({"spec": {"containers": resources("2")}}, "resize")


def test_the_bindings_of_the_source_are_mirrored_if_it_schedules():
    pending = change("Add", "p", spec={"containers": resources("1")})
    bound = change("Update", "p", spec={"containers": resources("1")}, node="n1")
    mirror = Mirror(SyncPolicies())
    assert taken(mirror, pending, bound)[1:] == []

    mirror = Mirror(SyncPolicies(bound=BoundPods.source))
    _, binding = taken(mirror, pending, bound, bound)
    assert isinstance(binding, BindPod)
    assert (binding.key, binding.node) == ("default/p", "n1")
    # One that has its node when it is first seen is created with it.
    assert node_of(taken(mirror, change("Add", "q", uid="u2", node="n2"))) == "n2"


def owned(mirror_policies):
    workload = {kind.resource: kind for kind in source_kinds(has_workloads=True)}

    def of(resource, name, spec):
        body = json.dumps({"metadata": {"name": name, "namespace": "default"}, "spec": spec})
        meta = Meta(name=name, namespace="default", uid=name, resource_version="1")
        added = ChangedObject("Add", meta, body.encode(), is_initial=True)
        return SourceChange(workload[resource], added, 0)

    mirror = Mirror(mirror_policies)
    selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}
    owner = of("replicasets", "web", {"selector": selector, "template": {}})
    assert taken(mirror, owner, of("services", "web", {"selector": {"tier": "x"}})) == []
    metadata = {
        "labels": {"app": "a", "tier": "x"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True,
             "uid": "w"}
        ],
    }  # fmt: skip
    (created,) = taken(mirror, change("Add", "p", metadata=metadata))
    (other,) = taken(mirror, change("Add", "q", uid="u2"))
    assert "podwright.dev/spread-selector" not in other.obj["metadata"]["annotations"]
    return created.obj


def test_what_services_and_the_owner_imply_is_kept_in_an_annotation():
    metadata = owned(SyncPolicies())["metadata"]
    assert metadata["annotations"]["podwright.dev/spread-selector"] == "app in (a,b),tier=x"


def test_what_they_imply_can_be_written_as_constraints():
    obj = owned(SyncPolicies(has_explicit_spread=True))
    assert "podwright.dev/spread-selector" not in obj["metadata"]["annotations"]
    hostname, zone = obj["spec"]["topologySpreadConstraints"]
    assert (hostname["topologyKey"], hostname["maxSkew"]) == ("kubernetes.io/hostname", 3)
    assert (zone["topologyKey"], zone["maxSkew"]) == ("topology.kubernetes.io/zone", 5)
    assert hostname["labelSelector"] == {
        "matchExpressions": [
            {"key": "app", "operator": "In", "values": ["a", "b"]},
            {"key": "tier", "operator": "In", "values": ["x"]},
        ]
    }

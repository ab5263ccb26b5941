"""The rules of a sync, one test each."""

import json
from typing import Any

import pytest

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.client import BoundPods, SyncPolicies
from podwright.online.client.cluster import ChangedObject, Meta
from podwright.online.sync.mirror import IGNORED_DELETIONS, Mirror
from podwright.online.sync.operations import BindPod, Create, Delete, Settle
from podwright.online.sync.placements import RECENT_MAX, Placements, SeenPods
from podwright.online.sync.settlement import ObjectDifference
from podwright.online.sync.source import SourceChange
from podwright.online.sync.source_kinds import source_kinds
from podwright.online.sync.tests.copied_cluster import CopiedCluster
from podwright.online.sync.tests.source_changes import KINDS, change, node_of, taken


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


def bound_here(policies, **source):
    """Return a destination where pod `p` has a node, and a mirror that has created it."""
    mirror, copied = Mirror(policies), CopiedCluster()
    copied.follow(mirror, change("Add", "p", **source))
    copied.pod()["spec"]["nodeName"] = "here"
    copied.writes.clear()
    return mirror, copied


def test_changes_of_pods_that_both_sides_have_placed_are_ignored():
    mirror, copied = bound_here(SyncPolicies(), spec={"containers": []})
    labels = {"labels": {"a": "b"}}
    update = change("Update", "p", node="n1", metadata=labels, spec={"containers": []})
    copied.follow(mirror, update)
    assert copied.writes == []
    assert "a" not in copied.pod()["metadata"].get("labels", {})


def test_labels_of_pods_with_a_node_can_be_followed():
    first = {"metadata": {"labels": {"a": "b", "gone": "1"}}, "spec": {"containers": []}}
    mirror, copied = bound_here(SyncPolicies(follows_labels=True), **first)
    labels = {"a": "c", "topology.kubernetes.io/zone": "that of the node at the source"}
    second = {"metadata": {"labels": labels}, "spec": {"containers": []}}
    copied.follow(mirror, change("Update", "p", node="n1", **second))
    assert copied.pod()["metadata"]["labels"] == {"a": "c"}
    assert copied.writes == ["PATCH"]


GATED: dict[str, Any] = {
    "schedulingGates": [{"name": "g"}, {"name": "h"}],
    "nodeSelector": {"old": "1"},
    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
}


@pytest.mark.parametrize("node", ["", "n1"])
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_pod_that_waits_here_gets_all_changes(node, is_interrupted):
    mirror, copied = Mirror(SyncPolicies()), CopiedCluster()
    metadata = {"labels": {"a": "b", "gone": "1"}, "annotations": {"x": "y", "gone": "1"}}
    before = change("Add", "p", spec=GATED, metadata=metadata)
    copied.follow(mirror, before)
    containers = [{**GATED["containers"][0], "resources": {"requests": {"cpu": "2"}}}]
    tolerations = [{"key": "k", "operator": "Exists"}]
    spec = {"nodeSelector": {"new": "1"}, "containers": containers, "tolerations": tolerations}
    metadata = {"labels": {"a": "c"}, "annotations": {"x": "z"}}
    after = change("Add", "p", spec=spec, metadata=metadata, node=node, initial=is_interrupted)
    if is_interrupted:
        seen = SeenPods("2030-01-01T00:00:05Z", ["u1"])
        copied.start(Mirror(SyncPolicies(), seen=seen), [(KINDS["pods"], [after])])
    else:
        copied.follow(mirror, after)
    pod = copied.pod()
    assert pod["metadata"]["labels"] == {"a": "c"}
    assert pod["metadata"]["annotations"] == {"x": "z", SOURCE_UID: "u1"}
    assert pod["spec"] == spec, "gates are removed, and it is scheduled here"
    assert copied.writes == ["create", "PATCH", "PATCH resize"]


def test_deletions_are_mirrored_once():
    mirror = Mirror(SyncPolicies())
    taken(mirror, change("Add", "p"))
    assert taken(mirror, change("Delete", "p")) == [Delete(KINDS["pods"], "default/p")]
    assert taken(mirror, change("Delete", "p")) == []


def test_deletions_can_be_ignored_also_those_before_a_restart():
    policies = SyncPolicies(ignores_deletions=True)
    mirror, copied = Mirror(policies), CopiedCluster()
    copied.follow(mirror, change("Add", "p"), change("Delete", "p"))
    assert copied.writes == ["create"]
    # Another object of its name replaces it.
    copied.follow(mirror, change("Add", "p", uid="u2"))
    assert copied.writes == ["create", "delete", "create"]
    kept: list[ObjectDifference] = []
    copied.start(Mirror(policies, on_kept=kept.append), [(KINDS["pods"], [])])
    assert "default/p" in {key for _, key in copied.objects}
    assert [each.difference.policy for each in kept] == [IGNORED_DELETIONS]


def test_another_pod_of_the_same_name_replaces_the_first():
    mirror = Mirror(SyncPolicies())
    taken(mirror, change("Add", "p"))
    operations = taken(mirror, change("Update", "p", uid="u2"))
    assert [type(each) for each in operations] == [Delete, Create]


@pytest.mark.parametrize(
    ("resource", "expected"),
    [("runtimeclasses", {"same": [Create]}), ("namespaces", {"same": [Settle]})],
)
def test_objects_of_the_destination_itself_are_left_alone(resource, expected):
    """Of what every cluster has from its start, those of the same name are settled."""
    own = {name: json.dumps({"metadata": {"name": name}}).encode() for name in ("same", "own")}
    listed = [change("Add", "same", kind=resource, initial=True)]
    compared = Mirror(SyncPolicies()).compare(KINDS[resource], listed, own)
    found = {each.change.meta.key: list(map(type, operations)) for each, operations in compared}
    assert found == expected


def test_nodes_are_mirrored_with_their_status():
    mirror, copied = Mirror(SyncPolicies()), CopiedCluster()
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    copied.follow(mirror, change("Add", "n", kind="nodes", status=status))
    assert copied.objects["nodes", "n"]["status"] == status
    labels = {"labels": {"a": "b"}}
    update = change("Update", "n", kind="nodes", metadata=labels, status={})
    copied.follow(mirror, update)
    assert copied.objects["nodes", "n"]["status"] == {}
    assert copied.writes == ["create", "PUT", "PUT status"]
    for event in ("Add", "Update"):
        phase = {"phase": event}
        copied.follow(mirror, change(event, "c", kind="persistentvolumeclaims", status=phase))
    assert copied.writes[3:] == ["create"]


def test_the_status_of_nodes_can_be_that_of_their_creation():
    mirror, copied = Mirror(SyncPolicies(freezes_node_status=True)), CopiedCluster()
    status = {"allocatable": {"cpu": "4"}}
    copied.follow(mirror, change("Add", "n", kind="nodes", status=status))
    copied.follow(mirror, change("Update", "n", kind="nodes", status={}))
    assert copied.objects["nodes", "n"]["status"] == status
    assert copied.writes == ["create"]


def test_a_deleted_object_of_another_kind_has_no_effect_on_a_pod_of_its_name():
    mirror = Mirror(SyncPolicies())
    done = change("Add", "p", node="n1", initial=True, status={"phase": "Succeeded"},
                  spec={"containers": []})  # fmt: skip
    taken(mirror, change("Add", "p", uid="u2", kind="persistentvolumeclaims"), done)
    taken(mirror, change("Delete", "p", uid="u2", kind="persistentvolumeclaims"))
    assert mirror.unfreed(lambda _: True).pods == 1


def test_finished_pods_free_their_resources_on_request_only():
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]
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

    mirror, copied = bound_here(SyncPolicies(mirrors_pod_status=True), spec=spec)
    copied.follow(mirror, done, done)
    assert copied.writes == ["PATCH status"]
    assert copied.pod()["status"] == {"phase": "Succeeded"}
    assert mirror.unfreed(lambda _: True).pods == 0


def copies(**uids):
    """Return a destination with the copies of pods of these uids, by name."""
    mirror, copied = Mirror(SyncPolicies()), CopiedCluster()
    copied.follow(mirror, *(change("Add", name, uid=uid) for name, uid in uids.items()))
    copied.writes.clear()
    return copied


def test_a_restart_creates_what_is_new_and_deletes_what_is_gone_before():
    copied = copies(same="u1", gone="u2", again="u3")
    later: dict[str, Any] = {"initial": True, "created": "2030-01-01T00:00:09Z"}
    listed = [
        change("Add", "same", uid="u1", initial=True),
        change("Add", "again", uid="u4", **later),
        change("Add", "new", uid="u5", node="n1", **later),
    ]
    mirror = Mirror(SyncPolicies(), seen=SeenPods("2030-01-01T00:00:05Z", ["u1"]))
    copied.start(mirror, [(KINDS["pods"], listed)])
    assert copied.writes == ["delete", "delete", "create", "create"]
    assert {key for _, key in copied.objects} == {"default/same", "default/again", "default/new"}
    # It was created while nothing was followed, so it is not placed by the source.
    assert "nodeName" not in copied.pod("new")["spec"]
    assert mirror.rescheduled == 1
    assert mirror.seen.until == later["created"]


def test_what_the_destination_has_deleted_stays_deleted_after_a_restart():
    mirror = Mirror(SyncPolicies(), seen=SeenPods("2030-01-01T00:00:15Z"))
    early = change("Add", "p", initial=True, created="2030-01-01T00:00:04Z")
    assert taken(mirror, early) == []
    assert mirror.kept_deleted == 1
    # A label of it changes nothing, and its deletion has nothing to delete.
    assert taken(mirror, change("Delete", "p")) == []


def test_what_the_destination_has_deleted_can_be_created_again_by_a_restart():
    policies = SyncPolicies(restores_deleted=True)
    mirror = Mirror(policies, seen=SeenPods("2030-01-01T00:00:15Z"))
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


def test_resizes_of_placed_pods_are_followed_on_request_only():
    added = {"spec": {"containers": resources("1")}}
    resized = change("Update", "p", spec={"containers": resources("2")}, node="n1")
    mirror, copied = bound_here(SyncPolicies(), **added)
    copied.follow(mirror, resized)
    assert copied.writes == []

    mirror, copied = bound_here(SyncPolicies(follows_resources=True), **added)
    copied.follow(mirror, resized, resized)
    assert copied.writes == ["PATCH resize"]
    assert copied.pod()["spec"] == {"containers": resources("2"), "nodeName": "here"}


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


def test_a_waiting_pod_is_created_without_its_status():
    (created,) = taken(Mirror(SyncPolicies()), change("Add", "p", status={"phase": "Pending"}))
    assert isinstance(created, Create)
    assert "status" not in created.obj


def test_labels_and_the_phase_of_a_pod_are_followed_together():
    policies = SyncPolicies(follows_labels=True, mirrors_pod_status=True)
    mirror, copied = Mirror(policies), CopiedCluster()
    copied.follow(mirror, change("Add", "p", initial=True, node="n1", status={"phase": "Running"}))
    ended = {"metadata": {"labels": {"a": "b"}}, "status": {"phase": "Succeeded"}}
    copied.follow(mirror, change("Update", "p", node="n1", **ended))
    assert copied.writes == ["create", "PATCH", "PATCH status"]
    assert copied.pod()["metadata"]["labels"] == {"a": "b"}
    assert copied.pod()["status"] == {"phase": "Succeeded"}


def test_a_pod_that_replaces_a_waiting_one_is_not_bound_in_its_place():
    mirror = Mirror(SyncPolicies(bound=BoundPods.source))
    taken(mirror, change("Add", "p"), change("Delete", "p"))
    made = taken(mirror, change("Add", "p", uid="u2", node="n1", initial=True))
    assert [type(each) for each in made] == [Create]

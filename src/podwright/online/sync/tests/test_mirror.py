"""The rules of a sync, one test each."""

import json
from typing import Any

import pytest

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.client import BoundPods, SyncPolicies, Unfreed
from podwright.online.client.cluster import ChangedObject, Meta
from podwright.online.sync.mirror import (
    DELETED_HERE,
    IGNORED_DELETIONS,
    MADE_CLAIMS,
    RUNNING_PODS,
    Mirror,
)
from podwright.online.sync.operations import BindPod, Create, Delete, Settle
from podwright.online.sync.placements import RECENT_MAX, Placements, SeenPods
from podwright.online.sync.settlement import THERE, Difference, ObjectDifference
from podwright.online.sync.source import SourceChange
from podwright.online.sync.source_kinds import source_kinds
from podwright.online.sync.tests.copied_cluster import CopiedCluster
from podwright.online.sync.tests.source_changes import KINDS, change, node_of, taken
from podwright.scheduler.columns import SPREAD_SELECTOR


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
    assert [(each.kind, each.key) for each in kept] == [(KINDS["pods"], "default/p")]
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
    assert mirror.unfreed(lambda _: True) == Unfreed(pods=0, milli_cpu=0, memory_bytes=0)
    without = {"containers": [{"name": "c"}]}
    taken(mirror, change("Add", "q", spec=without, node="n1", status={"phase": "Failed"}))
    assert mirror.unfreed(lambda _: True) == Unfreed(pods=1, milli_cpu=0, memory_bytes=0)

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
    # What was compared at the start is not there again when it was deleted.
    operations = taken(mirror, change("Delete", "same"), change("Add", "same", uid="u6"))
    assert [type(each) for each in operations] == [Delete, Create]
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


def claim(name="c", uid="u1", metadata=None, **status):
    return change("Add", name, uid=uid, kind="resourceclaims", metadata=metadata, status=status)


DEVICES = {"devices": {"results": [{"request": "r", "device": "gpu-0"}]}}


def test_a_claim_is_created_without_devices_and_users():
    (created,) = taken(Mirror(SyncPolicies()), claim(allocation=DEVICES, reservedFor=[{}]))
    assert isinstance(created, Create)
    assert "status" not in created.obj
    (created,) = taken(Mirror(SyncPolicies()), change("Add", "v", kind="persistentvolumeclaims",
                                                      status={"phase": "Bound"}))  # fmt: skip
    assert created.obj["status"] == {"phase": "Bound"}, "servers set the status of others"


def test_what_the_destination_has_not_got_is_created_with_its_next_change():
    mirror = Mirror(SyncPolicies())
    taken(mirror, change("Add", "c", kind="runtimeclasses", handler="h"))
    assert mirror.mirrors("runtimeclasses", "c")
    mirror.forget("runtimeclasses", "c")
    assert not mirror.mirrors("runtimeclasses", "c")
    mirror.forget("runtimeclasses", "c")
    (created,) = taken(mirror, change("Update", "c", kind="runtimeclasses", handler="h"))
    assert isinstance(created, Create)


def test_an_unchanged_object_is_not_written():
    mirror = Mirror(SyncPolicies())
    for kind, field in (("runtimeclasses", "handler"), ("pods", "metadata")):
        values = [{"labels": {"a": "1"}}, {"labels": {"a": "2"}}] if kind == "pods" else ["1", "2"]
        taken(mirror, change("Add", "c", kind=kind, **{field: values[0]}))
        assert taken(mirror, change("Update", "c", kind=kind, **{field: values[0]})) == []
        (settle,) = taken(mirror, change("Update", "c", kind=kind, **{field: values[1]}))
        assert isinstance(settle, Settle)


ZONE = {"topology.kubernetes.io/zone": "z1", "app": "a"}


@pytest.mark.parametrize(
    ("bound", "labels", "keeps_status"),
    [
        pytest.param(BoundPods.kss, ZONE, True, id="it keeps its node and what that gave it"),
        pytest.param(BoundPods.source, ZONE, True, id="the source schedules"),
        pytest.param(BoundPods.none, {"app": "a"}, False, id="another node gives it another zone"),
    ],
)
def test_a_pod_has_the_topology_and_the_status_of_the_node_that_it_keeps(
    bound, labels, keeps_status
):
    mirror = Mirror(SyncPolicies(bound=bound))
    pod = change("Add", "p", node="n1", metadata={"labels": ZONE}, status={"phase": "Running"})
    (created,) = taken(mirror, pod)
    assert created.obj["metadata"]["labels"] == labels
    assert ("status" in created.obj) is keeps_status
    assert created.node == "n1"


@pytest.mark.parametrize(
    ("owner", "annotations", "keeps"),
    [("ReplicaSet", {"a": "b"}, False), ("DaemonSet", None, True), ("Job", None, False)],
)
def test_pods_of_other_owners_are_scheduled_here(owner, annotations, keeps):
    metadata = {"ownerReferences": [{"kind": owner, "name": "o"}], "annotations": annotations}
    mirror = Mirror(SyncPolicies(bound=BoundPods.none))
    made = taken(mirror, change("Add", "p", node="n1", metadata=metadata, spec={"containers": []}))
    assert node_of(made) == ("n1" if keeps else "")


def test_a_finished_pod_is_created_and_then_gets_its_phase():
    policies = SyncPolicies(mirrors_pod_status=True)
    for phase, operations in (
        ("Succeeded", [Create, Settle]),
        ("Failed", [Create, Settle]),
        ("Running", [Create]),
    ):
        pod = change("Add", "p", node="n1", initial=True, status={"phase": phase})
        assert [type(each) for each in taken(Mirror(policies), pod)] == operations


def test_a_pod_that_replaces_a_finished_one_occupies_what_it_occupies():
    mirror = Mirror(SyncPolicies())
    spec = {"containers": resources("1")}
    for phase in ("Running", "Failed"):
        taken(mirror, change("Update", "p", spec=spec, node="n1", status={"phase": phase}))
    assert mirror.unfreed(lambda _: True).milli_cpu == 1000
    taken(mirror, change("Update", "p", uid="u2", spec=spec, status={"phase": "Running"}))
    assert mirror.unfreed(lambda _: True).pods == 0


RUNNING = {"node": "n1", "initial": True, "created": "2030-01-01T00:00:04Z"}
WAITING = {"initial": True, "created": "2030-01-01T00:00:04Z"}
NEW = {"node": "n1", "initial": True, "created": "2030-01-01T00:00:20Z"}


@pytest.mark.parametrize(
    ("policies", "until", "pod", "policy"),
    [
        pytest.param({"excludes_running": True}, "", RUNNING, RUNNING_PODS, id="the first sync"),
        pytest.param({"excludes_running": True}, "", WAITING, None, id="it waits"),
        pytest.param({"excludes_running": True}, "", {"node": "n1"}, None, id="it came later"),
        pytest.param({"excludes_running": True}, "2030-01-01T00:00:15Z", RUNNING, RUNNING_PODS,
                     id="an earlier sync left it out"),
        pytest.param({"excludes_running": True}, "2030-01-01T00:00:15Z", NEW, None,
                     id="it was created and placed while nothing was followed"),
        pytest.param({"excludes_running": True, "restores_deleted": True}, "2030-01-01T00:00:15Z",
                     WAITING, None, id="it was deleted here, and is restored"),
        pytest.param({}, "2030-01-01T00:00:15Z", WAITING, DELETED_HERE, id="it was deleted here"),
        pytest.param({}, "", RUNNING, None, id="nothing is left out"),
    ],
)  # fmt: skip
def test_which_pods_are_left_out_and_why(policies, until, pod, policy):
    kept: list[ObjectDifference] = []
    mirror = Mirror(SyncPolicies(**policies), seen=SeenPods(until), on_kept=kept.append)
    made = taken(mirror, change("Add", "p", **pod))
    assert bool(made) is (policy is None)
    assert mirror.kept_deleted == (policy == DELETED_HERE)
    expected = [] if policy is None else [
        ObjectDifference(KINDS["pods"], "default/p", Difference("", THERE, None, policy))
    ]  # fmt: skip
    assert kept == expected


@pytest.mark.parametrize(
    ("policies", "until"),
    [
        pytest.param({"excludes_running": True}, "", id="it had a node"),
        pytest.param({}, "2030-01-01T00:00:15Z", id="it was deleted here"),
    ],
)
def test_a_pod_that_is_left_out_stays_out(policies, until):
    mirror = Mirror(SyncPolicies(**policies), seen=SeenPods(until))
    update = change("Update", "p", node="n1", status={"phase": "Running"})
    assert taken(mirror, change("Add", "p", node="n1", initial=True), update, update) == []
    assert mirror.kept_deleted == (1 if until else 0)
    # Another pod of its name does not.
    other = change("Update", "p", uid="u7")
    assert [type(each) for each in taken(mirror, other)] == [Create]
    mirror = Mirror(SyncPolicies(**policies), seen=SeenPods(until))
    taken(mirror, change("Add", "p", node="n1", initial=True))
    assert taken(mirror, change("Delete", "p")) == []


def test_a_claim_that_was_made_for_a_pod_is_left_out_and_named():
    kept: list[ObjectDifference] = []
    mirror = Mirror(SyncPolicies(), on_kept=kept.append)
    metadata = {
        "ownerReferences": [{"kind": "Pod", "uid": "p", "controller": True}],
        "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
    }
    assert taken(mirror, claim(metadata=metadata)) == []
    difference = Difference("", THERE, None, MADE_CLAIMS)
    assert kept == [ObjectDifference(KINDS["resourceclaims"], "default/c", difference)]


def test_a_comparison_deletes_copies_alone():
    def here(name, **annotations):
        metadata = {"name": name, "namespace": "default", "annotations": annotations or None}
        return json.dumps({"metadata": metadata}).encode()

    extended = "resource.kubernetes.io/extended-resource-claim"
    present = {
        "default/own": here("own"),
        "default/gone": here("gone", **{SOURCE_UID: "u7"}),
        "default/other": here("other", **{SOURCE_UID: "u8"}),
        "default/of-pod": here("of-pod", **{SOURCE_UID: "u9", extended: "true"}),
    }
    kind = KINDS["resourceclaims"]
    compared = [*Mirror(SyncPolicies()).compare(kind, [claim("other")], present)]
    deleted = [(each.change.meta, list(operations)) for each, operations in compared[:2]]
    assert deleted == [
        (Meta(name=name, namespace="default", uid=uid), [Delete(kind, f"default/{name}")])
        for name, uid in (("gone", "u7"), ("other", "u8"))
    ]
    # An object with another uid is not a copy of it, and is created.
    ((_, (created,)),) = compared[2:]
    assert isinstance(created, Create)


def workload(event, resource, name, *, namespace="default", uid=None, **document):
    kind = {each.resource: each for each in source_kinds(has_workloads=True)}[resource]
    metadata = {"name": name, "namespace": namespace}
    body = json.dumps({"metadata": metadata, **document}).encode()
    meta = Meta(name=name, namespace=namespace, uid=uid or name, resource_version="1")
    return SourceChange(kind, ChangedObject(event, meta, body), 0)


def test_a_service_changes_the_pods_of_its_namespace_that_wait():
    mirror, copied = Mirror(SyncPolicies()), CopiedCluster()
    labels = {"labels": {"tier": "x"}, "annotations": {"team": "a"}}
    for name, uid in (("p", "u1"), ("placed", "u2")):
        copied.follow(mirror, change("Add", name, uid=uid, metadata=labels, spec={}))
    mirror.placed("default/placed")
    service = workload("Add", "services", "s", spec={"selector": {"tier": "x"}})
    elsewhere = workload("Add", "services", "s", namespace="n", spec={"selector": {"tier": "x"}})
    copied.follow(mirror, elsewhere)
    assert copied.writes == ["create", "create"]
    copied.follow(mirror, service)
    selector = "podwright.dev/spread-selector"
    assert copied.pod()["metadata"]["annotations"] == {
        "team": "a", SOURCE_UID: "u1", selector: "tier=x"
    }  # fmt: skip
    assert selector not in copied.pod("placed")["metadata"]["annotations"]
    # What is not read of a Service changes nothing.
    ports = {"selector": {"tier": "x"}, "ports": [{"port": 80}]}
    assert mirror.take(workload("Update", "services", "s", uid="new", spec=ports)) == ()
    copied.follow(mirror, workload("Update", "services", "s", spec={"selector": {"tier": "y"}}))
    assert selector not in copied.pod()["metadata"]["annotations"]
    copied.follow(mirror, service)
    assert selector in copied.pod()["metadata"]["annotations"]
    copied.follow(mirror, workload("Delete", "services", "s"))
    assert selector not in copied.pod()["metadata"]["annotations"]
    assert mirror.take(workload("Delete", "services", "s")) == ()


def test_a_pod_with_constraints_of_its_own_gets_no_others():
    own = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
    for is_explicit in (True, False):
        mirror = Mirror(SyncPolicies(has_explicit_spread=is_explicit))
        taken(mirror, workload("Add", "services", "s", spec={"selector": {"tier": "x"}}))
        spec = {"containers": [], "topologySpreadConstraints": own}
        (made,) = taken(mirror, change("Add", "p", metadata={"labels": {"tier": "x"}}, spec=spec))
        assert made.obj["spec"]["topologySpreadConstraints"] == own
        assert made.obj["metadata"]["annotations"] == {SOURCE_UID: "u1"}


def test_an_expression_without_values_is_written_without_them():
    mirror = Mirror(SyncPolicies(has_explicit_spread=True))
    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    taken(
        mirror, workload("Add", "replicasets", "web", spec={"selector": selector, "template": {}})
    )
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web"}
    metadata = {"labels": {"app": "a"}, "ownerReferences": [{**owner, "controller": True}]}
    (made,) = taken(mirror, change("Add", "p", metadata=metadata))
    for each in made.obj["spec"]["topologySpreadConstraints"]:
        assert each["whenUnsatisfiable"] == "ScheduleAnyway"
        expressions = each["labelSelector"]["matchExpressions"]
        assert expressions == [{"key": "app", "operator": "Exists"}]


def test_a_pod_that_returns_to_no_decision_is_different_no_longer():
    placements = Placements(2)
    placements.put(0, "p", "n1")
    placements.put(1, "p", "n2")
    assert placements.is_placed(1, "p")
    assert placements.put(1, "p", None) is None
    assert (placements.different(), placements.elsewhere(1)) == ([], 0)
    assert not placements.is_placed(1, "p")
    # It is a difference again when it is decided again, and so is another node.
    assert placements.put(1, "p", "n2") is not None
    found = placements.put(1, "p", "n3")
    assert found is not None
    assert (found.pod, found.nodes) == ("p", ["n1", "n3"])
    assert [each.nodes for each in placements.different()] == [["n1", "n3"]]
    # One that the source does not have is not placed otherwise.
    placements.put(1, "q", "n1")
    assert placements.elsewhere(1) == 1


def test_uids_are_known_of_the_last_five_seconds_to_the_second():
    seen = SeenPods()
    for uid, second in (("a", "04"), ("b", "05"), ("c", "10"), ("late", "04")):
        seen.add(uid, f"2030-01-01T00:00:{second}Z")
    assert seen.recent == ["b", "c"]
    after = SeenPods(seen.until, seen.recent)
    table = [("x", "04", True), ("x", "05", False), ("b", "05", True), ("x", "11", False)]
    for uid, second, expected in table:
        assert after.has_seen_before(uid, f"2030-01-01T00:00:{second}Z") is expected
    # What the later sync sees changes nothing about the earlier one, and keeps its uids.
    after.add("d", "2030-01-01T00:00:12Z")
    assert not after.has_seen_before("d", "2030-01-01T00:00:12Z")
    assert after.recent == ["b", "c", "d"]
    after.add("e", "2030-01-01T00:00:16Z")
    assert after.recent == ["d", "e"]


def test_a_class_that_is_no_default_any_longer_is_an_update():
    notes = {"storageclass.beta.kubernetes.io/is-default-class": "true"}
    own = {"metadata": {"name": "s", "annotations": notes}, "provisioner": "p"}
    kind = KINDS["storageclasses"]
    ((each, (settle,)),) = Mirror(SyncPolicies()).compare(kind, [], {"s": json.dumps(own).encode()})
    assert (each.kind, each.change.event, each.change.meta) == (kind, "Update", Meta(name="s"))
    assert isinstance(settle, Settle)
    assert (settle.key, settle.present) == ("s", own)
    of_source = change("Add", "s", kind="storageclasses", provisioner="q")
    other = {"metadata": {"name": "t"}, "provisioner": "p"}
    assert not list(Mirror(SyncPolicies()).compare(kind, [], {"t": json.dumps(other).encode()}))
    found = list(Mirror(SyncPolicies()).compare(kind, [of_source], {"s": json.dumps(own).encode()}))
    assert [each for each, _ in found] == [of_source], "the source says what its classes are"


def test_a_service_selects_waiting_pods_by_their_labels_of_now():
    kinds = {kind.resource: kind for kind in source_kinds(has_workloads=True)}
    spec = {"containers": [{"name": "c"}]}
    service = {"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"a": "2"}}}
    created = SourceChange(
        kinds["services"],
        ChangedObject("Add", Meta(name="s", namespace="default"), json.dumps(service).encode()),
        0,
    )
    for is_placed in (False, True):
        mirror = Mirror(SyncPolicies())
        taken(mirror, change("Add", "p", spec=spec, metadata={"labels": {"a": "1"}}))
        if is_placed:
            mirror.placed("default/p")
        taken(mirror, change("Update", "p", spec=spec, metadata={"labels": {"a": "2"}}))
        found = [each.obj["metadata"]["annotations"] for each in taken(mirror, created)]
        assert [SPREAD_SELECTOR in each for each in found] == ([] if is_placed else [True])
        assert not taken(mirror, created), "nothing has changed"
        deleted = SourceChange(kinds["services"], ChangedObject("Delete", created.change.meta), 0)
        for again in (deleted, created):
            assert len(taken(mirror, again)) == len(found)
        assert not taken(mirror, deleted, deleted)[len(found) :], "it was gone"

"""The operations of the storage, on a store in memory and one in a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod, parse_field_selector, with_fields
from podwright.apimachinery.schema import decode
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.preconditions import deletion_conflict
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.store import (
    AlreadyExists,
    NotFound,
    kind_of,
)
from podwright.cluster.store.tests.documents import (
    CONFIG_MAP,
    DEPLOYMENT,
    NAMESPACE,
    NOW,
    SECOND,
    a_config_map,
    a_pod,
    document,
    seen,
)

# --------------------------------------------------------------------------- creating


def test_a_new_object_gets_the_servers_metadata(store):
    body = a_pod(metadata={"uid": "mine", "generation": 9, "resourceVersion": "", "selfLink": "/"})
    made = store.create(body, NOW)
    assert made.outcome == "created"
    assert made.resource_version == 2
    written = made.object.raw["metadata"]
    assert written["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert written["generation"] == 1
    assert written["resourceVersion"] == "2"
    assert written["uid"] != "mine"
    assert "selfLink" not in written
    assert made.object.raw["spec"]["containers"][0]["image"] == "nginx"
    assert store.get(Pod, "default/web") is made.object


def test_uids_and_names_are_functions_of_the_seed(make):
    def one(seed: int) -> tuple[str, str]:
        body = decode({"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "web-"}})
        obj = make(seed=seed).create(body, NOW).object
        assert obj.raw["metadata"]["generateName"] == "web-"
        return obj.name, obj.uid

    name, uid = one(7)
    assert one(7) == (name, uid)
    assert one(8) != (name, uid)
    assert len(name) == len("web-") + 5
    assert uid[14] == "4"
    assert len(uid) == 36


def test_an_object_made_from_structs_is_stored_as_a_document(store):
    from podwright.testing import make_pod

    stored = store.create(make_pod("web", cpu="500m"), NOW).object
    assert stored.raw["spec"]["containers"]
    assert stored.key == "default/web"


def test_a_name_is_unique(store):
    store.create(a_pod(metadata={"finalizers": ["x.io/a"]}), NOW)
    with pytest.raises(AlreadyExists) as refused:
        store.create(a_pod(), NOW)
    assert not refused.value.is_terminating
    store.delete(Pod, "default/web", NOW)
    with pytest.raises(AlreadyExists, match="being deleted"):
        store.create(a_pod(), NOW)
    store.create(a_config_map("web"), NOW)


def test_kinds_without_generation_get_none(store):
    assert "generation" not in store.create(a_config_map(), NOW).object.raw["metadata"]
    zero = a_config_map(metadata={"name": "zero", "generation": 0, "selfLink": "/x"})
    found = store.create(zero, NOW).object.raw["metadata"]
    assert not found.keys() & {"generation", "selfLink"}
    changed = store.update(a_config_map(data={"a": "1"})).object
    assert changed.raw["data"] == {"a": "1"}
    assert changed.metadata.generation == 0
    assert "generation" not in changed.raw["metadata"]


# --------------------------------------------------------------------------- updating


def test_a_stale_write_is_rejected_and_changes_nothing(store):
    first = store.create(a_config_map(data={"a": "1"}), NOW).object
    changed = a_config_map(metadata={"resourceVersion": "2"}, data={"a": "2"})
    second = store.update(changed).object
    with pytest.raises(Rejection, match="the object has been modified") as refused:
        store.update(first)
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    assert store.get(CONFIG_MAP, "default/settings") is second
    assert store.resource_version == 3


def test_a_body_with_another_uid_is_rejected(store):
    store.create(a_config_map(), NOW)
    with pytest.raises(Rejection) as refused:
        store.update(a_config_map(metadata={"uid": "other"}, data={"a": "1"}))
    assert (refused.value.code, refused.value.reason) == (409, "Conflict")
    uid = store.require(CONFIG_MAP, "default/settings").uid
    assert refused.value.message.endswith(
        "Key: /registry/configmaps/default/settings, ResourceVersion: 0, AdditionalErrorMsg:"
        f" Precondition failed: UID in precondition: other, UID in object meta: {uid}"
    )


def test_a_version_that_is_not_a_number_is_rejected_and_zero_holds(store):
    store.create(a_config_map(), NOW)
    with pytest.raises(Rejection, match="invalid syntax"):
        store.update(a_config_map(metadata={"resourceVersion": "x"}, data={"a": "1"}))
    changed = a_config_map(metadata={"resourceVersion": "0"}, data={"a": "1"})
    assert store.update(changed).outcome == "updated"


@pytest.mark.parametrize("write", ["update", "delete", "bind", "drop"])
def test_a_missing_object_is_not_found(store, write):
    calls: dict[str, Callable[[], Any]] = {
        "update": lambda: store.update(a_pod()),
        "delete": lambda: store.delete(Pod, "default/web", NOW),
        "bind": lambda: store.bind("default/web", "n1", NOW),
        "drop": lambda: store.drop(Pod, "default/web"),
    }
    with pytest.raises(NotFound, match="Pod default/web: not found"):
        calls[write]()


def test_an_invalid_version_is_rejected(store):
    store.create(a_config_map(), NOW)
    with pytest.raises(Rejection, match='"latest": invalid syntax'):
        store.update(a_config_map(metadata={"resourceVersion": "latest"}))


def test_a_write_that_changes_nothing_uses_no_version(store):
    made = store.create(a_config_map(data={"a": "1"}), NOW)
    cursor = store.watch(CONFIG_MAP, since=store.resource_version)
    again = store.update(a_config_map(data={"a": "1"}))
    assert (again.outcome, again.resource_version) == ("unchanged", made.resource_version)
    assert not cursor.poll()


def test_an_update_keeps_the_servers_metadata(store):
    made = store.create(a_config_map(), NOW).object
    body = a_config_map(
        metadata={"creationTimestamp": "2020-01-01T00:00:00Z", "deletionTimestamp": "2020"},
        data={"a": "1"},
    )
    new = store.update(body).object
    assert new.uid == made.uid
    assert new.metadata.creation_timestamp == made.metadata.creation_timestamp
    assert new.metadata.deletion_timestamp is None
    assert "deletionTimestamp" not in new.raw["metadata"]


@pytest.mark.parametrize(
    ("scope", "phase", "image", "generation"),
    [
        pytest.param("main", "Pending", "new", 2, id="the object, without its status"),
        pytest.param("status", "Running", "nginx", 1, id="the status, without the object"),
        pytest.param("whole", "Running", "new", 2, id="both"),
    ],
)
def test_an_update_replaces_its_scope(store, scope, phase, image, generation):
    store.create(a_pod(status={"phase": "Pending"}), NOW)
    body = a_pod(
        spec={"containers": [{"name": "c", "image": "new"}]},
        status={"phase": "Running"},
        metadata={"labels": {"a": "b"}},
    )
    new = store.update(body, scope=scope).object
    assert new.raw["status"]["phase"] == new.status.phase == phase
    assert new.raw["spec"]["containers"][0]["image"] == image
    assert new.metadata.generation == new.raw["metadata"]["generation"] == generation
    assert new.metadata.labels == {"a": "b"}


def with_parts(obj: Any, **parts: Any) -> Any:
    """Return an update by a client: the object as read, with changed sections."""
    return decode({**obj.raw, **parts}, source="test")


def with_status_only(obj: Any, status: dict[str, Any]) -> Any:
    """Return a status update by the simulator: the same metadata, another status."""
    new = decode({**obj.raw, "status": status}, source="test")
    return msgspec.structs.replace(new, metadata=obj.metadata, raw=obj.raw | {"status": status})


ANY_STATUS = [
    pytest.param(a_pod, {"phase": "Running"}, id="pod"),
    pytest.param(
        lambda: document("Deployment", "web", "apps/v1", spec={"replicas": 1}),
        {"replicas": 1},
        id="deployment",
    ),
    pytest.param(
        lambda: document("ReplicaSet", "web", "apps/v1", spec={"replicas": 1}),
        {"replicas": 1},
        id="replica set",
    ),
    pytest.param(
        lambda: document("Job", "web", "batch/v1", spec={"completions": 1}),
        {"active": 1},
        id="a kind whose status is read from its document",
    ),
]


@pytest.mark.parametrize("send", [with_status_only, lambda obj, s: with_parts(obj, status=s)])
@pytest.mark.parametrize(("new_object", "status"), ANY_STATUS)
def test_a_write_of_the_status_has_a_version_and_no_generation(store, new_object, status, send):
    made = store.create(new_object(), NOW).object
    assert made.metadata.generation == made.raw["metadata"]["generation"] == 1
    answer = store.update(send(made, status), scope="status")
    new = answer.object
    before = int(made.metadata.resource_version)
    assert (answer.outcome, answer.resource_version) == ("updated", before + 1)
    assert new.metadata.generation == new.raw["metadata"]["generation"] == 1
    assert new.metadata.resource_version == str(before + 1)
    assert new.raw["metadata"]["resourceVersion"] == str(before + 1)
    assert new.raw["status"] == status
    fresh: Any = decode(new.raw)
    if hasattr(new, "status"):
        assert new.status == fresh.status
    assert {**new.raw, "metadata": made.raw["metadata"], "status": None} == {
        **made.raw,
        "status": None,
    }
    assert made.raw["metadata"]["resourceVersion"] == str(before), "the fields that were read stay"
    again = store.update(send(new, dict(status)), scope="status")
    assert (again.outcome, again.resource_version) == ("unchanged", before + 1)
    assert store.resource_version == before + 1
    # The next update of the object increments the previous generation.
    spec = {**new.raw["spec"], "paused": True}
    third = store.update(with_parts(new, spec=spec, status={}), scope="main").object
    assert third.metadata.generation == third.raw["metadata"]["generation"] == 2
    assert third.raw["status"] == status


@pytest.mark.parametrize(("new_object", "status"), ANY_STATUS)
def test_an_update_of_the_status_changes_nothing_else(store, new_object, status):
    made = store.create(new_object(), NOW).object
    other = with_parts(made, spec={**made.raw["spec"], "paused": True})
    assert store.update(other, scope="status").outcome == "unchanged"
    new = store.update(with_parts(other, status=status), scope="status").object
    assert new.raw["spec"] == made.raw["spec"]
    assert new.raw["status"] == status
    assert new.metadata.generation == 1
    # The same holds for a body with the metadata that was read.
    sent = with_status_only(new, {"message": "hello"})
    sent = msgspec.structs.replace(sent, raw=sent.raw | {"spec": other.raw["spec"]})
    new = store.update(sent, scope="status").object
    assert (new.raw["spec"], new.raw["status"]) == (made.raw["spec"], {"message": "hello"})
    # Annotations in a status update do not increment a deployment's generation either.
    metadata = {**new.raw["metadata"], "annotations": {"a": "b"}}
    noted = store.update(with_parts(new, metadata=metadata), scope="status").object
    assert noted.metadata.annotations == {"a": "b"}
    assert noted.metadata.generation == noted.raw["metadata"]["generation"] == 1


@pytest.mark.parametrize(("new_object", "status"), ANY_STATUS)
def test_an_update_of_the_object_ignores_its_status(store, new_object, status):
    made = store.create(new_object(), NOW).object
    assert store.update(with_parts(made, status=status), scope="main").outcome == "unchanged"
    assert "phase" not in (store.get(kind_of(made), made.key).raw.get("status") or {})
    both = store.update(with_parts(made, status=status), scope="whole").object
    assert both.raw["status"] == status
    assert both.metadata.generation == both.raw["metadata"]["generation"] == 1


def test_a_status_update_without_a_status_removes_it(store):
    made = store.create(a_pod(status={"phase": "Running"}), NOW).object
    bare = decode({name: part for name, part in made.raw.items() if name != "status"})
    assert store.update(bare, scope="main").outcome == "unchanged"
    new = store.update(bare, scope="status").object
    assert "status" not in new.raw
    assert new.status == Pod().status
    assert new.metadata.generation == 1


def test_each_update_increments_the_generation_once(store):
    made = store.create(a_pod(), NOW).object
    for count in (2, 3, 4):
        spec = {**made.raw["spec"], "priority": count}
        made = store.update(with_parts(made, spec=spec, status={"phase": "Running"})).object
        assert made.metadata.generation == made.raw["metadata"]["generation"] == count
        made = store.update(with_status_only(made, {"message": str(count)}), scope="status").object
        assert made.metadata.generation == made.raw["metadata"]["generation"] == count


def test_an_update_of_the_status_keeps_the_owner_references(store):
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}]
    store.create(a_pod(metadata={"ownerReferences": owners}), NOW)
    new = store.update(a_pod(status={"phase": "Running"}), scope="status").object
    assert new.raw["metadata"]["ownerReferences"] == owners
    assert new.metadata.owner_references[0].uid == "u"


@pytest.mark.parametrize("scope", ["main", "status", "whole"])
def test_unchanged_fields_keep_their_order(store, scope):
    # The decision log stores differences, so that a resumed run has the previous order.
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u"}
    metadata = {"ownerReferences": [owner], "labels": {"a": "b"}}
    there = store.create(a_pod(metadata=metadata, status={"phase": "Pending"}), NOW).object
    turned = dict(reversed((there.raw["metadata"] | {"resourceVersion": ""}).items()))
    is_other = {"spec": there.raw["spec"] | {"nodeName": "n1"}, "status": {"phase": "Running"}}
    body = decode(dict(reversed((there.raw | is_other | {"metadata": turned}).items())))
    new = store.update(body, scope=scope).object
    assert new.metadata.resource_version != there.metadata.resource_version
    assert list(new.raw["metadata"]) == list(there.raw["metadata"])
    assert list(new.raw) == list(there.raw)


def test_metadata_changes_increment_the_generation_of_deployments_only(store):
    for make_one in (a_pod, lambda **parts: document("Deployment", "web", "apps/v1", **parts)):
        store.create(make_one(), NOW)
        labelled = store.update(make_one(metadata={"labels": {"a": "b"}}))
        assert labelled.object.metadata.generation == 1
    noted = store.update(
        document("Deployment", "web", "apps/v1", metadata={"annotations": {"a": "b"}})
    )
    assert noted.object.metadata.generation == 2


def test_custom_kinds_count_changes_and_have_no_status_of_its_own(store):
    def body(replicas: int, ready: int) -> Any:
        parts = {"spec": {"replicas": replicas}, "status": {"ready": ready}}
        return document("Ring", "one", "x.io/v1", **parts)

    assert store.create(body(1, 1), NOW).object.metadata.generation == 1
    new = store.update(body(2, 2)).object
    assert new.raw["status"] == {"ready": 2}
    assert new.metadata.generation == 2


# ---------------------------------------------------------------------------- binding


def test_a_binding_sets_the_node_and_clears_the_nomination(store):
    waiting = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    store.create(a_pod(status={"conditions": [waiting], "nominatedNodeName": "n0"}), NOW)
    pod = store.bind("default/web", "n1", NOW).object
    assert pod.spec.node_name == "n1"
    assert pod.metadata.generation == 1
    assert "nominatedNodeName" not in pod.raw["status"]
    (condition,) = pod.raw["status"]["conditions"]
    assert condition == {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    assert [
        obj.name for obj in store.list(Pod, fields=parse_field_selector("spec.nodeName=n1")).objects
    ] == ["web"]


# --------------------------------------------------------------------------- deleting


def test_an_object_without_finalizers_is_removed_at_once(store):
    store.create(a_config_map(), NOW)
    cursor = store.watch(CONFIG_MAP, since=store.resource_version)
    gone = store.delete(CONFIG_MAP, "default/settings", NOW)
    assert (gone.outcome, gone.resource_version) == ("deleted", 3)
    assert gone.object.metadata.resource_version == "3"
    assert seen(cursor) == [("DELETED", "settings", 3)]
    assert store.get(CONFIG_MAP, "default/settings") is None
    assert store.count(CONFIG_MAP) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param({"uid": "other"}, "the UID in the precondition \\(other\\)", id="uid"),
        pytest.param({"resource_version": "9"}, "object might have been modified", id="version"),
    ],
)
def test_preconditions_protect_the_stored_object(store, options, words):
    stored = store.create(a_config_map(), NOW).object
    rejection = deletion_conflict(CONFIG_MAP, stored, DeleteOptions(**options))
    assert rejection is not None
    assert re.search(words, rejection.message)
    assert deletion_conflict(CONFIG_MAP, stored, DeleteOptions(uid=stored.uid)) is None


@pytest.mark.parametrize(
    ("kind", "subject"),
    [
        (("", "Namespace"), 'namespaces "settings"'),
        (("apiextensions.k8s.io", "CustomResourceDefinition"),
         'customresourcedefinitions.apiextensions.k8s.io "settings"'),
    ],
)  # fmt: skip
def test_some_kinds_have_plain_texts_of_preconditions(store, kind, subject):
    """Upstream: pkg/registry/core/namespace/storage/storage.go, Delete"""
    stored = store.create(a_config_map(), NOW).object
    rejection = deletion_conflict(kind, stored, DeleteOptions(uid="other"))
    assert rejection is not None
    assert rejection.message == (
        f"Operation cannot be fulfilled on {subject}: Precondition failed: UID in precondition:"
        f" other, UID in object meta: {stored.uid}"
    )


def test_an_object_is_removed_with_its_last_finalizer(store):
    store.create(a_config_map(metadata={"finalizers": ["x.io/a", "x.io/b"]}), NOW)
    cursor = store.watch(CONFIG_MAP, since=store.resource_version)
    marked = store.delete(CONFIG_MAP, "default/settings", NOW)
    assert marked.outcome == "updated"
    assert marked.object.raw["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert marked.object.raw["metadata"]["deletionGracePeriodSeconds"] == 0
    assert store.delete(CONFIG_MAP, "default/settings", NOW + SECOND).outcome == "unchanged"
    assert store.update(a_config_map(metadata={"finalizers": ["x.io/b"]})).outcome == "updated"
    gone = store.update(a_config_map())
    assert gone.outcome == "deleted"
    assert not gone.object.metadata.finalizers
    assert [line[0] for line in seen(cursor)] == ["MODIFIED", "MODIFIED", "DELETED"]


def test_the_last_state_of_a_released_object_still_has_its_finalizer(store):
    # As in a record of a real cluster: the event has the stored object.
    store.create(a_config_map(metadata={"finalizers": ["x.io/a"]}), NOW)
    store.delete(CONFIG_MAP, "default/settings", NOW)
    cursor = store.watch(CONFIG_MAP, since=store.resource_version)
    store.update(a_config_map())
    (event,) = cursor.poll()
    assert event.object.metadata.finalizers == ("x.io/a",)


@pytest.mark.parametrize(
    ("spec", "phase", "asked", "lines", "grace"),
    [
        pytest.param({}, "Pending", None, ["MODIFIED", "DELETED"], 0, id="no node"),
        pytest.param(
            {"nodeName": "n1"}, "Succeeded", None, ["MODIFIED", "DELETED"], 0, id="terminated"
        ),
        pytest.param({"nodeName": "n1"}, "Running", None, ["MODIFIED"], 30, id="running"),
        pytest.param(
            {"nodeName": "n1", "terminationGracePeriodSeconds": 5},
            "Running",
            None,
            ["MODIFIED"],
            5,
            id="its own grace period",
        ),
        pytest.param({"nodeName": "n1"}, "Running", 10, ["MODIFIED"], 10, id="requested"),
        pytest.param({"nodeName": "n1"}, "Running", -1, ["MODIFIED"], 1, id="negative is one"),
        pytest.param({"nodeName": "n1"}, "Running", 0, ["MODIFIED", "DELETED"], 0, id="now"),
    ],
)
def test_graceful_deletion_of_pods(store, spec, phase, asked, lines, grace):
    store.create(a_pod(spec=spec, status={"phase": phase}), NOW)
    cursor = store.watch(Pod, since=store.resource_version)
    answer = store.delete(Pod, "default/web", NOW, grace_seconds=asked)
    events = cursor.poll()
    assert [event.type for event in events] == lines
    assert answer.outcome == ("deleted" if "DELETED" in lines else "updated")
    metadata = events[0].object.metadata
    assert metadata.deletion_grace_period_seconds == grace
    assert metadata.deletion_timestamp == f"2026-01-01T00:00:{grace:02}Z"
    assert metadata.generation == 2
    assert answer.object.metadata.deletion_timestamp == metadata.deletion_timestamp


def test_a_grace_period_can_be_shortened_but_not_extended(store):
    store.create(a_pod(spec={"nodeName": "n1"}), NOW)
    store.delete(Pod, "default/web", NOW)
    for seconds in (60, 30, None):
        again = store.delete(Pod, "default/web", NOW, grace_seconds=seconds)
        assert again.outcome == "unchanged"
    shorter = store.delete(Pod, "default/web", NOW + 2 * SECOND, grace_seconds=10).object
    assert shorter.metadata.deletion_timestamp == "2026-01-01T00:00:10Z"
    assert shorter.metadata.generation == 2
    last = store.delete(Pod, "default/web", NOW + 7 * SECOND, grace_seconds=0)
    assert last.outcome == "deleted"
    assert last.object.metadata.deletion_timestamp == "2026-01-01T00:00:07Z"


def test_a_negative_grace_period_shortens_the_one_that_runs_to_a_second(store):
    store.create(a_pod(spec={"nodeName": "n1"}), NOW)
    store.delete(Pod, "default/web", NOW)
    metadata = store.delete(Pod, "default/web", NOW, grace_seconds=-1).object.metadata
    assert metadata.deletion_grace_period_seconds == 1
    assert metadata.deletion_timestamp == "2026-01-01T00:00:01Z"


def test_a_pod_with_finalizers_stays_after_its_grace_period(store):
    store.create(a_pod(spec={"nodeName": "n1"}, metadata={"finalizers": ["x.io/a"]}), NOW)
    store.delete(Pod, "default/web", NOW)
    kept = store.update(a_pod(spec={"nodeName": "n1"}))
    assert kept.outcome == "updated", "the kubelet has not confirmed the stop"
    store.update(a_pod(spec={"nodeName": "n1"}, metadata={"finalizers": ["x.io/a"]}))
    assert store.delete(Pod, "default/web", NOW, grace_seconds=0).outcome == "updated"
    assert store.update(a_pod(spec={"nodeName": "n1"})).outcome == "deleted"


@pytest.mark.parametrize(
    ("present", "propagation", "finalizers", "outcome"),
    [
        ([], "Foreground", ["foregroundDeletion"], "updated"),
        (["x.io/a"], "Orphan", ["x.io/a", "orphan"], "updated"),
        (["orphan"], "Background", None, "deleted"),
        (["orphan"], None, ["orphan"], "updated"),
    ],
)
def test_propagation_sets_finalizers(store, present, propagation, finalizers, outcome):
    store.create(document("Deployment", "web", "apps/v1", metadata={"finalizers": present}), NOW)
    answer = store.delete(DEPLOYMENT, "default/web", NOW, propagation=propagation)
    assert answer.outcome == outcome
    if finalizers is not None:
        assert answer.object.raw["metadata"]["finalizers"] == finalizers
        assert answer.object.metadata.generation == 2


def test_a_namespace_is_terminating_until_it_is_finalized(store):
    def body(*finalizers: str) -> Any:
        return document("Namespace", "team", spec={"finalizers": list(finalizers)})

    store.create(body("kubernetes"), NOW)
    marked = store.delete(NAMESPACE, "team", NOW)
    assert marked.outcome == "updated"
    assert marked.object.raw["status"]["phase"] == "Terminating"
    assert store.update(body()).outcome == "deleted"


def test_only_a_namespace_waits_for_the_finalizers_of_its_specification(store):
    """A custom object may have a field of that name; its second deletion changes it too."""
    spec, metadata = {"finalizers": ["kubernetes"]}, {"finalizers": ["x.io/a"]}
    store.create(document("Deployment", "web", "apps/v1", metadata=metadata, spec=spec), NOW)
    store.delete(DEPLOYMENT, "default/web", NOW)
    again = store.delete(DEPLOYMENT, "default/web", NOW, propagation="Foreground")
    assert again.object.metadata.finalizers == ("x.io/a", "foregroundDeletion")


# ------------------------------------------------------------------- objects of a record


def test_put_and_drop_change_only_the_version(store):
    recorded = a_pod(
        metadata={
            "uid": "u-1",
            "resourceVersion": "500",
            "generation": 4,
            "creationTimestamp": "2020-01-01T00:00:00Z",
            "deletionTimestamp": "2020-01-02T00:00:00Z",
            "finalizers": ["x.io/a"],
        }
    )
    kept = store.put(recorded)
    expected = recorded.raw | {"metadata": recorded.raw["metadata"] | {"resourceVersion": "2"}}
    assert kept.object.raw == expected
    assert store.put(recorded).outcome == "unchanged"
    assert store.put(with_fields(recorded, "status", phase="Running")).outcome == "updated"
    assert store.drop(Pod, "default/web").outcome == "deleted"


# ------------------------------------------------------------------------------ batches


def test_writes_of_a_batch_remain_when_one_fails(store):
    def twice() -> None:
        with store.batch():
            store.create(a_pod("a"), NOW)
            store.create(a_pod("a"), NOW)

    with pytest.raises(AlreadyExists):
        twice()
    assert store.count(Pod) == 1
    with store.batch():
        store.create(a_pod("b"), NOW)
        assert store.get(Pod, "default/b") is not None
    assert store.kinds() == [("", "Pod")]

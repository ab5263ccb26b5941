"""The last stages: how an object is encoded, and what a store has after a write."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api.deletion import DeleteOptions
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.stages.storing import (
    allocate,
    check_deletion,
    create,
    delete,
    encode,
    find,
    replace,
)
from podwright.cluster.api.stages.tests.writes import NOW, NOW_NS, parts, sent_write
from podwright.cluster.api.stages.write import Write
from podwright.cluster.store import ObjectStore
from podwright.testing import make_pod

CONFIG_MAP = ("", "ConfigMap")
TOO_LARGE = "etcdserver: request is too large"


def config_map(name: str = "a", **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", **metadata},
    }


def test_a_write_finds_its_object() -> None:
    store = ObjectStore()
    put = store.put(decode(config_map())).object
    write = Write(now_ns=NOW_NS, body=None, kind=CONFIG_MAP, key="default/a")
    assert find(parts(store), write) is None
    assert write.current is put


@pytest.mark.parametrize(
    ("kind", "key", "message"),
    [
        (CONFIG_MAP, "default/b", 'configmaps "b" not found'),
        (CONFIG_MAP, "other/a", 'configmaps "a" not found'),
        (("", "Node"), "n", 'nodes "n" not found'),
        (("apps", "Deployment"), "default/d", 'deployments.apps "d" not found'),
    ],
)
def test_a_missing_object_is_named_without_its_namespace(
    kind: tuple[str, str], key: str, message: str
) -> None:
    store = ObjectStore()
    store.put(decode(config_map()))
    error = find(parts(store), Write(now_ns=NOW_NS, body=None, kind=kind, key=key))
    assert error is not None
    assert (error.status["code"], error.status["message"]) == (404, message)


def test_preconditions_of_a_deletion() -> None:
    store = ObjectStore()
    current = store.put(decode(config_map(uid="u"))).object
    write = Write(now_ns=NOW_NS, body=None, kind=CONFIG_MAP, current=current)
    for options, is_met in (
        (DeleteOptions(), True),
        (DeleteOptions(uid="u", resource_version="2"), True),
        (DeleteOptions(uid="v"), False),
        (DeleteOptions(resource_version="1"), False),
    ):
        write.body = options
        assert (check_deletion(parts(store), write) is None) is is_met, options


class Numbers:
    """An allocator that keeps its calls."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __call__(self, document: Any, stored: Any, /, *, is_dry_run: bool) -> Any:
        self.calls.append((document, stored, is_dry_run))
        return document | {"data": {"number": str(len(self.calls))}}


def test_what_is_allocated_to_an_object_but_not_to_its_parts() -> None:
    numbers = Numbers()
    served = parts(allocators={CONFIG_MAP: numbers})
    new, old = config_map(), config_map(uid="u")
    write = sent_write("v1 ConfigMap", new)
    allocate(served, write)
    assert write.new == new | {"data": {"number": "1"}}
    write = sent_write("v1 ConfigMap", new, old=old, is_dry_run=True)
    allocate(served, write)
    assert write.new == new | {"data": {"number": "2"}}
    assert numbers.calls == [(new, None, False), (new, old, True)]
    for other in (
        sent_write("v1 ConfigMap", new, old=old, subresource="status"),
        sent_write("v1 Secret", new),
    ):
        allocate(served, other)
        assert other.new == new
    assert len(numbers.calls) == 2


def test_a_new_job_has_the_labels_of_its_template_once_it_is_read() -> None:
    template = {"metadata": {"labels": {"a": "1"}}, "spec": {}}
    for old, labels in ((None, {"a": "1"}), ({"metadata": {"name": "j"}}, None)):
        job = {"metadata": {"name": "j"}, "spec": {"template": template}}
        write = sent_write("batch/v1 Job", job, old=old)
        allocate(parts(), write)
        assert write.new["metadata"].get("labels") == labels


def test_an_encoded_object_has_the_uid_of_its_document() -> None:
    write = sent_write("v1 ConfigMap", config_map(uid="u") | {"data": {"a": "1"}})
    encode(parts(), write)
    assert write.uid == "u"
    assert write.body.raw == config_map(uid="u") | {"data": {"a": "1"}}
    assert write.new == write.body.raw


def test_an_update_keeps_the_times_of_entries_that_did_not_change() -> None:
    def entry(time: str) -> dict[str, Any]:
        return {
            "manager": "m", "operation": "Update", "apiVersion": "v1", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}},
        }  # fmt: skip

    old = config_map(managedFields=[entry("2025-01-01T00:00:00Z")]) | {"data": {"a": "1"}}
    new = config_map(managedFields=[entry(NOW)]) | {"data": {"a": "1"}}
    write = sent_write("v1 ConfigMap", new, old=old)
    encode(parts(), write)
    assert write.new == old
    fresh = sent_write("v1 ConfigMap", new)
    encode(parts(), fresh)
    assert fresh.new == new


def test_values_that_the_typed_object_cannot_hold() -> None:
    bad_status = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "uid": "u"},
        "spec": {"unschedulable": True},
        "status": {"capacity": {"cpu": "x"}},
    }
    write = sent_write("v1 Node", bad_status, namespace="")
    encode(parts(), write)
    assert write.body.raw == bad_status
    assert write.body.spec.unschedulable is True
    assert write.uid == "u"
    bad_spec = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n"},
        "spec": {"taints": [{"key": "a", "effect": "x"}]},
    }
    with pytest.raises(Rejection) as error:
        encode(parts(), sent_write("v1 Node", bad_spec, namespace=""))
    assert error.value.status["code"] == 422
    assert error.value.status["message"].startswith('Node "n" is invalid: spec.taints[0].effect: ')
    assert error.value.status["details"]["kind"] == "Node"


def test_a_write_in_another_version_keeps_the_whole_stored_status() -> None:
    metadata = {"name": "a", "namespace": "default", "uid": "u"}
    target = {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 2}
    kind = {"kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": target}
    stored = decode(
        {"apiVersion": "autoscaling/v2", **kind, "status": {"desiredReplicas": 1, "own": "kept"}}
    )
    sent = {"apiVersion": "autoscaling/v1", **kind, "status": {"desiredReplicas": 9}}
    name = "autoscaling/v1 HorizontalPodAutoscaler"
    for subresource, replicas, own in (("", 1, "kept"), ("status", 9, None)):
        write = sent_write(name, sent, old=sent, current=stored, subresource=subresource)
        encode(parts(), write)
        assert write.body.api_version == "autoscaling/v2"
        status = write.body.raw["status"]
        assert (status["desiredReplicas"], status.get("own")) == (replicas, own)


LARGE = "x" * 1_600_000


@pytest.mark.parametrize(
    ("text", "before", "options", "is_rejected"),
    [
        pytest.param(b"", "", {}, False, id="a short body is not measured"),
        pytest.param(b"y" * 200_000, "", {}, True, id="a long one is"),
        pytest.param(b"y" * 100_000, "", {}, False, id="up to an eighth of the limit"),
        pytest.param(b"y" * 100_000, "z" * 100_000, {}, True, id="with the stored object"),
        pytest.param(b"y", "z" * 200_000, {}, True, id="the stored object is large"),
        pytest.param(b"a: &b", "", {}, True, id="aliases say much in few bytes"),
        pytest.param(b'[{"op": "copy"}]', "", {}, True, id="copies of a JSON patch, too"),
        pytest.param(b"a: &b", "", {"is_dry_run": True}, False, id="a dry run stores nothing"),
    ],
)
def test_which_objects_are_measured(
    text: bytes, before: str, options: dict[str, Any], *, is_rejected: bool
) -> None:
    store = ObjectStore()
    old = None
    current = None
    if before:
        current = store.put(decode(config_map() | {"data": {"a": before}})).object
        old = current.raw
    new = config_map() | {"data": {"a": LARGE}}
    write = sent_write("v1 ConfigMap", new, old=old, current=current, text=text, **options)
    if is_rejected:
        with pytest.raises(Rejection) as error:
            encode(parts(store), write)
        assert (error.value.status["code"], error.value.status["message"]) == (500, TOO_LARGE)
    else:
        encode(parts(store), write)
        assert write.new == new


def test_a_created_object_is_stored_with_the_uid_of_the_write() -> None:
    store = ObjectStore()
    body = decode(config_map())
    owners = [{"manager": "m"}]
    for is_dry_run, found in ((True, None), (False, "u")):
        write = Write(now_ns=NOW_NS, body=body, uid="u", owners=owners, is_dry_run=is_dry_run)
        assert create(parts(store), write) is None
        assert write.stored is not None
        assert write.stored.outcome == "created"
        assert write.stored.object.raw["metadata"] == {
            "name": "a",
            "namespace": "default",
            "uid": "u",
            "resourceVersion": "2",
            "creationTimestamp": NOW,
            "managedFields": owners,
        }
        stored = store.get(CONFIG_MAP, "default/a")
        assert (None if stored is None else stored.uid) == found


def test_a_restored_object_keeps_its_time() -> None:
    for is_restored, time in ((True, "2020-01-01T00:00:00Z"), (False, NOW)):
        body = decode(config_map(creationTimestamp="2020-01-01T00:00:00Z"))
        write = Write(now_ns=NOW_NS, body=body, is_restored=is_restored)
        create(parts(), write)
        assert write.stored is not None
        assert write.stored.object.metadata.creation_timestamp == time


def test_a_replaced_object_is_stored_unless_nothing_is() -> None:
    store = ObjectStore()
    current = store.put(decode(config_map())).object
    for is_dry_run in (True, False):
        body = decode(current.raw | {"data": {"a": "1"}})
        write = Write(now_ns=NOW_NS, body=body, current=current, is_dry_run=is_dry_run)
        assert replace(parts(store), write) is None
        assert write.stored is not None
        assert write.stored.outcome == "updated"
        found = store.require(CONFIG_MAP, "default/a").raw.get("data")
        assert found == (None if is_dry_run else {"a": "1"})


def test_a_deletion_removes_or_marks() -> None:
    store = ObjectStore()
    bound = store.put(make_pod("p", node="n")).object
    kind = ("", "Pod")
    for options, is_dry_run, outcome, period in (
        (DeleteOptions(grace_seconds=5), True, "updated", None),
        (DeleteOptions(grace_seconds=5), False, "updated", 5),
        (DeleteOptions(grace_seconds=0), True, "deleted", 5),
    ):
        current = store.require(kind, bound.key)
        write = Write(
            now_ns=NOW_NS, body=options, kind=kind, current=current, is_dry_run=is_dry_run
        )
        assert delete(parts(store), write) is None
        assert write.stored is not None
        assert write.stored.outcome == outcome
        metadata = store.require(kind, bound.key).metadata
        assert metadata.deletion_grace_period_seconds == period
    owned = store.put(decode(config_map())).object
    write = Write(
        now_ns=NOW_NS, body=DeleteOptions(propagation="Foreground"), kind=CONFIG_MAP, current=owned
    )
    delete(parts(store), write)
    assert store.require(CONFIG_MAP, owned.key).metadata.finalizers == ("foregroundDeletion",)


def test_a_kind_whose_cleanup_the_server_does_is_marked_first() -> None:
    store = ObjectStore()
    current = store.put(decode(config_map())).object
    calls: list[Any] = []

    def mark(document: dict[str, Any], now_ns: int) -> dict[str, Any] | None:
        calls.append((document, now_ns))
        metadata = document["metadata"]
        if "deletionTimestamp" in metadata:
            return None
        return document | {"metadata": metadata | {"deletionTimestamp": NOW, "finalizers": ["c"]}}

    served = parts(store, marks={CONFIG_MAP: mark})
    for is_dry_run, time in ((True, None), (False, NOW)):
        write = Write(
            now_ns=NOW_NS, body=DeleteOptions(), kind=CONFIG_MAP, current=current,
            is_dry_run=is_dry_run,
        )  # fmt: skip
        assert delete(served, write) is None
        assert write.stored is not None
        assert write.stored.outcome == "updated"
        assert write.stored.object.metadata.deletion_timestamp == NOW
        stored = store.require(CONFIG_MAP, "default/a")
        assert stored.metadata.deletion_timestamp == time
    assert calls == [(current.raw, NOW_NS)] * 2
    # One that is marked is deleted as others are.
    marked = store.require(CONFIG_MAP, "default/a")
    write = Write(now_ns=NOW_NS, body=DeleteOptions(), kind=CONFIG_MAP, current=marked)
    delete(served, write)
    assert write.stored is not None
    assert write.stored.object.metadata.deletion_grace_period_seconds == 0

"""What the storage returns of each write: the object, its version and the outcome."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Document, KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.cluster.api.object_edits import with_fields_of_others
from podwright.cluster.api.rejections import Rejection, invalid
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.api.strategies.preparation import prepared_for_update
from podwright.cluster.api.tests.prepared import NOW_NS
from podwright.cluster.api.versions.resources import built_in_resources
from podwright.cluster.store import AlreadyExists, NotFound, ObjectStore, Stored

CONFIG_MAP = ("", "ConfigMap")


def config_map(data: Any = None, **metadata: Any) -> KubernetesObject:
    own = {"name": "a", "namespace": "default"} | metadata
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": own}
    return decode(document | ({} if data is None else {"data": data}))


def returning(owners: list[Document] | None) -> Any:
    return lambda _old, _new: owners


def facts(stored: Stored) -> tuple[str, int, str]:
    return stored.outcome, stored.resource_version, stored.object.metadata.resource_version


def test_the_outcome_and_the_version_of_each_write() -> None:
    store = ObjectStore(seed=7)
    storage = ResourceStorage(store)
    assert facts(storage.create(config_map(), NOW_NS, is_dry_run=True)) == ("created", 2, "2")
    assert store.resource_version == 1
    assert facts(storage.create(config_map(), NOW_NS)) == ("created", 2, "2")
    current = store.require(CONFIG_MAP, "default/a")
    store.put(config_map(name="other"))
    # What changes nothing has the version of the stored object.
    assert facts(storage.update(config_map())) == ("unchanged", 2, "2")
    assert facts(storage.replace(current, current)) == ("unchanged", 2, "2")
    changed = decode(current.raw | {"data": {"a": "1"}})
    assert facts(storage.replace(current, changed, is_dry_run=True)) == ("updated", 4, "2")
    assert store.resource_version == 3
    assert facts(storage.replace(current, changed)) == ("updated", 4, "4")
    assert facts(storage.update(config_map({"a": "2"}))) == ("updated", 5, "5")
    held = store.require(CONFIG_MAP, "default/a")
    marked = storage.delete(held, NOW_NS, propagation="Foreground")
    assert facts(marked) == ("updated", 6, "6")
    assert facts(storage.delete(marked.object, NOW_NS, propagation="Foreground")) == (
        "unchanged", 6, "6",
    )  # fmt: skip
    free = config_map({"a": "2"}, deletionTimestamp="2026-01-01T00:00:00Z")
    assert facts(storage.update(free)) == ("deleted", 7, "7")
    assert store.get(CONFIG_MAP, "default/a") is None
    again = storage.create(config_map(), NOW_NS).object
    dry = storage.delete(again, NOW_NS, is_dry_run=True)
    assert facts(dry) == ("deleted", 9, "8")
    assert facts(storage.delete(again, NOW_NS))[:2] == ("deleted", 9)


def test_writes_that_the_storage_refuses() -> None:
    store = ObjectStore()
    storage = ResourceStorage(store)
    with pytest.raises(NotFound):
        storage.update(config_map())
    storage.create(config_map(uid="x"), NOW_NS)
    with pytest.raises(AlreadyExists):
        storage.create(config_map(), NOW_NS)
    uid = store.require(CONFIG_MAP, "default/a").uid
    for metadata, message in (
        ({"uid": "v"}, f"UID in precondition: v, UID in object meta: {uid}"),
        ({"resourceVersion": "1"}, "the object has been modified"),
        ({"resourceVersion": "x"}, 'parsing "x": invalid syntax'),
        ({"resourceVersion": "9" * 5_000}, '9": value out of range'),
    ):
        with pytest.raises(Rejection, match=message):
            storage.update(config_map({"a": "1"}, **metadata))
    calls: list[Any] = []
    storage.update(
        config_map({"a": "1"}, uid=uid, resourceVersion="2"),
        validate=lambda new, old: calls.append((new.raw["data"], old.raw.get("data"))),
    )
    assert calls == [({"a": "1"}, None)]
    entries: list[Document] = [{"manager": "m"}]
    cases: tuple[Any, ...] = ((entries, entries), ([], None), (None, None))
    for owners, kept in cases:
        data = {"a": f"n{len(calls)}"}
        calls.append(None)
        made = storage.update(config_map(data), owners_of=returning(owners))
        assert made.object.raw["metadata"].get("managedFields") == kept


def deployment(metadata: Document | None = None, **spec: Any) -> KubernetesObject:
    own = {"name": "a", "namespace": "default"} | (metadata or {})
    return decode({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": own, "spec": spec})


def test_what_a_manifest_takes_from_the_stored_object() -> None:
    sent = deployment(replicas=2)
    assert with_fields_of_others(sent, sent).raw == sent.raw
    revision, restarted = "deployment.kubernetes.io/revision", "kubectl.kubernetes.io/restartedAt"
    stored = deployment(
        {"annotations": {revision: "3", "x": "1"}}, replicas=5,
        template={"metadata": {"annotations": {restarted: "t", "y": "1"}}},
    )  # fmt: skip
    for metadata, spec, of_object, replicas, of_template in (
        ({}, {}, {revision: "3"}, 5, {restarted: "t"}),
        ({}, {"template": {}}, {revision: "3"}, 5, {restarted: "t"}),
        (
            {"annotations": {revision: "9", "z": "2"}}, {"replicas": 2},
            {revision: "9", "z": "2"}, 2, {restarted: "t"},
        ),
        ({"annotations": {"z": "2"}}, {"replicas": 0}, {revision: "3", "z": "2"}, 0,
         {restarted: "t"}),
        (
            {}, {"template": {"metadata": {"annotations": {restarted: "u"}}}}, {revision: "3"}, 5,
            {restarted: "u"},
        ),
    ):  # fmt: skip
        made = with_fields_of_others(deployment(metadata, **spec), stored).raw
        assert made["metadata"]["annotations"] == of_object
        assert made["spec"]["replicas"] == replicas
        assert made["spec"]["template"]["metadata"]["annotations"] == of_template


LARGE, SMALL = {"requests": {"cpu": "2"}}, {"requests": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("kind", "sent", "stored", "kept"),
    [
        pytest.param("apps/v1 ReplicaSet", {}, {"replicas": 5}, {"replicas": 5}, id="scaled"),
        pytest.param("apps/v1 ReplicaSet", {"replicas": 2}, {"replicas": 5}, {"replicas": 2},
                     id="its own scale"),
        # LimitRanger, or a resize, has set them.
        pytest.param(
            "v1 Pod",
            {"containers": [{"name": "c"}, {"name": "b", "resources": SMALL}, {"name": "new"}]},
            {"containers": [{"name": "b", "resources": LARGE}, {"name": "c", "resources": LARGE}],
             "nodeName": "n"},
            {"containers": [{"name": "c", "resources": LARGE}, {"name": "b", "resources": SMALL},
                            {"name": "new"}], "nodeName": "n"},
            id="the resources of containers by their names",
        ),
        pytest.param("v1 Namespace", {"finalizers": ["a"]}, {"finalizers": ["kubernetes"]},
                     {"finalizers": ["a"]}, id="another list"),
    ],
)  # fmt: skip
def test_what_others_have_set_is_kept_where_a_manifest_has_none(
    kind: str, sent: Document, stored: Document, kept: Document
) -> None:
    version, _, kind = kind.partition(" ")
    head = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}}
    new, current = decode({**head, "spec": sent}), decode({**head, "spec": stored})
    assert with_fields_of_others(new, current).raw["spec"] == kept


def test_a_finalizer_of_others_is_added_to_those_of_a_manifest() -> None:
    protection = "resource.kubernetes.io/delete-protection"
    spec: Document = {"devices": {"requests": []}}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": spec}
    for own, kept in (
        ({}, [protection]),
        ({"finalizers": ["x/a"]}, ["x/a", protection]),
        ({"finalizers": [protection]}, [protection]),
    ):
        new = decode({**head, "metadata": {"name": "a", **own}})
        current = decode({**head, "metadata": {"name": "a", "finalizers": [protection, "x/b"]}})
        assert with_fields_of_others(new, current).raw["metadata"]["finalizers"] == kept


@pytest.mark.parametrize(
    ("problems", "text"),
    [
        ([("spec.a", "Required value", None)], "spec.a: Required value"),
        ([("", "Invalid value", 1)], "Invalid value"),
        ([("a", "X", 1), ("b", "Y", 1)], "[a: X, b: Y]"),
        ([("a", "X", 1), ("a", "X", 1)], "a: X"),
    ],
)
def test_the_text_of_problems_with_and_without_a_path(problems: Any, text: str) -> None:
    found = invalid("apps", "Deployment", "d", problems)
    assert found.status["message"] == f'Deployment.apps "d" is invalid: {text}'


def test_a_resize_with_other_containers_is_as_it_was_sent() -> None:
    pods = built_in_resources()["v1", "Pod"]

    def pod(containers: int, init: int, cpu: str) -> Document:
        def listed(count: int) -> list[Document]:
            return [{"name": str(i), "image": cpu, "resources": {"x": cpu}} for i in range(count)]

        spec = {"containers": listed(containers), "initContainers": listed(init)}
        return {"metadata": {"name": "p"}, "spec": spec}

    old = pod(1, 1, "1")
    for new, is_sent in (
        (pod(1, 1, "2"), False),
        (pod(2, 1, "2"), True),
        (pod(1, 2, "2"), True),
        (pod(2, 2, "2"), True),
    ):
        made = prepared_for_update(pods, new, old, NOW_NS, "resize")
        container = made["spec"]["containers"][0]
        assert container["resources"] == {"x": "2"}
        assert container["image"] == ("2" if is_sent else "1")

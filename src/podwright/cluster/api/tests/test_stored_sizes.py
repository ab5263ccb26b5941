"""Writes of components whose objects etcd would not store."""

import pytest

from podwright.apimachinery.objects import with_fields
from podwright.apimachinery.schema import decode
from podwright.cluster.api import Api, BindPod, CreateObject, UpdateObject
from podwright.cluster.api.bootstrap_objects import namespace
from podwright.cluster.api.field_management import ComponentOwners
from podwright.cluster.api.stored_sizes import SIZE_MAX_BYTES
from podwright.cluster.store import POD, ObjectStore

NOW_NS = 1_800_000_000_000_000_000
USER = "system:kubelet"
OWNERS = [{"manager": USER, "fieldsV1": {f"f:{number}": {} for number in range(100)}}]


class Owners(ComponentOwners):
    """Owners that take a kilobyte."""

    def __init__(self):
        pass

    def created(self, obj, user, now_ns):
        return OWNERS

    def updated(self, old, new, scope, user, now_ns):
        return OWNERS


@pytest.fixture
def api():
    store = ObjectStore(window_bytes=1 << 30)
    api = Api(store, is_served=True)
    api._parts.storage.create(namespace("default"), NOW_NS)
    api.keep_owners(Owners())
    return api


def pod(text_bytes):
    value = {"name": "text", "value": "x" * text_bytes}
    container = {"name": "main", "image": "app", "env": [value]}
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"containers": [container], "automountServiceAccountToken": False},
        }
    )


def created(api, text_bytes):
    return api.handle(CreateObject(pod(text_bytes), USER), USER, NOW_NS)


def owners_of(api):
    return api.store.get(POD, "default/a").raw["metadata"].get("managedFields")


def test_an_object_that_is_too_large_with_its_owners_has_none(api):
    assert created(api, SIZE_MAX_BYTES - 1_000).error is None
    assert owners_of(api) is None
    assert api.store.encodings.of(api.store.get(POD, "default/a").raw).count(b"fieldsV1") == 0


def test_an_object_that_fits_keeps_its_owners(api):
    assert created(api, SIZE_MAX_BYTES - 10_000).error is None
    assert owners_of(api) == OWNERS


def test_an_object_that_is_too_large_is_not_stored(api):
    error = created(api, SIZE_MAX_BYTES).error
    assert str(error) == "etcdserver: request is too large"
    assert api.store.count(POD) == 0


def test_an_object_does_not_grow_beyond_the_limit(api):
    assert created(api, SIZE_MAX_BYTES - 1_000).error is None
    stored = api.store.get(POD, "default/a")
    version = api.store.resource_version
    update = UpdateObject(with_fields(stored, "status", message="x" * 1_000), "status", USER)
    assert api.handle(update, USER, NOW_NS).error.code == 500
    bind = BindPod("default/a", "n" * 1_000, stored.uid, USER)
    assert api.handle(bind, USER, NOW_NS).error.code == 500
    assert api.store.resource_version == version
    assert api.store.get(POD, "default/a") is stored


@pytest.mark.parametrize("window_bytes", [None, 1 << 30])
def test_a_simulation_has_no_etcd(window_bytes):
    api = Api(ObjectStore(window_bytes=window_bytes))
    api._parts.storage.create(namespace("default"), NOW_NS)
    assert created(api, SIZE_MAX_BYTES).error is None

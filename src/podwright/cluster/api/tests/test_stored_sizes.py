"""Writes of components whose objects etcd would not store."""

import json

import pytest

from podwright.apimachinery.objects import with_fields
from podwright.apimachinery.schema import decode
from podwright.cluster.api import Api, BindPod, CreateObject, UpdateObject
from podwright.cluster.api.bootstrap_objects import namespace
from podwright.cluster.api.field_management import ComponentOwners
from podwright.cluster.api.rejections import Rejection
from podwright.cluster.api.stored_sizes import SIZE_MAX_BYTES, protobuf_size, storable
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


def test_protobuf_has_the_names_of_maps_only():
    document = {"kind": "ConfigMap", "data": {"a": "b" * 200}, "metadata": {"generation": 300}}
    entry = 2 + 1 + 3 + 200
    expected = (2 + 9) + (3 + 3 + entry) + (2 + 3)
    assert protobuf_size(document) == expected
    managed = {"fieldsV1": {"f:a": {}}, "time": "2026-01-01T00:00:00Z"}
    assert protobuf_size({"managedFields": [managed, managed]}) == 2 * (
        2 + (2 + 2 + len(json.dumps({"f:a": {}}, separators=(",", ":")))) + (2 + 20)
    )
    stamp = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    assert protobuf_size({"metadata": stamp}) == 2 + 10
    # A field of a list in a list is one of bytes.
    assert protobuf_size({"lists": [[1, 200], ["abc"]]}) == (2 + 2 + 3) + (2 + 5)
    assert protobuf_size({"paused": True, "none": None}) == 2 + 2


@pytest.mark.parametrize(
    ("number", "size"),
    [(0, 2), (127, 2), (128, 3), (2**14 - 1, 3), (2**14, 4), (1.5, 2)],
)
def test_seven_bits_of_a_number_take_a_byte(number, size):
    assert protobuf_size({"generation": number}) == size


@pytest.mark.parametrize(
    ("length", "size"),
    [(0, 2), (127, 129), (128, 131), (2**14 - 1, 2**14 + 2), (2**14, 2**14 + 4),
     (2**21 - 1, 2**21 + 3), (2**21, 2**21 + 5)],
)  # fmt: skip
def test_the_length_of_a_text_takes_bytes_too(length, size):
    assert protobuf_size({"kind": "x" * length}) == size


def test_an_object_that_fits_is_stored_as_it_is_and_another_without_its_managed_fields():
    document = {"metadata": {"name": "a", "managedFields": [{"manager": "x" * 10_000}]}}
    assert storable(document, is_custom=True) is document
    long = {**document, "data": {"a": "x" * (SIZE_MAX_BYTES - 5_000)}}
    assert storable(long, is_custom=True) == long | {"metadata": {"name": "a"}}
    assert "managedFields" in document["metadata"]
    bare = {"data": {"a": "x" * (SIZE_MAX_BYTES + 1)}}
    for is_custom in (True, False):
        with pytest.raises(Rejection) as raised:
            storable(bare, is_custom=is_custom)
        assert (raised.value.code, raised.value.reason) == (500, "")
        assert str(raised.value) == "etcdserver: request is too large"


def test_names_of_fields_count_for_custom_objects_only():
    empty = len(json.dumps({"kind": ""}, separators=(",", ":")))
    document = {"kind": "x" * (SIZE_MAX_BYTES - empty + 1)}
    assert storable(document, is_custom=False) is document
    with pytest.raises(Rejection):
        storable(document, is_custom=True)
    shorter = {"kind": document["kind"][1:]}
    assert storable(shorter, is_custom=True) is shorter

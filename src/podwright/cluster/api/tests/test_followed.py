"""Plugins read the present objects, whatever the history of the store has left."""

from __future__ import annotations

import tracemalloc

from podwright.apimachinery.objects import KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.cluster.api import followed
from podwright.cluster.api.followed import CurrentObjects
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.store import ObjectStore


def a_map(name: str, value: str = "", *, namespace: str = "default") -> KubernetesObject:
    return decode(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": namespace},
            "data": {"k": value},
        }
    )


def test_objects_from_before_and_after_the_first_read_are_current():
    store = ObjectStore()
    storage = ResourceStorage(store)
    current = CurrentObjects(store, ("", "ConfigMap"))
    for name in ("b", "a"):
        storage.create(a_map(name), 0)
    assert [each["metadata"]["name"] for each in current.in_namespace("default")] == ["a", "b"]
    storage.update(a_map("a", "new"))
    storage.delete(store.require(("", "ConfigMap"), "default/b"), 0)
    storage.create(a_map("c"), 0)
    store.compact(store.resource_version)
    found = {key: each["data"]["k"] for key, each in current.by_key().items()}
    assert found == {"default/a": "new", "default/c": ""}
    assert current.in_namespace("other") == []


def test_a_namespace_without_objects_is_forgotten():
    store = ObjectStore()
    storage = ResourceStorage(store)
    current = CurrentObjects(store, ("", "ConfigMap"))
    current.by_key()
    tracemalloc.start()
    try:
        for number in range(200):
            storage.create(a_map("a", namespace=f"n{number}"), 0)
            storage.delete(store.require(("", "ConfigMap"), f"n{number}/a"), 0)
            assert current.in_namespace(f"n{number}") == []
        store.compact(store.resource_version)
        kept = tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.Filter(inclusive=True, filename_pattern=followed.__file__)]
        )
    finally:
        tracemalloc.stop()
    assert sum(trace.size for trace in kept.traces) < 4_000

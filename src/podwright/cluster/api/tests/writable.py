"""A store with write methods, for tests of the storage without requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import pytest

from podwright.apimachinery.objects import KubernetesObject, NamespacedName, Pod
from podwright.cluster.api.pods.binding import Binding
from podwright.cluster.api.resource_storage import ResourceStorage
from podwright.cluster.store import POD, KindLike, ObjectStore, Stored, group_kind, open_store


class WritableStore(ObjectStore):
    """A store that has the operations of `ResourceStorage` as methods."""

    @cached_property
    def storage(self) -> ResourceStorage:
        return ResourceStorage(self)

    def create(self, obj: KubernetesObject, now_ns: int) -> Stored:
        return self.storage.create(obj, now_ns)

    def update(self, obj: KubernetesObject, **options: Any) -> Stored:
        return self.storage.update(obj, **options)

    def bind(self, key: NamespacedName, node: str, now_ns: int, **options: Any) -> Stored:
        pod = cast(Pod, self.require(POD, key))
        return self.storage.bind(pod, Binding(node=node, **options), now_ns)

    def delete(self, kind: KindLike, key: NamespacedName, now_ns: int, **options: Any) -> Stored:
        return self.storage.delete(self.require(group_kind(kind), key), now_ns, **options)


def open_writable(path: Path | str, **options: Any) -> WritableStore:
    """Return a store in a file."""
    store = open_store(path, **options)
    store.__class__ = WritableStore
    return cast(WritableStore, store)


Make = Callable[..., WritableStore]


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[WritableStore] = []

    def _make(**options: Any) -> WritableStore:
        if request.param == "memory":
            store = WritableStore(**options)
        else:
            store = open_writable(tmp_path / f"{len(made)}.db", **options)
        made.append(store)
        return store

    yield _make
    for store in made:
        store.validate()
        store.close()


@pytest.fixture
def store(make: Make) -> WritableStore:
    return make(seed=7)

"""The stores that tests run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from podwright.store import ObjectStore, open_store

Make = Callable[..., ObjectStore]


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    made: list[ObjectStore] = []

    def _make(**options: Any) -> ObjectStore:
        if request.param == "memory":
            store = ObjectStore(**options)
        else:
            store = open_store(tmp_path / f"{len(made)}.db", **options)
        made.append(store)
        return store

    yield _make
    for store in made:
        store.validate()
        store.close()


@pytest.fixture
def store(make: Make) -> ObjectStore:
    return make(seed=7)

"""Fixtures: the stores that tests run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from podwright.api.tests.writable import WritableStore, open_writable

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

"""A part that is null is printed as one that is missing, in the cells of all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from podwright.apimachinery.schema.printing import workloads
from podwright.apimachinery.schema.tests.test_cells import (
    CONFIGURATION,
    METRICS,
    NETWORKING,
    NOW_NS,
    TIMED,
    WORKLOADS,
)

MAPS = {"data", "binaryData", "hard", "matchLabels", "labels", "annotations", "usage"}
"""Fields that are maps, whose entries are not null."""

ROWS: dict[str, list[tuple[Any, Any]]] = {
    "workloads": [(cell, document) for cell, document, _ in WORKLOADS],
    "configuration": [(cell, document) for cell, document, _ in CONFIGURATION],
    "networking": [(cell, document) for cell, document, _ in NETWORKING],
    "timed": [(lambda document, cell=cell: cell(document, NOW_NS), document)
              for cell, document, _ in TIMED],
    "metrics": [(workloads.metrics,
                 {"spec": {"metrics": metrics}, "status": {"currentMetrics": current}})
                for metrics, current, _ in METRICS],
}  # fmt: skip


def places(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all fields."""
    if isinstance(part, list):
        for index, each in enumerate(part):
            yield from places(each, (*path, index))
    elif isinstance(part, dict) and not (path and path[-1] in MAPS):
        for name, each in part.items():
            yield (*path, name)
            yield from places(each, (*path, name))


def parent(document: Any, path: tuple[Any, ...]) -> Any:
    for name in path[:-1]:
        document = document[name]
    return document


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_a_null_is_as_good_as_nothing(rows: list[tuple[Any, Any]]) -> None:
    for cell, document in rows:
        for path in places(document):
            with_null, without = deepcopy(document), deepcopy(document)
            parent(with_null, path)[path[-1]] = None
            del parent(without, path)[path[-1]]
            assert cell(with_null) == cell(without), f"{cell}: {path} of {document}"

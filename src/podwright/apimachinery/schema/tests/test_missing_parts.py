"""Objects of all kinds without metadata, spec or status, or with a null in their place."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from podwright.apimachinery.schema import Kind, built_in

KINDS = {f"{kind.api_version}/{kind.row.kind}": kind for kind in built_in()}
PARTS = ("metadata", "spec", "status")


def an_object(kind: Kind, *nulls: str) -> dict[str, Any]:
    """Return an object without any part, or with nulls."""
    return {"apiVersion": kind.api_version, "kind": kind.row.kind} | dict.fromkeys(nulls)


def checked(kind: Kind, new: dict[str, Any], old: dict[str, Any]) -> list[Any]:
    return [
        kind.validation_problems(new),
        kind.metadata_problems(new),
        kind.update_problems(new, old),
        kind.metadata_update_problems(new, old),
        kind.status_problems(new, old),
        kind.with_defaults(new).get("metadata") or {},
        kind.write_warnings(new, None),
        kind.write_warnings(new, old),
        [type(cell) for cell in kind.cells(new, 0)],
    ]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_part_that_is_null_is_checked_as_one_that_is_missing(kind: Kind) -> None:
    expected = checked(kind, an_object(kind), an_object(kind))
    nulls = [(), *((name,) for name in PARTS), PARTS]
    for new, old in product(nulls, nulls):
        assert checked(kind, an_object(kind, *new), an_object(kind, *old)) == expected, (new, old)

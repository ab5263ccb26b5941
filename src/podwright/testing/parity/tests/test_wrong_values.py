"""The parity comparison detects a wrong value in any field of a vector.

In copies of recorded cases, each field of each family is changed, removed, or supplemented by
another one. A field is identified by its path, in which all names of nodes, pods and plugins are
equal.
"""

from __future__ import annotations

import copy
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from podwright.testing.parity.report import FAMILIES, FamilyReport, check_cases

GOLDEN = Path(__file__).parents[5] / "tests" / "golden"
FILES = {
    file.name.removesuffix(".jsonl.gz"): file
    for folder in ("vectors", "classic")
    for file in (GOLDEN / folder).glob("*.jsonl.gz")
}
LOOKED_AT = 40
"""The number of cases per family in which fields are searched; the smallest ones are used."""

NOT_COMPARED = ("lastProbeTime", "$setElementOrder/conditions")
"""Details that the patch format leaves open."""

TEXTS_OF_ERRORS = {
    # The first line is compared. A cost is absent where it depends on the order of a map.
    "cel": ("expect.compile_error changed", "expect.results.*.cost removed"),
    "classic_decision": ("expect.error changed",),
    "classic_priorities": ("expect.priorities.*.error changed", "expect.total.*.error changed"),
}
"""Of these errors only the existence is compared."""

Path_ = tuple[str | int, ...]


def cases_of(family: str) -> list[dict[str, Any]]:
    """Return the smallest cases, and the first ones."""
    with gzip.open(FILES[family], "rt", encoding="utf-8") as lines:
        # Where upstream evicts for groups, some traces are left out.
        texts = [line for line in lines if '"WorkloadAwarePreemption"' not in line]
    chosen = sorted(texts, key=len)[:LOOKED_AT]
    if family == "config":
        # The smallest files have decoding errors.
        for part in (" value: ", '"accepted": true'):
            chosen += sorted((text for text in texts if part in text), key=len)[:LOOKED_AT]
    return [json.loads(line) for line in chosen]


def fields_of(value: Any, path: Path_) -> Iterator[tuple[Path_, Any]]:
    yield path, value
    if isinstance(value, dict):
        for key, entry in value.items():
            if key not in NOT_COMPARED:
                yield from fields_of(entry, (*path, key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from fields_of(entry, (*path, index))


def expected_in(case: dict[str, Any]) -> Iterator[tuple[Path_, Any]]:
    """Yield every expected value of a case with its path."""
    if case["family"] == "config":
        yield from expected_of_configuration(case)
    if "expect" in case:
        yield from fields_of(case["expect"], ("expect",))
    for index, step in enumerate(case.get("steps", ())):
        for key in ("expect", "popped"):
            if key in step:
                yield from fields_of(step[key], ("steps", index, key))


def expected_of_configuration(case: dict[str, Any]) -> Iterator[tuple[Path_, Any]]:
    """Yield the results of a configuration file; of decoding errors only the fields count."""
    yield ("accepted",), case["accepted"]
    if case["accepted"]:
        yield from fields_of(case["output"], ("output",))
    elif " value: " in case["error"] and "decod" not in case["error"]:
        yield ("error",), case["error"]


def shape_of(path: Path_) -> str:
    """Return a path in which all names of objects are equal."""
    parts = [part if re.fullmatch(r"[a-z_]+", str(part)) else "*" for part in path]
    return ".".join(map(str, parts))


def wrong_values(value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case bool():
            yield "changed", not value
        case int() | float():
            yield "changed", value + 1
        case str():
            yield "changed", value + "~"
        case None:
            yield "changed", "~"
        case list():
            yield "one more", [*value, "~"]
            if value:
                yield "one less", value[1:]
        case dict():
            yield "one more", {**value, "~": "~"}
        case _:
            raise AssertionError(f"{value!r} is not a JSON value")


REMOVED = object()


def is_empty(value: Any) -> bool:
    """Whether a value is equivalent to its absence."""
    entries = list(value.values()) if isinstance(value, dict) else value
    return value in (None, "", 0) or (isinstance(entries, list) and all(map(is_empty, entries)))


def plant(case: dict[str, Any], path: Path_, value: Any) -> dict[str, Any]:
    planted = copy.deepcopy(case)
    place: Any = planted
    for part in path[:-1]:
        place = place[part]
    if value is REMOVED:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return planted


def mutations_of(family: str) -> dict[str, tuple[dict[str, Any], Path_, Any]]:
    """Return one mutation of each kind for each shape of field."""
    found: dict[str, tuple[dict[str, Any], Path_, Any]] = {}
    for case in cases_of(family):
        for path, value in expected_in(case):
            shape = shape_of(path)
            for kind, wrong in wrong_values(value):
                found.setdefault(f"{shape} {kind}", (case, path, wrong))
            is_whole = path in {("expect",), ("accepted",), ("output",), ("error",)}
            if isinstance(path[-1], str) and not is_whole and not is_empty(value):
                found.setdefault(f"{shape} removed", (case, path, REMOVED))
    return found


def differences(case: dict[str, Any]) -> int:
    reports: dict[str, FamilyReport] = {}
    check_cases([case], reports)
    return sum(len(report.mismatches) for report in reports.values())


def test_every_family_is_put_to_the_test() -> None:
    assert FILES.keys() == FAMILIES.keys()


@pytest.mark.parametrize("family", sorted(FILES))
def test_a_wrong_value_is_a_difference(family: str) -> None:
    mutations = mutations_of(family)
    assert mutations
    unnoticed = [
        f"{name} ({case['id']})"
        for name, (case, path, wrong) in mutations.items()
        if name not in TEXTS_OF_ERRORS.get(family, ()) and not differences(plant(case, path, wrong))
    ]
    assert not unnoticed, f"{len(unnoticed)} of {len(mutations)} unnoticed:\n" + "\n".join(
        unnoticed
    )

"""Objects with one changed field have the errors that kube-apiserver 1.36 gives, text for text.

`field_changes.jsonl.gz` begins with valid objects that use most fields of their kinds. Each further
line changes or removes one field of one of them (a number to -1, 0 and a large one, a text to an
empty, a long and an invalid one, a list to an empty one and to one with a repeated item) and has
the errors of the answer to a dry run of its creation; none if the object is accepted. Of equal
errors at the same field, one is kept. `record_field_changes.py` writes the file.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.golden.record_field_changes import FILE, changed

from podwright.apimachinery.schema import built_in

Document = dict[str, Any]

KINDS = {(kind.api_version, kind.row.kind): kind for kind in built_in() if kind.row.resource}


def read(file: Path) -> tuple[list[Document], list[Document]]:
    first, *others = gzip.decompress(file.read_bytes()).decode().splitlines()
    return json.loads(first)["bases"], [json.loads(line) for line in others]


BASES, CASES = read(FILE)
PLACES: dict[str, list[tuple[int, Document]]] = defaultdict(list)
for number, case in enumerate(CASES, start=2):
    base = BASES[case["base"]]
    PLACES[f"{base['kind']} {'.'.join(map(str, case['path'][:3]))}"].append((number, case))
KNOWN = {
    "Job metadata.name": "the labels with the name are set before the validation",
    "LimitRange metadata.name": "a name is generated before the validation",
    "Lease spec.strategy": "both fields are dropped, with the gate off",
    "PersistentVolumeClaim spec.dataSourceRef": "dataSource is set before the validation",
    "Pod spec.volumes.5.projected.sources": "cluster trust bundles are dropped, with the gate off",
    "Service spec.ports": "ports of nodes are allocated before the validation",
}
"""Where errors differ, and why."""


def errors_of(document: Document) -> list[list[str]]:
    kind = KINDS[document["apiVersion"], document["kind"]]
    completed = kind.with_defaults(kind.with_canonical_quantities({"metadata": {}} | document))
    found = [*kind.metadata_problems(completed), *kind.validation_problems(completed)]
    return [list(each) for each in dict.fromkeys((path, message) for path, message, _ in found)]


def differences_at(place: str) -> dict[int, tuple[Any, ...]]:
    """Return the cases whose errors differ, by line, apart from the known ones."""
    found = {}
    for line, case in PLACES[place]:
        base = BASES[case["base"]]
        where = f"{base['kind']} {'.'.join(map(str, case['path']))}"
        if not where.startswith(tuple(KNOWN)):
            errors = errors_of(changed(base, case))
            if errors != case["errors"]:
                found[line] = (where, case.get("value", "removed"), errors, case["errors"])
    return found


@pytest.mark.parametrize("place", PLACES)
def test_a_changed_field_has_the_errors_of_the_server(place: str) -> None:
    assert not differences_at(place)


@pytest.mark.parametrize("known", KNOWN)
def test_known_differences_exist(known: str) -> None:
    there = [
        case
        for case in CASES
        if f"{BASES[case['base']]['kind']} {'.'.join(map(str, case['path']))}".startswith(known)
    ]
    assert any(errors_of(changed(BASES[one["base"]], one)) != one["errors"] for one in there)


def test_objects_without_a_change_are_valid() -> None:
    assert [errors_of(base) for base in BASES] == [[]] * len(BASES)

"""Objects from both sides of each rule: what kube-apiserver rejects and why, and its defaults.

`python -m tests.real_parts.validation` wrote the record; its admission was off.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.real_parts.requests.mistakes import changed

from podwright.apimachinery.schema import built_in

RECORD = Path(__file__).parent / "recorded_validation.jsonl.gz"
PARTS = 40


@cache
def record() -> tuple[list[Any], list[dict[str, Any]]]:
    """Return the objects, and their changes with what upstream says."""
    objects, *cases = map(json.loads, gzip.decompress(RECORD.read_bytes()).splitlines())
    return objects, cases


def outcome(document: dict[str, Any]) -> dict[str, Any]:
    """Return what the record has of a new object, without its status."""
    kind = built_in().find(document.get("apiVersion", ""), document.get("kind", ""))
    if kind is None:
        return {}
    made, problems = kind.checked({key: document[key] for key in document if key != "status"})
    if problems:
        return {"causes": [[path, text] for path, text, *_ in problems]}
    stored = kind.as_stored(kind.go_form(made))
    return {"made": {key: stored[key] for key in stored if key not in ("metadata", "status")}}


@pytest.mark.parametrize("part", range(PARTS))
def test_objects_are_validated_as_upstream_validates_them(part: int) -> None:
    objects, cases = record()
    for case in cases[part::PARTS]:
        expected = {key: case[key] for key in case if key not in ("base", "changes")}
        found = outcome(changed(objects[case["base"]], case["changes"]))
        assert found == expected, case["changes"]

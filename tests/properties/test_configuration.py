"""A configuration with random changes is accepted or rejected, and never raises another exception.

The files are the accepted ones of the golden family `config`. An accepted configuration, printed
with its defaults, is accepted again and has the same defaults.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, strategies as st
from tests.properties.effort import effort

from podwright.apimachinery.objects import FieldError, InputError
from podwright.scheduler.assembly import Registry, assemble
from podwright.scheduler.config import (
    EffectiveConfiguration,
    PartialConfiguration,
    effective,
    read_configuration,
    to_document,
)

VECTORS = Path(__file__).parents[1] / "golden" / "vectors" / "config.jsonl.gz"


def _accepted() -> list[dict[str, Any]]:
    with gzip.open(VECTORS, "rt", encoding="utf-8") as lines:
        cases = list(map(json.loads, lines))
    documents = [yaml.safe_load(case["file"]) for case in cases if case["accepted"]]
    return [document for document in documents if "profiles" in document]


ACCEPTED = _accepted()
VALUES = st.sampled_from([
    None, True, 0, 1, -1, 101, 2.5, 1e40, float("nan"), 2**31, 2**70, "", "x", "5s", "a b", "*",
    "2026-01-01", "Nope", "NodeName", "EBSLimits", [], [None], ["a"], {}, {"a": 1}, {"name": None},
])  # fmt: skip


def _places(value: object, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield place
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _places(item, (*place, index))


@st.composite
def changed_documents(draw: st.DrawFn) -> Any:
    document = copy.deepcopy(draw(st.sampled_from(ACCEPTED)))
    for _ in range(draw(st.integers(0, 4))):
        places = [p for p in _places(document) if p]
        if not places:
            break
        *parents, last = draw(st.sampled_from(places))
        owner = document
        for name in parents:
            owner = owner[name]
        change = draw(st.sampled_from(("replace", "add", "remove", "rename")))
        if change == "add" and isinstance(owner, dict):
            owner[draw(st.sampled_from(("bogus", "weight", "args", "Name")))] = copy.deepcopy(
                draw(VALUES)
            )
        elif change == "remove":
            del owner[last]
        elif change == "rename" and isinstance(owner, dict):
            owner[str(last).upper()] = owner.pop(last)
        else:
            owner[last] = copy.deepcopy(draw(VALUES))
    return document


def _read(text: str) -> EffectiveConfiguration:
    errors: tuple[FieldError, ...] = ()
    try:
        configuration = read_configuration(text, source="c.yaml")
    except PartialConfiguration as error:
        configuration, errors = error.configuration, error.errors
    registry = Registry()
    made = effective(
        configuration, implements=registry.points_of, source="c.yaml", earlier_errors=errors
    )
    assert not errors, "decoding errors are raised with those of validation"
    assemble(made, registry)
    return made


@effort(400)
@given(changed_documents(), st.booleans())
def test_a_changed_configuration_is_accepted_or_rejected(document: Any, is_json: bool) -> None:
    text = json.dumps(document) if is_json else yaml.safe_dump(document)
    rejection: tuple[FieldError, ...] = ()
    made: EffectiveConfiguration | None = None
    try:
        made = _read(text)
    except InputError as error:
        rejection = error.errors
    assert all(error.source == "c.yaml" and error.message for error in rejection)
    if made is None:
        assert rejection
        return
    printed = to_document(made.configuration)
    assert to_document(_read(json.dumps(printed)).configuration) == printed

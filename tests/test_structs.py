"""Which structs can be changed, which are made by position, and how snapshots are written."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.struct_settings import (
    CHANGED_IN_PLACE,
    ROOT,
    SETTINGS,
    SOURCE,
    changeable,
    classes,
    expected_with,
    is_by_position,
    structs,
    with_setting,
)

import podwright as pw

WRITTEN_BY_NAME = {
    "scheduler.queueing.capture.QueueSnapshot",
    "scheduler.machine.snapshot.MachineSnapshot",
}
WRITTEN_BY_POSITION = (
    "scheduler.machine.actions.",
    "scheduler.machine.snapshot.",
    "scheduler.queueing.capture.",
)
"""What logs and checkpoints hold many times is written without the names of the fields."""

TEXTS = re.compile(r'#.*|"""[\s\S]*?"""')
"""Comments and docstrings, which make nothing."""
BY_POSITION = re.compile(
    r"(?<!class )\b((?:[a-z]\w*\.)*+_?[A-Z]\w+)(?:\[[^]]+\])?\((?!\s*+(?:\w+=[^=]|\*\*|\)))"
)
"""A call of a class, or a pattern of one, whose first argument has no name."""
IMPORT = re.compile(r"^ *from (podwright[\w.]*) import (?:\(([^)]*)\)|([^(#\n]*))", re.MULTILINE)
IMPORTED = re.compile(r"(\w+)(?: as (\w+))?")

OPTIONS = "cli."
"""The options of commands are dataclasses whose equal values are equal."""
EXPRESSIONS = "apimachinery.cel.expressions."
"""The nodes of expressions get their types after they are made."""


def dataclasses() -> dict[str, type]:
    """Return the dataclasses of podwright, by module and name."""
    return {name: cls for name, cls in classes().items() if is_dataclass(cls)}


def test_structs_are_values_unless_they_are_listed() -> None:
    assert changeable(structs()) == CHANGED_IN_PLACE


def test_records_are_made_by_field_names_unless_a_call_makes_them_by_position() -> None:
    """Fields of the others can be added and moved; hot loops make theirs by position."""
    records: dict[str, Any] = structs() | dataclasses()
    by_position = {name for name, cls in records.items() if is_by_position(cls)}
    assert by_position == made_by_position(records)


def made_by_position(records: dict[str, Any]) -> set[str]:
    """Return the records that a call or a pattern of the code or the tests makes by position."""
    remaining = {cls: name for name, cls in records.items()}
    found = set()
    for path in (*SOURCE.rglob("*.py"), *(ROOT / "tests").rglob("*.py")):
        text = TEXTS.sub("", path.read_text(encoding="utf-8"))
        known = _names(path, text)
        for name in set(BY_POSITION.findall(text)):
            if (cls := _meaning(name, known)) in remaining:
                found.add(remaining.pop(cls))
    return found


def _names(path: Path, text: str) -> dict[str, Any]:
    """Return what the names of a module mean; those of tests as far as they are imported."""
    if path.is_relative_to(SOURCE) and "tests" not in path.parts:
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        return vars(importlib.import_module(".".join(parts)))
    return {"pw": pw} | {
        alias or name: getattr(sys.modules[module], name, None)
        for module, in_lines, in_line in IMPORT.findall(text)
        if module in sys.modules
        for name, alias in IMPORTED.findall(in_lines or in_line)
    }


def _meaning(dotted: str, known: dict[str, Any]) -> Any:
    """Return the class that a name means, or an attribute of a module; None for others."""
    first, *rest = dotted.split(".")
    found = known.get(first)
    for name in rest:
        found = getattr(found, name, None) if inspect.ismodule(found) else None
    return found if inspect.isclass(found) else None


@pytest.mark.parametrize(("setting", "value"), SETTINGS)
def test_structs_have_the_settings_of_their_bases_and_those_that_are_listed(
    setting: str, value: bool
) -> None:
    found = structs()
    assert with_setting(found, setting, value) == expected_with(found, setting, value)


@pytest.mark.parametrize("module", WRITTEN_BY_POSITION)
def test_logs_and_checkpoints_hold_no_field_names(module: str) -> None:
    found = {name: cls for name, cls in structs().items() if name.startswith(module)}
    assert found
    named = {name for name, cls in found.items() if not cls.__struct_config__.array_like}
    assert named == WRITTEN_BY_NAME & set(found)


def test_dataclasses_are_compared_by_identity_and_not_changed() -> None:
    """Most have arrays, whose comparison is an array."""
    found: dict[str, Any] = dataclasses()
    assert {name for name, cls in found.items() if cls.__dataclass_params__.eq} == {
        name for name in found if name.startswith(OPTIONS)
    }
    assert {name for name, cls in found.items() if not cls.__dataclass_params__.frozen} == {
        name for name in found if name.startswith(EXPRESSIONS)
    }

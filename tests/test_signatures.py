"""Every type in a public signature can be imported by its name.

The types in signatures of `podwright` are exported by `podwright`. Their own fields and methods
have further types; these are exported by `podwright`, or by the face of one of the rooms that the
reference lists.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import re
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

import podwright as pw

ROOT = Path(__file__).parents[1]
REFERENCE = (ROOT / "docs/reference/api.md").read_text(encoding="utf-8")

ROOMS = re.findall(r"^\| `(podwright\.\w+\.\w+)` \|", REFERENCE, re.MULTILINE)
"""The rooms whose faces are documented."""

INTERNAL = {
    "DecisionLog": {
        "__init__", "append", "catch_up", "checkpoint", "create", "entries_from", "header",
        "objects", "setup", "start",
    },
    "Run": {"__init__"},
    "Scheduler": {"bookkeeping", "release_reservations", "restore_bookkeeping", "trying"},
    "SchedulerState": {"__init__"},
    "Workload": {"packed"},
    "World": {"add_sequence", "extender_replied", "restore_review", "review_so_far"},
}  # fmt: skip
"""Members that other parts of podwright call, and constructors of classes that it returns."""

INTERNAL_PARAMETERS = {
    "check": {"extender_caller"},
    "World": {
        "begin_extender_call",
        "components",
        "images",
        "report_failure",
        "review",
        "store",
    },
}
"""Parameters that other parts of podwright pass."""


class Use(NamedTuple):
    """A name in an annotation."""

    name: str
    where: str
    module: str


@cache
def imports_of(module: str) -> dict[str, tuple[str, str]]:
    """Return the module and the name of each import of a module, also for type checkers only."""
    if not module.startswith("podwright"):
        return {}
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def resolved(use: Use) -> Any:
    """Return what a name in an annotation refers to; None for names that are not podwright's."""
    source, original = imports_of(use.module).get(use.name, (use.module, use.name))
    if not source.startswith("podwright") or hasattr(builtins, use.name):
        return None
    found = getattr(importlib.import_module(source), original)
    # Type variables stand for other types.
    return None if type(found).__name__ in {"TypeVar", "ParamSpec", "module"} else found


def names_in(annotation: Any, module: str) -> Iterator[tuple[str, str]]:
    """Yield the names in an annotation, and the modules in which they have a meaning."""
    if not isinstance(annotation, str):
        # A module without postponed annotations has the types themselves.
        if isinstance(annotation, type) and not get_args(annotation):
            yield annotation.__name__, annotation.__module__
        for part in get_args(annotation):
            if not isinstance(part, str):
                yield from names_in(part, module)
        return
    for node in ast.walk(ast.parse(annotation, mode="eval")):
        if isinstance(node, ast.Name):
            yield node.id, module


def uses_of_function(function: Any, where: str, hidden: Collection[str] = ()) -> Iterator[Use]:
    function = inspect.unwrap(function)
    for parameter, annotation in function.__annotations__.items():
        if parameter not in hidden:
            for name, module in names_in(annotation, function.__module__):
                yield Use(name, where, module)


def functions_of(member: Any) -> Iterator[Any]:
    match member:
        case staticmethod() | classmethod():
            yield member.__func__
        case property():
            yield member.fget
        case _:
            function = getattr(member, "func", member)  # of a cached_property
            if inspect.isfunction(function):
                yield function


def uses_of_class(cls: type, name: str) -> Iterator[Use]:
    for base in cls.__mro__:
        if not base.__module__.startswith("podwright"):
            continue
        for member, value in vars(base).items():
            is_public = not member.startswith("_") or member in {"__init__", "__getitem__"}
            if is_public and member not in INTERNAL.get(name, ()):
                for function in functions_of(value):
                    hidden = INTERNAL_PARAMETERS.get(name, set())
                    yield from uses_of_function(function, f"{name}.{member}", hidden)
        for field, annotation in vars(base).get("__annotations__", {}).items():
            if not field.startswith("_"):
                for used, module in names_in(annotation, base.__module__):
                    yield Use(used, f"{name}.{field}", module)


def uses_in(name: str, value: Any) -> Iterator[Use]:
    if inspect.isclass(value):
        yield from uses_of_class(value, name)
    elif inspect.isfunction(value):
        yield from uses_of_function(value, name)
    else:
        yield from (Use(part.__name__, name, part.__module__) for part in parts_of(value))


def parts_of(alias: Any) -> Iterator[type]:
    """Yield the classes of a union."""
    for part in get_args(alias):
        if isinstance(part, type) and not get_args(part):
            yield part
        else:
            yield from parts_of(part)


def public() -> dict[str, Any]:
    names = {name: getattr(pw, name) for name in pw.__all__ if name != "__version__"}
    return names | {f"testing.{name}": getattr(pw.testing, name) for name in pw.testing.__all__}


def documented_api() -> set[str]:
    """Return the names with a section of their own in the reference."""
    names = set(re.findall(r"^### `pw\.(\w+)", REFERENCE, re.MULTILINE))
    return names | {f"testing.{name}" for name in pw.testing.__all__}


def test_types_in_the_signatures_of_podwright_are_exported_by_podwright() -> None:
    exported = public()
    missing: dict[str, str] = {}
    api = documented_api()
    assert len(api) > 50, "the reference was not found"
    for name in sorted(api & exported.keys()):
        for use in uses_in(name, exported[name]):
            found = resolved(use)
            if found is not None and not any(value is found for value in exported.values()):
                missing.setdefault(f"{use.name} of {found_in(use)}", use.where)
    assert not missing, "\n".join(f"{name}: {where}" for name, where in sorted(missing.items()))


def found_in(use: Use) -> str:
    return imports_of(use.module).get(use.name, (use.module, ""))[0]


def test_types_of_these_types_are_exported_by_a_documented_room() -> None:
    exported = public()
    faces = [importlib.import_module(room) for room in ROOMS]
    assert len(faces) > 5, "the table of rooms was not found"
    missing: dict[str, str] = {}
    for name in sorted(exported.keys() - documented_api()):
        for use in uses_in(name, exported[name]):
            found = resolved(use)
            if found is None or exported.get(use.name) is found:
                continue
            if not any(getattr(face, use.name, None) is found for face in faces):
                missing.setdefault(f"{use.name} of {found_in(use)}", use.where)
    assert not missing, "\n".join(f"{name}: {where}" for name, where in sorted(missing.items()))


@pytest.mark.parametrize("cls", INTERNAL)
def test_internal_members_exist_and_are_not_documented(cls: str) -> None:
    for member in INTERNAL[cls]:
        assert hasattr(getattr(pw, cls), member), f"{cls}.{member}"
        assert f"`{member}(" not in REFERENCE or member == "start"

"""The modules that `make compiled` compiles have no class that mypyc makes differently."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = runpy.run_path(str(ROOT / "tools/compiled.py"))["MODULES"]

PLAIN = {"ABC", "Exception", "Generic", "IntFlag", "NamedTuple", "Protocol", "enum.Enum"}
"""The bases from elsewhere that compiled classes may have."""


ENUMS = {"IntFlag", "enum.Enum"}


def classes_of(source: str) -> list[ast.ClassDef]:
    return [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.ClassDef)]


def source_of(module: str) -> str:
    return (ROOT / f"src/podwright/{module}.py").read_text(encoding="utf-8")


COMPILED = {each.name for module in MODULES for each in classes_of(source_of(module))}


def made_differently(source: str) -> list[str]:
    """Return the classes of a module that are not the same when it is compiled.

    mypyc ignores the keywords of structs, and calls the methods of an enum with a class of its
    own that the members are not of.
    """
    found = []
    for each in classes_of(source):
        bases = {ast.unparse(base).partition("[")[0] for base in each.bases}
        has_methods = any(isinstance(part, ast.FunctionDef) for part in each.body)
        if each.keywords or not bases <= PLAIN | COMPILED or (has_methods and bases & ENUMS):
            found.append(each.name)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_a_compiled_module_has_no_class_that_mypyc_makes_differently(module):
    assert made_differently(source_of(module)) == []


@pytest.mark.parametrize(
    "source",
    [
        "class Settings(msgspec.Struct, frozen=True):\n    window_ns: int\n",
        "class Place(enum.Enum):\n    A = 1\n    def __init__(self, text): ...\n",
        "class Reads(IntFlag):\n    A = 1\n    def reads_pods(self): ...\n",
        "class Names(dict): ...\n",
        "class Flush(StrEnum):\n    ALL = 'all'\n",
    ],
)
def test_classes_that_mypyc_makes_differently_are_found(source):
    assert len(made_differently(source)) == 1

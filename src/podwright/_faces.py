"""Faces of rooms whose names are imported on first use (PEP 562).

A command imports what it calls, and not each module of each room that it reaches. A face lists its
names as imports for type checkers and contracts, once:

    if TYPE_CHECKING:
        from podwright.scheduler.advice.fixes import Remedy as Remedy
    else:
        __getattr__, __dir__ = names_on_first_use(__name__)

`from podwright.scheduler.advice import Remedy` then imports one module. A module that rarely needs
a room imports its face, `from podwright.scheduler import advice`, and calls `advice.find_advice`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path

_IMPORT = re.compile(r"^    from (\S+) import (\([^)]*\)|.*)$", re.MULTILINE)
_NAME = re.compile(r"\b(\w+) as \1\b")


@cache
def modules_of(face: str) -> dict[str, str]:
    """Return the module of each name that a face imports on first use."""
    file = sys.modules[face].__file__
    assert file is not None, f"{face} is a module of a file"
    source = Path(file).read_text(encoding="utf-8")
    return {
        name: module for module, names in _IMPORT.findall(source) for name in _NAME.findall(names)
    }


def names_on_first_use(face: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a face.

    No name may be that of a module in the room: the import of that module would take its place.
    """

    def get_name(name: str) -> object:
        module = modules_of(face).get(name)
        if module is None:
            raise AttributeError(f"module {face!r} has no attribute {name!r}")
        if module == face:  # a room of a floor
            return import_module(f"{face}.{name}")
        value: object = getattr(import_module(module), name)
        setattr(sys.modules[face], name, value)
        return value

    def list_names() -> list[str]:
        return [*{*vars(sys.modules[face]), *modules_of(face)}]  # which dir() sorts

    return get_name, list_names

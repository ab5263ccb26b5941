"""Every parameter of a public function, method or class is documented where `help()` shows it.

A parameter is an entry of a numpydoc section, or is named in backticks in a sentence. A method
that overrides another one inherits what the other's docstring says.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

import pytest

import podwright as pw
from podwright._faces import names_on_first_use

RESEARCH = (
    "podwright.online.sweep",
    "podwright.simulation.capacity",
    "podwright.simulation.scenarios",
    "podwright.simulation.studies",
    "podwright.simulation.world",
)
"""Rooms of which the functions are documented, too; those of others serve podwright itself."""

KUBERNETES = ("podwright.apimachinery.objects.", "podwright.scheduler.config.")
"""Where the fields of structs are those of the Kubernetes API, which documents them."""


def public() -> dict[str, Any]:
    """Return the public functions and classes by the names that users type."""
    found = {f"pw.{name}": getattr(pw, name) for name in pw.__all__}
    found |= {f"pw.testing.{name}": getattr(pw.testing, name) for name in pw.testing.__all__}
    for room in RESEARCH:
        face = importlib.import_module(room)
        found |= {f"{room}.{name}": getattr(face, name) for name in dir(face) if name[0] != "_"}
    ours = {name: each for name, each in found.items() if _is_ours(each)}
    return {
        name: each
        for name, each in ours.items()
        if (inspect.isfunction(each) or inspect.isclass(each)) and each is not names_on_first_use
    }


def _is_ours(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).startswith("podwright")


PUBLIC = public()

NOT_CONSTRUCTED = (pw.DecisionLog,)
"""Classes whose constructor is internal: other methods return them."""


def parameters_of(callable_: Any) -> list[str]:
    fields = getattr(callable_, "__struct_fields__", getattr(callable_, "_fields", None))
    if fields is None:
        fields = [
            each.name
            for each in inspect.signature(callable_).parameters.values()
            if each.name not in {"self", "cls"}
        ]
    return [name for name in fields if not name.startswith("_")]


def is_documented(parameter: str, text: str) -> bool:
    name = re.escape(parameter)
    entry = rf"^(?:\*?\w+, )*\*{{0,2}}{name}(?:, \w+)*(?: :.*)?$"
    return bool(re.search(entry, text, re.MULTILINE) or re.search(rf"`{name}\b[^`]*`", text))


def methods_of(cls: type) -> Iterator[tuple[str, Any, str]]:
    """Yield the public methods with their docstrings, and those of the methods they override."""
    bases = [base for base in cls.__mro__ if base.__module__.startswith("podwright")]
    for name in sorted({name for base in bases for name in vars(base) if name[0] != "_"}):
        versions = [vars(base)[name] for base in bases if name in vars(base)]
        functions = [getattr(each, "__func__", each) for each in versions]
        if inspect.isfunction(functions[0]):
            yield name, functions[0], "\n".join(inspect.getdoc(each) or "" for each in functions)


def is_made_otherwise(cls: type) -> bool:
    """Return whether users do not call a class: an error, a protocol, an enumeration, a mapping."""
    return issubclass(cls, (BaseException, Enum, dict, str)) or getattr(cls, "_is_protocol", False)


def undocumented(name: str, value: Any) -> Iterator[str]:
    if inspect.isfunction(value):
        text = inspect.getdoc(value) or ""
        yield from (f"{name}({p})" for p in parameters_of(value) if not is_documented(p, text))
        return
    is_of_kubernetes = hasattr(value, "__struct_fields__") and value.__module__.startswith(
        KUBERNETES
    )
    if not (is_of_kubernetes or value in NOT_CONSTRUCTED or is_made_otherwise(value)):
        text = "\n".join(inspect.getdoc(each) or "" for each in value.__mro__[:-1])
        yield from (f"{name}({p})" for p in parameters_of(value) if not is_documented(p, text))
    for method, function, text in methods_of(value):
        for parameter in parameters_of(function):
            if not is_documented(parameter, text):
                yield f"{name}.{method}({parameter})"


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_documented(name: str) -> None:
    missing = list(undocumented(name, PUBLIC[name]))
    assert not missing, "\n".join(missing)

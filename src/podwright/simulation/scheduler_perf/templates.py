"""Templates of objects: YAML files that may be Go text templates.

A template is rendered for each of COUNT objects with `.Index`, from 0, and `.Count`.

Upstream: test/integration/scheduler_perf/operations.go, getSpecFromTextTemplateFile,
getTemplateFuncs
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from operator import sub, truediv
from typing import Any, Final, TypeVar

import msgspec

from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    KubernetesObject,
    PodwrightError,
    api_group,
    utf8,
)
from podwright.apimachinery.schema import built_in
from podwright.cluster.kubelets import Template, TemplateError
from podwright.simulation.files import load_bytes

_Object = TypeVar("_Object", bound=KubernetesObject)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"cannot convert {value!r} to a number") from None


def _on_numbers(
    compute: Callable[..., float], convert: Callable[[float], float] = float
) -> Callable[..., float]:
    """Return a function of the numbers that its arguments are."""

    def function(*values: Any) -> float:
        try:
            return convert(compute(*map(_number, values)))
        except ZeroDivisionError:
            raise ValueError("division by zero") from None

    return function


def _remainder(first: float, second: float) -> float:
    # The sign is that of the first one, as in Go.
    return int(first) - int(second) * int(int(first) / int(second))


_ARITHMETIC: Final[dict[str, Callable[..., float]]] = {
    "Add": lambda *numbers: sum(numbers),
    "Subtract": sub,
    "Multiply": lambda *numbers: prod(numbers),
    "Divide": truediv,
}
FUNCTIONS: Final[dict[str, Callable[..., float]]] = {
    **{f"{name}Float": _on_numbers(compute) for name, compute in _ARITHMETIC.items()},
    **{f"{name}Int": _on_numbers(compute, int) for name, compute in _ARITHMETIC.items()},
    "Mod": _on_numbers(_remainder, int),
}


class ObjectTemplate:
    """The template of one file.

    Parameters
    ----------
    data : bytes
    source : str
        Its name, for errors.

    Attributes
    ----------
    is_constant : bool
        Whether all objects are the same.

    Raises
    ------
    ValueError
        If it is not a template.
    """

    def __init__(self, data: bytes, source: str) -> None:
        self.source = source
        text = utf8(data).decode()
        self._template = Template(text, FUNCTIONS)
        self.is_constant = "{{" not in text

    def document(self, index: int = 0, count: int = 1) -> dict[str, Any]:
        """Return an object as a document.

        Raises
        ------
        PodwrightError
            If the text that the template makes is not an object.
        """
        try:
            value = self._template.value({"Index": index, "Count": count}, FUNCTIONS)
        except (TemplateError, ValueError) as error:
            raise PodwrightError(f"{self.source}: {error}") from error
        if not isinstance(value, dict):
            raise PodwrightError(f"{self.source}: must be an object")
        return value


def decoded(document: dict[str, Any], source: str, type_: type[_Object]) -> _Object:
    """Return the object of a document; the names of fields may be written in any case.

    Raises
    ------
    InputError
        If it is not valid, or of another type.
    """
    group_kind = api_group(str(document.get("apiVersion", ""))), str(document.get("kind"))
    kind = built_in().of(*group_kind)
    if kind is not None:
        document = kind.with_declared_names(document)
    (found,) = load_bytes([(source, msgspec.json.encode(document))]).objects
    if not isinstance(found, type_):
        message = f"must be a {type_.__name__}, not a {found.kind}"
        raise InputError([FieldError(source=source, path="kind", message=message)])
    return found


def with_metadata(document: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a document with fields of the metadata."""
    return document | {"metadata": (document.get("metadata") or {}) | fields}

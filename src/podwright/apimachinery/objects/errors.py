"""Errors of inputs, with their locations.

`PodwrightError` is the base class of all exceptions that podwright raises. An input is validated
completely: all errors are collected as `FieldError` values and raised together, as `InputError`
(a document, a file, several files) or `InvalidObject` (one object).
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, ParamSpec, TypeVar

import msgspec

P = ParamSpec("P")
T = TypeVar("T")

_SHOWN = 50

_OF_FIELD: Final = re.compile(r"Object (missing required|contains unknown) field `(.+)`")
_EXPECTED: Final = re.compile(r"Expected `(.+?)`(?:, got `.+`)?(.*)")
_DECODED: Final = {
    "array": "a list", "bool": "true or false", "bytes": "Base64", "float": "a number",
    "int": "an integer", "object": "an object", "str": "a string",
}  # fmt: skip


class PodwrightError(Exception):
    """The base class of podwright's exceptions.

    They can be pickled, whatever their constructors take: some are raised in another process.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args), self.__dict__


def _restored(cls: type[PodwrightError], arguments: tuple[Any, ...]) -> PodwrightError:
    return cls.__new__(cls, *arguments)


class FieldError(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One error in an input.

    Attributes
    ----------
    source : str
        The file or request, with the document's number: `nodes.yaml: document 3`.
    path : str
        The field as Kubernetes writes it: `spec.taints[0].effect`; empty for the whole document.
    message : str
        The problem and what is expected.
    value : Any
        The invalid value.
    """

    source: str
    path: str = ""
    message: str
    value: Any = None

    def __str__(self) -> str:
        return ": ".join(part for part in (self.source, self.path, self.message) if part)


class InputError(PodwrightError, ValueError):
    """An input with errors; the text is one line per error, for the first of them.

    Parameters
    ----------
    errors : iterable of FieldError
        At least one.

    Attributes
    ----------
    texts : list of str
        Those of the first errors, and how many others there are.
    """

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors: tuple[FieldError, ...] = tuple(errors)
        assert self.errors, "an InputError without errors"
        self.texts = list(map(str, self.errors[:_SHOWN]))
        if len(self.errors) > _SHOWN:
            self.texts.append(f"... and {len(self.errors) - _SHOWN} more errors")
        super().__init__("\n".join(self.texts))

    @classmethod
    def of(cls, source: str, message: str, path: str = "", value: Any = None) -> InputError:
        """Return the error of one field, or of a whole input.

        Parameters
        ----------
        source : str
            The name of the input, such as that of a file.
        message : str
            What is wrong, and what is expected.
        path : str
            The field, as Kubernetes writes it; "" for the whole input.
        value : object
            The invalid value; None if it is not shown.
        """
        return InputError([FieldError(source=source, path=path, message=message, value=value)])


class InvalidObject(InputError):  # noqa: N818  # named for what it is, as upstream's `Invalid`
    """An object that cannot be decoded."""


def collecting(
    errors: list[FieldError],
    default: T,
    read: Callable[P, T],
    *arguments: P.args,
    **keywords: P.kwargs,
) -> T:
    """Return what a function reads; the default, and its errors in the list, if it fails."""
    try:
        return read(*arguments, **keywords)
    except InputError as error:
        errors += error.errors
        return default


class ArgumentError(PodwrightError, TypeError):
    """An argument of a Python function has the wrong type."""


def require_type(value: object, types: type | tuple[type, ...], what: str, expected: str) -> None:
    """Raise an error if an argument has the wrong type.

    Parameters
    ----------
    what : str
        The argument, such as ``objects[0]``.
    expected : str
        The expected type with its article, and where a value of it comes from.

    Raises
    ------
    ArgumentError
    """
    if not isinstance(value, types):
        raise ArgumentError(f"{what}: must be {expected}, not {described_type(value)}")


def described_type(value: object) -> str:
    """Return the type of a value with its article; of a class, its name."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


# ---------------------------------------------------------------------- upstream's messages


def quoted(value: Any) -> str:
    """Return a value as JSON, truncated if it is long."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:
        text = json.dumps(str(value), ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."


def invalid(value: Any, detail: str) -> str:
    """Return the text for a value that violates a rule (`field.Invalid`)."""
    return f"Invalid value: {quoted(value)}: {detail}"


def required(detail: str = "") -> str:
    """Return the text for a field that is missing (`field.Required`)."""
    return f"Required value: {detail}" if detail else "Required value"


def unsupported(value: Any, supported: Sequence[str]) -> str:
    """Return the text for a value outside an enumeration, with the nearest one suggested."""
    listed = ", ".join(quoted(choice) for choice in sorted(supported) if choice)
    message = f"Unsupported value: {quoted(value)}: supported values: {listed}"
    if isinstance(value, str) and (near := nearest(value, supported)):
        message += f'; did you mean "{near}"?'
    return message


UNKNOWN_FIELD: Final = "unknown field"


def decoding_problem(error: msgspec.ValidationError) -> tuple[str, str]:
    """Return the field that msgspec rejects, and what is wrong with it in the words of the others.

    Returns
    -------
    path : str
        The field, as Kubernetes writes it; "" for the whole value.
    message : str
        `UNKNOWN_FIELD` for a field that the struct does not have.
    """
    text, _, path = str(error).partition(" - at `")
    path = path.rstrip("`").removeprefix("$").removeprefix(".")
    of_field = _OF_FIELD.fullmatch(text)
    if of_field:
        path = f"{path}.{of_field[2]}".removeprefix(".")
        return path, UNKNOWN_FIELD if "unknown" in of_field[1] else required()
    expected = _EXPECTED.fullmatch(text)
    if expected:
        kinds = " or ".join(_DECODED.get(kind, kind) for kind in expected[1].split(" | "))
        text = f"must be {kinds}{expected[2]}"
    return path, text


def nearest(value: str, choices: Iterable[str]) -> str | None:
    """Return the choice that is most similar to the value."""
    by_folded = {choice.casefold(): choice for choice in choices if choice}
    matches = difflib.get_close_matches(value.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None

"""Field errors with the texts of apimachinery, collected and raised as one.

Validation functions return `FieldError` values without a source; `raise_errors` adds the source
and raises them all together.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/field/errors.go
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    nearest,
    required as required_text,
)

DID_YOU_MEAN: Final = "; did you mean "
"""Separates upstream's text from a suggestion."""


class EmptyList(tuple[Any, ...]):
    """A list that is written as `[]`: Go prints it so, and an absent list as null."""

    __slots__ = ()


def problem(path: str, message: str) -> FieldError:
    """Return an error with any message; an empty path means the whole document."""
    return FieldError(source="", path=path, message=message)


def required(path: str, detail: str = "") -> FieldError:
    """Return the error for a missing or empty value."""
    return problem(path, required_text(detail))


def is_required(error: FieldError) -> bool:
    """Report whether an error is that of a missing or empty value."""
    return error.message.startswith("Required value")


def invalid(path: str, value: object, detail: str | Exception) -> FieldError:
    """Return the error for a malformed value or one out of bounds."""
    return problem(path, f"Invalid value: {_quoted(value)}: {detail}")


def not_supported(path: str, value: str, supported: Sequence[str]) -> FieldError:
    """Return the error for a value outside an enumeration, with the supported values."""
    names = ", ".join(_quoted(name) for name in supported)
    message = f"Unsupported value: {_quoted(value)}: supported values: {names}"
    return problem(path, message + did_you_mean(value, supported))


def duplicate(path: str, value: object) -> FieldError:
    """Return the error for a duplicate value."""
    return problem(path, f"Duplicate value: {_quoted(value)}")


def forbidden(path: str, detail: str) -> FieldError:
    """Return the error for a value that is not allowed here."""
    return problem(path, f"Forbidden: {detail}")


def did_you_mean(value: str, choices: Iterable[str]) -> str:
    """Return the end of a message that names the nearest choice; "" if none is near."""
    near = nearest(value, choices)
    return f'{DID_YOU_MEAN}"{near}"?' if near else ""


def first_names(names: Sequence[str], most: int = 3) -> str:
    """Return the first `most` of `names`, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def join(path: str, name: str) -> str:
    """Append a field's name to a path."""
    return f"{path}.{name}" if path else name


def raise_errors(errors: Iterable[FieldError], *, source: str) -> None:
    """Raise one InputError with every distinct error, in order; return if there is none."""
    distinct = {(error.path, error.message): error for error in errors}
    if distinct:
        raise InputError(
            msgspec.structs.replace(error, source=source) for error in distinct.values()
        )


def _quoted(value: object) -> str:
    if value == ():
        return "[]" if isinstance(value, EmptyList) else "null"
    # Not shortened, unlike `objects.errors.quoted`: these texts are the same as upstream's.
    plain = msgspec.to_builtins(value)
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))

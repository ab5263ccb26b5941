"""Field errors in the words of apimachinery, collected and raised as one.

Functions that check give `FieldError` values without a source; one call at the door
(`raise_errors`) puts the source in front and raises them all together.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/field/errors.go
"""

import json
from collections.abc import Iterable, Sequence

import msgspec

from podwright.objects import FieldError, InputError, nearest
from podwright.objects import required as required_text


class Unquoted(str):
    """A value that upstream prints without quotes: a duration, a path."""

    __slots__ = ()


def problem(path: str, message: str) -> FieldError:
    """Report something in words of its own; an empty path is the document as a whole."""
    return FieldError(source="", path=path, message=message)


def required(path: str, detail: str = "") -> FieldError:
    """Report a value that is missing or empty."""
    return problem(path, required_text(detail))


def invalid(path: str, value: object, detail: str) -> FieldError:
    """Report a value that is malformed or out of bounds."""
    return problem(path, f"Invalid value: {_quoted(value)}: {detail}")


def not_supported(path: str, value: str, supported: Sequence[str]) -> FieldError:
    """Report a value outside an enumeration, with the values there are, in upstream's order."""
    names = ", ".join(_quoted(name) for name in supported)
    message = f"Unsupported value: {_quoted(value)}: supported values: {names}"
    return problem(path, message + did_you_mean(value, supported))


def duplicate(path: str, value: object) -> FieldError:
    """Report a value that may occur only once."""
    return problem(path, f"Duplicate value: {_quoted(value)}")


def forbidden(path: str, detail: str) -> FieldError:
    """Report a value that may not be given under these conditions."""
    return problem(path, f"Forbidden: {detail}")


def did_you_mean(value: str, choices: Iterable[str]) -> str:
    """Give the end of a message that names the nearest choice, empty if none is near."""
    near = nearest(value, choices)
    return f'; did you mean "{near}"?' if near else ""


def join(path: str, name: str) -> str:
    """Extend a path by a field's name."""
    return f"{path}.{name}" if path else name


def raise_errors(errors: Iterable[FieldError], *, source: str) -> None:
    """Raise one InputError with every distinct error, in order; no errors are fine."""
    distinct = {(error.path, error.message): error for error in errors}
    if distinct:
        raise InputError(
            msgspec.structs.replace(error, source=source) for error in distinct.values()
        )


def _quoted(value: object) -> str:
    if isinstance(value, Unquoted):
        return str(value)
    if value == ():  # Go's nil slice
        return "null"
    # Uncut, unlike `objects.errors.quoted`: upstream's own words are compared with these.
    plain = msgspec.to_builtins(value)
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":"))

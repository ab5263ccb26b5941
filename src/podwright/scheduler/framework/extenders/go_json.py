"""JSON read with the rules of Go's encoding/json.

Only the first value is read; the rest of the text is ignored. Keys are matched case-insensitively,
null is equivalent to a missing field, and unknown keys are ignored; a value of another type is an
error.
"""

from __future__ import annotations

import json
from typing import Any, Final, TypeVar

T = TypeVar("T")

_WHITESPACE: Final = " \t\r\n"
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_NAMES = {dict: "object", list: "array", str: "string", int: "number", bool: "bool"}


class MalformedJSON(ValueError):  # noqa: N818 - the name describes the input
    """The text is not JSON, or a value is of the wrong type."""


def _refuse(constant: str) -> Any:
    raise MalformedJSON(f"{constant} is not JSON")


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse)


def read_first_value(body: bytes) -> Any:
    """Return the first JSON value.

    Raises
    ------
    MalformedJSON
        If there is none.
    """
    # Go also replaces bytes that are not UTF-8.
    text = body.decode("utf-8", errors="replace").lstrip(_WHITESPACE)
    if not text:
        raise MalformedJSON("EOF")
    try:
        value, _ = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        raise MalformedJSON(f"{error.msg} at character {error.pos}") from error
    except (RecursionError, ValueError) as error:
        raise MalformedJSON(f"not readable: {error}") from error
    return value


def typed_field(answer: Any, struct: str, key: str, kind: type[T]) -> T | None:
    """Return one field of an object; None if it is absent or null.

    Parameters
    ----------
    answer : object
        A JSON value; null is an object without fields.
    struct : str
        The name of the Go struct, for errors.

    Raises
    ------
    MalformedJSON
        If `answer` is not an object, or the field is not of the type `kind`.
    """
    if answer is None:
        return None
    if not isinstance(answer, dict):
        raise MalformedJSON(f"{struct}: an object is expected, not {_describe(answer)}")
    value = answer.get(key)
    if value is None:
        lowered = key.lower()
        found = [answer[name] for name in answer if name.lower() == lowered]
        value = found[-1] if found else None
    if value is None:
        return None
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        expected = _NAMES.get(kind, kind.__name__)
        raise MalformedJSON(f"{struct}.{key}: {expected} is expected, not {_describe(value)}")
    if isinstance(value, int) and not _LEAST <= value <= _MOST:
        raise MalformedJSON(f"{struct}.{key}: {value} is out of range")
    return value


def _describe(value: Any) -> str:
    if isinstance(value, float):
        return f"number {value}"
    return _NAMES.get(type(value), "null")

"""JSON with the rules of Go's encoding/json, for reading and for writing.

Reading uses the first value only; the rest of the text is ignored. Keys are matched
case-insensitively, null is equivalent to a missing field, and unknown keys are ignored; a value
of another type is an error.

Writing sorts the keys of maps, writes no whitespace, and escapes the characters that are unsafe
inside HTML: `<`, `>`, `&` and two line separators.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, TypeVar

T = TypeVar("T")

_WHITESPACE: Final = " \t\r\n"
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_NAMES = {dict: "object", list: "array", str: "string", int: "number", bool: "bool"}


_ESCAPED: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


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


def write_go_json(value: Any, *, sort_keys: bool = True) -> str:
    r"""Write a value as Go does.

    Parameters
    ----------
    value : object
        Of dictionaries, lists, strings, numbers, booleans and None.
    sort_keys : bool
        True: dictionaries are maps. False: they are structs, whose fields have their order;
        who has maps inside sorts these.

    Examples
    --------
    >>> write_go_json({"b": "1 < 2", "a": ["x"]})
    '{"a":["x"],"b":"1 \\u003c 2"}'

    Notes
    -----
    Half a surrogate pair is what Go sees as bytes that are no UTF-8: the replacement character.
    Upstream: Go's src/encoding/json/encode.go, `appendString`, with escapeHTML
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)
    # Outside of strings none of these appears.
    return _ESCAPED.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"


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

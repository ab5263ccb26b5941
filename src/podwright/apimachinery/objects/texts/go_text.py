"""Values as Go's standard library reads and writes them: JSON, quoted strings, and base64.

Upstream: Go src/encoding/json/encode.go, `appendString` (with escapeHTML); Go
src/strconv/quote.go, atob.go; Go src/encoding/json/scanner.go; Go src/encoding/base64/base64.go.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

_UNSAFE_IN_HTML: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip
GO_BOOLEANS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
"""The texts that `strconv.ParseBool` accepts, with their values."""

_LEAST_PLAIN: Final = 1e-4
_LEAST_EXPONENTIAL: Final = 1e6


def write_go_json(value: Any, *, sort_keys: bool = True) -> str:
    r"""Write a value as `json.Marshal` does: without spaces, safe inside of HTML.

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
    """
    text = json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys, default=str
    )
    # Outside of strings none of these appears.
    return _UNSAFE_IN_HTML.sub(_escaped_for_html, text)


def _escaped_for_html(match: re.Match[str]) -> str:
    code = ord(match[0])
    return "\\ufffd" if 0xD800 <= code <= 0xDFFF else f"\\u{code:04x}"


def go_number(number: float) -> str:
    """Return a number as Go's verb %v prints it.

    Examples
    --------
    >>> go_number(2.0), go_number(0.5), go_number(2_500_000.0)
    ('2', '0.5', '2.5e+06')

    Notes
    -----
    Upstream: Go src/strconv/ftoa.go, formatDigits
    """
    if isinstance(number, int):
        return str(number)
    if number and not _LEAST_PLAIN <= abs(number) < _LEAST_EXPONENTIAL:
        digits = repr(abs(number)).partition("e")[0].replace(".", "").strip("0")
        return f"{number:.{len(digits) - 1}e}"
    return str(int(number)) if number.is_integer() else repr(number)


def go_quoted(text: str) -> str:
    r"""Return a text as `strconv.Quote` does.

    Examples
    --------
    >>> go_quoted("a\0b")
    '"a\\x00b"'
    """
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def bytes_of_base64(text: str) -> bytes:
    """Decode base64; line breaks are ignored. ValueError if Go does not decode it."""
    text = text.replace("\n", "").replace("\r", "")
    # Python ignores padding behind whole groups of four letters.
    if len(text) % 4 or text.endswith("==="):
        raise ValueError("wrong padding")
    return base64.b64decode(text, validate=True)


# The messages of Go's JSON decoder.


def _finite(text: str) -> float:
    if math.isinf(value := float(text)):
        raise OverflowError(text)
    return value


def go_json_error(body: bytes, error: Exception) -> str:
    """Return the message of Go's decoder for a text that is not JSON.

    Parameters
    ----------
    body : bytes
    error : Exception
        Of another decoder: its text is the message where Python's has no position.
    """
    try:
        # Go reports bytes, each as the character of its number.
        json.loads(body.decode("latin-1"), parse_float=_finite)
    except OverflowError as found:
        return f"json: cannot unmarshal number {found} into Go value of type float64"
    except json.JSONDecodeError as found:
        text, position = found.doc, found.pos
        rest = text[position:].lstrip()
        if not rest or found.msg.startswith("Unterminated"):
            return "unexpected end of JSON input"
        for literal in ("null", "true", "false"):
            if rest[0] == literal[0]:
                for index, letter in enumerate(literal):
                    if index >= len(rest):
                        return "unexpected end of JSON input"
                    if rest[index] != letter:
                        return (
                            f"invalid character {rest[index]!r} in literal {literal}"
                            f" (expecting {letter!r})"
                        )
        places = {
            "Expecting value": "looking for beginning of value",
            "Extra data": "after top-level value",
            "Expecting ',' delimiter": "after object key:value pair",
            "Expecting ':' delimiter": "after object key",
        }
        place = places.get(found.msg, "looking for beginning of object key string")
        return f"invalid character {rest[0]!r} {place}"
    except (UnicodeDecodeError, RecursionError, ValueError):
        pass
    return str(error)


def aggregated(problems: Iterable[str]) -> str:
    """Return several errors as one text, each once; "" for none.

    Upstream: staging/src/k8s.io/apimachinery/pkg/util/errors/errors.go, aggregate
    """
    texts = list(dict.fromkeys(problems))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]" if texts else ""

"""Values as Go's standard library writes them: JSON for browsers, and quoted strings.

Upstream: Go's src/encoding/json/encode.go, `appendString` with escapeHTML; src/strconv/quote.go
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

_UNSAFE_IN_HTML: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_ESCAPES: Final = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
}  # fmt: skip


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

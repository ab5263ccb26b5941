"""Bodies of apply requests that are JSON, which is read faster than YAML.

The body of an apply request is YAML, and clients as kubectl write JSON. Not every JSON text has
the same value as YAML, so a body with anything that YAML reads in another way, or rejects, is left
to the reader of YAML:

- escaped characters, and characters outside of ASCII;
- fractions and exponents: `1e3` is text in YAML;
- the key `<<`, which merges, repeated keys, and keys that are long or apart from their colon;
- tabs, and texts whose size or nesting comes near a limit.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

_SIZE_MAX: Final = 100_000
_BRACKETS_AND_LINES_MAX: Final = 150
"""Less than the least nesting for which the reader of YAML rejects a body."""

_LONG_MIN: Final = 1_000
"""The length from which texts and numbers are examined: a key in YAML has at most 1,024 bytes, and
an integer 1,000 digits."""

_LONG: Final = re.compile(rb'"[^"]{1000}|[0-9]{1000}')
_SPACED_KEY: Final = re.compile(rb'"[ \n]+:')


def _fraction(text: str) -> Any:
    raise ValueError(text)


_DECODER: Final = msgspec.json.Decoder(float_hook=_fraction)


def json_object_in_yaml(body: bytes) -> dict[str, Any] | None:
    """Return the object that a text is both as JSON and as YAML; None if this is not certain."""
    if (
        body[:1] != b"{"
        or len(body) > _SIZE_MAX
        or not body.isascii()
        or b"\\" in body
        or b"\t" in body
        or b"\r" in body
        or b"\x7f" in body
        or b'"<<"' in body
        or body.count(b"[") + body.count(b"{") + body.count(b"\n") > _BRACKETS_AND_LINES_MAX
        or _SPACED_KEY.search(body)
        or (len(body) >= _LONG_MIN and _LONG.search(body))
    ):
        return None
    try:
        document: dict[str, Any] = _DECODER.decode(body)
    except msgspec.DecodeError:
        return None
    # Without escapes each key is followed by its colon at once, so that a lost key changes the sum.
    is_repeated = body.count(b'":') != msgspec.json.encode(document).count(b'":')
    return None if is_repeated else document

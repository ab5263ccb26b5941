"""Query strings, as Go's `net/url` parses them."""

from __future__ import annotations

import re

_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")


def parse_query(text: str) -> dict[str, list[str]]:
    """Return the values of each parameter, in order.

    Parameters with an invalid escape or a semicolon are dropped, as upstream drops them.

    Examples
    --------
    >>> parse_query("labelSelector=app%3Dweb&limit=5&limit=6&watch")
    {'labelSelector': ['app=web'], 'limit': ['5', '6'], 'watch': ['']}
    """
    found: dict[str, list[str]] = {}
    for pair in text.split("&"):
        if not pair or ";" in pair:
            continue
        name, _, value = pair.partition("=")
        key, decoded = unescape(name), unescape(value)
        if key is not None and decoded is not None:
            found.setdefault(key, []).append(decoded)
    return found


def unescape(text: str, *, plus_is_space: bool = True) -> str | None:
    """Return percent-encoded text decoded; None if an escape is invalid.

    Parameters
    ----------
    text : str
        The encoded text.
    plus_is_space : bool
        Whether `+` stands for a space, as in a query.
    """
    if plus_is_space:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    raw = text.encode()
    if len(_ESCAPE.findall(raw)) != raw.count(b"%"):
        return None
    first, *parts = raw.split(b"%")
    found = [first, *(bytes((int(part[:2], 16),)) + part[2:] for part in parts)]
    return b"".join(found).decode(errors="replace")


def is_true(values: list[str] | None) -> bool:
    """Return a boolean parameter: any value but `false` and `0` is true, also an empty one.

    Notes
    -----
    Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/converter.go, Convert_Slice_string_To_bool
    """
    if not values:
        return False
    return values[0].lower() not in ("false", "0")

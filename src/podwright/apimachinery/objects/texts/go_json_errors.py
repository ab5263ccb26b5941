"""The messages of Go's JSON decoder.

Upstream: encoding/json, scanner.go
"""

from __future__ import annotations

import json


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
        json.loads(body.decode("latin-1"))
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

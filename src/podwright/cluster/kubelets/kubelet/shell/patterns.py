"""Patterns of the shell: those of `case`, of `${name#pattern}`, and of file names (XCU 2.13)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from podwright.cluster.kubelets.kubelet.shell.syntax import NotSimulatedError

Piece = tuple[str, bool]
"""A text, and whether it is quoted."""


def has_pattern(pieces: Sequence[Piece]) -> bool:
    """Tell whether a field has a special character that is not quoted."""
    open_text = "".join(text for text, is_quoted in pieces if not is_quoted)
    return "*" in open_text or "?" in open_text or "]" in open_text.partition("[")[2]


def pattern_of(pieces: Sequence[Piece]) -> re.Pattern[str]:
    """Return a pattern as a regular expression.

    Raises
    ------
    NotSimulatedError
        It has a character class, or an unquoted backslash.
    """
    characters = [(each, is_quoted) for text, is_quoted in pieces for each in text]
    found, at = "", 0
    while at < len(characters):
        character, is_quoted = characters[at]
        at += 1
        if is_quoted or character not in "*?[\\":
            found += re.escape(character)
        elif character == "\\":
            raise NotSimulatedError("a backslash in a pattern")
        elif character != "[":
            found += ".*" if character == "*" else "."
        else:
            end = _end_of_set(characters, at)
            found += re.escape("[") if end is None else _set_of(characters[at:end])
            at = at if end is None else end + 1
    return re.compile(found, re.DOTALL)


def _end_of_set(characters: list[Piece], at: int) -> int | None:
    first = at + (characters[at : at + 1] in ([("!", False)], [("^", False)]))
    return next(
        (index for index in range(first + 1, len(characters)) if characters[index] == ("]", False)),
        None,
    )


def _set_of(characters: list[Piece]) -> str:
    is_negated = characters[0] in (("!", False), ("^", False))
    inner = ""
    for character, is_quoted in characters[is_negated:]:
        if character in "[\\" and not is_quoted:
            raise NotSimulatedError("a character class in a pattern")
        is_range = character == "-" and not is_quoted
        inner += "-" if is_range else re.escape(character)
    try:
        re.compile(f"[{inner}]")
    except re.error:
        raise NotSimulatedError("this range in a pattern") from None
    return f"[{'^' if is_negated else ''}{inner}]"

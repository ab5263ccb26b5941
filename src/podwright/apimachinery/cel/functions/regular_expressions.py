"""Regular expressions in Go's syntax, matched in linear time by RE2.

Upstream: Go regexp/syntax/parse.go, ErrorCode, whose syntax is that of RE2
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from podwright.apimachinery.cel.values import ErrorValue, Value

if TYPE_CHECKING:
    import re2

# RE2's texts, and Go's for the same problem.
_GO_TEXTS: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "invalid character class range": "invalid character class range",
}


class PatternError(ValueError):
    """The text is not a regular expression."""


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re2._Regexp[str]:
    """Compile a pattern.

    Raises
    ------
    PatternError
        With Go's text: `error parsing regexp: missing closing ]: ...`.
    """
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        text = error.args[0]
        text = text.decode() if isinstance(text, bytes) else str(text)
        reason, _, part = text.partition(": ")
        quoted = f": `{part}`" if part else ""
        raise PatternError(
            f"error parsing regexp: {_GO_TEXTS.get(reason, reason)}{quoted}"
        ) from None


def search(text: Value, pattern: Value) -> Value:
    """Return whether a pattern matches somewhere in a text."""
    if not isinstance(text, str) or not isinstance(pattern, str):
        return ErrorValue("no such overload")
    try:
        return compile_pattern(pattern).search(text) is not None
    except PatternError as error:
        return ErrorValue(str(error))

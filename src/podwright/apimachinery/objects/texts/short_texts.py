"""Results of functions of texts, of which few are kept for long texts.

Clients choose the texts: a thousand kept selectors of 60 KB would take a gigabyte.

Notes
-----
Upstream: go.yaml.in/yaml/v2 readerc.go, yaml_parser_determine_encoding.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

SHORT_MAX: Final = 1_024
"""The length of the longest text whose result is kept as one of many, in characters."""

LONG_KEPT: Final = 8
"""How many results of longer texts are kept: many watches may begin with the same selector."""


def cache_short(
    maxsize: int,
) -> Callable[[Callable[Concatenate[str, P], T]], Callable[Concatenate[str, P], T]]:
    """Keep the last results of a function whose first argument is a text, as `lru_cache` does.

    Parameters
    ----------
    maxsize : int
        How many results of short texts are kept.
    """

    def decorate(
        function: Callable[Concatenate[str, P], T],
    ) -> Callable[Concatenate[str, P], T]:
        of_short: Any = lru_cache(maxsize)(function)
        of_long: Any = lru_cache(LONG_KEPT)(function)

        @wraps(function)
        def called(text: str, /, *args: P.args, **options: P.kwargs) -> T:
            kept = of_short if len(text) <= SHORT_MAX else of_long
            return cast("T", kept(text, *args, **options))

        return called

    return decorate


# Texts in UTF-8, and in UTF-16 with a byte order mark, as the redirection of PowerShell 5 writes.

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def utf8(data: bytes) -> bytes:
    """Return a text in UTF-8 without a byte order mark.

    Bytes without a mark are returned as they are; whether they are UTF-8 is not examined.

    Raises
    ------
    UnicodeDecodeError
        If the text has the mark of UTF-16 and is something else.
    """
    if data[:2] in _UTF16_MARKS:
        return data.decode("utf-16").encode()
    return data.removeprefix(codecs.BOM_UTF8)


def decoding_message(error: UnicodeDecodeError) -> str:
    r"""Return the end of an error about bytes that are not text.

    Examples
    --------
    >>> try:
    ...     b"caf\xe9".decode()
    ... except UnicodeDecodeError as error:
    ...     decoding_message(error)
    'not UTF-8 text: unexpected end of data at byte 3'
    """
    encoding = "UTF-16" if error.encoding.startswith("utf-16") else "UTF-8"
    return f"not {encoding} text: {error.reason} at byte {error.start}"

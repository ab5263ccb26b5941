"""Results of functions of texts, of which few are kept for long texts.

Clients choose the texts: a thousand kept selectors of 60 KB would take a gigabyte.
"""

from __future__ import annotations

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

"""Results of functions of texts, which are kept for short texts only.

Clients choose the texts: a thousand kept selectors of 60 KB would take a gigabyte.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")

SHORT_MAX: Final = 1_024
"""The length of the longest text whose result is kept, in characters."""


def cache_short(
    maxsize: int,
) -> Callable[[Callable[Concatenate[str, P], T]], Callable[Concatenate[str, P], T]]:
    """Keep the last results of a function whose first argument is a text, as `lru_cache` does.

    Parameters
    ----------
    maxsize : int
        How many results are kept.
    """

    def decorate(
        function: Callable[Concatenate[str, P], T],
    ) -> Callable[Concatenate[str, P], T]:
        kept: Any = lru_cache(maxsize)(function)

        @wraps(function)
        def called(text: str, /, *args: P.args, **options: P.kwargs) -> T:
            if len(text) > SHORT_MAX:
                return function(text, *args, **options)
            return cast("T", kept(text, *args, **options))

        return called

    return decorate

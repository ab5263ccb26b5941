"""Signatures that name the keyword arguments of a TypedDict.

`**keywords: Unpack[...]` is complete for type checkers. Notebooks and REPLs complete the arguments
that `inspect.signature` names, so the signature names them one by one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def names_keywords(keywords: type, defaults: Mapping[str, object]) -> Callable[[F], F]:
    """Return a decorator: the signature gets the keywords instead of `**keywords`.

    Parameters
    ----------
    keywords : type
        A TypedDict.
    defaults : mapping of str to object
        The default of each keyword that callers use; the others are left out.
    """

    def decorate(function: F) -> F:
        found = inspect.signature(function)
        parameters = [p for p in found.parameters.values() if p.kind is not p.VAR_KEYWORD]
        # The annotations of a TypedDict are references, whose texts are those of the source.
        types = {name: each.__forward_arg__ for name, each in keywords.__annotations__.items()}
        named = [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types.get(name)
            )
            for name, default in defaults.items()
        ]
        complete = found.replace(parameters=[*parameters, *named])
        function.__signature__ = complete  # type: ignore[attr-defined]
        return function

    return decorate

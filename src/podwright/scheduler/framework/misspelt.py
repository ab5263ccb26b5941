"""Methods and class attributes of a plugin whose names look like misspelt ones of `Plugin`.

All extension points are optional, so a method with a misspelt name would just not be called. A
method is refused if its name, without regard to case and underscores, is that of a method of
`Plugin` (`preFilter`), or close to one (`fillter`) with as many arguments, and the class does not
define the other. A plugin's own methods can start with an underscore; those are not compared.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterator
from typing import Any

from podwright.scheduler.columns import Reads
from podwright.scheduler.framework.plugin import Plugin
from podwright.scheduler.framework.rankings.scores import Normalization

_CLOSE = 0.85
"""The similarity of names, by `difflib`: `fillter` and `filter` have 0.92."""

_METHODS = {
    name: value
    for name, value in vars(Plugin).items()
    if inspect.isfunction(value) and not name.startswith("_")
}
_DECLARATIONS = tuple(
    name for name in Plugin.__annotations__ if not name.startswith("_") and name != "handle"
)

_UPSTREAM = {"less": "queue_sort_key"}
"""Methods of upstream's plugins whose counterparts have other names."""


def misspelt_names(plugin: type[Plugin]) -> tuple[str, ...]:
    """Return what is wrong with the names in a plugin's class; empty if nothing is.

    Returns
    -------
    tuple of str
        One sentence per name, for example ``fillter is not a method of plugins; did you mean
        "filter"?``.
    """
    return tuple(_problems(plugin))


def _problems(plugin: type[Plugin]) -> Iterator[str]:
    for name, value in _own_names(plugin).items():
        if inspect.isfunction(value):
            method = _method_like(name, value, plugin)
            if method:
                yield (
                    f'{name} is not a method that plugins have; did you mean "{method}"? (a method'
                    f" of your own can be named _{name})"
                )
        elif isinstance(value, bool | Reads | Normalization):
            # A flag may be the plugin's own; values of the other types have no other use.
            cutoff = _CLOSE if isinstance(value, bool) else 0
            for near in difflib.get_close_matches(name, _DECLARATIONS, n=1, cutoff=cutoff):
                yield f'{name} is not a declaration that plugins have; did you mean "{near}"?'


def _own_names(plugin: type[Plugin]) -> dict[str, Any]:
    """Return the public names that the plugin's own classes define and `Plugin` does not."""
    names: dict[str, Any] = {}
    for cls in plugin.__mro__:
        if cls in (object, Plugin) or cls.__module__.startswith("podwright.scheduler.plugins."):
            continue
        for name, value in vars(cls).items():
            if not name.startswith("_") and not hasattr(Plugin, name):
                names.setdefault(name, value)
    return names


def _method_like(name: str, function: Any, plugin: type[Plugin]) -> str:
    """Return the method of `Plugin` that a function seems to stand for; "" if there is none."""
    if name in _UPSTREAM and not plugin.implements(_UPSTREAM[name]):
        return _UPSTREAM[name]
    plain = _plain(name)
    for method in _METHODS:
        if _plain(method) == plain and not plugin.implements(method):
            return method
    for method in difflib.get_close_matches(name, _METHODS, n=3, cutoff=_CLOSE):
        has_its_arguments = _argument_count(function) == _argument_count(_METHODS[method])
        if has_its_arguments and not plugin.implements(method):
            return method
    return ""


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _argument_count(function: Any) -> int:
    return len(inspect.signature(function).parameters)

"""Detects whether a plugin has state that a new instance of it would not have.

A snapshot of a machine does not contain the state of plugins that are not in-tree, since its form
is unknown. Whether there is any can be detected. The state of a plugin is compared with
what it was when the machine was made: the attributes of the instance, of its class, and the
variables of its module that its code names. What differs would be missing in a machine that is
restored.

For a plugin that defines `remembers`, that declaration is used instead.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Final

import msgspec
import numpy as np

from podwright.apimachinery.objects import KubernetesObject
from podwright.scheduler.framework import ObservedMethod, Plugin

_ATOMS: Final = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    enum.Enum,
    re.Pattern,
    ModuleType,
    BuiltinFunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
)
_PARTS: Final[Mapping[type, Callable[[Any], Iterable[object]]]] = {
    list: iter,
    tuple: iter,
    dict: dict.items,
    MethodType: lambda method: (method.__func__.__qualname__, method.__self__),
    staticmethod: lambda method: (method.__func__,),
    classmethod: lambda method: (method.__func__,),
    property: lambda found: (found.fget, found.fset, found.fdel),
}
_NOT_STATE: Final = frozenset({"handle", "_abc_impl"})


class PluginStates:
    """The state of plugins at one time, to detect later changes.

    Parameters
    ----------
    plugins : iterable of Plugin
    """

    def __init__(self, plugins: Iterable[Plugin] = ()) -> None:
        self._plugins = [plugin for plugin in plugins if not plugin.implements("remembers")]
        self._before = [_state_of(plugin) for plugin in self._plugins]

    def changed(self) -> tuple[str, ...]:
        """Return the names of the plugins with state that a new instance would not have."""
        return tuple(
            sorted(
                plugin.name
                for plugin, before in zip(self._plugins, self._before, strict=True)
                if before is None or before != _state_of(plugin)
            )
        )


def _state_of(plugin: Plugin) -> Hashable | None:
    """Return the state of a plugin as values that can be compared; None if it cannot be known."""
    classes = [cls for cls in type(plugin).__mro__ if _is_own(cls)]
    walk = _Walk(classes)
    try:
        slots = [name for cls in classes for name in _slots_of(cls) if hasattr(plugin, name)]
        own = [walk.plain(getattr(plugin, name)) for name in slots]
        return walk.attributes(vars(plugin)), *own, *map(walk.plain, classes)
    except Exception:  # noqa: BLE001 - what belongs to a user's plugin may raise anything
        return None


def _is_own(cls: type) -> bool:
    """Report whether a class is the user's, not one of this package."""
    is_plugin = issubclass(cls, Plugin) and cls is not Plugin
    return is_plugin and not cls.__module__.startswith("podwright.scheduler.plugins.")


def _slots_of(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


class _Walk:
    """Converts what a plugin refers to into plain values.

    Parameters
    ----------
    classes : iterable of type
        The classes of the plugin. Code and variables of their modules are converted; other
        modules are assumed not to change.
    """

    def __init__(self, classes: Iterable[type]) -> None:
        self._classes = tuple(classes)
        self._names = {cls.__module__ for cls in self._classes}
        self._globals = {
            id(value.__globals__)
            for cls in self._classes
            for value in vars(cls).values()
            if isinstance(value, FunctionType)
        }
        self._places: dict[int, int] = {}
        self._kept: list[object] = []

    def plain(self, value: Any) -> Hashable:
        """Return a value that is equal to another one if nothing in `value` has changed."""
        if isinstance(value, _ATOMS) or type(value).__module__ == "_thread":  # locks
            return type(value), value
        place = self._places.get(id(value))
        if place is not None:
            return "again", place
        self._places[id(value)] = len(self._places)
        self._kept.append(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, FunctionType):
            return self._function(value)
        cls = type(value)
        if cls in (set, frozenset):
            # Elements come in any order, so none may depend on what came before.
            return cls, frozenset(_Walk(self._classes).plain(element) for element in value)
        parts = _PARTS.get(cls)
        return self._instance(value) if parts is None else (cls, *map(self.plain, parts(value)))

    def attributes(self, variables: Mapping[str, Any]) -> Hashable:
        """Return the attributes of an instance or a class."""
        return tuple(
            (name, self.plain(value))
            for name, value in variables.items()
            if name not in _NOT_STATE
            and (not _is_special(name) or isinstance(value, FunctionType))
            and not isinstance(value, ObservedMethod)
        )

    def _class(self, cls: type) -> Hashable:
        named = (cls.__module__, cls.__qualname__)
        return (named, self.attributes(vars(cls))) if cls.__module__ in self._names else named

    def _function(self, function: FunctionType) -> Hashable:
        if id(function.__globals__) not in self._globals:
            return function
        cells = []
        for cell in function.__closure__ or ():
            try:
                cells.append(self.plain(cell.cell_contents))
            except ValueError:  # nothing is in it yet
                cells.append(None)
        named = sorted(set(_names(function.__code__)) & function.__globals__.keys())
        return (
            function.__qualname__,
            tuple(cells),
            self.plain(function.__defaults__),
            self.plain(function.__kwdefaults__),
            self.attributes(vars(function)),
            tuple((name, self.plain(function.__globals__[name])) for name in named),
        )

    def _instance(self, value: Any) -> Hashable:
        cls: Any = type(value)
        if isinstance(value, KubernetesObject):
            metadata = value.metadata
            return cls, value.key, metadata.uid, metadata.resource_version
        if isinstance(value, msgspec.Struct):
            return cls, *map(self.plain, msgspec.structs.astuple(value))
        if isinstance(value, np.ndarray):
            content = self.plain(value.tolist()) if value.dtype.hasobject else value.tobytes()
            return cls, value.dtype.str, value.shape, content
        if isinstance(value, Plugin):
            return value.name, self.attributes(vars(value))
        if cls.__module__.startswith("podwright.") and cls.__module__ not in self._names:
            # A part of the machine: only its class counts, since it may be very large.
            return cls, "podwright"
        # What cannot be reduced, such as a generator, raises: the state is unknown then.
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):
            return cls, reduced
        made_by, arguments, *more = reduced
        parts = [list(part) if isinstance(part, Iterator) else part for part in more]
        return cls, self.plain(made_by), *map(self.plain, (arguments, *parts))


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _names(code: CodeType) -> Iterator[str]:
    """Yield every name that code uses, nested functions included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)

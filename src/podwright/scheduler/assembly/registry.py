"""The only list of plugins: in-tree ones by name, and those of the user.

In-tree classes are imported when a profile names them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple

import msgspec

from podwright.apimachinery.documents import did_you_mean
from podwright.apimachinery.objects import FieldError, InputError
from podwright.scheduler.assembly.user_plugins import place_in, raised_in_a_line, wrong_attribute
from podwright.scheduler.config import (
    ARGS_TYPES,
    DEFAULT_GATES,
    IN_TREE_POINTS,
    Gates,
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin as PluginEntry,
    Plugins,
)
from podwright.scheduler.framework import Plugin, described


def module_of(name: str) -> str:
    """Return the module of an in-tree plugin, whose name is that of its class with underscores."""
    module = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return f"podwright.scheduler.plugins.{module}"


class Registry:
    """Plugin classes by name.

    Parameters
    ----------
    plugins : iterable of type
        Classes of the user's own; one that has the name of an in-tree plugin replaces it.
    """

    def __init__(self, plugins: Iterable[type[Plugin]] = ()) -> None:
        self._own: dict[str, type[Plugin]] = {}
        self._points: dict[str, frozenset[str]] = {}
        for plugin in plugins:
            wrong = wrong_attribute(plugin)
            if wrong:
                raise InputError([_wrong(plugin, wrong)])
            self._own[plugin.name] = plugin
            self._points[plugin.name] = _points_of(plugin)

    def enable_own(
        self, configuration: KubeSchedulerConfiguration, *, source: str = "configuration"
    ) -> KubeSchedulerConfiguration:
        """Enable the user's plugins that a configuration does not name, in every profile.

        A QueueSort plugin replaces PrioritySort, a plugin that generates placements replaces
        TopologyPlacementGenerator, and a Bind plugin runs before DefaultBinder.

        Raises
        ------
        InputError
            If a profile has another QueueSort plugin than PrioritySort.
        """
        profiles = configuration.profiles or (KubeSchedulerProfile(),)
        enabled = []
        for index, profile in enumerate(profiles):
            path = f"profiles[{index}].plugins.queueSort"
            enabled.append(self._enable_in(profile, FieldPlace(source, path)))
        return msgspec.structs.replace(configuration, profiles=tuple(enabled))

    def _enable_in(self, profile: KubeSchedulerProfile, place: FieldPlace) -> KubeSchedulerProfile:
        plugins = profile.plugins or Plugins()
        named = {
            entry.name
            for field in Plugins.__struct_fields__
            for entry in (*getattr(plugins, field).enabled, *getattr(plugins, field).disabled)
        }
        added = tuple(PluginEntry(name=name) for name in self._own if name not in named)
        if not added:
            return profile
        multi_point = msgspec.structs.replace(
            plugins.multi_point, enabled=(*plugins.multi_point.enabled, *added)
        )
        queue_sort = plugins.queue_sort
        if any(self._sorts(entry.name) for entry in added):
            sorting = [
                entry.name
                for entry in (*queue_sort.enabled, *multi_point.enabled)
                if self._sorts(entry.name)
            ]
            if len(sorting) > 1:
                raise InputError([_two_sorts(place, sorting)])
            queue_sort = msgspec.structs.replace(
                queue_sort, disabled=(*queue_sort.disabled, PluginEntry(name="PrioritySort"))
            )
        placement_generate = plugins.placement_generate
        if any("placementGenerate" in (self.points_of(entry.name) or ()) for entry in added):
            placement_generate = msgspec.structs.replace(
                placement_generate,
                disabled=(
                    *placement_generate.disabled,
                    PluginEntry(name="TopologyPlacementGenerator"),
                ),
            )
        # After DefaultBinder, which binds every pod, it would never be called.
        binds = tuple(entry for entry in added if "bind" in (self.points_of(entry.name) or ()))
        bind = msgspec.structs.replace(plugins.bind, enabled=(*binds, *plugins.bind.enabled))
        plugins = msgspec.structs.replace(
            plugins,
            multi_point=multi_point,
            queue_sort=queue_sort,
            bind=bind,
            placement_generate=placement_generate,
        )
        return msgspec.structs.replace(profile, plugins=plugins)

    def _sorts(self, name: str) -> bool:
        return "queueSort" in (self.points_of(name) or ())

    def points_of(self, name: str) -> frozenset[str] | None:
        """Return the extension points of a plugin; None if it is unknown."""
        return self._points.get(name, IN_TREE_POINTS.get(name))

    def class_of(self, name: str) -> type[Plugin] | None:
        """Return the class of a plugin; None if there is none."""
        own = self._own.get(name)
        if own is not None:
            return own
        if name not in IN_TREE_POINTS:
            return None
        cls: type[Plugin] = getattr(import_module(module_of(name)), name)
        return cls

    def make(
        self, name: str, args: object, *, gates: Gates = DEFAULT_GATES, source: str
    ) -> Plugin | None:
        """Make a plugin from its arguments.

        Parameters
        ----------
        args : object
            A struct for plugins with an `Args` class, else a mapping or None.
        gates : Gates
            Given to plugins that take them (`Plugin.takes_gates`).
        source : str
            Where the configuration comes from, for errors.

        Raises
        ------
        InputError
            If the plugin does not take these arguments.
        BrokenPlugin
            If it cannot be made for another reason; with the line in its file.
        """
        cls = self.class_of(name)
        if cls is None:
            return None
        if name not in self._own and name not in ARGS_TYPES:
            # kube-scheduler accepts arguments of a plugin that takes none, and ignores them.
            args = None
        try:
            return _make(cls, args, {"gates": gates} if cls.takes_gates else {})
        except _ArgumentsError as error:
            message = f'initializing plugin "{name}": {error}; {_how_to_give(cls)}'
            raise InputError([FieldError(source=source, path="", message=message)]) from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            # The outermost edge: a user's constructor may raise anything, also what would end
            # the process with its own status.
            message = f'initializing plugin "{name}": {_words_of(error)}'
            if args and isinstance(error, TypeError | ValueError):
                raise InputError([FieldError(source=source, path="", message=message)]) from error
            place = place_in(cls, error) or source
            raise BrokenPlugin([FieldError(source=place, path="", message=message)]) from error


class BrokenPlugin(InputError):  # noqa: N818 - named for what it is
    """A plugin that cannot be made, whatever its arguments are."""

    is_of_plugin = True
    """The plugin is wrong, also if the system caused what it raised."""


class FieldPlace(NamedTuple):
    """A field of a configuration."""

    source: str
    path: str


def _two_sorts(place: FieldPlace, names: Iterable[str]) -> FieldError:
    named = " and ".join(f'"{name}"' for name in names)
    message = (
        f"a profile has one QueueSort plugin, and {named} are enabled: enable one of them at"
        ' queueSort, and disable the others there with {name: "*"}'
    )
    return FieldError(source=place.source, path=place.path, message=message)


def _points_of(plugin: type[Plugin]) -> frozenset[str]:
    try:
        return frozenset(plugin.extension_points())
    except Exception as error:
        message = f"its extension points cannot be found: {raised_in_a_line(error)}"
        raise BrokenPlugin([_wrong(plugin, message)]) from error


def _wrong(plugin: type[Plugin], message: str) -> FieldError:
    return FieldError(source=plugin.__module__, path=plugin.__qualname__, message=message)


def _words_of(error: BaseException) -> str:
    """Return the message of a constructor's error; with its type unless it is about arguments."""
    message = raised_in_a_line(error)
    if isinstance(error, TypeError | ValueError):
        return message.removeprefix(f"{type(error).__name__}: ")
    return message


class _ArgumentsError(Exception):
    """The arguments are not those that a plugin takes."""


def _make(cls: type[Plugin], args: object, given: Mapping[str, object]) -> Plugin:
    """Make a plugin.

    Parameters
    ----------
    given : mapping of str to object
        Keywords that do not come from the configuration.
    """
    plugin: object = _called(cls, args, given)
    if not isinstance(plugin, Plugin):
        raise TypeError(f"{cls.__qualname__} makes {described(plugin)}, which is not a plugin")
    # A machine sets it later, where a refusal would have no place to go.
    plugin.handle = None
    return plugin


def _called(cls: type[Plugin], args: object, given: Mapping[str, object]) -> Plugin:
    if cls.Args is None:
        # A struct has the arguments of the built-in plugin that the class replaces.
        if not isinstance(args, Mapping | msgspec.Struct | None):
            raise _ArgumentsError(f"args must be an object, not {described(args)}")
        meta = ("apiVersion", "kind")
        given_here = args.items() if isinstance(args, Mapping) else ()
        keywords = {key: value for key, value in given_here if key not in meta}
        constructor: Callable[..., Plugin] = cls
        signature = _signature_of(constructor)
        try:
            signature.bind(**given, **keywords)
        except TypeError as error:
            # Python names a missing argument first, also if it is one that is misspelt.
            kinds = [parameter.kind for parameter in signature.parameters.values()]
            odd = [key for key in keywords if key not in signature.parameters]
            if not odd or inspect.Parameter.VAR_KEYWORD in kinds:
                raise _ArgumentsError(error) from error
            near = did_you_mean(str(odd[0]), _arguments_of(cls))
            text = f"got an unexpected keyword argument {odd[0]!r}{near}"
            raise _ArgumentsError(text) from error
        return cls(**given, **keywords)
    try:
        if args is None:
            args = cls.Args()
        elif not isinstance(args, cls.Args):
            args = msgspec.convert(args, cls.Args)
    except (TypeError, msgspec.ValidationError) as error:
        raise _ArgumentsError(error) from error
    return cls(args, **given)  # type: ignore[call-arg]  # a class with Args takes one of them


@lru_cache(maxsize=64)
def _signature_of(constructor: Callable[..., Plugin]) -> inspect.Signature:
    """Return how a plugin is made: to find out takes longer than to make one."""
    return inspect.signature(constructor)


def _how_to_give(cls: type[Plugin]) -> str:
    """Say which arguments a plugin takes, and where a configuration has them."""
    arguments = _arguments_of(cls)
    if not arguments:
        return "it takes no arguments"
    accepted = ", ".join(f"{name}{' (required)' * needed}" for name, needed in arguments.items())
    given = ", ".join(f"{name}: ..." for name, needed in arguments.items() if needed)
    given = given or f"{next(iter(arguments))}: ..."
    return (
        f"it takes {accepted}, from profiles[].pluginConfig[].args of the configuration,"
        " for example "
        f"pluginConfig: [{{name: {cls.name}, args: {{{given}}}}}]"
    )


def _arguments_of(cls: type[Plugin]) -> dict[str, bool]:
    """Return the arguments by name, and whether each has to be given."""
    if cls.Args is not None:
        return {field.encode_name: field.required for field in msgspec.structs.fields(cls.Args)}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {
        parameter.name: parameter.default is inspect.Parameter.empty
        for parameter in inspect.signature(cls).parameters.values()
        if parameter.kind in named and not (cls.takes_gates and parameter.name == "gates")
    }

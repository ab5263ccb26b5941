"""Finds plugins of installed packages by their entry points when a profile names them.

Installing a package enables no plugin: other packages of an environment must not change a
decision. Only plugins that a configuration enables are imported, and only for the profiles that
enable them, as in upstream for plugins that are compiled into a scheduler.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from podwright.apimachinery.objects import FieldError, InputError
from podwright.scheduler.assembly.registry import Registry
from podwright.scheduler.assembly.user_plugins import installed_plugin
from podwright.scheduler.config import (
    KubeSchedulerConfiguration,
    KubeSchedulerProfile,
    Plugin as PluginEntry,
    Plugins,
)
from podwright.scheduler.framework import Plugin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "podwright.plugins"
"""The entry point group; the name of each entry point is the name of its plugin."""

_UNKNOWN_PLUGIN: Final = re.compile(r'[Pp]lugin "[^"]*" does not exist(?!; name the file)')


class Installed(NamedTuple):
    """A plugin of an installed package, such as ``rack-plugins 1.2``."""

    cls: type[Plugin]
    package: str


def with_installed(
    configuration: KubeSchedulerConfiguration | None, own: Sequence[type[Plugin]]
) -> tuple[KubeSchedulerConfiguration | None, list[Installed]]:
    """Find the installed plugins that a configuration enables and that are not known otherwise.

    Parameters
    ----------
    own : sequence of type
        The plugins from files, which take precedence.

    Returns
    -------
    configuration : KubeSchedulerConfiguration, optional
        With the installed plugins disabled where a profile does not name them.
    found : list of Installed

    Raises
    ------
    InputError
        With the errors of all of them.
    """
    if configuration is None:
        return None, []
    found = installed_plugins(unknown_plugins(configuration, own))
    names = [one.cls.name for one in found]
    profiles = tuple(_without_unnamed(profile, names) for profile in configuration.profiles)
    return msgspec.structs.replace(configuration, profiles=profiles), found


def unknown_plugins(
    configuration: KubeSchedulerConfiguration, own: Sequence[type[Plugin]] = ()
) -> list[str]:
    """Return the plugins that a configuration enables, and that are neither in-tree nor `own`."""
    registry = Registry(own)
    enabled = dict.fromkeys(
        entry.name for profile in configuration.profiles for entry in _entries(profile, "enabled")
    )
    return [name for name in enabled if registry.points_of(name) is None]


def is_unknown_plugin(message: str) -> bool:
    """Return whether an error of a configuration is that a plugin is unknown."""
    return _UNKNOWN_PLUGIN.search(message) is not None


def with_plugin_field(error: FieldError, field: str) -> FieldError:
    """Return an error of a configuration; if a plugin is unknown, with what can name its file.

    Parameters
    ----------
    field : str
        The field of a document, in place of the option of a command.
    """
    how = f"; name the file of a custom plugin in {field}, or install its package"
    message = error.message + how * is_unknown_plugin(error.message)
    return msgspec.structs.replace(error, message=message)


def packages_of(names: Iterable[str]) -> tuple[str, ...]:
    """Return the packages that offer plugins of these names, such as ``rack-plugins 1.2``."""
    offered = _offered(names).values()
    return tuple(sorted({_package(entry) for entries in offered for entry in entries}))


def installed_plugins(names: Iterable[str]) -> list[Installed]:
    """Load the installed plugins of these names; skip those that are not installed.

    Raises
    ------
    InputError
        With the errors of all of them.
    """
    found: list[Installed] = []
    errors: list[FieldError] = []
    for name, entries in _offered(names).items():
        if len(entries) > 1:
            packages = " and ".join(sorted(map(_package, entries)))
            message = f'duplicate plugin "{name}" in {packages}: uninstall all but one'
            errors.append(FieldError(source=GROUP, path="", message=message))
            continue
        try:
            found += [
                Installed(installed_plugin(entry, _package(entry)), _package(entry))
                for entry in entries
            ]
        except InputError as error:
            errors += error.errors
    if errors:
        raise InputError(errors)
    return found


def _offered(names: Iterable[str]) -> dict[str, list[EntryPoint]]:
    """Return the entry points of the plugins of these names."""
    offered: dict[str, list[EntryPoint]] = {name: [] for name in names}
    if offered:  # listing the installed packages takes longer than many commands
        from importlib.metadata import entry_points

        for entry in entry_points(group=GROUP):
            if entry.name in offered:
                offered[entry.name].append(entry)
    return offered


def _package(entry: EntryPoint) -> str:
    return "a package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _entries(profile: KubeSchedulerProfile, *lists: str) -> Iterator[PluginEntry]:
    plugins = profile.plugins or Plugins()
    for field in Plugins.__struct_fields__:
        for name in lists:
            yield from getattr(getattr(plugins, field), name)


def _without_unnamed(profile: KubeSchedulerProfile, names: Iterable[str]) -> KubeSchedulerProfile:
    """Disable installed plugins that a profile does not name; the registry would enable them."""
    named = {entry.name for entry in _entries(profile, "enabled", "disabled")}
    unnamed = tuple(PluginEntry(name=name) for name in names if name not in named)
    if not unnamed:
        return profile
    plugins = profile.plugins or Plugins()
    disabled = (*plugins.multi_point.disabled, *unnamed)
    multi_point = msgspec.structs.replace(plugins.multi_point, disabled=disabled)
    return msgspec.structs.replace(
        profile, plugins=msgspec.structs.replace(plugins, multi_point=multi_point)
    )

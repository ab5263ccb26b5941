"""User plugins, from the text of a Python file or from an installed package.

The caller reads the file, or finds the entry point of the package. Every problem is an
`InputError` with the line or the entry point.
"""

from __future__ import annotations

import linecache
import sys
import traceback
from types import ModuleType
from typing import Final, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import msgspec

from podwright.apimachinery.objects import FieldError, InputError
from podwright.scheduler.framework import (
    Normalization,
    Plugin,
    Reads,
    described,
    misspelt_names,
    raised,
)

_PACKAGE = "podwright_user_plugins"


class PluginSource(NamedTuple):
    """The text of a plugin file as it was executed."""

    file: str
    text: str


_SOURCES: Final[WeakKeyDictionary[type[Plugin], PluginSource]] = WeakKeyDictionary()


def source_of(plugin: type[Plugin]) -> PluginSource | None:
    """Return the file of a plugin, and its text when it was read; None for installed packages."""
    return _SOURCES.get(plugin)


def plugins_from(text: str, *, source: str, folder: str = "") -> list[type[Plugin]]:
    """Run the text of a plugin file and return the plugins that it defines.

    Parameters
    ----------
    text : str
        Python source, which is executed.
    source : str
        The file's path, for errors and tracebacks.
    folder : str
        The first directory searched for imports of the file, as for a Python script.

    Returns
    -------
    list of type
        Every class in the file that derives from `Plugin` and has a name, in the order of
        definition. Imported classes are not included.

    Raises
    ------
    InputError
        If the text is not Python, fails when run, or defines no plugin or two of one name.
    """
    # Annotations of its classes (for example of an `Args` struct) are resolved through
    # sys.modules. The prefix prevents the module from shadowing another one.
    stem = source.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
    module = ModuleType(f"{_PACKAGE}.{stem}")
    module.__file__ = source
    sys.modules[module.__name__] = module
    added = [folder] if folder else []
    sys.path[:0] = added
    # Tracebacks show the executed lines, also if the file is changed later.
    linecache.cache[source] = (len(text), None, text.splitlines(keepends=True), source)
    try:
        exec(compile(text, source, "exec"), module.__dict__)
    except SyntaxError as error:
        raise _rejected(error.filename or source, error.lineno, f"{error.msg}") from error
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # The outermost edge: a user's file may raise any exception, including SystemExit.
        raise _rejected(source, _line_in(error, source), raised_in_a_line(error)) from error
    finally:
        del sys.path[: len(added)]
    plugins = _plugins_of(module, source)
    name = source.replace("\\", "/").rpartition("/")[2]
    _SOURCES.update(dict.fromkeys(plugins, PluginSource(name, text)))
    return plugins


class EntryPoint(Protocol):
    """The part of `importlib.metadata.EntryPoint` that is used here."""

    @property
    def name(self) -> str:
        """The name of the plugin."""

    @property
    def value(self) -> str:
        """The location of its class: ``module:Class``."""

    def load(self) -> object:
        """Import the module and return the class."""


def installed_plugin(entry: EntryPoint, package: str) -> type[Plugin]:
    """Load a plugin of an installed package.

    Parameters
    ----------
    package : str
        The package and its version, for errors.

    Raises
    ------
    InputError
        If it cannot be imported, is not a plugin, or has a name other than its entry point.
    """
    source = f"{package}: entry point {entry.name} = {entry.value}"
    try:
        found = entry.load()
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # The outermost edge: the import of a package may raise any exception.
        message = f"cannot be imported: {raised_in_a_line(error)}"
        raise _rejected(source, None, message) from error
    if not (isinstance(found, type) and issubclass(found, Plugin)):
        raise _rejected(source, None, "is not a subclass of podwright.Plugin")
    if wrong := wrong_attribute(found):
        raise _rejected(source, None, wrong)
    if found.name != entry.name:
        message = f'the plugin\'s `name` is "{found.name}"; both have to be the same'
        raise _rejected(source, None, message)
    return found


def raised_in_a_line(error: BaseException) -> str:
    """Return an exception of a user's code as one line."""
    return " ".join(raised(error).split())


def place_in(plugin: type[Plugin], error: BaseException) -> str:
    """Return the last line of a plugin's file that led to an error; "" if none did."""
    file = getattr(sys.modules.get(plugin.__module__), "__file__", None)
    line = None if file is None else _line_in(error, file)
    return "" if line is None else f"{file}: line {line}"


def wrong_attribute(plugin: type[Plugin]) -> str:
    """Return a problem of the names and attributes of a plugin's class; "" for none."""
    name: object = plugin.name
    args: object = plugin.Args
    if not name:
        return "a plugin needs a class attribute `name`"
    if not isinstance(name, str):
        return f"`name` must be a string, not {described(name)}"
    if args is not None and not (isinstance(args, type) and issubclass(args, msgspec.Struct)):
        return f"`Args` must be a subclass of msgspec.Struct, not {described(args)}"
    for attribute, kind in _DECLARED.items():
        found = getattr(plugin, attribute)
        if not isinstance(found, (kind, property)):
            return f"`{attribute}` must be {_TYPES[kind]}, not {described(found)}"
    return "; ".join(misspelt_names(plugin))


_TYPES: Final = {bool: "True or False", Reads: "a Reads", Normalization: "a Normalization"}
_DECLARED: Final = {
    name: type(value) for name, value in vars(Plugin).items() if type(value) in _TYPES
}
"""The attributes of a plugin's class that say what it does, and their types."""


def _plugins_of(module: ModuleType, source: str) -> list[type[Plugin]]:
    by_name: dict[str, type[Plugin]] = {}
    unnamed: list[str] = []
    for value in list(vars(module).values()):
        if not (isinstance(value, type) and issubclass(value, Plugin)):
            continue
        if value.__module__ != module.__name__:
            continue
        if not value.name:
            unnamed.append(value.__qualname__)
            continue
        if wrong := wrong_attribute(value):
            raise _rejected(source, None, f"{value.__qualname__}: {wrong}")
        other = by_name.setdefault(value.name, value)
        if other is not value:
            message = (
                f"{other.__qualname__} and {value.__qualname__} are both named "
                f'"{value.name}"; give one of them another `name`, or move it to another file'
            )
            raise _rejected(source, None, message)
    if not by_name:
        detail = (
            f"{', '.join(unnamed)} has no `name`" if unnamed else "it defines no subclass of Plugin"
        )
        raise _rejected(source, None, f"no plugin in this file: {detail}")
    return list(by_name.values())


def _line_in(error: BaseException, source: str) -> int | None:
    """Return the last line of the user's file that led to the error."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == source]
    return lines[-1] if lines else None


def _rejected(source: str, line: int | None, message: str) -> InputError:
    place = source if line is None else f"{source}: line {line}"
    return InputError([FieldError(source=place, path="", message=message)])

"""Plugins of the user's own, from the text of a Python file or from an installed package.

Reading the file, and finding the package's entry point, is the caller's business. What is wrong
is an `InputError` with the line or the entry point, not a traceback.
"""

from __future__ import annotations

import sys
import traceback
from types import ModuleType
from typing import Protocol

import msgspec

from podwright.framework import Plugin, described, raised
from podwright.objects import FieldError, InputError

_PACKAGE = "podwright_user_plugins"


def plugins_from(text: str, *, source: str, folder: str = "") -> list[type[Plugin]]:
    """Run the text of a plugin file and return the plugins that it defines.

    Parameters
    ----------
    text : str
        Python source; running it runs the user's code.
    source : str
        The file's path, for errors and tracebacks.
    folder : str
        Where the file's own imports are looked for first, as Python does for a script.

    Returns
    -------
    list of type
        Every class in the file that derives from `Plugin` and has a name, in the order of
        definition. Classes that the file imports are not its own.

    Raises
    ------
    InputError
        If the text is not Python, fails when run, or defines no plugin or two of one name.
    """
    # The module has to be known to sys.modules, or annotations of its classes (an `Args`
    # struct, say) could not be resolved. A prefix keeps it from shadowing anything.
    stem = source.replace("\\", "/").rpartition("/")[2].removesuffix(".py")
    module = ModuleType(f"{_PACKAGE}.{stem}")
    module.__file__ = source
    sys.modules[module.__name__] = module
    added = [folder] if folder else []
    sys.path[:0] = added
    try:
        exec(compile(text, source, "exec"), module.__dict__)
    except SyntaxError as error:
        raise _refused(error.filename or source, error.lineno, f"{error.msg}") from error
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # The outermost edge: a user's file may raise anything while it is being run, also what
        # would end the process with a status of its own.
        raise _refused(source, _line_in(error, source), raised_in_a_line(error)) from error
    finally:
        del sys.path[: len(added)]
    return _plugins_of(module, source)


class EntryPoint(Protocol):
    """What is needed of an `importlib.metadata.EntryPoint`."""

    @property
    def name(self) -> str:
        """What the plugin is called."""

    @property
    def value(self) -> str:
        """Where its class is: ``module:Class``."""

    def load(self) -> object:
        """Import the module and return the class."""


def installed_plugin(entry: EntryPoint, package: str) -> type[Plugin]:
    """Load a plugin that an installed package offers.

    Parameters
    ----------
    package : str
        The package and its version, for errors.

    Raises
    ------
    InputError
        If it cannot be imported, is no plugin, or is called otherwise than its entry point.
    """
    source = f"{package}: entry point {entry.name} = {entry.value}"
    try:
        found = entry.load()
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # The outermost edge: a package may raise anything while it is being imported.
        message = f"cannot be imported: {raised_in_a_line(error)}"
        raise _refused(source, None, message) from error
    if not (isinstance(found, type) and issubclass(found, Plugin)):
        raise _refused(source, None, "is no class that derives from podwright.Plugin")
    if wrong := wrong_attribute(found):
        raise _refused(source, None, wrong)
    if found.name != entry.name:
        message = f'the plugin\'s `name` is "{found.name}"; both have to be the same'
        raise _refused(source, None, message)
    return found


def raised_in_a_line(error: BaseException) -> str:
    """Put what a user's code raised into one line."""
    return " ".join(raised(error).split())


def place_in(plugin: type[Plugin], error: BaseException) -> str:
    """Return the last line of a plugin's file that led to an error; "" if none did."""
    file = getattr(sys.modules.get(plugin.__module__), "__file__", None)
    line = None if file is None else _line_in(error, file)
    return "" if line is None else f"{file}: line {line}"


def wrong_attribute(plugin: type[Plugin]) -> str:
    """Return what is wrong with the class attributes of a plugin; "" if nothing is."""
    name: object = plugin.name
    args: object = plugin.Args
    if not name:
        return "a plugin needs a class attribute `name`"
    if not isinstance(name, str):
        return f"`name` has to be a string, not {described(name)}"
    if args is not None and not (isinstance(args, type) and issubclass(args, msgspec.Struct)):
        return f"`Args` has to be a msgspec Struct class, not {described(args)}"
    return ""


def _plugins_of(module: ModuleType, source: str) -> list[type[Plugin]]:
    by_name: dict[str, type[Plugin]] = {}
    nameless: list[str] = []
    for value in list(vars(module).values()):
        if not (isinstance(value, type) and issubclass(value, Plugin)):
            continue
        if value.__module__ != module.__name__:
            continue
        if not value.name:
            nameless.append(value.__qualname__)
            continue
        if wrong := wrong_attribute(value):
            raise _refused(source, None, f"{value.__qualname__}: {wrong}")
        other = by_name.setdefault(value.name, value)
        if other is not value:
            message = (
                f"{other.__qualname__} and {value.__qualname__} are both named "
                f'"{value.name}"; give one of them another `name`, or a file of its own'
            )
            raise _refused(source, None, message)
    if not by_name:
        detail = f"{', '.join(nameless)} has no `name`" if nameless else "it defines none"
        raise _refused(source, None, f"no plugin in this file: {detail}")
    return list(by_name.values())


def _line_in(error: BaseException, source: str) -> int | None:
    """Return the last line of the user's file that led to the error."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == source]
    return lines[-1] if lines else None


def _refused(source: str, line: int | None, message: str) -> InputError:
    place = source if line is None else f"{source}: line {line}"
    return InputError([FieldError(source=place, path="", message=message)])

"""The modules of the elements as one script, for a file that a browser opens without a server.

A page of a file may not import modules, so each module becomes a function that returns what it
exports. The modules have one form of imports and exports, which a test checks.
"""

from __future__ import annotations

import posixpath
import re
from functools import partial
from pathlib import Path
from typing import Final

PICTURES: Final = Path(__file__).parent / "pictures"

_IMPORT: Final = re.compile(
    r'^import (?:\{([^}]*)\} from )?"(\.{1,2}/[\w/-]+)\.js";\n', re.MULTILINE
)
_EXPORT: Final = re.compile(
    r"^export ((?:async )?function|class|const|let) (\w+)", re.MULTILINE
)  # fmt: skip


def bundled(entry: str) -> str:
    """Return a script that does what a module and those that it imports do.

    Parameters
    ----------
    entry : str
        The path of the module below `PICTURES`, without `.js`.
    """
    return "\n".join(_function(name, text) for name, text in _texts(entry).items())


def imported(entry: str) -> list[str]:
    """Return the paths of a module and of all that it imports, each after its imports."""
    return list(_texts(entry))


def _texts(entry: str) -> dict[str, str]:
    found: dict[str, str] = {}
    _add(entry, found)
    return found


def _add(name: str, found: dict[str, str]) -> None:
    """Add a module after those that it imports."""
    if name in found:
        return
    text = (PICTURES / f"{name}.js").read_text(encoding="utf-8")
    for _, other in _IMPORT.findall(text):
        _add(_path(name, other), found)
    found[name] = text


def _function(name: str, text: str) -> str:
    exports = ", ".join(exported for _, exported in _EXPORT.findall(text))
    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub(partial(_constants, name), text))
    # The text is within a script element.
    body = body.replace("</", "<\\/")
    return f"const {_variable(name)} = (() => {{\n{body}return {{ {exports} }};\n}})();"


def _constants(importer: str, found: re.Match[str]) -> str:
    names, module = found.groups()
    return f"const {{ {names} }} = {_variable(_path(importer, module))};\n" if names else ""


def _path(importer: str, module: str) -> str:
    """Return the path of a module that another one imports by a relative path."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(importer), module))


def _variable(name: str) -> str:
    return "module_" + re.sub(r"\W", "_", name)

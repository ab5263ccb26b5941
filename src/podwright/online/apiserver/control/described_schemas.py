"""Descriptions of schemas and their properties, from the docstrings of the structs."""

from __future__ import annotations

import inspect
import re
from typing import Final

from podwright.apimachinery.objects import Document

_SECTION: Final = re.compile(r"\n(?P<title>[A-Z]\w+)\n-{3,}\n")
_ENTRY: Final = re.compile(r"^(?P<names>\w+(?:, \w+)*)(?: : (?P<type>[^\n]*))?$", re.MULTILINE)
_FIELDS: Final = ("Attributes", "Parameters")


def describe(schema: Document) -> None:
    """Replace the docstring of a schema by its summary, and describe its properties.

    Parameters
    ----------
    schema : dict
        Of a struct; its description is the docstring, in the form of numpydoc.
    """
    docstring = schema.get("description")
    if not isinstance(docstring, str):
        return
    summary, *sections = _SECTION.split(inspect.cleandoc(docstring))
    schema["description"] = _one_line(summary)
    texts: dict[str, str] = {}
    for title, section in zip(sections[::2], sections[1::2], strict=True):
        if title in _FIELDS:
            texts |= _texts(section)
    for name, shape in schema.get("properties", {}).items():
        text = texts.get(_snake(name), "")
        if text and isinstance(shape, dict):
            shape.setdefault("description", text)


def _texts(section: str) -> dict[str, str]:
    """Return the text of each field; fields without a text have none."""
    found: dict[str, str] = {}
    entries = list(_ENTRY.finditer(section))
    ends = [entry.start() for entry in entries[1:]] + [len(section)]
    for entry, end in zip(entries, ends, strict=True):
        text = _one_line(section[entry.end() : end])
        found |= dict.fromkeys(entry["names"].split(", "), text)
    return found


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", name)


def _one_line(text: str) -> str:
    """Return paragraphs of one line each."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(" ".join(one.split()) for one in paragraphs)

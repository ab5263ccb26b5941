"""How absent fields get their defaults without a change of the argument."""

from __future__ import annotations

import operator
from collections.abc import Callable

from podwright.apimachinery.objects import Document, format_quantity, parse_quantity

_SUFFIXES_OF_FRACTIONS = ("n", "u")


def with_absent(part: Document, defaults: Document) -> Document:
    """Return a part of a document with defaults for fields that are absent or null.

    The default of a Go field that is a pointer: `0` and `""` are values.
    """
    return filled(part, {n: value for n, value in defaults.items() if part.get(n) is None})


def with_empty(part: Document, defaults: Document) -> Document:
    """Return a part of a document with defaults for fields that are absent, null, "" or 0.

    The default of a Go field that is not a pointer.
    """
    return filled(part, {n: value for n, value in defaults.items() if not part.get(n)})


def filled(part: Document, missing: Document) -> Document:
    """Return a part of a document with values for fields that it does not have."""
    if not missing:
        return part
    written = {n: value for n, value in part.items() if value is not None and n not in missing}
    return missing | written


def with_part(part: Document, name: str, change: Callable[[Document], Document]) -> Document:
    """Return a document in which one part, if it is present, is changed by a function."""
    old = part.get(name)
    if old is None:
        return part
    new = change(old)
    return part if new is old else part | {name: new}


def with_items(part: Document, name: str, change: Callable[[Document], Document]) -> Document:
    """Return a document in which each item of a list, if it is present, is changed."""
    old = part.get(name)
    if not old:
        return part
    new = [change(item) for item in old]
    if all(map(operator.is_, new, old)):
        return part
    return part | {name: new}


def with_spec(document: Document, change: Callable[[Document], Document]) -> Document:
    """Return a document with a changed `spec`, which may be absent."""
    old: Document = document.get("spec") or {}
    new = change(old)
    return document if new is old else document | {"spec": new}


def with_whole_millis(resources: Document) -> Document:
    """Return the requests and limits rounded up to thousandths.

    Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_ResourceList
    """
    for kind in ("requests", "limits"):
        if resources.get(kind):
            resources = with_part(resources, kind, rounded)
    return resources


def rounded(amounts: Document) -> Document:
    """Return quantities rounded up to thousandths."""
    changed = {
        name: new
        for name, text in amounts.items()
        if isinstance(text, str)
        and (text.endswith(_SUFFIXES_OF_FRACTIONS) or "." in text)
        and (new := _in_millis(text)) is not text
    }
    return amounts | changed if changed else amounts


def _in_millis(text: str) -> str:
    amount = parse_quantity(text)
    if amount.nano % 10**6 == 0:
        return text
    return format_quantity(f"{amount.milli_value()}m")

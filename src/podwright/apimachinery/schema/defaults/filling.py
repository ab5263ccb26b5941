"""How absent fields get their defaults without a change of the argument.

Most defaults are rows: a change of a struct is a call whose keywords are its fields.

    set_claim_defaults = spec(parts(devices=parts(requests=items(empty(count=1)))))

Functions with the same form stand between rows where a default depends on other fields.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import Document, format_quantity, parse_quantity

Change: TypeAlias = Callable[[Document], Document]
"""Returns a part of a document with its defaults: the part itself if nothing changes."""

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
    return missing | part | missing if missing else part


def with_spec(document: Document, change: Callable[[Document], Document]) -> Document:
    """Return a document with a changed `spec`, which may be absent."""
    old: Document = document.get("spec") or {}
    new = change(old)
    return document if new is old else document | {"spec": new}


def absent(**defaults: Any) -> Change:
    """Return the change that `with_absent` makes."""
    return lambda part: with_absent(part, defaults)


def empty(**defaults: Any) -> Change:
    """Return the change that `with_empty` makes."""
    return lambda part: with_empty(part, defaults)


def parts(**changes: Callable[[Any], Any]) -> Change:
    """Return the change of a struct, from the changes of its fields that are present."""

    def change(part: Document) -> Document:
        for name, of_field in changes.items():
            old = part.get(name)
            if old is not None:
                new = of_field(old)
                if new is not old:
                    part = part | {name: new}
        return part

    return change


def items(*changes: Change) -> Callable[[list[Document]], list[Document]]:
    """Return the change of a list, from the changes of its items."""
    of_item = chain(*changes)

    def change(old: list[Document]) -> list[Document]:
        new = [of_item(item) for item in old]
        return old if all(map(operator.is_, new, old)) else new

    return change


def chain(*changes: Change) -> Change:
    """Return several changes, one after the other."""

    def change(part: Document) -> Document:
        for each in changes:
            part = each(part)
        return part

    return changes[0] if len(changes) == 1 else change


def spec(*changes: Change) -> Change:
    """Return the change of an object, from the changes of its spec, which may be absent."""
    of_spec = chain(*changes)
    return lambda document: with_spec(document, of_spec)


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


with_whole_millis: Final = parts(requests=rounded, limits=rounded)
"""Rounds requests and limits up to thousandths.

Upstream: pkg/apis/core/v1/defaults.go, SetDefaults_ResourceList
"""

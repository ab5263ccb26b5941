"""Descriptions of structs and fields, in our own words: what `kubectl explain` prints.

The files `descriptions/*.toml` have a table for each struct, with a sentence for each field. The
key `""` describes the struct itself, and `"$like"` takes the sentences of another struct for what
the table does not have. The table `"*"` is for the fields that all kinds have. The files are read
when a description is first needed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final, TypeAlias

Tables: TypeAlias = Mapping[str, Mapping[str, str]]

COMMON: Final = "*"
LIKE: Final = "$like"


@cache
def read_descriptions() -> Tables:
    """Return the sentences by struct, such as `core.v1.PodSpec`, and field."""
    found: dict[str, Mapping[str, str]] = {}
    folder = resources.files("podwright.apimachinery.schema").joinpath("descriptions")
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        tables = tomllib.loads(file.read_text(encoding="utf-8"))
        assert not tables.keys() & found.keys(), (file.name, tables.keys() & found.keys())
        found |= tables
    return found


def description(struct: str, field: str = "") -> str:
    """Return what a field of a struct is for, or the struct itself; "" if nothing is known.

    Fields that all kinds have are those of `COMMON`.

    Examples
    --------
    >>> description("core.v1.SleepAction", "seconds")
    'How many seconds it lasts.'
    """
    tables = read_descriptions()
    own = tables.get(struct, {})
    if field in own:
        return own[field]
    return tables.get(own.get(LIKE, ""), {}).get(field, "")

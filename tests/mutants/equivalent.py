"""Mutants that are declared to change no behavior: `equivalent.toml`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

import msgspec

DATA = Path(__file__).parent / "equivalent.toml"


class Change(Protocol):
    """What of a mutant a declaration is about; `sample.Mutant` explains the properties."""

    @property
    def area(self) -> str: ...
    @property
    def module(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def mutated(self) -> str: ...
    @property
    def key(self) -> str: ...


class Equivalent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One declaration; the file explains the fields."""

    area: str
    module: str
    line: str
    mutated: str
    reason: str

    def matches(self, mutant: Change) -> bool:
        """Whether a mutant is the declared one, at any line of its module."""
        return (
            mutant.module == self.module
            and mutant.area == self.area
            and mutant.text == self.line
            and mutant.mutated == self.mutated
        )


class _File(msgspec.Struct, forbid_unknown_fields=True):
    equivalent: list[Equivalent] = []


class UnknownEquivalentError(ValueError):
    """A declaration matches no mutant."""


def read_equivalents(path: Path = DATA) -> list[Equivalent]:
    """Read the declarations."""
    return msgspec.toml.decode(path.read_bytes(), type=_File).equivalent


def declared_among(
    mutants: Iterable[Change], equivalents: Iterable[Equivalent]
) -> dict[str, Equivalent]:
    """Return the declared mutants by key.

    Raises
    ------
    UnknownEquivalentError
        If a declaration matches none of `mutants`, or has no reason.
    """
    by_line: dict[tuple[str, str, str], list[Change]] = {}
    for mutant in mutants:
        by_line.setdefault((mutant.area, mutant.module, mutant.text), []).append(mutant)
    found: dict[str, Equivalent] = {}
    for entry in equivalents:
        place = f"{DATA.name}: {entry.area}/{entry.module}: {entry.line!r}"
        if not entry.reason.strip():
            raise UnknownEquivalentError(f"{place}: it has no reason: say why no test can see it")
        near = by_line.get((entry.area, entry.module, entry.line), [])
        matching = [mutant for mutant in near if entry.matches(mutant)]
        if not matching:
            raise UnknownEquivalentError(
                f"{place}: no mutant makes it {entry.mutated!r}: correct the entry or remove it"
            )
        found.update({mutant.key: entry for mutant in matching})
    return found

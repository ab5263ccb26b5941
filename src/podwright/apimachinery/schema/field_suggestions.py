"""What an unknown field was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Container
from typing import Final, TypeAlias

from podwright.apimachinery.schema.types import StructType, TypeRef

TypeOf: TypeAlias = Callable[[str], StructType]

Parents: TypeAlias = tuple[tuple[str, StructType], ...]
"""The structs that contain a value, with their paths, from the outside in."""

UNKNOWN_FIELD: Final = "unknown field"
"""The first words of the message about an unknown field."""

_DEEPEST_SUGGESTION: Final = 3
_SIMILAR: Final = 0.7
"""Similarity from which a field is suggested; short names are similar to many fields."""
_MISSPELT: Final = 0.85
"""Similarity from which a field is suggested although another struct has it as it is written."""
_LONGEST_NAME: Final = 100
"""A longer name is similar to no field."""
_SHARED_FIELDS: Final = frozenset({"name", "kind", "apiVersion"})
"""Fields that many structs have, so that their place says nothing."""


def unknown_field(name: str, here: Parents, type_of: TypeOf, used: Container[str]) -> str:
    """Return the message about an unknown field, with a suggestion if there is one.

    Parameters
    ----------
    name : str
        The field.
    here : tuple
        The structs around it; the last one does not have the field.
    type_of : callable
        Returns a struct type of the table by its name.
    used : container of str
        The fields that are set beside it.
    """
    if len(name) > _LONGEST_NAME:
        return UNKNOWN_FIELD
    (path, struct) = here[-1]
    for place, around in reversed(here[:-1]):
        if name in around.fields and name not in _SHARED_FIELDS:
            return f"{UNKNOWN_FIELD}; it is a field of {place or 'the object'}"
    near, similarity = _nearest_field(name, struct, used)
    if similarity < _MISSPELT and (place := _place_of(name, struct, type_of)):
        return f"{UNKNOWN_FIELD}; it is a field of {f'{path}.' if path else ''}{place}"
    return f'{UNKNOWN_FIELD}; did you mean "{near}"?' if near else UNKNOWN_FIELD


def _nearest_field(name: str, struct: StructType, used: Container[str]) -> tuple[str, float]:
    """Return the field with the fewest edits and its similarity; "" if none is similar enough.

    A field that is set already counts one edit more, since an object has a field once: it is
    suggested unless another field is as near. Of equally near fields, required ones precede.
    """
    folded = name.casefold()
    matcher = difflib.SequenceMatcher(b=folded)
    best: tuple[int, bool, bool, str] | None = None
    similarity = 0.0
    for field in struct.fields.values():
        candidate = field.name.casefold()
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() < _SIMILAR or (ratio := matcher.ratio()) < _SIMILAR:
            continue
        is_used = field.name in used
        edits = edit_distance(folded, candidate) + is_used
        key = (edits, is_used, not field.is_required, field.name)
        if best is None or key < best:
            best, similarity = key, ratio
    return (best[3], similarity) if best else ("", 0.0)


def edit_distance(a: str, b: str) -> int:
    """Return the number of insertions, deletions, replacements and swaps of neighbors.

    The optimal string alignment distance.

    Examples
    --------
    >>> edit_distance("contaners", "containers"), edit_distance("iamge", "image")
    (1, 1)
    """
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        before, above, row = row, before, [i]
        for j, y in enumerate(b, start=1):
            edits = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and y == a[i - 2]:
                edits = min(edits, above[j - 2] + 1)
            row.append(edits)
    return row[-1]


def _place_of(name: str, struct: StructType, type_of: TypeOf) -> str:
    """Return the nearest path below a struct that has a field of this name; "" if none has."""
    level = [("", struct)]
    seen = {struct.name}
    for _ in range(_DEEPEST_SUGGESTION):
        below: list[tuple[str, StructType]] = []
        for path, one in level:
            for field in one.fields.values():
                inner = field.type.innermost
                if field.type.container == "map" or inner in seen or not _is_struct(field.type):
                    continue
                seen.add(inner)
                suffix = "[]" if field.type.container else ""
                below.append((f"{path}{field.name}{suffix}", type_of(inner)))
        for path, one in below:
            if name in one.fields and path not in {"status", "metadata"}:
                return path
        level = [(f"{path}.", one) for path, one in below if not path.startswith("status")]
    return ""


def _is_struct(ref: TypeRef) -> bool:
    return _is_struct(ref.element) if ref.element is not None else ref.is_struct

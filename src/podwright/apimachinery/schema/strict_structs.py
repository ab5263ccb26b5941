"""The fast path of strict decoding and of Go's form: msgspec structs made from the table.

`msgspec.convert` to such a struct accepts a document only if it has no unknown fields and every
value has its type. It may refuse a valid document, such as one with a quantity in an unusual form;
`decoding` then examines the document field by field and has the last word. It never accepts an
invalid one.

A struct of canonical values also refuses what Go would write differently. It has its fields in the
order of Go's structs, and a field is omitted exactly if it has its default: so what
`msgspec.to_builtins` makes of it is Go's form. Of everything else `go_form` makes it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Container, Mapping
from types import NoneType
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.go_form import ABSENT, FieldForm, GoForms, go_ordered
from podwright.apimachinery.schema.types import StructType, TypeRef

_QUANTITY: Final = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[numkMGTPE]|[KMGTPE]i)?$",
        max_length=100,  # longer ones may be too long
    ),
]
_SECOND: Final = (
    r"^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
)
_TIME: Final = Annotated[str, msgspec.Meta(pattern=_SECOND + r"(?:\.[0-9]{1,9})?Z$")]
_MICRO_TIME: Final = Annotated[str, msgspec.Meta(pattern=_SECOND + r"\.[0-9]{6}Z$")]
_BASE64: Final = Annotated[
    str, msgspec.Meta(pattern=r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$")
]
_INT32: Final = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
_INT64: Final = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

# No infinity, and nothing that is not a number.
_FLOAT: Final = Annotated[float, msgspec.Meta(ge=-1e15, le=1e15)]

_PYTHON_TYPE: Final[Mapping[str, Any]] = {
    "any": Any,
    "object": Any,
    "string": str,
    "bool": bool,
    "int32": _INT32,
    "int64": _INT64,
    "double": float,
    "bytes": _BASE64,
    "quantity": _QUANTITY | _INT64 | _FLOAT,
    "time": _TIME,
    "micro-time": _MICRO_TIME,
    "int-or-string": _INT32 | str,
}

# Only what Go surely writes as it is: everything else is walked.
_CANONICAL: Final[Mapping[str, Any]] = {
    **_PYTHON_TYPE,
    "any": NoneType,  # its maps are not sorted
    "object": NoneType,
    "double": int | float,
    "quantity": Annotated[
        str,
        msgspec.Meta(
            # Up to three digits; or a decimal amount that 1,000 does not divide, or a binary one
            # that 4 does not divide, and so 1,024 does not. All of them are far below 2 ** 63.
            pattern=r"^(?:0|[1-9][0-9]{0,2}(?:[numkMGT]|[KMGT]i)?"
            r"|(?![0-9]*000(?![0-9]))[1-9][0-9]{3,14}m?"
            r"|[1-9][0-9]{1,3}(?:[13579]|[02468][26]|[13579][048])[KMGT]i)$"
        ),
    ],
    "time": Annotated[str, msgspec.Meta(pattern=_SECOND + "Z$")],
}

Struct: TypeAlias = type[msgspec.Struct]


class StrictStructs:
    """Makes the structs of types, each once.

    Parameters
    ----------
    type_of : callable
        Returns a struct type of the table by its name.
    forms : GoForms, optional
        How they are written, for structs of canonical values.
    """

    def __init__(self, type_of: Callable[[str], StructType], forms: GoForms | None = None) -> None:
        self._type_of = type_of
        self._forms = forms
        self._scalars = _PYTHON_TYPE if forms is None else _CANONICAL
        self._made: dict[str, Struct | None] = {}

    def struct(self, name: str) -> Struct | None:
        """Return the struct of a type; None for a type that contains itself."""
        if name not in self._made:
            self._made[name] = None
            self._made[name] = self._make(self._type_of(name))
        return self._made[name]

    def prepared(self, name: str) -> Struct | None:
        """Return the struct of a type, so that several threads can use it."""
        found = self.struct(name)
        if found is not None:
            # Prepares the type: two threads that use one for the first time end the process.
            msgspec.json.Decoder(found)
        return found

    def _make(self, of: StructType) -> Struct | None:
        fields: list[tuple[str, Any, Any]] = []
        names: dict[str, str] = {}
        in_order = of.fields.values() if self._forms is None else go_ordered(of)
        for index, field in enumerate(in_order):
            python_type = self._python_type(field.type)
            if python_type is None:
                return None
            attribute = f"f{index}"
            names[attribute] = field.name
            # A null field is absent, as for the API server.
            slot = python_type | None, None
            if self._forms is not None:
                slot = _written(python_type, field.type, self._forms.field(of.name, field))
            fields.append((attribute, *slot))
        return msgspec.defstruct(
            of.name.rpartition(".")[2],
            fields,
            rename=names.get,
            forbid_unknown_fields=True,
            omit_defaults=True,
            gc=False,
        )

    def _python_type(self, ref: TypeRef) -> Any:
        if ref.element is not None:
            inner = self._python_type(ref.element)
            if inner is None:
                return None
            return dict[str, inner] if ref.container == "map" else list[inner]  # type: ignore[valid-type]  # made at run time
        return self.struct(ref.name) if ref.is_struct else self._scalars[ref.name]


def converted(document: Document, struct: Struct | None) -> msgspec.Struct | None:
    """Return a document as a struct; None if it does not fit."""
    if struct is None:
        return None
    try:
        return msgspec.convert(document, struct)
    except (msgspec.ValidationError, RecursionError):
        return None


def _written(python_type: Any, ref: TypeRef, form: FieldForm) -> tuple[Any, Any]:
    """Return the type of a field and its default, so that it is omitted as Go does.

    A field is omitted if it is identical to its default, or an empty list or map by default. One
    that another factory makes is always written.
    """
    if form.zero is None:
        return python_type | None, msgspec.field(default_factory=lambda: None)
    if form.zero is not ABSENT:
        zero = form.zero
        makes_zero = python_type if ref.is_struct else (lambda: zero) if zero else type(zero)
        return python_type, msgspec.field(default_factory=makes_zero)
    if not form.omits_empty:
        return python_type | None, None
    if ref.container:
        return python_type, msgspec.field(default_factory=dict if ref.container == "map" else list)
    return python_type, {"string": "", "bytes": "", "bool": False}.get(ref.name, 0)


# What an unknown field was probably meant to be.

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

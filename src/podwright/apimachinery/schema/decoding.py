"""Strict decoding, field by field: every unknown field and every wrong type, with its path.

Upstream: staging/src/k8s.io/apimachinery/pkg/runtime/serializer/json
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from podwright.apimachinery.objects import (
    Document,
    QuantityError,
    bytes_of_base64,
    invalid,
    parse_quantity,
    timestamp_ns,
)
from podwright.apimachinery.schema.strict_structs import (
    UNKNOWN_FIELD,
    Parents,
    TypeOf,
    unknown_field,
)
from podwright.apimachinery.schema.types import StructType, TypeRef

Problem: TypeAlias = tuple[str, str, Any]
"""The path of an error, its message, and the invalid value."""

_SUGGESTIONS_MAX: Final = 20
"""How many unknown fields of one object have suggestions."""

_JSON_NAME: Final = {
    "string": "a string", "bool": "true or false", "double": "a number",
}  # fmt: skip
_PYTHON_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "string": str, "bool": bool, "double": (int, float),
}  # fmt: skip
_LIMITS: Final = {"int32": 2**31, "int64": 2**63}
_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
)
_MICRO: Final = re.compile(r"[0-9]\.[0-9]{6}(Z|[+-][0-9]{2}:[0-9]{2})$")
"""Upstream requires six decimals: apimachinery pkg/apis/meta/v1/micro_time.go"""


def decoding_problems(
    document: Any, struct: StructType, type_of: TypeOf, path: str = "", parents: Parents = ()
) -> Iterator[Problem]:
    """Yield every unknown field and every value of a wrong type.

    Parameters
    ----------
    document : Any
        The value of `path`.
    struct : StructType
        The expected type.
    type_of : callable
        Returns a struct type of the table by its name.
    path : str
        The path of the value in its document.
    parents : tuple
        The structs around the value, for suggestions.
    """
    if not isinstance(document, dict):
        yield path, invalid(document, "must be an object"), document
        return
    prefix = f"{path}." if path else ""
    here = (*parents, (path, struct))
    suggestions_left = _SUGGESTIONS_MAX
    for name, value in document.items():
        field = struct.fields.get(name)
        if field is None:
            # The search for similar fields takes long: who writes so many made no typing errors.
            text = (
                unknown_field(name, here, type_of, document) if suggestions_left else UNKNOWN_FIELD
            )
            suggestions_left = max(suggestions_left - 1, 0)
            yield f"{prefix}{name}", text, value
        elif value is not None:
            yield from _value_problems(value, field.type, type_of, f"{prefix}{name}", here)


def _value_problems(
    value: Any, ref: TypeRef, type_of: TypeOf, path: str, parents: Parents
) -> Iterator[Problem]:
    if ref.element is not None:
        if ref.container == "list":
            if not isinstance(value, list | tuple):
                yield path, invalid(value, "must be a list"), value
                return
            entries = [(f"{path}[{index}]", entry) for index, entry in enumerate(value)]
        else:
            if not isinstance(value, dict):
                yield path, invalid(value, "must be a map"), value
                return
            entries = [(f"{path}[{key}]", entry) for key, entry in value.items()]
        for place, entry in entries:
            if entry is not None:
                yield from _value_problems(entry, ref.element, type_of, place, parents)
    elif ref.is_struct:
        yield from decoding_problems(value, type_of(ref.name), type_of, path, parents)
    elif message := _scalar_problem(value, ref.name):
        yield path, message, value


def _scalar_problem(value: Any, name: str) -> str:
    match name:
        case "any" | "object":
            # Go's RawExtension decodes any value; validation rejects what is not an object.
            return ""
        case "quantity":
            return _quantity_problem(value)
        case "time" | "micro-time":
            return _time_problem(value, is_micro=name == "micro-time")
        case "bytes":
            return _base64_problem(value)
        case "int-or-string":
            is_right = isinstance(value, str) or _is_integer(value, 2**31)
            return "" if is_right else invalid(value, "must be an integer or a string")
        case "int32" | "int64":
            return _integer_problem(value, _LIMITS[name])
        case _:
            return _plain_problem(value, name)


def _time_problem(value: Any, *, is_micro: bool) -> str:
    is_text = isinstance(value, str) and _TIME.fullmatch(value) is not None
    is_time = is_text and timestamp_ns(value) is not None
    if is_time and (not is_micro or _MICRO.search(value)):
        return ""
    example = "2026-03-02T10:11:12.000000Z" if is_micro else "2026-03-02T10:11:12Z"
    return invalid(value, f"must be a time, such as {example}")


def _plain_problem(value: Any, name: str) -> str:
    is_right = isinstance(value, _PYTHON_TYPES[name])
    if is_right and (name == "bool" or not isinstance(value, bool)):
        return ""
    is_scalar = not isinstance(value, list | dict)
    hint = "; put it in quotes" if name == "string" and is_scalar else ""
    return invalid(value, f"must be {_JSON_NAME[name]}{hint}")


def _is_integer(value: Any, limit: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit


def _integer_problem(value: Any, limit: int) -> str:
    if _is_integer(value, limit):
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return invalid(value, f"must be a number from {-limit} to {limit - 1}")
    return invalid(value, "must be an integer")


def _quantity_problem(value: Any) -> str:
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return invalid(value, "must be a quantity, such as 500m or 2Gi")
    try:
        parse_quantity(value)
    except QuantityError as error:
        return invalid(value, str(error))
    return ""


def _base64_problem(value: Any) -> str:
    if not isinstance(value, str):
        return invalid(value, "must be a string in base64")
    try:
        bytes_of_base64(value)
    except ValueError:
        return invalid(
            value, "not base64; plain text belongs in stringData or in data of a ConfigMap"
        )
    return ""


# ------------------------------------------------------------------ the part that is readable

_NOTHING: Final = object()
_NEUTRAL: Final = {"string": "", "int32": 0, "int64": 0, "double": 0.0, "bool": False}
"""Values of list entries, whose removal would change the indexes of the others."""


def decodable(
    document: Document, struct: StructType, type_of: TypeOf, removed: list[str], path: str = ""
) -> Document:
    """Return a document without its values of wrong types, so that the rest can be validated.

    A number or boolean in the place of a string becomes its text, and the text of an integer in the
    place of one becomes that integer, which is probably what was meant. Unknown fields stay.

    Parameters
    ----------
    removed : list of str, written
        Receives the paths of the other values; in lists they are replaced by empty ones.
    path : str
        The path of the document.
    """
    kept = {}
    for name, value in document.items():
        field = struct.fields.get(name)
        readable = value
        if field is not None and value is not None:
            at = f"{path}.{name}" if path else name
            readable = _decodable(value, field.type, type_of, removed, at)
        if readable is not _NOTHING:
            kept[name] = readable
    return kept


def _decodable(value: Any, ref: TypeRef, type_of: TypeOf, removed: list[str], path: str) -> Any:
    found: Any = _NOTHING
    if ref.container == "list" and isinstance(value, list | tuple):
        assert ref.element is not None, ref
        found = [
            _or_neutral(
                _entry(each, ref.element, type_of, removed, f"{path}[{index}]"), ref.element
            )
            for index, each in enumerate(value)
        ]
    elif ref.container == "map" and isinstance(value, dict):
        assert ref.element is not None, ref
        entries = (
            (key, _entry(each, ref.element, type_of, removed, f"{path}[{key}]"))
            for key, each in value.items()
        )
        found = {key: each for key, each in entries if each is not _NOTHING}
    elif ref.is_struct and isinstance(value, dict):
        found = decodable(value, type_of(ref.name), type_of, removed, path)
    elif ref.name and not ref.is_struct:
        found = value if not _scalar_problem(value, ref.name) else _meant(value, ref.name)
    if found is _NOTHING:
        removed.append(path)
    return found


def _entry(value: Any, ref: TypeRef, type_of: TypeOf, removed: list[str], path: str) -> Any:
    return value if value is None else _decodable(value, ref, type_of, removed, path)


def _or_neutral(value: Any, ref: TypeRef) -> Any:
    if value is not _NOTHING:
        return value
    return {} if ref.is_struct else _NEUTRAL.get(ref.name)


def _meant(value: Any, name: str) -> Any:
    if name == "string" and isinstance(value, bool | int | float):
        return str(value).lower()
    if name in _LIMITS and isinstance(value, str) and _INTEGER.fullmatch(value):
        number = int(value)
        return number if _is_integer(number, _LIMITS[name]) else _NOTHING
    return _NOTHING

"""Lists of structs in annotations, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document, go_json_error
from podwright.apimachinery.schema.validation.field_errors import FieldErrors

JSON_TYPES: Final = {
    dict: "object", list: "array", str: "string", int: "number", float: "number", bool: "bool",
}  # fmt: skip
"""The words of Go's decoder for kinds of values."""


def annotation_list(
    errors: FieldErrors, path: str, key: str, written: str, struct: str, fields: Mapping[str, str]
) -> list[Document]:
    """Return the structs of an annotation; none if it cannot be decoded, which is an error.

    Parameters
    ----------
    struct : str
        The name of their type.
    fields : mapping
        The Go types of their fields, which are texts except for those of type int64.
    """
    try:
        found = msgspec.json.decode(written)
    except msgspec.DecodeError as error:
        errors.invalid(path, key, go_json_error(written.encode(), error))
        return []
    for value, expected in _wrong_types(found, struct, fields):
        text = f"json: cannot unmarshal {JSON_TYPES[type(value)]} into Go {expected}"
        errors.invalid(path, key, text)
        return []
    return [each or {} for each in found or ()]


def _wrong_types(found: Any, struct: str, fields: Mapping[str, str]) -> list[tuple[Any, str]]:
    if found is None:
        return []
    if not isinstance(found, list):
        return [(found, f"value of type []core.{struct}")]
    wrong = [
        (each, f"value of type core.{struct}")
        for each in found
        if not (each is None or isinstance(each, dict))
    ]
    return wrong or [
        (each[name], f"struct field {struct}.{name[0].upper()}{name[1:]} of type {go_type}")
        for each in found
        for name, go_type in fields.items()
        if each and type(each.get(name)) not in (_NUMBER if go_type == "int64" else _TEXT)
    ]


_TEXT: Final = (str, type(None))
_NUMBER: Final = (int, type(None))

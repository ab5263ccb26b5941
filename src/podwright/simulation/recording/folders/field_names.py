"""The names of fields in the documents of a run folder.

Documents have camelCase keys, as those of Kubernetes; fields of structs are in snake_case. Up to
format 3 of run folders, the documents had the names of the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


def camel_case(name: str) -> str:
    """Return a name in snake_case, or words, as camelCase."""
    head, *rest = name.replace(" ", "_").split("_")
    return head + "".join(word.capitalize() for word in rest)


def with_written_names(document: Any, kind: type) -> Any:
    """Return a document of an earlier format with the keys that are written today.

    Parameters
    ----------
    document : dict, list or scalar
        As decoded from JSON.
    kind : type
        The type that describes the document. Keys of mappings are kept: they are data.
    """
    return _renamed(document, msgspec.inspect.type_info(kind))


def _renamed(value: Any, info: msgspec.inspect.Type) -> Any:
    match info:
        case msgspec.inspect.StructType() if isinstance(value, Mapping):
            fields = {field.name: field for field in info.fields}
            return {
                fields[key].encode_name if key in fields else key: _renamed(
                    each, fields[key].type if key in fields else msgspec.inspect.AnyType()
                )
                for key, each in value.items()
            }
        case msgspec.inspect.DictType() if isinstance(value, Mapping):
            return {key: _renamed(each, info.value_type) for key, each in value.items()}
        case msgspec.inspect.VarTupleType() if isinstance(value, list):
            return [_renamed(each, info.item_type) for each in value]
        case msgspec.inspect.UnionType():
            for one in info.types:
                value = _renamed(value, one)
            return value
        case _:
            return value

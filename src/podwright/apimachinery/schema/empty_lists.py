"""Empty lists as upstream's storage returns them.

Protobuf does not distinguish an empty list from an absent one, so that Go writes null for it after
the object was stored, if the field has no `omitempty`. Definitions of custom resources are stored
as JSON.

Upstream: staging/src/k8s.io/api/*/v1/generated.pb.go, Unmarshal
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any, NamedTuple

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.types import StructType, TypeRef


class _Place(NamedTuple):
    """A field with a list that may be null, or with such fields below it."""

    name: str
    is_null: bool
    container: str
    inside: tuple[_Place, ...]


_JSON_GROUP = "apiextensions."


class EmptyLists:
    """Replaces empty lists by null.

    Parameters
    ----------
    type_of : callable
        Returns a struct type of the table by its name.
    """

    def __init__(self, type_of: Callable[[str], StructType]) -> None:
        self._type_of = type_of
        self._places: dict[str, tuple[_Place, ...]] = {}

    def as_stored(self, document: Document, struct: str) -> Document:
        """Return an object in Go's form as storage gives it back; itself if nothing changes."""
        places = self._places_of(struct)
        return _with_nulls(document, places) if places else document

    def _places_of(self, struct: str) -> tuple[_Place, ...]:
        found = self._places.get(struct)
        if found is None:
            self._places[struct] = ()  # a struct that contains itself ends the search here
            found = () if struct.startswith(_JSON_GROUP) else tuple(self._find(struct))
            self._places[struct] = found
        return found

    def _find(self, struct: str) -> list[_Place]:
        found = []
        for field in self._type_of(struct).fields.values():
            container, inner = field.type.container, _innermost(field.type)
            is_null = field.is_null and bool(container)
            inside = self._places_of(inner.name) if inner.is_struct else ()
            if is_null or inside:
                found.append(_Place(field.name, is_null, container, inside))
        return found


def _innermost(ref: TypeRef) -> TypeRef:
    return ref if ref.element is None else ref.element


def _with_nulls(value: Document, places: tuple[_Place, ...]) -> Document:
    changes: Document = {}
    for name, is_null, container, inside in places:
        part: Any = value.get(name)
        if not part:
            if is_null and part is not None:
                changes[name] = None
            continue
        if not inside:
            continue
        new: Any
        if container == "list":
            new = [_with_nulls(each, inside) for each in part]
            is_same = all(map(is_, new, part))
        elif container:
            new = {key: _with_nulls(each, inside) for key, each in part.items()}
            is_same = all(new[key] is part[key] for key in part)
        else:
            new = _with_nulls(part, inside)
            is_same = new is part
        if not is_same:
            changes[name] = new
    return value | changes if changes else value

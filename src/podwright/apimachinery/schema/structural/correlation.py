"""Which part of the stored object a part of the new one corresponds to.

Errors of unchanged parts do not prevent an update: the schema may have changed since.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/common/equality.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podwright.apimachinery.schema.structural.pruning import Schema


class Correlation:
    """A value of the new object with its counterpart.

    Parameters
    ----------
    value, old : Any
        Decoded JSON.
    schema : mapping
        Their schema.
    """

    __slots__ = ("_old", "_schema", "_value")

    def __init__(self, value: Any, old: Any, schema: Schema) -> None:
        self._value = value
        self._old = old
        self._schema = schema

    def is_unchanged(self) -> bool:
        """Whether both are equal; the order of the items of a list of type map is ignored."""
        value, old = self._value, self._old
        if not isinstance(value, list) or not isinstance(old, list) or not self._is_map_list:
            return bool(type(value) is type(old) and value == old)
        if len(value) != len(old):
            return False
        items = [self.item(index) for index in range(len(value))]
        return all(each is not None and each.is_unchanged() for each in items)

    @property
    def _is_map_list(self) -> bool:
        return self._schema.get("x-kubernetes-list-type") == "map"

    def field(self, name: str) -> Correlation | None:
        """Return a field of an object; None if one of the two objects does not have it."""
        value, old = self._value, self._old
        if not isinstance(value, dict) or not isinstance(old, dict):
            return None
        if name not in value or name not in old:
            return None
        schema = (self._schema.get("properties") or {}).get(name)
        if schema is None:
            schema = self._schema.get("additionalProperties")
        if not isinstance(schema, Mapping):
            return None
        return Correlation(value[name], old[name], schema)

    def item(self, index: int) -> Correlation | None:
        """Return an item of a list; only those of lists of type map have counterparts."""
        items = self._schema.get("items")
        if not self._is_map_list or not isinstance(self._old, list):
            return None
        if not isinstance(items, Mapping):
            return None
        value = self._value[index]
        names = self._schema.get("x-kubernetes-list-map-keys") or ()
        if not isinstance(value, dict):
            return None
        for old in self._old:
            if isinstance(old, dict) and all(old.get(name) == value.get(name) for name in names):
                return Correlation(value, old, items)
        return None

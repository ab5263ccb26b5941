"""Tables: the columns and cells that `kubectl get` prints.

Kinds without columns of their own have the name and the time of creation, as upstream.

Upstream: pkg/printers/internalversion/printers.go;
staging/src/k8s.io/apiserver/pkg/registry/rest/table.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.cluster.api.versions.resources import Resource


class TableContent(msgspec.Struct, frozen=True):
    """The columns and the cells of objects.

    Attributes
    ----------
    columns : list of dict
        The column definitions.
    rows : list of list
        The cells of each object.
    """

    columns: list[Document]
    rows: list[list[Any]]


_COMMON: Final = frozenset({"Name", "Created At"})
_NAME_TEXT: Final = "Name must be unique within a namespace."
_CREATED_TEXT: Final = "The time at which the server created the object."


def column(
    name: str, type_: str = "string", form: str = "", text: str = "", priority: int = 0
) -> Document:
    """Return a column definition."""
    return {
        "name": name,
        "type": type_,
        "format": form,
        "description": text,
        "priority": priority,
    }


def table(resource: Resource, items: Sequence[Document], now_ns: int) -> TableContent:
    """Return objects as a table.

    Parameters
    ----------
    resource : Resource
    items : sequence of dict
        The objects in the version of the request.
    now_ns : int
        The time, from which ages are computed.
    """
    columns = resource.kind.row.columns
    if columns:
        definitions = [
            column(each.name, each.type, each.format, each.description, each.priority)
            for each in columns
        ]
        # As upstream, of the objects themselves and not of a version.
        kind = resource.kind if resource.is_custom else resource.storage_kind
        stored = items if resource.is_custom else [resource.stored(each) for each in items]
        return TableContent(definitions, [kind.cells(each, now_ns) for each in stored])
    definitions = [
        column("Name", form="name", text=_NAME_TEXT),
        column("Created At", "date", text=_CREATED_TEXT),
    ]
    metadata = [each.get("metadata") or {} for each in items]
    rows = [[each.get("name"), each.get("creationTimestamp")] for each in metadata]
    return TableContent(definitions, rows)


def has_own_columns(resource: Resource) -> bool:
    """Whether a kind has columns of its own, and not those that upstream gives all others."""
    columns = resource.kind.row.columns
    return resource.is_custom or any(each.name not in _COMMON for each in columns)


def in_table_order(resource: Resource, items: Sequence[Document]) -> Sequence[Document]:
    """Return the objects of a list in the order of the rows: FlowSchemas by precedence.

    Upstream: pkg/printers/internalversion/printers.go, printFlowSchemaList
    """
    if resource.name != "FlowSchema" or resource.is_custom:
        return items
    return sorted(
        items,
        key=lambda each: (
            (each.get("spec") or {}).get("matchingPrecedence") or 0,
            each["metadata"]["name"],
        ),
    )


_COMPLETED: Final = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def row_conditions(resource: Resource, item: Document) -> list[Document]:
    """Return the conditions of a row; kubectl can hide the rows of completed pods.

    Upstream: pkg/printers/internalversion/printers.go, printPod
    """
    if (resource.group, resource.name) != ("", "Pod"):
        return []
    phase = (item.get("status") or {}).get("phase", "")
    message = _COMPLETED.get(phase)
    if message is None:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]

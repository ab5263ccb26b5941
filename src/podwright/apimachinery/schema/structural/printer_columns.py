"""The columns of custom resources in kubectl's tables.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import Document
from podwright.apimachinery.schema.printing.conversions import Cell, age
from podwright.apimachinery.schema.structural.json_paths import (
    JsonPath,
    JsonPathError,
    compiled_path,
)
from podwright.apimachinery.schema.structural.values import go_number
from podwright.apimachinery.schema.table import Column

_NAME: Final = Column("Name", "string", "name", 0, "", "Name of the object.")
_AGE: Final = {
    "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
    "description": "Time at which the object was created.",
}  # fmt: skip

CellOf = Callable[[Document, int], Cell]


def columns_of(definitions: Sequence[Document]) -> tuple[tuple[Column, ...], list[CellOf]]:
    """Return the columns of a version, and the functions that compute their cells.

    Parameters
    ----------
    definitions : sequence of dict
        `additionalPrinterColumns`; without any there is the age.
    """
    columns = [_NAME]
    cells: list[CellOf] = [_name]
    for each in definitions or (_AGE,):
        path = str(each.get("jsonPath") or "")
        try:
            compiled = compiled_path(path)
        except JsonPathError:
            break  # upstream prints the columns before an invalid one
        text = each.get("description") or (
            f"Custom resource definition column (in JSONPath format): {path}"
        )
        type_ = str(each.get("type") or "")
        form = str(each.get("format") or "")
        priority = int(each.get("priority") or 0)
        columns.append(Column(str(each.get("name") or ""), type_, form, priority, path, text))
        cells.append(_cell_function(compiled, type_))
    return tuple(columns), cells


def _name(document: Document, now_ns: int) -> Cell:
    del now_ns
    return str((document.get("metadata") or {}).get("name") or "")


def _cell_function(path: JsonPath, type_: str) -> CellOf:
    def cell(document: Document, now_ns: int) -> Cell:
        found = next((match.obj for match in path.finditer(document)), _ABSENT)
        return None if found is _ABSENT else _cell(found, type_, now_ns)

    return cell


_ABSENT: Final = object()


def _cell(value: Any, type_: str, now_ns: int) -> Cell:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match type_:
        case "string":
            return _text(value)
        case "integer" if is_number and math.isfinite(value):
            return int(value)
        case "number" if is_number:
            return float(value)
        case "boolean" if isinstance(value, bool):
            return bool(value)
        case "date" if isinstance(value, str):
            text = age(value, now_ns)
            return "<invalid>" if value and text == "<unknown>" else text
        case _:
            return None


def _text(value: Any) -> str:
    """Return a value as upstream prints a result of JSONPath."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, dict | list):
        return msgspec.json.encode(value, order="deterministic").decode()
    if isinstance(value, bool):
        return "true" if value else "false"
    return go_number(value)

"""Columns and cells are those of the recorded Tables of kube-apiserver.

A Table has its objects only on request. For the others, the object is that of the last recorded
response with its name before the Table.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from podwright.apimachinery.schema import Kind, built_in

Document = dict[str, Any]

RECORDINGS = Path(__file__).parent / "api"
PATH = re.compile(
    r"/(?:api/(v1)|apis/([^/]+/[^/]+))(?:/namespaces/[^/]+)?/([a-z]+)(?:/([^/]+))?(?:/[^/]+)*"
)
AGE = re.compile(r"\d+[smhdy](\d+[smhd])?")
NOW_NS = 1_800_000_000_000_000_000
LONGEST_DESCRIPTION = 60
"""Longer descriptions are our own words."""


class RecordedTable(NamedTuple):
    """A Table with the objects of its rows; None for an object that no response has."""

    key: str
    kind: Kind
    columns: list[Document]
    rows: list[tuple[Document | None, list[Any]]]


def recorded_tables() -> Iterator[RecordedTable]:
    resources = {(kind.api_version, kind.row.resource): kind for kind in built_in()}
    for file in sorted(RECORDINGS.glob("*.jsonl.gz")):
        known: dict[tuple[str, str], Document] = {}
        with gzip.open(file, "rt") as lines:
            for line in lines:
                exchange = json.loads(line)
                match = PATH.fullmatch(exchange["request"]["path"])
                kind = match and resources.get((match[1] or match[2], match[3]))
                if not kind:
                    continue
                for body in bodies(exchange["response"]["body"]):
                    if body.get("kind") != "Table":
                        remember(known, body)
                        continue
                    key = f"{exchange['group']} {exchange['id']}"
                    rows = [(object_of(row, kind, known), row["cells"]) for row in body["rows"]]
                    yield RecordedTable(key, kind, body["columnDefinitions"] or [], rows)


def bodies(body: Any) -> Iterator[Document]:
    if isinstance(body, dict) and "watch" in body:
        for event in body["watch"]:
            if event["type"] != "ERROR":
                yield event["object"]
    elif isinstance(body, dict):
        yield body


def remember(known: dict[tuple[str, str], Document], body: Document) -> None:
    kind = body.get("kind", "")
    items = body.get("items", [body])
    for item in items:
        name = (item.get("metadata") or {}).get("name")
        if name and kind != "PartialObjectMetadata":
            known[kind.removesuffix("List"), name] = item


def object_of(row: Document, kind: Kind, known: dict[tuple[str, str], Document]) -> Document | None:
    present = row.get("object")
    if present is None:
        return known.get((kind.row.kind, row["cells"][0]))
    if present["kind"] == kind.row.kind:
        return dict(present)
    name = present["metadata"].get("name")
    if name is None:  # the object of a bookmark is empty
        return {"metadata": {}}
    # An event has the same name in both groups; the response may be that of the other one.
    return known.get((kind.row.kind, name))


TABLES = list(recorded_tables())


def test_there_are_recorded_tables() -> None:
    rows = [document for table in TABLES for document, _ in table.rows]
    assert len(TABLES) > 25
    assert len([document for document in rows if document is not None]) > 40
    assert len({table.kind.row.kind for table in TABLES}) > 8


@pytest.mark.parametrize(
    "table", [each for each in TABLES if each.columns], ids=lambda each: each.key
)
def test_the_columns_are_those_of_the_server(table: RecordedTable) -> None:
    columns = table.kind.row.columns
    facts = ("name", "type", "format", "priority")
    assert [(each.name, each.type, each.format, each.priority) for each in columns] == [
        tuple(each[fact] for fact in facts) for each in table.columns
    ]
    for column, recorded in zip(columns, table.columns, strict=True):
        text = recorded["description"]
        if text != "<text>" and len(text) <= LONGEST_DESCRIPTION:
            assert column.description == text
        assert column.description


@pytest.mark.parametrize("table", [each for each in TABLES if each.rows], ids=lambda each: each.key)
def test_the_cells_are_those_of_the_server(table: RecordedTable) -> None:
    for document, recorded in table.rows:
        if document is None:
            continue  # an object that existed before the recording
        # Times before the recording are replaced by a mark, and so are all ages.
        dated = json.loads(json.dumps(document).replace("<time>", "2027-01-15T07:00:00Z"))
        cells = table.kind.cells(dated, NOW_NS)
        marked = [
            "<age>" if expected == "<age>" and AGE.fullmatch(str(cell)) else cell
            for cell, expected in zip(cells, recorded, strict=True)
        ]
        assert marked == recorded

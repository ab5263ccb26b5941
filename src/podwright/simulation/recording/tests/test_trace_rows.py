"""The rows of the tables of traces, in every form of file, and files that are none."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from podwright.apimachinery.objects import InputError
from podwright.simulation.recording.folders import tables
from podwright.simulation.recording.folders.trace_rows import trace_rows

LINES = b'{"a": 1}\n\n{"a": 2, "b": null}\n'


@pytest.mark.parametrize(
    ("content", "options", "rows"),
    [
        pytest.param(
            b'a, b ,c\n1,x y,\n\n"2\n3",,z\n4,5,6\n',
            {},
            # The number is that of the line on which a row ends.
            [
                (2, {"a": "1", "b": "x y", "c": None}),
                (5, {"a": "2\n3", "b": None, "c": "z"}),
                (6, {"a": "4", "b": "5", "c": "6"}),
            ],
            id="CSV with a header, spaces around names, empty cells and lines",
        ),
        pytest.param(
            b"\n\na\n1\n", {}, [(4, {"a": "1"})], id="empty lines before the header count"
        ),
        pytest.param(
            b"1,2\n3,4\n",
            {"header": ("x", "y")},
            [(1, {"x": "1", "y": "2"}), (2, {"x": "3", "y": "4"})],
            id="CSV with a given header",
        ),
        pytest.param(b"a,b\n", {}, [], id="a header alone"),
        pytest.param(
            LINES, {}, [(1, {"a": 1}), (3, {"a": 2, "b": None})], id="an object in each line"
        ),
        pytest.param(
            b'{"a": 1}\n  \n{"a": 2}\n', {}, [(1, {"a": 1}), (3, {"a": 2})], id="a line of spaces"
        ),
        pytest.param(
            b'  \n [{"a": 1},\n {"b": 2}]\n', {}, [(1, {"a": 1}), (2, {"b": 2})], id="a list"
        ),
        pytest.param(b'[{"a": 1}]', {}, [(1, {"a": 1})], id="a list in one line"),
        pytest.param(b"[]", {}, [], id="an empty list"),
    ],
)
def test_rows_of_texts(tmp_path: Path, content: bytes, options: Any, rows: Any) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    assert [*trace_rows(str(path), **options)] == rows
    path.write_bytes(gzip.compress(content))
    assert [*trace_rows(str(path), **options)] == rows


def database(folder: Path) -> str:
    path = folder / "trace.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table pods (name text, cpu real)")
        connection.executemany("insert into pods values (?, ?)", [("a", 1.5), ("b", None)])
        connection.commit()
    return str(path)


def test_rows_of_a_database_are_those_of_a_query(tmp_path: Path) -> None:
    path = database(tmp_path)
    query = "select cpu, upper(name) as title from pods order by name"
    assert [*trace_rows(path, query=query)] == [
        (1, {"cpu": 1.5, "title": "A"}),
        (2, {"cpu": None, "title": "B"}),
    ]
    for without_rows in ("select name from pods where cpu > 9", "begin"):
        assert [*trace_rows(path, query=without_rows)] == []


@pytest.mark.parametrize(
    ("query", "message"),
    [
        pytest.param(
            "",
            "query: Required value: a SELECT statement, because the file is a SQLite database",
            id="none",
        ),
        pytest.param("select x from pods", "query: no such column: x", id="of another table"),
        pytest.param(
            "delete from pods",
            "query: attempt to write a readonly database",
            id="a trace is never changed",
        ),
        pytest.param(
            "select 1; select 2",
            "query: You can only execute one statement at a time.",
            id="two",
        ),
    ],
)
def test_queries_that_have_no_rows(tmp_path: Path, query: str, message: str) -> None:
    path = database(tmp_path)
    with pytest.raises(InputError) as error:
        [*trace_rows(path, query=query)]
    assert str(error.value) == f"{path}: {message}"
    assert len([*trace_rows(path, query="select * from pods")]) == 2


def test_rows_of_a_parquet_file(tmp_path: Path) -> None:
    table = tables.arrow_table({"n": "int", "t": "name"}, {"n": [1, 2], "t": ["a", None]})
    path = tmp_path / "trace"
    path.write_bytes(tables.parquet_bytes(table))
    assert [*trace_rows(str(path))] == [(1, {"n": 1, "t": "a"}), (2, {"n": 2, "t": None})]
    path.write_bytes(b"PAR1 and more")
    with pytest.raises(InputError, match="trace: cannot be read as Parquet: "):
        [*trace_rows(str(path))]


def test_a_parquet_file_needs_its_library(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "trace"
    path.write_bytes(b"PAR1")
    monkeypatch.setattr(tables, "find_spec", {}.get)
    with pytest.raises(tables.MissingExtra, match=r"or do without tables: --no-tables$"):
        [*trace_rows(str(path))]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "{path}: no rows in this file"),
        (b" \n\n", "{path}: no rows in this file"),
        (b"a,b\n1,2\n3\n", "{path}: line 3: 1 cells, but 2 columns"),
        (b"a\n1,2\n", "{path}: line 2: 2 cells, but 1 columns"),
        (b"a\n\xff\n", "{path}: cannot be read as CSV: 'utf-8' codec can't decode byte 0xff"),
        (b'{"a": 1}\n{"a"\n', "{path}: line 2: Input data was truncated"),
        (b'{"a": 1}\n[2]\n', "{path}: line 2: Expected `object`, got `array`"),
        (
            b"[1]\n",
            "{path}: must be a list of objects, or an object in each line: Expected"
            " `object`, got `int` - at `$[0]`",
        ),
        (
            b'{\n"a": 1}\n',
            "{path}: must be a list of objects, or an object in each line: Expected `array`,"
            " got `object`",
        ),
    ],
)
def test_files_without_a_table(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        [*trace_rows(str(path))]
    assert str(error.value).startswith(message.format(path=path))


def test_rows_before_a_wrong_one_are_there(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(LINES + b"x\n")
    rows = trace_rows(str(path))
    assert [next(rows), next(rows)] == [(1, {"a": 1}), (3, {"a": 2, "b": None})]
    with pytest.raises(InputError, match="line 4: "):
        next(rows)


def test_a_file_that_cannot_be_opened_has_the_reason(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "x", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(InputError) as error:
            [*trace_rows(str(path))]
        assert str(error.value).startswith(f"{path}: cannot be read: {reason}")


def test_json_and_csv_have_the_same_rows_of_texts(tmp_path: Path) -> None:
    rows = [{"a": str(number), "b": str(-number)} for number in range(1, 30)]
    path = tmp_path / "trace"
    found = []
    for text in (
        json.dumps(rows),
        "\n".join(map(json.dumps, rows)),
        "a,b\n" + "\n".join(",".join(row.values()) for row in rows),
    ):
        path.write_text(text, encoding="utf-8")
        found.append([row for _, row in trace_rows(str(path))])
    assert found == [rows] * 3

"""The rows of the tables of traces: CSV, JSON, JSON lines, Parquet and SQLite files.

Rows are read one after the other; only a file that is one JSON list is read whole.
"""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import InputError, required
from podwright.simulation.files import file_lines
from podwright.simulation.recording.folders.tables import require_arrow

TableRow: TypeAlias = tuple[int, Mapping[str, Any]]
"""The number of a row or line, and its values by column."""

_SQLITE: Final = b"SQLite format 3\0"
_PARQUET: Final = b"PAR1"
_JSON_START: Final = (b"{", b"[")


def trace_rows(path: str, *, header: Sequence[str] = (), query: str = "") -> Iterator[TableRow]:
    """Yield the rows of a file; its first bytes decide how it is read.

    Parameters
    ----------
    path : str
        The file. CSV and JSON may be compressed with gzip.
    header : sequence of str
        The columns of a CSV file without a header.
    query : str
        The rows of a SQLite database: a SELECT statement.

    Raises
    ------
    InputError
        If the file cannot be read.
    MissingExtra
        If it is a Parquet file, and pyarrow is not installed.
    """
    try:
        with Path(path).open("rb") as file:
            start = file.read(len(_SQLITE))
        if start == _SQLITE:
            yield from _of_sqlite(path, query)
        elif start.startswith(_PARQUET):
            require_arrow("tables")
            yield from _of_parquet(path)
        else:
            yield from _of_text(path, header)
    except OSError as error:
        raise InputError.of(path, f"cannot be read: {error.strerror or error}") from None


def _of_sqlite(path: str, query: str) -> Iterator[TableRow]:
    if not query:
        detail = "a SELECT statement, because the file is a SQLite database"
        raise InputError.of(path, required(detail), "query")
    uri = f"{Path(path).resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            cursor = database.execute(query)
            names = [each[0] for each in cursor.description or ()]
            for number, values in enumerate(cursor, start=1):
                yield number, dict(zip(names, values, strict=True))
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise InputError.of(path, str(error), "query") from None


def _of_parquet(path: str) -> Iterator[TableRow]:
    try:
        batches = import_module("pyarrow.parquet").ParquetFile(path).iter_batches()
        rows = chain.from_iterable(batch.to_pylist() for batch in batches)
        yield from enumerate(rows, start=1)
    except ValueError as error:
        raise InputError.of(path, f"cannot be read as Parquet: {error}") from None


def _of_text(path: str, header: Sequence[str]) -> Iterator[TableRow]:
    lines = ((number, line) for number, line, _ in file_lines(path))
    first = next((each for each in lines if each[1].strip()), None)
    if first is None:
        raise InputError.of(path, "no rows in this file")
    if first[1].lstrip()[:1] in _JSON_START:
        yield from _of_json(path, first[1], chain([first], lines))
    else:
        texts = (line.decode() + "\n" for _, line in chain([first], lines))
        yield from _of_csv(path, first[0], texts, header)


def _of_json(path: str, first: bytes, lines: Iterator[tuple[int, bytes]]) -> Iterator[TableRow]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    try:
        decoder.decode(first)
    except msgspec.MsgspecError:
        # One value in several lines, or in one.
        whole = b"\n".join(line for _, line in lines)
        try:
            rows = msgspec.json.decode(whole, type=list[dict[str, Any]])
        except msgspec.MsgspecError as error:
            detail = "must be a list of objects, or an object in each line"
            raise InputError.of(path, f"{detail}: {error}") from None
        yield from enumerate(rows, start=1)
        return
    for number, line in lines:
        if line.strip():
            try:
                yield number, decoder.decode(line)
            except msgspec.MsgspecError as error:
                raise InputError.of(f"{path}: line {number}", str(error)) from None


def _of_csv(
    path: str, first: int, texts: Iterator[str], header: Sequence[str]
) -> Iterator[TableRow]:
    try:
        reader = csv.reader(texts)
        names = list(header) or [name.strip() for name in next(reader)]
        for cells in filter(None, reader):
            number = reader.line_num + first - 1
            if len(cells) != len(names):
                message = f"{len(cells)} cells, but {len(names)} columns"
                raise InputError.of(f"{path}: line {number}", message)
            yield number, {name: cell or None for name, cell in zip(names, cells, strict=True)}
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError.of(path, f"cannot be read as CSV: {error}") from None

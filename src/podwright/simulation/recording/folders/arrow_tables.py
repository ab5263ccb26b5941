"""Tables of runs as `pyarrow.Table`s; pyarrow is an optional dependency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from typing import Any

from podwright.simulation.recording.folders.tables import MissingExtra


def require_arrow(extra: str = "tables") -> None:
    """Check that pyarrow is installed.

    Parameters
    ----------
    extra : str
        The extra that has it, for the text; without `tables` there is no way around it.

    Raises
    ------
    MissingExtra
        If it is not; the text says what to do.
    """
    if find_spec("pyarrow") is None:
        other = ", or do without tables: --no-tables" if extra == "tables" else ""
        raise MissingExtra(
            "tables need pyarrow, which is not installed; install it with: pip install"
            f" 'podwright[{extra}]'{other}"
        )


def arrow_table(types: Mapping[str, str], columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return rows as a `pyarrow.Table`.

    Parameters
    ----------
    types : mapping of str to str
        The type of each column: `time` (nanoseconds since 1970), `int`, `maybe` (an int or None),
        `float`, `name` (few distinct texts, or None; a dictionary column) or `text`.

    Raises
    ------
    MissingExtra
        If pyarrow is not installed.
    """
    require_arrow()
    arrow = import_module("pyarrow")
    arrow_types = {
        "time": arrow.timestamp("ns", tz="UTC"),
        "int": arrow.int64(),
        "maybe": arrow.int64(),
        "float": arrow.float64(),
        "name": arrow.dictionary(arrow.int32(), arrow.string()),
        "text": arrow.string(),
    }
    schema = arrow.schema([(name, arrow_types[kind]) for name, kind in types.items()])
    arrays = []
    for name, kind in types.items():
        values = columns[name]
        if kind == "name":
            arrays.append(arrow.array(values, arrow.string()).dictionary_encode())
        else:
            arrays.append(arrow.array(values, arrow_types[kind]))
    return arrow.table(arrays, schema=schema)


def parquet_bytes(table: Any, row_group_size: int | None = None) -> bytes:
    """Return a table as a Parquet file."""
    sink = import_module("pyarrow").BufferOutputStream()
    import_module("pyarrow.parquet").write_table(
        table, sink, row_group_size=row_group_size, compression="zstd"
    )
    content: bytes = sink.getvalue().to_pybytes()
    return content


def read_parquet(path: str | PathLike[str]) -> Any:
    """Return a Parquet file as a `pyarrow.Table`.

    Raises
    ------
    ValueError
        If it is not a Parquet file.
    OSError
        If it cannot be read.
    """
    return import_module("pyarrow.parquet").read_table(path)

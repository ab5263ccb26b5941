"""Decisions and explanations as tables, for pandas and Arrow.

Both libraries are optional; without them a call says what to install.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, islice
from operator import mul
from os import PathLike
from typing import Any, BinaryIO, Final, Protocol, TypeAlias, cast, runtime_checkable

from podwright.apimachinery.objects import PodwrightError, require_type
from podwright.scheduler.framework import Decision, Explanation

Columns: TypeAlias = dict[str, Any]


@runtime_checkable
class HasTables(Protocol):
    """The results of a run: its tables by name."""

    @property
    def tables(self) -> Mapping[str, Any]:
        """The tables, each a `pyarrow.Table`."""


TableSource: TypeAlias = Explanation | Iterable[Decision] | Iterable[Explanation] | HasTables

_PODS = "waits"
_ROW_GROUP: Final = 1 << 16
_ARROW_TYPES = {"int": "int64", "str": "string"}


class MissingExtra(PodwrightError, ImportError):  # noqa: N818 - named for what it is
    """A library that is optional, and not installed."""


def to_arrow(source: TableSource) -> Any:
    """Return an explanation, decisions, scores or the pods of a run as a `pyarrow.Table`.

    See `to_columns` for the columns. A run has one row for each pod, its table `waits`.

    Parameters
    ----------
    source : Explanation, iterable of Explanation or of Decision, or Run
        What the table is about.

    Raises
    ------
    MissingExtra
        If pyarrow is not installed.
    """
    if isinstance(source, HasTables) and _PODS in source.tables:
        return source.tables[_PODS]
    arrow = library("pyarrow", "pip install 'podwright[tables]'")
    columns = to_columns(source)
    schema = arrow.schema(
        [(name, getattr(arrow, _ARROW_TYPES[_TYPES[name]])()) for name in columns]
    )
    return arrow.table(columns, schema=schema)


def to_pandas(source: TableSource) -> Any:
    """Return an explanation, decisions, scores or the pods of a run as a `pandas.DataFrame`.

    See `to_columns` for the columns. A run has one row for each pod, its table `waits`. Numbers are
    of the type Int64, in which values may be missing.

    Parameters
    ----------
    source : Explanation, iterable of Explanation or of Decision, or Run
        What the table is about.

    Raises
    ------
    MissingExtra
        If pandas is not installed.
    """
    pandas = library("pandas", "pip install pandas")
    if isinstance(source, HasTables) and _PODS in source.tables:
        table = source.tables[_PODS].to_pandas()
        found = [name for name, kind in table.dtypes.items() if kind == "int64"]
        return table.astype(dict.fromkeys(found, "Int64"))
    columns = to_columns(source)
    numbers = {name: "Int64" for name in columns if _TYPES[name] == "int"}
    return pandas.DataFrame(columns).astype(numbers)


def to_columns(source: TableSource) -> Columns:
    """Return an explanation, decisions or scores as plain lists, one per column.

    Returns
    -------
    dict of str to list
        Decisions: one row each, with namespace, name, node (None without one), score,
        feasible, evaluated, ties and message. An explanation: one row per node and plugin,
        with node, point (filter or score), plugin, answer (passed, rejected, did not apply,
        not examined, scored), code, reasons, raw, normalized, weight and weighted; what does
        not apply to a row is None. Several explanations: one row per score, with pod, attempt,
        node, plugin, raw, normalized, weight and weighted.
    """
    if isinstance(source, Explanation):
        return _transposed(_EXPLANATION, _rows_of_explanation(source))
    require_type(source, Iterable, "source", "an explanation, several, decisions or a run")
    items = iter(cast(Iterable[Any], source))
    first = list(islice(items, 1))
    if first and isinstance(first[0], Explanation):
        return _scores(chain(first, items))
    decisions: Iterable[Decision] = chain(first, items)
    return _transposed(_DECISIONS, map(_row_of_decision, decisions))


_DECISIONS = {
    "namespace": "str",
    "name": "str",
    "node": "str",
    "score": "int",
    "feasible": "int",
    "evaluated": "int",
    "ties": "int",
    "message": "str",
}
_EXPLANATION = {
    "node": "str",
    "point": "str",
    "plugin": "str",
    "answer": "str",
    "code": "str",
    "reasons": "str",
    "raw": "int",
    "normalized": "int",
    "weight": "int",
    "weighted": "int",
}
_SCORES = {
    "pod": "str",
    "attempt": "int",
    "node": "str",
    "plugin": "str",
    "raw": "int",
    "normalized": "int",
    "weight": "int",
    "weighted": "int",
}
_TYPES = _DECISIONS | _EXPLANATION | _SCORES


def _scores(explanations: Iterable[Explanation]) -> Columns:
    columns: Columns = {name: [] for name in _SCORES}
    for explanation in explanations:
        for scores in explanation.scores:
            count, normalized = len(scores.raw), dict(scores.normalized.items())
            columns["pod"] += [explanation.pod.key] * count
            columns["attempt"] += [explanation.attempt] * count
            columns["node"] += scores.raw
            columns["plugin"] += [scores.plugin] * count
            columns["raw"] += scores.raw.values()
            columns["normalized"] += [normalized[node] for node in scores.raw]
            columns["weight"] += [scores.weight] * count
    columns["weighted"] = list(map(mul, columns["normalized"], columns["weight"]))
    return columns


def _row_of_decision(decision: Decision) -> dict[str, Any]:
    return {
        "namespace": decision.pod.namespace,
        "name": decision.pod.name,
        "node": decision.node or None,
        "score": decision.total,
        "feasible": decision.feasible_count,
        "evaluated": decision.evaluated_count,
        "ties": decision.tie_count,
        "message": decision.message,
    }


def _rows_of_explanation(explanation: Explanation) -> Iterable[dict[str, Any]]:
    unseen = frozenset(explanation.not_examined)
    for answer in explanation.filters:
        for node in explanation.node_names:
            row: dict[str, Any] = {"node": node, "point": "filter", "plugin": answer.plugin}
            status = answer.rejected.get(node)
            if node in unseen:
                row["answer"] = "not examined"
            elif not answer.applies:
                row["answer"] = "did not apply"
            elif status is None:
                row["answer"] = "passed"
            else:
                reasons = "; ".join(status.reasons)
                row |= {"answer": "rejected", "code": status.code.label, "reasons": reasons}
            yield row
    for scores in explanation.scores:
        values = dict(scores.normalized.items())
        for node, raw in scores.raw.items():
            normalized = values[node]
            yield {
                "node": node,
                "point": "score",
                "plugin": scores.plugin,
                "answer": "scored",
                "raw": raw,
                "normalized": normalized,
                "weight": scores.weight,
                "weighted": normalized * scores.weight,
            }


def _transposed(names: dict[str, str], rows: Iterable[dict[str, Any]]) -> Columns:
    columns: Columns = {name: [] for name in names}
    for row in rows:
        for name, column in columns.items():
            column.append(row.get(name))
    return columns


def library(name: str, command: str) -> Any:
    """Import an optional library.

    Raises
    ------
    MissingExtra
        If it is not installed; the text contains the command that installs it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtra(f"{name} is not installed; install it with: {command}") from error


# The names of fields in the documents of a run folder.
#
# Documents have camelCase keys, as those of Kubernetes; fields of structs are in snake_case.


def camel_case(name: str) -> str:
    """Return a name in snake_case, or words, as camelCase."""
    head, *rest = name.replace(" ", "_").split("_")
    return head + "".join(word.capitalize() for word in rest)


# Tables of runs as `pyarrow.Table`s; pyarrow is an optional dependency.


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
    return _with_dictionaries(types, _plain_table(types, columns))


def _plain_table(types: Mapping[str, str], columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return rows as a table whose columns of names are texts."""
    arrow = import_module("pyarrow")
    arrow_types = {
        "time": arrow.timestamp("ns", tz="UTC"),
        "int": arrow.int64(),
        "maybe": arrow.int64(),
        "float": arrow.float64(),
        "name": arrow.string(),
        "text": arrow.string(),
    }
    schema = arrow.schema([(name, arrow_types[kind]) for name, kind in types.items()])
    return arrow.table({name: columns[name] for name in types}, schema=schema)


def _with_dictionaries(types: Mapping[str, str], table: Any) -> Any:
    """Return a table with a dictionary for each column of names."""
    for index, (name, kind) in enumerate(types.items()):
        if kind == "name":
            # In one chunk: each chunk would have a dictionary of its own.
            texts = table.column(index).combine_chunks()
            table = table.set_column(index, name, texts.dictionary_encode())
    return table


def to_lists(table: Any) -> Columns:
    """Return the columns of a table as lists; times are in nanoseconds since 1970."""
    arrow = import_module("pyarrow")
    return {
        field.name: (
            table[field.name].cast(arrow.int64())
            if arrow.types.is_timestamp(field.type)
            else table[field.name]
        ).to_pylist()
        for field in table.schema
    }


def parquet_bytes(table: Any) -> bytes:
    """Return a table as a Parquet file."""
    sink = import_module("pyarrow").BufferOutputStream()
    import_module("pyarrow.parquet").write_table(table, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


class ParquetRows:
    """Writes rows as a Parquet file; only those of one row group are in memory.

    The bytes do not depend on how many rows are added at once.

    Parameters
    ----------
    types : mapping of str to str
        As for `arrow_table`.
    file : binary file
    """

    def __init__(self, types: Mapping[str, str], file: BinaryIO) -> None:
        self._types = types
        self._waiting = _plain_table(types, {name: [] for name in types})
        schema = _with_dictionaries(types, self._waiting).schema
        parquet = import_module("pyarrow.parquet")
        self._writer = parquet.ParquetWriter(file, schema, compression="zstd")

    def add(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add rows, column by column."""
        arrow = import_module("pyarrow")
        waiting = arrow.concat_tables([self._waiting, _plain_table(self._types, columns)])
        while waiting.num_rows >= _ROW_GROUP:
            self._write(waiting.slice(0, _ROW_GROUP))
            waiting = waiting.slice(_ROW_GROUP)
        self._waiting = waiting

    def close(self) -> None:
        """Write the remaining rows and the end of the file."""
        if self._waiting.num_rows:
            self._write(self._waiting)
        self._writer.close()

    def _write(self, table: Any) -> None:
        self._writer.write_table(_with_dictionaries(self._types, table))


def read_parquet(path: str | PathLike[str]) -> Any:
    """Return a Parquet file as a `pyarrow.Table`.

    Raises
    ------
    ValueError
        If it is not a Parquet file.
    OSError
        If it cannot be read.
    """
    # Unlike `read_table`, this takes no folder.
    with import_module("pyarrow.parquet").ParquetFile(path) as file:
        return file.read()

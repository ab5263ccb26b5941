"""The file that says which columns of a table a trace is in.

Each argument of `Workload.from_frame` is a field of the file. Its value is the name of a column, or
an object that says how the value is computed:

- `column`: a column, or a JSONPath such as `$.attempts[0].start_time`;
- `columns`: several, whose values are joined by hyphens;
- `count`: the number of values of a JSONPath;
- `since`: another column of times; the value is the time from that one to `column`;
- `unit`, `times`: the unit of numbers, and what they are multiplied by;
- `perReplica`: the value is that of all replicas, and is divided by their number;
- `values`: what is written instead of some values; `missing`: values that stand for none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from podwright.apimachinery.documents import (
    decode,
    invalid,
    not_supported,
    problem,
    raise_errors,
    read_document,
    required,
)
from podwright.apimachinery.objects import FieldError
from podwright.simulation.world.inputs.frame_columns import (
    ARRIVAL_UNITS,
    BYTE_UNITS,
    COUNT_UNITS,
    TIME_UNITS,
)


class ColumnSource(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How a value is computed from a row; see the top of the module."""

    column: str = ""
    columns: tuple[str, ...] = ()
    count: bool = False
    since: str = ""
    unit: str = ""
    times: str = ""
    per_replica: bool = False
    values: dict[str, str] = {}
    missing: tuple[str, ...] = ()

    def read(self) -> tuple[str, ...]:
        """Return the columns and paths that are read."""
        return tuple(filter(None, (self.column, *self.columns, self.since)))


class EventRows(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How the rows of a table of events are those of pods.

    Attributes
    ----------
    column : str
        The kind of event.
    start, end : tuple of str
        The kinds of the row that is the pod, and of those that end it.
    key : tuple of str
        The columns that name the pod.
    time : str
        The column of times. The row of the pod gets the time of its last end as the column `end`.
    """

    column: str = ""
    start: tuple[str, ...] = ()
    end: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    time: str = ""


class TraceColumns(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The columns of a trace.

    Attributes
    ----------
    description : str
    header : tuple of str
        The columns of a CSV file without a header.
    query : str
        The SELECT statement for a SQLite database.
    where : dict of str to tuple of str
        The values that rows have in a column; other rows are left out.
    events : EventRows, optional
    arrival : ColumnSource or str
        A text is the name of the column; so it is below.
    duration, name, cpu, memory, priority, namespace, group, replicas : ColumnSource, optional
    resources, labels, node_selector : dict of str to ColumnSource
    """

    description: str = ""
    header: tuple[str, ...] = ()
    query: str = ""
    where: dict[str, tuple[str, ...]] = {}
    events: EventRows | None = None
    arrival: ColumnSource | str = ""
    duration: ColumnSource | str | None = None
    name: ColumnSource | str | None = None
    cpu: ColumnSource | str | None = None
    memory: ColumnSource | str | None = None
    resources: dict[str, ColumnSource | str] = {}
    priority: ColumnSource | str | None = None
    labels: dict[str, ColumnSource | str] = {}
    namespace: ColumnSource | str | None = None
    node_selector: dict[str, ColumnSource | str] = {}
    group: ColumnSource | str | None = None
    replicas: ColumnSource | str | None = None

    def sources(self) -> Iterator[tuple[str, ColumnSource]]:
        """Yield the path of each value, and how it is computed."""
        values = msgspec.structs.astuple(self)
        for path, found in zip(self.__struct_encode_fields__, values, strict=True):
            if path in _NOT_SOURCES or not found:
                continue
            is_keyed = isinstance(found, dict)
            given = {f"{path}[{key}]": found[key] for key in found} if is_keyed else {path: found}
            for place, each in given.items():
                yield place, ColumnSource(column=each) if isinstance(each, str) else each

    def read(self) -> Iterator[tuple[str, str]]:
        """Yield the path of each place that names a column, and the column."""
        for path, source in self.sources():
            yield from ((f"{path}.column", each) for each in source.read())
        yield from ((f"where[{each}]", each) for each in self.where)
        if self.events is not None:
            names = (self.events.column, *self.events.key, self.events.time)
            yield from (("events", each) for each in names)


_NOT_SOURCES: Final = ("description", "header", "query", "where", "events")
_UNITS: Final[Mapping[str, Mapping[str, Any]]] = {
    "arrival": ARRIVAL_UNITS, "duration": TIME_UNITS, "memory": BYTE_UNITS, "cpu": COUNT_UNITS,
}  # fmt: skip
_NUMBERS: Final = ("cpu", "memory", "replicas", "resources", "arrival", "duration")


@cache
def shipped_columns() -> dict[str, str]:
    """Return the text of each shipped file, by its name."""
    found = sorted((files(__package__) / "layouts").iterdir(), key=lambda each: each.name)
    return {each.name.removesuffix(".yaml"): each.read_text("utf-8") for each in found}


def read_columns(text: str | bytes, *, source: str) -> TraceColumns:
    """Read the file of the columns of a trace.

    Raises
    ------
    InputError
        With all mistakes, each with its path.
    """
    errors: list[FieldError] = []
    document = read_document(text, source=source)
    columns = decode(_with_texts(document), TraceColumns, "", errors)
    if not columns.arrival:
        errors.append(required("arrival", "the column of arrival times"))
    for path, each in columns.sources():
        errors += _problems(path, each, columns)
    if columns.events is not None:
        for name in ("column", "start", "key", "time"):
            if not getattr(columns.events, name):
                errors.append(required(f"events.{name}"))
    raise_errors(errors, source=source)
    return columns


def _with_texts(value: Any) -> Any:
    """Return a document with numbers as texts."""
    if isinstance(value, dict):
        return {key: _with_texts(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_texts(each) for each in value]
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _problems(path: str, source: ColumnSource, columns: TraceColumns) -> Iterator[FieldError]:
    if not source.read():
        yield required(f"{path}.column")
    if source.column and source.columns:
        yield problem(f"{path}.columns", "has no effect with column; give one of them")
    if source.count and not source.column.startswith("$"):
        yield problem(f"{path}.count", "needs a JSONPath in column, such as $.attempts[*]")
    if source.per_replica and columns.replicas is None:
        yield problem(f"{path}.perReplica", "has no effect without replicas")
    field = path.partition("[")[0]
    units = _UNITS.get(field)
    if source.unit and units is not None and source.unit not in units:
        yield not_supported(f"{path}.unit", source.unit, list(units))
    if source.times:
        if field not in _NUMBERS:
            yield problem(f"{path}.times", "only numbers can be multiplied")
        try:
            Fraction(source.times)
        except (ValueError, ZeroDivisionError):
            yield invalid(f"{path}.times", source.times, "must be a number")

"""Traces as event lines with times, read one after the other.

A line is an action of an event file (`apply`, `delete`, ...) with its time since the start of the
trace. openb tables, manifests, SimKube traces and event files need nothing else; other tables need
a file of columns. Pods of tables arrive as `Workload.from_frame` makes them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache, partial
from itertools import chain, islice
from math import ceil
from typing import Any, Final, NamedTuple

import msgspec

from podwright.apimachinery.objects import (
    CREATION_TIME,
    DELETION_TIME,
    SCHEDULED_TIME,
    UNDECODABLE,
    Document,
    FieldError,
    InputError,
    Pod,
    encode,
    invalid,
    is_extended_resource,
    nearest,
    read_time,
    required,
    unsupported,
)
from podwright.cluster.kubelets import RUN_DELAY
from podwright.scheduler.config import format_duration
from podwright.simulation.files import (
    ObjectReader,
    Place,
    SimkubeTrace,
    file_lines,
    load_bytes,
    read_path,
    read_paths,
    read_simkube,
    trace_format,
    without_server_fields,
)
from podwright.simulation.recording import TableRow, trace_rows
from podwright.simulation.world.inputs.frame_columns import (
    ARRIVAL_UNITS,
    is_missing,
    number_of,
    text_of,
    time_value_ns,
)
from podwright.simulation.world.inputs.openb_arrivals import openb_arrivals
from podwright.simulation.world.inputs.operation_line import OPERATIONS
from podwright.simulation.world.inputs.workload import Workload
from podwright.simulation.world.traces.columns_file import (
    ColumnSource,
    TraceColumns,
    read_columns,
    shipped_columns,
)

SECOND_NS: Final = 10**9
ROWS_AT_ONCE: Final = 10_000
"""The rows of a table that are in memory at a time."""

_RESOURCE: Final = re.compile(r"resources\[(.*)\]")
_PLACE: Final = re.compile(r"(.*)\[(\d+)\]")
_UNIT_HINT: Final = re.compile(r'unit=\{"(.*?)": "(.*?)"\}')
_ALSO_IN: Final = re.compile(r"(Duplicate value: .*: also in )[^,\s]+\[(\d+)\][^,\s]*")
_TIMES: Final = frozenset({CREATION_TIME, DELETION_TIME, SCHEDULED_TIME})
_ERRORS_MAX: Final = 100


class TraceLine(NamedTuple):
    """An action and its time, in nanoseconds since the start of the trace."""

    at_ns: int
    action: Document

    @property
    def applied(self) -> Document:
        """The object that is applied; empty for another action."""
        return self.action.get("apply") or {}

    @property
    def pod(self) -> Document | None:
        """The pod that arrives, if it is one."""
        return self.applied if self.applied.get("kind") == "Pod" else None

    @property
    def what(self) -> str:
        """The kind of the object that is applied, or the name of another action."""
        return str(self.applied.get("kind")) if self.applied else next(iter(self.action))

    def encoded(self) -> bytes:
        """Return the line of an event file."""
        line = {"at": format_duration(self.at_ns), **self.action}
        return msgspec.json.encode(line) + b"\n"


TraceLines = Iterator[TraceLine]


def columns_named(name: str) -> TraceColumns:
    """Return the columns that `name` names: shipped ones, or those of a file.

    Raises
    ------
    InputError
        If there is no such file, or with all its mistakes.
    """
    shipped = shipped_columns()
    if name in shipped:
        return read_columns(shipped[name], source=name)
    try:
        source, text = read_path(name)
    except InputError as error:
        near = nearest(name, shipped)
        hint = f'; did you mean "{near}"?' if near else ""
        known = f"; shipped columns are {', '.join(shipped)}{hint}"
        raise InputError(
            msgspec.structs.replace(each, message=each.message + known) for each in error.errors
        ) from None
    return read_columns(text, source=source)


def read_trace_lines(
    path: str,
    columns: TraceColumns | None = None,
    *,
    is_sorted: bool = True,
    warn: Callable[[str], object] = lambda _: None,
) -> TraceLines:
    """Yield the lines of a trace in the order of their times.

    Parameters
    ----------
    path : str
        The file.
    columns : TraceColumns, optional
        The columns of a table, unless it is one of openb.
    is_sorted : bool
        Whether the rows of a table are in the order of arrival; if not, all are kept in memory.
    warn : callable
        Receives remarks on what was changed, a sentence each.

    Raises
    ------
    InputError
        With all mistakes of a part of the trace.
    """
    if columns is not None:
        yield from _TableReader(path, columns, warn).lines(is_sorted=is_sorted)
        return
    match trace_format(path):
        case "simkube":
            yield from _of_simkube(path, read_simkube(path))
        case "lines":
            yield from _of_lines(path)
        case "objects":
            yield from _of_objects(path, warn)


def _of_objects(path: str, warn: Callable[[str], object]) -> TraceLines:
    loaded = load_bytes(read_paths([path]))
    for warning in loaded.warnings:
        warn(warning)
    for obj in loaded.objects:
        if not isinstance(obj, Pod):
            yield TraceLine(0, {"apply": without_server_fields(encode(obj))})
    for one in openb_arrivals(loaded.of(Pod), ending="after_run_time"):
        document = without_server_fields(encode(one.pod))
        given = document["metadata"].get("annotations") or {}
        document["metadata"]["annotations"] = {k: given[k] for k in given if k not in _TIMES}
        yield TraceLine(one.due_ns, {"apply": document})


def _of_lines(path: str) -> TraceLines:
    reader = ObjectReader(has_defaults=False)
    before_ns: int | None = None
    origin_ns = 0
    for number, line, _ in file_lines(path):
        if not line.strip():
            continue
        place = f"{path}: line {number}"
        try:
            action = msgspec.json.decode(line, type=dict[str, Any])
        except UNDECODABLE as error:
            raise InputError.of(place, str(error)) from None
        at = action.pop("at", None)
        if not isinstance(at, str):
            message = "must be an event line, with a time such as 1h30m or 2026-01-01T00:00:00Z"
            raise InputError.of(place, invalid(at, message), "at")
        try:
            at_ns = read_time(at, "at", start_ns=0)
        except InputError as error:
            raise InputError.of(place, error.errors[0].message, "at") from None
        if action.keys().isdisjoint(OPERATIONS):
            name = next(iter(action), "")
            raise InputError.of(place, unsupported(name, OPERATIONS), name)
        if "apply" in action:
            _check_object(reader, action["apply"], place, "apply")
        if before_ns is None:
            origin_ns = at_ns if at[4:5] == "-" else 0
        elif at_ns < before_ns:
            message = invalid(at, "before the previous line; times must not decrease")
            raise InputError.of(place, message, "at")
        before_ns = at_ns
        yield TraceLine(at_ns - origin_ns, action)


def _check_object(reader: ObjectReader, document: Any, place: str, path: str) -> None:
    """Raise an error if a document is not an object with a name, or has values of wrong types."""
    if not isinstance(document, dict):
        raise InputError.of(place, invalid(document, "must be an object"), path)
    obj = reader.read(document, Place(place), path=path)
    if reader.errors:
        raise InputError(reader.errors)
    if isinstance(obj, Pod) and not obj.name:
        raise InputError.of(place, required("pods of traces have names"), f"{path}.metadata.name")


def _of_simkube(path: str, trace: SimkubeTrace) -> TraceLines:
    reader = ObjectReader("warn", has_defaults=False)
    for number, event in enumerate(trace.events):
        at_ns = (event.ts - trace.events[0].ts) * SECOND_NS
        for index, given in enumerate(event.applied_objs):
            _check_object(reader, given, path, f"events[{number}].applied_objs[{index}]")
            document = without_server_fields(given)
            if (seconds := trace.run_seconds(given)) is not None:
                document = _with_run_time(document, seconds * SECOND_NS)
            yield TraceLine(at_ns, {"apply": document})
        for gone in event.deleted_objs:
            metadata = gone.get("metadata") or {}
            action = {"delete": f"{str(gone.get('kind', '')).lower()}/{metadata.get('name')}"}
            if namespace := metadata.get("namespace"):
                action["namespace"] = namespace
            yield TraceLine(at_ns, action)


def _with_run_time(document: Document, run_ns: int) -> Document:
    """Return an object whose pods run so long, if it is a pod or a Job; pods of others restart."""
    spec = document.get("spec") or {}
    if document.get("kind") == "Pod":
        document, spec = with_run_delay(document, run_ns), {**spec, "restartPolicy": "Never"}
    elif document.get("kind") == "Job":
        spec = {**spec, "template": with_run_delay(spec.get("template") or {}, run_ns)}
    else:
        return document
    return {**document, "spec": spec}


def with_run_delay(document: Document, run_ns: int) -> Document:
    """Return a pod or a template that runs for a time."""
    metadata = document.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), RUN_DELAY: format_duration(run_ns)}
    return {**document, "metadata": {**metadata, "annotations": annotations}}


# -------------------------------------------------------------------------- tables


class _TableReader:
    """Reads the rows of a table as pods, a part at a time."""

    def __init__(self, path: str, columns: TraceColumns, warn: Callable[[str], object]) -> None:
        self._path = path
        self._columns = columns
        self._warn = warn
        self._sources = dict(columns.sources())

    def lines(self, *, is_sorted: bool) -> TraceLines:
        rows = self._rows()
        group, name = self._sources.get("group"), self._sources.get("name")
        # The number of pods of a group is known once all of its rows are read.
        in_parts = is_sorted and (group is None or (name and name.read() == group.read()))
        origin_ns: int | None = None
        last_ns, count = 0, 0
        parts: dict[str, int] = {}
        while part := list(islice(rows, ROWS_AT_ONCE)) if in_parts else list(rows):
            workload = self._workload(part, count)
            if origin_ns is None:
                origin_ns = workload.start_ns or 0
            number = part[0][0]
            for at_ns, line in zip(workload.times_ns, workload, strict=True):
                if at_ns < last_ns:
                    message = "rows are not in the order of arrival; use --sort, or is_sorted=False"
                    source = f"{self._path}: line {number}"
                    raise InputError.of(source, message, self._place("arrival"))
                last_ns, applied = at_ns, line["apply"]
                metadata = applied["metadata"]
                key = f"{applied['kind']} {metadata['namespace']}/{metadata['name']}"
                if (first := parts.setdefault(key, number)) != number:
                    message = f"also in the part {self._path}: from line {first}"
                    source = f"{self._path}: from line {number}"
                    raise InputError.of(source, f"Duplicate value: {key}: {message}", "name")
                yield TraceLine(at_ns - origin_ns, {"apply": applied})
            count += len(part)
        if not count:
            raise InputError.of(self._path, "no rows that the columns select")

    def _rows(self) -> Iterator[TableRow]:
        columns, events = self._columns, self._columns.events
        read = partial(trace_rows, self._path, header=columns.header, query=columns.query)
        rows = read()
        first = next(rows, None)
        if first is None:
            return
        self._check(first[1])
        selected = (each for each in chain((first,), rows) if self._has(each[1]))
        if events is None:
            yield from selected
            return
        ends = {
            _texts(row, events.key): _first(row, events.time)
            for _, row in read()
            if _text(row, events.column) in events.end
        }
        started: set[tuple[str, ...]] = set()
        for number, row in selected:
            key = _texts(row, events.key)
            if _text(row, events.column) in events.start and key not in started:
                started.add(key)
                yield number, {**row, "end": ends.get(key)}

    def _has(self, row: Mapping[str, Any]) -> bool:
        where = ((_text(row, column), allowed) for column, allowed in self._columns.where.items())
        return all(text in allowed if allowed else text for text, allowed in where)

    def _check(self, row: Mapping[str, Any]) -> None:
        """Raise an error for each column that the first row does not have."""
        made = () if self._columns.events is None else ("end",)
        errors: list[FieldError] = []
        for path, name in dict.fromkeys(self._columns.read()):
            message = ""
            if name.startswith("$"):
                message = _path_problem(name)
            elif name not in row and name not in made:
                near = nearest(name, map(str, row))
                hint = f'; did you mean "{near}"?' if near else f"; there are {', '.join(row)}"
                message = f'no column "{name}" in {self._path}{hint}'
            if message:
                errors.append(FieldError(source="--columns", path=path, message=message))
        if errors:
            raise InputError(errors)

    def _workload(self, part: list[TableRow], count: int) -> Workload:
        replicas = self._sources.get("replicas")
        values: dict[str, list[Any]] = {path: [] for path in self._sources}
        resources = {path: _RESOURCE.fullmatch(path) for path in values}
        extended = {path for path, of in resources.items() if of and is_extended_resource(of[1])}
        for _, row in part:
            shared = None if replicas is None else number_of(self._value(replicas, row, None))
            for path, source in self._sources.items():
                value = self._value(source, row, shared)
                if path in extended:  # these are whole
                    number = value if isinstance(value, Fraction) else number_of(value)
                    value = value if number is None else ceil(number)
                values[path].append(float(value) if isinstance(value, Fraction) else value)
        keywords: dict[str, Any] = {}
        for path in values:
            field, _, key = path.removesuffix("]").partition("[")
            if key:
                argument = "node_selector" if field == "nodeSelector" else field
                keywords.setdefault(argument, {})[key] = path
            else:
                keywords[field] = path
        if "name" not in values:
            values["name"] = [f"pod-{count + index}" for index in range(len(part))]
            keywords["name"] = "name"
        units = {
            path.removeprefix("resources[").removesuffix("]"): "ns" if source.since else source.unit
            for path, source in self._sources.items()
            if source.since or source.unit
        }
        try:
            workload = Workload.from_frame(values, unit=units, **keywords)
        except InputError as error:
            raise InputError(
                self._placed(each, part) for each in error.errors[:_ERRORS_MAX]
            ) from None
        if not count:
            for warning in workload.warnings:
                self._warn(warning)
        return workload

    def _value(self, source: ColumnSource, row: Mapping[str, Any], shared: Fraction | None) -> Any:
        if source.columns:
            texts = _texts(row, source.columns)
            return "-".join(texts) if all(texts) else None
        value = len(_all(row, source.column)) if source.count else _first(row, source.column)
        if value is None or text_of(value) in source.missing:
            return None
        value = source.values.get(text_of(value), value)
        if source.since:
            return self._since_ns(source, value, row)
        factor = Fraction(source.times or 1)
        if source.per_replica and shared is not None and shared > 0:  # else an error of its own
            factor /= shared
        if factor == 1 or (number := number_of(value)) is None:
            return value
        return number * factor

    def _since_ns(self, source: ColumnSource, value: Any, row: Mapping[str, Any]) -> Any:
        start = _first(row, source.since)
        if is_missing(start) or text_of(start) in source.missing:
            return None
        start_ns, end_ns = _moment_ns(start, source.unit), _moment_ns(value, source.unit)
        if start_ns is None or end_ns is None:
            return f"{value} - {start}"  # reported as no duration
        return round((end_ns - start_ns) * Fraction(source.times or 1))

    def _placed(self, error: FieldError, part: list[TableRow]) -> FieldError:
        """Return an error of the frame with its place in the file."""
        match = _PLACE.fullmatch(error.path)
        message = _UNIT_HINT.sub(r"\1: {unit: \2}", error.message)
        if match is None or int(match[2]) >= len(part):
            return FieldError(source=self._path, path=error.path, message=message)
        if (twice := _ALSO_IN.match(message)) is not None:
            line, _ = part[int(twice[2])]
            message = f"{twice[1]}line {line}{message[twice.end() :]}"
        place = f"{self._path}: line {part[int(match[2])][0]}"
        return FieldError(source=place, path=self._place(match[1]), message=message)

    def _place(self, path: str) -> str:
        source = self._sources.get(path)
        return path if source is None else " - ".join(source.read())


def _all(row: Mapping[str, Any], column: str) -> list[Any]:
    """Return the values of a column or a path."""
    return _finder(column)(row) if column.startswith("$") else [row.get(column)]


@cache
def _finder(path: str) -> Callable[[Mapping[str, Any]], list[Any]]:
    import jsonpath

    return jsonpath.compile(path).findall


def _first(row: Mapping[str, Any], column: str) -> Any:
    return next(iter(_all(row, column)), None)


def _text(row: Mapping[str, Any], column: str) -> str:
    found = _first(row, column)
    return "" if is_missing(found) else text_of(found)


def _texts(row: Mapping[str, Any], columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(_text(row, each) for each in columns)


def _path_problem(path: str) -> str:
    import jsonpath

    try:
        jsonpath.compile(path)
    except jsonpath.JSONPathError as error:
        return f"{path} is not a JSONPath: {error}"
    return ""


def _moment_ns(value: Any, unit: str) -> int | None:
    absolute_ns = time_value_ns(value)
    number = number_of(value) if unit and absolute_ns is None else None
    return absolute_ns if number is None else round(number * ARRIVAL_UNITS[unit])

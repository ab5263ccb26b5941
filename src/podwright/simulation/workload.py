"""Pods with arrival times and durations, from the columns of a trace.

The times of a column are either relative (numbers of seconds, durations) or absolute (times,
datetimes). With absolute times, a simulation starts at the first one by default.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, NamedTuple, Self, overload

import numpy as np

from podwright._html import ROWS_SHOWN, section, table
from podwright.config import format_duration, parse_duration
from podwright.objects import (
    EPOCH,
    FIRST_NS,
    LAST_NS,
    POSSIBLE_YEARS,
    ArgumentError,
    FieldError,
    InputError,
    delta_ns,
    described_type,
    invalid,
    parse_quantity,
    quoted,
    require_type,
    required,
    shortest_time_text,
)
from podwright.stages import RUN_DELAY

_SECOND_NS = 1_000_000_000


class Workload(Sequence[Mapping[str, Any]]):
    """Pods that arrive over time, as event lines for `simulate(..., events=workload)`.

    Parameters
    ----------
    lines : sequence of dict
        Lines of events, in the order of their times.
    start_ns : int, optional
        The start of a simulation of these lines, if nothing else determines it.

    Attributes
    ----------
    start_ns : int or None
    """

    def __init__(self, lines: Sequence[Mapping[str, Any]], *, start_ns: int | None = None) -> None:
        self._lines = tuple(lines)
        self.start_ns = start_ns

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        arrival: str,
        duration: str | None = None,
        name: str | None = None,
        cpu: str | None = None,
        memory: str | None = None,
        resources: Mapping[str, str] | None = None,
    ) -> Self:
        """Make one pod for each row of a table.

        Parameters
        ----------
        frame : table
            Columns by name: a DataFrame of pandas or Polars, an Arrow table, or a mapping of
            sequences.
        arrival : str
            The column of arrival times: seconds or durations since the start, or datetimes or
            texts such as `2026-01-01T12:00:00Z`. Datetimes without a time zone are UTC.
        duration : str, optional
            The column of run times: seconds, durations such as `1h30m`, or timedeltas. Without it,
            and in rows without a value, pods do not end.
        name : str, optional
            The column of pod names; without it, `pod-0`, `pod-1` and so on.
        cpu, memory : str, optional
            The columns of requests, as quantities: CPUs and bytes, or texts such as `500m`. A row
            without a value has no such request.
        resources : mapping of str to str, optional
            The columns of the requests for other resources, by resource name.

        Raises
        ------
        ArgumentError
            If an argument has the wrong type.
        InputError
            With all missing columns, or all values that are not valid.
        """
        requests = _requests(cpu, memory, resources)
        columns = _Columns(frame)
        arrivals = columns.values("arrival", arrival)
        durations = columns.values("duration", duration)
        names = columns.values("name", name)
        amounts = {resource: columns.values(*given) for resource, given in requests.items()}
        columns.check(arrival)
        rows = _Rows()
        dues = [rows.due(value, f"{arrival}[{row}]") for row, value in enumerate(arrivals)]
        rows.check_form(dues, arrival)
        pods: list[dict[str, Any]] = [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": rows.name(names[row], f"{name}[{row}]") if names else f"pod-{row}"
                },
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": "main"}],
                },
            }
            for row in range(len(arrivals))
        ]
        for row, value in enumerate(durations):
            if (run_ns := rows.run_ns(value, f"{duration}[{row}]")) is not None:
                pods[row]["metadata"]["annotations"] = {RUN_DELAY: format_duration(run_ns)}
        for resource, values in amounts.items():
            column = requests[resource][1]
            for row, value in enumerate(values):
                if (quantity := rows.quantity(value, f"{column}[{row}]")) is not None:
                    _request(pods[row], resource, quantity)
        if rows.errors:
            raise InputError(rows.errors)
        ordered = sorted(zip(dues, pods, strict=True), key=lambda pair: pair[0].at_ns)
        lines = [{"at": due.text, "apply": pod} for due, pod in ordered]
        is_absolute = bool(ordered) and ordered[0][0].is_absolute
        return cls(lines, start_ns=ordered[0][0].at_ns if is_absolute else None)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Mapping[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self._lines[index]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __repr__(self) -> str:
        return f"<Workload: {len(self)} pods>"

    def _repr_html_(self) -> str:
        rows = [
            (line["at"], line["apply"]["metadata"]["name"], _requested(line["apply"]))
            for line in self._lines[:ROWS_SHOWN]
        ]
        shown = table(("Arrival", "Pod", "Requests"), rows, count=len(self))
        return section(f"Workload: {len(self):,} pods", shown)


def _requested(pod: Mapping[str, Any]) -> str:
    (container,) = pod["spec"]["containers"]
    requests = container.get("resources", {}).get("requests", {})
    return ", ".join(f"{resource} {quantity}" for resource, quantity in requests.items())


def _requests(
    cpu: str | None, memory: str | None, resources: Mapping[str, str] | None
) -> dict[str, tuple[str, str]]:
    """Return the argument and the column of each resource."""
    if resources is not None:
        require_type(resources, Mapping, "resources", "a mapping of resources to columns")
    found = {key: (f"resources[{key!r}]", column) for key, column in (resources or {}).items()}
    for resource, column in (("cpu", cpu), ("memory", memory)):
        if column is None:
            continue
        if resource in found:
            raise ArgumentError(f"{resource} and {found[resource][0]}: one of them is expected")
        found[resource] = (resource, column)
    return found


def _request(pod: dict[str, Any], resource: str, quantity: str) -> None:
    (container,) = pod["spec"]["containers"]
    given = container.setdefault("resources", {"requests": {}})
    given["requests"][resource] = quantity
    # Upstream's validation requires limits equal to the requests for extended resources.
    if resource not in {"cpu", "memory"}:
        given.setdefault("limits", {})[resource] = quantity


class _Columns:
    """The columns of a table, and what is wrong with their names and lengths."""

    def __init__(self, frame: Any) -> None:
        names = getattr(frame, "column_names", None)  # Arrow, whose `columns` are the arrays
        if names is None:
            names = frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", None)
        if not isinstance(names, Iterable):
            raise ArgumentError(
                "frame: a DataFrame, an Arrow table or a mapping of columns is expected, not "
                f"{described_type(frame)}"
            )
        self._frame = frame
        self._names = frozenset(names)
        self._lengths: dict[str, int] = {}
        self.errors: list[FieldError] = []

    def values(self, argument: str, column: str | None) -> list[Any]:
        """Return the values of a column; none if there is no column for the argument."""
        if column is None:
            return []
        require_type(column, str, argument, "the name of a column")
        if column not in self._names:
            self.errors.append(FieldError(source="", path=column, message="no such column"))
            return []
        found = self._frame[column]
        # The values of an Arrow column are scalars of Arrow.
        values = found.to_pylist() if hasattr(found, "to_pylist") else list(found)
        self._lengths[column] = len(values)
        return values

    def check(self, first: str) -> None:
        """Raise the errors so far, and those of columns with another length than the first one."""
        for column, length in self._lengths.items():
            if first in self._lengths and length != self._lengths[first]:
                message = f"{length} rows, but {first} has {self._lengths[first]}"
                self.errors.append(FieldError(source="", path=column, message=message))
        if self.errors:
            raise InputError(self.errors)


class _Due(NamedTuple):
    """When a pod arrives: nanoseconds since the start, or since 1970."""

    at_ns: int
    is_absolute: bool

    @property
    def text(self) -> str:
        """The time of the event line."""
        return shortest_time_text(self.at_ns) if self.is_absolute else format_duration(self.at_ns)


class _Rows:
    """Reads the values of rows, and collects the errors of those that are not valid."""

    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self._paths: dict[str, str] = {}

    def due(self, value: Any, path: str) -> _Due:
        """Return an arrival time; in this order of kinds, as no value is of two of them."""
        absolute_ns = _absolute_ns(value)
        if absolute_ns is not None:
            if FIRST_NS <= absolute_ns < LAST_NS:
                return _Due(absolute_ns, is_absolute=True)
            self._wrong(path, invalid(str(value), f"{POSSIBLE_YEARS} can be simulated"))
            return _Due(0, is_absolute=True)
        relative_ns = _relative_ns(value)
        if relative_ns is None or relative_ns < 0:
            detail = "seconds or a duration of 0 or more, or a time, are expected"
            self._wrong(
                path, required(detail) if _is_missing(value) else invalid(str(value), detail)
            )
            return _Due(0, is_absolute=False)
        return _Due(relative_ns, is_absolute=False)

    def check_form(self, dues: Sequence[_Due], column: str) -> None:
        """Add an error if a column has relative and absolute times."""
        forms = [due.is_absolute for due in dues]
        if not self.errors and len(set(forms)) > 1:
            row = forms.index(not forms[0])
            kinds = ("a time", "a duration") if forms[row] else ("a duration", "a time")
            self._wrong(f"{column}[{row}]", f"{kinds[0]}, but {column}[0] is {kinds[1]}")

    def run_ns(self, value: Any, path: str) -> int | None:
        """Return a run time; None if there is none."""
        if _is_missing(value):
            return None
        found = _relative_ns(value)
        if found is None or found < 0:
            detail = "seconds or a duration of 0 or more are expected"
            self._wrong(path, invalid(str(value), detail))
        return found

    def name(self, value: Any, path: str) -> str:
        """Return a name, which must be unique."""
        if _is_missing(value):
            self._wrong(path, required("a name is expected"))
            return ""
        name = str(value)
        first = self._paths.setdefault(name, path)
        if first != path:
            self._wrong(path, f"Duplicate value: {quoted(name)}: also in {first}")
        return name

    def quantity(self, value: Any, path: str) -> str | None:
        """Return a quantity as text; None if there is none."""
        if _is_missing(value):
            return None
        text = str(value)
        try:
            is_valid = parse_quantity(text).nano >= 0
        except ValueError:
            is_valid = False
        if not is_valid:
            detail = "a quantity of 0 or more is expected, such as 2, 500m or 1Gi"
            self._wrong(path, invalid(text, detail))
        return text

    def _wrong(self, path: str, message: str) -> None:
        self.errors.append(FieldError(source="", path=path, message=message))


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or the NA of pandas."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 - NaN
    except TypeError:  # whether NA equals anything is NA
        return True


def _absolute_ns(value: Any) -> int | None:
    """Return a time in nanoseconds since 1970; None if the value is not an absolute time."""
    if _is_missing(value):
        return None
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[ns]").astype(np.int64))
    # A text such as 20260101 may be anything.
    if isinstance(value, str) and "-" in value[1:]:
        try:
            value = datetime.fromisoformat(value.strip().upper())
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    # Columns without time zones have UTC, as in pandas.
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return delta_ns(moment - EPOCH)


def _relative_ns(value: Any) -> int | None:
    """Return a duration, or a number of seconds; None if the value is neither."""
    if isinstance(value, np.timedelta64) and not np.isnat(value):
        return int(value.astype("timedelta64[ns]").astype(np.int64))
    if isinstance(value, timedelta):
        return delta_ns(value)
    try:
        if isinstance(value, str):
            return parse_duration(value)
        if isinstance(value, bool | np.bool_) or _is_missing(value):
            return None
        found_ns = float(value) * _SECOND_NS
    except (TypeError, ValueError):
        return None
    return round(found_ns) if isfinite(found_ns) else None

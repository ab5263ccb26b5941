"""The columns of a trace, read as times, durations, amounts and names.

A trace may have any columns; arguments name those that are read. Kubernetes' objects have units,
so values need them: a text or an object with a unit (`90s`, `4Gi`, a timedelta), or a bare number
in a column for which the caller gives the unit. CPUs and devices are counted, so their numbers
need none.

All errors of all columns are collected in `Frame.errors`. A number without a unit is reported once
for each column, with its first row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil, isfinite
from numbers import Number
from typing import Any, Final, NamedTuple

import numpy as np

from podwright.apimachinery.objects import (
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
    label_key_errors,
    label_value_errors,
    length_ns,
    nearest,
    numpy_time_ns,
    parse_days,
    parse_quantity,
    quoted,
    require_type,
    required,
    shortest_time_text,
    unsupported,
)
from podwright.scheduler.config import format_duration

ORIGINAL_NAME: Final = "podwright.dev/original-name"
"""The annotation with the name in the trace, of objects that could not have this name."""

_MINUTE_NS: Final = 60 * 10**9
TIME_UNITS: Final[Mapping[str, int]] = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": _MINUTE_NS,
    "h": 60 * _MINUTE_NS,
    "d": 1440 * _MINUTE_NS,
}
_SINCE_1970: Final = " since 1970"
ARRIVAL_UNITS: Final[Mapping[str, int]] = {
    **TIME_UNITS,
    **{f"{unit}{_SINCE_1970}": TIME_UNITS[unit] for unit in ("s", "ms", "us", "ns")},
}
_DECIMAL: Final = {"k": 1, "M": 2, "G": 3, "T": 4, "P": 5}
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5}
BYTE_UNITS: Final[Mapping[str, Fraction]] = {
    "B": Fraction(1),
    **{prefix: Fraction(1000**power) for prefix, power in _DECIMAL.items()},
    **{f"{prefix}B": Fraction(1000**power) for prefix, power in _DECIMAL.items()},
    "KB": Fraction(1000),
    **{prefix: Fraction(1024**power) for prefix, power in _BINARY.items()},
    **{f"{prefix}B": Fraction(1024**power) for prefix, power in _BINARY.items()},
}
COUNT_UNITS: Final[Mapping[str, Fraction]] = {"cores": Fraction(1), "m": Fraction(1, 1000)}
_BYTES: Final = frozenset({"memory", "ephemeral-storage"})
_HUGE_PAGES: Final = "hugepages-"

_NAME_MAX: Final = 253
_LABEL_MAX: Final = 63
_LONGEST_NS: Final = 2**63 - 1


class Due(NamedTuple):
    """When a pod arrives: nanoseconds since the start, or since 1970."""

    at_ns: int
    is_absolute: bool

    @property
    def text(self) -> str:
        """The time of the event line."""
        return shortest_time_text(self.at_ns) if self.is_absolute else format_duration(self.at_ns)


class Column(NamedTuple):
    """The values of a column; `argument` is the name of the argument, or the resource."""

    argument: str
    name: str
    values: Sequence[Any]
    unit: str | None

    def at(self, row: int) -> tuple[str, Any]:
        """Return the place of a value, such as `cores[3]`, and the value."""
        return f"{self.name}[{row}]", self.values[row]

    def has(self, row: int) -> bool:
        """Whether a row has a value."""
        return not is_missing(self.values[row])


class Frame:
    """The columns of a table, and what is wrong with them.

    Parameters
    ----------
    frame : table
        Columns by name: a DataFrame of pandas or Polars, an Arrow table, or a mapping of sequences.
    unit : mapping of str to str, optional
        The unit of the bare numbers of each argument.
    allowed : sequence of str
        The arguments that may have units.

    Raises
    ------
    ArgumentError
        If it is not a table.
    """

    def __init__(self, frame: Any, unit: Mapping[str, str] | None, allowed: Sequence[str]) -> None:
        names = getattr(frame, "column_names", None)  # Arrow, whose `columns` are the arrays
        if names is None:
            names = frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", None)
        if not isinstance(names, Iterable) or hasattr(frame, "collect"):
            lazy = "; call its collect()" if hasattr(frame, "collect") else ""
            raise ArgumentError(
                "frame: must be a DataFrame, an Arrow table or a mapping of columns, not "
                f"{described_type(frame)}{lazy}"
            )
        self._frame = frame
        self._names = list(names)
        self._length: tuple[str, int] | None = None
        self._without_unit: set[str] = set()
        self.errors: list[FieldError] = []
        if unit is not None:
            require_type(unit, Mapping, "unit", "a mapping of arguments to units")
        self._units = dict(unit or {})
        for argument in self._units:
            if argument not in allowed:
                near = nearest(str(argument), allowed)
                hint = f"; did you mean {quoted(near)}?" if near else ""
                self.wrong(f"unit[{argument!r}]", f"no such column is read{hint}")

    def wrong(self, path: str, message: str) -> None:
        """Add an error."""
        self.errors.append(FieldError(source="", path=path, message=message))

    def raise_errors(self) -> None:
        """Raise the errors so far, if there are any."""
        if self.errors:
            raise InputError(self.errors)

    def column(
        self, argument: str, name: str | None, units: Mapping[str, Any] | None = None
    ) -> Column | None:
        """Return the column of an argument; None without one, or if it is wrong.

        Parameters
        ----------
        units : mapping, optional
            The units that its numbers may have.
        """
        if name is None:
            return None
        require_type(name, str, argument, "the name of a column")
        unit = self._units.get(argument)
        if unit is not None and units is not None and unit not in units:
            self.wrong(f"unit[{argument!r}]", unsupported(unit, list(units)))
            unit = next(iter(units))  # its numbers are not errors too
        count = self._names.count(name)
        if count != 1:
            near = nearest(name, map(str, self._names))
            hint = f"; did you mean {quoted(near)}?" if near and not count else ""
            self.wrong(name, f"{count} columns of this name" if count else f"no such column{hint}")
            return None
        found = self._frame[name]
        # The values of an Arrow column are scalars of Arrow.
        values = found.to_pylist() if hasattr(found, "to_pylist") else list(found)
        first, length = self._length = self._length or (name, len(values))
        if len(values) != length:
            self.wrong(name, f"{len(values)} rows, but {first} has {length}")
        return Column(argument, name, values, unit)

    @property
    def length(self) -> int:
        """The number of rows of the columns that were read."""
        return 0 if self._length is None else self._length[1]

    def amount_columns(self, requested: Mapping[str, tuple[str, str]]) -> dict[str, Column]:
        """Return the columns of amounts by resource; numbers of bytes need a unit.

        Parameters
        ----------
        requested : mapping of str to (str, str)
            As `requested_resources` returns it.
        """
        found: dict[str, Column] = {}
        for resource, (argument, name) in requested.items():
            require_type(name, str, argument, "the name of a column")
            units = BYTE_UNITS if _is_bytes(resource) else COUNT_UNITS
            column = self.column(resource, name, units)
            if column is not None:
                found[resource] = column
        return found

    def labelled(self, argument: str, given: Mapping[str, str] | None) -> dict[str, Column]:
        """Return the columns of labels by key."""
        if given is None:
            return {}
        require_type(given, Mapping, argument, "a mapping of label keys to columns")
        found: dict[str, Column] = {}
        for key, name in given.items():
            place = f"{argument}[{key!r}]"
            for error in label_key_errors(str(key)):
                self.wrong(place, invalid(key, error))
            column = self.column(place, name)
            if column is not None:
                found[key] = column
        return found

    def check_prefix(self, prefix: str | None) -> None:
        """Add an error if no name can start with a prefix."""
        if prefix is None:
            return
        require_type(prefix, str, "prefix", "a text")
        if valid_name(prefix) != prefix or not prefix:
            detail = "must consist of lower-case letters, digits, hyphens and dots"
            self.wrong("prefix", invalid(prefix, detail))

    # ------------------------------------------------------------------ values

    def due(self, column: Column, path: str, value: Any) -> Due:
        """Return an arrival time; in this order of kinds, as no value is of two of them."""
        unit = column.unit or ""
        absolute_ns = time_value_ns(value)
        number = None if absolute_ns is not None else number_of(value)
        if number is not None and unit.endswith(_SINCE_1970):
            absolute_ns = round(number * ARRIVAL_UNITS[unit])
        if absolute_ns is not None:
            if FIRST_NS <= absolute_ns < LAST_NS:
                return Due(absolute_ns, is_absolute=True)
            self.wrong(path, invalid(str(value), f"{POSSIBLE_YEARS} can be simulated"))
            return Due(0, is_absolute=True)
        relative_ns = self._length_ns(column, path, value, number)
        if relative_ns is None:
            detail = "must be a duration of 0 or more since the start, or a time"
            self.wrong(path, required(detail) if is_missing(value) else invalid(str(value), detail))
        return Due(relative_ns or 0, is_absolute=False)

    def check_form(self, dues: Sequence[Due], column: Column) -> None:
        """Add an error if a column has relative and absolute times."""
        if self.errors or not dues:
            return
        forms = [due.is_absolute for due in dues]
        if len(set(forms)) > 1:
            row = forms.index(not forms[0])
            kinds = ("a time", "a duration") if forms[row] else ("a duration", "a time")
            self.wrong(f"{column.name}[{row}]", f"{kinds[0]}, but {column.name}[0] is {kinds[1]}")

    def run_ns(self, column: Column, path: str, value: Any) -> int | None:
        """Return a run time; None if there is none."""
        if is_missing(value):
            return None
        found = self._length_ns(column, path, value, number_of(value))
        if found is None:
            self.wrong(path, invalid(str(value), "must be a duration of 0 or more"))
        return found

    def _length_ns(
        self, column: Column, path: str, value: Any, number: Fraction | None
    ) -> int | None:
        """Return a duration of 0 or more; None if it is not one."""
        if number is None:
            found = _duration_ns(value)
        elif column.unit is None:
            self._no_unit(column, path, value, "s")
            return 0
        else:
            found = round(number * ARRIVAL_UNITS[column.unit])
        return found if found is not None and 0 <= found <= _LONGEST_NS else None

    def quantity(self, column: Column, path: str, value: Any) -> str | None:
        """Return an amount as a quantity; None if there is none."""
        if is_missing(value):
            return None
        is_in_bytes = _is_bytes(column.argument)
        number = number_of(value)
        if number is not None and number >= 0:
            if column.unit is not None:
                units = BYTE_UNITS if is_in_bytes else COUNT_UNITS
                return _quantity_text(number * units[column.unit], is_whole=is_in_bytes)
            if is_in_bytes:
                self._no_unit(column, path, value, "GiB")
                return None
        text = text_of(value).strip()
        try:
            is_valid = parse_quantity(text).nano >= 0
        except ValueError:
            is_valid = False
        if not is_valid:
            detail = "must be a quantity of 0 or more, such as 2, 500m or 1Gi"
            self.wrong(path, invalid(text, detail))
        return text

    def amounts(self, columns: Mapping[str, Column], row: int) -> dict[str, str]:
        """Return the amounts of a row by resource, without those that are missing."""
        found: dict[str, str] = {}
        for resource, column in columns.items():
            quantity = self.quantity(column, *column.at(row))
            if quantity is not None:
                found[resource] = quantity
        return found

    def labels(self, columns: Mapping[str, Column], row: int) -> dict[str, str]:
        """Return the labels of a row, without those that are missing."""
        found: dict[str, str] = {}
        for key, column in columns.items():
            path, value = column.at(row)
            if column.has(row):
                found[key] = text = text_of(value)
                for error in label_value_errors(text):
                    self.wrong(path, invalid(text, error))
        return found

    def integer(self, path: str, value: Any, least: int, default: int) -> int:
        """Return a whole number of at least `least`; the default if it is missing."""
        if is_missing(value):
            return default
        number = number_of(value)
        if number is None or number.denominator != 1 or number < least:
            self.wrong(path, invalid(str(value), f"must be a whole number of {least} or more"))
            return default
        return int(number)

    def _no_unit(self, column: Column, path: str, value: Any, example: str) -> None:
        if column.name not in self._without_unit:
            self._without_unit.add(column.name)
            self.wrong(
                path,
                f"{value} has no unit; give that of the column, such as "
                f'unit={{"{column.argument}": "{example}"}}',
            )


def requested_resources(
    cpu: str | None, memory: str | None, resources: Mapping[str, str] | None
) -> dict[str, tuple[str, str]]:
    """Return the argument and the column of each resource.

    Raises
    ------
    ArgumentError
        If `resources` is not a mapping, or has what another argument has.
    """
    if resources is not None:
        require_type(resources, Mapping, "resources", "a mapping of resources to columns")
    found = {key: (f"resources[{key!r}]", column) for key, column in (resources or {}).items()}
    for resource, column in (("cpu", cpu), ("memory", memory)):
        if column is None:
            continue
        if resource in found:
            raise ArgumentError(f"{resource} and {found[resource][0]}: specify one of them")
        found[resource] = (resource, column)
    return found


class Named(NamedTuple):
    """A valid name, and the annotations that say which one the trace has."""

    name: str
    annotations: dict[str, str]


class Names:
    """Valid and distinct names of the objects of a frame.

    Upper-case letters become lower-case ones, other characters that names cannot have become
    hyphens.

    Parameters
    ----------
    frame : Frame
        Where errors are added.
    column : Column, optional
        The column of names; without it, the names are numbers of rows.
    prefix : str, optional
        What names start with.
    default_prefix : str
        What names without a column start with if there is no prefix.

    Attributes
    ----------
    changed : dict of str to str
        The valid name of each name that Kubernetes would refuse.
    """

    def __init__(
        self, frame: Frame, column: Column | None, prefix: str | None, default_prefix: str
    ) -> None:
        self._frame = frame
        self._column = column
        self._prefix = prefix if column is not None or prefix else default_prefix
        self._places: dict[tuple[str, str], tuple[str, str]] = {}
        self.changed: dict[str, str] = {}

    def of_row(self, row: int, ending: str = "", namespace: str = "") -> Named:
        """Return the name of an object of a row; an error is added if another one has it."""
        path, value = f"row {row}", row
        if self._column is not None:
            path, value = self._column.at(row)
            if not self._column.has(row):
                self._frame.wrong(path, required("a name"))
                return Named("", {})
        original = self.prefixed(value)
        name = valid_name(original + ending)
        if not name:
            detail = "must be a name with a letter a-z or a digit"
            self._frame.wrong(path, invalid(original, detail))
        there, first = self._places.setdefault((namespace, name), (original, path + ending))
        if first != path + ending:
            same = "" if there == original else f", whose name {quoted(there)} becomes the same"
            message = f"Duplicate value: {quoted(original)}: also in {first}{same}"
            self._frame.wrong(path, message)
        if name == original + ending:
            return Named(name, {})
        self.changed[original] = valid_name(original)
        return Named(name, {ORIGINAL_NAME: original})

    def prefixed(self, value: Any) -> str:
        """Return a value as text, behind the prefix."""
        text = text_of(value)
        return f"{self._prefix}-{text}" if self._prefix else text


class Shared:
    """Valid names of what many rows share, such as namespaces.

    Attributes
    ----------
    changed : dict of str to str
        As for `Names`.
    """

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._originals: dict[str, str] = {}
        self.changed: dict[str, str] = {}

    def name(self, path: str, original: str) -> str:
        """Return the DNS label that is like a name; distinct names must stay distinct."""
        name = valid_label(original)
        if not name:
            self._frame.wrong(
                path, invalid(original, "must be a name with a letter a-z or a digit")
            )
        there = self._originals.setdefault(name, original)
        if there != original:
            message = f"{quoted(there)} and {quoted(original)} become the same name, {quoted(name)}"
            self._frame.wrong(path, message)
        if name != original:
            self.changed[original] = name
        return name


def changes_text(what: str, changed: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence about changed names, or nothing."""
    if not changed:
        return ()
    old, new = next(iter(changed.items()))
    count = len(changed)
    subject = f"{count} {what}{'' if count == 1 else 's'}"
    return (
        f"{subject} changed, because Kubernetes does not accept them, such as {quoted(old)} to"
        f" {quoted(new)}",
    )


def valid_name(text: str) -> str:
    """Return a DNS subdomain that is like a text; empty if nothing is left of it."""
    parts = re.sub(r"[^a-z0-9.]+", "-", text.lower())[:_NAME_MAX].split(".")
    return ".".join(filter(None, (part.strip("-") for part in parts)))


def valid_label(text: str) -> str:
    """Return a DNS label that is like a text; empty if nothing is left of it."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:_LABEL_MAX].strip("-")


def text_of(value: Any) -> str:
    """Return a value as the text of a name or of a label.

    A column of integers with missing values is one of floats in pandas: 1.0 is `1`.
    """
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and isfinite(value) and value == int(value):
        return str(int(value))
    return str(value)


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or the NA of pandas."""
    try:
        return value is None or bool(value != value)  # noqa: PLR0124 - NaN
    except (TypeError, ValueError):  # whether NA equals anything is NA; arrays have many answers
        return not hasattr(value, "shape")


def _is_bytes(resource: str) -> bool:
    return resource in _BYTES or resource.startswith(_HUGE_PAGES)


def number_of(value: Any) -> Fraction | None:
    """Return a bare number, also one that is a text, exactly; None for all others."""
    if isinstance(value, bool | np.bool_):
        return None
    if not isinstance(value, str | Number) or "/" in str(value):
        return None
    try:
        # The shortest decimal of a float is what the trace says, not its binary fraction.
        return Fraction(str(value).strip())
    except (ValueError, ZeroDivisionError):
        return None


def _quantity_text(amount: Fraction, *, is_whole: bool) -> str:
    """Return an amount as a quantity, rounded up: to whole bytes, or to thousandths."""
    if is_whole or amount.denominator == 1:
        return str(ceil(amount))
    return f"{ceil(amount * 1000)}m"


def time_value_ns(value: Any) -> int | None:
    """Return a time in nanoseconds since 1970; None if the value is not an absolute time."""
    if is_missing(value):
        return None
    if (of_numpy := numpy_time_ns(value)) is not None:
        return of_numpy
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


def _duration_ns(value: Any) -> int | None:
    if isinstance(value, str):
        try:
            return parse_days(value.strip())
        except ValueError:
            return None
    return length_ns(value)

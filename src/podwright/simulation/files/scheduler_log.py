"""Logs of a real scheduler: its attempts and their results, in order.

One JSON object per line, in a file that may be compressed with gzip:

    {"time": RFC 3339, "what": WHAT, "pod": "namespace/name", ...}

| what | further fields | meaning |
|---|---|---|
| attempt | | a scheduling cycle starts; the order of these lines is that of the cycles |
| bound | node, evaluatedNodes, feasibleNodes | the cycle chose this node, and the pod is bound |
| unschedulable | err | the cycle found no node |
| preempt | node | preemption chose this node |
| victim | preemptor, victim, node | this pod is deleted; `preemptor` instead of `pod` |
| condition | nominatedNodeName, nominatingMode | the pod's nomination is written, if mode is 1 |
| condition | conditionType, conditionStatus | a condition of the pod is written |
| queue | event, queue | the pod was moved because of this event |
| observed | event | AssignedPodAdd: the pod was observed with a node for the first time; |
| | | AssignedPodDelete: its end was observed |

Other lines are ignored, and so is a last line without a line feed, as in a record.

The file may also be the output of kube-scheduler itself.

Notes
-----
Upstream: pkg/scheduler/schedule_one.go, pkg/scheduler/eventhandlers.go,
pkg/scheduler/framework/preemption, and staging/src/k8s.io/component-base/logs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from podwright.apimachinery.objects import (
    FieldError,
    InputError,
    NamespacedName,
    invalid,
    quoted,
    required,
    timestamp_ns,
    timestamp_text_nano,
)
from podwright.simulation.files.record import numbered_lines

What: TypeAlias = Literal[
    "attempt", "bound", "unschedulable", "preempt", "victim", "condition", "queue", "observed"
]


class LogLine(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One line of the log.

    Attributes
    ----------
    line : int
        Its number in the file, from 1.
    time_ns : int
        When it was written, in nanoseconds since 1970.
    what : str
        See the module.
    pod : str
        "namespace/name"; for `victim` the preemptor.
    node : str
        The chosen node; for `condition` the nominated node.
    evaluated_count, feasible_count : int
        Of `bound`; 0 if the line does not have them.
    victim : str
        "namespace/name".
    is_nominating : bool
        Whether a `condition` sets or clears the nomination.
    is_failure : bool
        Whether a `condition` ends an attempt that failed. A nomination without a condition is of a
        pod that has been placed, and waits for its volumes or for a plugin before it is bound.
    event : str
        The event that moved the pod, or was observed.
    message : str
        Why no node was found.
    """

    line: int
    time_ns: int
    what: What
    pod: NamespacedName
    node: str
    evaluated_count: int
    feasible_count: int
    victim: NamespacedName
    is_nominating: bool
    is_failure: bool
    event: str
    message: str


class SchedulerLog(msgspec.Struct, frozen=True):
    """The lines of a log.

    Attributes
    ----------
    source : str
        The file's name.
    lines : tuple of LogLine
        In the order of the file.
    """

    source: str
    lines: tuple[LogLine, ...] = ()


_REQUIRED: dict[str, tuple[str, ...]] = {
    "bound": ("pod", "node"),
    "preempt": ("pod", "node"),
    "victim": ("preemptor", "victim", "node"),
}
_NUMBERS = ("evaluatedNodes", "feasibleNodes", "nominatingMode")
_TEXTS = (
    "pod",
    "node",
    "preemptor",
    "victim",
    "nominatedNodeName",
    "conditionType",
    "conditionStatus",
    "event",
    "err",
)
_KNOWN = frozenset(get_args(What))


def load_scheduler_log(path: str | Path, *, near_ns: int = 0) -> SchedulerLog:
    """Read a scheduler's log from a file, compressed or not; see `read_scheduler_log`.

    Raises
    ------
    InputError
        With all errors in the file.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError.of(str(path), f"cannot be read: {error.strerror}") from None
    return read_scheduler_log(data, source=str(path), near_ns=near_ns)


def read_scheduler_log(data: bytes, *, source: str, near_ns: int = 0) -> SchedulerLog:
    """Read a scheduler's log.

    Parameters
    ----------
    near_ns : int
        A time of the record, in nanoseconds since 1970. Dates without a year, in kube-scheduler's
        text format, are of the year that brings them nearest to it.

    Raises
    ------
    InputError
        With all errors, each with its line and path.
    """
    lines: list[LogLine] = []
    errors: list[FieldError] = []
    unread: list[FieldError] = []
    is_of_process = False
    for number, text in _entries(data, source):
        place = f"{source}: line {number}"
        is_text = is_text_line(text)
        try:
            value: Any = text_line(text, near_ns) if is_text else msgspec.json.decode(text)
            is_json = is_json_line(value)
            value = json_line(value) if is_json else value
        except (ValueError, SyntaxError, RecursionError) as error:
            kind, found = ("not a line of a log", errors) if is_text else ("not JSON", unread)
            found.append(FieldError(source=place, message=f"{kind}: {error}"))
            continue
        is_of_process |= is_text or is_json
        if value is None:
            continue
        found = _problems(value, place)
        errors += found
        if not found and value["what"] in _KNOWN:
            lines.append(_line(number, value))
    if unread and not (is_of_process or lines or errors):
        # Of another kind of file each line is wrong.
        message = f"not the log of a scheduler; its first line: {unread[0].message}"
        raise InputError.of(source, message)
    if not is_of_process:
        # A process may also write other text, such as the usage of its flags.
        errors = sorted([*errors, *unread], key=lambda error: int(error.source.split()[-1]))
    if not errors and not any(line.what == "attempt" for line in lines):
        message = (
            'no attempts in this file: no line has "what": "attempt", or is of kube-scheduler '
            "with -v=3 or more"
        )
        errors.append(FieldError(source=source, message=message))
    if errors:
        raise InputError(errors)
    return SchedulerLog(source, tuple(lines))


def _entries(data: bytes, source: str) -> Iterator[tuple[int, bytes]]:
    """Yield the complete lines; lines that continue a text line are joined to it."""
    first, entry = 0, b""
    for number, text, is_terminated in numbered_lines(data, source=source):
        if not is_terminated:
            continue
        is_continued = text.startswith((b"\t", b" >")) and is_text_line(entry)
        if is_continued:
            entry += b"\n" + text
            continue
        if entry.strip():
            yield first, entry
        first, entry = number, text
    if entry.strip():
        yield first, entry


def _problems(value: Any, place: str) -> list[FieldError]:
    if not isinstance(value, dict):
        return [FieldError(source=place, message=f"must be an object, not {quoted(value)}")]

    def problem(path: str, message: str) -> FieldError:
        return FieldError(source=place, path=path, message=message, value=value.get(path))

    what = value.get("what")
    found = [
        problem(name, required())
        for name in ("time", "what", *_REQUIRED.get(str(what), ("pod",)))
        if value.get(name) in (None, "") and (name in {"time", "what"} or what in _KNOWN)
    ]
    found += [
        problem(name, invalid(value[name], "must be a string"))
        for name in ("time", "what", *_TEXTS)
        if value.get(name) is not None and not isinstance(value[name], str)
    ]
    found += [
        problem(name, invalid(value[name], "must be an integer"))
        for name in _NUMBERS
        if value.get(name) is not None and type(value[name]) is not int
    ]
    time = value.get("time")
    if isinstance(time, str) and time and timestamp_ns(time) is None:
        detail = "must be a time, such as 2026-03-02T10:11:12.5Z"
        found.append(problem("time", invalid(time, detail)))
    return found


def _line(number: int, value: dict[str, Any]) -> LogLine:
    time_ns = timestamp_ns(value["time"])
    assert time_ns is not None, f"line {number}: the time was not validated"
    return LogLine(
        line=number,
        time_ns=time_ns,
        what=value["what"],
        pod=value.get("pod") or value.get("preemptor") or "",
        node=value.get("node") or value.get("nominatedNodeName") or "",
        evaluated_count=value.get("evaluatedNodes") or 0,
        feasible_count=value.get("feasibleNodes") or 0,
        victim=value.get("victim") or "",
        is_nominating=value.get("nominatingMode") == 1,
        is_failure=value.get("conditionType") == "PodScheduled"
        and value.get("conditionStatus") == "False",
        event=value.get("event") or "",
        message=value.get("err") or "",
    )


# The output of kube-scheduler, as the lines of a scheduler log.
#
# Upstream writes its log as text (`--logging-format=text`, the default) or as JSON. The messages of
# `_MESSAGES` are read, all of which `-v=3` has; the others are ignored.
#
# Lines of text have a date without a year, in the time zone of the process.

Fields: TypeAlias = dict[str, Any]

_MICROSECOND_NS = 1_000

_HEADER = re.compile(
    rb"[IWEF](?P<month>\d\d)(?P<day>\d\d) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    rb"\.(?P<microsecond>\d{6})\s+\d+ [^\]]+\] (?P<rest>.*)",
    re.DOTALL,
)
_QUOTED = rb'"(?:[^"\\]|\\.)*"'
_MESSAGE = re.compile(_QUOTED)
_BLOCK = rb"<\n(?:\t[^\n]*\n)* >"
_FIELD = re.compile(
    rb" (?P<name>[\w.]+)=(?P<value>" + rb"|".join([_QUOTED, _BLOCK, rb"[^\s\"]+"]) + rb")"
)

_POD = {"pod": "pod"}
_VICTIM = {"preemptor": "preemptor", "victim": "victim", "node": "node"}
_UNSCHEDULABLE: tuple[str, dict[str, str], Fields] = ("unschedulable", {**_POD, "err": "err"}, {})

_MESSAGES: dict[str, tuple[str, dict[str, str], Fields]] = {
    "Add event for unscheduled pod": ("queue", _POD, {"event": "UnschedulablePodAdd"}),
    "Add event for scheduled pod": ("observed", _POD, {"event": "AssignedPodAdd"}),
    "Delete event for scheduled pod": ("observed", _POD, {"event": "AssignedPodDelete"}),
    "Attempting to schedule pod": ("attempt", _POD, {}),
    "Successfully bound pod to node": (
        "bound",
        {
            **_POD,
            "node": "node",
            "evaluatedNodes": "evaluatedNodes",
            "feasibleNodes": "feasibleNodes",
        },
        {},
    ),
    "Unable to schedule pod; no fit; waiting": _UNSCHEDULABLE,
    "Unable to schedule pod belonging to a pod group; waiting": _UNSCHEDULABLE,
    "Unable to schedule pod; no nodes are registered to the cluster; waiting": (
        "unschedulable",
        _POD,
        {"err": "no nodes available to schedule pods"},
    ),
    "the target node for the preemption is determined": ("preempt", {**_POD, "node": "node"}, {}),
    "Preemptor Pod preempted victim Pod": ("victim", _VICTIM, {}),
    "Victim Pod is already deleted": ("victim", _VICTIM, {}),
    "Preemptor preempted a waiting pod": ("victim", {**_VICTIM, "victim": "waitingPod"}, {}),
    "Preemptor rejected a pod in preBind": ("victim", {**_VICTIM, "victim": "podInPreBind"}, {}),
    "Updating pod condition and nominated node name": (
        "condition",
        {
            **_POD,
            "nominatedNodeName": "nominatedNodeName",
            "nominatingMode": "nominatingMode",
            "conditionType": "conditionType",
            "conditionStatus": "conditionStatus",
        },
        {},
    ),
}
"""By message: what it is read as, the name of each of its fields in the log, and constants."""


def is_text_line(line: bytes) -> bool:
    """Whether a line is one of upstream's log in its text format."""
    return _HEADER.match(line) is not None


def is_json_line(value: object) -> bool:
    """Whether a value is a line of upstream's log in its JSON format."""
    return isinstance(value, dict) and isinstance(value.get("msg"), str) and "what" not in value


def text_line(line: bytes, near_ns: int) -> Fields | None:
    """Convert a line of the text format.

    Parameters
    ----------
    line : bytes
        See `is_text_line`; with the lines after it that continue its last value, without the
        last line feed.
    near_ns : int
        A time of the same record, in nanoseconds since 1970: the line is of the year that brings
        it nearest to this time.

    Returns
    -------
    dict or None
        The fields of a line of a scheduler log; None if the line does not matter.

    Raises
    ------
    ValueError
        The line has no valid date, or its message has a field that cannot be read.
    """
    header = _HEADER.match(line)
    assert header is not None, "the line has no header"
    rest = header["rest"]
    quoted = _MESSAGE.match(rest)
    if quoted is None:
        return None
    message = _unquoted(quoted[0])
    if message not in _MESSAGES:
        return None
    fields = {
        found["name"].decode(): _value(found["value"])
        for found in _FIELD.finditer(rest, quoted.end())
    }
    parts = {name: int(header[name]) for name in ("month", "day", "hour", "minute", "second")}
    time_ns = _nearest_ns(parts, int(header["microsecond"]) * _MICROSECOND_NS, near_ns)
    return _converted(message, fields, time_ns)


def json_line(value: Fields) -> Fields | None:
    """Convert a line of the JSON format; see `text_line`.

    Raises
    ------
    ValueError
        The line has no time.
    """
    message = value["msg"]
    if message not in _MESSAGES:
        return None
    try:
        milliseconds = float(value["ts"])
    except (KeyError, TypeError):
        raise ValueError("ts: must be a number of milliseconds since 1970") from None
    fields = {name: _reference(one) for name, one in value.items()}
    return _converted(message, fields, round(milliseconds * 1_000) * _MICROSECOND_NS)


def _converted(message: str, fields: Fields, time_ns: int) -> Fields:
    what, names, constants = _MESSAGES[message]
    found = {name: fields[there] for name, there in names.items() if there in fields}
    return {"time": timestamp_text_nano(time_ns), "what": what, **constants, **found}


def _nearest_ns(parts: dict[str, int], fraction_ns: int, near_ns: int) -> int:
    """Return the time of the year in which it is nearest to another time."""
    near = datetime.fromtimestamp(near_ns // 1_000_000_000, UTC).year
    times = []
    for year in (near - 1, near, near + 1):
        try:
            seconds = int(datetime(year, **parts, tzinfo=UTC).timestamp())
        except ValueError:
            # February 29 exists in leap years only.
            continue
        times.append(seconds * 1_000_000_000 + fraction_ns)
    if not times:
        raise ValueError("the date at its start is invalid")
    return min(times, key=lambda time_ns: abs(time_ns - near_ns))


def _value(value: bytes) -> str | int:
    if value.startswith(b'"'):
        return _unquoted(value)
    if value.startswith(b"<\n"):
        return "\n".join(line[1:] for line in value.decode().split("\n")[1:-1])
    return int(value) if value.isdigit() else value.decode()


def _unquoted(value: bytes) -> str:
    """Return the string of a literal in Go, whose escapes Python has as well."""
    text = ast.literal_eval(value.decode())
    assert isinstance(text, str), "a quoted value is a string"
    return text


def _reference(value: Any) -> Any:
    """Return "namespace/name" for the reference of an object."""
    if isinstance(value, dict) and "name" in value:
        namespace = value.get("namespace")
        return f"{namespace}/{value['name']}" if namespace else value["name"]
    return value

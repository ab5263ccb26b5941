"""The output of kube-scheduler, as the lines of a scheduler log.

Upstream writes its log as text (`--logging-format=text`, the default) or as JSON. The messages that
are read are those of `-v=3`; the others are ignored.

| message | verbosity | read as |
|---|---|---|
| Add event for unscheduled pod | 3 | queue, event UnschedulablePodAdd |
| Add event for scheduled pod | 3 | observed, event AssignedPodAdd |
| Delete event for scheduled pod | 3 | observed, event AssignedPodDelete |
| Attempting to schedule pod | 3 | attempt |
| Successfully bound pod to node | 2 | bound |
| Unable to schedule pod; ... | 2 | unschedulable |
| the target node for the preemption is determined | 2 | preempt |
| Preemptor Pod preempted victim Pod | 2 | victim |
| Preemptor preempted a waiting pod | 2 | victim |
| Preemptor rejected a pod in preBind | 2 | victim |
| Updating pod condition and nominated node name | 3 | condition |

Lines of text have a date without a year, in the time zone of the process.

Notes
-----
Upstream: pkg/scheduler/schedule_one.go, pkg/scheduler/eventhandlers.go,
pkg/scheduler/framework/preemption, and staging/src/k8s.io/component-base/logs
"""

from __future__ import annotations

import ast
import re
from datetime import UTC, datetime
from typing import Any, TypeAlias

from podwright.apimachinery.objects import timestamp_text_nano

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
        raise ValueError("ts: a number of milliseconds since 1970 is expected") from None
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

"""Logs of a real scheduler: its attempts and their results, in order.

One JSON object per line, in a file that may be compressed with gzip:

    {"time": RFC 3339, "what": WHAT, "pod": "namespace/name", ...}

| what | further fields | meaning |
|---|---|---|
| attempt | | a scheduling cycle begins; the order of these lines is that of the cycles |
| bound | node, evaluatedNodes, feasibleNodes | the cycle chose this node, and the pod is bound |
| unschedulable | err | the cycle found no node |
| preempt | node | preemption chose this node |
| victim | preemptor, victim, node | this pod is deleted; `preemptor` instead of `pod` |
| condition | nominatedNodeName, nominatingMode | the pod's nomination is written, if mode is 1 |
| queue | event, queue | the pod was moved because of this event |

Other lines are ignored, and so is a last line without a line feed, as in a record.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from podwright.files.record import numbered_lines
from podwright.objects import (
    FieldError,
    InputError,
    NamespacedName,
    invalid,
    quoted,
    required,
    timestamp_ns,
)

What: TypeAlias = Literal[
    "attempt", "bound", "unschedulable", "preempt", "victim", "condition", "queue"
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
    event : str
        The event that moved the pod.
    message : str
        Why no node was found.
    """

    line: int
    time_ns: int
    what: What
    pod: NamespacedName
    node: str = ""
    evaluated_count: int = 0
    feasible_count: int = 0
    victim: NamespacedName = ""
    is_nominating: bool = False
    event: str = ""
    message: str = ""


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
_TEXTS = ("pod", "node", "preemptor", "victim", "nominatedNodeName", "event", "err")
_KNOWN = frozenset(get_args(What))


def load_scheduler_log(path: str | Path) -> SchedulerLog:
    """Read a scheduler's log from a file, compressed or not.

    Raises
    ------
    InputError
        With all errors in the file.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise InputError([FieldError(source=str(path), path="", message=message)]) from None
    return read_scheduler_log(data, source=str(path))


def read_scheduler_log(data: bytes, *, source: str) -> SchedulerLog:
    """Read a scheduler's log.

    Raises
    ------
    InputError
        With all errors, each with its line and path.
    """
    lines: list[LogLine] = []
    errors: list[FieldError] = []
    for number, text, is_terminated in numbered_lines(data, source=source):
        if not is_terminated or not text.strip():
            continue
        place = f"{source}: line {number}"
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            errors.append(FieldError(source=place, path="", message=f"not JSON: {error}"))
            continue
        found = _problems(value, place)
        errors += found
        if not found and value["what"] in _KNOWN:
            lines.append(_line(number, value))
    if not errors and not any(line.what == "attempt" for line in lines):
        message = 'no attempts in this file: no line has "what": "attempt"'
        errors.append(FieldError(source=source, path="", message=message))
    if errors:
        raise InputError(errors)
    return SchedulerLog(source, tuple(lines))


def _problems(value: Any, place: str) -> list[FieldError]:
    if not isinstance(value, dict):
        message = f"an object is expected, not {quoted(value)}"
        return [FieldError(source=place, path="", message=message)]

    def problem(path: str, message: str) -> FieldError:
        return FieldError(source=place, path=path, message=message, value=value.get(path))

    what = value.get("what")
    found = [
        problem(name, required())
        for name in ("time", "what", *_REQUIRED.get(str(what), ("pod",)))
        if value.get(name) in (None, "") and (name in {"time", "what"} or what in _KNOWN)
    ]
    found += [
        problem(name, invalid(value[name], "a string is expected"))
        for name in ("time", "what", *_TEXTS)
        if value.get(name) is not None and not isinstance(value[name], str)
    ]
    found += [
        problem(name, invalid(value[name], "an integer is expected"))
        for name in _NUMBERS
        if value.get(name) is not None and type(value[name]) is not int
    ]
    time = value.get("time")
    if isinstance(time, str) and time and timestamp_ns(time) is None:
        detail = "a time is expected, such as 2026-03-02T10:11:12.5Z"
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
        event=value.get("event") or "",
        message=value.get("err") or "",
    )

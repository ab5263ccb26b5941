"""`podwright debug`: requests to a running cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode

from podwright.cli.console import print_data, print_message, print_table, write
from podwright.cli.decisions.save_case import write_case
from podwright.cli.recorded.simulate_report import times_table
from podwright.cli.serving.options import (
    BreakOptions,
    ClockOptions,
    FailuresOptions,
    SaveCaseOptions,
    UnbreakOptions,
)
from podwright.online.client import send

_TIMINGS: Final = "/podwright/v1/plugins/timings"
_FAILURES: Final = "/podwright/v1/plugins/failures"
_BREAKPOINTS: Final = "/podwright/v1/breakpoints"
_LONG_SECONDS: Final = 600.0
"""How long a replay may take."""
_NOT_OBSERVED: Final = (
    "the plugins are not observed: start the cluster with --plugin, or send "
    '{"isObserving": true} to PUT /podwright/v1/plugins/observation'
)


def show_timings(options: ClockOptions) -> None:
    """Print how long the calls of plugins took.

    Raises
    ------
    ClusterError
        The cluster cannot be reached, or rejected the request.
    """
    found = send(options.cluster.access(), "GET", _TIMINGS)
    rows = found["timings"]
    if print_data(
        options.output, lambda: found, [f"{row['plugin']}/{row['point']}" for row in rows]
    ):
        return
    _print_rows(
        *times_table(rows, is_wide=options.output == "wide"),
        "no plugin was called" if found["isObserving"] else _NOT_OBSERVED,
    )


def show_failures(options: FailuresOptions) -> None:
    """Print the last exceptions and errors of plugins.

    Raises
    ------
    ClusterError
        The cluster cannot be reached, or rejected the request.
    """
    query = {"plugin": options.plugin, "pod": options.pod, "limit": str(options.limit)}
    given = {key: value for key, value in query.items() if value}
    if "/" not in given.get("pod", "/"):
        given["pod"] = f"default/{given['pod']}"
    path = f"{_FAILURES}?{urlencode(given)}"
    found = send(options.cluster.access(), "GET", path)
    failures = found["failures"]
    if print_data(options.output, lambda: found, [each["pod"] for each in failures]):
        return
    wide = ("NODE",) if options.output == "wide" else ()
    _print_rows(
        ("NUMBER", "TIME", "POD", "ATTEMPT", "PLUGIN", "POINT", *wide, "MESSAGE"),
        [
            (
                str(each["number"]),
                each["time"],
                each["pod"],
                str(each["attempt"]),
                each["plugin"],
                each["point"],
                *((each["node"] or "<all>",) if wide else ()),
                " ".join(each["message"].split()),
            )
            for each in failures
        ],
        "no plugin has failed" if found["isObserving"] else _NOT_OBSERVED,
    )
    if options.traceback:
        for each in failures:
            text = each["traceback"] or f"{each['message']}\n"
            write(f"\n{each['number']}: pod {each['pod']}, attempt {each['attempt']}\n{text}")


def save_attempt(options: SaveCaseOptions) -> None:
    """Write a scheduling attempt of a pod as a test to a new file.

    Raises
    ------
    ClusterError
        The cluster cannot be reached, or there is no such attempt.
    InputError
        The file exists, or cannot be written.
    """
    namespace, _, name = options.pod.rpartition("/")
    path = f"/podwright/v1/pods/{quote(namespace or 'default', '')}/{quote(name, '')}/case"
    query = "" if options.attempt is None else f"?attempt={options.attempt}"
    access = options.cluster.access()
    found = send(access, "GET", path + query, timeout_seconds=_LONG_SECONDS)
    write_case(options.file, found["text"])
    print_message(f"{options.file} has attempt {found['attempt']} of pod {found['pod']}")


def show_breakpoints(options: ClockOptions) -> None:
    """Print the breakpoints, and where the cluster has stopped.

    Raises
    ------
    ClusterError
        The cluster cannot be reached, or rejected the request.
    """
    _print_breakpoints(send(options.cluster.access(), "GET", _BREAKPOINTS), options.output)


def add_breakpoint(options: BreakOptions) -> None:
    """Add a breakpoint, and print it.

    Raises
    ------
    ClusterError
        The cluster cannot be reached, or rejected the condition.
    """
    access = options.cluster.access()
    added = send(access, "POST", _BREAKPOINTS, {"condition": options.condition})
    if not print_data(options.output, lambda: added, [str(added["number"])]):
        print_table(_HEADS, [_breakpoint_row(added)])


def remove_breakpoint(options: UnbreakOptions) -> None:
    """Remove a breakpoint, and print the others.

    Raises
    ------
    ClusterError
        The cluster cannot be reached, or there is no such breakpoint.
    """
    access = options.cluster.access()
    _print_breakpoints(send(access, "DELETE", f"{_BREAKPOINTS}/{options.number}"), options.output)


_HEADS: Final = ("NUMBER", "CONDITION", "HITS")


def _breakpoint_row(each: Any) -> tuple[str, str, str]:
    return str(each["number"]), each["condition"], str(each["hitCount"])


def _print_breakpoints(found: Any, output: str) -> None:
    rows = found["breakpoints"]
    if print_data(output, lambda: found, [str(each["number"]) for each in rows]):
        return
    _print_rows(_HEADS, [_breakpoint_row(each) for each in rows], "there are no breakpoints")
    hit = found["stoppedAt"]
    if hit is not None:
        call = f", {hit['plugin']} at {hit['point']}" if hit["plugin"] else ""
        reason = f": {hit['message']}" if hit["message"] else ""
        print_message(
            f"stopped at breakpoint {hit['breakpoint']}: pod {hit['pod']}, attempt"
            f" {hit['attempt']}{call}{reason}; podwright clock resume continues"
        )


def _print_rows(heads: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> None:
    if rows:
        print_table(heads, rows)
    else:
        print_message(empty)

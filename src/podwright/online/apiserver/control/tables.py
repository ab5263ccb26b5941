"""The tables of the scheduler's run as columns: those that a run folder has.

A reader process replays the decision log. Times are numbers of nanoseconds since `start`, which
programs that read JSON numbers as floating point represent exactly for some months.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.apimachinery.objects import parse_duration, timestamp_text_nano
from podwright.online.apiserver.control.endpoints import JSON, Endpoint, Handler, long_reply
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.control.scheduling.configuration import (
    NO_LOG,
    UNKNOWN,
    SchedulerParameter,
    own_scheduler,
)
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.simulation.recording import (
    TABLES,
    NodeShares,
    camel_case,
    tables_of_log,
)

NODE_SHARES: Final = "nodeShares"

_TABLES: Final = (
    ("/decisions", "decisions", "List the scheduling attempts and their results"),
    ("/waiting-times", "waits", "List how long pods waited for a node, and what ended the wait"),
    ("/utilization", "utilization", "Show the requested share of each resource over time"),
    (
        "/utilization/nodes",
        NODE_SHARES,
        "Show over time how many nodes have given away which tenth of a resource",
    ),
    ("/fragmentation", "fragmentation", "Show over time how much that is free is unusable"),
    ("/pending", "pending", "Show over time how many pods have no node, by reason"),
    ("/preemptions", "preemptions", "List the victims of preemptions"),
)


class TableParameters(SchedulerParameter, frozen=True, kw_only=True):
    """The parameters of a table.

    Attributes
    ----------
    limit : int, optional
        The most rows, the last ones; all if left out.
    """

    limit: Annotated[int, msgspec.Meta(ge=0)] | None = None


class SampleParameters(TableParameters, frozen=True, kw_only=True):
    """The parameters of a table of samples.

    Attributes
    ----------
    sample : str
        The least time between two samples, as a duration.
    """

    sample: str = "1m"


class TableReply(msgspec.Struct, frozen=True, kw_only=True):
    """A table as columns.

    Attributes
    ----------
    start : str
        The time of the oldest event that the log of the scheduler has.
    rows : int
        The number of all rows, those beyond the limit included.
    columns : dict of str to list
        The values of each column; times are in nanoseconds since `start`, and negative before it.
    """

    start: str
    rows: int
    columns: dict[str, list[Any]]


def table_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints of the tables."""
    readers = Readers(turns)

    def handler(name: str) -> Handler:
        async def show(request: Request) -> Response:
            parameters: TableParameters = request.state.query
            sample_ns = _sample_ns(parameters)
            scheduler = own_scheduler(turns.cluster, parameters)
            now_ns = turns.clock.now_ns()

            def content() -> bytes:
                found = _table(scheduler, name, sample_ns, now_ns, parameters.limit)
                return msgspec.json.encode(found) + b"\n"

            return await long_reply(request, readers, content, JSON)

        return show

    return [
        Endpoint(
            method="GET",
            path=path,
            summary=summary,
            handler=handler(name),
            query=SampleParameters if _is_sampled(name) else TableParameters,
            reply=TableReply,
            problems={404: UNKNOWN, 409: NO_LOG},
        )
        for path, name, summary in _TABLES
    ]


def _is_sampled(name: str) -> bool:
    return name in (NODE_SHARES, "utilization", "fragmentation", "pending")


def _sample_ns(parameters: TableParameters) -> int:
    if not isinstance(parameters, SampleParameters):
        return parse_duration(SampleParameters().sample)
    try:
        sample_ns = parse_duration(parameters.sample)
    except ValueError as error:
        raise Problem(422, str(error), field="sample") from error
    if sample_ns <= 0:
        raise Problem(422, "must be positive", field="sample")
    return sample_ns


def _table(
    scheduler: ServedScheduler, name: str, sample_ns: int, now_ns: int, limit: int | None
) -> TableReply:
    log, plugins = scheduler.world.log, scheduler.options.plugins
    shares = NodeShares()
    tables = tables_of_log(log, sample_ns, now_ns, plugins=plugins, node_shares=shares)
    start_ns = log.time_of(log.first) if log.first < len(log) else now_ns
    columns = shares.columns if name == NODE_SHARES else tables.rows()[name]
    times = ["time"] if name == NODE_SHARES else _times(name)
    rows = len(next(iter(columns.values())))
    first = 0 if limit is None else max(0, rows - limit)
    found = {
        camel_case(key): [value - start_ns for value in values[first:]]
        if key in times
        else values[first:]
        for key, values in columns.items()
    }
    return TableReply(start=timestamp_text_nano(start_ns), rows=rows, columns=found)


def _times(name: str) -> list[str]:
    return [column for column, kind in TABLES[name].items() if kind == "time"]

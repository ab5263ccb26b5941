"""Explanation of a pod's scheduling attempts: the document of `podwright explain -o json`.

A copy of the process replays the decision log, so the cluster goes on meanwhile.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.apiserver.cluster import Cluster
from podwright.apiserver.control.endpoints import JSON, Endpoint
from podwright.apiserver.control.problems import Problem
from podwright.apiserver.readers import Readers
from podwright.apiserver.turn_loop import TurnLoop
from podwright.objects import InputError, NamespacedName, read_time
from podwright.recording import (
    DecisionLog,
    LogError,
    UnknownCycle,
    explanation_document,
    find_cycle,
    recorded_view,
)

_BY_NODE: Final = ("totals", "rejected", "nearest", "filters", "scores", "restrictedTo")
"""The parts of the document that have an entry per node, besides the nodes of each reason."""


class ExplanationParameters(msgspec.Struct, frozen=True):
    """The parameters of an explanation.

    Attributes
    ----------
    attempt : int, optional
        Which attempt since the configuration of the scheduler was last changed; the first is 1.
        The last one if left out.
    at : str, optional
        Instead: the last attempt that had ended at this time, in RFC 3339 or since the start.
    view : str
        `summary`, or `full` with the results of each plugin for each node.
    """

    attempt: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)] | None = None
    at: str | None = None
    view: Literal["summary", "full"] = "summary"


def explanation_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints that explain scheduling."""
    readers = Readers(turns)
    cluster = turns.cluster

    async def show(request: Request) -> Response:
        parameters: ExplanationParameters = request.state.query
        key = f"{request.path_params['namespace']}/{request.path_params['name']}"
        if parameters.attempt is not None and parameters.at is not None:
            raise Problem(422, "attempt and at: one of them is expected, not both", field="at")
        at_ns = None
        if parameters.at is not None:
            try:
                at_ns = read_time(parameters.at, "at", start_ns=cluster.logs[0].start_ns)
            except InputError as error:
                raise Problem(422, error.errors[0].message, field="at") from error
        now_ns = turns.clock.now_ns()
        try:
            body = await readers.call(lambda _: _explained(cluster, key, parameters, at_ns, now_ns))
        except UnknownCycle as error:
            raise Problem(404, str(error)) from error
        except LogError as error:
            raise Problem(409, str(error)) from error
        return Response(body, media_type=JSON)

    return [
        Endpoint(
            method="GET",
            path="/pods/{namespace}/{name}/explanation",
            summary="Explain a scheduling attempt of a pod, with verified remedies",
            handler=show,
            query=ExplanationParameters,
            problems={
                404: "the pod has no such scheduling attempt",
                409: "the decision log cannot be replayed, for example because of a plugin",
            },
        )
    ]


def _explained(
    cluster: Cluster,
    pod: NamespacedName,
    parameters: ExplanationParameters,
    at_ns: int | None,
    now_ns: int,
) -> bytes:
    plugins = cluster.world.components.options.plugins
    log = _log_of(cluster, pod, at_ns)
    past = find_cycle(log, pod, parameters.attempt or -1, at=at_ns, plugins=plugins)
    end_ns = now_ns if log is cluster.logs[-1] else log.time_of(len(log) - 1)
    view = recorded_view(past, log, start_ns=log.start_ns, end_ns=end_ns)
    document: dict[str, Any] = explanation_document(view)
    if parameters.view == "summary":
        for key in _BY_NODE:
            del document[key]
    return msgspec.json.encode(document) + b"\n"


def _log_of(cluster: Cluster, pod: NamespacedName, at_ns: int | None) -> DecisionLog:
    """Return the newest log with an attempt of a pod until a time; the present one if none has."""
    for log in reversed(cluster.logs):
        found = log.cycles_of(pod)
        if found and (at_ns is None or log.time_of(found[0]) <= at_ns):
            return log
    return cluster.logs[-1]

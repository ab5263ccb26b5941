"""The Starlette application of `/podwright/v1`."""

from __future__ import annotations

import asyncio
from functools import cache

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from podwright._version import __version__
from podwright.cluster.api.endpoints import Rejection
from podwright.online.apiserver.access.authorized_paths import AuthorizedPaths
from podwright.online.apiserver.control.clock import breakpoint_endpoints, clock_endpoints
from podwright.online.apiserver.control.endpoints import (
    JSON,
    ControlledCluster,
    Endpoint,
    routes_of,
    sync_endpoints,
)
from podwright.online.apiserver.control.openapi import openapi_document
from podwright.online.apiserver.control.problems import Problem, problem_response
from podwright.online.apiserver.control.runs import recorded_run_endpoints, run_endpoints
from podwright.online.apiserver.control.scheduling.benchmarks import benchmark_endpoints
from podwright.online.apiserver.control.scheduling.configuration import configuration_endpoints
from podwright.online.apiserver.control.scheduling.explanation import (
    explanation_endpoints,
    saved_case_endpoints,
)
from podwright.online.apiserver.control.scheduling.planning import planning_endpoints
from podwright.online.apiserver.control.scheduling.plugins import (
    plugin_call_endpoints,
    plugins_endpoints,
)
from podwright.online.apiserver.control.scheduling.queue import (
    metrics_endpoints,
    queue_endpoints,
    shadow_endpoints,
)
from podwright.online.apiserver.control.scheduling.scenarios import scenario_endpoints
from podwright.online.apiserver.control.scheduling.what_if import what_if_endpoints
from podwright.online.apiserver.control.snapshot import snapshot_endpoints
from podwright.online.apiserver.control.state import (
    latency_endpoints,
    state_endpoints,
    timeline_endpoints,
)
from podwright.online.apiserver.control.tables import table_endpoints
from podwright.online.apiserver.control.writes import node_endpoints, write_endpoints
from podwright.online.apiserver.wire.defects import logged_defect


def control_application(cluster: ControlledCluster) -> Starlette:
    """Return the application that controls a cluster."""
    endpoints = endpoints_of(cluster)
    reading = {(each.method, each.url) for each in endpoints if each.changes_nothing}

    def path_of(method: str, path: str) -> tuple[str, str]:
        return "GET" if (method, path) in reading else method, path

    return Starlette(
        routes=routes_of(endpoints),
        middleware=[
            Middleware(AuthorizedPaths, turns=cluster.turns, path_of=path_of, reply=_rejection)
        ],
        exception_handlers={
            Problem: _problem,
            HTTPException: _http_exception,
            Exception: _defect,
        },
    )


def endpoints_of(cluster: ControlledCluster) -> list[Endpoint]:
    """Return all endpoints of a cluster; routes and documents are made from this table."""
    turns = cluster.turns
    table = [
        *clock_endpoints(turns),
        *latency_endpoints(cluster.latency),
        *configuration_endpoints(cluster),
        *plugins_endpoints(cluster),
        *snapshot_endpoints(cluster),
        *queue_endpoints(turns),
        *node_endpoints(turns),
        *metrics_endpoints(turns),
        *plugin_call_endpoints(turns),
        *breakpoint_endpoints(turns),
        *saved_case_endpoints(turns),
        *what_if_endpoints(cluster),
        *planning_endpoints(cluster),
        *scenario_endpoints(cluster),
        *benchmark_endpoints(cluster),
        *explanation_endpoints(turns),
        *timeline_endpoints(turns),
        *state_endpoints(turns),
        *table_endpoints(turns),
        *shadow_endpoints(cluster),
        *sync_endpoints(),
        *write_endpoints(turns, cluster.latency),
        *run_endpoints(cluster.runs),
        *recorded_run_endpoints(turns, cluster.runs),
    ]

    @cache
    def document() -> bytes:
        return msgspec.json.encode(openapi_document(table, __version__)) + b"\n"

    async def show_document(_: Request) -> Response:
        # It takes as long as several turns.
        return Response(await asyncio.to_thread(document), media_type=JSON)

    table.append(
        Endpoint(
            method="GET",
            path="/openapi.json",
            summary="Show the OpenAPI document of this API",
            handler=show_document,
        )
    )
    return table


def _rejection(error: Rejection) -> Response:
    return problem_response(Problem(error.code, str(error)))


async def _problem(_: Request, error: Exception) -> Response:
    assert isinstance(error, Problem), "registered for this class"
    return problem_response(error)


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "registered for this class"
    detail = error.detail
    if error.status_code == 404:
        detail = f"there is no {request.url.path}"
    elif error.status_code == 405:
        allowed = ", ".join(sorted((error.headers or {}).get("Allow", "").split(", ")))
        detail = f"{request.method} is not possible here; use {allowed}"
        return problem_response(Problem(405, detail), {"Allow": allowed})
    return problem_response(Problem(error.status_code, detail), dict(error.headers or {}))


async def _defect(request: Request, error: Exception) -> Response:
    if isinstance(error, asyncio.CancelledError):
        raise error
    failure = logged_defect(error, f"{request.method} {request.url.path}")
    return problem_response(Problem(500, str(failure)))

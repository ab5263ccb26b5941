"""The routes of kube-scheduler-simulator's HTTP API.

Replies have the status codes and bodies of the original: an error is `{"message": ...}` with the
words of the status code. The reason is a line of the log.

Upstream: kube-scheduler-simulator simulator/server/server.go, simulator/server/handler
"""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from podwright.apimachinery.objects import UNDECODABLE, Document, InputError, PodwrightError
from podwright.cluster.api.endpoints import Rejection
from podwright.online.apiserver.access.authorized_paths import AuthorizedPaths
from podwright.online.apiserver.cluster_client import ClusterClient, RequestFailed
from podwright.online.apiserver.kss_api.scheduler_results import SchedulerResults
from podwright.online.apiserver.kss_api.stream import change_lines
from podwright.online.apiserver.readers import begun
from podwright.online.apiserver.records.snapshots import Snapshots
from podwright.online.apiserver.scheduling.running_scheduler import (
    ExternalScheduler,
    RunningScheduler,
)
from podwright.online.apiserver.wire.hosts import AllowedHosts, CheckedHosts, with_cors
from podwright.scheduler.config import effective_document
from podwright.simulation.kss import VERBS, SnapshotImport, UndecodableSnapshot, UnknownExtender

LOG: Final = logging.getLogger("podwright.simulation.kss")
BASE: Final = "/api/v1"
_JSON: Final = "application/json"


def simulator_application(
    client: ClusterClient, scheduler: RunningScheduler, hosts: AllowedHosts
) -> CheckedHosts:
    """Return the ASGI application.

    Its users need the right for a nonresource path, such as `/podwright/kss/export`: RBAC lets
    everybody who is authenticated get what is below `/api`.

    Parameters
    ----------
    client : ClusterClient
        Of the cluster.
    scheduler : RunningScheduler
        Of the cluster.
    hosts : AllowedHosts
        Which requests of browsers are served; pages of its origins may read the replies.
    """
    routes = _Routes(client, scheduler)
    application = Starlette(
        routes=[
            Route(f"{BASE}/schedulerconfiguration", routes.get_configuration, methods=["GET"]),
            Route(f"{BASE}/schedulerconfiguration", routes.set_configuration, methods=["POST"]),
            Route(f"{BASE}/reset", routes.reset, methods=["PUT"]),
            Route(f"{BASE}/export", routes.export, methods=["GET"]),
            Route(f"{BASE}/import", routes.import_snapshot, methods=["POST"]),
            Route(f"{BASE}/listwatchresources", routes.stream, methods=["GET"]),
            Route(f"{BASE}/extender/{{verb}}/{{index}}", routes.extend, methods=["POST"]),
        ],
        exception_handlers={HTTPException: _of_status, PodwrightError: _of_failure},
        middleware=[
            Middleware(AuthorizedPaths, turns=client.turns, path_of=_path_of, reply=_rejection)
        ],
    )
    return CheckedHosts(with_cors(application, hosts.origins), hosts)


def _path_of(method: str, path: str) -> tuple[str, str]:
    return method, f"/podwright/kss{path.removeprefix(BASE)}"


def _rejection(error: Rejection) -> Response:
    return _json(error.code, {"message": str(error)})


class _Routes:
    def __init__(self, client: ClusterClient, scheduler: RunningScheduler) -> None:
        self._client = client
        self._scheduler = scheduler
        self._results = SchedulerResults(client.turns, scheduler)
        self._snapshots = Snapshots(scheduler)

    async def get_configuration(self, _: Request) -> Response:
        try:
            found = self._scheduler.read(self._scheduler.configuration())[1]
            return _json(HTTPStatus.OK, effective_document(found))
        except ExternalScheduler as error:
            return _json(HTTPStatus.BAD_REQUEST, str(error))

    async def set_configuration(self, request: Request) -> Response:
        document = _decoded(await request.body())
        await self._scheduler.apply(document)
        return Response(status_code=HTTPStatus.ACCEPTED)

    async def reset(self, _: Request) -> Response:
        await self._scheduler.reset()
        return Response(status_code=HTTPStatus.ACCEPTED)

    async def export(self, _: Request) -> Response:
        return StreamingResponse(await begun(self._snapshots.export()), media_type=_JSON)

    async def import_snapshot(self, request: Request) -> Response:
        try:
            given = SnapshotImport(await request.body())
        except UndecodableSnapshot as error:
            return _failure(HTTPStatus.BAD_REQUEST, error, request)
        try:
            await self._snapshots.load(self._client, given)
        except (InputError, RequestFailed) as error:
            # The original answers 500 without a reason, as if the server had failed.
            LOG.warning("%s %s: %s", request.method, request.url.path, error)
            return _json(HTTPStatus.BAD_REQUEST, {"message": str(error)})
        for warning in given.warnings:
            LOG.warning("%s %s: schedulerConfig: %s", request.method, request.url.path, warning)
        return Response(status_code=HTTPStatus.OK)

    async def stream(self, request: Request) -> Response:
        lines = change_lines(self._client, self._results, request.query_params)
        return StreamingResponse(lines, media_type=_JSON)

    async def extend(self, request: Request) -> Response:
        verb, index = request.path_params["verb"], request.path_params["index"]
        if verb not in VERBS:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        try:
            reply = await self._results.extend(int(index), VERBS[verb], await request.body())
        except (UnknownExtender, ValueError) as error:
            return _failure(HTTPStatus.BAD_REQUEST, error, request)
        return Response(reply, media_type=_JSON)


def _decoded(body: bytes) -> Document:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except UNDECODABLE as error:
        raise PodwrightError(f"the configuration is not a JSON object: {error}") from error


def _json(status: int, value: object) -> Response:
    return Response(msgspec.json.encode(value) + b"\n", status, media_type=_JSON)


def _failure(status: HTTPStatus, error: Exception, request: Request) -> Response:
    # The body of the reply has no reason: its form is that of kube-scheduler-simulator.
    LOG.warning("%s %s: %s", request.method, request.url.path, error)
    return _json(status, {"message": status.phrase})


async def _of_failure(request: Request, error: Exception) -> Response:
    return _failure(HTTPStatus.INTERNAL_SERVER_ERROR, error, request)


async def _of_status(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), error
    status = HTTPStatus(error.status_code)
    return _json(status, {"message": status.phrase})

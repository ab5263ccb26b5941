"""The routes of kube-scheduler-simulator's HTTP API.

Replies have the status codes and bodies of the original: an error is `{"message": ...}` with the
words of the status code. The reason is a line of the log.

Upstream: kube-scheduler-simulator simulator/server/server.go, simulator/server/handler
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from podwright.apimachinery.objects import (
    UNDECODABLE,
    Document,
    InputError,
    NamespacedName,
    PodwrightError,
)
from podwright.cluster.api.endpoints import Rejection
from podwright.online.apiserver.access.authorized_paths import AuthorizedPaths
from podwright.online.apiserver.cluster_client import ClusterClient, RequestFailed
from podwright.online.apiserver.readers import begun
from podwright.online.apiserver.records.snapshots import Snapshots
from podwright.online.apiserver.scheduling.result_annotations import FollowedResults
from podwright.online.apiserver.scheduling.running_scheduler import (
    ExternalScheduler,
    RunningScheduler,
)
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.defects import logged_defect
from podwright.online.apiserver.wire.hosts import AllowedHosts, CheckedHosts, with_cors
from podwright.scheduler.config import ExtenderVerb, KubeSchedulerConfiguration, effective_document
from podwright.simulation.kss import (
    VERBS,
    Change,
    ExtenderProxy,
    SnapshotImport,
    SnapshotKind,
    UndecodableSnapshot,
    UnknownExtender,
    change_of,
    last_version,
    list_request,
    listed,
    snapshot_kinds,
    watch_request,
)

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


# The stream of all changes, merged from a watch for each kind.

_LOG: Final = logging.getLogger("podwright.simulation.kss")
_WAITING_MAX: Final = 256
"""So many lines wait for the client; then no more are read from the watches."""


async def change_lines(
    client: ClusterClient, results: SchedulerResults, parameters: Mapping[str, str]
) -> AsyncIterator[bytes]:
    """Yield the lines of the stream until the watch of a kind ends or fails.

    Parameters
    ----------
    client : ClusterClient
    results : SchedulerResults
        Its annotations are added to the pods that are sent.
    parameters : mapping of str to str
        The query parameters; see `podwright.simulation.kss.PARAMETERS`.
    """
    waiting: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING_MAX)

    async def read(kind: SnapshotKind) -> None:
        try:
            async for change in _changes(client, kind, last_version(parameters, kind)):
                await waiting.put(await _line(results, change))
        except PodwrightError:
            pass  # one watch that fails ends the stream, as in the original
        except Exception as error:  # noqa: BLE001 - a defect, which ends this stream only
            logged_defect(error, "the stream of changes")
        # Not after the stream has ended: then nothing makes room for it.
        await waiting.put(None)

    tasks = [asyncio.create_task(read(kind)) for kind in snapshot_kinds().values()]
    try:
        while (line := await waiting.get()) is not None:
            yield line
    finally:
        for task in tasks:
            task.cancel()


async def _changes(
    client: ClusterClient, kind: SnapshotKind, version: str
) -> AsyncIterator[Change]:
    if not version:
        changes, version = listed(kind, await client.body_of(list_request(kind)))
        for change in changes:
            yield change
    async for line in client.lines_of(watch_request(kind, version)):
        found = change_of(kind, line)
        if found is not None:
            yield found


class _Key(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    namespace: str = ""


async def _line(results: SchedulerResults, change: Change) -> bytes:
    if change.kind.kind != "Pod":
        return change.line()
    key = msgspec.json.decode(change.obj["metadata"], type=_Key)
    pod = f"{key.namespace}/{key.name}"
    try:
        return change.line(await results.annotations(pod))
    except PodwrightError as error:
        _LOG.error("pod %s is sent without its results: %s", pod, error)
        return change.line()


# What kube-scheduler-simulator's API shows of scheduling: annotations, answers of extenders.


class SchedulerResults:
    """The annotations of pods, and the proxy of extenders.

    Parameters
    ----------
    turns : TurnLoop
    scheduler : RunningScheduler
        The scheduler, or the configuration of another one whose extenders are called through the
        proxy.
    """

    def __init__(self, turns: TurnLoop, scheduler: RunningScheduler) -> None:
        self._turns = turns
        self._followed = FollowedResults(turns)
        self._scheduler = scheduler
        self._proxy: ExtenderProxy | None = None
        self._proxied: KubeSchedulerConfiguration | None = None

    async def annotations(self, pod: NamespacedName) -> Mapping[str, str]:
        """Return the result annotations of a pod; empty if there was no attempt.

        Raises
        ------
        CancelledError
            The server stops.
        """
        found = await self._followed.annotations(pod)
        return found if self._proxy is None else {**found, **self._proxy.annotations(pod)}

    async def extend(self, index: int, verb: ExtenderVerb, body: bytes) -> bytes:
        """Call an extender for another scheduler, keep its answer, and return it.

        Raises
        ------
        UnknownExtender
        ExtenderFailed
        """
        configuration = self._scheduler.first.options.configuration
        if configuration is None:
            raise UnknownExtender(f"there is no extenders[{index}]: the configuration has none")
        if self._proxy is None or configuration is not self._proxied:
            self._proxied = configuration
            self._proxy = ExtenderProxy(configuration.extenders)
        call_extender = self._turns.cluster.schedulers[0].call_extender
        assert call_extender is not None, "a configuration with extenders and no call_extender"
        call = self._proxy.call(index, verb, body)
        reply = await asyncio.to_thread(call_extender, call)
        return self._proxy.answered(call, reply)

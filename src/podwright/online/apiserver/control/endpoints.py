"""Endpoints as data: routes and the OpenAPI document are both made from one table.

A function becomes an endpoint by the decorator `endpoint`. Its signature declares the rest: `body`
and `query` have the types of the body and of the query parameters, the type that it returns is that
of the reply, and other arguments are parameters of the path. The first line of its docstring is the
summary.

Query parameters are a struct without unknown fields: a misspelled parameter is an error.
"""

from __future__ import annotations

import asyncio
import gzip
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar, get_type_hints

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive

from podwright.apimachinery.objects import Document, decoding_problem
from podwright.online.apiserver.control.problems import Problem, read_body, read_json_object
from podwright.online.apiserver.readers import Readers, begun
from podwright.online.apiserver.records.run_collection import RunCollection
from podwright.online.apiserver.scheduling.running_scheduler import RunningScheduler
from podwright.online.apiserver.scheduling.shadow_feed import ShadowFeed
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.latency import ApiLatency
from podwright.online.apiserver.wire.sending import disconnected
from podwright.online.client import SyncRequest, SyncStatus
from podwright.scheduler.machine import CONTENT_TYPE, Family, MetricsSnapshot, Value, render_text
from podwright.simulation.recording import LogError

Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]
Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
Function = TypeVar("Function", bound=Callable[..., Awaitable[Any]])

JSON: Final = "application/json"
PREFIX: Final = "/podwright/v1"
BODY_MAX: Final = 1 << 20
_CLIENT_LEFT: Final = 499
"""The status of a reply that nobody gets."""
_DECLARED: Final = "declared_endpoints"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One operation of the API.

    Parameters
    ----------
    method : str
    path : str
        Below `/podwright/v1`, unless it is at the root; parts in braces are parameters.
    summary : str
        What it does, in one line.
    handler : callable
        Answers the request.
    reply : type or tuple of types, optional
        The type of the reply, or its possible types, if it is JSON.
    media_type : str
        Of the reply.
    other_media_types : tuple of str
        The types of replies of another form, such as lines of progress.
    body : type, optional
        The type of the request's body; None for no body.
    body_max : int
        The longest body, in bytes.
    query : type, optional
        The struct of the query parameters; None for no parameters.
    changes_nothing : bool
        Whether a request with a body only reads, and is authorized as a GET of its path.
    is_at_root : bool
        Whether its path is not below `/podwright/v1`.
    problems : dict of int to str
        The statuses of the problems that are particular to this endpoint, and what they mean.
    """

    method: Method
    path: str
    summary: str
    handler: Handler
    reply: Any = None
    media_type: str = JSON
    other_media_types: tuple[str, ...] = ()
    body: Any = None
    body_max: int = BODY_MAX
    query: type[msgspec.Struct] | None = None
    changes_nothing: bool = False
    is_at_root: bool = False
    problems: dict[int, str] = {}

    @property
    def url(self) -> str:
        """The whole path."""
        return self.path if self.is_at_root else f"{PREFIX}{self.path}"

    @property
    def statuses(self) -> dict[int, str]:
        """The statuses of all problems with which it answers."""
        found = {
            400: "the query has unknown or repeated parameters",
            401: "the user is not authenticated",
            403: "the user may not access the path, or the Host or the page is not allowed",
            404: "the path has another form",
            405: "the method is another one",
            413: "the body is too long",
            500: "the server failed; its log has the reason",
            503: "the server is stopping",
        }
        if self.method != "GET":
            found[415] = "the request has an Origin, and no Content-Type but that of an HTML form"
        if self.body is not None:
            found[400] = "the body is not JSON, or the query has unknown or repeated parameters"
            found[415] = "the content type of the body is not JSON"
            found[422] = "a field of the body is not valid"
        if self.query is not None:
            found[422] = "a parameter or field is not valid"
        return dict(sorted((found | self.problems).items()))


def endpoint(method: Method, path: str, **options: Any) -> Callable[[Function], Function]:
    """Return a decorator that declares an endpoint.

    Parameters
    ----------
    method : str
    path : str
    **options
        Other fields of the `Endpoint`: `body`, if the function takes the JSON object as bytes;
        `reply`, if it returns a `Response`; `summary`, if the function has several endpoints.
    """

    def declare(function: Function) -> Function:
        vars(function).setdefault(_DECLARED, []).append((method, path, options))
        return function

    return declare


def declared(*holders: object) -> list[Endpoint]:
    """Return the endpoints of decorated functions, or of the methods of objects, in their order."""
    return [each for holder in holders for each in _declared(holder)]


def _declared(holder: object) -> Iterator[Endpoint]:
    if not callable(holder):
        methods = [name for name, each in vars(type(holder)).items() if hasattr(each, _DECLARED)]
        yield from declared(*(getattr(holder, name) for name in methods))
        return
    types = get_type_hints(holder, include_extras=True)
    reply = types.pop("return")
    found: dict[str, Any] = {name: types[name] for name in ("body", "query") if name in types}
    found["summary"] = (holder.__doc__ or "").partition("\n")[0].removesuffix(".")
    found["handler"] = _handler(holder, types)
    if reply is not Response:
        found["reply"] = reply
    # The decorators are applied from the last one to the first one.
    for method, path, options in reversed(getattr(holder, _DECLARED)):
        yield Endpoint(**{**found, "method": method, "path": path, **options})


def _handler(function: Callable[..., Awaitable[Any]], types: dict[str, Any]) -> Handler:
    async def serve(request: Request) -> Response:
        values: dict[str, Any] = {}
        for name, cls in types.items():
            if name == "request":
                values[name] = request
            elif name == "query":
                values[name] = request.state.query
            elif name != "body":
                values[name] = request.path_params[name]
            elif cls is bytes:
                values[name] = await read_json_object(request)
            else:
                values[name] = await read_body(request, cls)
        reply = await function(**values)
        return reply if isinstance(reply, Response) else json_response(reply)

    return serve


def routes_of(endpoints: Iterable[Endpoint]) -> list[Route]:
    """Return a route for each path; it checks the query parameters and the length first."""
    by_path: dict[str, dict[str, Handler]] = {}
    for each in endpoints:
        methods = by_path.setdefault(each.url, {})
        methods[each.method] = _checked(each)
        if each.method == "GET":
            methods["HEAD"] = methods["GET"]
    return [
        Route(path, _by_method(methods), methods=sorted(methods))
        for path, methods in by_path.items()
    ]


def _by_method(methods: dict[str, Handler]) -> Handler:
    async def serve(request: Request) -> Response:
        return await methods[request.method](request)

    return serve


def read_query(request: Request, cls: type[Any] | None) -> Any:
    """Return the query parameters of a request as a struct; None if there can be none.

    Raises
    ------
    Problem
        A parameter is unknown, repeated, or has a wrong value.
    """
    given = request.query_params.multi_items()
    known = {} if cls is None else {f.encode_name: f.name for f in msgspec.structs.fields(cls)}
    values: dict[str, str] = {}
    for name, value in given:
        if name not in known:
            choices = f"; there are {', '.join(sorted(known))}" if known else "; there are none"
            raise Problem(400, f"there is no parameter {name!r}{choices}", field=name)
        if name in values:
            raise Problem(400, "is given more than once", field=name)
        values[name] = value
    if cls is None:
        return None
    types = get_type_hints(cls, include_extras=True)
    found = {}
    for name, value in values.items():
        try:
            found[known[name]] = msgspec.convert(value, types[known[name]], strict=False)
        except msgspec.ValidationError as error:
            raise Problem(422, decoding_problem(error)[1], field=name) from error
    return cls(**found)


def json_response(reply: msgspec.Struct | Document) -> Response:
    """Return a struct or a document as a response in JSON."""
    return Response(msgspec.json.encode(reply) + b"\n", media_type=JSON)


def _checked(endpoint: Endpoint) -> Handler:
    async def serve(request: Request) -> Response:
        longest = endpoint.body_max
        if int(request.headers.get("content-length", "0")) > longest:
            raise _too_long(longest)
        request.state.query = read_query(request, endpoint.query)
        bounded = Request(request.scope, _at_most(longest, request.receive))
        try:
            if endpoint.changes_nothing or endpoint.method == "GET":
                return await _unless_gone(endpoint.handler, bounded)
            return await endpoint.handler(bounded)
        except ClientDisconnect:  # before its body was there
            return Response(status_code=_CLIENT_LEFT)

    return serve


async def _unless_gone(handler: Handler, request: Request) -> Response:
    """Return the reply of a handler that only reads; cancel it when the client leaves."""
    await request.body()
    gone = asyncio.ensure_future(disconnected(request.receive))
    working = asyncio.ensure_future(handler(request))
    try:
        await asyncio.wait((gone, working), return_when=asyncio.FIRST_COMPLETED)
        return await working if working.done() else Response(status_code=_CLIENT_LEFT)
    finally:
        for task in (gone, working):
            task.cancel()
        await asyncio.gather(gone, working, return_exceptions=True)


def _at_most(longest: int, receive: Receive) -> Receive:
    """Return what receives the parts of a body, which may be sent in chunks of no known length."""
    received = 0

    async def receive_part() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > longest:
            raise _too_long(longest)
        return message

    return receive_part


def _too_long(longest: int) -> Problem:
    return Problem(413, f"the body must have at most {longest} bytes")


# What the endpoints show and change.


class ControlledCluster(NamedTuple):
    """A served cluster with the parts that its own API shows and changes.

    Attributes
    ----------
    turns : TurnLoop
        Of the cluster.
    latency : ApiLatency
        Of its Kubernetes API.
    scheduler : RunningScheduler
        Of the cluster.
    shadow : ShadowFeed, optional
        Compares the decisions of another scheduler.
    runs : RunCollection, optional
        The runs that are listed.
    """

    turns: TurnLoop
    latency: ApiLatency
    scheduler: RunningScheduler
    shadow: ShadowFeed | None = None
    runs: RunCollection | None = None


# Replies that a reader process makes, compressed if the client accepts it.

_FAST: Final = 1
"""A level of gzip that costs little more than the content."""


async def long_reply(
    request: Request, readers: Readers, content: Callable[[], bytes], media_type: str
) -> Response:
    """Return a reply that a reader process makes.

    Parameters
    ----------
    request : Request
    readers : Readers
    content : callable
        Returns the body; called and compressed in the reader.
    media_type : str

    Raises
    ------
    Problem
        The log cannot be replayed.
    """
    is_compressed = "gzip" in request.headers.get("accept-encoding", "")

    def encoded() -> bytes:
        body = content()
        return gzip.compress(body, compresslevel=_FAST) if is_compressed else body

    try:
        sent = await begun(readers.parts(encoded))
    except LogError as error:
        raise Problem(409, str(error)) from error
    headers = {"vary": "Accept-Encoding"}
    if is_compressed:
        headers["content-encoding"] = "gzip"
    return StreamingResponse(sent, media_type=media_type, headers=headers)


# The sync that fills the cluster: it reports its state, which is shown and measured.

_NONE = "no sync has reported to this cluster; start podwright sync --to it"


class _Sync:
    """The endpoints."""

    def __init__(self) -> None:
        self._status: SyncStatus | None = None
        self._taken_s = 0.0
        self._is_check_due = False

    @endpoint("GET", "/sync", problems={404: "no sync has reported to this cluster"})
    async def show(self) -> SyncStatus:
        """Show the state of the sync that fills the cluster."""
        if self._status is None:
            raise Problem(404, _NONE)
        since_s = round(time.monotonic() - self._taken_s, 3)
        return msgspec.structs.replace(self._status, seconds_since_report=since_s)

    @endpoint("PUT", "/sync")
    async def take(self, body: SyncStatus) -> SyncRequest:
        """Report the state of the sync that fills the cluster; the reply is what it has to do."""
        self._status, self._taken_s = body, time.monotonic()
        is_due, self._is_check_due = self._is_check_due, False
        return SyncRequest(check=is_due)

    @endpoint("POST", "/sync/check", problems={404: "no sync has reported to this cluster"})
    async def check(self) -> SyncRequest:
        """Request a comparison of all fields with the source; its result is in the state."""
        await self.show()
        self._is_check_due = True
        return SyncRequest(check=True)

    @endpoint("GET", "/metrics/sync", media_type=CONTENT_TYPE, is_at_root=True)
    async def show_metrics(self) -> Response:
        """Show lag, drift and errors of the sync, as metrics."""
        families = () if self._status is None else tuple(_families(self._status))
        text = render_text(MetricsSnapshot(families))
        return Response(text, headers={"content-type": CONTENT_TYPE})


def _families(status: SyncStatus) -> Iterator[Family]:
    """Yield the metrics, sorted by name."""
    counts, lag, drift = status.counts, status.lag, status.drift
    done = {
        "created": counts.created,
        "deleted": counts.deleted,
        "ignored": counts.ignored,
        "kept_deleted": counts.kept_deleted,
        "rescheduled": counts.rescheduled,
        "updated": counts.updated,
    }
    errors = sorted(((each.kind, each.reason), each.count) for each in status.errors)
    yield _family("podwright_sync_changes_total", *(((name,), n) for name, n in done.items()))
    yield _family("podwright_sync_drift", (("claims",), drift.claims), (("pods",), drift.pods))
    if errors:
        yield _family("podwright_sync_errors_total", *errors)
    yield _family(
        "podwright_sync_lag_seconds",
        (("last",), lag.last_seconds),
        (("longest",), lag.longest_seconds),
        (("mean",), lag.mean_seconds),
    )
    yield _family("podwright_sync_source_failures_total", ((), status.source_failures))
    yield _family("podwright_sync_unfreed_pods", ((), status.unfreed.pods))
    yield _family("podwright_sync_waiting_changes", ((), lag.waiting))


def _family(name: str, *series: tuple[tuple[str, ...], int | float]) -> Family:
    return Family(name, tuple(Value(labels, value) for labels, value in series))


def sync_endpoints() -> list[Endpoint]:
    """Return the endpoints of the sync."""
    return declared(_Sync())

"""Replays of recordings against `ApiServer`, a fresh one for each file, without a socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from tests.conformance.comparison import Difference, compare
from tests.conformance.recordings import Exchange, Results, read_recording

from podwright.api.endpoints import (
    ApiError,
    ApiServer,
    HttpReply,
    HttpRequest,
    Watch,
    bare_options,
    bare_store,
)
from podwright.api.endpoints.negotiation import MediaType
from podwright.api.endpoints.responses import error_reply

RECORDINGS = Path(__file__).parents[1] / "golden" / "api"
START_NS = 1_772_445_600_000_000_000
_SECOND_NS = 1_000_000_000


class Compared(msgspec.Struct, frozen=True):
    """An exchange and what differs."""

    exchange: Exchange
    differences: list[Difference]


class Replay:
    """A fresh server, to which exchanges are sent in order."""

    def __init__(self) -> None:
        self._store = bare_store(START_NS)
        self._server = ApiServer(self._store, bare_options())
        self._results = Results()
        self._now_ns = START_NS + _SECOND_NS

    def send(self, exchange: Exchange) -> list[Difference]:
        """Send the request of an exchange and return what differs in the response."""
        if exchange.restarts:
            self._store.compact(self._store.resource_version)
            self._server = ApiServer(self._store, bare_options())
        self._now_ns += _SECOND_NS
        try:
            request = request_of(exchange.request, self._results)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            # An earlier response does not have the value.
            return [Difference("request", "a value of an earlier response", repr(error))]
        reply = self._reply(request)
        if isinstance(reply, Watch):
            status, headers = reply.status, dict(reply.headers)
            body: Any = self._events(reply)
        else:
            status, body = reply.status, parsed(reply.body)
            headers = {name: reply.header(name) or "" for name, _ in reply.headers}
        self._results.add(exchange.id, body, headers)
        return compare(exchange.response, status, headers, body)

    def _reply(self, request: HttpRequest) -> HttpReply | Watch:
        try:
            user = self._server.authenticator.authenticate(request.headers, self._now_ns)
        except ApiError as error:
            return error_reply(error, MediaType())
        return self._server.handle(request, user, self._now_ns)

    def _events(self, watch: Watch) -> list[Any]:
        lines = watch.poll(self._now_ns)
        while not watch.is_closed(self._now_ns):
            self._now_ns = min(watch.next_due_ns, watch.deadline_ns)
            lines += watch.poll(self._now_ns)
        return [json.loads(line) for line in lines]


def request_of(recorded: dict[str, Any], results: Results) -> HttpRequest:
    """Return a recorded request with the values of earlier responses.

    Raises
    ------
    KeyError, IndexError, TypeError, ValueError
        If an earlier response does not have a value.
    """
    substituted = results.substituted
    return HttpRequest(
        method=recorded["method"],
        path=substituted(recorded["path"]),
        query=substituted(recorded["query"] or ""),
        headers={name.lower(): value for name, value in substituted(recorded["headers"]).items()},
        body=results.body(recorded["body"]),
    )


def parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def replay(path: Path) -> list[Compared]:
    """Replay a recording against a fresh server."""
    fresh = Replay()
    return [Compared(exchange, fresh.send(exchange)) for exchange in read_recording(path)]

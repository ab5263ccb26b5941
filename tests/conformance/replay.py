"""Replays of recordings against a fresh server for each file, by default without a socket."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

import msgspec
from tests.conformance.comparison import Comparison, Counts, Difference
from tests.conformance.recordings import Exchange, Results, read_recording

from podwright.cluster.api.endpoints import (
    GATED_RESOURCES,
    MALFORMED_PATH,
    ApiServer,
    HttpRequest,
    Watch,
    bare_options,
    bare_store,
    is_malformed,
)

RECORDINGS = Path(__file__).parents[1] / "golden" / "api"
START_NS = 1_772_445_600_000_000_000
_SECOND_NS = 1_000_000_000


class Compared(msgspec.Struct, frozen=True):
    """An exchange and what differs."""

    exchange: Exchange
    differences: list[Difference]


class Answer(msgspec.Struct, frozen=True):
    """The response of a server.

    Attributes
    ----------
    status : int
    headers : dict of str to str
        Several values of a name are joined by commas.
    body : bytes
    is_watch : bool
        Whether the body is a stream of events.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    is_watch: bool = False


class Server(Protocol):
    """A fresh server, to which requests are sent in order."""

    def send(self, request: HttpRequest) -> Answer:
        """Send a request, a second after the last one, and return the whole response."""

    def restart(self) -> None:
        """Discard the history, and start again."""


class DirectServer:
    """`ApiServer` without a socket.

    Parameters
    ----------
    gates : sequence of str
        The feature gates that are on besides those that are by default.
    """

    def __init__(self, gates: Sequence[str] = ()) -> None:
        options = bare_options()
        more = chain.from_iterable(GATED_RESOURCES[gate] for gate in gates)
        off = options.disabled_gates.difference(gates)
        self._options = msgspec.structs.replace(
            options, group_versions=(*options.group_versions, *more), disabled_gates=off
        )
        self._store = bare_store(START_NS, disabled_gates=off)
        self._server = ApiServer(self._store, self._options)
        self._now_ns = START_NS + _SECOND_NS

    def restart(self) -> None:
        """Discard the history, and start again."""
        self._store.compact(self._store.resource_version)
        self._server = ApiServer(self._store, self._options)

    def send(self, request: HttpRequest) -> Answer:
        """Send a request, a second after the last one."""
        self._now_ns += _SECOND_NS
        if is_malformed(request.path.encode()):
            return Answer(MALFORMED_PATH.status, dict(MALFORMED_PATH.headers), MALFORMED_PATH.body)
        decoded = msgspec.structs.replace(request, path=unquote(request.path))
        reply = self._server.serve(decoded, self._now_ns)
        if isinstance(reply, Watch):
            return Answer(reply.status, dict(reply.headers), b"".join(self._lines(reply)), True)
        headers = {name: reply.header(name) or "" for name, _ in reply.headers}
        return Answer(reply.status, headers, plain_body(headers, reply.body))

    def _lines(self, watch: Watch) -> list[bytes]:
        lines = watch.poll(self._now_ns)
        while not watch.is_closed(self._now_ns):
            self._now_ns = min(watch.next_due_ns, watch.deadline_ns)
            lines += watch.poll(self._now_ns)
        return lines


def plain_body(headers: dict[str, str], body: bytes) -> bytes:
    """Return the body of an answer, decompressed."""
    return gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body


class Replay:
    """Sends exchanges to a server in order, and compares the responses."""

    def __init__(self, server: Server, counts: Counts | None = None) -> None:
        self._server = server
        self._comparison = Comparison(counts)
        self._results = Results()

    def send(self, exchange: Exchange) -> list[Difference]:
        """Send the request of an exchange and return what differs in the response."""
        if exchange.restarts:
            self._server.restart()
        try:
            request = request_of(exchange.request, self._results)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            # An earlier response does not have the value.
            return [Difference("request", "a value of an earlier response", repr(error))]
        answer = self._server.send(request)
        if answer.is_watch:
            body: Any = [json.loads(line) for line in answer.body.splitlines()]
        else:
            body = parsed(answer.body)
        self._results.add(exchange.id, body, answer.headers)
        return self._comparison.responses(exchange.response, answer.status, answer.headers, body)


def request_of(recorded: dict[str, Any], results: Results) -> HttpRequest:
    """Return a recorded request with the values of earlier responses; its path is that of the wire.

    Raises
    ------
    KeyError, IndexError, TypeError, ValueError
        If an earlier response does not have a value.
    """
    substituted = results.substituted
    # A value of an earlier response can be a whole URL.
    path, _, query = substituted(recorded["path"]).partition("?")
    return HttpRequest(
        method=recorded["method"],
        path=path,
        query=substituted(recorded["query"] or "") or query,
        headers={name.lower(): value for name, value in substituted(recorded["headers"]).items()},
        body=results.body(recorded["body"]),
    )


def parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")


def replay(
    path: Path, server: Server | None = None, counts: Counts | None = None
) -> list[Compared]:
    """Replay a recording against a fresh server; without a socket, if none is given."""
    fresh = Replay(server or DirectServer(), counts)
    return [Compared(exchange, fresh.send(exchange)) for exchange in read_recording(path)]

"""A server on a socket, with the set-up of the recordings (`podwright up --bare`)."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import threading
from collections.abc import Iterator
from urllib.parse import quote

from tests.conformance.replay import START_NS, Answer, plain_body

from podwright.cluster.api.endpoints import HttpRequest, bare_options, bare_store
from podwright.online.apiserver import (
    Application,
    Cluster,
    ClusterClock,
    ClusterOptions,
    TurnLoop,
    bound_socket,
    new_cluster,
)
from podwright.online.apiserver.wire.hosts import AllowedHosts
from podwright.online.apiserver.wire.serving import serving
from podwright.scheduler.machine import SchedulerOptions

SPEED = 1e6
_READ_NS = 10
"""The time passes while watches are open, by 10 ms with each reading of the clock: a busy machine
would end a watch before its first events, or after its history."""

_SECOND_NS = 1_000_000_000


class ServedCluster:
    """A bare cluster, served in a thread."""

    def __init__(self) -> None:
        self._clock = ClusterClock(
            start_ns=START_NS, speed=SPEED, read_ns=itertools.count(step=_READ_NS).__next__
        )
        self._clock.pause()
        self._loop = asyncio.new_event_loop()
        self._cluster = self._new_cluster()
        self._turns = TurnLoop(self._cluster, self._clock)
        listening = bound_socket("127.0.0.1", 0)
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", listening.getsockname()[1], timeout=60
        )
        is_served = threading.Event()
        served = serving(
            Application(self._turns, AllowedHosts()), self._turns, listening, is_served.set
        )
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(served,))
        self._thread.start()
        assert is_served.wait(timeout=60)

    def _new_cluster(self, old: Cluster | None = None) -> Cluster:
        return new_cluster(
            SchedulerOptions(),
            now_ns=self._clock.now_ns(),
            options=ClusterOptions(has_scheduler=False, has_controllers=False, has_lifecycle=False),
            server_options=bare_options(),
            store=bare_store(START_NS) if old is None else old.store,
        )

    def send(self, request: HttpRequest) -> Answer:
        """Send a request, a second after the last one."""
        self._clock.step(_SECOND_NS)
        self._clock.resume()
        try:
            return self._answer(request)
        finally:
            self._clock.pause()

    def _answer(self, request: HttpRequest) -> Answer:
        query = f"?{request.query}" if request.query else ""
        self._connection.putrequest(
            request.method, quote(request.path, safe="/:%") + query, skip_accept_encoding=True
        )
        for name, value in request.headers.items():
            self._connection.putheader(name, value)
        if request.body or request.method in {"POST", "PUT", "PATCH"}:
            self._connection.putheader("content-length", str(len(request.body)))
        self._connection.endheaders(request.body or None)
        response = self._connection.getresponse()
        headers: dict[str, str] = {}
        for name, value in response.getheaders():
            key = name.lower()
            headers[key] = f"{headers[key]}, {value}" if key in headers else value
        is_watch = headers.pop("transfer-encoding", "") == "chunked"
        return Answer(response.status, headers, plain_body(headers, response.read()), is_watch)

    def restart(self) -> None:
        """Discard the history, and start again."""

        async def start_again() -> None:
            store = self._cluster.store
            store.compact(store.resource_version)
            self._turns.cluster = self._cluster = self._new_cluster(self._cluster)

        asyncio.run_coroutine_threadsafe(start_again(), self._loop).result(timeout=60)

    def close(self) -> None:
        """Stop the server."""
        self._connection.close()
        self._loop.call_soon_threadsafe(self._turns.stop)
        self._thread.join()
        self._loop.close()


@contextlib.contextmanager
def served_cluster() -> Iterator[ServedCluster]:
    """Serve a fresh cluster for the time of a block."""
    served = ServedCluster()
    try:
        yield served
    finally:
        served.close()

"""Follows the objects of one kind: executes the requests of a `ListWatch`.

Upstream: staging/src/k8s.io/client-go/tools/cache/reflector.go
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

import msgspec

from podwright.online.client.cluster.errors import RejectedRequest, UnreachableCluster
from podwright.online.client.cluster.list_watch import (
    ChangedObject,
    GetPage,
    ListWatch,
    OpenWatch,
    Page,
    Pause,
    WatchEvent,
    WatchFailed,
)
from podwright.online.client.cluster.read_connection import Query, ReadConnection

WATCH_SECONDS: Final = 240
"""How long a watch lasts; then the server ends it, and the next one continues."""

LASTING_SECONDS: Final = 5.0
"""A watch that was open for as long is opened again at once."""

_SILENCE_SECONDS: Final = WATCH_SECONDS + 30.0
_PAGES = msgspec.json.Decoder(Page)
_EVENTS = msgspec.json.Decoder(WatchEvent)


class Batch(msgspec.Struct, frozen=True):
    """Changes that arrived together.

    Attributes
    ----------
    changes : sequence of ChangedObject
    received_ns : int
        When their bytes arrived, on the monotonic clock.
    is_synced : bool
        Whether the first list is complete with these changes.
    """

    changes: Sequence[ChangedObject]
    received_ns: int
    is_synced: bool


class Reflector:
    """The objects of one kind of a cluster, and their changes.

    Parameters
    ----------
    connection : ReadConnection
    path : str
        Of the collection, such as `/api/v1/pods`.
    query : mapping of str to str, optional
        Selectors.
    seed : int
        Of the jitter between attempts.
    streams : bool
        Whether to list by a watch first.
    gives_up : bool
        Whether the first request is not repeated if there is no reply.
    on_page : callable, optional
        Called after each page with the number of objects that the server says will follow.
    on_failure : callable, optional
        Called with each error before the wait for the next attempt.

    Attributes
    ----------
    state : ListWatch
    failures : int
        Failed requests and cut watches.
    behind_since : float or None
        The monotonic time in seconds of the interruption since which changes may be missing.
    """

    def __init__(
        self,
        connection: ReadConnection,
        path: str,
        query: Query | None = None,
        *,
        seed: int = 0,
        streams: bool = True,
        gives_up: bool = True,
        on_page: Callable[[int], None] | None = None,
        on_failure: Callable[[Exception], None] | None = None,
    ) -> None:
        group = "/".join(path.split("/")[:3])
        self.state = ListWatch(seed=seed, streams=streams, seen=connection.seen[group])
        self.failures = 0
        self.behind_since: float | None = None
        self._connection = connection
        self._path = path
        self._query = dict(query or {})
        self._gives_up = gives_up
        self._on_page = on_page
        self._on_failure = on_failure

    async def batches(self) -> AsyncIterator[Batch]:
        """Yield the changes, without end; the first batch has the objects of the first list.

        Raises
        ------
        RejectedRequest
            The first list is rejected in a way that no later attempt changes: no credentials, no
            rights, no such kind.
        UnreachableCluster
            There is no reply to the first request, and the reflector gives up.
        """
        state = self.state
        has_replied = False
        while True:
            request = state.next_request()
            try:
                match request:
                    case Pause(wait_ns):
                        await asyncio.sleep(wait_ns / 1e9)
                    case GetPage():
                        batch = await self._page(request)
                        has_replied = True
                        if batch is not None:
                            yield batch
                    case OpenWatch():
                        async for each in self._watch(request):
                            has_replied = True
                            yield each
                        if state.is_synced:
                            state.ended()
                        else:
                            self._failed(UnreachableCluster(_CUT_LIST))
            except WatchFailed as error:
                self._failed(error, error.status)
            except RejectedRequest as error:
                self._rejected(error)
            except (UnreachableCluster, msgspec.DecodeError) as error:
                failure = self._undecodable(error)
                if self._gives_up and not has_replied:
                    raise failure from error
                self._failed(failure)

    def _undecodable(self, error: UnreachableCluster | msgspec.DecodeError) -> UnreachableCluster:
        if isinstance(error, UnreachableCluster):
            return error
        server = self._connection.access.server
        return UnreachableCluster(
            f"{server}: the reply to {self._path} is not from a Kubernetes API server: {error}",
            "check the address, and any proxy in front of the server",
            is_passing=False,
        )

    def _rejected(self, error: RejectedRequest) -> None:
        state = self.state
        if state.falls_back(error.status):
            state.failed(error.status)  # not a failure: pages follow
            return
        if not state.is_synced and error.status in _FINAL:
            raise error
        self._failed(error, error.status, error.retry_after_seconds)

    def _failed(self, error: Exception, status: int = 0, seconds: float = 0.0) -> None:
        self.failures += 1
        if self.behind_since is None:
            self.behind_since = time.monotonic()
        self.state.failed(status, retry_after_seconds=seconds)
        if self._on_failure is not None and self.state.has_pause:
            self._on_failure(error)

    async def _page(self, request: GetPage) -> Batch | None:
        query = dict(self._query)
        if request.limit:
            query["limit"] = str(request.limit)
        if request.token:
            query["continue"] = request.token
        # The state of the list has its own waits.
        body = await self._connection.get(self._path, query, attempts_max=1)
        received_ns = time.monotonic_ns()
        changes = self.state.page(_PAGES.decode(body))
        if self.state.is_watching:
            self.behind_since = None
        if self._on_page is not None:
            self._on_page(self.state.remaining)
        is_synced = self.state.is_synced
        return Batch(changes, received_ns, is_synced) if is_synced else None

    async def _watch(self, request: OpenWatch) -> AsyncIterator[Batch]:
        query = {
            **self._query,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        if request.version:
            query["resourceVersion"] = request.version
        else:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        stream = self._connection.stream(self._path, query, silence_seconds=_SILENCE_SECONDS)
        async with stream as chunks:
            self.state.opened()
            rest = b""
            if self.state.is_watching:
                self.behind_since = None
            began = time.monotonic()
            try:
                async for chunk in chunks:
                    received_ns = time.monotonic_ns()
                    *lines, rest = (rest + chunk).split(b"\n")
                    was_synced = self.state.is_synced
                    changes: list[ChangedObject] = []
                    failure: WatchFailed | msgspec.DecodeError | None = None
                    for line in filter(None, lines):
                        try:
                            changes += self.state.event(_EVENTS.decode(line))
                        except (WatchFailed, msgspec.DecodeError) as error:
                            failure = error  # what precedes it is in the index, and not repeated
                            break
                    if self.state.is_watching:
                        self.behind_since = None
                    if changes or self.state.is_synced != was_synced:
                        yield Batch(changes, received_ns, is_synced=self.state.is_synced)
                    if failure is not None:
                        raise failure
            finally:
                if time.monotonic() - began >= LASTING_SECONDS:
                    self.state.lasted()


_CUT_LIST: Final = "the watch ended before it had listed all objects"

_FINAL: Final = frozenset({301, 302, 303, 307, 308, 400, 401, 403, 404, 405})
"""Statuses that no later attempt changes."""

"""The state of a list and its watch, without I/O: what to request next, and what changed.

Theory of operation
-------------------
A `ListWatch` keeps an index of the objects of one collection: their uids and versions. Its driver
calls `next_request` and executes what it returns, then passes the outcome: `page`, `event`, `ended`
or `failed`. `page` and `event` return changes.

::

    streaming --- initial events end ---> watching      (WatchList)
        | rejected as invalid                |  ^
        v                                    |  |  the watch ends: again from the last version
     paging ------- last page -----------> watching
                                             |  ^
                              it is cut      v  |  the version of the server is not lower
                                           checking

In each state 410 (the version is gone) starts a new list, with WatchList where the server has it.

A server whose etcd was restored or lost has lower versions than were seen. It accepts a watch after
a later version, and delivers nothing until it has reached that. So the version is checked after
each cut connection, by a page of one object; a lower one is as 410. client-go lacks this
(kubernetes/kubernetes#107457).

While a list is read, whether as pages or as the initial events of a watch, nothing is returned
until it is complete. The changes then are the differences to the index: objects that are absent
were deleted while nothing was watched, and an object with another uid is a new object of the same
name.

Failures are followed by a wait that doubles, with jitter; 429 and 503 with Retry-After wait as long
as the server demands. The end of a watch that was open for long is followed by no wait: proxies cut
connections that are idle. `failed` never gives up; whether to continue is the driver's decision.

Upstream: staging/src/k8s.io/client-go/tools/cache/reflector.go;
staging/src/k8s.io/client-go/tools/cache/reflector.go, `NewReflectorWithOptions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from http import HTTPStatus
from random import Random
from typing import Final, Literal, TypeAlias

import msgspec

PAGE_SIZE: Final = 500

_END_OF_INITIAL_EVENTS: Final = "k8s.io/initial-events-end"


class Pause(msgspec.Struct, frozen=True):
    """Wait before the next request."""

    wait_ns: int


class GetPage(msgspec.Struct, frozen=True):
    """Request a page of the list.

    Attributes
    ----------
    token : str
        Where it continues; "" for the first page.
    limit : int
        The most objects of the page; 0 for all.
    """

    token: str
    limit: int


class OpenWatch(msgspec.Struct, frozen=True):
    """Open a watch.

    Attributes
    ----------
    version : str
        The version after which its events start; "" for the current objects first.
    """

    version: str


Request: TypeAlias = Pause | GetPage | OpenWatch


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of an object's metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] | None = None

    @property
    def key(self) -> str:
        """`namespace/name`, or the name of an object without a namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Object(msgspec.Struct, frozen=True, kw_only=True):
    metadata: Meta


class _ListMeta(msgspec.Struct, frozen=True, kw_only=True, rename={"token": "continue"}):
    resourceVersion: str = ""  # noqa: N815 - the field of the API
    token: str = ""
    remainingItemCount: int | None = None  # noqa: N815 - the field of the API


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a list as the server sends it."""

    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class WatchEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a watch as the server sends it."""

    type: str
    object: msgspec.Raw


class _Status(msgspec.Struct, frozen=True, kw_only=True):
    code: int = 0
    message: str = ""


class ChangedObject(msgspec.Struct, frozen=True):
    """A change of one object.

    Attributes
    ----------
    event : str
        Add, Update or Delete.
    meta : Meta
        Of the object; of a deleted object that was last seen.
    body : bytes
        The object as JSON; empty if it was deleted while nothing was watched.
    is_initial : bool
        Whether the object was there at the first list.
    """

    event: Literal["Add", "Update", "Delete"]
    meta: Meta
    body: bytes = b""
    is_initial: bool = False


class WatchFailed(Exception):  # noqa: N818 - named for what it is
    """An ERROR event of a watch; the driver passes its status to `ListWatch.failed`."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Phase(Enum):
    STREAMING = "streaming"
    PAGING = "paging"
    WATCHING = "watching"
    CHECKING = "checking"


class SeenVersion:
    """The latest version that a server has sent, in any collection of an API group.

    They share a counter. A group that another server adds to the API has its own.

    Attributes
    ----------
    number : int
        0 before.
    restores : int
        How often the server had an earlier version than before: its state was restored or lost.
    """

    def __init__(self) -> None:
        self.number = 0
        self.restores = 0

    def note(self, version: str) -> None:
        """Take note of a version; one that is not a number has no order."""
        if version.isdigit():
            self.number = max(self.number, int(version))

    def go_back(self, number: int) -> None:
        """Count from an earlier version on, which one of the collections has received."""
        if number < self.number:
            self.number = number
            self.restores += 1


class ListWatch:
    """The index of one collection, and the next request.

    Parameters
    ----------
    seed : int
        Of the jitter.
    streams : bool
        Whether to list by a watch with initial events first (WatchList).
    page_size : int
    seen : SeenVersion, optional
        Shared by the collections of an API group.

    Attributes
    ----------
    is_synced : bool
        Whether the first list is complete.
    version : str
        The last version that was seen; "" before.
    lists, watches : int
        How many lists were complete, and how many watches were opened.
    remaining : int
        How many objects of the list follow, as the server estimates.
    """

    def __init__(
        self,
        *,
        seed: int,
        streams: bool = True,
        page_size: int = PAGE_SIZE,
        seen: SeenVersion | None = None,
    ) -> None:
        self.is_synced = False
        self.version = ""
        self.lists = 0
        self.watches = 0
        self.remaining = 0
        self._page_size = page_size
        self._seen = seen or SeenVersion()
        self._least = 0
        self._restores = 0
        self._streams = streams
        self._phase = self._first_phase
        self._token = ""
        self._limit = page_size
        self._index: dict[str, Meta] = {}
        self._listed: dict[str, tuple[Meta, bytes]] = {}
        self._backoff = Backoff(seed)
        self._pause_ns = 0

    @property
    def listed(self) -> int:
        """How many objects of a list that is not complete are there."""
        return len(self._listed)

    @property
    def is_watching(self) -> bool:
        """Whether the last list is complete: changes follow it."""
        return self._phase is _Phase.WATCHING

    @property
    def _first_phase(self) -> _Phase:
        return _Phase.STREAMING if self._streams else _Phase.PAGING

    def __len__(self) -> int:
        return len(self._index)

    def next_request(self) -> Request:
        """Return what to do next; the wait after a failure is returned once."""
        if self._pause_ns:
            pause, self._pause_ns = Pause(self._pause_ns), 0
            return pause
        match self._phase:
            case _Phase.PAGING:
                return GetPage(self._token, self._limit)
            case _Phase.STREAMING:
                self._listed.clear()
                return OpenWatch("")
            case _Phase.WATCHING:
                return OpenWatch(self.version)
            case _Phase.CHECKING:
                # Other collections may receive later ones until the reply is there.
                self._least = self._seen.number
                return GetPage("", 1)

    def opened(self) -> None:
        """Take note that a watch was opened."""
        self.watches += 1
        self._is_empty_watch = True

    def page(self, page: Page) -> Sequence[ChangedObject]:
        """Take a page of the list; the last one returns the changes.

        Raises
        ------
        WatchFailed
            The version of the server is lower than one that was seen before.
        """
        if self._phase is _Phase.CHECKING:
            self._check(page.metadata.resourceVersion)
            return ()
        self._backoff.reset()
        for raw in page.items or ():
            body = bytes(raw)
            meta = msgspec.json.decode(body, type=_Object).metadata
            self._listed[meta.key] = (meta, body)
        self._token = page.metadata.token
        self.remaining = page.metadata.remainingItemCount or 0
        return () if self._token else self._complete(page.metadata.resourceVersion)

    def event(self, event: WatchEvent) -> Sequence[ChangedObject]:
        """Take an event of the watch.

        Raises
        ------
        WatchFailed
            The event is an error.
        """
        self._is_empty_watch = False
        if event.type == "ERROR":
            status = msgspec.json.decode(event.object, type=_Status)
            raise WatchFailed(status.code, status.message)
        body = bytes(event.object)
        meta = msgspec.json.decode(body, type=_Object).metadata
        if event.type == "BOOKMARK":
            self._backoff.reset()
            if self._phase is _Phase.STREAMING:
                is_end = (meta.annotations or {}).get(_END_OF_INITIAL_EVENTS) == "true"
                return self._complete(meta.resource_version) if is_end else ()
            self._reach(meta.resource_version)
            return ()
        if self._phase is _Phase.STREAMING:
            if event.type == "DELETED":
                self._listed.pop(meta.key, None)
            else:
                self._listed[meta.key] = (meta, body)
            return ()
        self._backoff.reset()
        self._reach(meta.resource_version)
        return self._change(event.type, meta, body)

    def lasted(self) -> None:
        """Take note that the watch, which ends now, was open for long."""
        self._backoff.skip()

    def ended(self) -> None:
        """Take note that the watch has ended; one without an event is followed by a wait."""
        if self._is_empty_watch:
            self._pause_ns = self._backoff.next_ns()

    def failed(self, status: int, *, retry_after_seconds: float = 0.0) -> None:
        """Take note of a failed request, or of an ERROR event.

        Parameters
        ----------
        status : int
            0 if there was no reply.
        retry_after_seconds : float
            What the server demands.
        """
        if status == HTTPStatus.GONE:
            self._relist()
        elif self.falls_back(status):
            self._streams, self._phase = False, _Phase.PAGING
            return
        elif self._phase is _Phase.WATCHING and not status:
            self._phase = _Phase.CHECKING
        elif self._phase is _Phase.CHECKING and status == HTTPStatus.FORBIDDEN:
            self._phase = _Phase.WATCHING  # a streamed list needs no right to list
        wait_ns = self._backoff.next_ns()
        self._pause_ns = max(wait_ns, int(retry_after_seconds * 1e9))

    @property
    def has_pause(self) -> bool:
        """Whether the next request has to wait."""
        return self._pause_ns > 0

    def falls_back(self, status: int) -> bool:
        """Whether pages are read after a failure with a status, instead of a streamed list."""
        return self._phase is _Phase.STREAMING and status in _NOT_STREAMED

    def _reach(self, version: str) -> None:
        self.version = version
        self._seen.note(version)

    def _check(self, version: str) -> None:
        if version.isdigit() and int(version) < self._least:
            self._seen.go_back(int(version))
            raise WatchFailed(HTTPStatus.GONE, _WENT_BACK.format(version, self._least))
        if self._restores != self._seen.restores:
            raise WatchFailed(HTTPStatus.GONE, _RESTORED)
        self._phase = _Phase.WATCHING

    def _relist(self) -> None:
        if self._token:
            # The pages took too long: the whole list at once, as client-go falls back.
            self._limit = 0
        self._token = ""
        self._listed.clear()
        self._phase = self._first_phase

    def _change(self, kind: str, meta: Meta, body: bytes) -> Sequence[ChangedObject]:
        known = self._index.get(meta.key)
        if kind == "DELETED":
            if known is None:
                return ()
            del self._index[meta.key]
            return (ChangedObject("Delete", meta, body),)
        self._index[meta.key] = _kept(meta)
        if known is None:
            return (ChangedObject("Add", meta, body),)
        if known.uid != meta.uid:
            return (ChangedObject("Delete", known), ChangedObject("Add", meta, body))
        return (ChangedObject("Update", meta, body),)

    def _complete(self, version: str) -> Sequence[ChangedObject]:
        """Compare the list with the index."""
        changes: list[ChangedObject] = []
        is_initial = not self.is_synced
        for key, known in self._index.items():
            now = self._listed.get(key)
            if now is None or now[0].uid != known.uid:
                changes.append(ChangedObject("Delete", known))
        for key, (meta, body) in self._listed.items():
            before = self._index.get(key)
            if before is None or before.uid != meta.uid:
                changes.append(ChangedObject("Add", meta, body, is_initial))
            elif before.resource_version != meta.resource_version:
                changes.append(ChangedObject("Update", meta, body))
        self._index = {key: _kept(meta) for key, (meta, _) in self._listed.items()}
        self._listed = {}
        self._token, self._limit, self.remaining = "", self._page_size, 0
        self.is_synced, self._phase = True, _Phase.WATCHING
        self._restores = self._seen.restores
        self._reach(version)
        self.lists += 1
        return changes


_WENT_BACK: Final = (
    "the version of the server is {}, after {} was seen: its state was restored or lost"
)
_RESTORED: Final = "the state of the server was restored or lost since it was listed"

_NOT_STREAMED: Final = frozenset(
    {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.NOT_ACCEPTABLE}
)
"""What a server replies that has no WatchList."""


def _kept(meta: Meta) -> Meta:
    return msgspec.structs.replace(meta, annotations=None) if meta.annotations else meta


# Waits between attempts that double, with jitter.
#
# The jitter is a function of the seed and of the number of the attempt, so tests are reproducible.

FIRST_NS: Final = 800_000_000
LONGEST_NS: Final = 30_000_000_000


class Backoff:
    """Counts attempts, and returns the wait before the next one.

    Parameters
    ----------
    seed : int
        Of the jitter: clients with different seeds do not return at the same time.
    first_ns, longest_ns : int
        The first and the longest wait, without jitter.
    """

    def __init__(
        self, seed: int, *, first_ns: int = FIRST_NS, longest_ns: int = LONGEST_NS
    ) -> None:
        self._draw = Random(seed)
        self._first_ns = first_ns
        self._longest_ns = longest_ns
        self._attempts = 0

    def next_ns(self) -> int:
        """Return the next wait, in nanoseconds: once to twice the doubled one."""
        self._attempts += 1
        if not self._attempts:
            return 0
        doubled = min(self._first_ns << min(self._attempts - 1, 10), self._longest_ns)
        return int(doubled * (1.0 + self._draw.random()))

    def skip(self) -> None:
        """Let the next attempt have no wait, and the one after it the first."""
        self._attempts = -1

    def reset(self) -> None:
        """Start with the first wait again."""
        self._attempts = 0

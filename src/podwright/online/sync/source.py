"""Follows the objects of several kinds of a source.

The kinds are listed one after the other, so that an object follows what it refers to; pods with a
node precede others. Each kind is watched from then on.

Upstream: kube-scheduler-simulator simulator/syncer/syncer.go, simulator/recorder/recorder.go
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Final

import msgspec

from podwright.online.client.cluster import (
    Batch,
    ChangedObject,
    Query,
    ReadConnection,
    Reflector,
    RejectedRequest,
)
from podwright.online.sync.source_kinds import SourceKind, definition_of, left_out_texts

# Restores the order of changes of several kinds, without I/O.
#
# Each kind has its own watch, so changes that were made one after the other may arrive in another
# order. All kinds of a cluster share the versions of one etcd: changes are held for a short time,
# and leave in the order of their versions.

WINDOW_NS: Final = 100_000_000


class SourceChange(msgspec.Struct, frozen=True):
    """A change of an object of the source.

    Attributes
    ----------
    kind : SourceKind
    change : ChangedObject
    received_ns : int
        When its bytes arrived, on the monotonic clock.
    """

    kind: SourceKind
    change: ChangedObject
    received_ns: int


class ChangeMerge:
    """Holds changes for a short time.

    Parameters
    ----------
    window_ns : int
        How long a change waits for earlier ones of other kinds.
    """

    def __init__(self, window_ns: int = WINDOW_NS) -> None:
        self._window_ns = window_ns
        self._held: list[tuple[int, int, SourceChange]] = []
        self._count = 0

    def __len__(self) -> int:
        return len(self._held)

    def add(self, change: SourceChange) -> None:
        """Hold a change."""
        self._count += 1
        version = change.change.meta.resource_version
        # A version that is not a number has no order across kinds: it leaves first.
        number = int(version) if version.isdigit() else 0
        heapq.heappush(self._held, (number, self._count, change))

    def longest_ns(self, now_ns: int) -> int:
        """Return how long the oldest change has been held; 0 if there is none."""
        return max((now_ns - each.received_ns for _, _, each in self._held), default=0)

    def due(self, now_ns: int) -> Sequence[SourceChange]:
        """Return the changes that have waited, and those of earlier versions, in order."""
        end_ns = now_ns - self._window_ns
        waited = [number for number, _, each in self._held if each.received_ns <= end_ns]
        if not waited:
            return ()
        last, found = max(waited), []
        while self._held and self._held[0][0] <= last:
            found.append(heapq.heappop(self._held)[2])
        return found

    def rest(self) -> Sequence[SourceChange]:
        """Return all changes, in order."""
        found = [each for _, _, each in sorted(self._held, key=lambda held: held[:2])]
        self._held.clear()
        return found


_HOLD_SECONDS: Final = 30.0
"""So long a change is held for kinds whose watches are interrupted, and at most for one of them."""

LATER_SECONDS: Final = 5.0
"""How often kinds that the source did not have are looked up again."""

_ABSENT: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.FORBIDDEN})


class _Bound(msgspec.Struct, frozen=True, kw_only=True):
    class _Spec(msgspec.Struct, frozen=True, rename="camel"):
        node_name: str = ""

    spec: _Spec = _Spec()


_BOUND: Final = msgspec.json.Decoder(_Bound)


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """Which objects are followed.

    Attributes
    ----------
    kinds : sequence of SourceKind
    namespaces : sequence of str
        Of objects in namespaces; none for all.
    selector : str
        A label selector.
    later : sequence of SourceKind
        Kinds that are followed when the source has them.
    """

    kinds: Sequence[SourceKind]
    namespaces: Sequence[str] = ()
    selector: str = ""
    later: Sequence[SourceKind] = ()

    def collections(self, kind: SourceKind) -> Sequence[tuple[str, Query]]:
        """Return the paths of the collections of a kind, each with its selectors."""
        if kind.names:
            return [
                (kind.path(), {"fieldSelector": f"metadata.name={name}"}) for name in kind.names
            ]
        names = self.namespaces if kind.is_namespaced and self.namespaces else ("",)
        query = {"labelSelector": self.selector} if self.selector else {}
        return [(kind.path(namespace), query) for namespace in names]


class ChangeGroup(msgspec.Struct, frozen=True):
    """Changes that are executed together.

    Attributes
    ----------
    changes : sequence of SourceChange
        In their order.
    listed : SourceKind, optional
        The kind of which they are all objects in the first list.
    is_end : bool
        Whether all kinds were listed.
    """

    changes: Sequence[SourceChange] = ()
    listed: SourceKind | None = None
    is_end: bool = False


class Source:
    """The changes of a cluster.

    Parameters
    ----------
    connection : ReadConnection
    scope : Scope
    on_failure : callable, optional
        Called with a resource and each error before the next attempt.
    window_ns : int
        How long a change waits for earlier ones of other kinds.
    gives_up : bool
        Whether a server that does not reply to the first request is an error.

    Attributes
    ----------
    failures : int
        Failed requests and cut watches.
    is_synced : bool
        Whether all kinds were listed.
    followed : list of SourceKind
        The kinds that were listed.
    """

    def __init__(
        self,
        connection: ReadConnection,
        scope: Scope,
        *,
        on_failure: Callable[[str, Exception], None] | None = None,
        window_ns: int = WINDOW_NS,
        gives_up: bool = True,
    ) -> None:
        self._gives_up = gives_up
        self._left_out: list[tuple[str, RejectedRequest]] = []
        self._absent: list[str] = []
        self.failures = 0
        self.is_synced = False
        self.followed: list[SourceKind] = []
        self._connection = connection
        self._scope = scope
        self._on_failure = on_failure
        self._window_ns = window_ns
        self._merge = ChangeMerge(window_ns)
        self._arrived = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._reflectors: list[Reflector] = []

    async def changes(self) -> AsyncGenerator[Sequence[SourceChange], None]:
        """Yield the changes in order, without end; an empty sequence when all kinds are listed.

        Raises
        ------
        RejectedRequest, UnreachableCluster
            The first list of a kind fails.
        """
        async for group in self.groups():
            if group.changes or group.is_end:
                yield group.changes

    async def groups(self) -> AsyncGenerator[ChangeGroup, None]:
        """Yield the first list of each kind, their end, and the changes that follow, without end.

        A kind that cannot be read is left out.

        Raises
        ------
        RejectedRequest, UnreachableCluster
            The first list of a kind fails.
        """
        try:
            for number, kind in enumerate(self._scope.kinds):
                if (listed := await self._listed(kind, seed=number)) is not None:
                    yield listed
            self.is_synced = True
            yield ChangeGroup(is_end=True)
            later, look_at = list(self._scope.later), time.monotonic() + LATER_SECONDS
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LATER_SECONDS if later else None):
                        await self._arrived.wait()
                if later and time.monotonic() >= look_at:
                    for kind in [*later]:
                        for listed in await self._listed_later(kind):
                            yield listed
                            later = [each for each in later if each != kind]
                    look_at = time.monotonic() + LATER_SECONDS
                await asyncio.sleep(self._window_ns / 1e9)
                if not self._is_held() and (due := self._merge.due(time.monotonic_ns())):
                    yield ChangeGroup(due)
                if not len(self._merge):
                    self._arrived.clear()
                for task in self._tasks:
                    if task.done():
                        task.result()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def warnings(self) -> list[str]:
        """Which kinds are not followed, and why, and which namespaces do not exist yet."""
        return [*left_out_texts(self._left_out, "followed"), *self._absent]

    async def _listed(self, kind: SourceKind, *, seed: int) -> ChangeGroup | None:
        """Start to follow a kind; return its first list, None for a kind that is left out."""
        listed: list[SourceChange] = []
        begun = len(self._tasks)
        for path, query in self._scope.collections(kind):
            first = await self._follow(kind, path, query, seed=seed)
            if first is None:
                # Namespaces that can be read are not followed alone: the others would look empty.
                for task in self._tasks[begun:]:
                    task.cancel()
                await asyncio.gather(*self._tasks[begun:], return_exceptions=True)
                del self._tasks[begun:], self._reflectors[begun:]
                return None
            listed += [SourceChange(kind, each, first.received_ns) for each in first.changes]
        if kind.resource == "namespaces" and not self._scope.selector:
            present = {each.change.meta.name for each in listed}
            absent = [name for name in self._scope.namespaces if name not in present]
            self._absent = [f'there is no namespace "{name}" yet' for name in absent]
        if kind.resource == "pods":
            # What runs has its room before a scheduler tries pods that wait.
            listed.sort(key=lambda each: not _BOUND.decode(each.change.body).spec.node_name)
        self.followed.append(kind)
        return ChangeGroup(listed, listed=kind)

    async def _listed_later(self, kind: SourceKind) -> Sequence[ChangeGroup]:
        """Return the first lists of a kind's definition and of a kind; none if it is not there."""
        seed = len(self._reflectors)
        listed = await self._listed(kind, seed=seed)
        if listed is None:
            return ()
        defined = kind.definition and await self._listed(definition_of(kind), seed=seed)
        return (defined, listed) if defined else (listed,)

    def _is_held(self) -> bool:
        """Whether changes of a kind may be missing that precede those of others.

        After an interruption of all watches the first that is open again would deliver pods before
        another one delivers that their nodes are gone. A kind that cannot be read any longer does
        not hold the others for ever, nor do kinds that are interrupted in turns.
        """
        now = time.monotonic()
        if self._merge.longest_ns(time.monotonic_ns()) >= _HOLD_SECONDS * 1e9:
            return False
        since = (each.behind_since for each in self._reflectors)
        return any(at is not None and now - at < _HOLD_SECONDS for at in since)

    def rest(self) -> Sequence[SourceChange]:
        """Return the changes that arrived and were not yielded yet."""
        return self._merge.rest()

    async def _follow(
        self, kind: SourceKind, path: str, query: Query, *, seed: int
    ) -> Batch | None:
        """Start to follow a collection; return its first list."""

        def failed(error: Exception) -> None:
            self.failures += 1
            if self._on_failure is not None:
                self._on_failure(kind.resource, error)

        reflector = Reflector(
            self._connection,
            path,
            query,
            seed=seed,
            # With a task the address is right: an earlier kind was listed.
            gives_up=self._gives_up and not self._tasks,
            on_failure=failed,
        )
        batches = reflector.batches()
        try:
            first = await anext(batches)
        except RejectedRequest as error:
            if kind.is_required or error.status not in _ABSENT:
                raise
            # Few servers have groups of pods; without them nothing is missing.
            if not kind.is_group or error.status != HTTPStatus.NOT_FOUND:
                self._left_out.append((kind.name, error))
            return None

        async def follow() -> None:
            async for batch in batches:
                for each in batch.changes:
                    self._merge.add(SourceChange(kind, each, batch.received_ns))
                if batch.changes:
                    self._arrived.set()

        self._reflectors.append(reflector)
        task = asyncio.create_task(follow())
        # It ends by a defect only, which must not wait for the next change.
        task.add_done_callback(lambda _: self._arrived.set())
        self._tasks.append(task)
        return first

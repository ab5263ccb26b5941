"""Keeps destinations like a source: executes what a mirror decides, in order.

Kinds are executed in the order in which their changes were made, and so are all changes of pods: a
scheduler tries pods of one priority in the order in which they arrive, and on the room that deleted
ones have left. Of other kinds, only the changes of one object have an order.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, islice
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import DEFAULT_SCHEDULER_NAME, quoted
from podwright.online.client import SyncCheck, SyncDifference
from podwright.online.client.cluster import Backoff, Meta, RejectedRequest, UnreachableCluster
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.operations import Create, Operation, Settle
from podwright.online.sync.placements import Placements
from podwright.online.sync.source import ChangeGroup, SourceChange
from podwright.online.sync.source_kinds import SourceKind
from podwright.online.sync.target import SavedState, Target

_PARALLEL: Final = 32
_TOGETHER: Final = 200
"""So many changes are executed with one request, if the destination takes that."""
_SAVE_SECONDS: Final = 2.0
_RETRY_SECONDS: Final = 2.0
"""How often what was rejected is tried again."""
UNTRIED_SECONDS: Final = 30.0
"""A scheduler that has not tried a pod for so long does not seem to run."""


class _Pod(msgspec.Struct, frozen=True, kw_only=True):
    class _Spec(msgspec.Struct, frozen=True):
        nodeName: str = ""  # noqa: N815 - the field of the API
        schedulerName: str = DEFAULT_SCHEDULER_NAME  # noqa: N815 - the field of the API
        schedulingGates: Sequence[Any] | None = None  # noqa: N815 - the field of the API

    class _Status(msgspec.Struct, frozen=True):
        class _Condition(msgspec.Struct, frozen=True):
            type: str
            reason: str = ""

        conditions: Sequence[_Condition] | None = None

    metadata: Meta
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def decided_node(self) -> str | None:
        """The node; "" for a pod that is unschedulable, None for one that was not tried yet."""
        if self.spec.nodeName:
            return self.spec.nodeName
        unschedulable = ("PodScheduled", "Unschedulable")
        conditions = self.status.conditions or ()
        return "" if any((c.type, c.reason) == unschedulable for c in conditions) else None


_PODS: Final = msgspec.json.Decoder(_Pod)


class Lag:
    """How long changes take from their arrival to their durable write.

    Attributes
    ----------
    count : int
        Changes that were written.
    last_ns, longest_ns : int
        Of all changes after the first list.
    """

    def __init__(self) -> None:
        self.count = 0
        self.last_ns = 0
        self.longest_ns = 0
        self._sum_ns = 0

    def add(self, lag_ns: int) -> None:
        """Take the lag of one change."""
        self.count += 1
        self.last_ns = lag_ns
        self._sum_ns += lag_ns
        self.longest_ns = max(self.longest_ns, lag_ns)

    @property
    def mean_ns(self) -> int:
        """The mean lag."""
        return self._sum_ns // self.count if self.count else 0


class Destination:
    """A destination with its mirror, which follows the source at its own pace.

    Parameters
    ----------
    target : Target
    mirror : Mirror
    side : int
        Its side of the placements.

    Attributes
    ----------
    lag : Lag
    is_synced : bool
        Whether it has all objects of the first list.
    check : SyncCheck
        The last comparison of all fields, if there was one.
    """

    def __init__(self, target: Target, mirror: Mirror, side: int) -> None:
        self.target = target
        self.mirror = mirror
        self.side = side
        self.lag = Lag()
        self.is_synced = False
        self.check: SyncCheck | msgspec.UnsetType = msgspec.UNSET
        # Of executed changes: what a later sync takes for seen and does not find was deleted here.
        self._executed = (mirror.seen.until, mirror.seen.recent)
        self._has_deleted = asyncio.Event()
        # By key, of the pods that no scheduler has tried: its name, and since when.
        self._untried: dict[str, tuple[str, float]] = {}
        self._queue: asyncio.Queue[ChangeGroup] = asyncio.Queue()

    @property
    def waiting(self) -> int:
        """How many groups of changes wait."""
        return self._queue.qsize()

    def put(self, group: ChangeGroup) -> None:
        """Add changes."""
        self._queue.put_nowait(group)

    async def follow(self) -> None:
        """Execute changes, until cancelled."""
        retry_at = 0.0
        while True:
            wait = max(0.0, retry_at - time.monotonic()) if self.target.rejected else None
            # Not `wait_for`: up to Python 3.11 it loses a cancellation that comes with the result.
            try:
                async with asyncio.timeout(wait):
                    group = await self._queue.get()
            except TimeoutError:
                await self.target.retry()
                retry_at = time.monotonic() + _RETRY_SECONDS
                continue
            if group.listed is not None:
                await self._compare(group.listed, group.changes)
                continue
            changes = list(group.changes)
            # What has waited is executed together: the further behind, the fewer the requests.
            while len(changes) < _TOGETHER and not group.is_end and not self._queue.empty():
                group = self._queue.get_nowait()
                changes += group.changes
            await self._execute(changes)
            self.is_synced |= group.is_end

    async def save(self, source: str) -> None:
        """Save the state for a later sync, until cancelled.

        This is done every few seconds, and when the destination has deleted a pod: a later sync
        must know that it was there.

        Raises
        ------
        ReplacedTarget
        """
        saved = None
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SAVE_SECONDS):
                    await self._has_deleted.wait()
            self._has_deleted.clear()
            with suppress(RejectedRequest, UnreachableCluster):
                await self.target.check_same()
            if self.is_synced and saved != (state := self._state(source)):
                saved = state
                await self.save_now(source)

    async def save_now(self, source: str) -> None:
        """Save the state for a later sync."""
        if not self.is_synced:
            return
        try:
            # In another cluster, everything would look as if it had been deleted there.
            await self.target.check_same()
            await self.target.save(self._state(source))
        except (RejectedRequest, UnreachableCluster) as error:
            self.target.last_error = str(error)

    def _state(self, source: str) -> SavedState:
        return SavedState(source, *self._executed)

    async def watch_pods(
        self, placements: Placements, report: Callable[[SyncDifference], None]
    ) -> None:
        """Follow where the destination places pods, until cancelled."""
        async for batch in self.target.pods().batches():
            for change in batch.changes:
                is_gone = change.event == "Delete"
                await self.target.pod_changed(change.meta.key, is_gone=is_gone)
                if is_gone:
                    self._untried.pop(change.meta.key, None)
                    self.mirror.placed(change.meta.key)
                    placements.drop(self.side, change.meta.key)
                    if self.mirror.mirrors("pods", change.meta.key):
                        self._has_deleted.set()
                    continue
                pod = _PODS.decode(change.body)
                node = pod.decided_node
                if node is None and not pod.spec.schedulingGates:
                    untried = (pod.spec.schedulerName, time.monotonic())
                    self._untried.setdefault(change.meta.key, untried)
                else:
                    self._untried.pop(change.meta.key, None)
                if node:
                    self.mirror.placed(change.meta.key)
                if found := placements.put(self.side, change.meta.key, node):
                    report(found)

    def untried(self, placements: Placements) -> Mapping[tuple[int, str], str]:
        """Return warnings of the schedulers that do not seem to run here, by side and scheduler.

        The source has placed their pods.
        """
        last = time.monotonic() - UNTRIED_SECONDS
        pods: dict[str, str] = {}
        for pod, (scheduler, since) in self._untried.items():
            if since <= last and placements.is_placed(0, pod):
                pods.setdefault(scheduler, pod)
        return {
            (self.side, scheduler): f"{self.target.name}: no scheduler {quoted(scheduler)} has"
            f" tried pod {pod}, which has a node at the source; run one there"
            for scheduler, pod in sorted(pods.items())
        }

    async def _compare(self, kind: SourceKind, listed: Sequence[SourceChange]) -> None:
        """Bring the objects of a kind to the state of the source."""
        if kind.is_workload:
            for each in listed:
                self.mirror.take(each)
            return
        present = await self._objects(kind)
        compared = self.mirror.compare(kind, listed, present)
        while taken := list(islice(compared, _TOGETHER)):
            await self._execute_taken(kind.name, taken)

    async def _objects(self, kind: SourceKind) -> dict[str, bytes]:
        backoff = Backoff(0)
        while True:
            try:
                return await self.target.objects(kind)
            except UnreachableCluster as error:
                self.target.last_error = str(error)
            await asyncio.sleep(backoff.next_ns() / 1e9)

    async def _execute(self, changes: Sequence[SourceChange]) -> None:
        for resource, group in groupby(changes, key=lambda each: each.kind.name):
            every = list(group)
            for begin in range(0, len(every), _TOGETHER):
                # The mirror takes the changes in their order; only their execution is parallel.
                taken = [(each, self._taken(each)) for each in every[begin : begin + _TOGETHER]]
                await self._execute_taken(resource, taken)

    def _taken(self, each: SourceChange) -> Sequence[Operation]:
        resource, key = each.kind.name, each.change.meta.key
        if self.target.supersede(resource, key) and each.change.event != "Delete":
            self.mirror.forget(resource, key)
        return self.mirror.take(each)

    async def _execute_taken(
        self, resource: str, taken: Sequence[tuple[SourceChange, Sequence[Operation]]]
    ) -> None:
        operations = [operation for _, found in taken for operation in found]
        has_order = resource == "pods" and not all(map(_keeps_node, operations))
        if has_order or self.target.executes_together(operations):
            await self.target.execute_in_order(operations)
            for change, found in taken:
                self._note_lag(change, found)
        else:
            await self._side_by_side(taken)
        self._executed = (self.mirror.seen.until, self.mirror.seen.recent)

    async def _side_by_side(
        self, taken: Iterable[tuple[SourceChange, Sequence[Operation]]]
    ) -> None:
        by_key: dict[str, list[tuple[SourceChange, Sequence[Operation]]]] = {}
        for each in taken:
            by_key.setdefault(each[0].change.meta.key, []).append(each)
        limit = asyncio.Semaphore(_PARALLEL)
        await asyncio.gather(*(self._of_object(each, limit) for each in by_key.values()))

    async def _of_object(
        self,
        changes: Iterable[tuple[SourceChange, Sequence[Operation]]],
        limit: asyncio.Semaphore,
    ) -> None:
        async with limit:
            for change, operations in changes:
                for operation in operations:
                    await self.target.execute(operation)
                self._note_lag(change, operations)

    def _note_lag(self, change: SourceChange, operations: Sequence[Operation]) -> None:
        if operations and self.is_synced:
            self.lag.add(time.monotonic_ns() - change.received_ns)


def _keeps_node(operation: Operation) -> bool:
    """Whether it creates a pod that keeps its node, or a claim of such a pod alone.

    Devices of claims precede all pods that may share them.
    """
    if operation.kind.resource == "resourceclaims":
        return not isinstance(operation, Settle)
    return isinstance(operation, Create) and bool(operation.obj["spec"].get("nodeName"))


def note_placements(
    changes: Sequence[SourceChange],
    placements: Placements,
    report: Callable[[SyncDifference], None],
) -> None:
    """Take where the source has placed pods."""
    for each in changes:
        if each.kind.resource != "pods":
            continue
        change = each.change
        if change.event == "Delete":
            placements.drop(0, change.meta.key)
        elif found := placements.put(0, change.meta.key, _PODS.decode(change.body).decided_node):
            report(found)

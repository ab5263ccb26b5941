"""A source and the destinations that follow it, with what they report.

Upstream: kube-scheduler-simulator simulator/syncer/syncer.go
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import msgspec

from podwright.apimachinery.objects import timestamp_text_nano
from podwright.online.client import (
    SyncCheck,
    SyncCounts,
    SyncDifference,
    SyncDrift,
    SyncError,
    SyncFieldDifference,
    SyncLag,
    SyncPhase,
    SyncPolicies,
    SyncScope,
    SyncSource,
    SyncStatus,
)
from podwright.online.client.cluster import (
    ConnectionSettingsError,
    ReadConnection,
    RejectedRequest,
    UnreachableCluster,
    cluster_identity,
)
from podwright.online.sync.check import check_target, value_text
from podwright.online.sync.following import Destination, note_placements
from podwright.online.sync.mirror import Mirror
from podwright.online.sync.placements import Placements
from podwright.online.sync.source import Scope, Source
from podwright.online.sync.target import ReplacedTarget, Target, seen_pods

DIFFERENCES_MAX: Final = 1_000
"""So many differences are in a report."""

_REPORT_SECONDS: Final = 1.0
_REPEAT_SECONDS: Final = 5.0
"""How often a state that has not changed is reported."""


class Sync:
    """Follows a source with destinations.

    Parameters
    ----------
    connection : ReadConnection
        Of the source.
    scope : Scope
    policies : SyncPolicies
    on_difference : callable
        Called with each pod that all sides have placed, and not on the same node.
    on_failure : callable
        Called with a resource and each error of the source before the next attempt.
    on_listed : callable
        Called with the warnings of the source when all kinds were listed.

    Attributes
    ----------
    destinations : list of Destination
    """

    def __init__(
        self,
        connection: ReadConnection,
        scope: Scope,
        policies: SyncPolicies,
        *,
        on_difference: Callable[[SyncDifference], None],
        on_failure: Callable[[str, Exception], None],
        on_listed: Callable[[Sequence[str]], None],
    ) -> None:
        self.destinations: list[Destination] = []
        self._connection = connection
        self._scope = scope
        self._policies = policies
        self._on_difference = on_difference
        self._on_listed = on_listed
        self._source = Source(connection, scope, on_failure=on_failure, gives_up=False)
        self._identity = ""
        self._placements: Placements  # of all sides, from `open` on
        self._started_at = timestamp_text_nano(time.time_ns())
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def sides(self) -> Sequence[str]:
        """The names of the source and of the destinations."""
        return ("source", *(each.target.name for each in self.destinations))

    async def open(self, targets: Sequence[Target]) -> None:
        """Read what earlier syncs have left at the destinations.

        Raises
        ------
        ConnectionSettingsError
            A destination is the source.
        RejectedRequest, UnreachableCluster
        """
        self._identity = await cluster_identity(self._connection)
        self._placements = Placements(len(targets) + 1)
        self.destinations = [
            await self._destination(target, side) for side, target in enumerate(targets, start=1)
        ]

    async def run(self) -> None:
        """Follow the source, until cancelled.

        Raises
        ------
        RejectedRequest, UnreachableCluster
            The first list of a kind fails.
        ReplacedTarget
            A destination is another cluster than at `open`, and needs a new sync.
        """
        self._tasks.append(asyncio.create_task(self._follow_source()))
        for each in self.destinations:
            for work in (
                each.follow(),
                each.save(self._identity),
                each.watch_pods(self._placements, self._on_difference),
                self._report_regularly(each),
                self._check_when_due(each),
            ):
                self._tasks.append(asyncio.create_task(work))
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()

    async def _follow_source(self) -> None:
        async for group in self._source.groups():
            if group.is_end:
                self._on_listed(self._source.warnings)
            note_placements(group.changes, self._placements, self._on_difference)
            for each in self.destinations:
                each.put(group)

    async def end(self) -> None:
        """End the destinations, and save and report their states."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for each in self.destinations:
            with suppress(ReplacedTarget):
                await each.save_now(self._identity)
            await each.target.report(self.status(each, "stopped"))

    def untried(self, each: Destination) -> Mapping[tuple[int, str], str]:
        """Return warnings of the schedulers that a destination lacks, by side and scheduler."""
        return each.untried(self._placements)

    def status(self, each: Destination, phase: SyncPhase | None = None) -> SyncStatus:
        """Return the state of a destination; the phase is the current one if left out."""
        mirror, done, lag, side = each.mirror, each.target.done, each.lag, each.side
        differences = self._placements.different()
        access = self._connection.access
        return SyncStatus(
            source=SyncSource(name=access.name, server=access.server, identity=self._identity),
            phase=phase or ("following" if each.is_synced else "listing"),
            started_at=self._started_at,
            reported_at=timestamp_text_nano(time.time_ns()),
            scope=SyncScope(
                kinds=[kind.resource for kind in self._scope.kinds],
                namespaces=self._scope.namespaces,
                selector=self._scope.selector,
            ),
            policies=self._policies,
            lag=SyncLag(
                changes=lag.count,
                waiting=each.waiting,
                last_seconds=lag.last_ns / 1e9,
                mean_seconds=lag.mean_ns / 1e9,
                longest_seconds=lag.longest_ns / 1e9,
            ),
            counts=SyncCounts(
                created=done["created"],
                updated=done["updated"],
                deleted=done["deleted"],
                rescheduled=mirror.rescheduled,
                ignored=done["ignored"],
                kept_deleted=mirror.kept_deleted + done["absent"],
            ),
            drift=SyncDrift(pods=self._placements.elsewhere(side), claims=done["claims"]),
            unfreed=mirror.unfreed(partial(self._placements.is_placed, side)),
            errors=[
                SyncError(kind=kind, reason=reason, count=count)
                for (kind, reason), count in sorted(each.target.errors.items())
            ],
            last_error=each.target.last_error,
            source_failures=self._source.failures,
            warnings=(*self._source.warnings, *self.untried(each).values()),
            sides=self.sides,
            here=side,
            differences=differences[:DIFFERENCES_MAX],
            differences_left_out=max(0, len(differences) - DIFFERENCES_MAX),
            check=each.check,
        )

    async def _destination(self, target: Target, side: int) -> Destination:
        await target.check()
        if await target.is_source(self._connection):
            raise ConnectionSettingsError(
                f"{target.name} is the source itself; name another cluster as the destination"
            )
        mirror = Mirror(self._policies, seen=seen_pods(await target.state(), self._identity))
        return Destination(target, mirror, side)

    async def _check_when_due(self, each: Destination) -> None:
        """Compare the destination with the source when it requests that, until cancelled."""
        while True:
            await each.target.check_due.wait()
            each.target.check_due.clear()
            try:
                each.check = await self._checked(each.target)
            except (RejectedRequest, UnreachableCluster) as error:
                checked_at = timestamp_text_nano(time.time_ns())
                each.check = SyncCheck(checked_at=checked_at, error=str(error))

    async def _checked(self, target: Target) -> SyncCheck:
        async with Target(target.address, target.name) as other:
            found = await check_target(self._connection, other, self._scope, self._policies)
        return SyncCheck(
            checked_at=timestamp_text_nano(time.time_ns()),
            compared=found.compared,
            kinds=found.kinds,
            differences=[
                SyncFieldDifference(
                    kind=each.kind.name,
                    key=each.key,
                    path=each.difference.path,
                    source=value_text(each.difference.source),
                    here=value_text(each.difference.here),
                    policy=each.difference.policy,
                )
                for each in found.found[:DIFFERENCES_MAX]
            ],
            differences_left_out=max(0, len(found.found) - DIFFERENCES_MAX),
            unexplained=found.unexplained,
        )

    async def _report_regularly(self, each: Destination) -> None:
        """Report the state to its destination, until cancelled or it does not take reports."""
        before: SyncStatus | None = None
        reported = 0.0
        while True:
            status = self.status(each)
            now = time.monotonic()
            # The same state is repeated, so that its age shows whether the sync still runs.
            if _timeless(status) != before or now - reported >= _REPEAT_SECONDS:
                if not await each.target.report(status):
                    return
                before, reported = _timeless(status), now
            await asyncio.sleep(_REPORT_SECONDS)


def _timeless(status: SyncStatus) -> SyncStatus:
    return msgspec.structs.replace(status, reported_at="")

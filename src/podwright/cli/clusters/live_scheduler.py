"""A machine that follows a real cluster, and schedules while its replica is the leader.

Upstream: cmd/kube-scheduler/app/server.go, `Run`
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import PodwrightError
from podwright.cli.console import print_message, print_warnings
from podwright.online.client.cluster import ReadConnection, RejectedRequest, UnreachableCluster
from podwright.online.live import Executor, LeaseThread, LiveDriver, LostLease
from podwright.online.sync import Scope, Source, SourceChange, scheduler_kinds
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import Action, Event, Machine, render_text, resource_snapshot

_WINDOW_NS: Final = 5_000_000
_END_SECONDS: Final = 10.0


class LiveScheduler:
    """A machine that follows a cluster.

    Parameters
    ----------
    connection : ReadConnection
    machine : Machine
    handle : callable
        The door of the machine, or of what records it.
    executor : Executor
    call_extender : callable, optional
        Calls an extender, in a thread.
    is_delayed : bool
        Whether a replica lists the objects only when it is the leader, `delayCacheUntilActive`.
    """

    def __init__(
        self,
        connection: ReadConnection,
        machine: Machine,
        handle: Callable[[Event, int], list[Action]],
        executor: Executor,
        call_extender: CallExtender | None,
        *,
        is_delayed: bool,
    ) -> None:
        profiles = machine.profiles.values()
        plugins = {plugin.name for profile in profiles for plugin in profile.permit}
        scope = Scope(kinds=scheduler_kinds(plugins))
        self._machine = machine
        self._source = Source(connection, scope, on_failure=_report_failure, window_ns=_WINDOW_NS)
        self._is_delayed = is_delayed
        self._listed = asyncio.Event()
        self._leads = asyncio.Event()
        self._is_stopping = False
        self._others: list[Coroutine[Any, Any, None]] = []
        self._driver = LiveDriver(machine, handle, executor, call_extender=call_extender)

    def add(self, work: Coroutine[Any, Any, None]) -> None:
        """Add what runs beside the scheduler."""
        self._others.append(work)

    def is_listed(self) -> bool:
        """Whether all objects were listed."""
        return self._source.is_synced

    def is_stopping(self) -> bool:
        """Whether the process is about to end."""
        return self._is_stopping

    def metrics_text(self) -> bytes:
        """Return the metrics of the machine."""
        return render_text(self._machine.metrics_snapshot()).encode()

    def resources_text(self) -> bytes:
        """Return what each pod requests, as metrics; only the leader has them."""
        if not self._leads.is_set():
            return b""
        return render_text(resource_snapshot(self._driver.pods())).encode()

    async def run(self, election: LeaseThread | None, on_lead: Callable[[bool], None]) -> None:
        """Schedule, until cancelled or the lease is lost.

        A replica without the lease follows the cluster, too, unless that is delayed: it takes over
        without listing all objects first. Without cycles the machine begins no actions.

        Parameters
        ----------
        election : LeaseThread, optional
            None if every replica schedules.
        on_lead : callable
            Called with whether this replica is the leader, when that changes.
        """
        work = [*self._others, self._follow(), self._schedule(), self._elect(election, on_lead)]
        tasks = [asyncio.ensure_future(each) for each in work]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            self._is_stopping = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def end(self, election: LeaseThread | None) -> None:
        """Let requests that are under way end, and give the lease away.

        The lease is renewed until then. If it is lost, only Events are still written.
        """
        await self._driver.finish(_END_SECONDS)
        if election is not None:
            with suppress(RejectedRequest, UnreachableCluster):
                await election.release()
        if self._listed.is_set():
            print_message(f"stopped; {self._driver.bindings} pods were bound")

    async def _elect(self, election: LeaseThread | None, on_lead: Callable[[bool], None]) -> None:
        if election is None:
            self._leads.set()
            await asyncio.Event().wait()  # until cancelled
            return
        print_message("waiting for the lease")
        await election.acquire()
        print_message("this replica is the leader")
        self._leads.set()
        on_lead(True)
        try:
            await election.wait_until_lost()
        except LostLease:
            on_lead(False)
            raise

    async def _follow(self) -> None:
        if self._is_delayed:
            await self._leads.wait()
        async for changes in self._source.changes():
            for change in changes:
                self._take(change)
            if not changes:
                print_warnings(self._source.warnings)
                print_message("all objects are listed")
                self._listed.set()

    async def _schedule(self) -> None:
        await self._listed.wait()
        await self._leads.wait()
        print_message("scheduling")
        await self._driver.run()

    def _take(self, each: SourceChange) -> None:
        kind, change = each.kind, each.change
        if change.event == "Delete":
            self._driver.delete(kind.api_version, kind.kind, change.meta.key)
            return
        document = msgspec.json.decode(change.body)
        document |= {"apiVersion": kind.api_version, "kind": kind.kind}
        try:
            self._driver.put(document)
        except PodwrightError as error:
            print_message(f"{kind.kind.lower()}/{change.meta.key} is ignored: {error}")


def _report_failure(resource: str, error: Exception) -> None:
    print_message(f"{resource}: {error}; the next attempt follows")

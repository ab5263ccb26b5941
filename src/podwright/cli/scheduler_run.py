"""`podwright scheduler`: drives a machine by a real cluster."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from podwright.assembly import machine_of
from podwright.cli.cluster_options import run_remote, until_interrupted, warn_of_version
from podwright.cli.console import announce_compilation, print_message, print_warnings, write_at_once
from podwright.cli.input_errors import ErrorCollector
from podwright.cli.inputs import extender_caller, inputs_of, scheduler_options
from podwright.cli.options import Setup
from podwright.cli.warm_up_run import warm_up
from podwright.client.cluster import (
    ClusterAddress,
    ReadConnection,
    RejectedRequest,
    UnreachableCluster,
)
from podwright.client.cluster.write_connection import WriteConnection
from podwright.config import KubeSchedulerConfiguration
from podwright.files import LoadedObjects
from podwright.framework import CallExtender
from podwright.live import (
    DryRun,
    ElectionTimes,
    EventWriter,
    Executor,
    HealthServer,
    LeaseElection,
    LeaseState,
    LiveDriver,
    Writes,
)
from podwright.machine import Action, Bind, DeletePod, Event, Machine, SchedulerOptions
from podwright.objects import DEFAULT_SCHEDULER_NAME, PodwrightError
from podwright.recording import Recorder, RotatingRecorder, record
from podwright.sync import Scope, Source, SourceChange, scheduler_kinds

_WINDOW_NS: Final = 5_000_000
_END_SECONDS: Final = 10.0
_FLUSH_SECONDS: Final = 1.0
_UPSTREAM_LEASE: Final = "kube-scheduler"
_OWN_LEASE: Final = "podwright-scheduler"


@dataclass(frozen=True, kw_only=True)
class LiveOptions:
    """The options of the command, besides those of the scheduler."""

    is_dry_run: bool
    run: Path | None
    largest_bytes: int
    kept_runs: int
    elects_leader: bool | None
    metrics_address: str
    metrics_port: int | None


def run_scheduler(address: ClusterAddress, options: LiveOptions, setup: Setup) -> None:
    """Schedule until the process is interrupted.

    Raises
    ------
    InputError
        The configuration is not valid.
    LostLease
        Another replica may schedule now.
    ConnectionSettingsError, UnreachableCluster, RejectedRequest
    """
    collected = ErrorCollector()
    inputs = inputs_of(LoadedObjects(), setup, collected)
    collected.raise_all()
    scheduler = scheduler_options(inputs, setup)
    announce_compilation()
    warm_up()
    recorder = None if options.run is None else _recorder(scheduler, options.run, options)
    machine = machine_of(scheduler) if recorder is None else recorder.machine
    handle = machine.handle if recorder is None else recorder.handle
    configuration = inputs.configuration or KubeSchedulerConfiguration()
    call_extender = extender_caller(inputs.configuration, inputs.source)

    async def run() -> None:
        async with AsyncExitStack() as stack:
            limits = configuration.client_connection
            connection: ReadConnection | WriteConnection
            executor: Executor
            if options.is_dry_run:
                connection = await stack.enter_async_context(ReadConnection(address))
                executor = DryRun(_report)
                election = None
            else:
                # Calls, Events and the Lease have a rate each, as in kube-scheduler: a flood of
                # the first two must not delay the renewal of the Lease.
                connection, for_events = (
                    WriteConnection(address, per_second=limits.qps, burst=limits.burst)
                    for _ in range(2)
                )
                for_lease = WriteConnection(address)
                for each in (connection, for_events, for_lease):
                    await stack.enter_async_context(each)
                events = EventWriter(f"podwright-{socket.gethostname()}")
                executor = Writes(connection, for_events, events)
                election = _election(for_lease, configuration, options)
            await warn_of_version(connection)
            live = _Live(connection, machine, handle, executor, call_extender)
            if options.metrics_port is not None:
                health = HealthServer(
                    options.metrics_address, options.metrics_port, machine, live.is_ready
                )
                await stack.enter_async_context(health)
                print_message(
                    f"serving metrics at http://{options.metrics_address}:{health.port}/metrics"
                )
            if recorder is not None:
                live.add(_flush_regularly(recorder))
                stack.callback(_close, recorder)
            try:
                await until_interrupted(live.run(election))
            finally:
                await live.end(election)

    run_remote(run)


def _recorder(
    scheduler: SchedulerOptions, folder: Path, options: LiveOptions
) -> Recorder | RotatingRecorder:
    def begin(path: str) -> Recorder:
        return record(
            path,
            scheduler.configuration,
            plugins=scheduler.plugins,
            gates=scheduler.gates,
            seed=scheduler.seed,
            tie_rule=scheduler.tie_rule,
            draws_preemption_offset=scheduler.draws_preemption_offset,
        )

    if not options.largest_bytes:
        return begin(str(folder / "log"))
    return RotatingRecorder(
        folder, begin, largest_bytes=options.largest_bytes, kept_count=options.kept_runs
    )


def _close(recorder: Recorder | RotatingRecorder) -> None:
    recorder.log.close()  # the present one


async def _flush_regularly(recorder: Recorder | RotatingRecorder) -> None:
    while True:
        await asyncio.sleep(_FLUSH_SECONDS)
        recorder.log.flush()
        if isinstance(recorder, RotatingRecorder) and recorder.rotate_if_due():
            print_message(f"decisions are recorded in {recorder.path}")


def _election(
    connection: WriteConnection, configuration: KubeSchedulerConfiguration, options: LiveOptions
) -> LeaseElection | None:
    settings = configuration.leader_election
    is_elected = settings.leader_elect if options.elects_leader is None else options.elects_leader
    if not is_elected:
        return None
    names = {each.scheduler_name or DEFAULT_SCHEDULER_NAME for each in configuration.profiles}
    name = settings.resource_name
    if name == _UPSTREAM_LEASE and names and DEFAULT_SCHEDULER_NAME not in names:
        # The lease of kube-scheduler is for those that take its place.
        name = _OWN_LEASE
    times = ElectionTimes(
        lease_duration_ns=settings.lease_duration_ns,
        renew_deadline_ns=settings.renew_deadline_ns,
        retry_period_ns=settings.retry_period_ns,
    )
    state = LeaseState(f"{socket.gethostname()}_{secrets.token_hex(8)}", times)
    return LeaseElection(connection, settings.resource_namespace, name, state)


class _Live:
    """A machine that follows a cluster."""

    def __init__(
        self,
        connection: ReadConnection,
        machine: Machine,
        handle: Callable[[Event, int], list[Action]],
        executor: Executor,
        call_extender: CallExtender | None,
    ) -> None:
        profiles = machine.profiles.values()
        plugins = {plugin.name for profile in profiles for plugin in profile.permit}
        scope = Scope(kinds=scheduler_kinds(plugins))
        self._source = Source(connection, scope, on_failure=_report_failure, window_ns=_WINDOW_NS)
        self._listed = asyncio.Event()
        self._others: list[Coroutine[Any, Any, None]] = []
        self._driver = LiveDriver(machine, handle, executor, call_extender=call_extender)

    def add(self, work: Coroutine[Any, Any, None]) -> None:
        """Add what runs beside the scheduler."""
        self._others.append(work)

    def is_ready(self) -> bool:
        """Whether all objects were listed."""
        return self._source.is_synced

    async def run(self, election: LeaseElection | None) -> None:
        """Schedule, until cancelled or the lease is lost."""
        if election is not None:
            print_message("waiting for the lease")
            await election.acquire()
            print_message("this replica is the leader")
        work = [*self._others, self._follow(), self._schedule()]
        if election is not None:
            work.append(election.renew())
        tasks = [asyncio.ensure_future(each) for each in work]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def end(self, election: LeaseElection | None) -> None:
        """Let requests that are under way end, and give the lease away."""
        await self._driver.finish(_END_SECONDS)
        if election is not None:
            with suppress(RejectedRequest, UnreachableCluster):
                await election.release()
        print_message(f"stopped; {self._driver.bindings} pods were bound")

    async def _follow(self) -> None:
        async for changes in self._source.changes():
            for change in changes:
                self._take(change)
            if not changes:
                print_warnings(self._source.warnings)
                print_message("all objects are listed; scheduling")
                self._listed.set()

    async def _schedule(self) -> None:
        await self._listed.wait()
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


def _report(decision: Bind | DeletePod) -> None:
    if isinstance(decision, Bind):
        write_at_once(f"bind     {decision.pod}  {decision.node}")
    else:
        write_at_once(f"preempt  {decision.pod}")


def _report_failure(resource: str, error: Exception) -> None:
    print_message(f"{resource}: {error}; the next attempt follows")

"""`podwright scheduler`: drives a machine by a real cluster, while its replica is the leader.

Upstream: cmd/kube-scheduler/app/server.go, `Run`
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from podwright.apimachinery.objects import DEFAULT_SCHEDULER_NAME, Pod, PodwrightError, api_group
from podwright.cli.clusters.options import SchedulerCommandOptions
from podwright.cli.clusters.remote_work import (
    FailureLines,
    once_answered,
    until_interrupted,
    warn_of_version,
)
from podwright.cli.console import print_message, print_warnings, write_at_once
from podwright.cli.decisions.warm_up_run import load_kernels
from podwright.cli.file_reading import ErrorCollector
from podwright.cli.inputs import extender_caller, inputs_of, scheduler_options
from podwright.online.client.cluster import ReadConnection, RejectedRequest, UnreachableCluster
from podwright.online.client.cluster.write_connection import WriteConnection
from podwright.online.live import (
    DryRun,
    ElectionTimes,
    EventWriter,
    Executor,
    HealthServer,
    LeaseElection,
    LeaseState,
    LeaseThread,
    LiveDriver,
    LostLease,
    ProcessMetrics,
    Writes,
    health_checks,
)
from podwright.online.sync import (
    Scope,
    Source,
    SourceChange,
    SourceKind,
    scheduler_kinds,
    served_kinds,
)
from podwright.scheduler.assembly import machine_of
from podwright.scheduler.config import KubeSchedulerConfiguration
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import (
    Action,
    Bind,
    DeletePod,
    Event,
    Failure,
    Machine,
    SchedulerOptions,
    custom_resources,
    error_text,
    render_text,
    resource_snapshot,
)
from podwright.simulation.files import LoadedObjects
from podwright.simulation.recording import LogError, Recorder, RotatingRecorder, record

_FLUSH_SECONDS: Final = 1.0
_METRICS_PATH: Final = "/metrics"
_RESOURCES_PATH: Final = "/metrics/resources"
_UPSTREAM_LEASE: Final = "kube-scheduler"
_OWN_LEASE: Final = "podwright-scheduler"


def run_scheduler(options: SchedulerCommandOptions) -> None:
    """Schedule until the process is interrupted.

    Raises
    ------
    InputError
        The configuration is not valid.
    LostLease
        Another replica may schedule now.
    ConnectionSettingsError, UnreachableCluster, RejectedRequest
    """
    address = options.connection.address()
    setup = replace(options.setup, config=options.config)
    collected = ErrorCollector()
    inputs = inputs_of(LoadedObjects(), setup, collected)
    collected.raise_all()
    scheduler = scheduler_options(inputs, setup)
    load_kernels()
    recorder = None if options.out is None else _recorder(scheduler, options.out, options)
    machine = machine_of(scheduler) if recorder is None else recorder.machine
    handle = machine.handle if recorder is None else recorder.handle
    machine.watch_failures(_report_failure, _report_ignored)
    configuration = inputs.configuration or KubeSchedulerConfiguration()
    call_extender = extender_caller(inputs.configuration, inputs.source)

    async def run() -> None:
        async with AsyncExitStack() as stack:
            limits = configuration.client_connection
            lease = "" if options.dry_run else _lease(configuration, options)
            counts = ProcessMetrics(lease)
            connection: ReadConnection | WriteConnection
            executor: Executor
            election = None
            if options.dry_run:
                connection = await stack.enter_async_context(
                    ReadConnection(address, on_reply=counts.replied)
                )
                executor = DryRun(_report)
            else:
                # Calls, Events and the Lease have a rate each, as in kube-scheduler: a flood of
                # the first two must not delay the renewal of the Lease.
                connection, for_events = (
                    WriteConnection(
                        address,
                        per_second=limits.qps,
                        burst=limits.burst,
                        on_reply=counts.replied,
                    )
                    for _ in range(2)
                )
                for_lease = WriteConnection(address, on_reply=counts.replied)
                for each in (connection, for_events):
                    await stack.enter_async_context(each)
                if lease:
                    election = await stack.enter_async_context(
                        LeaseThread(for_lease, _election(for_lease, configuration, lease))
                    )
                executor = Writes(
                    connection,
                    for_events,
                    EventWriter(socket.gethostname()),
                    report=print_message,
                    check_leads=None if election is None else election.check_held,
                )
            await once_answered(lambda: warn_of_version(connection))
            served = ""
            live = LiveScheduler(
                connection,
                machine,
                handle,
                executor,
                call_extender,
                is_delayed=configuration.delay_cache_until_active,
                custom=await once_answered(lambda: _custom_kinds(connection, machine)),
            )
            if options.metrics_port is not None:
                health = HealthServer(
                    options.metrics_address,
                    options.metrics_port,
                    health_checks(
                        live.is_listed,
                        live.is_stopping,
                        None if election is None else election.is_renewed,
                    ),
                    {
                        _METRICS_PATH: lambda: live.metrics_text() + counts.text(),
                        _RESOURCES_PATH: live.resources_text,
                    },
                )
                await stack.enter_async_context(health)
                served = f"http://{options.metrics_address}:{health.port}/metrics"
            if recorder is not None:
                live.add(_flush_regularly(recorder))
                stack.callback(_close, recorder)
            try:
                await until_interrupted(_schedule(live, election, counts, served))
            finally:
                await live.end(election)

    asyncio.run(run())


async def _schedule(
    live: LiveScheduler, election: LeaseThread | None, counts: ProcessMetrics, served: str
) -> None:
    # Who reads this line may interrupt the process: signals are handled by now.
    if served:
        print_message(f"serving metrics at {served}")
    await live.run(election, lambda leads: counts.lead(leads=leads))


async def _custom_kinds(connection: ReadConnection, machine: Machine) -> Sequence[SourceKind]:
    """Return the kinds of the custom resources that plugins register; warn of those not served."""
    found: list[SourceKind] = []
    names = custom_resources(machine.profiles.values())
    served = await served_kinds(connection) if names else ()
    kinds = {f"{kind.kind}.{api_group(kind.api_version)}": kind for kind in served}
    for name in names:
        if name in kinds:
            found.append(kinds[name])
        else:
            print_message(
                f"warning: plugins register {name}, which the cluster does not serve: they find no"
                " such objects until this process is started again"
            )
    return found


def _report_failure(pod: Pod, failure: Failure, _now_ns: int) -> None:
    if text := error_text(pod, failure):
        print_message(text)


def _report_ignored(text: str) -> None:
    print_message(f"{text}, which has no effect")


def _recorder(
    scheduler: SchedulerOptions, folder: Path, options: SchedulerCommandOptions
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

    if not options.rotate:
        return begin(str(folder / "log"))
    return RotatingRecorder(
        folder, begin, largest_bytes=options.rotate, kept_count=options.keep or 0
    )


def _close(recorder: Recorder | RotatingRecorder) -> None:
    recorder.log.close()  # the current one


async def _flush_regularly(recorder: Recorder | RotatingRecorder) -> None:
    """Write the log every second.

    A disk that is full for a while does not end the process: it schedules until the next block of
    events must be written.
    """
    has_failed = False
    while True:
        await asyncio.sleep(_FLUSH_SECONDS)
        try:
            recorder.log.flush()
            if isinstance(recorder, RotatingRecorder) and recorder.rotate_if_due():
                print_message(f"decisions are recorded in {recorder.path}")
        except LogError as error:
            if not has_failed:
                print_message(f"warning: {error}; the process will exit if this continues")
            has_failed = True
            continue
        if has_failed:
            print_message("the decision log is being written again")
            has_failed = False


def _lease(configuration: KubeSchedulerConfiguration, options: SchedulerCommandOptions) -> str:
    """Return the name of the Lease; "" if every replica schedules."""
    settings = configuration.leader_election
    is_elected = settings.leader_elect if options.leader_elect is None else options.leader_elect
    if not is_elected:
        return ""
    names = {each.scheduler_name or DEFAULT_SCHEDULER_NAME for each in configuration.profiles}
    name = settings.resource_name
    if name == _UPSTREAM_LEASE and names and DEFAULT_SCHEDULER_NAME not in names:
        # The lease of kube-scheduler is for those that take its place.
        return _OWN_LEASE
    return name


def _election(
    connection: WriteConnection, configuration: KubeSchedulerConfiguration, lease: str
) -> LeaseElection:
    settings = configuration.leader_election
    times = ElectionTimes(
        lease_duration_ns=settings.lease_duration_ns,
        renew_deadline_ns=settings.renew_deadline_ns,
        retry_period_ns=settings.retry_period_ns,
    )
    state = LeaseState(f"{socket.gethostname()}_{secrets.token_hex(8)}", times)
    reporter = next((each.scheduler_name for each in configuration.profiles), "")
    return LeaseElection(
        connection,
        settings.resource_namespace,
        lease,
        state,
        reporter=reporter or DEFAULT_SCHEDULER_NAME,
    )


def _report(decision: Bind | DeletePod) -> None:
    if isinstance(decision, Bind):
        write_at_once(f"bind     {decision.pod}  {decision.node}")
    else:
        write_at_once(f"preempt  {decision.pod}")


_WINDOW_NS: Final = 5_000_000
_END_SECONDS: Final = 10.0


class LiveScheduler:
    """A machine that follows a cluster.

    Parameters
    ----------
    connection : ReadConnection
    machine : Machine
    handle : callable
        The `handle` of the machine, or of what records it.
    executor : Executor
    call_extender : callable, optional
        Calls an extender, in a thread.
    is_delayed : bool
        Whether a replica lists the objects only when it is the leader, `delayCacheUntilActive`.
    custom : sequence of SourceKind
        The custom resources that its plugins read.
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
        custom: Sequence[SourceKind] = (),
    ) -> None:
        profiles = machine.profiles.values()
        plugins = {plugin.name for profile in profiles for plugin in profile.permit}
        scope = Scope(kinds=scheduler_kinds(plugins, custom))
        self._machine = machine
        self._source = Source(
            connection, scope, on_failure=FailureLines(), window_ns=_WINDOW_NS, gives_up=False
        )
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
        name = f"{kind.kind.lower()}/{change.meta.key}"
        try:
            unknown = self._driver.put(document)
        except PodwrightError as error:
            print_message(f"{name} is ignored: {error}")
        else:
            if unknown is not None:
                print_message(f"{name} is read without what is not known: {unknown}")

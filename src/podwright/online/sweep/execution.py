"""Runs the missing runs of a plan on Dask workers, and adds each result to the data set.

Dask schedules, sends inputs once to each worker, repeats what a lost worker had in hand, and shows
a dashboard. Without the address of a scheduler, the workers are processes of this machine.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import islice
from multiprocessing import resource_tracker
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from podwright._interrupts import deferred_signals
from podwright._progress import metered
from podwright._version import __version__
from podwright.online.sweep.dataset import LostDaskScheduler, SweepDataset, SweepError
from podwright.online.sweep.figures_of_run import RunFigures, figures_of_run
from podwright.online.sweep.plan import SweepPlan, SweepRun, load_plan
from podwright.online.sweep.summary import SweepSummary, summarize_sweep

if TYPE_CHECKING:
    from distributed import Client

_LOST_WORKERS: Final = 3
"""A run that was in hand of so many lost workers fails: it is likely what they died of."""
_T = TypeVar("_T")

_LOGS: Final = ("asyncio", "distributed.client", "distributed.scheduler")
"""What reports tracebacks of requests and messages that an interrupt leaves without receiver."""

_IN_FLIGHT_PER_WORKER: Final = 50
"""Runs that are submitted ahead: a scheduler needs memory for each."""


@contextmanager
def workers(
    *,
    address: str = "",
    count: int = 0,
    memory_bytes: int | None = None,
    connect_timeout: str = "10s",
) -> Iterator[Client]:
    """Yield a connection to workers: those of a scheduler, or processes of this machine.

    Parameters
    ----------
    address : str
        Of a Dask scheduler, such as ``tcp://10.0.0.1:8786``; "" for processes of this machine.
    count : int
        Processes; 0: as many as processors.
    memory_bytes : int, optional
        Of each process; one that needs more is restarted, and its run is repeated. Without a
        count, there are as many processes as fit into the memory of the machine.
    connect_timeout : str
        How long a scheduler may take to answer.

    Raises
    ------
    SweepError
        If there is no scheduler at the address, or workers have another version of podwright.
    """
    import dask
    from dask.system import CPU_COUNT
    from distributed import Client
    from distributed.system import MEMORY_LIMIT

    if memory_bytes and not count:
        count = max(1, min(CPU_COUNT, MEMORY_LIMIT // memory_bytes))
    cluster: dict[str, Any] = {"address": address, "timeout": connect_timeout}
    if not address:
        cluster = {
            "n_workers": count or None,
            "threads_per_worker": 1,
            "memory_limit": memory_bytes or "auto",
            "dashboard_address": "127.0.0.1:0",  # any free port; other machines do not see it
            "silence_logs": 50,
        }
    logs = list(map(logging.getLogger, _LOGS))
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": _LOST_WORKERS}),
        ExitStack() as connection,
    ):
        for log in logs:
            connection.callback(log.setLevel, log.level)
        with nullcontext() if address else _starting_processes():
            try:
                client = connection.enter_context(Client(**cluster))
            except (OSError, TimeoutError, ValueError) as error:
                where = address or "this machine"
                failure = SweepError if isinstance(error, ValueError) else LostDaskScheduler
                raise failure(f"no Dask scheduler at {where}: {error}") from None
            for log in logs:  # while Dask closes
                connection.callback(log.setLevel, logging.CRITICAL + 1)
        if address:
            _check_workers(client, address)
        yield client


@contextmanager
def _starting_processes() -> Iterator[None]:
    """Keep Ctrl-C from processes that start in the block, and from this one until they have.

    They and their threads keep the mask with which they start; an interrupt takes effect when there
    is a client to close.
    """
    resource_tracker.ensure_running()  # its start unblocks the signal
    with deferred_signals():
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def sweep(
    plan: SweepPlan | str | PathLike[str] | Mapping[str, Any],
    output: str | PathLike[str],
    *,
    address: str = "",
    worker_count: int = 0,
    memory_bytes: int | None = None,
    retries_failed: bool = False,
    announce: Callable[[str], object] = lambda _: None,
) -> SweepSummary:
    """Run a plan, and compare its configurations.

    Parameters
    ----------
    plan : SweepPlan, path or dict
        A plan, its file, or its document.
    output : path
        The folder of the results; runs that have one are not repeated.
    address, worker_count, memory_bytes
        As `count` and the others of `workers`.
    retries_failed : bool
        Whether runs that failed are repeated.
    announce : callable
        Receives a sentence before the runs, with the address of Dask's dashboard.

    Raises
    ------
    InputError
        With all mistakes of the plan.
    SweepError
        If there are no workers.
    """
    complete = plan if isinstance(plan, SweepPlan) else load_plan(plan)
    dataset = SweepDataset(Path(output))
    total = len(missing_runs(complete, dataset, retries_failed=retries_failed))
    if total:
        connection = workers(address=address, count=worker_count, memory_bytes=memory_bytes)
        with connection as client, metered("running", total) as meter:
            announce(f"{total} runs; Dask's dashboard: {client.dashboard_link}")
            results = run_missing(complete, dataset, client, retries_failed=retries_failed)
            for done, _ in enumerate(results, 1):
                meter.advance(done)
    return summarize_sweep(complete, dataset.results(complete.runs()))


def run_missing(
    plan: SweepPlan,
    dataset: SweepDataset,
    client: Client,
    *,
    retries_failed: bool = False,
    sent: dict[str, Any] | None = None,
) -> Iterator[RunFigures]:
    """Run what the data set lacks, and yield each result once it is written.

    Parameters
    ----------
    plan : SweepPlan
        The runs.
    dataset : SweepDataset
        Their results.
    client : Client
        Dask's, which executes them.
    retries_failed : bool
        Whether failed runs are missing, too.
    sent : dict, optional
        What the workers have already, kept by the caller between plans with the same inputs.

    Raises
    ------
    SweepError
        If a result cannot be written, or Dask's scheduler is lost.
    """
    from distributed import CancelledError

    missing = missing_runs(plan, dataset, retries_failed=retries_failed)
    if not missing:
        return
    known = {} if sent is None else sent

    def reference(digest: str, content: Any) -> Any:
        if digest not in known:
            known[digest] = client.scatter(content, broadcast=True, hash=False)
        return known[digest]

    inputs = {each.name: reference(each.digest, each) for each in plan.inputs}
    configurations = {each.name: reference(each.digest, each) for each in plan.configurations}

    def submit(run: SweepRun) -> Any:
        arguments = (run, inputs[run.input], configurations[run.configuration], plan.options)
        return client.submit(figures_of_run, *arguments, key=run.id)

    for run, future in in_flight(client, missing, submit):
        if error := future.exception():  # its workers were lost
            result = RunFigures(run, (), f"{type(error).__name__}: {error}")
        else:
            try:
                result = future.result()
            except CancelledError as error:
                raise LostDaskScheduler(
                    "the connection to the Dask scheduler was lost; finished runs have been kept,"
                    " and the same command runs what is missing"
                ) from error
        dataset.add(result)
        yield result


def in_flight(
    client: Client, tasks: Iterable[_T], submit: Callable[[_T], Any]
) -> Iterator[tuple[_T, Any]]:
    """Submit tasks, some ahead, and yield each with its future once that is done.

    Parameters
    ----------
    client : Client
        Dask's, whose workers are counted.
    tasks : iterable
        What to submit, in order; it is read as workers become free.
    submit : callable
        Returns the future of a task.
    """
    from distributed import as_completed

    waiting = iter(tasks)
    ahead = _IN_FLIGHT_PER_WORKER * max(len(client.scheduler_info()["workers"]), 1)
    given = {submit(task): task for task in islice(waiting, ahead)}
    futures = as_completed(given)
    for future in futures:
        yield given.pop(future), future
        future.release()
        for task in islice(waiting, 1):
            added = submit(task)
            given[added] = task
            futures.add(added)


def missing_runs(
    plan: SweepPlan, dataset: SweepDataset, *, retries_failed: bool = False
) -> list[SweepRun]:
    """Return the runs of `plan` without a result in `dataset`, in order.

    With `retries_failed`, those that failed are among them.
    """
    finished = dataset.finished()
    runs = list({run.id: run for run in plan.runs()}.values())
    if retries_failed:
        finished -= {each.run.id for each in dataset.results(runs) if each.error}
    return [run for run in runs if run.id not in finished]


def _check_workers(client: Client, address: str) -> None:
    answer: Any = client.get_versions(packages=["podwright"])
    found = answer["workers"]
    versions = {worker: each["packages"].get("podwright") for worker, each in found.items()}
    if not versions:
        raise SweepError(f"the Dask scheduler at {address} has no workers")
    wrong = {worker: version for worker, version in versions.items() if version != __version__}
    if wrong:
        worker, version = next(iter(wrong.items()))
        raise SweepError(
            f"{len(wrong)} of {len(versions)} workers have another version of podwright:"
            f" {worker} has {version or 'none'}, {__version__} is needed"
        )

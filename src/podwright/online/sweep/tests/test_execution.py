"""Connections to workers, and runs in flight, without any worker."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Self

import dask
import distributed
import pytest
from dask import system

from podwright._version import __version__
from podwright.online.sweep import SweepDataset, SweepError
from podwright.online.sweep.dataset import LostDaskScheduler
from podwright.online.sweep.execution import (
    _check_workers,
    in_flight,
    missing_runs,
    run_missing,
    workers,
)
from podwright.online.sweep.figures_of_run import RunFigures, figures_of_run
from podwright.online.sweep.plan import SweepConfiguration, SweepInput, SweepOptions, SweepPlan

LOGS = ("asyncio", "distributed.client", "distributed.scheduler")


class Connection:
    """A client that records what it is made with, and the settings meanwhile."""

    made: dict[str, Any]
    versions: dict[str, dict[str, dict[str, str | None]]]
    blocked: set[int]
    interrupts = False
    closed = 0
    logs: list[bool]

    def __init__(self, **options: Any) -> None:
        setting = dask.config.get("distributed.scheduler.allowed-failures")
        Connection.made = {**options, "allowed failures": setting}
        Connection.blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        if Connection.interrupts:
            signal.raise_signal(signal.SIGINT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        Connection.closed += 1
        Connection.logs = [logging.getLogger(name).isEnabledFor(logging.CRITICAL) for name in LOGS]

    def get_versions(self, packages: list[str]) -> Any:
        assert packages == ["podwright"]
        return {"workers": Connection.versions}


LOCAL = {
    "n_workers": None,
    "threads_per_worker": 1,
    "memory_limit": "auto",
    "dashboard_address": "127.0.0.1:0",
    "silence_logs": 50,
    "allowed failures": 3,
}


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ({}, LOCAL),
        ({"count": 3}, LOCAL | {"n_workers": 3}),
        ({"memory_bytes": 1000}, LOCAL | {"n_workers": 4, "memory_limit": 1000}),
        ({"memory_bytes": 2000}, LOCAL | {"n_workers": 2, "memory_limit": 2000}),
        ({"memory_bytes": 9000}, LOCAL | {"n_workers": 1, "memory_limit": 9000}),
        ({"memory_bytes": 10}, LOCAL | {"n_workers": 8, "memory_limit": 10}),
        ({"memory_bytes": 2000, "count": 5}, LOCAL | {"n_workers": 5, "memory_limit": 2000}),
        (
            {"address": "tcp://h:1", "count": 5},
            {"address": "tcp://h:1", "timeout": "10s", "allowed failures": 3},
        ),
        (
            {"address": "tcp://h:1", "connect_timeout": "1s"},
            {"address": "tcp://h:1", "timeout": "1s", "allowed failures": 3},
        ),
    ],
)
def test_what_a_connection_is_made_with(monkeypatch, options, made):
    monkeypatch.setattr(distributed, "Client", Connection)
    monkeypatch.setattr(system, "CPU_COUNT", 8)
    monkeypatch.setattr("distributed.system.MEMORY_LIMIT", 4000)
    Connection.versions = {"w": {"packages": {"podwright": __version__}}}
    with workers(**options) as client:
        assert type(client).__name__ == "Connection"
    assert Connection.made == made


def test_processes_of_this_machine_start_without_ctrl_c(monkeypatch):
    monkeypatch.setattr(distributed, "Client", Connection)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with workers():
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    assert Connection.blocked == before | {signal.SIGINT}
    with workers(address="tcp://h:1"):
        assert Connection.blocked == before


def test_an_interrupt_while_processes_start_takes_effect_when_there_is_a_client_to_close(
    monkeypatch,
):
    monkeypatch.setattr(distributed, "Client", Connection)
    monkeypatch.setattr(Connection, "interrupts", True)
    closed, levels = Connection.closed, [logging.getLogger(name).level for name in LOGS]
    # A test run in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), workers():
            raise AssertionError
    finally:
        signal.signal(signal.SIGINT, before)
    assert Connection.closed == closed + 1
    assert Connection.logs == [False] * 3, "nobody reads what fails while Dask closes"
    assert [logging.getLogger(name).level for name in LOGS] == levels


@pytest.mark.parametrize(
    ("address", "error", "text"),
    [
        ("tcp://h:1", OSError("refused"), "no Dask scheduler at tcp://h:1: refused"),
        ("", TimeoutError("late"), "no Dask scheduler at this machine: late"),
        ("x", ValueError("no port"), "no Dask scheduler at x: no port"),
    ],
)
def test_a_connection_that_cannot_be_made_is_one_error(monkeypatch, address, error, text):
    def fail(**_: Any) -> None:
        raise error

    monkeypatch.setattr(distributed, "Client", fail)
    with pytest.raises(SweepError) as raised, workers(address=address):
        raise AssertionError
    assert str(raised.value) == text
    assert getattr(raised.value, "is_remote", False) == (address != "x")


def versions_of(**versions: str | None) -> Any:
    found = {
        name: {"packages": {} if version is None else {"podwright": version}}
        for name, version in versions.items()
    }
    return SimpleNamespace(get_versions=lambda **_: {"workers": found})


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        ({}, "the Dask scheduler at tcp://h:1 has no workers"),
        (
            {"a": __version__, "b": "0.1", "c": None},
            f"2 of 3 workers have another version of podwright: b has 0.1, {__version__} is needed",
        ),
        (
            {"a": None},
            "1 of 1 workers have another version of podwright:"
            f" a has none, {__version__} is needed",
        ),
    ],
)
def test_workers_that_cannot_run_anything_are_an_error(versions, text):
    with pytest.raises(SweepError) as raised:
        _check_workers(versions_of(**versions), "tcp://h:1")
    assert str(raised.value) == text
    _check_workers(versions_of(a=__version__, b=__version__), "tcp://h:1")


class Future:
    def __init__(self, task: Any) -> None:
        self.task = task
        self.is_released = False

    def release(self) -> None:
        self.is_released = True


class Completed:
    """Futures that are done in the reverse order of their submission, later ones first."""

    def __init__(self, futures: Any) -> None:
        self._waiting = list(futures)

    def add(self, future: Future) -> None:
        self._waiting.append(future)

    def __iter__(self) -> Iterator[Future]:
        while self._waiting:
            yield self._waiting.pop()


@pytest.mark.parametrize(("worker_count", "ahead"), [(0, 50), (1, 50), (2, 100)])
def test_fifty_runs_for_each_worker_are_submitted_ahead_and_then_one_for_each_result(
    monkeypatch, worker_count, ahead
):
    monkeypatch.setattr(distributed, "as_completed", Completed)
    client: Any = SimpleNamespace(
        scheduler_info=lambda: {"workers": dict.fromkeys(range(worker_count))}
    )
    submitted: list[Future] = []

    def submit(task: int) -> Future:
        submitted.append(Future(task))
        return submitted[-1]

    found = []
    for task, future in in_flight(client, range(ahead + 3), submit):
        assert future.task == task
        assert not future.is_released, "its result is read first"
        found.append((task, len(submitted)))
    assert found[:5] == [
        (ahead - 1, ahead), (ahead, ahead + 1), (ahead + 1, ahead + 2),
        (ahead + 2, ahead + 3), (ahead - 2, ahead + 3),
    ]  # fmt: skip
    assert sorted(task for task, _ in found) == list(range(ahead + 3))
    assert all(future.is_released for future in submitted)


class Executed:
    """A client that runs nothing: each run has a figure, and that of seed 1 lost its workers."""

    def __init__(self) -> None:
        self.scattered: list[tuple[str, bool, bool]] = []
        self.submitted: list[tuple[Any, ...]] = []

    def scheduler_info(self) -> Any:
        return {"workers": {"w": None}}

    def scatter(self, content: Any, *, broadcast: bool, hash: bool) -> str:  # noqa: A002 - Dask's
        self.scattered.append((content.name, broadcast, hash))
        return f"at the workers: {content.name}"

    def submit(self, function: Any, run: Any, *arguments: Any, key: str) -> Any:
        assert function is figures_of_run
        assert key == run.id
        self.submitted.append((*run[1:], *arguments))
        return Executing(run)


class Executing(Future):
    """The future of a run."""

    def exception(self) -> Exception | None:
        return ValueError("lost") if self.task.seed == 1 else None

    def result(self) -> RunFigures:
        return RunFigures(self.task, (("placed", "pods", float(self.task.seed)),))


class InOrder(Completed):
    def __iter__(self) -> Iterator[Future]:
        while self._waiting:
            yield self._waiting.pop(0)


def test_inputs_are_sent_once_and_what_lost_its_workers_is_a_failed_run(monkeypatch, tmp_path):
    monkeypatch.setattr(distributed, "as_completed", InOrder)
    options = SweepOptions(until="1h")
    plan = SweepPlan(
        inputs=(SweepInput(name="x", pods=1),),
        configurations=(
            SweepConfiguration(name="a"),
            SweepConfiguration(name="b", packages=("p",)),
        ),
        seeds=(0, 1),
        options=options,
    )
    made, dataset, sent = Executed(), SweepDataset(tmp_path), dict[str, Any]()
    client: Any = made
    found = list(run_missing(plan, dataset, client, sent=sent))
    assert made.scattered == [("x", True, False), ("a", True, False), ("b", True, False)]
    names = [
        ("x", name, seed, "at the workers: x", f"at the workers: {name}", options)
        for seed in (0, 1)
        for name in "ab"
    ]
    assert made.submitted == names
    assert [(each.run.seed, each.run.configuration, each.error) for each in found] == [
        (0, "a", ""), (0, "b", ""), (1, "a", "ValueError: lost"), (1, "b", "ValueError: lost"),
    ]  # fmt: skip
    assert [each.figures for each in found] == [(("placed", "pods", 0.0),)] * 2 + [()] * 2
    assert dataset.results(plan.runs()) == found

    # Nothing is missing, or only what failed; what the workers have is not sent again.
    assert not missing_runs(plan, dataset)
    assert not list(run_missing(plan, dataset, client))
    assert len(made.scattered) == 3
    failed = list(run_missing(plan, dataset, client, retries_failed=True, sent=sent))
    assert [each.run for each in failed] == [each.run for each in found[2:]]
    assert len(made.scattered) == 3
    list(run_missing(plan, dataset, client, retries_failed=True))
    assert len(made.scattered) == 6, "without what was sent before, all of it is sent"


class Cancelled(Executing):
    """The future of a run whose scheduler is gone."""

    def exception(self) -> None:
        return None

    def result(self) -> RunFigures:
        raise distributed.client.FutureCancelledError(self.task.id, "scheduler-connection-lost")


def test_a_scheduler_that_is_lost_is_one_error_and_no_result(monkeypatch, tmp_path):
    monkeypatch.setattr(distributed, "as_completed", InOrder)
    client: Any = Executed()
    client.submit = lambda _, run, *__, **___: Cancelled(run)
    plan = SweepPlan(
        inputs=(SweepInput(name="x"),), configurations=(SweepConfiguration(name="a"),), seeds=(0,)
    )
    dataset = SweepDataset(tmp_path)
    with pytest.raises(LostDaskScheduler, match=r"^the connection to .* was lost; .* kept"):
        list(run_missing(plan, dataset, client))
    assert not dataset.finished()


def test_configurations_of_the_same_content_are_one_run(tmp_path):
    same = (SweepConfiguration(name="a"), SweepConfiguration(name="b"))
    plan = SweepPlan(inputs=(SweepInput(name="x"),), configurations=same, seeds=(3, 4))
    found = missing_runs(plan, SweepDataset(tmp_path))
    assert [each[1:] for each in found] == [("x", "b", 3), ("x", "b", 4)]

"""Runs tests in processes: a copy of the tree for each worker, a fork of it for each run.

A worker has imported the third-party modules that podwright and its tests use, and nothing of
podwright, which saves each run the second that an interpreter needs to start. A run that takes far
longer than the same tests on the unchanged tree is stopped. The limit applies to processor time,
which does not depend on the load of the machine.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import coverage
import msgspec
import pytest
from tests.mutants.areas import ROOT

FROM_ELSEWHERE = (
    "hypothesis",
    "msgspec",
    "numba",
    "numpy",
    "pytest",
    "rich.console",
    "sqlite3",
    "sybil",
    "typer",
    "yaml",
)
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".mutants", ".hypothesis", ".*_cache", "dist", "*.sqlite"
)
MOST_MEMORY = 8 << 30
STOPPED = "took too long"
BROKEN = "did not come to an end"


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """The tests to run, on the tree with one changed file or on the unchanged tree.

    Parameters
    ----------
    path, source : str
        The changed file and its content; empty for the unchanged tree.
    files : tuple of str
        Test modules.
    tests : dict of str to float
        The tests in them to run, in this order, with their seconds on the unchanged tree; empty
        for all.
    seconds : float
        The duration of all of them.
    collected : tuple of str
        The test modules of the process that tries the change in memory first; empty for none.
    is_compiled : bool
        Whether kernels are compiled.
    is_traced : bool
        Whether to record the lines that each test runs, and not to stop at a failure.
    """

    path: str = ""
    source: str = ""
    files: tuple[str, ...]
    tests: dict[str, float] = {}
    seconds: float = 0.0
    collected: tuple[str, ...] = ()
    is_compiled: bool = True
    is_traced: bool = False


class Trace(msgspec.Struct, kw_only=True):
    """The reach of one test: seconds, and by path the lines that it runs, as a set of bits."""

    seconds: float = 0.0
    has_passed: bool = True
    lines: dict[str, bytes] = {}

    def runs(self, path: str, lines: range) -> bool:
        """Whether the test runs one of the lines."""
        bits = int.from_bytes(self.lines.get(path, b""), "little")
        return bool(bits >> lines.start & (1 << len(lines)) - 1)


class Outcome(msgspec.Struct, kw_only=True):
    """The result of a run.

    Parameters
    ----------
    failed : str
        The first test that failed, or the event that stopped the run; empty if all passed.
    ran : int
        The number of tests that ran.
    traces : dict
        By test, for a traced run; under the empty name the lines that run when the modules are
        imported.
    log : str
        The end of the output of a run that was stopped.
    """

    failed: str = ""
    ran: int = 0
    traces: dict[str, Trace] = {}
    log: str = ""


class Observer:
    """The plugin that selects tests and records their results."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._places = {test: place for place, test in enumerate(run.tests)}
        self._source_folder = f"{Path.cwd()}/src/"
        self._coverage = coverage.Coverage(
            data_file=None,
            config_file=False,
            include=[f"{self._source_folder}*"],
            omit=["*/tests/*"],
        )
        self.outcome = Outcome(traces={"": Trace()} if run.is_traced else {})
        if run.is_traced:
            self._coverage.start()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        stop_at_first_example()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Select the tests of the run, in its order.

        A table of the product that has the cases of a test may have others with the change: if a
        case is gone, all others of its function follow.
        """
        if self._places:
            present = {item.nodeid for item in items}
            changed = {function_of(test) for test in self._places if test not in present}
            last = len(self._places)
            items[:] = sorted(
                (i for i in items if i.nodeid in self._places or function_of(i.nodeid) in changed),
                key=lambda item: self._places.get(item.nodeid, last),
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Trace the calls of a test."""
        if not self._run.is_traced:
            return (yield)
        trace = self.outcome.traces.setdefault(item.nodeid, Trace())
        started = time.process_time()
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")
            trace.seconds = round(time.process_time() - started, 3)

    def pytest_sessionfinish(self) -> None:
        """Collect the lines of all tests."""
        if not self._run.is_traced:
            return
        self._coverage.stop()
        data = self._coverage.get_data()
        for path in data.measured_files():
            bits = dict.fromkeys(self.outcome.traces, 0)
            for line, tests in data.contexts_by_lineno(path).items():
                for test in tests:
                    bits[test] |= 1 << line
            name = path[len(self._source_folder) - len("src/") :]
            for test, lines in bits.items():
                if lines:
                    size = lines.bit_length() // 8 + 1
                    self.outcome.traces[test].lines[name] = lines.to_bytes(size, "little")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the first test that failed."""
        self.outcome.ran += report.when == "call"
        if report.failed:
            self.outcome.failed = self.outcome.failed or report.nodeid
            if report.nodeid in self.outcome.traces:
                self.outcome.traces[report.nodeid].has_passed = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a module that cannot be imported."""
        if report.failed:
            self.outcome.failed = self.outcome.failed or f"collecting {report.nodeid}"


def stop_at_first_example() -> None:
    """Stop Hypothesis at the first failing example; the smallest example is not needed."""
    from hypothesis import Phase, settings

    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", settings.default, phases=phases, database=None)
    settings.load_profile("mutants")


def function_of(test: str) -> str:
    """Return the name of a test without the one of its case."""
    return test.partition("[")[0]


def pool_of(jobs: int, folder: Path) -> ProcessPoolExecutor:
    """Return workers, each with a copy of the tree in `folder`."""
    context = multiprocessing.get_context("fork")
    numbers = context.SimpleQueue()
    for number in range(jobs):
        numbers.put(number)
    for name in FROM_ELSEWHERE:
        importlib.import_module(name)
    return ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_begin, initargs=(numbers, folder)
    )


def _begin(numbers: Any, folder: Path) -> None:
    copy = folder / f"copy-{numbers.get()}"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ROOT, copy, ignore=LEFT_OUT, symlinks=True)
    os.chdir(copy)
    # Commands that a test starts must also use the copy instead of the tree.
    os.environ["PYTHONPATH"] = f"{copy / 'src'}"
    here = (str(ROOT), str(ROOT / "src"), "")
    sys.path[:] = [str(copy / "src"), str(copy), *(path for path in sys.path if path not in here)]


def perform(run: Run) -> Outcome:
    """Execute a run in this worker's copy, in a separate process."""
    if not run.path:
        return _forked(run)
    changed = Path(run.path)
    kept = changed.with_suffix(".kept")
    # The copy keeps its modification time, so that its compiled files are valid again afterwards.
    shutil.copy2(changed, kept)
    changed.write_text(run.source, encoding="utf-8")
    try:
        return _forked(run)
    finally:
        kept.replace(changed)


def _forked(run: Run) -> Outcome:
    result, log = Path("outcome.msgpack").absolute(), Path("outcome.log").absolute()
    for file in (result, log):
        file.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _run_and_exit(run, result, log)
    stopped = _wait(child, 60 + 20 * run.seconds)
    if stopped or not result.exists():
        return Outcome(failed=stopped or BROKEN, log=_tail(log))
    return msgspec.msgpack.decode(result.read_bytes(), type=Outcome)


def _tail(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-2000:] if log.exists() else ""


def _wait(child: int, seconds: float) -> str:
    """Wait for a process and stop all its children; return the reason if it did not exit itself."""
    deadline = time.monotonic() + seconds
    done, status = os.waitpid(child, os.WNOHANG)
    pause = 0.005
    while not done and time.monotonic() < deadline:
        time.sleep(pause)
        pause = min(pause * 1.2, 0.1)
        done, status = os.waitpid(child, os.WNOHANG)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if not done:
        os.waitpid(child, 0)
        return STOPPED
    return STOPPED if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU else ""


def _run_and_exit(run: Run, result: Path, log: Path) -> None:
    status = 70
    try:
        as_in_a_run(log, is_compiled=run.is_compiled)
        if not run.is_traced:
            cpu = int(20 + 5 * run.seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 5))
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
            sys.dont_write_bytecode = True
            os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        outcome = _pytest(run)
        result.write_bytes(msgspec.msgpack.encode(outcome))
        status = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the log has it and nothing follows
        traceback.print_exc()
    finally:
        os._exit(status)


def as_in_a_run(log: Path, *, is_compiled: bool) -> None:
    """Prepare a new process for tests: its own group, its output in a file, the copy's modules."""
    os.setsid()
    with log.open("wb", buffering=0) as lines:
        os.dup2(lines.fileno(), 1)
        os.dup2(lines.fileno(), 2)
    for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
        del sys.modules[name]  # loaded from the tree; the copy has its own
    os.environ["NUMBA_DISABLE_JIT"] = "0" if is_compiled else "1"
    importlib.import_module("numba.core.config").reload_config()


def _pytest(run: Run) -> Outcome:
    observer = Observer(run)
    first = [] if run.is_traced else ["-x"]
    # Imported before pytest rewrites their assertions, which are not needed here.
    imported = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    options = ["-q", "--tb=line", "-p", "no:cacheprovider", *imported, *first]
    status = pytest.main([*options, *run.files], plugins=[observer])
    outcome = observer.outcome
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        outcome.failed = outcome.failed or f"pytest ended with {status!r}"
    return outcome

"""Tries mutants in the memory of a process that has collected the tests: a fork for each.

Nothing is imported or collected again: the fork replaces the code of the mutated functions, and
runs the tests. It takes a fifth of the time of a run that imports everything. What it cannot show,
such as a change of code that runs at import, or in a command that a test starts, needs such a run.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import resource
import select
import signal
import sys
import traceback
from collections import Counter
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FunctionType

import msgspec
import pytest
from tests.mutants.workers import (
    MOST_MEMORY,
    STOPPED,
    Outcome,
    Run,
    as_in_a_run,
    perform,
    stop_at_first_example,
)

Codes = dict[str, CodeType]
"""The code of a module and of what it defines, by place: `/Queue#0/pop#0`."""

_OF_FUNCTION = 0x0002  # inspect.CO_NEWLOCALS, which the code of a class does not have
_CANNOT = "cannot be replaced"
_END = b"\n"


def codes_of(source: str, path: str) -> Codes:
    """Return all code of a module; raise SyntaxError if it is not Python."""
    found: Codes = {}

    def add(code: CodeType, place: str) -> None:
        found[place] = code
        nested = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        names = [each.co_name for each in nested]
        for index, each in enumerate(nested):
            add(each, f"{place}/{each.co_name}#{names[:index].count(each.co_name)}")

    add(compile(source, path, "exec", dont_inherit=True), "")
    return found


def only_functions_differ(before: Codes, after: Codes) -> bool:
    """Whether code of functions differs, and none that runs at import."""
    if any(place not in after for place in before):
        return False
    differing = [code for place, code in before.items() if _own(code) != _own(after[place])]
    return bool(differing) and all(code.co_flags & _OF_FUNCTION for code in differing)


def _own(code: CodeType) -> tuple[object, ...]:
    """Return what a code does itself, without what it defines."""
    constants = tuple(
        None if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts
    )
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return (code.co_code, constants, names, counts)


class Collected:
    """A process that has collected test modules and runs mutants in forks of itself.

    Parameters
    ----------
    files : tuple of str
        The test modules.
    is_compiled : bool
        Whether kernels are compiled.
    log : pathlib.Path
        The file for the output of the process.
    """

    def __init__(self, files: tuple[str, ...], log: Path, *, is_compiled: bool) -> None:
        self._connection, theirs = multiprocessing.Pipe()
        self._child = os.fork()
        if self._child == 0:
            self._connection.close()
            _collect_and_exit(files, theirs, log, is_compiled=is_compiled)
        theirs.close()

    def perform(self, run: Run) -> Outcome | None:
        """Return the outcome if a test fails; None may also mean that this process cannot tell."""
        try:
            self._connection.send_bytes(msgspec.msgpack.encode(run))
            return msgspec.msgpack.decode(self._connection.recv_bytes(), type=Outcome | None)
        except (EOFError, OSError):
            return None

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self._child, 0)


_present: dict[tuple[str, ...], Collected] = {}
"""The process of this worker, by its test modules: one at most."""


def attempt(run: Run) -> Outcome:
    """Perform a run: in memory first if it says so, and where no test fails there, as a whole."""
    if not run.collected:
        return perform(run)
    if run.collected not in _present:
        for files in list(_present):
            _present.pop(files).close()
        log = Path("collected.log").absolute()
        _present[run.collected] = Collected(run.collected, log, is_compiled=run.is_compiled)
    return _present[run.collected].perform(run) or perform(run)


def _collect_and_exit(
    files: tuple[str, ...], connection: Connection, log: Path, *, is_compiled: bool
) -> None:
    try:
        as_in_a_run(log, is_compiled=is_compiled)
        options = ["-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:terminalreporter"]
        imported = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        pytest.main([*options, *imported, *files], plugins=[_Loop(connection)])
    except BaseException:  # noqa: BLE001 - whatever it is, the log has it and nothing follows
        traceback.print_exc()
    finally:
        os._exit(0)


class _Loop:
    """The plugin that takes the place of pytest's own loop over tests."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._result = -1
        self._items: dict[str, pytest.Item] = {}
        self._functions: dict[str, list[tuple[str, FunctionType]]] = {}
        self._codes: dict[str, Codes] = {}
        self._passes: dict[str, bool] = {}

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        stop_at_first_example()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """In a fork, send the first failure and end."""
        if report.failed:
            os.write(self._result, report.nodeid.encode()[: select.PIPE_BUF])
            os._exit(0)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Perform runs until the other end closes."""
        self._items = {item.nodeid: item for item in session.items}
        gc.unfreeze()  # frozen objects are not found
        while True:
            try:
                run = msgspec.msgpack.decode(self._connection.recv_bytes(), type=Run)
            except EOFError:
                return True
            self._connection.send_bytes(msgspec.msgpack.encode(self._perform(run)))

    def _perform(self, run: Run) -> Outcome | None:
        codes, functions = self._of_module(run.path)
        try:
            after = codes_of(run.source, str(Path(run.path).absolute()))
        except SyntaxError:
            return Outcome(failed="not a module")
        if not only_functions_differ(codes, after):
            return None
        tests = {test: seconds for test, seconds in run.tests.items() if test in self._items}
        failed = self._fork(functions, after, tests)
        if failed in ("", _CANNOT) or not self._passes_unchanged(failed, tests):
            return None
        return Outcome(failed=failed, ran=len(tests))

    def _of_module(self, path: str) -> tuple[Codes, list[tuple[str, FunctionType]]]:
        """Return the code of a module as it is, and the functions that have it."""
        if path not in self._codes:
            place = str(Path(path).absolute())
            self._codes[path] = codes_of(Path(path).read_text(encoding="utf-8"), place)
            found = self._codes[path].items()
            counts = Counter(_identity(code) for _, code in found)
            # Of two lambdas of one line it is not known which is which; they keep their code.
            of = {key: name for name, code in found if counts[key := _identity(code)] == 1}
            self._functions[path] = [
                (of[_identity(each.__code__)], each)
                for each in gc.get_objects()
                if type(each) is FunctionType
                if each.__code__.co_filename == place and _identity(each.__code__) in of
            ]
        return self._codes[path], self._functions[path]

    def _passes_unchanged(self, failed: str, tests: dict[str, float]) -> bool:
        """Whether the test that failed on a mutant passes here on the unchanged tree.

        A fork that came to no end does not say which test it was: all of them have to pass.
        """
        if failed not in self._items:
            return not self._fork([], {}, tests)
        if failed not in self._passes:
            self._passes[failed] = not self._fork([], {}, {failed: tests[failed]})
        return self._passes[failed]

    def _fork(
        self,
        functions: list[tuple[str, FunctionType]],
        after: Codes,
        tests: dict[str, float],
    ) -> str:
        """Run tests with other code; return the first that failed, or why they stopped."""
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            self._result = theirs
            items = {self._items[test]: seconds for test, seconds in tests.items()}
            _run_and_exit(functions, after, items, theirs)
        os.close(theirs)
        has_ended = select.select([ours], [], [], 60 + 20 * sum(tests.values()))[0]
        message = os.read(ours, select.PIPE_BUF) if has_ended else b""
        os.close(ours)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return message.rstrip(_END).decode(errors="replace") if message else STOPPED


def _identity(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _run_and_exit(
    functions: list[tuple[str, FunctionType]],
    after: Codes,
    items: dict[pytest.Item, float],
    result: int,
) -> None:
    """Replace the code, run the tests, and write a line without a name if all pass."""
    try:
        os.setsid()
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        try:
            for place, function in functions:
                function.__code__ = after[place]
        except ValueError:  # a closure over more or fewer names
            os.write(result, _CANNOT.encode())
            return
        for item, following in zip(items, [*list(items)[1:], None], strict=True):
            # The signal ends the process. The limit is one of processor time, as in a run.
            signal.setitimer(signal.ITIMER_VIRTUAL, 5 + 5 * items[item])
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        os.write(result, _END)
    except BaseException:  # noqa: BLE001 - a test that ends its process has noticed something
        traceback.print_exc()
    finally:
        os._exit(0)

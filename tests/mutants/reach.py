"""The functions that each test reaches: recorded by running each test once, and kept.

The record of a test module is kept until the module changes. Another change of the code can change
what a test reaches; a fresh run records it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor, as_completed
from pathlib import Path
from types import MappingProxyType

import msgspec
from tests.mutants.areas import ROOT, Settings, modules_of_tests
from tests.mutants.sample import Mutant
from tests.mutants.workers import Run, Trace, perform


class Known(msgspec.Struct, kw_only=True):
    """The record of one test module."""

    digest: str
    traces: dict[str, Trace]


class Reach:
    """The tests of one way to run them, with kernels compiled or not.

    Parameters
    ----------
    path : pathlib.Path
        The file of the record.
    is_compiled : bool
        Whether kernels are compiled.
    """

    def __init__(self, path: Path, *, is_compiled: bool) -> None:
        self._path = path
        self._is_compiled = is_compiled
        self._known: dict[str, Known] = {}
        self._by_function: dict[str, set[str]] = {}
        if path.exists():
            self._known = msgspec.json.decode(path.read_bytes(), type=dict[str, Known])

    def learn(self, files: Iterable[str], pool: Executor) -> list[str]:
        """Run the modules without a record; return the tests that fail on the unchanged tree."""
        requested = {file: digest_of(file) for file in files}
        new = [
            file
            for file, digest in requested.items()
            if file not in self._known or self._known[file].digest != digest
        ]
        runs = [
            Run(files=(file,), is_compiled=self._is_compiled, is_traced=True, seconds=60)
            for file in new
        ]
        pending = {pool.submit(perform, run): run.files[0] for run in runs}
        self._by_function.clear()
        written = 0
        try:
            for done, future in enumerate(as_completed(pending), 1):
                file = pending[future]
                self._known[file] = Known(digest=requested[file], traces=future.result().traces)
                if done >= written + 20:
                    self._keep()
                    written = done
        finally:
            if new:
                self._keep()
        return [
            test
            for file in requested
            for test, trace in self._known[file].traces.items()
            if not trace.has_passed
        ]

    def _keep(self) -> None:
        self._path.write_bytes(msgspec.json.encode(self._known))

    def tests_for(
        self,
        mutant: Mutant,
        files: Iterable[str],
        most_seconds: float,
        kills: Mapping[str, int] = MappingProxyType({}),
    ) -> dict[str, float]:
        """Return the tests of `files` that may kill a mutant, most promising first, with seconds.

        Tests that reach the changed function come first. The other tests of their modules follow,
        because they may use the state of a fixture. For a line outside of all functions the tests
        that reach any function of the module come first. If no test reaches the function, all
        tests are returned. Among equals, tests that killed more mutants of the area come first,
        and then the shortest.
        """
        reaching = self._reaching(mutant)
        classes: list[list[tuple[int, float, str]]] = [[], [], []]
        for file in files:
            traces = self._known[file].traces
            is_reaching = not reaching.isdisjoint(traces)
            for test, trace in traces.items():
                if trace.has_passed:
                    rank = 0 if test in reaching else 1 if is_reaching else 2
                    classes[rank].append((-kills.get(test, 0), trace.seconds, test))
        if mutant.function and classes[0]:
            classes.pop()
        chosen: dict[str, float] = {}
        left = most_seconds
        for _, seconds, test in (entry for rank in classes for entry in sorted(rank)):
            if seconds <= left:
                chosen[test] = seconds
                left -= seconds
        return chosen

    def _reaching(self, mutant: Mutant) -> set[str]:
        """Return the tests that ran the changed function, or any function of its module."""
        if not self._by_function:
            for known in self._known.values():
                for test, trace in known.traces.items():
                    for function in trace.functions:
                        self._by_function.setdefault(function, set()).add(test)
        start = f"{mutant.path.as_posix()}::"
        if mutant.function:
            return self._by_function.get(start + mutant.function, set())
        parts = (tests for name, tests in self._by_function.items() if name.startswith(start))
        return set().union(*parts)


def digest_of(file: str) -> str:
    """Return a digest that identifies the version of a test module."""
    return hashlib.sha256((ROOT / file).read_bytes()).hexdigest()


def stages_of(mutant: Mutant, settings: Settings) -> tuple[list[str], list[str], list[str]]:
    """Return the test modules beside a mutated module, the early ones, and all others."""
    every = modules_of_tests(settings.tests_of(mutant.area), ROOT)
    early = set(modules_of_tests(settings.early_tests, ROOT))
    near = [file for file in every if is_beside(Path(file), mutant.path)]
    later = [file for file in every if file not in set(near)]
    return (
        near,
        [file for file in later if file in early],
        [file for file in later if file not in early],
    )


def is_beside(file: Path, path: Path) -> bool:
    """Whether a test module is in the `tests` folder of a module's room, or above it."""
    room = file.parent.parent
    return file.parent.name == "tests" and room in path.parents and len(room.parts) > 2

"""The lines that each test runs: recorded by running each test once, and kept.

The record of a test module is kept until the module or the data beside it changes, or a mutated
module that it reached. Another change of the code can change what a test reaches; a fresh run
records it again. A test module that does not come to an end has no record, is left out, and runs
again in the next run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from concurrent.futures import Executor, as_completed
from functools import cache
from pathlib import Path
from types import MappingProxyType

import msgspec
from tests.mutants.areas import ROOT, Settings, modules_of_tests
from tests.mutants.sample import Mutant
from tests.mutants.workers import Run, Trace, perform

_SECONDS = 25
"""What a module of tests may need; the limit of a run allows for tracing and a busy machine."""

_INSTANT_SECONDS = 0.01
"""So many of such tests fit into a run that they need not be promising."""


class Known(msgspec.Struct, kw_only=True):
    """The record of one test module."""

    digest: str
    sources: dict[str, str]
    traces: dict[str, Trace]

    def is_current(self, digest: str, sources: Mapping[str, str]) -> bool:
        """Whether neither the test module nor what it reached of `sources` has changed."""
        return self.digest == digest and all(
            self.sources.get(path, digest) == digest for path, digest in sources.items()
        )


class Reach:
    """The tests of one way to run them, with kernels compiled or not.

    Parameters
    ----------
    path : pathlib.Path
        The file of the record.
    is_compiled : bool
        Whether kernels are compiled.

    Attributes
    ----------
    unfinished : dict
        The test modules that did not come to an end on the unchanged tree, with the end of their
        output.
    """

    def __init__(self, path: Path, *, is_compiled: bool) -> None:
        self._path = path
        self._is_compiled = is_compiled
        self._known: dict[str, Known] = {}
        self.unfinished: dict[str, str] = {}
        if path.exists():
            self._known = msgspec.msgpack.decode(path.read_bytes(), type=dict[str, Known])

    def learn(self, files: Iterable[str], mutated: Iterable[str], pool: Executor) -> list[str]:
        """Run the modules without a record; return the tests that fail on the unchanged tree."""
        requested = {file: digest_of_tests(file) for file in files}
        sources = {path: digest_of(path) for path in mutated}
        new = [
            file
            for file, digest in requested.items()
            if file not in self.unfinished
            if file not in self._known or not self._known[file].is_current(digest, sources)
        ]
        runs = [
            Run(files=(file,), is_compiled=self._is_compiled, is_traced=True, seconds=_SECONDS)
            for file in new
        ]
        pending = {pool.submit(perform, run): run.files[0] for run in runs}
        written = 0
        try:
            for done, future in enumerate(as_completed(pending), 1):
                file = pending[future]
                outcome = future.result()
                if not outcome.traces:
                    self.unfinished[file] = f"{outcome.failed}\n{outcome.log}"
                    self._known.pop(file, None)
                    continue
                traces = outcome.traces
                reached = {path for trace in traces.values() for path in trace.lines}
                self._known[file] = Known(
                    digest=requested[file],
                    sources={path: digest_of(path) for path in sorted(reached)},
                    traces=traces,
                )
                if done >= written + 20:
                    self._keep()
                    written = done
        finally:
            if new:
                self._keep()
        return [
            test
            for file in requested
            if file in self._known
            for test, trace in self._known[file].traces.items()
            if not trace.has_passed
        ]

    def _keep(self) -> None:
        self._path.write_bytes(msgspec.msgpack.encode(self._known))

    def tests_for(
        self,
        mutant: Mutant,
        files: Iterable[str],
        most_seconds: float,
        kills: Mapping[str, int] = MappingProxyType({}),
        first: Container[str] = (),
    ) -> dict[str, float]:
        """Return the tests of `files` that may kill a mutant, most promising first, with seconds.

        Tests that run the changed statement come first. Of a statement that runs when a module is
        imported, these are the tests that run any line of the module, and those that take no time:
        they may only read what the statement makes. The other tests of their modules follow,
        because they may use the state of a fixture or of a cache. Among equals, those of the
        modules `first` come first, then those that killed more mutants of the area, and then the
        shortest. If no test
        runs the statement, a fork of one may, of which there is no record: then the tests that
        run the module are chosen.
        """
        path, lines = mutant.path.as_posix(), mutant.statement
        known = {file: self._known[file].traces for file in files if file not in self.unfinished}
        is_seen = any(
            trace.runs(path, lines) for traces in known.values() for trace in traces.values()
        )
        classes: list[list[tuple[bool, int, float, str]]] = [[], []]
        for file, traces in known.items():
            is_imported = traces[""].runs(path, lines)
            reaching = {
                test
                for test, trace in traces.items()
                if test
                if trace.runs(path, lines) or (path in trace.lines and (is_imported or not is_seen))
            }
            if not reaching and not is_imported:
                continue
            for test, trace in traces.items():
                if test and trace.has_passed:
                    is_instant = is_imported and trace.seconds < _INSTANT_SECONDS
                    entry = (file not in first, -kills.get(test, 0), trace.seconds, test)
                    classes[test not in reaching and not is_instant].append(entry)
        chosen: dict[str, float] = {}
        left = most_seconds
        for _, _, seconds, test in (entry for rank in classes for entry in sorted(rank)):
            if seconds <= left:
                chosen[test] = seconds
                left -= seconds
        return chosen


@cache
def digest_of(file: str) -> str:
    """Return a digest that identifies the version of a module; empty if it is gone meanwhile."""
    path = ROOT / file
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


@cache
def digest_of_tests(file: str) -> str:
    """Return a digest of a test module and of the data beside it, which has tests as well."""
    digest = hashlib.sha256(digest_of(file).encode())
    for path in sorted((ROOT / file).parent.iterdir()):
        if path.is_file() and path.suffix != ".py":
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def stages_of(mutant: Mutant, settings: Settings) -> tuple[list[str], list[str], list[str]]:
    """Return the test modules beside a mutated module, the early ones, and all others.

    What holds in all rooms has its tests in one place, which is beside each of them.
    """
    every = modules_of_tests(settings.tests_of(mutant.area), ROOT)
    early = set(modules_of_tests(settings.early_tests, ROOT))
    everywhere = modules_of_tests(settings.everywhere, ROOT)
    near = [file for file in every if file in everywhere or is_beside(Path(file), mutant.path)]
    later = [file for file in every if file not in set(near)]
    return (
        near,
        [file for file in later if file in early],
        [file for file in later if file not in early],
    )


def is_beside(file: Path, path: Path) -> bool:
    """Whether a test module is in the `tests` folder of a module's room, or above it."""
    room = file.parent.parent
    # Every module is below the package: its tests are only beside the modules at its top.
    is_room = len(room.parts) > 2 or path.parent == room
    return file.parent.name == "tests" and room in path.parents and is_room

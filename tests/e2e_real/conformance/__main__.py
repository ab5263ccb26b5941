"""Run upstream's end-to-end suite against `podwright up`: ``python -m tests.e2e_real.conformance``.

The specs of tests/e2e/conformance_required.txt are divided among servers and, on each server,
processes of the suite. Specs that are [Serial] have a server to themselves. Results are kept in
the folder, so an interrupted run continues: without options, the specs run that have no result for
the present source code. The run alone writes tests/e2e/conformance_passed.txt, once each spec has a
result for one source code.
"""

from __future__ import annotations

import argparse
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.e2e_real.cluster_processes import embedded
from tests.e2e_real.conformance.results import ResultsFile, source_digest
from tests.e2e_real.conformance.specs import (
    EXCLUDED,
    PASSED,
    REQUIRED,
    batches,
    count_by_area,
    is_conformance,
    is_serial,
    read_names,
    write_names,
)
from tests.e2e_real.conformance.suite import run
from tests.real_parts.binaries import AbsentBinaryError, find

import podwright as pw

NODES = 3
IMAGES = Path(__file__).with_name("images.yaml")
"""What the images of the specs do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run specs; return 1 if a required one has not passed, 2 for wrong arguments."""
    options = _parser().parse_args(arguments)
    try:
        find("e2e.test"), find("kubectl")
    except AbsentBinaryError as error:
        print(f"{error}\n(make real-parts REAL='e2e.test kubectl')", file=sys.stderr)
        return 3
    source = source_digest(Path(pw.__file__).parent)
    folder: Path = options.folder.resolve()
    results = ResultsFile(folder / "results.jsonl")
    required = read_names(REQUIRED)
    known = required if options.names is None else read_names(options.names)
    names = known
    if options.only is not None:
        names = [each for each in names if options.only.search(each)]
    if options.again == "failed":
        names = [each for each in names if each not in set(results.passed(names))]
    elif options.again is None and options.only is None:
        names = results.missing(names, source=source)
    if options.only is None:
        names = [each for each in names if each not in EXCLUDED]
    if not names and options.only is not None and options.again != "failed":
        print(f"No name in {options.names or REQUIRED} matches {options.only.pattern}.")
        return 2
    print(f"{len(names)} of {len(known)} specs; results in {folder}", flush=True)
    began = time.monotonic()
    if names:
        runner = _Runner(results, folder, source, options)
        runner.run(names)
    seconds = time.monotonic() - began
    is_complete = known is required and not set(results.missing(known, source=source)) - set(
        EXCLUDED
    )
    return _summary(results, known, names, seconds, is_complete=is_complete)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e_real.conformance")
    parser.add_argument("--only", type=re.compile, help="run the specs that match, in any case")
    parser.add_argument(
        "--again", choices=["failed", "all"], help="run those that have not passed, or all"
    )
    parser.add_argument("--names", type=Path, help="a file of other names, one a line")
    parser.add_argument("--servers", type=int, default=2, help="servers side by side (2)")
    parser.add_argument(
        "--processes", type=int, default=3, help="of the suite on each server, side by side (3)"
    )
    parser.add_argument("--batch", type=int, default=8, help="the most specs of a process (8)")
    parser.add_argument(
        "--folder", type=Path, default=Path(".reports/e2e-conformance"), help="results and logs"
    )
    parser.add_argument("--kubeconfig", type=Path, help="a running cluster to use instead")
    parser.add_argument(
        "--up", default="", help="more options of podwright up, such as --up=--no-controllers"
    )
    return parser


class _Runner:
    """Servers, and the processes of the suite on them."""

    def __init__(
        self, results: ResultsFile, folder: Path, source: str, options: argparse.Namespace
    ) -> None:
        self._results = results
        self._folder = folder
        self._source = source
        self._options = options
        self._lock = threading.Lock()
        self._processes = 0
        self._done = 0
        self._count = 0
        shutil.rmtree(folder / "logs", ignore_errors=True)

    def run(self, names: Sequence[str]) -> None:
        """Run the specs: first those that share a cluster, then the others."""
        self._count = len(names)
        shared = [each for each in names if not is_serial(each)]
        alone = [each for each in names if is_serial(each)]
        self._run_phase("shared", shared, self._options.processes)
        self._run_phase("serial", alone, 1)

    def _run_phase(self, phase: str, names: Sequence[str], processes: int) -> None:
        waiting: queue.SimpleQueue[tuple[str, ...]] = queue.SimpleQueue()
        todo = batches(names, self._results.seconds, size=self._options.batch)
        for batch in todo:
            waiting.put(batch)
        servers = 1 if self._options.kubeconfig else self._options.servers
        servers = min(servers, -(-len(todo) // processes))
        _in_threads(
            [partial(self._serve, f"{phase}-{n}", waiting, processes) for n in range(servers)]
        )

    def _serve(
        self, name: str, waiting: queue.SimpleQueue[tuple[str, ...]], processes: int
    ) -> None:
        if self._options.kubeconfig:
            self._take_batches(self._options.kubeconfig.resolve(), waiting, processes)
            return
        folder = self._folder / "logs" / name
        options = ("--nodes", str(NODES), "--tls", f"--images={IMAGES}", *self._options.up.split())
        with embedded(folder, *options) as kubeconfig:
            self._take_batches(kubeconfig, waiting, processes)

    def _take_batches(
        self, kubeconfig: Path, waiting: queue.SimpleQueue[tuple[str, ...]], processes: int
    ) -> None:
        def take() -> None:
            while True:
                try:
                    batch = waiting.get_nowait()
                except queue.Empty:
                    return
                self._run_batch(batch, kubeconfig)

        _in_threads([take] * processes)

    def _run_batch(self, batch: tuple[str, ...], kubeconfig: Path) -> None:
        with self._lock:
            self._processes += 1
            folder = self._folder / "logs" / f"batch-{self._processes}"
        found = run(batch, kubeconfig, folder, source=self._source)
        self._results.add(found)
        with self._lock:
            self._done += len(found)
            for each in found:
                print(f"{each.state:8}{each.seconds:6.0f} s  {each.name}")
                if each.state != "passed":
                    print(f"    {' '.join(each.error.split())[:300]}\n    {folder / 'e2e.log'}")
            print(f"{self._done} of {self._count}", flush=True)


def _in_threads(calls: Sequence[Callable[[], None]]) -> None:
    errors: list[BaseException] = []

    def guarded(call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised again by the caller's thread
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _summary(
    results: ResultsFile, known: list[str], names: list[str], seconds: float, *, is_complete: bool
) -> int:
    passed = results.passed(known)
    if is_complete:
        write_names(PASSED, passed)
    required = [sum(map(is_conformance, each)) for each in (passed, known)]
    others = [len(each) - count for each, count in zip((passed, known), required, strict=True)]
    print(f"\nThe run took {seconds / 60:.0f} min {seconds % 60:.0f} s for {len(names)} specs.")
    by_area = count_by_area(passed)
    for area, count in count_by_area(known).items():
        print(f"  {area:22}{by_area.get(area, 0):4} of {count}")
    print(f"Conformance specs passed: {required[0]} of {required[1]}")
    print(f"Other specs passed: {others[0]} of {others[1]}")
    missing = [each for each in known if each not in {*passed, *EXCLUDED}]
    for each in missing:
        print(f"  not passed: {each}")
    print(f"Excluded: {len(set(EXCLUDED).difference(passed))}")
    return 1 if missing else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KeyboardInterrupt, subprocess.SubprocessError) as error:
        sys.exit(f"ended: {error!r}; run again to continue")

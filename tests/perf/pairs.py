"""Compares benchmarks of two commits in interleaved pairs, on CPU time.

    python -m tests.perf.pairs --against REF                      the cases of both commits
    python -m tests.perf.pairs --against REF --only a,b --runs 12
    python -m tests.perf.pairs --against REF --share              a few short cases, two pairs

The other commit is checked out in a temporary worktree. Each run is a separate process, that of
this commit first in every second pair, so that a machine that becomes slower or faster changes both
alike. A ratio above 1 means that this commit is better. Nothing is asserted.

The clock is the CPU time of the process and of all processes that it has started, those that run
included, also where a case measures elapsed time. Both commits run with the packages of this
environment.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).parents[2]
_KERNELS = Path.home() / ".cache" / "podwright" / "kernels"


class Found(NamedTuple):
    """A case of a commit: the module that has it, and whether a greater figure is better."""

    module: str
    is_more_better: bool


SHARE = ("engine_first_decision_5000", "engine_antiaffinity_5000")
"""Cases of a few seconds."""

# The cases are those of the commit; this code is the same for both. Only the module of the case is
# imported: the others would count in the start.
_LIST = """
import importlib, sys
for name in sys.argv[1:]:
    for case in importlib.import_module(f"tests.perf.{name}").CASES:
        print(case.name, name, case.is_more_better)
"""
_RUN = """
import importlib, os, resource, sys, time
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")

def cpu_s():
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds) + running_s("self")

# A server that a case has started has not ended when its figure is taken.
def running_s(pid):
    found = 0.0
    for children in Path("/proc", pid, "task").glob("*/children"):
        for child in children.read_text().split():
            try:
                fields = Path("/proc", child, "stat").read_text().rpartition(")")[2].split()
                # utime, stime, and the same of its children that have ended.
                found += sum(map(int, fields[11:15])) / TICKS_PER_S + running_s(child)
            except OSError:
                pass
    return found

time.perf_counter = cpu_s
# Cases start the script beside Python, which knows one commit only.
sys.executable = sys.argv[3]
module = importlib.import_module(f"tests.perf.{sys.argv[1]}")
case = next(case for case in module.CASES if case.name == sys.argv[2])
if not case.is_process_per_run:
    case.measure()
figure = case.measure()
print(cpu_s() if case.is_timed_from_start else figure)
"""
_SCRIPT = """
import importlib, sys
try:
    from podwright._console import main
except ImportError:
    from podwright.cli import main
sys.exit(main())
"""


def main() -> int:
    """Parse the options and run; return an exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--against", required=True, metavar="REF", help="the other commit")
    parser.add_argument("--only", default="", help="names of cases, separated by commas")
    parser.add_argument("--runs", type=int, default=6, help="pairs of each case")
    parser.add_argument("--share", action="store_true", help="a few short cases, two pairs")
    options = parser.parse_args()
    only = SHARE if options.share else tuple(name for name in options.only.split(",") if name)
    with worktree(options.against) as other, scripts() as python:
        if other is None:
            print(f"no such commit: {options.against}", file=sys.stderr)
            # A shallow clone has few commits, and the share is a report.
            return 0 if options.share else 2
        here, there = cases(_ROOT, only), cases(other, only)
        if missing := [name for name in only if name not in here or name not in there]:
            print(f"not in both commits: {', '.join(missing)}", file=sys.stderr)
            return 2
        print(f"{'case':36} {'here':>12} {'there':>12}    least median greatest ratio")
        for name in only or [name for name in here if name in there]:
            found = here[name]
            runs = 2 if options.share else options.runs
            pairs = list(measured(name, found, other, runs, python))
            print(line(name, pairs, is_more_better=found.is_more_better), flush=True)
    return 0


@contextmanager
def worktree(commit: str) -> Iterator[Path | None]:
    """Check out a commit for the time of the context; None if there is no such commit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "other")
        git = ["git", "-C", str(_ROOT), "worktree"]
        added = subprocess.run(
            [*git, "add", "--quiet", "--detach", str(path), commit], check=False
        )  # fmt: skip
        try:
            yield None if added.returncode else path
        finally:
            if not added.returncode:
                subprocess.run([*git, "remove", "--force", str(path)], check=True)


@contextmanager
def scripts() -> Iterator[Path]:
    """Make a folder with a script `podwright` of any commit; yield the Python beside it."""
    with tempfile.TemporaryDirectory() as folder:
        starts = {"python": "", "podwright": f" -c {shlex.quote(_SCRIPT)}"}
        for name, code in starts.items():
            path = Path(folder, name)
            path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{code} "$@"\n', "utf-8")
            path.chmod(0o755)
        yield Path(folder, "python")


def cases(root: Path, names: tuple[str, ...]) -> dict[str, Found]:
    """Return cases of a commit by their names; all without names."""
    texts = {file.stem: file.read_text("utf-8") for file in (root / "tests/perf").glob("*.py")}
    modules = sorted(
        module
        for module, text in texts.items()
        if "\nCASES = " in text and (not names or any(name in text for name in names))
    )
    listed = (each.split() for each in _output(root, _LIST, *modules).splitlines())
    found = {name: Found(module, better == "True") for name, module, better in listed}
    return {name: each for name, each in found.items() if not names or name in names}


def measured(
    case: str, here: Found, other: Path, runs: int, python: Path
) -> Iterator[tuple[float, float]]:
    """Run a case in pairs; yield the figures of this commit and of the other one."""

    def run(root: Path) -> float:
        return float(_output(root, _RUN, here.module, case, str(python)).split()[-1])

    # Kernels are compiled and bytecode is written before the first pair.
    for root in (_ROOT, other):
        run(root)
    for number in range(runs):
        if number % 2:
            yield run(_ROOT), run(other)
        else:
            there = run(other)
            yield run(_ROOT), there


def line(name: str, pairs: list[tuple[float, float]], *, is_more_better: bool) -> str:
    """Return the medians of both commits, and the ratios of the pairs."""
    here, there = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratios = [a / b if is_more_better else b / a for a, b in pairs]
    shown = (f"{of(ratios):>6.2f}" for of in (min, statistics.median, max))
    return f"{name:36} {here:>12,.2f} {there:>12,.2f}   {' '.join(shown)}"


def _output(root: Path, code: str, *arguments: str) -> str:
    """Run Python code in a commit; return what it prints."""
    paths = {"PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}", "PYTHONHASHSEED": "0"}
    # Bytecode is kept for the following runs, and machine code for the following comparisons.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    paths["NUMBA_CACHE_DIR"] = os.environ.get("NUMBA_CACHE_DIR", str(_KERNELS))
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, cwd=root, env=kept | paths, check=True, stdout=subprocess.PIPE, text=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main())

"""Run scenarios with seeds: ``python -m tests.real_parts.chaos scheduler --seeds 0-19``."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Final, TypeAlias

from tests.real_parts.binaries import AbsentBinaryError
from tests.real_parts.control_plane import FailedStartError

Scenario: TypeAlias = Callable[[int, Path], list[str]]
"""Runs one seed with its files in a folder, and returns what is wrong."""

SCENARIOS: Final = ("scheduler", "sync")
"""The modules with a function `run`, a `Scenario`."""


def seeds_of(text: str) -> list[int]:
    """Return the seeds of `3`, `0-19` or `1,4,7-9`."""
    found: list[int] = []
    for each in text.split(","):
        first, _, last = each.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def main(arguments: list[str]) -> int:
    """Run the seeds of each scenario; the status is 1 if one of them fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.real_parts.chaos")
    parser.add_argument("scenarios", nargs="+", choices=SCENARIOS, metavar="SCENARIO")
    parser.add_argument("--seeds", type=seeds_of, default="0-19", help="such as 0-19 or 3,7")
    parser.add_argument("--keep", action="store_true", help="keep the files of all runs")
    parsed = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)  # so that the processes of a run end, too
    failed = 0
    try:
        for name in parsed.scenarios:
            scenario: Scenario = import_module(f"tests.real_parts.chaos.{name}").run
            for seed, problems in _results(name, scenario, parsed.seeds, keeps=parsed.keep):
                failed += bool(problems)
                for problem in problems:
                    print(f"{name} {seed}: {problem}")
    except AbsentBinaryError as error:
        print(error, file=sys.stderr)
        return 3
    total = len(parsed.seeds) * len(parsed.scenarios)
    print(f"{total - failed} of {total} seeds passed")
    return 1 if failed else 0


def _results(
    name: str, scenario: Scenario, seeds: list[int], *, keeps: bool
) -> Iterator[tuple[int, list[str]]]:
    for seed in seeds:
        folder = Path(tempfile.mkdtemp(prefix=f"chaos-{name}-{seed}-"))
        began = time.monotonic()
        try:
            problems = scenario(seed, folder)
        except AbsentBinaryError:
            raise
        except (AssertionError, OSError, LookupError, FailedStartError):
            # A run that breaks is a result, too; the next seed runs.
            problems = [traceback.format_exc()]
        outcome = f"failed; files in {folder}" if problems else "passed"
        print(f"{name} {seed}: {outcome} ({time.monotonic() - began:.0f} s)", flush=True)
        yield seed, problems
        if not problems and not keeps:
            shutil.rmtree(folder, ignore_errors=True)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Runs benchmarks in separate processes, and prints the figures beside those of the last release.

    python -m tests.perf.bench                      all cases
    python -m tests.perf.bench --only a,b           some cases, or groups such as apps_up_5000
    python -m tests.perf.bench --json FILE          also write the figures
    python -m tests.perf.bench --list               print the names

A figure is the median of several runs after a warm-up run; the smallest and the largest result show
the noise. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.perf import (
    api,
    api_cluster,
    api_http,
    api_stages,
    apps_up,
    attacks,
    classic,
    comparing,
    control_endpoints,
    devices,
    engine,
    files,
    looking_back,
    machine as whole,
    recording,
    schema,
    selectors,
    server_turns,
    store,
    world,
)
from tests.perf.case import Case

CASES: dict[str, Case] = {
    case.name: case
    for case in (
        *engine.CASES,
        *selectors.CASES,
        *whole.CASES,
        *devices.CASES,
        *recording.CASES,
        *looking_back.CASES,
        *comparing.CASES,
        *store.CASES,
        *schema.CASES,
        *classic.CASES,
        *world.CASES,
        *files.CASES,
        *api.CASES,
        *api_cluster.CASES,
        *api_http.CASES,
        *api_stages.CASES,
        *apps_up.CASES,
        *server_turns.CASES,
        *attacks.CASES,
        *control_endpoints.CASES,
    )
}
FIGURES = Path(__file__).parent / "figures"
_ROOT = Path(__file__).parents[2]

Figures = dict[str, Any]


def main() -> int:
    """Parse the options and run; return an exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="names of cases, separated by commas")
    parser.add_argument("--json", default="", help="file to write the figures to")
    parser.add_argument("--runs", type=int, default=0, help="measured runs instead of the usual")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--inside", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return _run_inside(CASES[options.inside], options.runs)
    if options.list:
        for case in CASES.values():
            print(f"{case.name}  ({case.unit})  {(case.measure.__doc__ or '').splitlines()[0]}")
        return 0
    chosen = [name for name in options.only.split(",") if name]
    names = [case for name in chosen for case in _named(name)] or list(CASES)
    unknown = [name for name in chosen if not _named(name)]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; there are: {', '.join(CASES)}")
        return 2
    last_name, last = _last_figures()
    machine = _machine()
    print(_about(machine, last_name, last))
    measured: dict[str, Figures] = {}
    for name in names:
        case = CASES[name]
        runs = _measure(case, options.runs or case.runs)
        value = statistics.median(runs)
        measured[name] = {"value": _rounded(value), "unit": case.unit, "runs": runs}
        print(_line(case, value, runs, last), flush=True)
    if options.json:
        text = json.dumps({"cases": measured, "machine": machine}, indent=1)
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    return 0


def _named(name: str) -> list[str]:
    """Return the case of a name, or the cases of a group, whose names begin with it."""
    return [name] if name in CASES else [case for case in CASES if case.startswith(f"{name}_")]


def _measure(case: Case, runs: int) -> list[float]:
    if case.is_process_per_run:
        return [_one_process(case, 1)[0] for _ in range(runs)]
    return _one_process(case, runs)


def _one_process(case: Case, runs: int) -> list[float]:
    """Run a case in a separate process and parse its figures, one per line."""
    command = [sys.executable, "-m", "tests.perf.bench", "--inside", case.name, "--runs", str(runs)]
    # The hash seed is part of the input and equal in every run.
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    start_s = time.perf_counter()
    with subprocess.Popen(
        command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        found = []
        for line in process.stdout:
            elapsed_s = time.perf_counter() - start_s
            found.append(_rounded(elapsed_s if case.is_timed_from_start else float(line)))
    if process.returncode:
        raise SystemExit(f"{case.name} failed with status {process.returncode}")
    return found


def _run_inside(case: Case, runs: int) -> int:
    """Run as the process of one case: print one figure per run."""
    if not case.is_process_per_run:
        case.measure()
    for _ in range(runs):
        print(case.measure(), flush=True)
    return 0


def _last_figures() -> tuple[str, Figures]:
    """Return the figures of the newest release and its name; none before the first release."""
    files = sorted(FIGURES.glob("*.json"), key=lambda file: _numbers(file.stem))
    if not files:
        return "", {"cases": {}, "machine": {}}
    figures: Figures = json.loads(files[-1].read_text(encoding="utf-8"))
    return files[-1].stem, figures


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".") if part.isdigit())


def _about(machine: Figures, last_name: str, last: Figures) -> str:
    lines = ["  ".join(f"{key} {value}" for key, value in machine.items())]
    if last_name:
        lines.append(f"beside the figures of {last_name}")
        if last["machine"].get("cpu") != machine["cpu"]:
            lines.append(f"  which were measured on another machine: {last['machine']}")
    head = f"{'case':36} {'figure':>14}        {'least..greatest':>22} {'target':>9}"
    lines.append(head + (f" {last_name:>12} {'ratio':>7}" if last_name else ""))
    return "\n".join(lines)


def _line(case: Case, value: float, runs: list[float], last: Figures) -> str:
    spread = f"{_shown(min(runs))}..{_shown(max(runs))}"
    target = "" if case.target is None else _shown(case.target)
    text = f"{case.name:36} {_shown(value):>14} {case.unit:6} {spread:>22} {target:>9}"
    known = last["cases"].get(case.name)
    if known is None:
        return text.rstrip()
    ratio = value / known["value"]
    is_better = (ratio > 1) == case.is_more_better
    is_noise = min(runs) <= known["value"] <= max(runs)
    word = "within the noise" if is_noise else "better" if is_better else "worse"
    return f"{text} {_shown(known['value']):>12} {ratio:>7.2f} {word}"


def _rounded(value: float) -> float:
    return round(value, 3) if value < 100 else round(value)


def _shown(value: float) -> str:
    return f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def _machine() -> Figures:
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
    }


def _cpu_model() -> str:
    about = Path("/proc/cpuinfo")
    if about.exists():
        for line in about.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())

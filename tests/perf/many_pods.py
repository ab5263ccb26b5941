"""A simulated week on 5,000 nodes by the number of pods: CPU time and peak memory.

    python -m tests.perf.many_pods 10000 100000                        pw.simulate, from a table
    python -m tests.perf.many_pods 30000 --through files command       both from the same files

Nodes have 64 CPUs and 256 GiB. Pods arrive at random times of the week, request 0.25 to 4 CPUs and
run 11 minutes in the median (lognormal, sigma 1.5). Each run is a process of its own, with a run
folder; the figures are those of the whole process, with imports and machine code.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np

import podwright as pw
from podwright.apimachinery.objects import encode

_WEEK_S = 7 * 86_400
_CPUS = (0.25, 0.5, 1.0, 2.0, 4.0)
_MEDIAN_S, _SIGMA = 660.0, 1.5
_WAYS = ("table", "files", "command")


def pods(count: int) -> pw.Workload:
    """Return the pods of a week."""
    draws = np.random.default_rng(1)
    frame = {
        "arrival": np.sort(draws.uniform(0, _WEEK_S, count)).round(3),
        "duration": (draws.lognormal(np.log(_MEDIAN_S), _SIGMA, count) + 1).round(3),
        "cpu": draws.choice(_CPUS, count),
        "memory": draws.choice((1, 2, 4, 8), count),
    }
    return pw.Workload.from_frame(
        frame,
        arrival="arrival",
        duration="duration",
        cpu="cpu",
        memory="memory",
        unit={"arrival": "s", "duration": "s", "memory": "GiB"},
    )


def nodes(count: int) -> list[pw.Node]:
    """Return equal nodes."""
    return [
        pw.testing.make_node(f"node-{index}", cpu="64", memory="256Gi") for index in range(count)
    ]


def _from_table(count: int, node_count: int, folder: str) -> None:
    run = pw.simulate(nodes(node_count), events=pods(count), seed=1, output=folder)
    assert run.summary.counts.placed == count, run.summary
    print(run.summary, file=sys.stderr)


def _from_files(folder: str, output: str) -> None:
    run = pw.simulate(f"{folder}/nodes.json", events=f"{folder}/pods.jsonl", seed=1, output=output)
    print(run.summary, file=sys.stderr)


def _write(count: int, node_count: int, folder: Path) -> None:
    with (folder / "pods.jsonl").open("wb") as file:
        file.writelines(msgspec.json.encode(line) + b"\n" for line in pods(count))
    items = [encode(node) for node in nodes(node_count)]
    whole = {"apiVersion": "v1", "kind": "List", "items": items}
    (folder / "nodes.json").write_bytes(msgspec.json.encode(whole))


def _measured(*command: str) -> tuple[float, float]:
    """Return the CPU time in seconds and the peak memory in MiB of a process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert not process.returncode, f"{command} ended with {process.returncode}"
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def _report(name: str, count: int, *command: str) -> None:
    start_s = time.monotonic()
    cpu_s, peak_mib = _measured(*command)
    elapsed_s = time.monotonic() - start_s
    print(f"{name:10}{count:>10,}{cpu_s:>9.1f}{elapsed_s:>9.1f}{peak_mib:>9.0f}", flush=True)


def main() -> None:
    """Measure each number of pods."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("counts", type=int, nargs="*", default=[10_000])
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--through", nargs="*", choices=_WAYS, default=["table"])
    parser.add_argument("--one", nargs=2, metavar=("INPUT", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        source, output = given.one
        if source == "table":
            _from_table(given.counts[0], given.nodes, output)
        else:
            _from_files(source, output)
        return
    this = (sys.executable, "-m", "tests.perf.many_pods", "--nodes", str(given.nodes))
    print(f"{'through':10}{'pods':>10}{'CPU s':>9}{'wall s':>9}{'MiB':>9}")
    for count in given.counts:
        with tempfile.TemporaryDirectory() as folder:
            if set(given.through) - {"table"}:
                _write(count, given.nodes, Path(folder))
            files = (f"{folder}/nodes.json", "--events", f"{folder}/pods.jsonl")
            podwright = (f"{sys.prefix}/bin/podwright", "simulate", *files, "--seed", "1")
            commands = {
                "table": (*this, str(count), "--one", "table", f"{folder}/table"),
                "files": (*this, "--one", folder, f"{folder}/files"),
                "command": (*podwright, "--out", f"{folder}/command"),
            }
            for way in given.through:
                _report(way, count, *commands[way])


if __name__ == "__main__":
    main()

"""A sweep on two worker processes, one of which is killed half-way.

    python -m tests.perf.sweeps --runs 200 --seconds 2

A run waits so many seconds in a plugin, so that the figures are those of the executor and not of a
busy machine. The ideal is the time of all runs over two workers, and what the killed one had in
hand.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from pathlib import Path

from podwright.online.sweep import (
    SweepConfiguration,
    SweepDataset,
    SweepInput,
    SweepPlan,
    run_missing,
    workers,
)

_NODE = b"""
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
 "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}}}
"""
_POD = b"""
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
 "spec": {"containers": [{"name": "c", "image": "i"}]}}
"""
_PLUGIN = """
import time
from pathlib import Path

import podwright as pw


class Slow(pw.Plugin):
    name = "Slow"

    def filter(self, cycle, node):
        start_s = time.monotonic()
        time.sleep({seconds})
        with Path({journal!r}).open("a") as file:
            file.write(f"{{time.monotonic() - start_s}}\\n")
        return pw.Status()
"""


def main() -> None:
    """Run the sweep, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "journal"
        plugin = _PLUGIN.format(seconds=given.seconds, journal=str(journal)).encode()
        plan = SweepPlan(
            inputs=(SweepInput(name="one", objects=(("node.json", _NODE), ("pod.json", _POD))),),
            configurations=(SweepConfiguration(name="slow", plugins=(("slow.py", plugin),)),),
            seeds=tuple(range(given.runs)),
        )
        dataset = SweepDataset(Path(folder) / "results")
        with workers(count=2) as client:
            victim = next(iter(client.run(os.getpid).values()))
            start_s = time.monotonic()
            for done, _ in enumerate(run_missing(plan, dataset, client), 1):
                if done == given.runs // 2:
                    os.kill(victim, signal.SIGKILL)
            elapsed_s = time.monotonic() - start_s
        waited_s = [float(line) for line in journal.read_text().splitlines()]
        ideal_s = sum(waited_s) / 2 + given.seconds
        print(f"results {len(dataset.finished())}, runs to their end {len(waited_s)}")
        print(f"{elapsed_s:.1f} s, ideal {ideal_s:.1f} s, ratio {elapsed_s / ideal_s:.3f}")


if __name__ == "__main__":
    main()

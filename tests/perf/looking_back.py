"""The time to explain past decisions.

    python -m tests.perf.looking_back          prints the explained attempts one by one

One decision of a large run is explained from the command to the answer: 1,000 workloads of 50 pods
on 5,000 nodes; a fifth of them are spread over zones. The figure is the slowest of some attempts
that are drawn from the whole run, each in a separate process.

All decisions of a smaller run, with 1,000 nodes, are explained in one process with one replay.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.perf import templates
from tests.perf.case import EXPLANATIONS_PER_SECOND, SECONDS, Case
from tests.perf.machine import Driver

from podwright.apimachinery.schema import decode
from podwright.scheduler.machine import FlushBackoff
from podwright.simulation.recording.explanations.explain import Cycles
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.record import record
from podwright.simulation.world import simulate

_WORKLOADS, _REPLICAS = 1_000, 50
_CHECKPOINT_EVENTS = 20_000
_ATTEMPTS = 8
_ZONES = tuple(f"zone-{number}" for number in range(5))


def explain_past() -> float:
    """Explain an attempt among 50,000 pods on 5,000 nodes: the slowest of eight."""
    return max(wall_s for _, _, wall_s, _ in _explained())


def _explained() -> Iterator[tuple[str, int, float, float]]:
    """Return pods, the events of their last attempts, and the wall and processor seconds."""
    with tempfile.TemporaryDirectory() as folder:
        _record(folder)
        with DecisionLog.open(folder) as log:
            cycles = Cycles(log)
        drawn = random.Random(5).sample(list(cycles.pods), _ATTEMPTS)
        for pod in drawn:
            before, start_s = _process_s(), time.perf_counter()
            call = [
                str(Path(sys.executable).with_name("podwright")),
                "explain",
                pod,
                "--run",
                folder,
            ]
            subprocess.run(call, check=False, stdout=subprocess.DEVNULL, env=os.environ)
            wall_s = time.perf_counter() - start_s
            yield pod, cycles.of(pod)[-1], wall_s, _process_s() - before


def explain_all() -> float:
    """Explain each of 2,000 decisions on 1,000 nodes, with the scores of all plugins."""
    nodes = templates.nodes(1_000, _ZONES)
    pods = [decode(_pod_document(f"app-{number % 50}", number)) for number in range(2_000)]
    run = simulate([*nodes, *pods], seed=3)
    start_s = time.process_time()
    count = sum(len(one.totals) == len(nodes) for one in run.explain_all())
    assert count == len(pods), f"{count} of {len(pods)} decisions have scores of all nodes"
    return count / (time.process_time() - start_s)


def _pod_document(app: str, number: int) -> templates.Document:
    document = templates.pod_document(
        labels={"app": app},
        topologySpreadConstraints=[_spread(app)] if number % 5 == 0 else [],
    )
    document["metadata"] = {
        "name": f"{app}-{number}",
        "namespace": "default",
        "labels": {"app": app},
    }
    return document


def _process_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _record(folder: str) -> None:
    recorder = record(folder, seed=3, checkpoint_events=_CHECKPOINT_EVENTS)
    driver = Driver([])
    driver.machine = recorder.machine
    driver.handle = recorder.handle
    for node in templates.nodes(5_000, _ZONES):
        driver.put(node)
    draws = random.Random(1)
    for number in range(_WORKLOADS):
        app = f"app-{number}"
        document = templates.pod_document(
            labels={"app": app},
            cpu=f"{draws.randrange(100, 400)}m",
            memory=f"{draws.randrange(100, 2_000)}Mi",
            topologySpreadConstraints=[_spread(app)] if number % 5 == 0 else [],
        )
        for replica in range(_REPLICAS):
            metadata = {
                **document["metadata"], "name": f"{app}-{replica}", "uid": f"{app}-{replica}",
            }  # fmt: skip
            metadata.pop("generateName", None)
            driver.put(decode({**document, "metadata": metadata}))
        while driver.machine.has_next:
            driver.cycle()
        driver.now_ns += 1_000_000_000
        driver.send(FlushBackoff())
    recorder.log.close()


def _spread(app: str) -> templates.Document:
    return {
        "maxSkew": 5,
        "topologyKey": templates.ZONE,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app}},
    }


def main() -> None:
    """Print the time of each."""
    for pod, event, wall_s, process_s in _explained():
        print(
            f"{pod:24} event {event:7}  {wall_s:.2f} s, of which {process_s:.2f} s of process time"
        )


CASES = (
    Case(name="explain_past_5000", unit=SECONDS, measure=explain_past, target=2, runs=1),
    Case(
        name="explain_all_1000", unit=EXPLANATIONS_PER_SECOND, measure=explain_all, target=1_000,
        runs=3,
    ),
)  # fmt: skip

if __name__ == "__main__":
    main()

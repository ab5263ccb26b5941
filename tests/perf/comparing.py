"""The time to compare two configurations on a recorded cluster, from the command to the answer.

850 pods of the dump are scheduled again by LeastAllocated and by MostAllocated, and each difference
is explained.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.golden import real_cluster
from tests.perf.case import SECONDS, Case

_CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - pluginConfig:
      - name: NodeResourcesFit
        args:
          scoringStrategy:
            type: {strategy}
            resources: [{{name: cpu, weight: 1}}, {{name: memory, weight: 1}}]
"""


def diff_recorded() -> float:
    """Compare LeastAllocated with MostAllocated on the dump of a recorded cluster."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = Path(folder, "cluster.json")
        cluster.write_bytes(real_cluster.content("mid.json"))
        configurations = []
        for strategy in ("LeastAllocated", "MostAllocated"):
            path = Path(folder, f"{strategy}.yaml")
            path.write_text(_CONFIGURATION.format(strategy=strategy), encoding="utf-8")
            configurations.append(str(path))
        call = [
            str(Path(sys.executable).with_name("podwright")), "diff", str(cluster), "--reschedule",
            "--config", configurations[0], "--to-config", configurations[1],
        ]  # fmt: skip
        start_s = time.perf_counter()
        done = subprocess.run(call, check=False, capture_output=True, text=True, env=os.environ)
        wall_s = time.perf_counter() - start_s
    # 1: the sides differ.
    if done.returncode != 1:
        raise SystemExit(f"podwright diff: exit status {done.returncode}\n{done.stderr}")
    return wall_s


CASES = (
    Case(name="diff_recorded", unit=SECONDS, measure=diff_recorded, target=5, runs=3),
)  # fmt: skip

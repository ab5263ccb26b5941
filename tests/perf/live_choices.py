"""Whether kube-scheduler's choices on upstream's kube-apiserver are among podwright's best nodes.

    python -m tests.perf.live_choices                        1,000 nodes and 10,000 pods
    python -m tests.perf.live_choices --nodes 100 --pods 1000 --percentage 0

The nodes and pods are those of `tests.perf.live_scheduler`, and the pods are created while
kube-scheduler runs. `podwright record` records the cluster, and `podwright shadow` compares the
decisions with the record and the log of kube-scheduler; its report is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
import yaml
from tests.e2e_real.cluster_processes import process, scheduler, upstream
from tests.perf.live_scheduler import NODES, PODS, RATE, configuration, create, node, pod

from podwright.online.client.cluster import ClusterAddress
from podwright.online.client.cluster.write_connection import WriteConnection

_BINDING = b'"nodeName":"node-'


def main() -> None:
    """Record a run of kube-scheduler, and print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--percentage", type=int, default=100, help="of the nodes to score")
    options = parser.parse_args()
    program = Path(sys.executable).with_name("podwright")
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        record, config = folder / "record.jsonl", folder / "scheduler.yaml"
        with upstream(folder / "real", controllers=None, has_scheduler=False) as kubeconfig:
            config.write_text(yaml.safe_dump(configuration(kubeconfig, options.percentage)))
            asyncio.run(_create(kubeconfig, NODES, [node(each) for each in range(options.nodes)]))
            line = (program, "record", "--kubeconfig", kubeconfig, "--out", record)
            with process(*line, folder=folder, name="record"):
                while not record.exists() or record.read_bytes().count(b"\n") < options.nodes:
                    time.sleep(0.1)
                with scheduler(folder, kubeconfig, config=config, verbosity=3) as log:
                    pods = [pod(each) for each in range(options.pods)]
                    asyncio.run(_create(kubeconfig, PODS, pods))
                    while _bound_count(record) < options.pods:
                        time.sleep(1)
        command = (program, "shadow", record, "--scheduler-log", log, "--config", config)
        began = time.monotonic()
        arguments = [*map(str, command), "--allow", "100", "-o", "json"]
        done = subprocess.run(arguments, capture_output=True, check=False)
        seconds = time.monotonic() - began
        if done.returncode:
            sys.exit(done.stderr.decode())
        found = msgspec.json.decode(done.stdout)
        print(f"{options.pods} pods compared in {seconds:.0f} s: {found['bindings']}")
        for each in found["differences"]:
            print(each["pod"], each["node"], each["outcome"], each["explanation"])


async def _create(kubeconfig: Path, path: str, objects: list[object]) -> None:
    address = ClusterAddress(kubeconfig=str(kubeconfig))
    async with WriteConnection(address, per_second=RATE, burst=RATE) as connection:
        await create(connection, path, objects)


def _bound_count(record: Path) -> int:
    bound = set()
    with record.open("rb") as lines:
        for line in lines:
            if _BINDING in line and line.endswith(b"\n"):
                bound.add(msgspec.json.decode(line)["resource"]["metadata"]["name"])
    return len(bound)


if __name__ == "__main__":
    main()

"""`podwright scheduler` beside kube-scheduler on upstream's kube-apiserver: pods per second, CPU.

    python -m tests.perf.live_scheduler                        1,000 nodes and 10,000 pods
    python -m tests.perf.live_scheduler --pods 2000 --rounds 3 --only sampled

Every run has a new kube-apiserver with a new etcd. All pods are pending when the scheduler starts.
The clock runs from the first binding to the last one, as a watch of bound pods sees them; the
processor time of the scheduler is that of its process in the same time. Both schedulers have the
same configuration, without limits on their requests. The binaries are those of
`tests/real_parts`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import yaml
from tests.e2e_real.cluster_processes import upstream
from tests.real_parts.binaries import find

from podwright.online.client.cluster import ClusterAddress
from podwright.online.client.cluster.write_connection import WriteConnection

RATE = 100_000
NODES = "/api/v1/nodes"
PODS = "/api/v1/namespaces/default/pods"
_PARALLEL = 32
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_RULES = {"all nodes": 100, "sampled": 0}
"""The percentages of nodes to score."""
_SCHEDULERS = ("podwright", "kube-scheduler")


class Figures(msgspec.Struct, frozen=True):
    """The figures of one run."""

    pods_per_second: float
    cpu_us_per_pod: float
    server_cpu_us_per_pod: float


def main() -> None:
    """Run the schedulers in turn, and print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", choices=sorted(_RULES), default="")
    options = parser.parse_args()
    for rule, percentage in _RULES.items():
        if options.only not in {"", rule}:
            continue
        found: dict[str, list[Figures]] = {name: [] for name in _SCHEDULERS}
        for _ in range(options.rounds):
            for name in _SCHEDULERS:
                figures = _run(name, percentage, options.nodes, options.pods)
                found[name].append(figures)
                _print(f"{rule}, {name}", figures)
        ours, theirs = (
            statistics.median(each.pods_per_second for each in found[name]) for name in _SCHEDULERS
        )
        print(f"{rule}: podwright / kube-scheduler = {ours / theirs:.2f}", flush=True)


def _print(what: str, figures: Figures) -> None:
    print(
        f"{what:30} {figures.pods_per_second:7.0f} pods/s, "
        f"{figures.cpu_us_per_pod:6.0f} us of CPU per pod, "
        f"{figures.server_cpu_us_per_pod:6.0f} us of kube-apiserver and etcd",
        flush=True,
    )


def _command(name: str, kubeconfig: Path, config: Path) -> list[str]:
    if name == "kube-scheduler":
        return [str(find(name)), f"--config={config}", "--secure-port=0"]
    program = Path(sys.executable).with_name(name)
    return [str(program), "scheduler", f"--kubeconfig={kubeconfig}", f"--config={config}"]


def _run(name: str, percentage: int, nodes: int, pods: int) -> Figures:
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root)
        with upstream(folder / "real", controllers=None, has_scheduler=False) as kubeconfig:
            config = folder / "scheduler.yaml"
            config.write_text(yaml.safe_dump(configuration(kubeconfig, percentage)))
            with (folder / "log").open("wb") as log:
                line = _command(name, kubeconfig, config)

                def start() -> subprocess.Popen[bytes]:
                    return subprocess.Popen(line, stdout=log, stderr=log)

                return asyncio.run(_measured(kubeconfig, start, nodes, pods))


def configuration(kubeconfig: Path, percentage: int) -> object:
    """Return the configuration of a scheduler without limits on its requests."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "percentageOfNodesToScore": percentage,
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": RATE, "burst": RATE},
    }


async def _measured(
    kubeconfig: Path, start: Callable[[], subprocess.Popen[bytes]], nodes: int, pods: int
) -> Figures:
    address = ClusterAddress(kubeconfig=str(kubeconfig))
    async with WriteConnection(address, per_second=RATE, burst=RATE) as connection:
        await create(connection, NODES, [node(number) for number in range(nodes)])
        await create(connection, PODS, [pod(number) for number in range(pods)])
        process = start()
        try:
            return await _figures(connection, process, pods)
        finally:
            process.terminate()
            process.wait(60)


async def _figures(
    connection: WriteConnection, process: subprocess.Popen[bytes], pods: int
) -> Figures:
    """Count the bound pods; the first one starts the clock."""
    query = {"watch": "true", "fieldSelector": "spec.nodeName!="}
    bound, last = 0, b""
    began = cpu_s = server_s = 0.0
    async with connection.stream("/api/v1/pods", query, silence_seconds=120) as chunks:
        async for chunk in chunks:
            if not bound:
                began, cpu_s, server_s = time.monotonic(), _cpu(process.pid), _servers_cpu()
            *lines, last = (last + chunk).split(b"\n")
            bound += sum(line.startswith(b'{"type":"ADDED"') for line in lines)
            if bound >= pods:
                break
    seconds = time.monotonic() - began
    used = _cpu(process.pid) - cpu_s
    return Figures(pods / seconds, used / pods * 1e6, (_servers_cpu() - server_s) / pods * 1e6)


async def create(connection: WriteConnection, path: str, objects: list[object]) -> None:
    """Create objects, some at once."""
    limit = asyncio.Semaphore(_PARALLEL)

    async def create(obj: object) -> None:
        async with limit:
            await connection.write("POST", path, msgspec.json.encode(obj))

    await asyncio.gather(*map(create, objects))


def node(number: int) -> object:
    """Return a node of the load."""
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    condition = {"type": "Ready", "status": "True"}
    name = f"node-{number}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": f"zone-{number % 3}",
            },
        },
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [condition]},
    }


def pod(number: int) -> object:
    """Return a pod of the load."""
    requests = {"cpu": f"{100 + number % 5 * 50}m", "memory": "200Mi"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "labels": {"app": f"app-{number % 20}"}},
        "spec": {
            "containers": [container],
            # No controller removes the taint of a new node.
            "tolerations": [{"operator": "Exists"}],
        },
    }


def _cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def _servers_cpu() -> float:
    return cpu_of_children({"kube-apiserver", "etcd"})


def cpu_of_children(names: set[str]) -> float:
    """Return the processor time of the children of this process with some names, in seconds."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return sum(_cpu(int(each)) for each in children if _name(each) in names)


def _name(process: str) -> str:
    return Path(f"/proc/{process}/comm").read_text().strip()


if __name__ == "__main__":
    main()

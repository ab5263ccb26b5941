"""The pods of `apps_up` on upstream's control plane and on `podwright up`: processor time of each.

    make bench-real                                                     5,000 nodes, 3,000 pods
    python -m tests.perf.apps_real --nodes 1000 --apps 100 --modes plain,preferred

kube-apiserver, etcd (in a temporary folder, without fsync) and kube-scheduler with its default
configuration run; there are no controllers and no kubelets, as in the cases `apps_up_5000_<mode>`.
Four clients create a pod as soon as the last one was answered, and a connection watches, there as
here. The time is that of all processes of the control plane, for each pod until it is bound, and
the last column how much less it is here. The binaries are those of `tests/real_parts`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.e2e_real.cluster_processes import upstream
from tests.perf.apps_up import (
    MODES,
    NAMESPACES,
    TEMPLATE,
    WARM_UP_APPS,
    WITHOUT_KUBELETS,
    app_pods,
    cpu_of_a_pod,
)
from tests.perf.live_scheduler import NODES, RATE, cpu_of_children, create, node

from podwright.online.client.cluster import ClusterAddress
from podwright.online.client.cluster.write_connection import WriteConnection

_CLIENTS = 4
_PARTS = ("kube-apiserver", "etcd", "kube-scheduler")
# No controller removes the taint of a new node.
_FLAGS = ("--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",)


def main() -> None:
    """Print the table of the chosen modes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--modes", default=",".join((TEMPLATE, *MODES)))
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--apps", type=int, default=1_000)
    parser.add_argument("--replicas", type=int, default=3)
    options = parser.parse_args()
    print(
        "ms of CPU a pod"
        + "".join(f" {part:>14}" for part in _PARTS)
        + f" {'all':>9} {'podwright up':>13} {'times':>6}"
    )
    for mode in options.modes.split(","):
        with (
            tempfile.TemporaryDirectory() as folder,
            upstream(Path(folder) / "real", controllers=None, flags=_FLAGS) as kubeconfig,
        ):
            pods = app_pods(mode, options.apps, options.replicas)
            spent = asyncio.run(_measured(kubeconfig, mode, options.nodes, pods))
        each_ms = [1e3 * seconds / len(pods) for seconds in spent]
        sizes = {name: getattr(options, name) for name in ("nodes", "apps", "replicas")}
        ours_ms = cpu_of_a_pod(mode, *WITHOUT_KUBELETS, **sizes)
        print(
            f"{mode:15}"
            + "".join(f" {ms:14.2f}" for ms in each_ms)
            + f" {sum(each_ms):9.2f} {ours_ms:13.2f} {sum(each_ms) / ours_ms:6.1f}",
            flush=True,
        )


async def _measured(kubeconfig: Path, mode: str, nodes: int, pods: list[Any]) -> list[float]:
    """Return the processor time of each part until all pods are bound, in seconds."""
    address = ClusterAddress(kubeconfig=str(kubeconfig))
    async with WriteConnection(address, per_second=RATE, burst=RATE) as connection:
        await create(connection, NODES, [node(number) for number in range(nodes)])
        names = [{"metadata": {"name": f"ns{number}"}} for number in range(NAMESPACES)]
        await create(connection, "/api/v1/namespaces", [*names])
        warm_up = app_pods(mode, WARM_UP_APPS, 3, seed=9, prefix="warm")
        await _bind(connection, warm_up, len(warm_up))
        before = [cpu_of_children({part}) for part in _PARTS]
        await _bind(connection, pods, len(warm_up) + len(pods))
        return [cpu_of_children({part}) - was for part, was in zip(_PARTS, before, strict=True)]


async def _bind(connection: WriteConnection, pods: list[Any], bound: int) -> None:
    """Create pods, and wait until so many are bound."""
    query = {"watch": "true", "fieldSelector": "spec.nodeName!="}
    pending = iter(pods)
    clients = asyncio.gather(*[_create_each(connection, pending) for _ in range(_CLIENTS)])
    seen, last = 0, b""
    async with connection.stream("/api/v1/pods", query, silence_seconds=120) as chunks:
        async for chunk in chunks:
            *lines, last = (last + chunk).split(b"\n")
            seen += sum(line.startswith(b'{"type":"ADDED"') for line in lines)
            if seen >= bound:
                break
    await clients


async def _create_each(connection: WriteConnection, pending: Iterator[Any]) -> None:
    for pod in pending:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"
        await connection.write("POST", path, msgspec.json.encode(pod))


if __name__ == "__main__":
    main()

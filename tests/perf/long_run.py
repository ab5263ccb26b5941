"""A long run of `podwright up --db --record` under a steady load, and what it keeps.

    python -m tests.perf.long_run --minutes 30 --speed 4

Deployments are rolled out, scaled, deleted and created again, seven times in a second. The speed of
the cluster's clock makes two hours of the cluster from half an hour. Each sample has the memory of
the server by structure, the sizes of the database and the record, the processor time for each
operation, and the 99th percentile of small GETs. In the end the server is terminated and started
again.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from tests.perf.served import Server, started

DEPLOYMENTS = 38
REPLICAS = 3
"""114 pods in the mean."""

NODES = 10
GET_SECONDS = 0.05
MEGA = 1e6
_PATH = "/apis/apps/v1/namespaces/default/deployments"
_SHARE = 0.01
"""Structures with less than this share of the memory are printed as one."""

_ATTRIBUTION_SECONDS = 180


@contextmanager
def _served(folder: Path, arguments: argparse.Namespace, record: str) -> Iterator[_Server]:
    command = [
        *(sys.executable, "-m", "tests.perf.attributed_up", str(folder / "memory.jsonl")),
        *("up", "--no-ui", "--port", "0", "--nodes", str(NODES)),
        *("--speed", str(arguments.speed), "--kubeconfig", str(folder / "kubeconfig")),
        *("--db", str(folder / "cluster.db"), "--record", str(folder / record), *arguments.option),
    ]
    # A server that is started again finds its modules compiled, as an installed one does.
    shown = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with started(command, shown) as server:
        yield _Server(server.process, server.address)


class _Server(Server):
    """A running `podwright up`, and a connection to it."""

    def __init__(self, process: subprocess.Popen[str], address: tuple[str, int]) -> None:
        super().__init__(process, address)
        self._connection = http.client.HTTPConnection(*address, timeout=60)

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Send a request, and return the status and the body of its reply."""
        text = None if body is None else json.dumps(body)
        kind = "application/strategic-merge-patch+json" if method == "PATCH" else "application/json"
        self._connection.request(method, path, text, {"content-type": kind})
        reply = self._connection.getresponse()
        return reply.status, reply.read()


class _Load:
    """Operations on Deployments, drawn from a seed."""

    def __init__(self, server: _Server, seed: int) -> None:
        self._server = server
        self._random = random.Random(seed)
        self._missing: set[str] = set()
        self.count = 0

    def begin(self) -> None:
        """Create the Deployments."""
        for number in range(DEPLOYMENTS):
            self._create(f"app-{number}")

    def operate(self) -> None:
        """Execute the next operation."""
        name = f"app-{self._random.randrange(DEPLOYMENTS)}"
        draw = self._random.random()
        self.count += 1
        if name in self._missing:
            self._create(name)
        elif draw < 0.55:
            value = {"annotations": {"rollout": str(self.count)}}
            self._patch(name, {"template": {"metadata": value}})
        elif draw < 0.9:
            self._patch(name, {"replicas": self._random.randint(1, 2 * REPLICAS - 1)})
        else:
            self._expect("DELETE", f"{_PATH}/{name}")
            self._missing.add(name)

    def _create(self, name: str) -> None:
        labels = {"app": name}
        container = {
            "name": "main",
            "image": "registry.example.com/web:1",
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
            "env": [{"name": "APP", "value": name}],
        }
        spec = {
            "replicas": REPLICAS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        }
        body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}}
        self._expect("POST", _PATH, body | {"spec": spec})
        self._missing.discard(name)

    def _patch(self, name: str, spec: Any) -> None:
        self._expect("PATCH", f"{_PATH}/{name}", {"spec": spec})

    def _expect(self, method: str, path: str, body: Any = None) -> None:
        status, reply = self._server.request(method, path, body)
        assert status < 300, f"{method} {path}: {status} {reply[:300]!r}"


class _Sample(msgspec.Struct):
    """What a server had at a time."""

    cluster_minutes: float
    real_minutes: float
    operations: int
    resident_mb: float
    database_mb: float
    record_mb: float
    get_p99_ms: float
    cpu_ms_per_operation: float


def _size_mb(folder: Path, name: str) -> float:
    return sum(file.stat().st_size for file in folder.glob(f"{name}*")) / MEGA


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)] if values else 0.0


def _run(server: _Server, folder: Path, arguments: argparse.Namespace) -> Iterator[_Sample]:
    """Put the load on a server, and yield a sample each minute."""
    load = _Load(server, arguments.seed)
    load.begin()
    begin = time.monotonic()
    end = begin + arguments.minutes * 60
    rate = arguments.rate
    next_get = next_sample = begin
    next_attribution = begin + 20
    waited: list[float] = []
    cpu, operations = server.cpu_seconds, 0
    while (now := time.monotonic()) < end:
        if now - begin >= load.count / rate:
            load.operate()
        if now >= next_get:
            next_get = now + GET_SECONDS
            sent = time.perf_counter()
            server.request("GET", "/api/v1/nodes/node-0")
            waited.append((time.perf_counter() - sent) * 1e3)
        if now >= next_attribution:
            next_attribution = now + _ATTRIBUTION_SECONDS
            server.process.send_signal(signal.SIGUSR1)
        if now >= next_sample + arguments.sample_seconds:
            next_sample = now
            used, cpu = server.cpu_seconds - cpu, server.cpu_seconds
            done, operations = load.count - operations, load.count
            yield _Sample(
                cluster_minutes=(now - begin) * arguments.speed / 60,
                real_minutes=(now - begin) / 60,
                operations=load.count,
                resident_mb=server.memory() / MEGA,
                database_mb=_size_mb(folder, "cluster.db"),
                record_mb=_size_mb(folder, "record"),
                get_p99_ms=_percentile(waited, 0.99),
                cpu_ms_per_operation=used * 1e3 / max(done, 1),
            )
            waited = []
        now = time.monotonic()
        time.sleep(max(0.0, min(begin + load.count / rate, next_get, end) - now))


_HEADS = ("cluster min", "real min", "operations", "memory MB", "database MB", "record MB",
          "GET p99 ms", "CPU ms/op")  # fmt: skip


def _print_attribution(folder: Path) -> None:
    """Print the memory by structure of each moment at which it was attributed."""
    file = folder / "memory.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    found = [json.loads(line) for line in lines]
    names = sorted(
        {
            name
            for each in found
            for name, (size, _) in each["structures"].items()
            if size > _SHARE * each["resident"]
        },
        key=lambda name: -found[-1]["structures"].get(name, (0, 0))[0],
    )
    print("\nMemory by structure, MB (objects), in the order of time:")
    rows = [("Events", "changes", "log events", "resident", *names)]
    for each in found:
        sizes = (each["structures"].get(name, (0, 0)) for name in names)
        rows.append(
            (
                *(str(each[name]) for name in ("events", "changes", "log events")),
                f"{each['resident'] / MEGA:.0f}",
                *(f"{size / MEGA:.0f} ({count})" for size, count in sizes),
            )
        )
    for row in rows:
        print(" | ".join(row))


def main() -> int:
    """Run the load, print the curve, stop the server and start it again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="of real time")
    parser.add_argument("--speed", type=float, default=4.0)
    parser.add_argument("--rate", type=float, default=7.0, help="operations in a second")
    parser.add_argument("--sample-seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record-rotate", default="100Mi", metavar="SIZE")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--option", action="append", default=[], help="a further option of `up`")
    arguments = parser.parse_args()
    arguments.option += ["--record-rotate", arguments.record_rotate, "--record-keep", "2"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print(" | ".join(_HEADS))
        with _served(folder, arguments, "record.jsonl") as server:
            for sample in _run(server, folder, arguments):
                print(" | ".join(f"{value:.1f}" for value in msgspec.structs.astuple(sample)),
                      flush=True)  # fmt: skip
            server.process.send_signal(signal.SIGUSR1)
            time.sleep(1)
            peak, begin = server.memory("VmHWM"), time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            server.process.wait()
            stopped = time.monotonic() - begin
        begin = time.monotonic()
        with _served(folder, arguments, "again.jsonl") as server:
            server.request("GET", "/api/v1/nodes/node-0")
            started, cpu = time.monotonic() - begin, server.cpu_seconds
            resident, restart_peak = server.memory(), server.memory("VmHWM")
        _print_attribution(folder)
        print(
            f"\nmost memory {peak / MEGA:.0f} MB; stopped after SIGTERM in {stopped:.2f} s; served"
            f" again after {started:.1f} s ({cpu:.1f} s of CPU), with {resident / MEGA:.0f} MB, at"
            f" most {restart_peak / MEGA:.0f} MB"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

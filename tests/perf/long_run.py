"""A long run of `podwright up --db --record` under a steady load, and what it keeps.

    python -m tests.perf.long_run --minutes 30 --speed 4

Deployments are rolled out, scaled, deleted and created again, at most seven times in a second.
After each operation the cluster's clock is stepped, by as much as makes two hours of the cluster
from half an hour: on a busy machine the run takes longer, and the load is the same. Each sample has
the memory of the server by structure, the sizes of the database and the record, the processor time
for each operation, and the 99th percentile of small GETs, which another client sends. In the end
the server is terminated and started again.
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
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import msgspec
from tests.perf.served import Server, started

DEPLOYMENTS = 38
REPLICAS = 3
"""114 pods in the mean."""

NODES = 10
GET_SECONDS = 0.05
MEGA = 1e6
_PATH = "/apis/apps/v1/namespaces/default/deployments"
_SHARE = 0.005
"""What never has more than this share of the memory is not printed."""

_ATTRIBUTION_SECONDS = 180


@contextmanager
def _served(folder: Path, arguments: argparse.Namespace, record: str) -> Iterator[_Server]:
    command = [
        *(sys.executable, "-m", "tests.perf.attributed_up", str(folder / "memory.jsonl")),
        *("up", "--no-ui", "--port", "0", "--nodes", str(NODES)),
        *("--kubeconfig", str(folder / "kubeconfig")),
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
        """Stop the clock, and create the Deployments."""
        self._expect("POST", "/podwright/v1/clock/pause")
        for number in range(DEPLOYMENTS):
            self._create(f"app-{number}")

    def step(self, seconds: float) -> None:
        """Step the clock of the cluster, and wait until everything that is due then is done."""
        body = {"duration": f"{seconds * 1e3:.0f}ms"}
        self._expect("POST", "/podwright/v1/clock/step", body)

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


class _Gets:
    """A client that sends small GETs, twenty in a second."""

    def __init__(self, server: _Server) -> None:
        self._server = _Server(server.process, server.address)
        self._waited_ms: list[float] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _send(self) -> None:
        while not self._is_over.wait(GET_SECONDS):
            sent = time.perf_counter()
            self._server.request("GET", "/api/v1/nodes/node-0")
            self._waited_ms.append((time.perf_counter() - sent) * 1e3)

    def take_p99_ms(self) -> float:
        """Return the 99th percentile of the times since the last call."""
        waited, self._waited_ms = self._waited_ms, []
        return sorted(waited)[int(len(waited) * 0.99)] if waited else 0.0


def _run(server: _Server, folder: Path, arguments: argparse.Namespace) -> Iterator[_Sample]:
    """Put the load on a server, and yield a sample each few minutes of the cluster."""
    load = _Load(server, arguments.seed)
    load.begin()
    begin = time.monotonic()
    cpu, operations = server.cpu_seconds, 0
    rate = arguments.rate
    per_sample = int(arguments.sample_seconds * rate)
    per_attribution = int(_ATTRIBUTION_SECONDS * rate)
    with _Gets(server) as gets:
        while load.count < arguments.minutes * 60 * rate:
            load.operate()
            load.step(arguments.speed / rate)
            if load.count % per_attribution == per_attribution // 9:
                server.process.send_signal(signal.SIGUSR1)
            if load.count % per_sample == 0:
                used, cpu = server.cpu_seconds - cpu, server.cpu_seconds
                done, operations = load.count - operations, load.count
                yield _Sample(
                    cluster_minutes=load.count / rate * arguments.speed / 60,
                    real_minutes=(time.monotonic() - begin) / 60,
                    operations=load.count,
                    resident_mb=server.memory() / MEGA,
                    database_mb=_size_mb(folder, "cluster.db"),
                    record_mb=_size_mb(folder, "record"),
                    get_p99_ms=gets.take_p99_ms(),
                    cpu_ms_per_operation=used * 1e3 / done,
                )
            time.sleep(max(0.0, begin + load.count / rate - time.monotonic()))


_HEADS = ("cluster min", "real min", "operations", "memory MB", "database MB", "record MB",
          "GET p99 ms", "CPU ms/op")  # fmt: skip


def _print_attribution(folder: Path) -> None:
    """Print the memory by structure and by owner at each moment at which it was attributed."""
    file = folder / "memory.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    found = [json.loads(line) for line in lines]
    for name in ("events", "changes", "log events"):
        print(" | ".join((name, *(str(each[name]) for each in found))))
    columns: list[dict[str, int]] = []
    for each in found:
        column = {"resident": each["resident"]}
        for structure, (size, _) in each["structures"].items():
            owners = each["owners"][structure]
            column |= {structure: size} | {f"{structure}: {name}": owners[name] for name in owners}
        columns.append(column)
    rows = {name: [each.get(name, 0) for each in columns] for each in columns for name in each}
    print("\nMemory by structure and owner, MB, in the order of time:")
    for name, sizes in sorted(rows.items(), key=lambda row: -max(row[1])):
        if max(sizes) > _SHARE * max(rows["resident"]):
            print(" | ".join((name, *(f"{size / MEGA:.1f}" for size in sizes))))


def main() -> int:
    """Run the load, print the curve, stop the server and start it again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="of real time, at least")
    parser.add_argument("--speed", type=float, default=4.0, help="of the cluster's clock")
    parser.add_argument("--rate", type=float, default=7.0, help="operations in a second, at most")
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

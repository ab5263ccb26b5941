"""How long requests of one hostile client stop another client of `podwright up`.

    make bench BENCH_ONLY=attacks
    python -m tests.perf.attacks --only owner-references,yaml-aliases

The server has a process of its own. One client sends the requests of an attack, while another one
reads a namespace every few milliseconds on its own connection. A line for each attack shows the
status of its last reply, the CPU that the server used until then, p50, p99 and the longest of the
other client's requests, p99 of the CPU that the server used during each of these, and how much the
memory of the server has grown. The figure of the benchmark is the longest p99 of that CPU: the time
of a request on a computer that does nothing else, since one thread of Python runs at a time.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import selectors
import socket
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final

import msgspec
from tests.perf.attack_requests import ATTACKS, Attack
from tests.perf.case import MILLISECONDS, Case
from tests.perf.hostile_objects import DEFAULT, pod_with, request
from tests.perf.served import Server, served

_STATUS: Final = re.compile(rb"HTTP/1\.1 (\d+)")
_ATTACK_SECONDS: Final = 120.0
_TIMEOUT: Final = "timeout"
_PAUSE_SECONDS: Final = 0.005
_MIB: Final = 2**20


class _Outcome(msgspec.Struct, frozen=True):
    status: str
    cpu_s: float
    others_ms: list[float]
    others_cpu_ms: list[float]
    memory_mib: float

    @property
    def cpu_p99_ms(self) -> float:
        """The CPU of the server that 99 of 100 requests of the other client did not exceed."""
        return _p99(self.others_cpu_ms)

    def __str__(self) -> str:
        p50_ms, longest_ms = statistics.median(self.others_ms), max(self.others_ms)
        return (
            f"{self.status:>7} {self.cpu_s:8.2f} {p50_ms:8.1f} {_p99(self.others_ms):8.1f}"
            f" {longest_ms:8.1f} {self.cpu_p99_ms:8.1f} {max(self.others_cpu_ms):8.1f}"
            f" {self.memory_mib:6.0f}"
        )


_HEAD: Final = f"{'attack':32}  status   CPU, s  p50, ms  p99, ms  longest  CPU p99  longest   +MiB"


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]


class _Replies:
    """The replies on a connection, counted by their length."""

    def __init__(self, connection: socket.socket) -> None:
        self._file: io.BufferedReader = connection.makefile("rb")
        self.body = b""

    def next(self) -> bytes:
        """Return the status of the next reply; "" if the connection ends."""
        found = _STATUS.match(self._file.readline())
        if found is None:
            return b""
        length, is_chunked = 0, False
        while (line := self._file.readline().strip().lower()) != b"":
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
            is_chunked = is_chunked or line == b"transfer-encoding: chunked"
        self.body = self._file.read(length)
        while is_chunked:
            size = int(self._file.readline() or b"0", 16)
            self._file.read(size + 2)
            is_chunked = size > 0
        return found[1]


class _Other(threading.Thread):
    """Another client, which reads a namespace again and again."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self._server = server
        self.times_ms: list[float] = []
        self.cpu_ms: list[float] = []
        self.is_over = threading.Event()

    def run(self) -> None:
        """Read until `is_over`; at least ten times."""
        read = request("GET", DEFAULT)
        with socket.create_connection(self._server.address) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            replies = _Replies(connection)
            while len(self.times_ms) < 10 or not self.is_over.wait(_PAUSE_SECONDS):
                start_s, cpu_ns = time.perf_counter(), self._server.cpu_ns
                with contextlib.suppress(OSError):  # the server is killed
                    connection.sendall(read)
                    replies.next()
                self.cpu_ms.append((self._server.cpu_ns - cpu_ns) / 1e6)
                self.times_ms.append((time.perf_counter() - start_s) * 1e3)


def _warm_up(server: Server) -> None:
    """Bind a pod, so that the code of the scheduler is loaded."""
    deadline_s = time.monotonic() + _ATTACK_SECONDS
    _run(server, pod_with("first")(), Attack("", lambda: ()))
    with socket.create_connection(server.address) as connection:
        replies = _Replies(connection)
        while b'"nodeName"' not in replies.body and time.monotonic() < deadline_s:
            connection.sendall(request("GET", f"{DEFAULT}/pods/first"))
            replies.next()
            time.sleep(0.1)


def _attacked(server: Server, attack: Attack) -> _Outcome:
    _run(server, list(attack.prepared()), Attack("", lambda: ()))
    requests = list(attack.requests())
    other = _Other(server)
    cpu_s, memory_mib = server.cpu_seconds_of_all, server.memory() / _MIB
    other.start()
    time.sleep(0.1)
    status = _run(server, requests, attack)
    time.sleep(0.1)
    other.is_over.set()
    other.join(_ATTACK_SECONDS)
    # The first request of the other client may still wait.
    waited = [_ATTACK_SECONDS * 1e3]
    return _Outcome(
        status,
        server.cpu_seconds_of_all - cpu_s,
        other.times_ms or waited,
        other.cpu_ms or waited,
        server.memory() / _MIB - memory_mib,
    )


def _run(server: Server, requests: Sequence[bytes], attack: Attack) -> str:
    """Send requests on each connection; return the last status."""
    with contextlib.ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(server.address))
            for _ in range(attack.connections)
        ]
        for connection in connections:
            connection.settimeout(attack.seconds or _ATTACK_SECONDS)
        sending = [
            threading.Thread(target=_send, args=(connection, requests), daemon=True)
            for connection in connections
        ]
        for thread in sending:
            thread.start()
        if not attack.takes_replies:
            time.sleep(attack.seconds)
            return "-"
        statuses = [b""] * len(connections)
        if attack.seconds:
            return _watched(connections, time.monotonic() + attack.seconds)
        for index, connection in enumerate(connections):
            replies = _Replies(connection)
            for _ in requests:
                try:
                    statuses[index] = replies.next()
                except TimeoutError:
                    return _TIMEOUT
                except ConnectionError:  # closed before all was sent
                    break
        return statuses[-1].decode() or "closed"


def _send(connection: socket.socket, requests: Sequence[bytes]) -> None:
    # A server that rejects a request need not read the rest of it.
    with contextlib.suppress(OSError):
        for request in requests:
            connection.sendall(request)


def _watched(connections: Sequence[socket.socket], deadline_s: float) -> str:
    """Read watches until all have sent their initial events."""
    end = b"k8s.io/initial-events-end"
    with selectors.DefaultSelector() as selector:
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ, [b""])
        left = len(connections)
        while left and time.monotonic() < deadline_s:
            for key, _ in selector.select(0.1):
                (tail,) = key.data
                assert isinstance(key.fileobj, socket.socket), "a connection"
                data = key.fileobj.recv(1 << 20)
                key.data[0] = (tail + data)[-2_000:]
                if end in tail[-60:] + data or not data:
                    selector.unregister(key.fileobj)
                    left -= 1
    return f"{len(connections) - left}/{len(connections)}"


def attacks() -> float:
    """Milliseconds of CPU of the longest p99 of others' small GETs, while one client attacks."""
    return measured(ATTACKS)


def measured(chosen: Sequence[Attack]) -> float:
    """Print a line for each attack; return the longest p99 of the others' CPU, in milliseconds."""
    sys.setrecursionlimit(20_000)  # for deep bodies
    longest_ms = 0.0
    print(_HEAD, file=sys.stderr)
    left = list(chosen)
    while left:
        with served(nodes=5) as server:
            _warm_up(server)
            while left:
                attack = left.pop(0)
                outcome = _attacked(server, attack)
                print(f"{attack.name:32} {outcome}", file=sys.stderr, flush=True)
                longest_ms = max(longest_ms, outcome.cpu_p99_ms)
                if server.process.poll() is not None or outcome.status == _TIMEOUT:
                    break
    return longest_ms


CASES = (
    Case(
        name="attacks",
        unit=MILLISECONDS,
        measure=attacks,
        target=100.0,
        runs=1,
        is_process_per_run=True,
    ),
)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="names of attacks, separated by commas")
    names = [name for name in parser.parse_args().only.split(",") if name]
    measured([attack for attack in ATTACKS if not names or attack.name in names])

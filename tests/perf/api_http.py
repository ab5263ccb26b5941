"""Benchmarks of `podwright up`: pods are created over HTTP, scheduled, and seen by a watcher.

The server has a process of its own and 5,000 nodes, with managedFields, Events, the scheduler and
the controllers. Four clients, each with a connection that it keeps, create a pod as soon as the
last one was answered. A fifth connection watches all pods. The clients are sockets in one loop, so
that they take little of the cores that the server needs.

`api_http_5000`, `api_http_distinct_5000` and `api_http_sqlite_5000` run without the simulated
kubelets (`--no-lifecycle`), as upstream's scheduler_perf does. Their figure is the number of pods
that are bound in a second, from the first request to the last binding that the watcher sees.
`api_http_running_5000` runs with the kubelets. Its figure is the number of pods that the watcher
sees Running in a second. Figures recorded before `api_http_running_5000` existed were of bindings,
measured with the kubelets on; they cannot be compared with those of now.

The processor time of the server per pod is printed beside each figure.
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from tests.perf.api import distinct_pod, template_pod
from tests.perf.case import MEBIBYTES, PODS_PER_SECOND, SHARE, Case
from tests.perf.served import Server, served

from podwright.cluster.api.endpoints import HttpRequest

_CLIENTS = 4
_WARM_UP = 500
_LENGTH = re.compile(rb"content-length: (\d+)")
BOUND = re.compile(rb'"metadata":\{"name":"([^"]+)".*"nodeName":"')
RUNNING = re.compile(rb'"metadata":\{"name":"([^"]+)".*"phase":"Running"')
_WAIT_SECONDS = 120.0
_WATCHERS = 100
_CHANGES, _CHANGES_PER_SECOND = 5_000, 1_000
_VERSION = re.compile(rb'^\{"type":"ADDED".*?"resourceVersion":"([0-9]+)"')

Make = Callable[[int], HttpRequest]


def _bytes_of(request: HttpRequest) -> bytes:
    lines = [f"{request.method} {request.path}?{request.query} HTTP/1.1".replace("? ", " ")]
    lines += ["host: localhost", *(f"{name}: {value}" for name, value in request.headers.items())]
    lines += [f"content-length: {len(request.body)}", "", ""]
    return "\r\n".join(lines).encode() + request.body


class _Client:
    """A connection that creates one pod after the other."""

    def __init__(self, server: Server, requests: Iterator[bytes]) -> None:
        self.socket = socket.create_connection(server.address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._requests = requests
        self._received = b""

    def send_next(self) -> bool:
        """Send the next request; return whether there is one."""
        request = next(self._requests, None)
        if request is not None:
            self.socket.sendall(request)
        return request is not None

    def take(self) -> bool:
        """Read from the connection; return whether a reply is complete."""
        self._received += self.socket.recv(1 << 16)
        head, mark, body = self._received.partition(b"\r\n\r\n")
        if not mark:
            return False
        length = _LENGTH.search(head)
        assert length is not None, head
        if len(body) < int(length[1]):
            return False
        assert head.startswith(b"HTTP/1.1 201"), self._received
        self._received = b""
        return True


class _Watcher:
    """A watch of all pods; it removes the names of the pods that match from those it waits for."""

    def __init__(self, server: Server, names: Iterable[str], reached: re.Pattern[bytes]) -> None:
        self.missing = {name.encode() for name in names}
        self._reached = reached
        self.socket = socket.create_connection(server.address)
        self.socket.sendall(b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nhost: localhost\r\n\r\n")
        self._rest = b""

    def take(self) -> None:
        """Read events; chunks of the transfer end with the line of an event."""
        data = self.socket.recv(1 << 20)
        assert data, "the watch has ended"
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            found = self._reached.search(line)
            if found is not None:
                self.missing.discard(found[1])


def create_pods(
    server: Server, requests: Sequence[HttpRequest], reached: re.Pattern[bytes] = BOUND
) -> float:
    """Create pods, and return how long it took until all were seen to match, in seconds."""
    names = [json.loads(request.body)["metadata"]["name"] for request in requests]
    watcher = _Watcher(server, names, reached)
    pending = iter([_bytes_of(each) for each in requests])
    clients = [_Client(server, pending) for _ in range(_CLIENTS)]
    with selectors.DefaultSelector() as selector:
        selector.register(watcher.socket, selectors.EVENT_READ, None)
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
        start = time.perf_counter()
        for client in clients:
            client.send_next()
        while watcher.missing:
            ready = selector.select(_WAIT_SECONDS)
            assert ready, f"{len(watcher.missing)} of {len(requests)} pods were not seen"
            for key, _ in ready:
                if key.data is None:
                    watcher.take()
                elif key.data.take():
                    key.data.send_next()
        seconds = time.perf_counter() - start
    for connection in (watcher.socket, *(client.socket for client in clients)):
        connection.close()
    return seconds


def _pods_per_second(
    name: str, make: Make, count: int, reached: re.Pattern[bytes], *options: str
) -> float:
    with served(*options) as server:
        server.settle()
        create_pods(server, [make(number) for number in range(_WARM_UP)], reached)
        server.settle()
        before = server.cpu_seconds
        seconds = create_pods(server, [make(_WARM_UP + number) for number in range(count)], reached)
        spent = server.cpu_seconds - before
    microseconds = spent / count * 1e6
    print(f"{name}: {microseconds:.0f} us of the server's CPU a pod", file=sys.stderr, flush=True)
    return count / seconds


class _Versions:
    """A watch of all pods that records the versions of its events."""

    def __init__(self, server: Server) -> None:
        self.seen: list[bytes] = []
        self.socket = socket.create_connection(server.address)
        self.socket.sendall(b"GET /api/v1/pods?watch=1 HTTP/1.1\r\nhost: localhost\r\n\r\n")
        self._rest = b""

    def take(self) -> None:
        """Read events."""
        data = self.socket.recv(1 << 20)
        assert data, "the watch has ended"
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.seen += [found[1] for line in lines if (found := _VERSION.search(line))]


def http_watchers() -> float:
    """Cores of the server for 100 watchers of 1,000 changes a second; none is lost or repeated."""
    options = ("--no-scheduler", "--no-controllers", "--no-lifecycle")
    with served(*options) as server, selectors.DefaultSelector() as selector:
        server.settle()
        watchers = [_Versions(server) for _ in range(_WATCHERS)]
        for watcher in watchers:
            selector.register(watcher.socket, selectors.EVENT_READ, watcher)
        requests = iter([_bytes_of(template_pod(number)) for number in range(_CHANGES)])
        idle = [_Client(server, requests) for _ in range(_CLIENTS)]
        for client in idle:
            selector.register(client.socket, selectors.EVENT_READ, client)
        time.sleep(1)  # the watches have begun
        before, start, sent = server.cpu_seconds, time.perf_counter(), 0
        while min(len(watcher.seen) for watcher in watchers) < _CHANGES:
            due = (time.perf_counter() - start) * _CHANGES_PER_SECOND
            while idle and sent < min(due, _CHANGES):
                idle.pop().send_next()
                sent += 1
            for key, _ in selector.select(0.001):
                if key.data.take():
                    idle.append(key.data)
            assert time.perf_counter() - start < _WAIT_SECONDS, "a watcher misses events"
        seconds = time.perf_counter() - start
        spent = server.cpu_seconds - before
        first = watchers[0].seen
        assert len(set(first)) == len(first) == _CHANGES, "an event was repeated"
        assert first == sorted(first, key=int), "events are out of order"
        assert all(watcher.seen == first for watcher in watchers), "watchers saw different events"
    return spent / seconds


def http_memory() -> float:
    """The most memory of the server with 5,000 nodes and 50,000 pods, created over HTTP."""
    with served() as server:
        create_pods(server, [template_pod(number) for number in range(50_000)])
        return server.memory("VmHWM") / 2**20


def _case(
    name: str, make: Make, target: float | None, count: int, what: str, *options: str
) -> Case:
    has_kubelets = "--no-lifecycle" not in options
    reached = RUNNING if has_kubelets else BOUND
    measure = partial(_pods_per_second, name, make, count, reached, *options)
    end = "seen Running on" if has_kubelets else "bound to"
    measure.__doc__ = f"{what}, created over HTTP by 4 clients and {end} 5,000 nodes."
    return Case(
        name=name,
        unit=PODS_PER_SECOND,
        measure=measure,
        target=target,
        runs=3,
        is_process_per_run=True,
    )


CASES = (
    _case(
        *("api_http_5000", template_pod, 2_000, 10_000),
        *("Pods of one template", "--no-lifecycle"),
    ),
    _case(
        *("api_http_distinct_5000", distinct_pod, 1_000, 5_000),
        *("Pods that all differ", "--no-lifecycle"),
    ),
    _case(
        *("api_http_sqlite_5000", template_pod, 1_000, 10_000),
        *("Pods of one template, kept in a file", "--no-lifecycle", "--db", "{folder}/cluster.db"),
    ),
    _case("api_http_running_5000", template_pod, None, 10_000, "Pods of one template"),
    Case(
        name="api_http_watchers",
        unit=SHARE,
        measure=http_watchers,
        runs=1,
        is_process_per_run=True,
    ),
    Case(
        name="api_http_memory",
        unit=MEBIBYTES,
        measure=http_memory,
        target=1_000,
        runs=1,
        is_process_per_run=True,
    ),
)

"""How long the turns of a server hold its event loop, with 50,000 pods and long work under load.

At once: four clients create pods, one lists all pods, one watches them from the beginning, others
take nothing of their lists and watches or leave in their middle, a namespace with 5,000 pods is
deleted, the decision log writes checkpoints, reader processes begin, and an extender hangs.
Each callback of the event loop is measured: turns, the encoding of long lists, the sending.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import logging
import resource
import sys
import threading
import time
from asyncio import events
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from typing import Any

import msgspec
from tests.perf.case import MILLISECONDS, Case

from podwright.cluster.api.endpoints import HttpRequest, ServerOptions, User
from podwright.cluster.store import POD
from podwright.online.apiserver import (
    Application,
    Cluster,
    ClusterClock,
    TurnLoop,
    generated_nodes,
    readers,
)
from podwright.online.apiserver.cluster import ClusterOptions, new_cluster
from podwright.online.apiserver.free_memory import (
    collapse_memory,
    keep_huge_pages,
    short_collections,
)
from podwright.online.apiserver.wire.hosts import AllowedHosts
from podwright.scheduler.config import ExtenderCall, ExtenderReply, read_configuration
from podwright.scheduler.machine import SchedulerOptions

NODES = 5_000
PODS = 50_000
DOOMED = 5_000
LOAD_SECONDS = 20.0
START_NS = 1_800_000_000_000_000_000
ADMIN = User("admin", groups=("system:masters", "system:authenticated"))
HANGING = "example.com/hanging"
WATCH = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
PAUSE_SECONDS = 0.02
"""Between two pods of a client, so that the scheduler keeps up."""

STUCK = ["", WATCH] * 10

LOG_EVENTS = 10_000
"""So few that checkpoints are written during the measurement."""

DISTURBANCES = (
    "checkpoints",
    "lists",
    "parts of watches",
    "created pods",
    "deleted pods",
    "extender calls",
    "readers",
    "stuck clients",
    "clients that left",
)
LONGEST = 8
SHOWN_MS = 0.5


class _Measured(msgspec.Struct, frozen=True):
    """One call.

    Attributes
    ----------
    parts_ms : dict of str to float
        The wall time of the named calls inside it, such as garbage collections.
    """

    cpu_ms: float
    wall_ms: float
    parts_ms: dict[str, float]

    def __str__(self) -> str:
        longest = sorted(self.parts_ms.items(), key=lambda part: -part[1])
        parts = ", ".join(f"{name} {ms:.1f}" for name, ms in longest if ms >= SHOWN_MS)
        return f"CPU {self.cpu_ms:.1f} ms, wall {self.wall_ms:.1f} ms: {parts}"


class _Durations:
    """CPU and wall time of the calls on one thread, in milliseconds.

    Attributes
    ----------
    parts_ms : dict of str to float
        The parts of the present call so far.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.calls: list[_Measured] = []
        self.parts_ms: dict[str, float] = {}
        self._thread = threading.get_ident()
        self._collection_began = 0.0

    def measured(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, with its calls measured."""

        def measured(*arguments: Any) -> Any:
            self.parts_ms = {}
            cpu, wall = time.thread_time(), time.perf_counter()
            result = function(*arguments)
            cpu_ms = (time.thread_time() - cpu) * 1e3
            wall_ms = (time.perf_counter() - wall) * 1e3
            self.calls.append(_Measured(cpu_ms, wall_ms, self.parts_ms))
            return result

        return measured

    def add_part(self, owner: object, name: str) -> None:
        """Measure a method of an object as a part of the calls."""
        function = getattr(owner, name)

        def measured(*arguments: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                self._add(name.strip("_"), begin)

        setattr(owner, name, measured)

    def collected(self, phase: str, about: dict[str, int]) -> None:
        """Receive the begin and the end of a garbage collection."""
        if threading.get_ident() == self._thread:
            if phase == "start":
                self._collection_began = time.perf_counter()
            else:
                self._add(f"collection {about['generation']}", self._collection_began)

    def _add(self, name: str, begin: float) -> None:
        ms = (time.perf_counter() - begin) * 1e3
        self.parts_ms[name] = self.parts_ms.get(name, 0.0) + ms

    def __str__(self) -> str:
        cpu_ms = sorted(call.cpu_ms for call in self.calls)
        wall_ms = sorted(call.wall_ms for call in self.calls)
        p99 = len(cpu_ms) * 99 // 100
        longest = sorted(self.calls, key=lambda call: -call.wall_ms)[:LONGEST]
        return "\n  ".join(
            (
                f"{len(cpu_ms)} {self.name}: CPU p99 {cpu_ms[p99]:.1f} ms, worst {cpu_ms[-1]:.1f}"
                f" ms; wall p99 {wall_ms[p99]:.1f} ms, worst {wall_ms[-1]:.1f} ms; the longest:",
                *map(str, longest),
            )
        )


def server_turns() -> float:
    """Milliseconds of CPU of the longest callback of the event loop, under load."""
    of_turns, of_callbacks = _Durations("turns"), _Durations("callbacks")
    counts = asyncio.run(_measure(of_turns, of_callbacks))
    memory_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(counts, of_turns, of_callbacks, f"{memory_mib} MiB", sep="\n", file=sys.stderr)
    missing = [name for name in DISTURBANCES if not counts[name]]
    assert not missing, f"the measurement had no {missing}"
    return max(call.cpu_ms for call in of_callbacks.calls)


def _pod(name: str, **resources: str) -> dict[str, Any]:
    amounts = {"cpu": "10m", **resources}
    container = {
        "name": "main",
        "image": "app",
        "resources": {"requests": amounts, "limits": resources},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
    }


def _request(method: str, path: str, body: Any = None, query: str = "") -> HttpRequest:
    data = b"" if body is None else json.dumps(body).encode()
    return HttpRequest(method, path, query, {"content-type": "application/json"}, data)


def _hanging_extender(_: ExtenderCall) -> ExtenderReply:
    threading.Event().wait(1.0)
    return ExtenderReply(error="no reply within 1s (httpTimeout)")


def _options() -> SchedulerOptions:
    extender = {
        "urlPrefix": "http://127.0.0.1:1",
        "filterVerb": "filter",
        "nodeCacheCapable": True,
        "managedResources": [{"name": HANGING, "ignoredByScheduler": True}],
    }
    configuration = read_configuration(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "extenders": [extender],
        },
        source="bench",
    )
    return SchedulerOptions(configuration=configuration, source="bench")


@cache
def _cluster() -> Cluster:
    """Return a cluster with all pods bound and running."""
    cluster = new_cluster(
        _options(),
        now_ns=START_NS,
        server_options=ServerOptions(anonymous=ADMIN),
        call_extender=_hanging_extender,
        options=ClusterOptions(log_events=LOG_EVENTS),
    )
    cluster.world.add(*generated_nodes(NODES))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"}}
    cluster.server.serve(_request("POST", "/api/v1/namespaces", namespace), START_NS)
    now_ns = START_NS
    for number in range(PODS):
        space = "doomed" if number < DOOMED else "default"
        path = f"/api/v1/namespaces/{space}/pods"
        now_ns += 1_000_000
        with cluster.store.batch():
            reply = cluster.server.serve(_request("POST", path, _pod(f"pod-{number}")), now_ns)
            assert reply.status == 201, reply
            if number % 50 == 49:
                while not cluster.catch_up(now_ns, lambda: False):
                    pass
    cluster.write_checkpoint()
    collapse_memory()
    return cluster


async def _measure(of_turns: _Durations, of_callbacks: _Durations) -> Counter[str]:
    """Return how many disturbances there were, by name."""
    cluster = _cluster()
    logging.disable(logging.ERROR)  # the attempts that the extender fails
    clock = ClusterClock(start_ns=max(START_NS, cluster.world.now_ns))
    turns = TurnLoop(cluster, clock)
    application = Application(turns, AllowedHosts())
    for name in ("_execute_queued", "_advance_long", "_wake_due", "_begin_checkpoint"):
        of_turns.add_part(turns, name)
    of_turns.add_part(readers, "_fork")
    of_turns.add_part(cluster.world, "catch_up")
    of_turns.add_part(cluster.world.log, "flush")
    of_turns.add_part(cluster.events, "write")
    turns._turn = of_turns.measured(turns._turn)  # type: ignore[method-assign]
    run = events.Handle._run
    counts: Counter[str] = Counter()
    cluster.write_checkpoint = _counted(  # type: ignore[method-assign]
        counts, "checkpoints", cluster.write_checkpoint
    )
    scheduler = cluster.schedulers[0]
    scheduler.call_extender = _counted(counts, "extender calls", _hanging_extender)
    with short_collections():
        running = asyncio.create_task(turns.run())
        keeping = asyncio.create_task(keep_huge_pages())
        await turns.execute(_request("GET", "/version"))
        numbers = itertools.count()
        is_over = asyncio.Event()
        of_turns.calls.clear()
        events.Handle._run = of_callbacks.measured(run)  # type: ignore[method-assign]
        gc.callbacks.extend((of_turns.collected, of_callbacks.collected))
        try:
            load = [
                asyncio.create_task(each)
                for each in (
                    *(_creating(turns, numbers, is_over) for _ in range(4)),
                    _reading(application, "", is_over, counts, "lists"),
                    _reading(application, WATCH, is_over, counts, "watches"),
                    _hanging(turns, is_over),
                    _forking(turns, is_over, counts),
                    *(_stuck(application, query, is_over, counts) for query in STUCK),
                    *(_leaving(application, query, is_over, counts) for query in ("", WATCH)),
                )
            ]
            await asyncio.sleep(LOAD_SECONDS / 4)
            reply = await turns.execute(_request("DELETE", "/api/v1/namespaces/doomed"))
            assert reply.status == 200, reply
            await asyncio.sleep(LOAD_SECONDS * 3 / 4)
            is_over.set()
            counts["created pods"] = next(numbers)
            counts["deleted pods"] = DOOMED - cluster.store.count(("", "Pod"), "doomed")
            counts["turns"] = len(of_turns.calls)
        finally:
            events.Handle._run = run  # type: ignore[method-assign]
            gc.callbacks.remove(of_turns.collected)
            gc.callbacks.remove(of_callbacks.collected)
        turns.stop()
        keeping.cancel()
        await running
        await asyncio.gather(*load, return_exceptions=True)
    return counts


def _counted(counts: Counter[str], name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def counted(*arguments: Any) -> Any:
        result = function(*arguments)
        counts[name] += 1
        return result

    return counted


async def _creating(turns: TurnLoop, numbers: Iterator[int], is_over: asyncio.Event) -> None:
    while not is_over.is_set():
        body = _pod(f"load-{next(numbers)}-{time.monotonic_ns()}")
        reply = await turns.execute(_request("POST", "/api/v1/namespaces/default/pods", body))
        assert reply.status == 201, reply
        await asyncio.sleep(PAUSE_SECONDS)


async def _hanging(turns: TurnLoop, is_over: asyncio.Event) -> None:
    for number in itertools.count():
        if is_over.is_set():
            return
        body = _pod(f"hanging-{number}-{time.monotonic_ns()}", **{HANGING: "1"})
        await turns.execute(_request("POST", "/api/v1/namespaces/default/pods", body))
        await asyncio.sleep(2)


async def _forking(turns: TurnLoop, is_over: asyncio.Event, counts: Counter[str]) -> None:
    """Count the pods in a reader process again and again."""
    called, store = readers.Readers(turns), turns.cluster.store
    while not is_over.is_set():
        assert await called.call(lambda _: store.count(POD)) > 0
        counts["readers"] += 1
        await asyncio.sleep(4)


async def _reading(
    application: Application,
    query: str,
    is_over: asyncio.Event,
    counts: Counter[str],
    name: str,
) -> None:
    """List all pods again and again, or watch them, through the ASGI interface."""

    async def send(message: Any) -> None:
        if message.get("body"):
            counts[f"parts of {name}"] += 1

    while not is_over.is_set():
        await _requested(application, query, send, is_over.wait)
        if not is_over.is_set():
            counts[name] += 1


async def _stuck(
    application: Application, query: str, is_over: asyncio.Event, counts: Counter[str]
) -> None:
    """Take nothing of a reply but its first part."""
    has_part = False

    async def send(message: Any) -> None:
        nonlocal has_part
        if has_part:
            counts["stuck clients"] += 1
            await is_over.wait()
        has_part = bool(message.get("body"))

    await _requested(application, query, send, is_over.wait)


async def _leaving(
    application: Application, query: str, is_over: asyncio.Event, counts: Counter[str]
) -> None:
    """Leave in the middle of a reply, again and again."""

    async def leave() -> None:
        await asyncio.sleep(0.05)

    async def send(_: Any) -> None:
        await asyncio.sleep(0.001)

    while not is_over.is_set():
        await _requested(application, query, send, leave)
        counts["clients that left"] += 1


async def _requested(
    application: Application,
    query: str,
    send: Callable[[Any], Awaitable[None]],
    disconnected: Callable[[], Awaitable[object]],
) -> None:
    """Request all pods as an HTTP server does."""
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/v1/pods",
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost")],
        "state": {},
    }
    has_sent = False

    async def receive() -> dict[str, Any]:
        nonlocal has_sent
        if not has_sent:
            has_sent = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await disconnected()
        return {"type": "http.disconnect"}

    await application(scope, receive, send)


CASES = (
    Case(
        name="server_turns_50000",
        unit=MILLISECONDS,
        measure=server_turns,
        target=50.0,
        runs=1,
        is_process_per_run=True,
    ),
)

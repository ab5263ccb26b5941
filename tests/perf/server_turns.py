"""How long the turns of a server hold its event loop, with 50,000 pods and long work under load.

At once: four clients create pods, one lists all pods, one watches them from the beginning, a
namespace with 5,000 pods is deleted, the decision log writes checkpoints, and an extender hangs.
Each callback of the event loop is measured: turns, the encoding of long lists, the sending.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import sys
import threading
import time
from asyncio import events
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from tests.perf.case import MILLISECONDS, Case

from podwright.api.endpoints import HttpRequest, ServerOptions, User
from podwright.apiserver import Application, Cluster, ClusterClock, TurnLoop, generated_nodes
from podwright.apiserver.cluster import new_cluster
from podwright.apiserver.hosts import AllowedHosts
from podwright.apiserver.short_collections import short_collections
from podwright.config import ExtenderCall, ExtenderReply, read_configuration
from podwright.machine import SchedulerOptions

NODES = 5_000
PODS = 50_000
DOOMED = 5_000
LOAD_SECONDS = 20.0
START_NS = 1_800_000_000_000_000_000
ADMIN = User("admin", groups=("system:masters", "system:authenticated"))
HANGING = "example.com/hanging"


class _Durations:
    """CPU and wall time of calls, in milliseconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.cpu_ms: list[float] = []
        self.wall_ms: list[float] = []

    def measured(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, with its calls measured."""

        def measured(*arguments: Any) -> Any:
            cpu, wall = time.thread_time(), time.perf_counter()
            result = function(*arguments)
            self.cpu_ms.append((time.thread_time() - cpu) * 1e3)
            self.wall_ms.append((time.perf_counter() - wall) * 1e3)
            return result

        return measured

    def __str__(self) -> str:
        cpu_ms, wall_ms = sorted(self.cpu_ms), sorted(self.wall_ms)
        p99 = len(cpu_ms) * 99 // 100
        return (
            f"{len(cpu_ms)} {self.name}: CPU p99 {cpu_ms[p99]:.1f} ms, worst {cpu_ms[-1]:.1f} ms;"
            f" wall p99 {wall_ms[p99]:.1f} ms, worst {wall_ms[-1]:.1f} ms"
        )


def server_turns() -> float:
    """Milliseconds of CPU of the longest callback of the event loop, under load."""
    of_turns, of_callbacks = _Durations("turns"), _Durations("callbacks")
    asyncio.run(_measure(of_turns, of_callbacks))
    print(of_turns, of_callbacks, sep="\n", file=sys.stderr)
    return max(of_callbacks.cpu_ms)


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
        "managedResources": [{"name": HANGING}],
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
    return cluster


async def _measure(of_turns: _Durations, of_callbacks: _Durations) -> None:
    cluster = _cluster()
    logging.disable(logging.ERROR)  # the attempts that the extender fails
    clock = ClusterClock(start_ns=max(START_NS, cluster.world.now_ns))
    turns = TurnLoop(cluster, clock)
    application = Application(turns, AllowedHosts())
    turns._turn = of_turns.measured(turns._turn)  # type: ignore[method-assign]
    run = events.Handle._run
    with short_collections():
        running = asyncio.create_task(turns.run())
        await turns.execute(_request("GET", "/version"))
        numbers = itertools.count()
        is_over = asyncio.Event()
        of_turns.cpu_ms.clear()
        of_turns.wall_ms.clear()
        events.Handle._run = of_callbacks.measured(run)  # type: ignore[method-assign]
        try:
            load = [
                asyncio.create_task(each)
                for each in (
                    *(_creating(turns, numbers, is_over) for _ in range(4)),
                    _listing(application, "", is_over),
                    _listing(application, "watch=true&sendInitialEvents=true", is_over),
                    _hanging(turns, is_over),
                )
            ]
            await asyncio.sleep(LOAD_SECONDS / 4)
            reply = await turns.execute(_request("DELETE", "/api/v1/namespaces/doomed"))
            assert reply.status == 200, reply
            await asyncio.sleep(LOAD_SECONDS * 3 / 4)
            is_over.set()
            created = next(numbers)
            left = cluster.store.count(("", "Pod"), "doomed")
        finally:
            events.Handle._run = run  # type: ignore[method-assign]
        print(f"created {created} pods; {left} left of the namespace", file=sys.stderr)
        turns.stop()
        await running
        await asyncio.gather(*load, return_exceptions=True)


async def _creating(turns: TurnLoop, numbers: Iterator[int], is_over: asyncio.Event) -> None:
    while not is_over.is_set():
        body = _pod(f"load-{next(numbers)}-{time.monotonic_ns()}")
        reply = await turns.execute(_request("POST", "/api/v1/namespaces/default/pods", body))
        assert reply.status == 201, reply


async def _hanging(turns: TurnLoop, is_over: asyncio.Event) -> None:
    for number in itertools.count():
        if is_over.is_set():
            return
        body = _pod(f"hanging-{number}-{time.monotonic_ns()}", **{HANGING: "1"})
        await turns.execute(_request("POST", "/api/v1/namespaces/default/pods", body))
        await asyncio.sleep(2)


async def _listing(application: Application, query: str, is_over: asyncio.Event) -> None:
    """List all pods again and again, or watch them, through the ASGI interface."""
    while not is_over.is_set():
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
            await is_over.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            del message

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

"""How long requests of podwright's own API hold the event loop, with 5,000 nodes and 30,000 pods.

25,000 of the pods have nodes, and 5,000 are unschedulable. Each callback of the event loop is
measured; a request that is answered by a reader process holds the loop while that is forked. As
in a server that runs for a while, the memory has huge pages.

The same server then explains decisions of its last 500 pods, each within a reply: the time of the
slowest, in the state in which the server keeps in-memory checkpoints of its decision log.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import sys
import time
from asyncio import events
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from tests.perf.case import MILLISECONDS, SECONDS, Case

from podwright.cluster.api.endpoints import HttpRequest, ServerOptions, User
from podwright.online.apiserver import Application, Cluster, ClusterClock, TurnLoop, generated_nodes
from podwright.online.apiserver.cluster import new_cluster
from podwright.online.apiserver.free_memory import (
    collapse_memory,
    keep_huge_pages,
    short_collections,
)
from podwright.online.apiserver.records.run_collection import make_memory_checkpoint
from podwright.online.apiserver.wire.hosts import AllowedHosts
from podwright.scheduler.machine import SchedulerOptions

NODES: Final = 5_000
PODS: Final = 30_000
PENDING: Final = 5_000
START_NS: Final = 1_800_000_000_000_000_000
ADMIN: Final = User("admin", groups=("system:masters", "system:authenticated"))
REPEATS: Final = 3
EXPLAINED: Final = range(PODS, PODS + 500, 100)
PODS_PATH: Final = "/api/v1/namespaces/default/pods"
V1: Final = "/podwright/v1"


def _pod(number: int) -> dict[str, Any]:
    cpu = "10m" if number < PODS - PENDING else "1000"
    resources = {"requests": {"cpu": cpu}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "app", "resources": resources}]},
    }


def _write() -> dict[str, Any]:
    """Return the creation of a pod that no node can take, as a sync sends it among others."""
    pod = _pod(PODS) | {"metadata": {"generateName": "pod-", "labels": {"app": "web"}}}
    return {"method": "POST", "path": PODS_PATH, "body": pod}


REQUESTS: Final = (
    ("GET", "/clock", "", None),
    ("GET", "/latency", "", None),
    ("GET", "/configuration", "", None),
    ("GET", "/plugins", "", None),
    ("GET", "/queue", "", None),
    ("GET", "/queue", "place=unschedulable&limit=1000", None),
    ("POST", "/queue/default/pod-29999/move", "", None),
    ("GET", "/metrics", "", None),
    ("GET", "/schedulers", "", None),
    ("GET", "/plugins/timings", "", None),
    ("GET", "/plugins/failures", "", None),
    ("GET", "/breakpoints", "", None),
    ("GET", "/state", "follow=false", None),
    ("GET", "/decisions", "limit=1000", None),
    ("GET", "/utilization", "limit=1000", None),
    ("GET", "/snapshot", "", None),
    ("GET", "/pods/default/pod-29999/attempts", "", None),
    ("GET", "/pods/default/pod-29999/explanation", "attempt=now", None),
    ("POST", "/what-if", "", {"pod": "default/pod-29999"}),
    ("POST", "/writes", "", {"writes": [_write() for _ in range(200)]}),
)


def control_endpoints() -> float:
    """Milliseconds of CPU of the longest callback of the event loop of any request."""
    longest = asyncio.run(_measure())
    for name, cpu_ms in longest.items():
        print(f"{cpu_ms:8.1f} ms  {name}", file=sys.stderr)
    return max(longest.values())


def explain_served() -> float:
    """Seconds until the slowest of five recent decisions is explained."""
    return asyncio.run(_explain())


async def _explain() -> float:
    cluster = _cluster()
    (scheduler,) = cluster.schedulers
    clock = ClusterClock(start_ns=max(START_NS, cluster.world.now_ns))
    clock.pause()
    turns = TurnLoop(cluster, clock)
    application = Application(turns, AllowedHosts())
    slowest_s = 0.0
    with short_collections():
        running = asyncio.create_task(turns.run())
        await turns.reach(clock.now_ns())
        while scheduler.is_memory_checkpoint_due:
            begin_s, before_s = time.perf_counter(), _readers_s()
            await make_memory_checkpoint(turns, scheduler)
            wall_s, process_s = time.perf_counter() - begin_s, _readers_s() - before_s
            print(f"{wall_s:8.2f} s, CPU {process_s:.2f} s  in-memory checkpoint", file=sys.stderr)
        for number in range(PODS, PODS + 500):
            document = _pod(number) | {"spec": _pod(0)["spec"]}
            reply = await turns.execute(_request("POST", PODS_PATH, document))
            assert reply.status == 201, reply
        await turns.reach(clock.now_ns())
        for number in EXPLAINED:
            begin_s, before_s = time.perf_counter(), _readers_s()
            path = f"{V1}/pods/default/pod-{number}/explanation"
            await _serve(application, "GET", path, "", None)
            wall_s = time.perf_counter() - begin_s
            process_s = _readers_s() - before_s
            print(f"{wall_s:8.2f} s, CPU {process_s:.2f} s  pod-{number}", file=sys.stderr)
            slowest_s = max(slowest_s, wall_s)
        turns.stop()
        await running
    return slowest_s


def _readers_s() -> float:
    """Return the CPU seconds of the reader processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _request(method: str, path: str, body: Any = None) -> HttpRequest:
    data = b"" if body is None else json.dumps(body).encode()
    return HttpRequest(method, path, "", {"content-type": "application/json"}, data)


@cache
def _cluster() -> Cluster:
    """Return the cluster, with everything processed."""
    cluster = new_cluster(
        SchedulerOptions(),
        now_ns=START_NS,
        server_options=ServerOptions(anonymous=ADMIN),
    )
    cluster.world.add(*generated_nodes(NODES))
    now_ns = START_NS
    for number in range(PODS):
        now_ns += 1_000_000
        with cluster.store.batch():
            request = _request("POST", PODS_PATH, _pod(number))
            reply = cluster.server.serve(request, now_ns)
            assert reply.status == 201, reply
            if number % 50 == 49:
                while not cluster.catch_up(now_ns, lambda: False):
                    pass
    collapse_memory()
    found = cluster.world.machine.queue.metrics().pending_pods
    assert found["unschedulable"] == PENDING, found
    return cluster


async def _measure() -> dict[str, float]:
    """Return the CPU time of the longest callback of each request."""
    cluster = _cluster()
    clock = ClusterClock(start_ns=max(START_NS, cluster.world.now_ns))
    clock.pause()
    turns = TurnLoop(cluster, clock)
    application = Application(turns, AllowedHosts())
    run = events.Handle._run
    longest: dict[str, float] = {}
    name = ""

    def measured(*arguments: Any) -> Any:
        begin = time.thread_time()
        result = run(*arguments)
        cpu_ms = (time.thread_time() - begin) * 1e3
        longest[name] = max(longest.get(name, 0.0), cpu_ms)
        return result

    with short_collections():
        running = asyncio.create_task(turns.run())
        keeping = asyncio.create_task(keep_huge_pages())
        await turns.reach(clock.now_ns())
        gc.collect()
        measuring: Callable[..., Any] = measured
        events.Handle._run = measuring  # type: ignore[method-assign]
        try:
            for method, path, query, body in REQUESTS:
                for repeat in range(REPEATS):
                    # What is read for the first time is compiled or cached.
                    name = f"{method} {path}?{query}" if repeat else ""
                    await _serve(application, method, f"{V1}{path}", query, body)
        finally:
            events.Handle._run = run  # type: ignore[method-assign]
        keeping.cancel()
        turns.stop()
        await running
    del longest[""]
    return longest


async def _serve(application: Application, method: str, path: str, query: str, body: Any) -> None:
    data = b"" if body is None else json.dumps(body).encode()
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [
            (b"host", b"localhost"),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(data)).encode()),
        ],
        "state": {},
    }
    statuses: list[int] = []

    bodies = iter((data,))

    async def receive() -> dict[str, Any]:
        body = next(bodies, None)
        if body is None:
            await asyncio.Event().wait()  # the client stays
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await application(scope, receive, send)
    assert statuses == [200], f"{method} {path}: {statuses}"


CASES = (
    Case(
        name="control_endpoints",
        unit=MILLISECONDS,
        measure=control_endpoints,
        target=20,
        runs=1,
        is_process_per_run=True,
    ),
    Case(
        name="explain_served_5000",
        unit=SECONDS,
        measure=explain_served,
        target=2,
        runs=1,
        is_process_per_run=True,
    ),
)

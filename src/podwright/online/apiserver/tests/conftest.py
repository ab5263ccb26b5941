"""Clusters, and servers of them on a free port of loopback."""

import asyncio
import contextlib
import gc
import http.client
import json
import os
import sys
import threading

import pytest
import uvloop
from tests.waiting import SECONDS_MAX, until

from podwright.cluster.api.endpoints import HttpRequest, ServerOptions, User, static_tokens
from podwright.online.apiserver import (
    Application,
    Cluster,
    ClusterClock,
    ClusterOptions,
    TurnLoop,
    readers,
)
from podwright.online.apiserver.cluster import new_cluster
from podwright.online.apiserver.generated_nodes import generated_nodes
from podwright.online.apiserver.wire.hosts import AllowedHosts
from podwright.online.apiserver.wire.serving import bound_socket, serving
from podwright.scheduler.machine import SchedulerOptions

ADMIN = User("admin", groups=("system:masters", "system:authenticated"))
SERVER = ServerOptions(tokens=(static_tokens({"secret": ADMIN}),), anonymous=ADMIN)
JSON = {"content-type": "application/json"}
START_NS = 1_800_000_000_000_000_000


def pod(name, **spec):
    spec.setdefault("containers", [{"name": "main", "image": "app"}])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def request(method, path, body=None, query=""):
    return HttpRequest(
        method, path, query, JSON, b"" if body is None else json.dumps(body).encode()
    )


def cluster_of(nodes=2, *, store=None, **options) -> Cluster:
    cluster = new_cluster(
        SchedulerOptions(),
        now_ns=START_NS,
        options=ClusterOptions(**options),
        server_options=SERVER,
        store=store,
    )
    cluster.world.add(*generated_nodes(nodes))
    return cluster


def with_turns(use, *, nodes=2, store=None):
    """Return what `use` returns of the turn loop of a new cluster."""
    cluster = cluster_of(nodes, store=store)

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        try:
            return await use(turns)
        finally:
            turns.stop()
            await running

    return uvloop.run(main())


async def pod_created(turns, name):
    """Create a pod, and wait until the world has caught up."""
    reply = await turns.execute(request("POST", "/api/v1/namespaces/default/pods", pod(name)))
    assert reply.status == 201
    await turns.reach(turns.cluster.world.now_ns)


class Served:
    """A server in a thread, and requests to it."""

    def __init__(self, cluster, clock, port, loop, turns):
        self.cluster, self.clock, self.port = cluster, clock, port
        self.loop, self.turns = loop, turns

    def requests_in_progress(self):
        """Return the number of requests whose replies are not complete."""

        async def count():
            running = [repr(each.get_coro()) for each in asyncio.all_tasks()]
            return sum("run_asgi" in each or "._execute" in each for each in running)

        return asyncio.run_coroutine_threadsafe(count(), self.loop).result(SECONDS_MAX)

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS_MAX)

    def send(self, method, path, body=None, headers=()):
        connection = self.connection()
        with contextlib.closing(connection):
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {**JSON, **dict(headers)})
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def eventually(self, path, condition):
        """Poll an object until a condition holds."""
        found = None

        def holds():
            nonlocal found
            status, found = self.send("GET", path)
            return status == 200 and condition(found)

        until(holds, pause_seconds=0.005, describe=lambda: found)
        return found


@contextlib.contextmanager
def starting():
    """Yield a function that serves a cluster until the block ends."""
    with contextlib.ExitStack() as stack:

        def start(cluster, clock=None, tls=None, **options):
            clock = clock or ClusterClock(start_ns=START_NS)
            listening = bound_socket("127.0.0.1", 0)
            port = listening.getsockname()[1]
            ready, loops = threading.Event(), []

            async def main():
                turns = TurnLoop(cluster, clock)
                loops.append((asyncio.get_running_loop(), turns))
                application = Application(turns, AllowedHosts(), **options)
                await serving(application, turns, listening, ready.set, tls=tls)

            thread = threading.Thread(target=uvloop.run, args=(main(),))
            thread.start()

            def stop():
                loop, turns = loops[0]
                with contextlib.suppress(RuntimeError):  # it has stopped by itself
                    loop.call_soon_threadsafe(turns.stop)
                thread.join(timeout=SECONDS_MAX)
                assert not thread.is_alive()

            stack.callback(stop)
            assert ready.wait(timeout=SECONDS_MAX)
            return Served(cluster, clock, port, *loops[0])

        yield start


@pytest.fixture
def serve():
    """Return a function that serves a cluster until the test ends."""
    with starting() as start:
        yield start


@pytest.fixture(scope="module")
def serve_unchanged():
    """Return a function that serves a cluster for the tests of a module: none may change it."""
    with starting() as start:
        yield start


@pytest.fixture(scope="module")
def unchanged(serve_unchanged):
    """A server of two nodes, its clock paused."""
    clock = ClusterClock(start_ns=START_NS)
    clock.pause()
    return serve_unchanged(cluster_of(), clock)


@pytest.fixture
def answers_here(monkeypatch):
    """Compute what readers answer in a thread of this process, instead of in a copy of it.

    The endpoints are then tested with what debuggers and coverage see; `test_readers` has copies.
    """

    def begin(_store, function):
        reading, writing = os.pipe()

        def report(value):
            readers._send(writing, readers._PROGRESS, value)

        def answer():
            try:
                kind, value = readers._RESULT, function(report)
            except Exception as error:  # noqa: BLE001 - sent to the server, as a copy does
                kind, value = readers._ERROR, error
            with contextlib.suppress(OSError):  # the server has closed its end
                readers._send(writing, kind, value)
            os.close(writing)

        threading.Thread(target=answer).start()
        # The process that is waited for ends at once.
        return os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", ""], {}), reading

    monkeypatch.setattr(readers, "_fork", begin)
    yield
    gc.unfreeze()


@pytest.fixture(params=["in a copy", "here"])
def answering(request):
    """Answer in a copy of the process, and in the process itself."""
    if request.param == "here":
        request.getfixturevalue("answers_here")

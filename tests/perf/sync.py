"""A source of recorded bytes: how fast it is imported, and how far a sync lags behind it.

`python -m tests.perf.sync` prints the time and the CPU time of an import of 5,000 nodes and 50,000
pods, and the lag of a sync into a cluster of `podwright up` at 500 changes per second. The source
only sends bytes that were made before, from a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from aiohttp import web
from tests.e2e_real.cluster_processes import embedded
from tests.perf.templates import node_document, pod_document

PODWRIGHT: Final = Path(sys.executable).with_name("podwright")
BEGUN: Final = "2030-01-01T00:00:00Z"
PAGE: Final = 500
WATCHED_PODS: Final = 2_000
"""Pods that the changes create and delete again, one after the other."""


def _with_identity(document: dict[str, Any], name: str, uid: str, version: int) -> dict[str, Any]:
    metadata = {
        **document["metadata"],
        "name": name,
        "uid": uid,
        "creationTimestamp": BEGUN,
        "resourceVersion": str(version),
    }
    return {**document, "metadata": metadata}


class Source:
    """The bytes of a source.

    Parameters
    ----------
    nodes, pods : int
        What is there at the start; each pod has a node.
    per_second : int
        How many changes of pods follow.
    """

    def __init__(self, nodes: int, pods: int, per_second: int) -> None:
        encode = msgspec.json.encode
        self.nodes = [
            encode(_with_identity(node_document(i), f"n{i}", f"n{i}", i + 1)) for i in range(nodes)
        ]
        template = pod_document(labels={"app": "web"})
        self.pods = []
        for i in range(pods):
            pod = _with_identity(template, f"p{i}", f"p{i}", nodes + i + 1)
            pod["metadata"]["namespace"] = "default"
            self.pods.append(encode({**pod, "spec": {**pod["spec"], "nodeName": f"n{i % nodes}"}}))
        self._template = template
        self._first = nodes + pods + 1
        self._per_second = per_second

    def change(self, number: int) -> bytes:
        """Return an event: pods are created, and deleted `WATCHED_PODS` changes later."""
        cycle, index = divmod(number, WATCHED_PODS)
        name = f"w{cycle - cycle % 2}-{index}"
        pod = _with_identity(self._template, name, name, self._first + number)
        pod["metadata"]["namespace"] = "default"
        kind = "DELETED" if cycle % 2 else "ADDED"
        return msgspec.json.encode({"type": kind, "object": pod}) + b"\n"

    async def collection(self, request: web.Request) -> web.StreamResponse:
        """Serve a list in pages, or a watch."""
        items = {"nodes": self.nodes, "pods": self.pods}.get(request.path.rpartition("/")[2], [])
        if "sendInitialEvents" in request.query:
            return web.json_response({"message": "lists are not streamed", "code": 400}, status=400)
        if "watch" in request.query:
            return await self._watch(request)
        begin = int(request.query.get("continue", "0"))
        end = begin + int(request.query.get("limit", len(items) or 1))
        rest = {"continue": str(end)} if end < len(items) else {}
        metadata = {"resourceVersion": str(self._first), **rest}
        body = b'{"metadata":%s,"items":[%s]}' % (
            msgspec.json.encode(metadata),
            b",".join(items[begin:end]),
        )
        return web.Response(body=body, content_type="application/json")

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        begun, number = time.monotonic(), 0
        while True:
            await asyncio.sleep(0.02)
            if request.path.endswith("/pods") and self._per_second:
                due = int((time.monotonic() - begun) * self._per_second)
                events = b"".join(self.change(i) for i in range(number, due))
                try:
                    await response.write(events)
                except ConnectionResetError:
                    return response
                number = due


async def _namespace(_: web.Request) -> web.Response:
    return web.json_response(
        {"metadata": {"name": "kube-system", "uid": "u", "creationTimestamp": BEGUN}}
    )


async def _version(_: web.Request) -> web.Response:
    return web.json_response({"major": "1", "minor": "36", "gitVersion": "v1.36.0"})


def _serve(nodes: int, pods: int, per_second: int, port: Any) -> None:
    source = Source(nodes, pods, per_second)
    application = web.Application()
    application.router.add_get("/version", _version)
    application.router.add_get("/api/v1/namespaces/kube-system", _namespace)
    application.router.add_get("/{path:apis?/.*}", source.collection)

    async def serve() -> None:
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port.value = runner.addresses[0][1]
        await asyncio.Event().wait()

    asyncio.run(serve())


@contextmanager
def serving(nodes: int, pods: int, per_second: int = 0) -> Iterator[str]:
    """Serve a source for the time of a block; yields its address."""
    port = multiprocessing.Value("i", 0)
    process = multiprocessing.Process(target=_serve, args=(nodes, pods, per_second, port))
    process.start()
    try:
        while not port.value:
            assert process.is_alive(), "the source has ended"
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port.value}"
    finally:
        process.terminate()
        process.join()


def measure_import(nodes: int, pods: int) -> None:
    """Print how long an import takes."""
    with serving(nodes, pods) as address, tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.monotonic()
        command = [PODWRIGHT, "import", "--server", address, "--out", f"{folder}/cluster.json"]
        subprocess.run([*map(str, command)], check=True, capture_output=True)
        seconds = time.monotonic() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"import of {nodes:,} nodes and {pods:,} pods: {seconds:.1f} s, {cpu:.1f} s of CPU")


def measure_lag(nodes: int, pods: int, per_second: int, seconds: int) -> None:
    """Print the lag of a sync."""
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded(Path(folder), "--no-controllers", "--no-lifecycle") as kubeconfig,
        serving(nodes, pods, per_second) as address,
    ):
        import yaml

        target = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        command = [PODWRIGHT, "sync", "--server", address, "--to", target]
        process = subprocess.Popen([*map(str, command)], stderr=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL)  # fmt: skip
        before, changes = [0.0, 0.0], 0
        try:
            for left in range(seconds, 0, -5):
                time.sleep(5)
                found = _status(target)
                used = [_cpu_seconds("sync", target), _cpu_seconds("up", str(kubeconfig))]
                if found and found["phase"] == "following":
                    done = found["lag"]["changes"] - changes
                    each = [
                        (now - then) * 1e3 / max(1, done)
                        for now, then in zip(used, before, strict=True)
                    ]
                    print(f"CPU per change: sync {each[0]:.2f} ms, up {each[1]:.2f} ms")
                    before, changes = used, found["lag"]["changes"]
                    lag = found["lag"]
                    print(
                        f"{left - 5:4d} s left: {lag['changes']:,} changes, {lag['waiting']} groups"
                        f" wait, lag {lag['lastSeconds']:.2f} s, mean {lag['meanSeconds']:.2f} s,"
                        f" longest {lag['longestSeconds']:.2f} s; errors {found['errors']}",
                        flush=True,
                    )
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


def _cpu_seconds(command: str, word: str) -> float:
    """Return the CPU time so far of the podwright command with a word."""
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = each.read_text().split("\0")
            if command in words[:4] and word in words:
                times = (each.parent / "stat").read_text().rpartition(")")[2].split()
                return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:  # it has ended
            continue
    return 0.0


def _status(server: str) -> dict[str, Any] | None:
    connection = HTTPConnection(urlsplit(server).netloc, timeout=30)
    connection.request("GET", "/podwright/v1/sync")
    reply = connection.getresponse()
    found: dict[str, Any] = json.loads(reply.read())
    connection.close()
    return found if reply.status == 200 else None


def main() -> None:
    """Measure what the options name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("import", "lag"))
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=50_000)
    parser.add_argument("--per-second", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    if options.only != "lag":
        measure_import(options.nodes, options.pods)
    if options.only != "import":
        # The lag is that of changes, so the cluster is small.
        measure_lag(100, 500, options.per_second, options.seconds)


if __name__ == "__main__":
    main()

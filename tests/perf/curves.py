"""Cost curves: what a pod costs as one number of its cluster grows, as pictures.

    make curves                                         all, into docs/explanation/curves
    make curves ARGS="--only nodes,pending"             some
    make curves ARGS="--only watchers --folder /tmp"    into another folder

Each picture has the processor time of a pod over one number, both axes logarithmic. A dotted line
shows a cost in proportion to the number, from the first point on. The least of several parts of a
run is drawn, so that other load on the machine changes it little.
"""

from __future__ import annotations

import argparse
import gc
import http.client
import selectors
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from tests.perf import templates
from tests.perf.api_http import create_pods
from tests.perf.apps_up import TEMPLATE, WITHOUT_KUBELETS, app_pods, creation, prepare
from tests.perf.machine import pods_of
from tests.perf.served import Server, served

from podwright.apimachinery.objects import Node, Pod, decode_node
from podwright.apimachinery.schema import decode
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework.run import PluginRunner
from podwright.scheduler.queueing import SchedulingQueue
from podwright.testing.parity.sequence import profiles_of

FOLDER = Path(__file__).parents[2] / "docs/explanation/curves"
_PARTS = 20
_PODS = 2_000
_US = 1e6

Curve = dict[int, float]
"""The cost by the number that grows."""


def main() -> int:
    """Parse the options, and measure and draw the chosen curves."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default=",".join(CURVES), help="names, separated by commas")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.only.split(","):
        label, measure = CURVES[name]
        lines = measure()
        for line, curve in lines.items():
            shown = ", ".join(f"{at:,}: {cost:,.1f}" for at, cost in curve.items())
            print(f"{name}, {line}: {shown} us", flush=True)
        draw(options.folder / f"{name}.svg", label, lines)
    return 0


def draw(path: Path, label: str, lines: dict[str, Curve]) -> None:
    """Write a picture; the same figures give the same bytes."""
    mpl.rcParams["svg.hashsalt"] = "podwright"
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for line, curve in lines.items():
        numbers = [max(at, 1) for at in curve]
        [drawn] = axes.plot(numbers, list(curve.values()), marker="o", label=line)
        first = next(iter(curve.values()))
        proportional = [first * number / numbers[0] for number in numbers]
        axes.plot(numbers, proportional, linestyle=":", color=drawn.get_color(), linewidth=1)
    highest = max(cost for curve in lines.values() for cost in curve.values())
    least = min(cost for curve in lines.values() for cost in curve.values())
    axes.set(xscale="log", yscale="log", xlabel=label, ylabel="microseconds of CPU a pod")
    axes.set_ylim(least / 2, highest * 2)
    axes.grid(which="major", alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def over_nodes() -> dict[str, Curve]:
    """Pods of one template, and pods with requests of their own, on more and more nodes."""
    same: Curve = {}
    own: Curve = {}
    for count in (1_000, 4_000, 16_000, 65_000, 130_000):
        nodes = templates.nodes(count)
        same[count] = decided(nodes, pods_of(_PODS, "same"))
        own[count] = decided(nodes, _pods_of_templates(_PODS // 4, _PODS // 4))
    return {"one template": same, "requests of its own": own}


def over_placed() -> dict[str, Curve]:
    """Pods beside more and more placed ones."""
    document = templates.node_document(0)
    curves: dict[str, Curve] = {"one template": {}, "spread softly": {}}
    small = templates.pod_document(cpu="1m", memory="1Mi")
    spread = templates.spreading("ScheduleAnyway")
    for count in (1_000, 10_000, 100_000, 1_000_000):
        for (line, curve), template in zip(curves.items(), (small, spread), strict=True):
            cluster = _cluster(_large_nodes(document, 5_000))
            for number, pod in enumerate(templates.pods(small, count, "placed")):
                cluster.place(pod, number % 5_000)
            curve[count] = _least(cluster, templates.pods(template, _PODS, line))
    return curves


def over_templates() -> dict[str, Curve]:
    """Pods of more and more templates, in turn, on 5,000 nodes."""
    nodes = templates.nodes(5_000)
    return {
        "5,000 nodes": {
            count: decided(nodes, _pods_of_templates(count, max(_PODS, count)))
            for count in (1, 10, 100, 1_000, 10_000)
        }
    }


def over_pending() -> dict[str, Curve]:
    """Adding a pod to the queue and popping the next one, beside more and more waiting pods."""
    curve: Curve = {}
    for count in (1, 100, 1_000, 10_000, 100_000):
        queue, now_ns = SchedulingQueue(), 10**18
        for pod in pods_of(count, "pending"):
            now_ns += 1
            queue.add(pod, now_ns)
        added = iter(pods_of(_PODS * 4, "added"))

        def turn(queue: SchedulingQueue = queue, added: Iterable[Pod] = added) -> None:
            nonlocal now_ns
            now_ns += 1
            queue.add(next(iter(added)), now_ns)
            popped = queue.pop(now_ns)
            assert popped is not None
            queue.done(popped, now_ns)

        curve[count] = least_of(turn, _PODS * 4)
    return {"added, popped and done": curve}


def over_watchers() -> dict[str, Curve]:
    """`podwright up` of 1,000 nodes: pods of one template with more and more watches of pods."""
    curve: Curve = {}
    for count in (1, 10, 100, 1_000):
        with served(*WITHOUT_KUBELETS, nodes=1_000) as server:
            prepare(server, TEMPLATE)
            with _Watchers(server, count):
                pods = [creation(pod) for pod in app_pods(TEMPLATE, 100, 3, seed=2, prefix="seen")]
                server.settle()
                before = server.cpu_seconds
                create_pods(server, pods)
                curve[count] = (server.cpu_seconds - before) / len(pods) * _US
    return {"1,000 nodes": curve}


class _Watchers:
    """Connections that watch all pods; a thread reads what arrives."""

    def __init__(self, server: Server, count: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._connections = []
        self._is_over = threading.Event()
        for _ in range(count):
            connection = http.client.HTTPConnection(*server.address)
            connection.request("GET", "/api/v1/pods?watch=true&resourceVersion=0")
            connection.sock.setblocking(False)
            self._selector.register(connection.sock, selectors.EVENT_READ)
            self._connections.append(connection)
        self._thread = threading.Thread(target=self._read)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        for connection in self._connections:
            connection.close()

    def _read(self) -> None:
        while not self._is_over.is_set():
            for key, _ in self._selector.select(timeout=0.1):
                key.fileobj.recv(1 << 20)  # type: ignore[union-attr]  # a socket


def decided(nodes: Sequence[Node], pods: Sequence[Pod]) -> float:
    """Return the microseconds of a decision and of placing its pod."""
    return _least(_cluster(nodes), pods)


def _least(cluster: Cluster, pods: Sequence[Pod]) -> float:
    runner = PluginRunner(profiles_of(None)["default-scheduler"], cluster)
    pending = iter(pods)
    number = 0

    def turn() -> None:
        nonlocal number
        number += 1
        pod = next(pending)
        cluster.place(pod, runner.decide(pod, cycle_number=number).slot)

    return least_of(turn, len(pods))


def least_of(turn: Callable[[], None], count: int) -> float:
    """Return the microseconds of one of `count` turns, in the quickest of some parts."""
    gc.collect()
    size = count // _PARTS
    least = float("inf")
    for _ in range(_PARTS):
        start_s = time.process_time()
        for _ in range(size):
            turn()
        least = min(least, (time.process_time() - start_s) / size)
    return least * _US


def _cluster(nodes: Iterable[Node]) -> Cluster:
    cluster = Cluster()
    cluster.put(decode({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}))
    for node in nodes:
        cluster.put(node)
    return cluster


def _large_nodes(document: templates.Document, count: int) -> list[Node]:
    """Return nodes for many pods, in three zones."""
    resources = {"cpu": "4000", "memory": "32Ti", "pods": "10000"}
    status = document["status"] | {"capacity": resources, "allocatable": resources}
    zones = ["zone1", "zone2", "zone3"]
    return [
        decode_node(templates.node_document(number, zones) | {"status": status})
        for number in range(count)
    ]


def _pods_of_templates(template_count: int, count: int) -> list[Pod]:
    """Return pods of templates with different requests, in turn."""
    like = [
        templates.pod_document(cpu=f"{50 + i % 100}m", memory=f"{100 + i // 100}Mi")
        for i in range(template_count)
    ]
    share = -(-count // template_count)
    of_each = [templates.pods(each, share, f"t{i}") for i, each in enumerate(like)]
    return [pod for turn in zip(*of_each, strict=True) for pod in turn]


CURVES: dict[str, tuple[str, Callable[[], dict[str, Curve]]]] = {
    "nodes": ("nodes", over_nodes),
    "placed": ("placed pods, on 5,000 nodes", over_placed),
    "templates": ("templates", over_templates),
    "pending": ("pending pods", over_pending),
    "watchers": ("watches", over_watchers),
}


if __name__ == "__main__":
    sys.exit(main())

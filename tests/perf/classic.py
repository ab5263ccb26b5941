"""Benchmarks of the v1.16 rules, which are written node by node for reading."""

from __future__ import annotations

import time

from tests.perf import templates
from tests.perf.case import OPERATIONS_PER_SECOND, PODS_PER_SECOND, Case

from podwright.apimachinery.objects import with_node_name
from podwright.scheduler.classic import (
    ClassicCluster,
    ClassicQueue,
    ClassicScheduler,
    algorithm_of_provider,
)
from podwright.scheduler.classic.scheduler import seeded_draw

_SECOND_NS = 1_000_000_000


def basic() -> float:
    """1,000 nodes, 1,000 pods scheduled one by one, with v1.16's sampling of nodes."""
    cluster = ClassicCluster()
    for node in templates.nodes(1_000):
        cluster.put(node)
    scheduler = ClassicScheduler(algorithm_of_provider(), cluster)
    pods = templates.pods(templates.pod_document(), 1_000, "pod")
    start = time.perf_counter()
    for number, pod in enumerate(pods):
        decision = scheduler.decide(pod, seeded_draw(0, number))
        cluster.put(with_node_name(pod, decision.node))
    return len(pods) / (time.perf_counter() - start)


def queue_operations() -> float:
    """20,000 pods added, and three rounds in which all are popped, parked, moved and flushed."""
    queue = ClassicQueue()
    pods = templates.pods(templates.pod_document(), 20_000, "pod")
    now_ns = 0
    start = time.perf_counter()
    for pod in pods:
        now_ns += 1_000
        queue.add(pod, now_ns)
    count = len(pods)
    for _ in range(3):
        popped = []
        while (queued := queue.pop(now_ns)) is not None:
            now_ns += 1_000
            popped.append(queued)
        for queued in popped:
            now_ns += 1_000
            queue.park(queued, now_ns)
        moved = queue.move_all_to_active_queue(now_ns)
        now_ns += 11 * _SECOND_NS
        count += 2 * len(popped) + len(moved) + len(queue.flush_backoff(now_ns))
    return count / (time.perf_counter() - start)


CASES = (
    Case(name="classic_basic_1000", unit=PODS_PER_SECOND, measure=basic, target=200),
    Case(
        name="classic_queue_ops",
        unit=OPERATIONS_PER_SECOND,
        measure=queue_operations,
        target=200_000,
    ),
)

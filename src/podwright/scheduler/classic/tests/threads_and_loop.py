"""One full cluster, scheduled on a pool of threads and in a loop."""

from __future__ import annotations

from podwright.apimachinery.objects import with_node_name
from podwright.cli.worker_threads import ThreadedPieces
from podwright.scheduler.classic import (
    ClassicCluster,
    ClassicScheduler,
    Decision,
    ParallelizeUntil,
    Preemption,
    algorithm_of_provider,
    in_order,
    preempt,
)
from podwright.scheduler.classic.scheduler import seeded_draw
from podwright.testing import make_node, make_pod

Outcome = tuple[Decision, Preemption | None]


def both_ways(*, workers: int, rounds: int) -> tuple[list[Outcome], list[Outcome]]:
    """Return the decisions for the same pods in a loop and on threads."""
    with ThreadedPieces(workers) as threads:
        return _decided(in_order, workers, rounds), _decided(threads, workers, rounds)


def _decided(parallelize_until: ParallelizeUntil, workers: int, rounds: int) -> list[Outcome]:
    cluster = ClassicCluster()
    for number in range(80):
        zone = {"failure-domain.beta.kubernetes.io/zone": f"z{number % 3}"}
        cluster.put(make_node(f"n{number}", cpu=str(1 + number % 4), labels=zone))
        labels = {"app": f"a{number % 5}"}
        cluster.put(make_pod(f"p{number}", cpu="700m", labels=labels, node=f"n{number}"))
    scheduler = ClassicScheduler(
        algorithm_of_provider(), cluster, parallelize_until=parallelize_until, workers=workers
    )
    outcomes: list[Outcome] = []
    for number in range(rounds):
        # Every second pod needs preemption.
        cpu = "4" if number % 2 else "900m"
        pod = make_pod(f"new-{number}", cpu=cpu, labels={"app": "a1"}, priority=5)
        decision = scheduler.decide(pod, seeded_draw(1, number))
        found = None
        if decision.node:
            cluster.put(with_node_name(pod, decision.node))
        else:
            found = preempt(scheduler, pod, decision.failed)
        outcomes.append((decision, found))
    return outcomes


def seen(decision: Decision) -> tuple[object, ...]:
    """Return the content of a decision."""
    table = decision.table
    rows = None if table is None else (table.rows, table.mapped, table.totals)
    return decision.node, decision.feasible, decision.failed, rows

"""The answers to some questions, their reports and reviews, kept in a text beside the tests.

`PODWRIGHT_UPDATE_STORIES=1` writes the text again, one by one; the difference is reviewed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.recorded_texts import RecordedText

import podwright as pw
from podwright.apimachinery.objects import Object
from podwright.simulation.capacity import (
    capacity_report,
    capacity_review,
    drain_report,
    purchase_document,
    purchase_report,
    review_text,
)
from podwright.simulation.capacity.tests.test_counting import cluster, owned, workload
from podwright.simulation.capacity.tests.test_drains import budget
from podwright.simulation.capacity.tests.test_planning import scaled
from podwright.testing import make_node, make_pod

SMALL = pw.NodeType(name="small", price=1, allocatable={"cpu": "2", "memory": "4Gi"})
LARGE = pw.NodeType(
    name="large", price=3.5, max=2, allocatable={"cpu": "8", "memory": "16Gi"},
    labels={"size": "large"},
)  # fmt: skip
PLACED = [
    *(owned(f"a{i}", f"n{i % 3}", "1", owner="first") for i in range(4)),
    *(owned(f"b{i}", "n0", "500m", priority=3, owner="second") for i in range(2)),
    make_pod("alone", node="n1", cpu="250m", memory="1Gi"),
]
WAITING = [make_pod("waits", cpu="3"), make_pod("huge", cpu="30"), make_pod("small", cpu="100m")]
BUDGETS = [
    budget("web", {"app": "web"}, maxUnavailable=1), budget("db", {"app": "db"}, minAvailable=2),
]  # fmt: skip


def shown(value: Any) -> Iterator[str]:
    """Yield a line for each field of a result."""
    found = msgspec.to_builtins(value, enc_hook=repr)
    items = found.items() if isinstance(found, dict) else enumerate(found)
    for name, part in items:
        yield f"{name}: {msgspec.json.encode(part).decode()}"


def counted(objects: list[Object], **question: Any) -> Iterator[str]:
    asked = pw.CapacityQuestion(**question)
    found = pw.capacity(objects, asked)
    for template in found.templates:
        yield f"{template.kind} {template.name}: {template.weight} {template.count}"
        yield f"  {template.nodes} {template.zones} {template.pools}"
    for name in ("count", "sets", "pending_scheduled", "pending_unscheduled", "evicted"):
        yield f"{name}: {getattr(found, name)}"
    yield from shown([*found.headroom])
    yield from map(str, chain.from_iterable(capacity_report(found, asked)[1:]))
    yield from review_text(capacity_review(found, now="2026-01-01T00:00:00Z"))
    yield msgspec.json.encode(capacity_review(found, max_limit=3)).decode()


def drained(objects: list[Object], *names: str, **options: Any) -> Iterator[str]:
    plan = pw.drain_plan(objects, [*names], **options)
    yield from shown(plan)
    yield from map(str, chain.from_iterable(drain_report(plan)[1:]))


def bought(objects: list[Object], *types: pw.NodeType) -> Iterator[str]:
    found = pw.buy_nodes(objects, [*types])
    yield msgspec.json.encode(purchase_document(found, types)).decode()
    yield from map(str, chain.from_iterable(purchase_report(found, types)[1:]))


PLANS: dict[str, Callable[[], Iterator[str]]] = {
    "one template": lambda: counted(cluster(), pods=(make_pod("x", cpu="1500m"),)),
    "a mix": lambda: counted(
        [*cluster(), *PLACED], ratio=(2, 1),
        pods=(make_pod("x", cpu="1"), workload(name="y", cpu="500m")),
    ),
    "a limit": lambda: counted(cluster(), pods=(make_pod("x", cpu="1m"),), max_limit=7),
    "headroom": lambda: counted([*cluster(), *PLACED, workload(replicas=2)], headroom=True),
    "preemption": lambda: counted(
        [*cluster(2), *PLACED[:4]], pods=(make_pod("x", cpu="2", priority=2),), preemption=True
    ),
    "losses": lambda: counted([*cluster(), *PLACED], loss=("node", "zone", "pool")),
    "pods that wait": lambda: counted([*cluster(), *WAITING], pods=(make_pod("x", cpu="1"),)),
    "drains": lambda: drained(
        [*cluster(), workload(replicas=5), workload(name="db", replicas=3), *BUDGETS], "n0", "n1"
    ),
    "drains with new nodes": lambda: drained(
        [*cluster(2), workload(replicas=6), *BUDGETS[:1]], "n0", "n1", surge=1
    ),
    "drains that are blocked": lambda: drained(
        [*cluster(3), workload(name="db", replicas=2), *BUDGETS[1:], *PLACED], "n0", "n1", "n2"
    ),
    "a purchase": lambda: bought([make_node("n", cpu="2"), *WAITING, *PLACED[:1]], SMALL, LARGE),
    "a purchase for workloads": lambda: bought([workload(replicas=9)], SMALL, LARGE),
    "node groups": lambda: shown(scaled([workload(replicas=9, cpu="2")])),
}  # fmt: skip


TEXT = RecordedText(Path(__file__).with_name("recorded_plans.txt"), PLANS)


@pytest.mark.parametrize("name", PLANS)
def test_an_answer_is_the_recorded_one(name: str) -> None:
    found = "\n".join(PLANS[name]()).splitlines()
    TEXT.check(name, found)

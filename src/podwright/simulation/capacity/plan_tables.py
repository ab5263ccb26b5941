"""The tables of capacity and of drain plans, which commands print and reports show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from podwright.apimachinery.documents import first_names
from podwright.simulation.capacity.counting import Capacity, Headroom
from podwright.simulation.capacity.drains import DrainPlan
from podwright.simulation.capacity.losses import Loss


class PlanTable(NamedTuple):
    """A table.

    Attributes
    ----------
    title : str
    heads : tuple of str
        In upper case.
    rows : list of tuple of str
    """

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]


def _table(title: str, heads: str, rows: Iterable[Sequence[object]]) -> PlanTable:
    return PlanTable(title, tuple(heads.split(", ")), [tuple(map(str, row)) for row in rows])


def capacity_tables(answer: Capacity) -> dict[str, PlanTable]:
    """Return tables of `answer`: `nodes`, `places`, `stop`, `headroom` and `losses`."""
    pod, reasons = ("", ()) if answer.stop is None else (answer.stop.pod, answer.stop.reasons)
    places = [
        (each.name, what, name or "<none>", count)
        for each in answer.templates
        for what, counts in (("zone", each.zones), ("pool", each.pools))
        for name, count in counts.items()
    ]
    return {
        "nodes": _table(
            "Nodes",
            "PODS, NODE, COUNT",
            [(each.name, *one) for each in answer.templates for one in each.nodes.items()],
        ),
        "places": _table("Where", "PODS, OF, NAME, COUNT", places),
        "stop": _table(
            f"What stops {pod}",
            "NODES, PLUGIN, REASON",
            [(each.nodes, each.plugin or "PreFilter", each.reason) for each in reasons],
        ),
        "headroom": _table(
            "How many more pods of each workload fit",
            "WORKLOAD, PODS, MORE, STOPPED BY",
            map(_headroom_row, answer.headroom),
        ),
        "losses": _table(
            "Pending pods after the loss of",
            "LOSS, NAME, NODES, RECREATED, PENDING, GONE, PENDING PODS",
            map(_loss_row, answer.losses),
        ),
    }


def _headroom_row(each: Headroom) -> Sequence[object]:
    name, stop = f"{each.kind.lower()}/{each.key}", each.stop
    if stop.type == "LimitReached":
        return name, each.running, f"{each.count}+", ""
    reasons = ", ".join(f"{one.nodes} {one.reason}" for one in stop.reasons)
    return name, each.running, each.count, reasons or stop.message


def _loss_row(each: Loss) -> Sequence[object]:
    counts = each.nodes, each.recreated, len(each.pending), len(each.gone)
    return each.of, each.name, *counts, first_names([one.pod for one in each.pending])


def drain_tables(plan: DrainPlan) -> dict[str, PlanTable]:
    """Return tables of `plan`: `steps`, with the new nodes if there are some, and `moves`."""
    is_surge = any(step.added for step in plan.steps)
    steps = [
        (
            number,
            first_names(step.nodes),
            *[first_names(step.added)] * is_surge,
            len(step.moves),
            first_names(step.waits_for) or "<none>",
            len(step.unfit),
            f"{step.seconds:.0f}s",
        )
        for number, step in enumerate(plan.steps, 1)
    ]
    moves = [
        (number, move.pod, move.node, move.replacement or "<none>", move.to or "<none>")
        for number, step in enumerate(plan.steps, 1)
        for move in step.moves
    ]
    heads = f"STEP, NODES, {'NEW NODES, ' * is_surge}EVICTED, WAITS FOR, PENDING, TIME"
    return {
        "steps": _table("Steps", heads, steps),
        "moves": _table("What moves where", "STEP, POD, FROM, REPLACED BY, TO", moves),
    }

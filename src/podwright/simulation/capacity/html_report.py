"""Reports of capacity and of drain plans: HTML that a browser opens without a server.

Findings come first, then figures, then tables. The file has no script and refers to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from podwright._html import bars, page, whole_table
from podwright.simulation.capacity.counting import Capacity
from podwright.simulation.capacity.drains import DrainPlan
from podwright.simulation.capacity.plan_tables import PlanTable, capacity_tables, drain_tables


def _shown(table: PlanTable) -> str:
    return whole_table(table.title, [head.capitalize() for head in table.heads], table.rows)


def capacity_html(answer: Capacity) -> str:
    """Return the report of `answer` as HTML."""
    pending = {f"{each.of} {each.name}": len(each.pending) for each in answer.losses}
    tables = capacity_tables(answer)
    parts = [
        *(
            bars(f"{each.name} by {what}", counts)
            for each in answer.templates
            for what, counts in (("zone", each.zones), ("pool", each.pools))
        ),
        bars("Pending pods after the loss of", pending),
        *(_shown(tables[name]) for name in ("stop", "headroom", "losses", "nodes")),
    ]
    return page("Capacity", _capacity_findings(answer), parts)


def _capacity_findings(answer: Capacity) -> Iterator[str]:
    if answer.stop is not None:
        for each in answer.templates:
            yield f"{each.count} pods of {each.name} fit on {answer.node_count} nodes."
        yield f"{answer.stop.type}: {answer.stop.message}"
    if answer.evicted:
        yield f"{len(answer.evicted)} pods of lower priority are evicted to make room."
    if answer.pending_unscheduled:
        yield f"{answer.pending_unscheduled} pending pods of the cluster do not fit."
    for room in answer.headroom:
        if not room.count:
            yield f"No more pods of {room.kind} {room.key} fit: {room.stop.message}"
    for loss in answer.losses:
        if loss.pending:
            first = loss.pending[0]
            yield (
                f"After the loss of {loss.of} {loss.name}, {len(loss.pending)} pods are pending."
                f" {first.pod}: {first.stop.message}"
            )
    if answer.losses and not any(loss.pending for loss in answer.losses):
        yield f"No pod is pending after any of {len(answer.losses)} losses."


def drain_plan_html(plan: DrainPlan) -> str:
    """Return the report of `plan` as HTML."""
    gains = Counter(move.to for step in plan.steps for move in step.moves if move.to)
    parts = [
        bars("Evicted pods by step", {f"{n}": len(s.moves) for n, s in enumerate(plan.steps, 1)}),
        bars("Pods that nodes get", dict(sorted(gains.items()))),
        *map(_shown, drain_tables(plan).values()),
    ]
    return page("Drain plan", _drain_findings(plan), parts)


def _drain_findings(plan: DrainPlan) -> Iterator[str]:
    count = sum(len(step.nodes) for step in plan.steps)
    yield f"{count} nodes can be drained in {len(plan.steps)} steps."
    for node in plan.blocked:
        yield f"Node {node.node} cannot be drained: {node.message} It needs this: {node.remedy}."
    for number, step in enumerate(plan.steps, 1):
        for budget in step.waits_for:
            yield f"Step {number} waits for the budget {budget}: evictions are rejected meanwhile."
        for each in step.unfit:
            remedies = "; or ".join(each.remedies)
            yield f"Step {number}: {each.pod} finds no node: {each.message} " + (
                f"It fits after this: {remedies}." if remedies else ""
            )
        if step.gone:
            yield f"Step {number}: no controller recreates {', '.join(step.gone)}."
        if step.local_data:
            yield f"Step {number}: {', '.join(step.local_data)} lose the data of an emptyDir."

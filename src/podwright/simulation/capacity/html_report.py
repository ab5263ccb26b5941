"""Reports of capacity and of drain plans: HTML that a browser opens without a server.

Findings come first, then figures, then tables. The file has no script and refers to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from podwright._html import bars, page, whole_table
from podwright.simulation.capacity.counting import Capacity
from podwright.simulation.capacity.drains import DrainPlan


def capacity_html(answer: Capacity) -> str:
    """Return the report of `answer` as HTML."""
    parts = []
    for each in answer.templates:
        for what, counts in (("zone", each.zones), ("pool", each.pools)):
            parts.append(bars(f"{each.name} by {what}", counts))
    pending = {f"{each.of} {each.name}": len(each.pending) for each in answer.losses}
    parts.append(bars("Pending pods after the loss of", pending))
    if answer.stop is not None and answer.stop.reasons:
        rows = [
            (each.nodes, each.plugin or "PreFilter", each.reason) for each in answer.stop.reasons
        ]
        parts.append(whole_table("What stops the next pod", ("Nodes", "Plugin", "Reason"), rows))
    parts.append(
        whole_table(
            "Headroom of workloads",
            ("Workload", "Pods", "More", "Stopped by"),
            [
                (f"{each.kind} {each.key}", each.running, each.count, each.stop.message)
                for each in answer.headroom
            ],
        )
    )
    parts.append(
        whole_table(
            "Losses",
            ("Loss", "Nodes", "Recreated", "Pending", "Gone", "First message"),
            [
                (
                    f"{each.of} {each.name}",
                    each.nodes,
                    each.recreated,
                    len(each.pending),
                    len(each.gone),
                    each.pending[0].stop.message if each.pending else "",
                )
                for each in answer.losses
            ],
        )
    )
    nodes = [
        (each.name, node, count)
        for each in answer.templates
        for node, count in each.nodes.items()
    ]  # fmt: skip
    parts.append(whole_table("Nodes", ("Pods", "Node", "Count"), nodes))
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
            yield f"After the loss of {loss.of} {loss.name}, {len(loss.pending)} pods are pending."
    if answer.losses and not any(loss.pending for loss in answer.losses):
        yield f"No pod is pending after any of {len(answer.losses)} losses."


def drain_plan_html(plan: DrainPlan) -> str:
    """Return the report of `plan` as HTML."""
    steps = list(enumerate(plan.steps, 1))
    gains = Counter(move.to for _, step in steps for move in step.moves if move.to)
    parts = []
    parts.append(bars("Evicted pods by step", {f"{n}": len(step.moves) for n, step in steps}))
    parts.append(bars("Pods that nodes get", dict(sorted(gains.items()))))
    parts.append(
        whole_table(
            "Steps",
            ("Step", "Nodes", "New nodes", "Evicted", "Waits for", "Pending", "Seconds"),
            [
                (
                    number,
                    ", ".join(step.nodes),
                    ", ".join(step.added),
                    len(step.moves),
                    ", ".join(step.waits_for),
                    len(step.unfit),
                    f"{step.seconds:.0f}",
                )
                for number, step in steps
            ],
        )
    )
    moves = [
        (number, move.pod, move.node, move.replacement, move.to)
        for number, step in steps
        for move in step.moves
    ]
    parts.append(whole_table("Moves", ("Step", "Pod", "From", "Replaced by", "To"), moves))
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

"""Reports of capacity and of drain plans: HTML that a browser opens without a server.

Findings come first, then figures, then tables. The file has no script and refers to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Final

from podwright.simulation.capacity.counting import Capacity
from podwright.simulation.capacity.drains import DrainPlan

_STYLE: Final = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; }
th, td { text-align: left; padding: 0.2rem 1rem 0.2rem 0; border-bottom: 1px solid #8884; }
.bar { fill: #3b7dd8; } text { fill: currentColor; font-size: 13px; }
"""
_BAR: Final = 22
_WIDTH: Final = 420


def capacity_html(answer: Capacity) -> str:
    """Return the report of a capacity as HTML."""
    parts = [_list(_capacity_findings(answer))]
    for each in answer.templates:
        for what, counts in (("zone", each.zones), ("pool", each.pools)):
            if counts:
                parts.append(_figure(f"{each.name} by {what}", counts))
    if answer.losses:
        pending = {f"{each.of} {each.name}": len(each.pending) for each in answer.losses}
        parts.append(_figure("Pending pods after the loss of", pending))
    if answer.stop is not None and answer.stop.reasons:
        rows = [
            (each.nodes, each.plugin or "PreFilter", each.reason) for each in answer.stop.reasons
        ]
        parts.append(_table("What stops the next pod", ("Nodes", "Plugin", "Reason"), rows))
    parts.append(
        _table(
            "Headroom of workloads",
            ("Workload", "Pods", "More", "Stopped by"),
            [
                (f"{each.kind} {each.key}", each.running, each.count, each.stop.message)
                for each in answer.headroom
            ],
        )
    )
    parts.append(
        _table(
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
    parts.append(_table("Nodes", ("Pods", "Node", "Count"), nodes))
    return _page("Capacity", parts)


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
    """Return the report of a drain plan as HTML."""
    steps = list(enumerate(plan.steps, 1))
    gains = Counter(move.to for _, step in steps for move in step.moves if move.to)
    parts = [_list(_drain_findings(plan))]
    if steps:
        parts.append(
            _figure("Evicted pods by step", {f"{n}": len(step.moves) for n, step in steps})
        )
    if gains:
        parts.append(_figure("Pods that nodes get", dict(sorted(gains.items()))))
    parts.append(
        _table(
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
    parts.append(_table("Moves", ("Step", "Pod", "From", "Replaced by", "To"), moves))
    return _page("Drain plan", parts)


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


def _page(title: str, parts: Iterable[str]) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{''.join(parts)}"
        "</body></html>\n"
    )


def _list(findings: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in findings)}</ul>"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<h2>{escape(title)}</h2><table><tr>{head}</tr>{body}</table>"


def _figure(title: str, counts: Mapping[str, int]) -> str:
    """Return horizontal bars, each with its name and its number."""
    most = max(counts.values()) or 1
    bars = "".join(
        f'<text x="0" y="{y + 15}">{escape(name or "<none>")}</text>'
        f'<rect class="bar" x="220" y="{y + 3}" height="{_BAR - 6}" '
        f'width="{_WIDTH * count / most:.1f}"/>'
        f'<text x="{226 + _WIDTH * count / most:.1f}" y="{y + 15}">{count}</text>'
        for y, (name, count) in zip(range(0, _BAR * len(counts), _BAR), counts.items(), strict=True)
    )
    size = f'width="{300 + _WIDTH}" height="{_BAR * len(counts)}"'
    return (
        f'<h2>{escape(title)}</h2><svg role="img" aria-label="{escape(title)}" {size}>{bars}</svg>'
    )

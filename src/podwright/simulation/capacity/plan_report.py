"""Reports of plans: findings, figures and tables, which commands print and a browser shows.

The HTML opens without a server: findings come first, then figures, then tables. It has no script
and refers to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Final, NamedTuple

from podwright._html import bars, page, whole_table
from podwright.apimachinery.documents import first_names
from podwright.simulation.capacity.buying import NodePurchase
from podwright.simulation.capacity.counting import Capacity, CapacityQuestion, Headroom
from podwright.simulation.capacity.drains import DrainPlan, Unfit
from podwright.simulation.capacity.filling import CapacityStop
from podwright.simulation.capacity.losses import Loss
from podwright.simulation.capacity.node_types import NodeType

_SHOWN: Final = 10


class PlanTable(NamedTuple):
    """A table.

    Attributes
    ----------
    title : str
    heads : tuple of str
        In upper case.
    rows : list of tuple of str
    shown : int, optional
        How many rows are shown if not all are requested; all by default.
    """

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]
    shown: int | None = None


class Finding(NamedTuple):
    """A sentence, and what belongs to it."""

    text: str
    details: tuple[str, ...] = ()


class PlanReport(NamedTuple):
    """What is reported of a plan.

    Attributes
    ----------
    title : str
    findings : list of Finding
        The ones without details are shown first.
    figures : list of (str, mapping of str to int)
        Bars, each figure with its title.
    tables : list of PlanTable
    """

    title: str
    findings: list[Finding]
    figures: list[tuple[str, Mapping[str, int]]]
    tables: list[PlanTable]

    def html(self) -> str:
        """Return the report as HTML."""
        tables = (
            whole_table(each.title, [head.capitalize() for head in each.heads], each.rows)
            for each in self.tables
        )
        findings = (" ".join([each.text, *each.details]) for each in self.findings)
        return page(self.title, findings, [*starmap(bars, self.figures), *tables])


def _table(
    title: str, heads: str, rows: Iterable[Sequence[object]], shown: int | None = None
) -> PlanTable:
    texts = [tuple(map(str, row)) for row in rows]
    return PlanTable(title, tuple(heads.split(", ")), texts, shown)


def _plural(count: int, name: str, ending: str = "s") -> str:
    return f"{count} {name}{ending * (count != 1)}"


# ---------------------------------------------------------------- capacity


def capacity_report(answer: Capacity, question: CapacityQuestion) -> PlanReport:
    """Return the report of `answer`, that to `question`."""
    pod, reasons = ("", ()) if answer.stop is None else (answer.stop.pod, answer.stop.reasons)
    counts = [
        (each.name, what, counts)
        for each in answer.templates
        for what, counts in (("zone", each.zones), ("pool", each.pools))
    ]
    places = [
        (name, what, place or "<none>", count)
        for name, what, found in counts
        for place, count in found.items()
    ]
    losses = "LOSS, NAME, NODES, RECREATED, PENDING, GONE, PENDING PODS"
    after = "Pending pods after the loss of"
    return PlanReport(
        "Capacity",
        list(_capacity_findings(answer, question)),
        [
            *((f"{name} by {what}", found) for name, what, found in counts),
            (after, {f"{each.of} {each.name}": len(each.pending) for each in answer.losses}),
        ],
        [
            _table(
                "Nodes",
                "PODS, NODE, COUNT",
                [(each.name, *one) for each in answer.templates for one in each.nodes.items()],
                0,
            ),
            _table("Where", "PODS, OF, NAME, COUNT", places),
            _table(
                f"What stops {pod}",
                "NODES, PLUGIN, REASON",
                [(each.nodes, each.plugin or "PreFilter", each.reason) for each in reasons],
            ),
            _table(
                "How many more pods of each workload fit",
                "WORKLOAD, PODS, MORE, STOPPED BY",
                map(_headroom_row, answer.headroom),
            ),
            _table(after, losses, map(_loss_row, answer.losses), _SHOWN),
        ],
    )


def _capacity_findings(answer: Capacity, question: CapacityQuestion) -> Iterator[Finding]:
    if (stop := answer.stop) is not None:
        what = " and ".join(f"{each.count} of {each.name}" for each in answer.templates)
        sets = f" ({answer.sets} sets)" if len(answer.templates) > 1 else ""
        yield Finding(f"{what} fit on {_plural(answer.node_count, 'node')}{sets}.")
        if answer.evicted:
            yield Finding(f"{len(answer.evicted)} pods of lower priority are evicted.")
        if pending := answer.pending_scheduled + answer.pending_unscheduled:
            scheduled = f"{answer.pending_scheduled} of {pending} pending pods of the cluster"
            yield Finding(f"{scheduled} were scheduled before.")
        yield Finding(f"{stop.type}: {stop.message}")
        if stop.nominated_node:
            names = ", ".join(stop.victims)
            text = f"Preemption would evict {names} from {stop.nominated_node}: --preemption."
            yield Finding(text)
    if question.headroom and not answer.headroom:
        yield Finding("No workload of the cluster has pods on nodes.")
    full = [f"{each.kind.lower()}/{each.key}" for each in answer.headroom if not each.count]
    if full:
        yield Finding(f"No more pods of these workloads fit: {first_names(full)}.")
    if question.loss and not answer.losses:
        yield Finding(f"No node has a label that names its {' or '.join(question.loss)}.")
    lost = [each for each in answer.losses if each.pending]
    if answer.losses and not lost:
        yield Finding(f"No pod is pending after any of {len(answer.losses)} losses.")
    gone = list(dict.fromkeys(pod for each in answer.losses for pod in each.gone))
    if gone:
        yield Finding(f"Pods that no controller recreates are gone: {first_names(gone)}.")
    for loss in lost[:_SHOWN]:
        first = loss.pending[0]
        text = f"{_plural(len(loss.pending), 'pod')} pending after the loss of"
        details = (f"{first.pod}: {first.stop.message}",)
        yield Finding(f"{text} {loss.of} {loss.name}:", details)


def _headroom_row(each: Headroom) -> Sequence[object]:
    name, stop = f"{each.kind.lower()}/{each.key}", each.stop
    if stop.type == "LimitReached":
        return name, each.running, f"{each.count}+", ""
    reasons = ", ".join(f"{one.nodes} {one.reason}" for one in stop.reasons)
    return name, each.running, each.count, reasons or stop.message


def _loss_row(each: Loss) -> Sequence[object]:
    counts = each.nodes, each.recreated, len(each.pending), len(each.gone)
    return each.of, each.name, *counts, first_names([one.pod for one in each.pending])


def purchase_report(found: NodePurchase, types: Iterable[NodeType]) -> PlanReport:
    """Return the report of `found`, a purchase among `types`."""
    prices = {each.name: each.price for each in types}
    findings = [*_purchase_findings(found), *_unplaced_findings(found.unplaced)]
    rows = [(n, c, f"{prices[n]:g}", f"{c * prices[n]:g}") for n, c in found.nodes.items()]
    table = _table("Nodes to buy", "TYPE, NODES, PRICE, TOTAL", rows)
    return PlanReport("Purchase", findings, [("Nodes of each type", found.nodes)], [table])


def _purchase_findings(found: NodePurchase) -> Iterator[Finding]:
    """Yield what is bought, and how far the price is from the bound."""
    placed = f"{found.scheduled} of {found.pending} pending pods"
    if not found.nodes:
        yield Finding(f"No nodes to buy: {placed} fit on the existing nodes.")
        return
    nodes = _plural(sum(found.nodes.values()), "node")
    yield Finding(f"{nodes} for {found.price:g}: {placed} have a node then.")
    why = "no cheaper mix fits" if found.is_cheapest else "cheaper mixes may fit"
    bound = f"The lower bound is {found.bound:g} ({found.gap:.1%} less); {why}"
    yield Finding(f"{bound} ({_plural(found.mixes, 'mix', 'es')} tried).")


def _unplaced_findings(stops: Iterable[CapacityStop]) -> Iterator[Finding]:
    """Yield the pods that no nodes help, by why."""
    alike: dict[str, list[str]] = {}
    for each in stops:
        alike.setdefault(each.message, []).append(each.pod)
    for message, pods in list(alike.items())[:_SHOWN]:
        has = "has" if len(pods) == 1 else "have"
        text = f"{first_names(pods)} {has} no node even then, nor on one more of each type:"
        yield Finding(text, (message,))
    if more := sum(map(len, list(alike.values())[_SHOWN:])):
        yield Finding(f"{_plural(more, 'more pod')} have no node, for other reasons: -o json.")


# ---------------------------------------------------------------- drains


def drain_report(plan: DrainPlan, most: int | None = 3) -> PlanReport:
    """Return the report of `plan`.

    Parameters
    ----------
    plan : DrainPlan
    most : int, optional
        How many of several names findings have; None for all.
    """
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
    gains = Counter(move.to for step in plan.steps for move in step.moves if move.to)
    heads = f"STEP, NODES, {'NEW NODES, ' * is_surge}EVICTED, WAITS FOR, PENDING, TIME"
    return PlanReport(
        "Drain plan",
        list(_drain_findings(plan, most)),
        [
            ("Evicted pods by step", {f"{n}": len(s.moves) for n, s in enumerate(plan.steps, 1)}),
            ("Pods that nodes get", dict(sorted(gains.items()))),
        ],
        [
            _table("Steps", heads, steps),
            _table("What moves where", "STEP, POD, FROM, REPLACED BY, TO", moves, 0),
        ],
    )


def _drain_findings(plan: DrainPlan, most: int | None) -> Iterator[Finding]:
    nodes = _plural(sum(len(step.nodes) for step in plan.steps), "node")
    steps = _plural(len(plan.steps), "step")
    yield Finding(
        f"{nodes} can be drained in {steps}." if plan.steps else "No node can be drained."
    )

    def some(names: Sequence[str]) -> str:
        return first_names(names, len(names) if most is None else most)

    for number, step in enumerate(plan.steps, 1):
        yield from _unfit_findings(f"Step {number}", step.unfit)
    for text, pods in (
        ("Pods that no controller recreates:", [p for step in plan.steps for p in step.gone]),
        (
            "Pods that lose the data of an emptyDir:",
            [pod for step in plan.steps for pod in step.local_data],
        ),
        (
            "Pods that ask autoscalers not to evict them, and that a drain evicts:",
            [pod for step in plan.steps for pod in step.protected],
        ),
        ("Budgets that select no pod:", plan.idle_budgets),
    ):
        if pods:
            yield Finding(text, (some(pods),))
    for node in plan.blocked:
        text = f"Node {node.node} cannot be drained: {some(node.pods)}"
        yield Finding(text, (node.message, node.remedy))
        yield from _unfit_findings(f"Node {node.node}", node.unfit)


def _unfit_findings(where: str, unfit: Iterable[Unfit]) -> Iterator[Finding]:
    """Yield the pods that find no node, by why and by what would help."""
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for each in unfit:
        alike.setdefault((each.message, each.remedies), []).append(each.pod)
    for (message, remedies), (pod, *others) in alike.items():
        what = f"{pod} and {len(others)} more find" if others else f"{pod} finds"
        fits = (f"{'each alone' if others else 'it'} fits after this: {each}" for each in remedies)
        yield Finding(f"{where}: {what} no node:", (message, *fits))

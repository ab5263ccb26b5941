"""What `podwright explain` does, once it is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from rich.text import Text

from podwright.assembly import NearNode, Remedy, Scheduler, UnknownPod
from podwright.cli.console import (
    announce_compilation,
    print_document,
    print_heading,
    print_paragraph,
    print_table,
    progress,
    stdout,
)
from podwright.cli.inputs import about_workloads, find_node, find_pod, load_all
from podwright.cli.options import Setup
from podwright.cli.preemption_output import preemption_document, print_preemption
from podwright.cli.schedule_run import NO_NODE, document_of, nomination_of, outcome_of
from podwright.framework import Explanation, ExtenderAnswers, FilterExplanation
from podwright.objects import FieldError, InputError, Pod

_NAMES_SHOWN = 12
_CHANGES_SHOWN = 3


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """An explanation, and what has to be known to read it.

    Parameters
    ----------
    explanation : Explanation
    remedies : list of Remedy
    near : list of NearNode
        Every rejecting node, the nearest first.
    current_node : str
        The node that the pod is on; "" if it is pending.
    placed_before : int
        Pods that were placed first because they come before it in the queue.
    is_alone : bool
        The pod was asked about in the cluster as it is.
    seed : int
    tie_rule : str
    nodes : tuple of str
        The nodes that the user wants to see; empty: the most telling ones.
    past : PastTold, optional
        When it was, and what came of it, if this is a cycle of a recorded run.
    """

    explanation: Explanation
    remedies: list[Remedy]
    near: list[NearNode]
    current_node: str = ""
    placed_before: int = 0
    is_alone: bool = False
    seed: int = 0
    tie_rule: str = "drawn"
    nodes: tuple[str, ...] = ()
    past: PastTold | None = None


class PastTold(msgspec.Struct, frozen=True, kw_only=True):
    """When a past cycle was, and what came of it.

    Parameters
    ----------
    when, then : str
        In words.
    document : dict
        The same and more, for programs.
    """

    when: str
    then: str
    document: dict[str, Any]


def run_explain(
    text: str,
    files: Sequence[str],
    setup: Setup,
    *,
    namespace: str,
    is_alone: bool,
    nodes: Sequence[str],
    shown: int | None,
    output: str,
) -> bool:
    """Explain one pod and print it; tell whether it fits."""
    loaded, scheduler = load_all(files, setup)
    pods = loaded.of(Pod)
    if not pods:
        none = f'no pod "{text}" in these files: there are no pods in them'
        raise UnknownPod(". ".join(filter(None, (none, about_workloads(loaded)))))
    key = find_pod(text, pods, namespace=namespace).key
    scheduler.add(*loaded.objects)
    wanted = [find_node(name, scheduler.cluster.nodes.slot_of) for name in nodes]
    announce_compilation()
    told = _ask(scheduler, key, setup, is_alone=is_alone)
    told = msgspec.structs.replace(told, nodes=tuple(wanted))
    return print_told(told, shown=shown, output=output)


def print_told(told: Told, *, shown: int | None, output: str) -> bool:
    """Print an explanation in one of the forms; tell whether the pod fits."""
    if output in ("json", "yaml"):
        print_document(explanation_document(told), output)
    else:
        print_explanation(told, shown=shown)
    return bool(told.explanation.decision.node)


def _ask(scheduler: Scheduler, key: str, setup: Setup, *, is_alone: bool) -> Told:
    placed = scheduler.cluster.pods.get(key)
    if placed is not None:
        node = scheduler.cluster.nodes.names[placed.slot]
        if is_alone:
            message = f"it has no effect with POD {key}, which is on node {node}"
            raise InputError([FieldError(source="options", path="--alone", message=message)])
        with scheduler.freed(key) as pod:
            explanation = scheduler.explain(pod)
            return _told(scheduler, explanation, setup, current_node=node)
    if key not in scheduler.pending:
        raise UnknownPod(
            f"pod {key} is neither pending nor on a node of these files: "
            "it has finished, or its node is not among them"
        )
    placed_before = 0
    if not is_alone:
        before = scheduler.schedule_before(key)
        decided = progress(before, "scheduling what comes before", len(scheduler.pending))
        placed_before = sum(bool(decision.node) for decision in decided)
    explanation = scheduler.explain(key)
    return _told(scheduler, explanation, setup, placed_before=placed_before, is_alone=is_alone)


def _told(scheduler: Scheduler, explanation: Explanation, setup: Setup, **known: Any) -> Told:
    return Told(
        explanation=explanation,
        remedies=scheduler.remedies(explanation),
        near=scheduler.nearest_nodes(explanation, limit=None),
        seed=setup.seed,
        tie_rule=setup.tie_rule.value,
        **known,
    )


# ---------------------------------------------------------------- documents


def explanation_document(told: Told) -> dict[str, Any]:
    """Return everything as a plain document."""
    explanation = told.explanation
    decision = document_of(explanation.decision)
    decision.pop("rejections", None)
    restricted = explanation.restricted_to
    if told.past is not None:
        decision["run"] = told.past.document
    return decision | {
        "schedulerName": explanation.pod.spec.scheduler_name,
        "currentNode": told.current_node or None,
        "placedBefore": told.placed_before,
        "nodeCount": len(explanation.node_names),
        "preFilter": None if explanation.pre_filter.is_success else _status(explanation.pre_filter),
        "restrictedTo": None if restricted is None else sorted(restricted),
        "restrictedBy": list(explanation.restricted_by),
        "notExamined": list(explanation.not_examined),
        "feasible": list(explanation.feasible),
        "winners": list(explanation.winners),
        "totals": explanation.totals,
        "rejected": {node: _status(status) for node, status in explanation.rejected.items()},
        "remedies": [_remedy(remedy) for remedy in told.remedies],
        "nearest": [
            {"node": near.node, "plugins": list(near.plugins), "lacks": list(near.lacks)}
            for near in told.near
        ],
        "preemption": preemption_document(explanation.decision),
        "filters": [
            {
                "plugin": answer.plugin,
                "applies": answer.applies,
                "rejected": {node: _status(status) for node, status in answer.rejected.items()},
            }
            for answer in explanation.filters
        ],
        "scores": [
            {
                "plugin": scores.plugin,
                "weight": scores.weight,
                "nodes": {
                    node: {
                        "raw": raw,
                        "normalized": scores.normalized[node],
                        "weighted": scores.normalized[node] * scores.weight,
                    }
                    for node, raw in scores.raw.items()
                },
            }
            for scores in explanation.scores
        ],
        "skippedScores": sorted(explanation.skipped_scores),
        "extenders": [
            {
                "url": answers.url,
                "asked": None if answers.asked is None else list(answers.asked),
                "kept": list(answers.kept),
                "rejected": {node: _status(status) for node, status in answers.rejected.items()},
                "scores": answers.scores,
                "errors": answers.errors,
            }
            for answers in explanation.extenders
        ],
    }


def _status(status: Any) -> dict[str, Any]:
    return {
        "plugin": status.plugin or None,
        "code": status.code.label,
        "reasons": list(status.reasons),
    }


def _remedy(remedy: Remedy) -> dict[str, Any]:
    reasons = [
        {
            "reason": group.reason,
            "plugin": group.plugin or None,
            "nodes": list(group.nodes),
        }
        for group in remedy.reasons
    ]
    return {"remedy": remedy.text, "reasons": reasons}


# ---------------------------------------------------------------- text


def print_explanation(told: Told, *, shown: int | None) -> None:
    """Print an explanation for people.

    Parameters
    ----------
    shown : int, optional
        How many nodes to show side by side; None: all, and all names.
    """
    explanation = told.explanation
    _print_head(told)
    if explanation.pre_filter.is_rejection:
        plugin = explanation.pre_filter.plugin
        print_heading(f"No node was looked at: PreFilter ({plugin}) rejected the pod as a whole.")
    if not explanation.filters and not explanation.pre_filter.is_rejection:
        return
    if explanation.decision.node:
        _print_why_not_others(explanation, shown)
    _print_remedies(told, shown)
    if told.nodes:
        wanted = [near for near in told.near if near.node in told.nodes]
        _print_near(wanted, None, "What each lacks:")
    elif not explanation.decision.node:
        _print_near(told.near, shown, "The closest nodes, and what each lacks:")
    print_preemption(explanation.decision, shown)
    _print_unexamined(explanation, shown)
    _print_extenders(explanation)
    if explanation.filters:
        _print_matrix(told, shown)


def _print_head(told: Told) -> None:
    explanation = told.explanation
    decision = explanation.decision
    rows: list[tuple[str, str | Text]] = [("Pod:", explanation.pod.key)]
    if told.past is not None:
        rows.append(("Attempt:", told.past.when))
    elif told.current_node:
        rows.append(("On node:", f"{told.current_node} (asked again as if its place were free)"))
    elif told.is_alone:
        rows.append(("Asked:", "in the cluster as it is"))
    else:
        rows.append(("Asked:", _turn(told.placed_before)))
    if decision.node:
        rows.append(("Node:", Text(decision.node, style="bold green")))
        rows.append(("Why:", _why(told)))
    else:
        rows.append(("Node:", Text(NO_NODE, style="bold red")))
        rows.append(("Outcome:", outcome_of(decision)))
        rows.append(("Message:", decision.message))
        node, victims = nomination_of(decision)
        if node:
            names = ", ".join(victim.key for victim in victims) or "nobody"
            rows.append(("Preempts:", f"{names} on {node}, to which the pod is nominated"))
    if told.past is not None:
        rows.append(("Then:", told.past.then))
    for name, value in rows:
        line = Text(name.ljust(10))
        line.append_text(value if isinstance(value, Text) else Text(value))
        print_paragraph(line, hanging=10)


def _turn(placed_before: int) -> str:
    if not placed_before:
        return "in its turn; no pod that comes before it takes a place"
    return f"after placing {placed_before} pending pod{'s' * (placed_before != 1)} before it"


def _why(told: Told) -> str:
    explanation = told.explanation
    decision = explanation.decision
    examined = len(explanation.node_names) - len(explanation.not_examined)
    if len(explanation.feasible) == 1:
        if explanation.pod.status.nominated_node_name == decision.node and examined > 1:
            return "the pod is nominated to it, and it passes every filter"
        return f"the only one of {examined} nodes that passes every filter; no scores needed"
    best = explanation.totals.get(decision.node)
    text = f"total score {best}, the best of {len(explanation.feasible)} feasible nodes"
    if len(explanation.winners) > 1:
        others = len(explanation.winners) - 1
        rule = {
            "drawn": f"drawn among them with seed {told.seed}",
            "heap": "taken as 1.36's heap takes it",
            "first": "first by name",
        }[told.tie_rule]
        text += f"; {others} other{'s' * (others != 1)} had as much: {rule}"
    return text


def _print_why_not_others(explanation: Explanation, shown: int | None) -> None:
    winner = explanation.decision.node
    others = [node for node in _by_total(explanation) if node != winner]
    if not others:
        return
    print_heading("Why not the other feasible nodes:")
    winners = set(explanation.winners)
    equals = [node for node in others if node in winners]
    if equals:
        print_paragraph("equally good, not taken:", indent=2)
        print_paragraph(_named(equals, shown), indent=4)
    behind = [node for node in others if node not in winners]
    best = explanation.totals[winner]
    rows = [
        (
            node,
            str(explanation.totals[node]),
            str(explanation.totals[node] - best),
            _behind(explanation, node),
        )
        for node in (behind if shown is None else behind[:shown])
    ]
    if rows:
        print_table(("NODE", "TOTAL", "BEHIND", "BECAUSE"), rows, indent=2)
    if shown is not None and len(behind) > shown:
        print_paragraph(f"and {len(behind) - shown} more that are no better (-o wide)", indent=2)


def _by_total(explanation: Explanation) -> list[str]:
    """Return the feasible nodes, the chosen one first, then by falling total."""
    winner = explanation.decision.node
    totals = explanation.totals
    # Extenders may name a node twice.
    feasible = dict.fromkeys(explanation.feasible)
    return sorted(feasible, key=lambda node: (node != winner, -totals.get(node, 0)))


def _behind(explanation: Explanation, node: str) -> str:
    """Say which plugins put a node behind the winner, or ahead of it."""
    winner = explanation.decision.node
    differences = [
        (scores.weight * (scores.normalized[node] - scores.normalized[winner]), scores.plugin)
        for scores in explanation.scores
    ]
    differences += [
        (answers.scores.get(node, 0) - answers.scores.get(winner, 0), _extender(answers))
        for answers in explanation.extenders
    ]
    differences = sorted((d for d in differences if d[0]), key=lambda d: -abs(d[0]))
    if not differences:
        return "the same scores"
    return ", ".join(f"{plugin} {by:+d}" for by, plugin in differences[:_CHANGES_SHOWN])


def _print_remedies(told: Told, shown: int | None) -> None:
    if not told.remedies:
        return
    has_node = bool(told.explanation.decision.node)
    print_heading("Why not the rejected nodes:" if has_node else "What would fix it:")
    for remedy in told.remedies:
        if not has_node:
            print_paragraph(Text(f"- {remedy.text}", style="bold"), indent=2, hanging=2)
        indent = 2 if has_node else 4
        for group in remedy.reasons:
            count = len(group.nodes)
            head = f"{count} node{'s' * (count != 1)}: {group.reason}"
            print_paragraph(f"{head} ({group.plugin or 'PreFilter'})", indent=indent, hanging=2)
            if not told.explanation.pre_filter.is_rejection:
                print_paragraph(_named(group.nodes, shown), indent=indent + 2)


def _named(names: Sequence[str], shown: int | None) -> str:
    if shown is None or len(names) <= _NAMES_SHOWN:
        return ", ".join(names)
    rest = len(names) - _NAMES_SHOWN
    return f"{', '.join(names[:_NAMES_SHOWN])} and {rest} more (-o wide)"


def _print_near(near: Sequence[NearNode], shown: int | None, heading: str) -> None:
    if not near:
        return
    print_heading(heading)
    nearest = near if shown is None else near[:shown]
    print_table(
        ("NODE", "LACKS"), [(entry.node, "; ".join(entry.lacks)) for entry in nearest], indent=2
    )


def _print_unexamined(explanation: Explanation, shown: int | None) -> None:
    if explanation.not_examined:
        count = len(explanation.not_examined)
        print_heading(f"{count} nodes were not examined, since enough feasible ones were found:")
        print_paragraph(_named(explanation.not_examined, shown), indent=2)
    restricted = explanation.restricted_to
    if restricted is not None:
        names = ", ".join(explanation.restricted_by)
        print_heading(f"Only these nodes were left by {names}:")
        print_paragraph(_named(sorted(restricted), shown) or "none", indent=2)


def _print_extenders(explanation: Explanation) -> None:
    """Say what each extender made of the nodes that it was asked about."""
    if not explanation.extenders:
        return
    print_heading("Extenders:")
    for answers in explanation.extenders:
        told = []
        if answers.asked is not None:
            told.append(f"left {len(answers.kept)} of {len(answers.asked)} nodes")
        if answers.scores:
            told.append(f"scored {len(answers.scores)} nodes")
        told += [f"failed: {error}" for error in answers.errors]
        line = f"{_extender(answers)} ({answers.url}): {'; '.join(told) or 'was not asked'}"
        print_paragraph(line, indent=2, hanging=2)


def _extender(answers: ExtenderAnswers) -> str:
    return f"extenders[{answers.index}]"


# ---------------------------------------------------------------- the matrix


def _print_matrix(told: Told, shown: int | None) -> None:
    """Print plugins x nodes: what each filter said, what each score plugin gave."""
    explanation = told.explanation
    feasible = _by_total(explanation)
    rejecting = [near.node for near in told.near] or _unordered(explanation)
    if told.nodes:
        nodes = scored = list(dict.fromkeys((*feasible[:1], *told.nodes)))
    else:
        # All feasible nodes pass everything, so filters are shown on the others first.
        nodes = [*feasible[:1], *rejecting, *feasible[1:]][:shown]
        scored = feasible[:shown]
    print_heading("Filters:")
    rows = [
        (answer.plugin, _rejected_count(answer, explanation), *_answers(answer, explanation, nodes))
        for answer in explanation.filters
        if answer.applies
    ]
    _print_chunked(("PLUGIN", "REJECTS"), rows, nodes)
    absent = [answer.plugin for answer in explanation.filters if not answer.applies]
    _print_absent(absent)
    if not explanation.scores:
        return
    scored = [node for node in scored if node in explanation.totals]
    print_heading("Scores (raw/normalised/weighted):")
    score_rows = [
        (
            scores.plugin,
            str(scores.weight),
            *(
                f"{scores.raw[node]}/{scores.normalized[node]}/"
                f"{scores.normalized[node] * scores.weight}"
                for node in scored
            ),
        )
        for scores in explanation.scores
    ]
    score_rows += [
        (_extender(answers), "", *(str(answers.scores.get(node, "")) for node in scored))
        for answers in explanation.extenders
        if answers.scores
    ]
    totals = ("total", "", *(str(explanation.totals[node]) for node in scored))
    _print_chunked(("PLUGIN", "WEIGHT"), [*score_rows, totals], scored)
    _print_absent(sorted(explanation.skipped_scores))


def _print_absent(plugins: Sequence[str]) -> None:
    """Name the plugins that had nothing to do, which is not the same as having passed."""
    if plugins:
        text = f"did not apply, for want of anything to check in this pod: {', '.join(plugins)}"
        print_paragraph(text, indent=2)


def _unordered(explanation: Explanation) -> list[str]:
    feasible = set(explanation.feasible)
    return [node for node in explanation.node_names if node not in feasible]


def _rejected_count(answer: FilterExplanation, explanation: Explanation) -> str:
    unseen = frozenset(explanation.not_examined)
    return str(sum(node not in unseen for node in answer.rejected))


def _answers(
    answer: FilterExplanation, explanation: Explanation, nodes: Iterable[str]
) -> Iterable[str | Text]:
    restricted, unseen = explanation.restricted_to, frozenset(explanation.not_examined)
    for node in nodes:
        if restricted is not None and node not in restricted:
            yield "left out"
        elif node in unseen:
            yield "unseen"
        elif node in answer.rejected:
            yield Text("rejected", style="red")
        else:
            yield "passed"


def _print_chunked(
    heads: tuple[str, str], rows: Sequence[tuple[str | Text, ...]], nodes: Sequence[str]
) -> None:
    """Print the rows with as many nodes side by side as the width holds, then the next ones.

    Where that is not all of them, long names give way to numbers.
    """
    console = stdout()
    fixed = sum(max(len(head), *(len(row[i]) for row in rows)) + 2 for i, head in enumerate(heads))
    room = console.width - fixed
    names = list(nodes)
    cells = [max((len(row[2 + i]) for row in rows), default=0) for i in range(len(nodes))]
    if sum(max(len(n), c) + 2 for n, c in zip(names, cells, strict=True)) > room:
        names = [f"[{number}]" for number in range(1, len(nodes) + 1)]
        for number, node in zip(names, nodes, strict=True):
            print_paragraph(f"{number} {node}", indent=2)
    widths = [max(len(name), cell) + 2 for name, cell in zip(names, cells, strict=True)]
    start = 0
    while start < len(nodes):
        end = start + 1
        while end < len(nodes) and sum(widths[start : end + 1]) <= room:
            end += 1
        if start:
            console.print()
        chunk = [(*row[:2], *row[2 + start : 2 + end]) for row in rows]
        print_table((*heads, *names[start:end]), chunk, indent=2)
        start = end

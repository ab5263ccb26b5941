"""`podwright explain`: evaluates one pod and prints the explanation."""

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
from podwright.cli.inputs import find_node, find_pod, load_all, workload_hint
from podwright.cli.options import Setup
from podwright.cli.preemption_output import preemption_document, print_preemption
from podwright.cli.schedule_run import NO_NODE, document_of, nomination_of, outcome_of
from podwright.framework import Explanation, ExtenderAnswers, FilterExplanation
from podwright.objects import FieldError, InputError, Pod

_NAMES_SHOWN = 12
_CHANGES_SHOWN = 3


class ExplanationView(msgspec.Struct, frozen=True, kw_only=True):
    """An explanation with the data needed to print it.

    Parameters
    ----------
    explanation : Explanation
    remedies : list of Remedy
    near : list of NearNode
        All rejecting nodes, the closest first.
    current_node : str
        The node that the pod is on; "" if it is pending.
    placed_before : int
        Number of pods that were scheduled first because they are ahead of it in the queue.
    is_alone : bool
        The pod was evaluated against the cluster as given (``--alone``).
    seed : int
    tie_rule : str
    nodes : tuple of str
        The nodes to show; empty: a selection.
    past : RecordedOutcome, optional
        Time and outcome of the attempt, if it belongs to a recorded run.
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
    past: RecordedOutcome | None = None


class RecordedOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """Time and outcome of a recorded scheduling attempt.

    Parameters
    ----------
    when, then : str
        Time and outcome as text.
    document : dict
        Both, with more details, for ``-o json``.
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
    """Explain one pod and print the explanation; return whether the pod fits."""
    loaded, scheduler = load_all(files, setup)
    pods = loaded.of(Pod)
    if not pods:
        none = f'no pod "{text}" in these files: they contain no pods'
        raise UnknownPod(". ".join(filter(None, (none, workload_hint(loaded)))))
    key = find_pod(text, pods, namespace=namespace).key
    scheduler.add(*loaded.objects)
    wanted = [find_node(name, scheduler.cluster.nodes.slot_of) for name in nodes]
    announce_compilation()
    view = _explain(scheduler, key, setup, is_alone=is_alone)
    view = msgspec.structs.replace(view, nodes=tuple(wanted))
    return print_view(view, shown=shown, output=output)


def print_view(view: ExplanationView, *, shown: int | None, output: str) -> bool:
    """Print an explanation in an output format; return whether the pod fits."""
    if output in ("json", "yaml"):
        print_document(explanation_document(view), output)
    else:
        print_explanation(view, shown=shown)
    return bool(view.explanation.decision.node)


def _explain(scheduler: Scheduler, key: str, setup: Setup, *, is_alone: bool) -> ExplanationView:
    placed = scheduler.cluster.pods.get(key)
    if placed is not None:
        node = scheduler.cluster.nodes.names[placed.slot]
        if is_alone:
            message = f"has no effect with POD {key}, which is on node {node}"
            raise InputError([FieldError(source="options", path="--alone", message=message)])
        with scheduler.freed(key) as pod:
            explanation = scheduler.explain(pod)
            return _view(scheduler, explanation, setup, current_node=node)
    if key not in scheduler.pending:
        raise UnknownPod(
            f"pod {key} is neither pending nor on a node of these files: "
            "it has finished, or its node is missing"
        )
    placed_before = 0
    if not is_alone:
        before = scheduler.schedule_before(key)
        decided = progress(before, "scheduling the pods ahead", len(scheduler.pending))
        placed_before = sum(bool(decision.node) for decision in decided)
    explanation = scheduler.explain(key)
    return _view(scheduler, explanation, setup, placed_before=placed_before, is_alone=is_alone)


def _view(
    scheduler: Scheduler, explanation: Explanation, setup: Setup, **known: Any
) -> ExplanationView:
    return ExplanationView(
        explanation=explanation,
        remedies=scheduler.remedies(explanation),
        near=scheduler.nearest_nodes(explanation, limit=None),
        seed=setup.seed,
        tie_rule=setup.tie_rule.value,
        **known,
    )


# ---------------------------------------------------------------- documents


def explanation_document(view: ExplanationView) -> dict[str, Any]:
    """Return the explanation as a plain document, with all nodes."""
    explanation = view.explanation
    decision = document_of(explanation.decision)
    decision.pop("rejections", None)
    restricted = explanation.restricted_to
    if view.past is not None:
        decision["run"] = view.past.document
    return decision | {
        "schedulerName": explanation.pod.spec.scheduler_name,
        "currentNode": view.current_node or None,
        "placedBefore": view.placed_before,
        "nodeCount": len(explanation.node_names),
        "preFilter": None if explanation.pre_filter.is_success else _status(explanation.pre_filter),
        "restrictedTo": None if restricted is None else sorted(restricted),
        "restrictedBy": list(explanation.restricted_by),
        "notExamined": list(explanation.not_examined),
        "feasible": list(explanation.feasible),
        "winners": list(explanation.winners),
        "totals": explanation.totals,
        "rejected": {node: _status(status) for node, status in explanation.rejected.items()},
        "remedies": [_remedy(remedy) for remedy in view.remedies],
        "nearest": [
            {"node": near.node, "plugins": list(near.plugins), "lacks": list(near.lacks)}
            for near in view.near
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


def print_explanation(view: ExplanationView, *, shown: int | None) -> None:
    """Print an explanation as text.

    Parameters
    ----------
    shown : int, optional
        Number of nodes to show side by side; None: all nodes and all names.
    """
    explanation = view.explanation
    _print_head(view)
    if explanation.pre_filter.is_rejection:
        plugin = explanation.pre_filter.plugin
        print_heading(f"No node was evaluated: PreFilter ({plugin}) rejected the pod as a whole.")
    if not explanation.filters and not explanation.pre_filter.is_rejection:
        return
    if explanation.decision.node:
        _print_why_not_others(explanation, shown)
    _print_remedies(view, shown)
    if view.nodes:
        wanted = [near for near in view.near if near.node in view.nodes]
        _print_near(wanted, None, "What each node lacks:")
    elif not explanation.decision.node:
        _print_near(view.near, shown, "Closest nodes and what each one lacks:")
    print_preemption(explanation.decision, shown)
    _print_unexamined(explanation, shown)
    _print_extenders(explanation)
    if explanation.filters:
        _print_matrix(view, shown)


def _print_head(view: ExplanationView) -> None:
    explanation = view.explanation
    decision = explanation.decision
    rows: list[tuple[str, str | Text]] = [("Pod:", explanation.pod.key)]
    if view.past is not None:
        rows.append(("Attempt:", view.past.when))
    elif view.current_node:
        rows.append(("On node:", f"{view.current_node} (re-evaluated as if not yet placed)"))
    elif view.is_alone:
        rows.append(("Context:", "the cluster as given (--alone)"))
    else:
        rows.append(("Context:", _queue_position_text(view.placed_before)))
    if decision.node:
        rows.append(("Node:", Text(decision.node, style="bold green")))
        rows.append(("Why:", _why(view)))
    else:
        rows.append(("Node:", Text(NO_NODE, style="bold red")))
        rows.append(("Outcome:", outcome_of(decision)))
        rows.append(("Message:", decision.message))
        node, victims = nomination_of(decision)
        if node:
            names = ", ".join(victim.key for victim in victims) or "no pod"
            rows.append(("Preempts:", f"{names} on {node}, to which the pod is nominated"))
    if view.past is not None:
        rows.append(("Then:", view.past.then))
    for name, value in rows:
        line = Text(name.ljust(10))
        line.append_text(value if isinstance(value, Text) else Text(value))
        print_paragraph(line, hanging=10)


def _queue_position_text(placed_before: int) -> str:
    if not placed_before:
        return "no pending pods scheduled ahead of it"
    return f"after scheduling {placed_before} pending pod{'s' * (placed_before != 1)} ahead of it"


def _why(view: ExplanationView) -> str:
    explanation = view.explanation
    decision = explanation.decision
    examined = len(explanation.node_names) - len(explanation.not_examined)
    if len(explanation.feasible) == 1:
        if explanation.pod.status.nominated_node_name == decision.node and examined > 1:
            return "the pod is nominated to this node, which passes every filter"
        return f"the only one of {examined} nodes that passes every filter; scoring was skipped"
    best = explanation.totals.get(decision.node)
    text = f"total score {best}, the highest of {len(explanation.feasible)} feasible nodes"
    if len(explanation.winners) > 1:
        others = len(explanation.winners) - 1
        rule = {
            "drawn": f"chosen by draw with seed {view.seed}",
            "heap": "chosen in the order of the v1.36 heap",
            "first": "chosen as the first by name",
        }[view.tie_rule]
        text += f"; {others} other node{'s' * (others != 1)} tied: {rule}"
    return text


def _print_why_not_others(explanation: Explanation, shown: int | None) -> None:
    winner = explanation.decision.node
    others = [node for node in _by_total(explanation) if node != winner]
    if not others:
        return
    print_heading("Why the other feasible nodes were not chosen:")
    winners = set(explanation.winners)
    equals = [node for node in others if node in winners]
    if equals:
        print_paragraph("tied with the chosen node:", indent=2)
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
        print_paragraph(
            f"and {len(behind) - shown} more with an equal or lower score (-o wide)", indent=2
        )


def _by_total(explanation: Explanation) -> list[str]:
    """Return the feasible nodes, the chosen one first, then by decreasing total."""
    winner = explanation.decision.node
    totals = explanation.totals
    # Extenders may name a node twice.
    feasible = dict.fromkeys(explanation.feasible)
    return sorted(feasible, key=lambda node: (node != winner, -totals.get(node, 0)))


def _behind(explanation: Explanation, node: str) -> str:
    """Return the plugins that score a node lower or higher than the chosen one."""
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


def _print_remedies(view: ExplanationView, shown: int | None) -> None:
    if not view.remedies:
        return
    has_node = bool(view.explanation.decision.node)
    print_heading("Why the other nodes were rejected:" if has_node else "Possible fixes:")
    for remedy in view.remedies:
        if not has_node:
            print_paragraph(Text(f"- {remedy.text}", style="bold"), indent=2, hanging=2)
        indent = 2 if has_node else 4
        for group in remedy.reasons:
            count = len(group.nodes)
            head = f"{count} node{'s' * (count != 1)}: {group.reason}"
            print_paragraph(f"{head} ({group.plugin or 'PreFilter'})", indent=indent, hanging=2)
            if not view.explanation.pre_filter.is_rejection:
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
        print_heading(f"{count} nodes were not evaluated: enough feasible nodes were found before:")
        print_paragraph(_named(explanation.not_examined, shown), indent=2)
    restricted = explanation.restricted_to
    if restricted is not None:
        names = ", ".join(explanation.restricted_by)
        print_heading(f"{names} restricted the pod to these nodes:")
        print_paragraph(_named(sorted(restricted), shown) or "none", indent=2)


def _print_extenders(explanation: Explanation) -> None:
    """Print the result of each extender."""
    if not explanation.extenders:
        return
    print_heading("Extenders:")
    for answers in explanation.extenders:
        results = []
        if answers.asked is not None:
            results.append(f"kept {len(answers.kept)} of {len(answers.asked)} nodes")
        if answers.scores:
            results.append(f"scored {len(answers.scores)} nodes")
        results += [f"failed: {error}" for error in answers.errors]
        line = f"{_extender(answers)} ({answers.url}): {'; '.join(results) or 'not called'}"
        print_paragraph(line, indent=2, hanging=2)


def _extender(answers: ExtenderAnswers) -> str:
    return f"extenders[{answers.index}]"


# ---------------------------------------------------------------- plugins x nodes


def _print_matrix(view: ExplanationView, shown: int | None) -> None:
    """Print the results of filters and the scores as tables of plugins x nodes."""
    explanation = view.explanation
    feasible = _by_total(explanation)
    rejecting = [near.node for near in view.near] or _unordered(explanation)
    if view.nodes:
        nodes = scored = list(dict.fromkeys((*feasible[:1], *view.nodes)))
    else:
        # All feasible nodes pass every filter, so rejected nodes are shown first.
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
    print_heading("Scores (raw/normalized/weighted):")
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
    """Print the plugins that skipped the pod, which differs from passing it."""
    if plugins:
        text = f"Skipped (nothing to check for this pod): {', '.join(plugins)}"
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
            yield "excluded"
        elif node in unseen:
            yield "not evaluated"
        elif node in answer.rejected:
            yield Text("rejected", style="red")
        else:
            yield "passed"


def _print_chunked(
    heads: tuple[str, str], rows: Sequence[tuple[str | Text, ...]], nodes: Sequence[str]
) -> None:
    """Print the rows in chunks of as many nodes side by side as the width holds.

    If the nodes do not fit into one chunk, numbers replace their names.
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

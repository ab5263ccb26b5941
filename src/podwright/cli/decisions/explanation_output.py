"""An explanation as text: the decision, the remedies, the nearest nodes, preemption."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich.text import Text

from podwright.apimachinery.documents import first_names
from podwright.apimachinery.objects import Condition, Pod, condition_of
from podwright.cli.console import (
    NO_NODE,
    print_data,
    print_heading,
    print_paragraph,
    print_table,
    stdout,
    write,
)
from podwright.scheduler.advice import NearNode, Remedy
from podwright.scheduler.assembly import Displacement
from podwright.scheduler.columns import priority_of
from podwright.scheduler.framework import (
    Decision,
    Explanation,
    FilterExplanation,
    NotExaminedReason,
)
from podwright.simulation.recording import (
    ExplanationView,
    NodeResult,
    RemedyRequests,
    ReplicaOutcome,
    WorkloadView,
    explanation_document,
    extender_name,
    node_results,
    nomination_of,
    ordered_candidates,
    outcome_of,
    preemption_of,
)

_CHANGES_SHOWN = 3
_DISPLACING_PODS_SHOWN = 6
_DETAILS_SHOWN = 6
_NOT_EXAMINED: Final[Mapping[NotExaminedReason, str]] = {
    "enoughFeasibleNodes": "enough feasible nodes were found before",
    "nominatedNodeFits": "the nominated node, which is evaluated first, passes every filter",
    "otherPlacement": "they are in another placement of the pod group",
}


def print_view(view: ExplanationView, *, shown: int | None, output: str) -> bool:
    """Print an explanation in an output format; return whether the pod fits."""
    node = view.explanation.decision.node
    if not print_data(output, lambda: explanation_document(view), [node] if node else []):
        print_explanation(view, shown=shown)
    return bool(node)


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
    if not explanation.node_names and view.past is None:
        nodes = "kubectl get nodes -o yaml prints those of a cluster"
        print_heading(f"The input has no nodes; {nodes}.")
    if not explanation.filters and not explanation.pre_filter.is_rejection:
        if explanation.decision.gated_by is not None:
            _print_remedies(view, shown)
        return
    if explanation.decision.node:
        _print_why_not_others(explanation, shown)
    _print_remedies(view, shown)
    _print_reasons(view, shown)
    if view.nodes:
        requested = [near for near in view.near if near.node in view.nodes]
        _print_near(requested, None, "What each node lacks:")
    elif not explanation.decision.node:
        _print_near(view.near, shown, "Closest nodes and what each one lacks:")
    print_preemption(explanation.decision, shown)
    _print_unexamined(explanation, shown)
    _print_extenders(explanation)
    if explanation.filters:
        print_matrix(view, shown)


def _print_head(view: ExplanationView) -> None:
    explanation = view.explanation
    decision = explanation.decision
    rows: list[tuple[str, str | Text]] = [("Pod:", explanation.pod.key)]
    if view.workload is not None:
        rows.append(("Of:", _workload_text(view.workload)))
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
        if explanation.custom_results:
            results = [f"{key}={text}" for key, text in sorted(explanation.custom_results.items())]
            rows.append(("Results:", ", ".join(results)))
    else:
        rows.append(("Node:", Text(NO_NODE, style="bold red")))
        rows.append(("Outcome:", outcome_of(decision)))
        rows.append(("Message:", decision.message))
        node, victims = nomination_of(decision)
        if node:
            names = ", ".join(victim.key for victim in victims) or "no pod"
            rows.append(("Preempts:", f"{names} on {node}, to which the pod is nominated"))
    reported = condition_of(explanation.pod, "PodScheduled")
    if view.past is None and reported is not None and _differs(reported, decision):
        rows.append(("Reported:", _reported_text(reported)))
    if view.taken is not None:
        rows.append(("Alone:", _taken_text(view.taken)))
    if view.past is not None:
        rows.append(("Then:", view.past.then))
    for name, value in rows:
        line = Text(name.ljust(10))
        line.append_text(value if isinstance(value, Text) else Text(value))
        print_paragraph(line, hanging=10)


def _workload_text(workload: WorkloadView) -> str:
    count = workload.pod_count
    text = f"{workload.kind} {workload.key} ({count} pod{'s' * (count != 1)}"
    if workload.unfit is not None:
        unfit = len(workload.unfit)
        text += f", {unfit} do{'es' * (unfit == 1)} not fit" if unfit else ", all fit"
    return f"{text})"


def _differs(reported: Condition, decision: Decision) -> bool:
    """Whether the scheduler of the cluster saw what is gone now, or is not in the input."""
    has_failed = reported.status == "False" and reported.reason != "SchedulingGated"
    return has_failed and reported.message != decision.message


def _reported_text(condition: Condition) -> str:
    since = f"since {condition.last_transition_time}, " if condition.last_transition_time else ""
    return f"{since}{condition.reason}: {condition.message}".removesuffix(": ")


def _taken_text(taken: Displacement) -> str:
    names = first_names(taken.pods, _DISPLACING_PODS_SHOWN)
    return f"it would fit on {taken.node}; {names}, ahead of it in the queue, took the place"


def _queue_position_text(placed_before: int) -> str:
    if not placed_before:
        return "no pending pods scheduled ahead of it"
    return f"after scheduling {placed_before} pending pod{'s' * (placed_before != 1)} ahead of it"


def _why(view: ExplanationView) -> str:
    explanation = view.explanation
    decision = explanation.decision
    examined = len(explanation.node_names) - len(explanation.not_examined)
    if len(explanation.feasible) == 1:
        if explanation.not_examined_reason == "nominatedNodeFits":
            return "it is the nominated node and passes every filter; no other was evaluated"
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
    others = [node for node in nodes_by_total(explanation) if node != winner]
    if not others:
        return
    print_heading("Why the other feasible nodes were not chosen:")
    winners = set(explanation.winners)
    equals = [node for node in others if node in winners]
    if equals:
        print_paragraph("tied with the chosen node:", indent=2)
        print_paragraph(node_list(equals, shown), indent=4)
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


def _behind(explanation: Explanation, node: str) -> str:
    """Return the plugins that score a node lower or higher than the chosen one."""
    winner = explanation.decision.node
    differences = [
        (scores.weight * (scores.normalized[node] - scores.normalized[winner]), scores.plugin)
        for scores in explanation.scores
    ]
    differences += [
        (answers.scores.get(node, 0) - answers.scores.get(winner, 0), extender_name(answers))
        for answers in explanation.extenders
    ]
    differences = sorted((d for d in differences if d[0]), key=lambda d: -abs(d[0]))
    if not differences:
        return "the same scores"
    return ", ".join(f"{plugin} {by:+d}" for by, plugin in differences[:_CHANGES_SHOWN])


def _print_reasons(view: ExplanationView, shown: int | None) -> None:
    if not view.reasons:
        return
    has_node = bool(view.explanation.decision.node)
    print_heading(f"Why the {'other ' * has_node}nodes were rejected:")
    for group in view.reasons:
        count = len(group.nodes)
        head = f"{count} node{'s' * (count != 1)}: {group.reason}"
        print_paragraph(f"{head} ({group.plugin or 'PreFilter'})", indent=2, hanging=2)
        if not view.explanation.pre_filter.is_rejection:
            print_paragraph(node_list(group.nodes, shown), indent=4)
        if len(group.details) > 1 or view.explanation.pre_filter.is_rejection:
            for detail in group.details if shown is None else group.details[:_DETAILS_SHOWN]:
                number = detail.node_count
                text = f"{number} node{'s' * (number != 1)}: {detail.text}"
                print_paragraph(text, indent=4, hanging=2)
    if _is_counted_twice(view.explanation):
        print_paragraph(
            "Each node is counted for the first plugin that rejects it. Under Filters, each plugin"
            " counts all nodes that it rejects.",
            indent=2,
        )


def _is_counted_twice(explanation: Explanation) -> bool:
    """Return whether several filters reject a node."""
    return sum(len(each.rejected) for each in explanation.filters) > len(
        set().union(*(each.rejected for each in explanation.filters))
    )


def _print_remedies(view: ExplanationView, shown: int | None) -> None:
    """Print the changes after which the pod fits."""
    if view.explanation.decision.node:
        return
    remedies = view.advice.remedies
    if remedies:
        print_heading("What would fix it (each change was tried):")
    else:
        print_heading("What would fix it: none of the changes that podwright tries makes it fit.")
    requests = view.requests or [None] * len(remedies)
    outcomes = view.replicas or [None] * len(remedies)
    for remedy, made, outcome in list(zip(remedies, requests, outcomes, strict=True))[:shown]:
        _print_change(remedy, made, outcome)
    if view.advice.limits:
        print_heading("Limits of this advice:")
    for limit in view.advice.limits:
        print_paragraph(f"- {limit}", indent=2, hanging=2)


def _print_change(
    remedy: Remedy, requests: RemedyRequests | None, outcome: ReplicaOutcome | None
) -> None:
    nodes = f"{remedy.node_count} node{'s' * (remedy.node_count != 1)}"
    such_as = ", such as" if remedy.node_count > 1 else ":"
    print_paragraph(f"- {remedy.text}", indent=2, hanging=2)
    print_paragraph(f"opens {nodes}{such_as} {remedy.node}", indent=4, hanging=2)
    if outcome is not None:
        print_paragraph(str(outcome), indent=4, hanging=2)
    if remedy.victims:
        print_paragraph(f"evicts {', '.join(remedy.victims)}", indent=4, hanging=2)
    if remedy.alternatives:
        others = ", ".join(remedy.alternatives)
        print_paragraph(f"the same on another node: {others}", indent=4, hanging=2)
    changes = (requests.changes or []) if requests is not None else []
    if requests is not None and requests.note:
        print_paragraph(requests.note, indent=4, hanging=2)
    for effect in (change.effect for change in changes if change.effect):
        print_paragraph(effect, indent=4, hanging=2)
    commands = (*remedy.commands, *(change.command for change in changes if change.command))
    for command in dict.fromkeys(commands):
        # Not wrapped: a person copies it.
        write(f"    $ {command}")


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
        were = "node was" if count == 1 else "nodes were"
        reason = explanation.not_examined_reason
        why = f": {_NOT_EXAMINED[reason]}" if reason is not None else ""
        print_heading(f"{count} {were} not evaluated{why}:")
        print_paragraph(node_list(explanation.not_examined, shown), indent=2)
    restricted = explanation.restricted_to
    if restricted is not None:
        names = ", ".join(explanation.restricted_by)
        print_heading(f"{names} restricted the pod to these nodes:")
        print_paragraph(node_list(sorted(restricted), shown) or "none", indent=2)


def _print_extenders(explanation: Explanation) -> None:
    """Print the result of each extender."""
    if not explanation.extenders:
        return
    print_heading("Extenders:")
    for answers in explanation.extenders:
        results = []
        if answers.candidates is not None:
            results.append(f"kept {len(answers.kept)} of {len(answers.candidates)} nodes")
            named = {*answers.kept, *answers.rejected}
            dropped = [name for name in answers.candidates if name not in named]
            if dropped:
                results.append(f"gave no reason for {first_names(dropped)}")
        if answers.scores:
            results.append(f"scored {len(answers.scores)} nodes")
        results += [f"failed: {error}" for error in answers.errors]
        line = f"{extender_name(answers)} ({answers.url}): {'; '.join(results) or 'not called'}"
        print_paragraph(line, indent=2, hanging=2)


# The preemption section of `podwright explain`: candidates, victims and the deciding criterion.

_PODS_SHOWN = 6


def print_preemption(decision: Decision, shown: int | None) -> None:
    """Print the candidates, their victims and spared pods, and the deciding criterion.

    Parameters
    ----------
    shown : int, optional
        Number of candidates to show; None: all candidates and all pods.
    """
    preemption = preemption_of(decision)
    if preemption is None:
        return
    tried = preemption.dry_run
    print_heading("Preemption:")
    if not tried.helpable_count:
        print_paragraph("Preemption would not help on any node", indent=2)
        return
    count = len(tried.candidates)
    print_paragraph(
        f"dry run on {tried.visited_count} of {_count(tried.helpable_count, 'node')} where "
        f"preemption may help: {_count(count, 'candidate')}",
        indent=2,
    )
    for rejection in tried.rejections:
        reason = rejection.status.message
        print_paragraph(f"{_count(rejection.count, 'node')}: {reason}", indent=2, hanging=2)
    candidates = ordered_candidates(preemption)
    if len(candidates) < count:
        print_paragraph(f"extenders kept {len(candidates)} of them", indent=2)
    if preemption.choice is None:
        return
    rows = [
        (
            candidate.node,
            str(candidate.pdb_violations),
            _named(candidate.victims, shown),
            _named(candidate.spared, shown) or "none",
        )
        for candidate in (candidates if shown is None else candidates[:shown])
    ]
    print_table(("NODE", "VIOLATED BUDGETS", "EVICTS", "SPARES"), rows, indent=2)
    if len(rows) < len(candidates):
        more = _count(len(candidates) - len(rows), "more candidate")
        print_paragraph(f"and {more} (-o wide)", indent=2)
    choice = preemption.choice
    why = "the only candidate" if choice.criterion is None else choice.criterion.description
    print_paragraph(f"chosen: {choice.candidate.node} ({why})", indent=2)
    if preemption.cleared_nominations:
        names = _named(preemption.cleared_nominations, shown)
        print_paragraph(f"clears the nomination of {names}", indent=2, hanging=2)


def _named(pods: Sequence[Pod], shown: int | None) -> str:
    named = [
        f"{pod.key} ({priority_of(pod)})" for pod in (pods if shown is None else pods[:_PODS_SHOWN])
    ]
    more = len(pods) - len(named)
    return ", ".join(named) + (f" and {more} more (-o wide)" if more else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


# The results of filters and the scores of an explanation, as tables of plugins x nodes.

_RESULTS: Final[Mapping[NodeResult, str]] = {
    "passed": "passed",
    "rejected": "rejected",
    "notEvaluated": "not evaluated",
    "excluded": "excluded",
}


def print_matrix(view: ExplanationView, shown: int | None) -> None:
    """Print the results of filters and the scores as tables of plugins x nodes."""
    explanation = view.explanation
    feasible = nodes_by_total(explanation)
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
        (extender_name(answers), "", *(str(answers.scores.get(node, "")) for node in scored))
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
    for result in node_results(answer, explanation, nodes):
        text = _RESULTS[result]
        yield Text(text, style="red") if result == "rejected" else text


def _print_chunked(
    heads: tuple[str, str], rows: Sequence[tuple[str | Text, ...]], nodes: Sequence[str]
) -> None:
    """Print the rows in chunks of as many nodes side by side as the width holds.

    If the nodes do not fit into one chunk, numbers replace their names.
    """
    console = stdout()
    fixed = sum(
        max(map(len, (head, *(row[i] for row in rows)))) + 2 for i, head in enumerate(heads)
    )
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


# The parts of an explanation as they are printed: order and names.

_NAMES_SHOWN = 12


def nodes_by_total(explanation: Explanation) -> list[str]:
    """Return the feasible nodes, the chosen one first, then by decreasing total."""
    winner = explanation.decision.node
    totals = explanation.totals
    # Extenders may name a node twice.
    feasible = dict.fromkeys(explanation.feasible)
    return sorted(feasible, key=lambda node: (node != winner, -totals.get(node, 0)))


def node_list(names: Sequence[str], shown: int | None) -> str:
    """Return names separated by commas; with `shown`, the first few and the number of others."""
    if shown is None or len(names) <= _NAMES_SHOWN:
        return ", ".join(names)
    rest = len(names) - _NAMES_SHOWN
    return f"{', '.join(names[:_NAMES_SHOWN])} and {rest} more (-o wide)"

"""The results of filters and the scores of an explanation, as tables of plugins x nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rich.text import Text

from podwright.cli.console import print_heading, print_paragraph, print_table, stdout
from podwright.scheduler.framework import Explanation, FilterExplanation
from podwright.simulation.recording import ExplanationView, NodeResult, extender_name, node_results

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

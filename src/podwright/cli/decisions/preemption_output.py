"""The preemption section of `podwright explain`: candidates, victims and the deciding criterion."""

from __future__ import annotations

from collections.abc import Sequence

from podwright.apimachinery.objects import Pod
from podwright.cli.console import print_heading, print_paragraph, print_table
from podwright.scheduler.columns import priority_of
from podwright.scheduler.framework import Decision
from podwright.simulation.recording import ordered_candidates, preemption_of

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

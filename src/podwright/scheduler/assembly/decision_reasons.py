"""Why two schedulers decide differently for one pod.

The reason of a difference is what each side has against the node of the other: the rule that
rejects it, or the scores that rank it lower. It is read from an explanation of the side's own
cycle, so it agrees with what `Scheduler.explain` returns for that side.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import msgspec

from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.assembly.scheduler import Scheduler
from podwright.scheduler.framework import Decision, Explanation
from podwright.scheduler.preemption import Preemption

DifferenceKind: TypeAlias = Literal[
    "predicate", "priority", "draw", "sampling", "preemption", "gated", "error"
]
"""The cause of a difference: a rejection, the scores, the draw among tied nodes, the sampling of
nodes, the choice of victims, a gate at PreEnqueue, or a cycle that failed."""


class ScoreDifference(msgspec.Struct, frozen=True):
    """By how much one score prefers this side's node to the other side's.

    Parameters
    ----------
    rule : str
        A priority or a score plugin.
    weighted : int
        Weight times normalized score of this side's node, minus that of the other side's.
    """

    rule: str
    weighted: int


class Because(msgspec.Struct, frozen=True, kw_only=True):
    """Why one side decides differently from the other.

    Parameters
    ----------
    kind : str
        See `DifferenceKind`.
    rule : str
        The deciding rule; "" for a draw.
    reasons : tuple of str
        The reasons of the rule.
    scores : tuple of ScoreDifference
        For a priority: all scores that differ, the greatest difference first.
    margin : int
        For a priority: the total of this side's node minus that of the other side's; the sum of
        `scores`.
    """

    kind: DifferenceKind
    rule: str = ""
    reasons: tuple[str, ...] = ()
    scores: tuple[ScoreDifference, ...] = ()
    margin: int = 0


def outcome_of(decision: Decision) -> tuple[object, ...]:
    """Return what two equal decisions have in common: the node, or the nomination and victims."""
    victims, result = _victims(decision), decision.post_filter
    nominated = "" if result is None else result.nominated_node or ""
    return decision.node, nominated, victims, bool(decision.gated_by), bool(decision.error)


def _victims(decision: Decision) -> tuple[NamespacedName, ...]:
    details = None if decision.post_filter is None else decision.post_filter.details
    return tuple(pod.key for pod in details.victims) if isinstance(details, Preemption) else ()


def reason_of(scheduler: Scheduler, mine: Decision, theirs: Decision) -> Because | None:
    """Return why a side decides differently from the other; None if it would accept that too.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler of this side, just after it decided: only this pod has been placed since.
    mine, theirs : Decision
        The decisions of this side and of the other one.
    """
    if mine.gated_by is not None:
        return Because(kind="gated", rule=mine.gated_by.plugin, reasons=mine.gated_by.reasons)
    if mine.error is not None:
        return Because(kind="error", rule=mine.error.plugin, reasons=mine.error.reasons)
    if not theirs.node:
        return None if mine.node else _preemption_reason(mine)
    key = mine.pod.key
    explanation = scheduler.explain_again(key) if mine.node else scheduler.explain(key)
    return objection_to(explanation, mine.node, theirs.node)


def _preemption_reason(mine: Decision) -> Because | None:
    """Return the criterion that chose the victims."""
    details = None if mine.post_filter is None else mine.post_filter.details
    if not isinstance(details, Preemption):
        return Because(kind="preemption", reasons=("it may not preempt",))
    if details.choice is None:
        return Because(kind="preemption", reasons=("preemption would not help on any node",))
    criterion = details.choice.criterion
    why = "the only candidate" if criterion is None else criterion.description
    return Because(kind="preemption", reasons=(f"{details.choice.candidate.node}: {why}",))


def objection_to(explanation: Explanation, mine: str, theirs: str) -> Because | None:
    """Return why a cycle does not choose another node; None if that node is unknown to it.

    Parameters
    ----------
    mine : str
        The node that the cycle chose; "" for none.
    theirs : str
        The other node.
    """
    if explanation.pre_filter.is_rejection:
        status = explanation.pre_filter
        return Because(kind="predicate", rule=status.plugin, reasons=status.reasons)
    status_of = explanation.rejected.get(theirs)
    if status_of is not None:
        return Because(kind="predicate", rule=status_of.plugin, reasons=status_of.reasons)
    if explanation.restricted_to is not None and theirs not in explanation.restricted_to:
        return Because(kind="predicate", rule=", ".join(explanation.restricted_by))
    totals = explanation.totals
    if theirs not in totals or mine not in totals:
        if theirs not in explanation.not_examined:
            return None
        if explanation.not_examined_reason == "nominatedNodeFits":
            return Because(kind="preemption", reasons=(f"it was nominated to {mine}",))
        return Because(kind="sampling")
    margin = totals[mine] - totals[theirs]
    if not margin:
        return Because(kind="draw")
    scores = _differences(explanation, mine, theirs)
    return Because(
        kind="priority",
        rule=next((score.rule for score in scores if score.weighted > 0), ""),
        scores=tuple(scores),
        margin=margin,
    )


def _differences(explanation: Explanation, mine: str, theirs: str) -> list[ScoreDifference]:
    found = [
        ScoreDifference(
            scores.plugin,
            scores.weight * (scores.normalized[mine] - scores.normalized[theirs]),
        )
        for scores in explanation.scores
    ]
    found += [
        ScoreDifference(
            f"extenders[{answers.index}]",
            answers.scores.get(mine, 0) - answers.scores.get(theirs, 0),
        )
        for answers in explanation.extenders
    ]
    return sorted((one for one in found if one.weighted), key=lambda one: -abs(one.weighted))


_ORDER: tuple[DifferenceKind, ...] = (
    "gated", "error", "predicate", "sampling", "priority", "preemption", "draw",
)  # fmt: skip


def kind_of(reasons: Iterable[Because | None]) -> DifferenceKind:
    """Return the kind of a difference: the strongest one of both sides."""
    kinds = {because.kind for because in reasons if because is not None}
    return next((kind for kind in _ORDER if kind in kinds), "draw")

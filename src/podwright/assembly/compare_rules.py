"""The same pods placed by two rule sets: where they differ, and by which rule.

Each side has its own cluster, and its pods stay where its rules place them. So a difference can
cause later differences; `has_parted` marks the pods after the first difference. With `is_together`
the second side copies the placements of the first one instead.

The reason of a difference is what each side has against the other side's node: the rule that
rejects it, or the scores that rank it lower.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from podwright.assembly.scheduler import Scheduler
from podwright.framework import Decision, Explanation
from podwright.objects import NamespacedName, with_node_name, with_nominated_node_name
from podwright.preemption import Preemption

DifferenceKind: TypeAlias = Literal[
    "predicate", "priority", "draw", "sampling", "preemption", "held back", "error"
]
"""What made the difference: what may be, what is preferred, chance among equals, which nodes
were looked at, whom to evict, a pod that is not tried, or a cycle that failed."""

_SHOWN_SCORES = 3


class ScoreDifference(msgspec.Struct, frozen=True):
    """How much further one score puts this side's node.

    Parameters
    ----------
    rule : str
        A priority or a score plugin.
    weighted : int
        Weight times score of this side's node, less that of the other side's.
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
        The rule that decides it; "" for chance.
    reasons : tuple of str
        The reasons of the rule.
    scores : tuple of ScoreDifference
        For a priority: the greatest differences, the greatest first.
    margin : int
        How far the other side's node is behind in total.
    """

    kind: DifferenceKind
    rule: str = ""
    reasons: tuple[str, ...] = ()
    scores: tuple[ScoreDifference, ...] = ()
    margin: int = 0


class ComparedPod(msgspec.Struct, frozen=True, kw_only=True):
    """One pod under both rule sets.

    Parameters
    ----------
    pod : str
        "namespace/name".
    decisions : tuple of Decision
        One per side.
    is_same : bool
        The same node, or the same nomination and victims.
    has_parted : bool
        An earlier pod was placed differently, so the sides look at different clusters.
    because : tuple of Because or None
        One per side; None if that side would accept the other's decision.
    """

    pod: NamespacedName
    decisions: tuple[Decision, Decision]
    is_same: bool
    has_parted: bool
    because: tuple[Because | None, Because | None] = (None, None)


def compare_rules(
    one: Scheduler, other: Scheduler, *, is_together: bool = False
) -> Iterator[ComparedPod]:
    """Place the pending pods of two schedulers, which hold the same objects.

    Parameters
    ----------
    one, other : Scheduler
        Pods are gone through in the order of the queue of `one`.
    is_together : bool
        Whether `other` counts every pod where `one` puts it, once it has decided itself, so
        that both look at the same cluster all the time.
    """
    has_parted = False
    for pod in one.in_queue_order():
        key = pod.key
        # A search begins where the last one ended, so an explanation has to restore the position.
        began = one.visiting(), other.visiting()
        decisions = one.schedule(key), other.schedule(key)
        is_same = _outcome(decisions[0]) == _outcome(decisions[1])
        because: tuple[Because | None, Because | None] = (None, None)
        if not is_same:
            with one.visiting_from(began[0]), other.visiting_from(began[1]):
                because = _why(one, *decisions), _why(other, *decisions[::-1])
        yield ComparedPod(
            pod=key,
            decisions=decisions,
            is_same=is_same,
            has_parted=has_parted,
            because=because,
        )
        if is_together and not is_same:
            _follow(other, decisions[0])
        has_parted = has_parted or not (is_same or is_together)


def _follow(scheduler: Scheduler, decision: Decision) -> None:
    """Place a pod in a scheduler as another one decided."""
    pod, result = decision.pod, decision.post_filter
    scheduler.remove(pod)
    if decision.node:
        scheduler.add(with_node_name(pod, decision.node))
    else:
        nominated = "" if result is None else result.nominated_node or ""
        scheduler.add(with_nominated_node_name(pod, nominated))


def _outcome(decision: Decision) -> tuple[object, ...]:
    victims, result = _victims(decision), decision.post_filter
    nominated = "" if result is None else result.nominated_node or ""
    return decision.node, nominated, victims, bool(decision.held_back), bool(decision.error)


def _victims(decision: Decision) -> tuple[NamespacedName, ...]:
    details = None if decision.post_filter is None else decision.post_filter.details
    return tuple(pod.key for pod in details.victims) if isinstance(details, Preemption) else ()


def _why(scheduler: Scheduler, mine: Decision, theirs: Decision) -> Because | None:
    """Return why a side decides differently from the other."""
    if mine.held_back is not None:
        return Because(kind="held back", rule=mine.held_back.plugin, reasons=mine.held_back.reasons)
    if mine.error is not None:
        return Because(kind="error", rule=mine.error.plugin, reasons=mine.error.reasons)
    if not theirs.node:
        return None if mine.node else _why_others_go(mine)
    key = mine.pod.key
    explanation = scheduler.explain_again(key) if mine.node else scheduler.explain(key)
    return _objection(explanation, mine.node, theirs.node)


def _why_others_go(mine: Decision) -> Because | None:
    """Return what decided the choice of victims."""
    details = None if mine.post_filter is None else mine.post_filter.details
    if not isinstance(details, Preemption):
        return Because(kind="preemption", reasons=("it may not preempt",))
    if details.choice is None:
        return Because(kind="preemption", reasons=("preemption would not help on any node",))
    criterion = details.choice.criterion
    why = "the only candidate" if criterion is None else criterion.description
    return Because(kind="preemption", reasons=(f"{details.choice.candidate.node}: {why}",))


def _objection(explanation: Explanation, mine: str, theirs: str) -> Because | None:
    """Return why a side does not choose the other's node."""
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
        return Because(kind="sampling") if theirs in explanation.not_examined else None
    margin = totals[mine] - totals[theirs]
    if not margin:
        return Because(kind="draw")
    scores = _differences(explanation, mine, theirs)
    return Because(
        kind="priority",
        rule=next((score.rule for score in scores if score.weighted > 0), ""),
        scores=tuple(scores[:_SHOWN_SCORES]),
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


# ------------------------------------------------------------------------------- figures


class ComparisonFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The totals of a comparison.

    Parameters
    ----------
    pod_count, same_count : int
        All pods, and those that both sides treat alike.
    placed_counts : tuple of int
        How many each side placed.
    parted_count : int
        Of those that differ, how many come after the first that did.
    kinds : dict of str to int
        How many pods differ, by kind of difference.
    rules : tuple of dict of str to int
        Per side, how many pods each of its rules kept from where the other side puts them.
    """

    pod_count: int
    same_count: int
    placed_counts: tuple[int, int]
    parted_count: int
    kinds: dict[str, int]
    rules: tuple[dict[str, int], dict[str, int]]

    @property
    def differing_count(self) -> int:
        """How many pods the sides treat differently."""
        return self.pod_count - self.same_count


def figures_of(compared: Sequence[ComparedPod]) -> ComparisonFigures:
    """Count the results of a comparison."""
    kinds: Counter[str] = Counter()
    rules: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for pod in compared:
        if pod.is_same:
            continue
        kinds[kind_of(pod)] += 1
        for counted, because in zip(rules, pod.because, strict=True):
            if because is not None and because.rule:
                counted[because.rule] += 1
    return ComparisonFigures(
        pod_count=len(compared),
        same_count=sum(pod.is_same for pod in compared),
        placed_counts=(
            sum(bool(pod.decisions[0].node) for pod in compared),
            sum(bool(pod.decisions[1].node) for pod in compared),
        ),
        parted_count=sum(pod.has_parted and not pod.is_same for pod in compared),
        kinds=dict(sorted(kinds.items())),
        rules=(dict(rules[0].most_common()), dict(rules[1].most_common())),
    )


_ORDER: tuple[DifferenceKind, ...] = (
    "held back", "error", "predicate", "sampling", "priority", "preemption", "draw",
)  # fmt: skip


def kind_of(pod: ComparedPod) -> str:
    """Return the kind of a difference: the strongest one of both sides."""
    kinds = {because.kind for because in pod.because if because is not None}
    return next((kind for kind in _ORDER if kind in kinds), "draw")

"""The same pods placed by two rule sets: where they differ, and by which rule.

Each side has its own cluster, and its pods stay where its rules place them. So a difference can
cause later differences; `has_parted` marks the pods after the first difference. With `is_together`
the second side copies the placements of the first one instead.

`decision_reasons` describes the reason of a difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from podwright.apimachinery.objects import NamespacedName, with_node_name, with_nominated_node_name
from podwright.scheduler.assembly.decision_reasons import (
    Because,
    kind_of as strongest_kind,
    outcome_of,
    reason_of,
)
from podwright.scheduler.assembly.scheduler import Scheduler
from podwright.scheduler.framework import Decision


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
        # A search starts where the last one ended, so an explanation has to restore the position.
        began = one.visiting(), other.visiting()
        decisions = one.schedule(key), other.schedule(key)
        is_same = outcome_of(decisions[0]) == outcome_of(decisions[1])
        because: tuple[Because | None, Because | None] = (None, None)
        if not is_same:
            with one.visiting_from(began[0]), other.visiting_from(began[1]):
                because = reason_of(one, *decisions), reason_of(other, *decisions[::-1])
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


def kind_of(pod: ComparedPod) -> str:
    """Return the kind of a difference: the strongest one of both sides."""
    return strongest_kind(pod.because)

"""How quickly the number of replicas may follow its metrics: stabilization windows and policies.

Upstream: pkg/controller/podautoscaler/horizontal.go, normalizeDesiredReplicas,
normalizeDesiredReplicasWithBehaviors
"""

from __future__ import annotations

from math import ceil
from typing import Any, Final, NamedTuple

import msgspec

from podwright.apimachinery.objects import Document

_SECOND_NS: Final = 1_000_000_000
_STABILIZATION_SECONDS: Final = 300
_LONGEST_NS: Final = 3600 * _SECOND_NS
"""The longest window and period that the API accepts; what is older never counts."""

_UP_FACTOR: Final = 2
_UP_LEAST: Final = 4
_IN_RANGE: Final = ("DesiredWithinRange", "the desired count is within the acceptable range")


class ScalingHistory(msgspec.Struct):
    """What was recommended for one target, and how it was scaled.

    Attributes
    ----------
    recommendations, changes : list of (int, int)
        The time in nanoseconds and the number of replicas, or its change.
    """

    recommendations: list[tuple[int, int]] = []
    changes: list[tuple[int, int]] = []

    def forget(self, now_ns: int) -> None:
        """Drop what no window reaches."""
        oldest_ns = now_ns - _LONGEST_NS
        self.recommendations = [each for each in self.recommendations if each[0] >= oldest_ns]
        self.changes = [each for each in self.changes if each[0] >= oldest_ns]


class Limited(NamedTuple):
    """A number of replicas within the limits.

    Attributes
    ----------
    replicas : int
    stabilized : (str, str)
        The reason and the message of the condition `AbleToScale`.
    is_limited : bool
    limit : (str, str)
        Of the condition `ScalingLimited`.
    """

    replicas: int
    stabilized: tuple[str, str]
    is_limited: bool
    limit: tuple[str, str]


def within_limits(
    spec: Document, history: ScalingHistory, current: int, proposed: int, now_ns: int
) -> Limited:
    """Return the number of replicas to scale to; the history keeps what was proposed."""
    behavior = spec.get("behavior")
    history.forget(now_ns)
    if behavior:
        stable, why = _stabilized(behavior, history, current, proposed, now_ns)
    else:
        cutoff_ns = now_ns - _STABILIZATION_SECONDS * _SECOND_NS
        stable = max(
            [proposed, *(count for at, count in history.recommendations if at >= cutoff_ns)]
        )
        why = _lowest_of(is_up=False)
    history.recommendations.append((now_ns, proposed))
    if stable == proposed:
        why = ("ReadyForNewScale", "recommended size matches current size")
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    least = 1 if least is None else least
    if behavior:
        replicas, limit = _by_policies(behavior, history, current, stable, (least, most), now_ns)
    else:
        replicas, limit = _by_rules(current, stable, least, most)
    return Limited(replicas, why, replicas != stable, limit)


def _lowest_of(*, is_up: bool) -> tuple[str, str]:
    than, which = ("lower", "lowest") if is_up else ("higher", "highest")
    return (
        "ScaleUpStabilized" if is_up else "ScaleDownStabilized",
        f"recent recommendations were {than} than current one, applying the {which} recent"
        " recommendation",
    )


def _stabilized(
    behavior: Document, history: ScalingHistory, current: int, proposed: int, now_ns: int
) -> tuple[int, tuple[str, str]]:
    up_ns = now_ns - behavior["scaleUp"].get("stabilizationWindowSeconds", 0) * _SECOND_NS
    window = behavior["scaleDown"].get("stabilizationWindowSeconds")
    down_ns = now_ns - (_STABILIZATION_SECONDS if window is None else window) * _SECOND_NS
    recent = history.recommendations
    lowest = min([proposed, *(count for at, count in recent if at > up_ns)])
    highest = max([proposed, *(count for at, count in recent if at > down_ns)])
    return min(max(current, lowest), highest), _lowest_of(is_up=proposed >= current)


def _too_many(limit: int, most: int) -> tuple[int, tuple[str, str]]:
    if most > limit:
        what = "the desired replica count is increasing faster than the maximum scale rate"
        return limit, ("ScaleUpLimit", what)
    return most, (
        "TooManyReplicas",
        "the desired replica count is more than the maximum replica count",
    )


_TOO_FEW: Final = (
    "TooFewReplicas",
    "the desired replica count is less than the minimum replica count",
)


def _by_rules(current: int, desired: int, least: int, most: int) -> tuple[int, tuple[str, str]]:
    if desired < least:
        return least, _TOO_FEW
    allowed, why = _too_many(max(_UP_FACTOR * current, _UP_LEAST), most)
    return (allowed, why) if desired > allowed else (desired, _IN_RANGE)


def _by_policies(
    behavior: Document,
    history: ScalingHistory,
    current: int,
    desired: int,
    bounds: tuple[int, int],
    now_ns: int,
) -> tuple[int, tuple[str, str]]:
    least, most = bounds
    if desired > current:
        limit = max(_limit(behavior["scaleUp"], history, current, now_ns, is_up=True), current)
        allowed, why = _too_many(limit, most)
        if desired > allowed:
            return allowed, why
    elif desired < current:
        limit = min(_limit(behavior["scaleDown"], history, current, now_ns, is_up=False), current)
        allowed, why = least, _TOO_FEW
        if least < limit:
            what = "the desired replica count is decreasing faster than the maximum scale rate"
            allowed, why = limit, ("ScaleDownLimit", what)
        if desired < allowed:
            return allowed, why
    return desired, _IN_RANGE


def _limit(
    rules: Document, history: ScalingHistory, current: int, now_ns: int, *, is_up: bool
) -> int:
    """Return the farthest number of replicas that the policies of a direction allow."""
    select = rules.get("selectPolicy")  # "Max" by default
    if select == "Disabled":
        return current
    limits = [_of_policy(each, history, current, now_ns, is_up=is_up) for each in rules["policies"]]
    return max(limits) if (select == "Min") != is_up else min(limits)


def _of_policy(
    policy: dict[str, Any], history: ScalingHistory, current: int, now_ns: int, *, is_up: bool
) -> int:
    since_ns = now_ns - policy["periodSeconds"] * _SECOND_NS
    begin = current - sum(change for at, change in history.changes if at > since_ns)
    step: int = policy["value"] if is_up else -policy["value"]
    if policy["type"] == "Pods":
        return begin + step
    changed = begin * (1 + step / 100)
    return ceil(changed) if is_up else int(changed)

"""Tolerations: which taints a pod tolerates.

Upstream: staging/src/k8s.io/api/core/v1/toleration.go,
staging/src/k8s.io/component-helpers/scheduling/corev1/helpers.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podwright.apimachinery.objects.node import Taint
from podwright.apimachinery.objects.pods.pod import TaintEffect, Toleration
from podwright.apimachinery.objects.texts.integers import parse_int64

SCHEDULING_EFFECTS: tuple[TaintEffect, ...] = ("NoSchedule", "NoExecute")
"""The effects that prevent scheduling."""


def tolerates(toleration: Toleration, taint: Taint, *, comparison_operators: bool = False) -> bool:
    """Whether the toleration covers the taint.

    An empty effect covers every effect, an empty key every key.

    Parameters
    ----------
    toleration, taint
        The toleration and the taint.
    comparison_operators : bool
        The gate TaintTolerationComparisonOperators: without it `Gt` and `Lt` tolerate nothing.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Gt" | "Lt":
            return comparison_operators and _compares(toleration, taint)


def _compares(toleration: Toleration, taint: Taint) -> bool:
    bound, number = parse_int64(toleration.value), parse_int64(taint.value)
    if bound is None or number is None:
        return False
    return number > bound if toleration.operator == "Gt" else number < bound


def untolerated_taint(
    taints: Iterable[Taint],
    tolerations: Sequence[Toleration],
    *,
    comparison_operators: bool = False,
) -> Taint | None:
    """Return the first taint that prevents scheduling and that no toleration covers.

    Notes
    -----
    Upstream: corev1helpers.FindMatchingUntoleratedTaint
    """
    for taint in taints:
        if taint.effect in SCHEDULING_EFFECTS and not any(
            tolerates(toleration, taint, comparison_operators=comparison_operators)
            for toleration in tolerations
        ):
            return taint
    return None

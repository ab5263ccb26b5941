"""The reasons for which a pod does not fit on a node, and the fit error.

Upstream: pkg/scheduler/algorithm/predicates/error.go,
pkg/scheduler/core/generic_scheduler.go (FitError, unresolvablePredicateFailureErrors)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import PodwrightError

NO_NODES: Final = "no nodes available to schedule pods"


class Failure(msgspec.Struct, frozen=True):
    """One reason of one predicate.

    Attributes
    ----------
    predicate : str
        The name in the failure, which may differ from the configured name; empty for a reason of an
        extender.
    reason : str
        The reason that the fit error counts.
    detail : str
        The amounts of a resource.
    """

    predicate: str
    reason: str
    detail: str = ""


Failures: TypeAlias = Sequence[Failure]
"""The result of a predicate for a node."""

FITS: Final[Failures] = ()


class SchedulingError(PodwrightError):
    """An error that ends the cycle, as opposed to a pod that does not fit."""


# Evicting pods cannot make a pod meet an affinity rule, but it can make it meet an anti-affinity
# rule. Reasons of extenders have no predicate and are never in this set.
_UNRESOLVABLE: Final = frozenset(
    {
        "MatchNodeSelector",
        "PodAffinityRulesNotMatch",
        "HostName",
        "PodToleratesNodeTaints",
        "CheckNodeLabelPresence",
        "NodeNotReady",
        "NodeNetworkUnavailable",
        "NodeUnderDiskPressure",
        "NodeUnderPIDPressure",
        "NodeUnderMemoryPressure",
        "NodeUnschedulable",
        "NodeUnknownCondition",
        "NoVolumeZoneConflict",
        "VolumeNodeAffinityConflict",
        "VolumeBindingNoMatch",
    }
)


def is_unresolvable(failures: Iterable[Failure]) -> bool:
    """Whether evicting pods cannot make the node feasible."""
    return any(failure.predicate in _UNRESOLVABLE for failure in failures)


def fit_error(nodes_count: int, failures_by_node: Mapping[str, Failures]) -> str:
    """Return the text of the fit error.

    Examples
    --------
    >>> cpu = Failure("PodFitsResources", "Insufficient cpu")
    >>> fit_error(2, {"n1": (cpu,), "n2": (cpu,)})
    '0/2 nodes are available: 2 Insufficient cpu.'

    Notes
    -----
    The parts are sorted as text including their counts: "10 x" is before "2 y".
    """
    counts = Counter(
        failure.reason for failures in failures_by_node.values() for failure in failures
    )
    parts = sorted(f"{count} {reason}" for reason, count in counts.items())
    return f"0/{nodes_count} nodes are available: {', '.join(parts)}."

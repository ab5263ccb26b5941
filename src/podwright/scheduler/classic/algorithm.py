"""The predicates, priorities and extenders of a scheduler.

They come from an algorithm provider, which is a name for a fixed set, or from a policy. The two
providers differ in one priority: `DefaultProvider` spreads load (least requested), and the provider
for cluster autoscaling packs it (most requested).

Upstream: pkg/scheduler/algorithmprovider/defaults/defaults.go, pkg/scheduler/factory/factory.go;
pkg/scheduler/core/generic_scheduler.go, podFitsOnNode and addNominatedPods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import Pod
from podwright.scheduler.classic.extender import ExtenderSettings
from podwright.scheduler.classic.failure import FITS, Failures
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.policy import Policy, PredicatePolicy, PriorityPolicy
from podwright.scheduler.classic.predicates import (
    MANDATORY,
    ORDER,
    REGISTERED as PREDICATES,
    Check,
    Predicate,
    PredicateMetadata,
)
from podwright.scheduler.classic.predicates.label_presence import label_presence
from podwright.scheduler.classic.predicates.service_affinity import service_affinity
from podwright.scheduler.classic.priorities import (
    REGISTERED as PRIORITIES,
    Priority,
    balanced,
    capacity_ratio,
    label_preference,
    service_anti_affinity,
)

DEFAULT_PREDICATES: Final = (
    "CheckNodeUnschedulable",
    "GeneralPredicates",
    "NoDiskConflict",
    "PodToleratesNodeTaints",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxCSIVolumeCountPred",
    "MaxAzureDiskVolumeCount",
    "CheckVolumeBinding",
    "NoVolumeZoneConflict",
    "MatchInterPodAffinity",
)

_DEFAULT_PRIORITIES: Final = {
    "NodePreferAvoidPodsPriority": 10_000,
    "SelectorSpreadPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
}

PROVIDERS: Final[Mapping[str, Mapping[str, int]]] = {
    "DefaultProvider": _DEFAULT_PRIORITIES,
    "ClusterAutoscalerProvider": {
        "MostRequestedPriority" if name == "LeastRequestedPriority" else name: weight
        for name, weight in _DEFAULT_PRIORITIES.items()
    },
}
"""Priorities and weights by provider; the predicates are the same."""


class Weighted(msgspec.Struct, frozen=True):
    """A priority with its weight."""

    priority: Priority
    weight: int


class Algorithm(msgspec.Struct, frozen=True, kw_only=True):
    """An algorithm: predicates, priorities, extenders and their settings.

    Attributes
    ----------
    predicates : tuple of Predicate
        In the fixed order.
    priorities : tuple of Weighted
        Sorted by name, as upstream lists them.
    extenders : tuple of (int, ExtenderSettings)
        In the order of calls, ignorable ones last, each with its index in the policy.
    hard_pod_affinity_weight : int
        The weight of InterPodAffinityPriority for required terms of existing pods.
    always_check_all : bool
        Whether all predicates are evaluated after one has failed.
    """

    predicates: tuple[Predicate, ...]
    priorities: tuple[Weighted, ...]
    extenders: tuple[tuple[int, ExtenderSettings], ...] = ()
    hard_pod_affinity_weight: int = 1
    always_check_all: bool = False

    @property
    def ignored_resources(self) -> frozenset[str]:
        """The extended resources that PodFitsResources leaves to an extender."""
        return frozenset(
            resource.name
            for _, extender in self.extenders
            for resource in extender.managed_resources
            if resource.ignored_by_scheduler
        )

    def checks(self, meta: PredicateMetadata) -> tuple[Check, ...]:
        """Return the predicates that can reject a node for this pod, in order."""
        return tuple(predicate.check for predicate in self.predicates if predicate.concerns(meta))


def algorithm_of_provider(
    name: str = "DefaultProvider",
    *,
    hard_pod_affinity_weight: int = 1,
    balanced_as_1_7: bool = False,
) -> Algorithm:
    """Return the algorithm of a provider.

    Parameters
    ----------
    name : str
        One of `PROVIDERS`.
    hard_pod_affinity_weight : int
        The scheduler's setting, 1 to 100.
    balanced_as_1_7 : bool
        Round BalancedResourceAllocation as 1.7 did.

    Raises
    ------
    KeyError
        There is no such provider.
    """
    return Algorithm(
        predicates=_in_order({key: PREDICATES[key] for key in DEFAULT_PREDICATES}),
        priorities=_weighted(
            {key: (PRIORITIES[key], weight) for key, weight in PROVIDERS[name].items()},
            balanced_as_1_7=balanced_as_1_7,
        ),
        hard_pod_affinity_weight=hard_pod_affinity_weight,
    )


def algorithm_from_policy(
    policy: Policy, *, hard_pod_affinity_weight: int = 1, balanced_as_1_7: bool = False
) -> Algorithm:
    """Return the algorithm of a policy that `read_policy` accepted.

    Notes
    -----
    The later of two entries with one name applies. An absent list is that of the default provider.
    """
    default = algorithm_of_provider(balanced_as_1_7=balanced_as_1_7)
    predicates, priorities = default.predicates, default.priorities
    if policy.predicates is not None:
        predicates = _in_order({entry.name: _predicate(entry) for entry in policy.predicates})
    if policy.priorities is not None:
        priorities = _weighted(
            {entry.name: (_priority(entry), entry.weight) for entry in policy.priorities},
            balanced_as_1_7=balanced_as_1_7,
        )
    numbered = list(enumerate(policy.extenders))
    return Algorithm(
        predicates=predicates,
        priorities=priorities,
        extenders=tuple(sorted(numbered, key=lambda entry: entry[1].ignorable)),
        hard_pod_affinity_weight=(
            policy.hard_pod_affinity_symmetric_weight or hard_pod_affinity_weight
        ),
        always_check_all=policy.always_check_all_predicates,
    )


def _in_order(named: Mapping[str, Predicate]) -> tuple[Predicate, ...]:
    """Sort predicates in the fixed order; add the mandatory ones, and drop unknown names."""
    present = {name: PREDICATES[name] for name in MANDATORY} | dict(named)
    return tuple(present[name] for name in ORDER if name in present)


def _weighted(
    named: Mapping[str, tuple[Priority, int]], *, balanced_as_1_7: bool
) -> tuple[Weighted, ...]:
    if balanced_as_1_7 and "BalancedResourceAllocation" in named:
        weight = named["BalancedResourceAllocation"][1]
        named = {**named, "BalancedResourceAllocation": (balanced(as_1_7=True), weight)}
    return tuple(Weighted(*named[name]) for name in sorted(named))


def _predicate(entry: PredicatePolicy) -> Predicate:
    argument = entry.argument
    if argument is None:
        return PREDICATES[entry.name]
    if argument.service_affinity is not None:
        return service_affinity(entry.name, argument.service_affinity.labels)
    assert argument.labels_presence is not None, entry
    presence = argument.labels_presence
    return label_presence(entry.name, presence.labels, presence=presence.presence)


def _priority(entry: PriorityPolicy) -> Priority:
    argument = entry.argument
    if argument is None:
        return PRIORITIES[entry.name]
    if argument.service_anti_affinity is not None:
        return service_anti_affinity(entry.name, argument.service_anti_affinity.label)
    if argument.label_preference is not None:
        preference = argument.label_preference
        return label_preference(entry.name, preference.label, presence=preference.presence)
    ratio = argument.requested_to_capacity_ratio_arguments
    assert ratio is not None, entry
    return capacity_ratio(entry.name, ratio.arguments())


# Whether a pod fits on a node, by all predicates.
#
# With nominated pods there are two passes. The first pass adds the nominated pods of equal or
# greater priority to the node, because the pod must not use the resources that preemption has
# freed for them. The second pass omits them, because they may never be bound, and the pod must not
# depend on affinity to a pod that is not on the node.


def failures_on_node(
    algorithm: Algorithm,
    checks: Sequence[Check],
    meta: PredicateMetadata,
    node: NodeInfo,
    nominated: Sequence[Pod] = (),
) -> Failures:
    """Return the failures of the predicates on a node; `FITS` if there are none.

    Parameters
    ----------
    algorithm : Algorithm
        The predicates.
    checks : sequence of Check
        `algorithm.checks(meta)`, computed once for many nodes.
    meta : PredicateMetadata
        The pod.
    node : NodeInfo
        The node, or a copy of it.
    nominated : sequence of Pod
        The pods that are nominated to the node.
    """
    respected = [
        pod
        for pod in nominated
        if pod.priority >= meta.pod.priority and pod.metadata.uid != meta.pod.metadata.uid
    ]
    if respected:
        supposed_node, supposed = node.clone(), meta.copy()
        for pod in respected:
            supposed_node.add_pod(pod)
            supposed.add_pod(pod, supposed_node)
        failures = _run(algorithm, algorithm.checks(supposed), supposed, supposed_node)
        if failures:
            return failures
    return _run(algorithm, checks, meta, node)


def _run(
    algorithm: Algorithm, checks: Sequence[Check], meta: PredicateMetadata, node: NodeInfo
) -> Failures:
    if not algorithm.always_check_all:
        for check in checks:
            failures = check(meta, node)
            if failures:
                return failures
        return FITS
    return tuple(failure for check in checks for failure in check(meta, node))

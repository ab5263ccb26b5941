"""Preemption: the pods to evict so that a pod fits, and the node.

1. *Eligibility.* A pod is not eligible if a pod of lower priority is already terminating on its
   nominated node.
2. *Potential nodes.* Preemption may help on every node without a reason that evictions cannot
   resolve.
3. *Victims per node.* All pods of lower priority are removed. If the pod then fits, they are
   reprieved one after the other: pods that violate a disruption budget first, the most important
   first. Pods with which the pod no longer fits are the victims.
4. *Extenders* may remove nodes.
5. *Choice* by five criteria in order, the number of violated budgets first.
6. Pods of lower priority that are nominated to the chosen node lose their nomination.

Upstream: pkg/scheduler/core/generic_scheduler.go, Preempt; pkg/scheduler/util/utils.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    Pod,
    PodDisruptionBudget,
    SelectorError,
    label_selector,
)
from podwright.scheduler.classic.algorithm import failures_on_node
from podwright.scheduler.classic.extender import ExtenderError
from podwright.scheduler.classic.failure import Failures, SchedulingError, is_unresolvable
from podwright.scheduler.classic.node_info import NodeInfo
from podwright.scheduler.classic.predicates import PredicateMetadata
from podwright.scheduler.classic.scheduler import ClassicScheduler
from podwright.scheduler.classic.victims import Victims
from podwright.scheduler.columns import start_ns

_PRIORITY_OFFSET = 2**31
"""Makes every priority positive, so that the sum of more victims is never smaller."""


class Choice(msgspec.Struct, frozen=True):
    """The nodes that the criteria leave, and the deciding criterion.

    Attributes
    ----------
    node_names : tuple of str
        In the order of the candidates; the scheduler may take any.
    criterion : int or None
        0: a node without victims. 1 to 5: the criterion that left one node. 6: a tie remains.
        None: there was one candidate only.
    """

    node_names: tuple[str, ...] = ()
    criterion: int | None = None


class Preemption(msgspec.Struct, kw_only=True):
    """The result of a preemption.

    Attributes
    ----------
    is_eligible : bool
        Whether the pod may preempt at all.
    potential : list of str
        The nodes on which preemption may help.
    candidates : dict of str to Victims
        The nodes on which it helps.
    choice : Choice
        The best of them.
    node : str
        The nominated node; empty if there is none.
    victims : tuple of Pod
        The pods to delete.
    clear : list of Pod
        Pods whose nomination is to be removed: those of lower priority that are nominated to the
        node, or the pod itself if preemption helps on no node.
    """

    is_eligible: bool = True
    potential: list[str] = []
    candidates: dict[str, Victims] = {}
    choice: Choice = Choice()
    node: str = ""
    victims: tuple[Pod, ...] = ()
    clear: list[Pod] = []

    @property
    def result(self) -> str:
        """The result in two words."""
        if self.node:
            return "nominated"
        if not self.is_eligible:
            return "not eligible"
        return "no candidate" if self.potential else "no potential node"


def preempt(
    scheduler: ClassicScheduler,
    pod: Pod,
    failed: Mapping[str, Failures],
    *,
    pick: Callable[[Sequence[str]], str] = min,
) -> Preemption:
    """Find the node and the victims for an unschedulable pod.

    Parameters
    ----------
    scheduler : ClassicScheduler
        The rules and the cluster, which are not modified.
    pod : Pod
        The pod.
    failed : mapping of str to Failures
        The failures of each node.
    pick : callable
        Selects one of the names that are equal after all criteria; upstream takes the first one in
        the order of a Go map.

    Raises
    ------
    ExtenderError
        An extender that is not ignorable failed.
    """
    cluster = scheduler.cluster
    if not is_eligible(scheduler, pod):
        return Preemption(is_eligible=False)
    nodes = potential_nodes(cluster.nodes(), failed)
    if not nodes:
        # Upstream clears the pod's nomination only here, not if the dry run finds no candidate.
        return Preemption(clear=[pod])
    found = _victims_of_nodes(scheduler, pod, nodes)
    candidates = _ask_extenders(scheduler, pod, found)
    preemption = Preemption(potential=[node.name for node in nodes], candidates=candidates)
    if candidates:
        preemption.choice = choose(candidates)
        preemption.node = pick(preemption.choice.node_names)
        preemption.victims = candidates[preemption.node].pods
        preemption.clear = lower_nominated(scheduler, pod, preemption.node)
    return preemption


def lower_nominated(scheduler: ClassicScheduler, pod: Pod, node_name: str) -> list[Pod]:
    """Return the pods of lower priority that are nominated to the node."""
    promised = scheduler.cluster.nominator.pods_on(node_name)
    return [other for other in promised if other.priority < pod.priority]


# -------------------------------------------------------------------------- eligibility


def is_eligible(scheduler: ClassicScheduler, pod: Pod) -> bool:
    """Whether the pod may preempt.

    Notes
    -----
    `preemptionPolicy: Never` applies only with the feature gate NonPreemptingPriority. A
    terminating pod makes the preemptor ineligible regardless of the reason for its deletion.
    """
    if scheduler.non_preempting_priority and pod.spec.preemption_policy == "Never":
        return False
    promised = scheduler.cluster.node_infos.get(pod.status.nominated_node_name)
    if promised is None:
        return True
    return not any(
        other.is_terminating and other.priority < pod.priority for other in promised.pods.values()
    )


def potential_nodes(nodes: Iterable[NodeInfo], failed: Mapping[str, Failures]) -> list[NodeInfo]:
    """Return the nodes on which preemption may help.

    Notes
    -----
    Predicates stop at the first failure, so an unresolvable reason may not be recorded. The dry run
    then rejects the node.
    """
    return [node for node in nodes if not is_unresolvable(failed.get(node.name, ()))]


# ------------------------------------------------------------------------------ victims


def _victims_of_nodes(
    scheduler: ClassicScheduler, pod: Pod, nodes: Sequence[NodeInfo]
) -> dict[str, Victims]:
    """Evaluate all nodes, each piece of work on its own copy."""
    meta = scheduler.metadata(pod)
    nominated = scheduler.cluster.nominator.nodes()
    budgets = _compiled(scheduler.cluster.budgets.values())
    found: list[Victims | None] = [None] * len(nodes)

    def try_node(index: int) -> None:
        node = nodes[index]
        promised = nominated.get(node.name, ())
        found[index] = select_victims(
            scheduler, meta.copy(), node.clone(), promised=promised, violates=budgets
        )

    scheduler.parallelize_until(scheduler.workers, len(nodes), try_node)
    return {
        node.name: victims
        for node, victims in zip(nodes, found, strict=True)
        if victims is not None
    }


def select_victims(
    scheduler: ClassicScheduler,
    meta: PredicateMetadata,
    node: NodeInfo,
    *,
    promised: Sequence[Pod] = (),
    violates: Callable[[Pod], bool] = lambda _pod: False,
) -> Victims | None:
    """Return the victims on a node; None if preemption does not help there.

    Parameters
    ----------
    scheduler : ClassicScheduler
        The rules.
    meta, node
        Copies, which are modified.
    promised : sequence of Pod
        The pods nominated to the node.
    violates : callable
        Whether evicting a pod violates a disruption budget.
    """
    algorithm, priority = scheduler.algorithm, meta.pod.priority

    def fits() -> bool:
        checks = algorithm.checks(meta)
        try:
            return not failures_on_node(algorithm, checks, meta, node, promised)
        except SchedulingError:
            return False  # upstream logs the error

    lower = [other for other in node.pods.values() if other.priority < priority]
    for other in lower:
        node.remove_pod(other)
        meta.remove_pod(other)
    if not fits():
        return None
    lower.sort(key=_importance)
    # Violating pods are reprieved first, so that room on the node spares budgets.
    violating = [other for other in lower if violates(other)]
    others = [other for other in lower if not violates(other)]
    victims: list[Pod] = []
    violations_count = 0
    for index, other in enumerate((*violating, *others)):
        node.add_pod(other)
        meta.add_pod(other, node)
        if not fits():
            node.remove_pod(other)
            meta.remove_pod(other)
            victims.append(other)
            violations_count += index < len(violating)
    return Victims(tuple(victims), violations_count)


def _importance(pod: Pod) -> tuple[int, int]:
    return -pod.priority, start_ns(pod)


def _compiled(budgets: Iterable[PodDisruptionBudget]) -> Callable[[Pod], bool]:
    """Return a function that tests whether evicting a pod violates a budget.

    Notes
    -----
    A victim does not reduce the allowed disruptions for the next one, and `disruptedPods` is
    ignored.
    """
    exhausted = []
    for budget in budgets:
        try:
            selector = label_selector(budget.spec.selector)
        except SelectorError:
            continue
        if not selector.is_empty and budget.status.disruptions_allowed <= 0:
            exhausted.append((budget.namespace, selector))

    def violates(pod: Pod) -> bool:
        labels = pod.metadata.labels
        return bool(labels) and any(
            namespace == pod.namespace and selector.matches(labels)
            for namespace, selector in exhausted
        )

    return violates


def _ask_extenders(
    scheduler: ClassicScheduler, pod: Pod, candidates: dict[str, Victims]
) -> dict[str, Victims]:
    for extender in scheduler.extenders:
        if not candidates:
            break
        if not (extender.supports_preemption and extender.settings.is_interested(pod)):
            continue
        try:
            candidates = dict(extender.preempt(pod, candidates))
        except ExtenderError:
            if not extender.settings.ignorable:
                raise
    return candidates


# ------------------------------------------------------------------------------- choice

_Measure: TypeAlias = Callable[[Victims], int]


def _first_priority(victims: Victims) -> int:
    """Return the priority of the first victim, which is not always the most important."""
    return victims.pods[0].priority


def _priority_sum(victims: Victims) -> int:
    return sum(pod.priority + _PRIORITY_OFFSET for pod in victims.pods)


def _newest_first(victims: Victims) -> int:
    """Criterion 5: the latest start among the victims of the highest priority."""
    highest = max(pod.priority for pod in victims.pods)
    earliest = min(start_ns(pod) for pod in victims.pods if pod.priority == highest)
    return -earliest


_CRITERIA: tuple[_Measure, ...] = (
    lambda victims: victims.violations_count,
    _first_priority,
    _priority_sum,
    lambda victims: len(victims.pods),
    _newest_first,
)
"""The smallest value is chosen; the next criterion breaks ties."""


def choose(candidates: Mapping[str, Victims]) -> Choice:
    """Choose the best candidates.

    Parameters
    ----------
    candidates : mapping of str to Victims
        At least one.
    """
    assert candidates, "no candidates"
    names = list(candidates)
    if len(names) == 1:
        return Choice(tuple(names))
    without = [name for name in names if not candidates[name].pods]
    if without:
        return Choice(tuple(without), 0)
    for number, measure in enumerate(_CRITERIA, start=1):
        measures = {name: measure(candidates[name]) for name in names}
        least = min(measures.values())
        names = [name for name in names if measures[name] == least]
        if len(names) == 1:
            return Choice(tuple(names), number)
    return Choice(tuple(names), len(_CRITERIA) + 1)

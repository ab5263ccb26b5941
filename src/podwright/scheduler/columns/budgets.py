"""PodDisruptionBudgets: how many pods of a selector may still be disrupted.

Upstream: pkg/scheduler/framework/preemption/preemption.go, `filterPodsWithPDBViolation`
(1.36: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podwright.apimachinery.objects import (
    NOTHING,
    Object,
    Pod,
    PodDisruptionBudget,
    Selector,
    SelectorError,
    label_selector,
)
from podwright.scheduler.columns.placement import PlacedPod


class Budget:
    """One budget, compiled.

    Attributes
    ----------
    number : int
        Its position in `BudgetIndex.allowed`.
    selector : Selector
        An invalid selector matches nothing, and neither does an empty one.
    exempt : frozenset of str
        Names of pods that the budget already counts as disrupted (`status.disruptedPods`).
    """

    __slots__ = ("exempt", "number", "selector")

    def __init__(self, number: int, selector: Selector, exempt: frozenset[str]) -> None:
        self.number = number
        self.selector = selector
        self.exempt = exempt

    def covers(self, pod: Pod) -> bool:
        """Return whether the budget is charged for `pod`, which is in its namespace."""
        # Upstream never charges a budget for a pod without labels, whatever the selector.
        metadata = pod.metadata
        return (
            bool(metadata.labels)
            and self.selector.matches(metadata.labels)
            and metadata.name not in self.exempt
        )


class BudgetIndex:
    """All budgets by namespace.

    Attributes
    ----------
    allowed : list of int
        By number of the budget, how many disruptions are left.
    version : int
        Grows when a budget is added, deleted, or covers other pods; not when `allowed` changes.
    """

    def __init__(self) -> None:
        self.allowed: list[int] = []
        self.version = 0
        self._objects: dict[tuple[str, str], PodDisruptionBudget] = {}
        self._budgets: dict[tuple[str, str], Budget] = {}
        self._by_namespace: dict[str, list[Budget]] = {}

    def __bool__(self) -> bool:
        return bool(self._objects)

    def put(self, obj: Object) -> None:
        """Add or update a budget; objects of other kinds are ignored."""
        if not isinstance(obj, PodDisruptionBudget):
            return
        key = (obj.metadata.namespace, obj.metadata.name)
        old, budget = self._objects.get(key), self._budgets.get(key)
        self._objects[key] = obj
        allowed = obj.status.disruptions_allowed
        if old is None or budget is None:
            self.version += 1
            self._add(key, Budget(len(self.allowed), _compile(obj), _exempt(obj)), allowed)
            return
        # Numbers stay: the status changes with each eviction, and there may be many budgets.
        self.allowed[budget.number] = allowed
        if old.spec.selector != obj.spec.selector:
            budget.selector = _compile(obj)
        elif old.status.disrupted_pods.keys() == obj.status.disrupted_pods.keys():
            return
        budget.exempt = _exempt(obj)
        self.version += 1

    def delete(self, obj: Object) -> None:
        """Take a budget out; others are ignored."""
        if not isinstance(obj, PodDisruptionBudget):
            return
        key = (obj.metadata.namespace, obj.metadata.name)
        if self._objects.pop(key, None) is None:
            return
        budgets, allowed = self._budgets, self.allowed
        del budgets[key]
        self._budgets, self._by_namespace, self.allowed = {}, {}, []
        self.version += 1
        for other, budget in budgets.items():
            left = allowed[budget.number]
            budget.number = len(self.allowed)
            self._add(other, budget, left)

    def _add(self, key: tuple[str, str], budget: Budget, allowed: int) -> None:
        self._budgets[key] = budget
        self._by_namespace.setdefault(key[0], []).append(budget)
        self.allowed.append(allowed)

    def of(self, pod: Pod) -> tuple[int, ...]:
        """Return the numbers of the budgets that cover `pod`."""
        there = self._by_namespace.get(pod.metadata.namespace, ())
        return tuple([budget.number for budget in there if budget.covers(pod)])

    def names(self) -> Iterator[str]:
        """Yield "namespace/name" of every budget, by number."""
        for namespace, name in self._budgets:
            yield f"{namespace}/{name}"

    def split(self, pods: Iterable[PlacedPod]) -> tuple[list[PlacedPod], list[PlacedPod]]:
        """Split pods into those that would violate a budget and the others.

        Parameters
        ----------
        pods : iterable of PlacedPod
            The most important first: they are charged first.

        Notes
        -----
        Every budget that covers a pod is charged for it, also after one was found violated.
        """
        left = list(self.allowed)
        violating: list[PlacedPod] = []
        others: list[PlacedPod] = []
        for placed in pods:
            violates = False
            for number in self.of(placed.pod):
                left[number] -= 1
                violates |= left[number] < 0
            (violating if violates else others).append(placed)
        return violating, others


def _exempt(budget: PodDisruptionBudget) -> frozenset[str]:
    return frozenset(budget.status.disrupted_pods)


def _compile(budget: PodDisruptionBudget) -> Selector:
    try:
        selector = label_selector(budget.spec.selector)
    except SelectorError:
        # Upstream passes over a budget that it cannot read.
        return NOTHING
    # Evictions treat an empty selector as all pods; upstream's scheduler as none.
    return NOTHING if selector.is_empty else selector

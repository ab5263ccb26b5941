"""Trials of changes by a `Scheduler`: scheduling with changed objects, reverted afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.scheduler import advice
from podwright.scheduler.assembly.deciding import DecidingScheduler, SchedulerState
from podwright.scheduler.columns import Cluster, affinity_terms, priority_of
from podwright.scheduler.framework import Decision, Explanation
from podwright.scheduler.preemption import Preemption

if TYPE_CHECKING:
    from podwright.scheduler.advice import Change, Outcome

_MOST_DISPLACING_PODS = 12
"""Up to so many pods are left out one by one, to find those that matter."""


class SchedulerTrial:
    """A `Trial` of `podwright.scheduler.advice` that a scheduler runs.

    Parameters
    ----------
    scheduler : DecidingScheduler
        In the state of the explanation, in which all trials are made.
    pod : Pod
        The pod without changes.
    since : SchedulerState, optional
        The state before the pods ahead in the queue were scheduled.
    """

    def __init__(
        self, scheduler: DecidingScheduler, pod: Pod, since: SchedulerState | None
    ) -> None:
        self._scheduler = scheduler
        self._pod = pod
        self._since = since
        self._state: SchedulerState | None = None
        self._numbering = scheduler.cluster.numbering
        # Also pods that did not fit: a change may give them a place.
        self.pods_ahead = 0
        if since is not None and pod.key in scheduler.pending:
            with scheduler.rewound(since):
                keys = [each.key for each in scheduler.in_queue_order()]
            self.pods_ahead = keys.index(pod.key)

    def run(self, change: Change) -> Outcome | None:
        """Run one cycle in the state of the explanation; None if the pod does not fit."""
        with self._applied(change):
            return self._outcome(change.pod, evicts=change.evicts)

    def confirm(self, change: Change) -> Outcome | None:
        """Schedule the pods ahead again and run the cycle then; None if the pod does not fit."""
        scheduler = self._scheduler
        assert self._since is not None, "there are no pods ahead"
        with scheduler.rewound(self._since), self._applied(change, self._since):
            for pod in change.delete:
                scheduler.pending.pop(pod.key, None)
            for _ in scheduler.schedule_before(change.pod.key):
                pass
            return self._outcome(change.pod, evicts=change.evicts)

    @contextmanager
    def replicas(self, change: Change) -> Iterator[ReplicaTrial]:
        """Make a change, for trials of several pods one after the other; all is reverted."""
        with self._applied(change):
            yield ReplicaTrial(self._scheduler, self._outcome)

    def explain(self, change: Change) -> Explanation:
        """Run one cycle in the state of the explanation with everything recorded."""
        with self._applied(change):
            return self._scheduler.explain(change.pod, post_filter=change.evicts)

    def _kept_state(self) -> SchedulerState:
        """Return the state of the explanation, to which each trial returns; it is copied once."""
        numbering = self._scheduler.cluster.numbering
        if self._state is None or numbering != self._numbering:
            self._state, self._numbering = self._scheduler.state(), numbering
        return self._state

    @contextmanager
    def _applied(self, change: Change, before: SchedulerState | None = None) -> Iterator[None]:
        scheduler = self._scheduler
        before = before or self._kept_state()
        try:
            with (
                scheduler.bypassing(change.bypassed),
                advice.edited(
                    scheduler.cluster,
                    put=change.put,
                    delete=change.delete,
                    drop=change.drop,
                    before=before.placed,
                ),
            ):
                if change.pod.key in scheduler.pending:
                    # In its place: pods of one priority and age keep their order.
                    scheduler.pending[change.pod.key] = change.pod
                try:
                    yield
                finally:
                    # Before the volumes are reverted that the reservations are for.
                    before.release_reservations()
        finally:
            before.restore()

    def _outcome(self, pod: Pod, *, evicts: bool = True) -> Outcome | None:
        scheduler = self._scheduler
        decision = self._decided(pod, evicts=evicts)
        if decision.node:
            return advice.Outcome(decision.node, decision.feasible_count)
        victims = _victims(decision) if evicts else None
        if victims is None:
            return None
        for victim in victims:
            scheduler.withdraw(victim.key)
        decision = self._decided(pod)
        if not decision.node:
            return None
        names = tuple(victim.key for victim in victims)
        return advice.Outcome(decision.node, decision.feasible_count, names)

    def _decided(self, pod: Pod, *, evicts: bool = True) -> Decision:
        """Return the decision for a pod; of a gang, after that for all members."""
        scheduler = self._scheduler
        if pod.key not in scheduler.pending:
            return scheduler.schedule(pod, post_filter=evicts)
        decisions = scheduler.schedule_together(pod.key, post_filter=evicts)
        return next(each for each in decisions if each.pod.key == pod.key)


class ReplicaTrial:
    """Replicas of a workload in a changed cluster, as a rollout removes and creates them.

    Parameters
    ----------
    scheduler : DecidingScheduler
    outcome : callable
        Schedules a pod; None if it does not fit.
    """

    def __init__(
        self, scheduler: DecidingScheduler, outcome: Callable[[Pod], Outcome | None]
    ) -> None:
        self._scheduler = scheduler
        self._outcome = outcome
        self._removed: set[NamespacedName] = set()

    def remove(self, pod: NamespacedName) -> None:
        """Remove a pod, whether it has a node or not."""
        self._removed.add(pod)
        self._scheduler.withdraw(pod)

    def keeps(self, pod: NamespacedName) -> bool:
        """Return whether a pod has the node that it had: neither removed nor preempted."""
        return pod not in self._removed and pod in self._scheduler.cluster.pods

    def place(self, pod: Pod) -> bool:
        """Schedule a pod; return whether it fits, also by preemption."""
        self._scheduler.pending[pod.key] = pod
        if self._outcome(pod) is not None:
            return True
        self._scheduler.withdraw(pod.key)
        return False


def _victims(decision: Decision) -> Sequence[Pod] | None:
    """Return the victims of a decision that nominates the pod; None if there is no nomination."""
    result = decision.post_filter
    if result is None or not result.nominated_node:
        return None
    return result.details.victims if isinstance(result.details, Preemption) else ()


class Displacement(
    msgspec.Struct, frozen=True, kw_only=True, rename={"node_count": "feasibleNodes"}
):
    """The place that a pod would have if the pods ahead in the queue were not scheduled.

    Parameters
    ----------
    node : str
        The node that it would be scheduled to.
    node_count : int
        How many nodes would be feasible.
    pods : tuple of str
        Pods ahead in the queue without which it would fit, in the order in which they were placed.
        Without any one of them it would still not fit, unless they are many.
    """

    node: str
    node_count: int
    pods: tuple[str, ...]


def displacement(
    scheduler: DecidingScheduler, pod: Pod, since: SchedulerState
) -> Displacement | None:
    """Return the place that `pod` would have in an earlier state; None if it would have none."""
    ahead = since.since()
    if not ahead:
        return None
    with scheduler.rewound(since):
        alone = SchedulerTrial(scheduler, pod, None).run(advice.Change(pod))
    if alone is None or alone.victims:
        return None
    trial = SchedulerTrial(scheduler, pod, None)
    placed = [scheduler.cluster.pods[key] for key in ahead]
    slot = scheduler.cluster.nodes.slot_of[alone.node]

    def fits_without(keys: Sequence[str]) -> bool:
        left = {key: scheduler.cluster.pods[key].pod for key in keys}
        outcome = trial.run(advice.Change(pod, delete=tuple(left.values())))
        return outcome is not None and not outcome.victims

    displacing_pods = [one.key for one in placed if one.slot == slot]
    if not displacing_pods or not fits_without(displacing_pods):
        displacing_pods = ahead
        if not fits_without(displacing_pods):
            return None
    if len(displacing_pods) <= _MOST_DISPLACING_PODS:
        for key in list(displacing_pods):
            others = [other for other in displacing_pods if other != key]
            if others and fits_without(others):
                displacing_pods = others
    return Displacement(
        node=alone.node, node_count=alone.feasible_count, pods=tuple(displacing_pods)
    )


_REASON: Final = "node(s) didn't match pod affinity rules"
_PODS_SHOWN: Final = 4


def broken_affinity(explanation: Explanation, cluster: Cluster) -> tuple[str, ...]:
    """Return a sentence if evicting pods would break the affinity of the pod that needs the room.

    Parameters
    ----------
    explanation : Explanation
        Of a pod that does not fit.
    cluster : Cluster
        In the state of the explanation.

    Notes
    -----
    Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go,
    SelectVictimsOnNode, which removes all pods of lower priority before it runs the filters.
    """
    result = explanation.decision.post_filter
    details = None if result is None else result.details
    if not isinstance(details, Preemption) or details.choice is not None:
        return ()
    count = sum(
        rejection.count
        for rejection in details.dry_run.rejections
        if _REASON in rejection.status.reasons
    )
    if not count:
        return ()
    pod = explanation.pod
    terms = affinity_terms(pod).required
    needed = [
        key
        for key, placed in cluster.pods.items()
        if priority_of(placed.pod) < priority_of(pod)
        and all(
            term.matches(
                placed.pod.namespace,
                placed.pod.metadata.labels,
                cluster.namespaces.get(placed.pod.namespace, {}),
            )
            for term in terms
        )
    ]
    more = len(needed) - _PODS_SHOWN
    names = ", ".join(needed[:_PODS_SHOWN]) + (f" and {more} more" if more > 0 else "")
    return (
        f"the pod cannot preempt on {count} node{'s' * (count != 1)}: its required podAffinity"
        f" selects pods of lower priority ({names}), and evicting them would break that affinity",
    )

"""Preemption as a whole: eligibility, dry run, choice, and nominations to clear.

`preempt` does all of it. Extenders with a preempt verb are called between the dry run and the
choice: `preempt_steps` yields `CallPreemptExtenders` there and is resumed with the candidates
that they return.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import Pod, aggregated
from podwright.scheduler.columns import priority_of
from podwright.scheduler.framework import (
    Code,
    FilteredCycle,
    PostFilterResult,
    Rejection,
    Status,
    fit_error,
)
from podwright.scheduler.preemption.choose import Choice, choose
from podwright.scheduler.preemption.sums import Limits, dry_run
from podwright.scheduler.preemption.victims import Candidate, Candidates, DryRun

NOT_HELPFUL = Status.unresolvable("Preemption is not helpful for scheduling")
NO_CANDIDATE = Status.unschedulable("no candidate node for preemption")


class CallPreemptExtenders(msgspec.Struct, frozen=True, kw_only=True):
    """Candidates that extenders may remove or give other victims.

    Parameters
    ----------
    pod : Pod
        The preemptor.
    candidates : sequence of Candidate
    """

    pod: Pod
    candidates: Candidates


PreemptionSteps: TypeAlias = Generator[CallPreemptExtenders, Candidates | Status, PostFilterResult]
"""Receives the candidates that extenders kept, or the error of the call."""


class Preemption(msgspec.Struct, frozen=True, kw_only=True):
    """The result of preemption; no pod has been evicted yet.

    Parameters
    ----------
    dry_run : DryRun
        The nodes that were tried.
    candidates : sequence of Candidate
        What extenders left of them.
    choice : Choice, optional
        None: nothing helps.
    cleared_nominations : tuple of Pod
        Pending pods of lower priority that are nominated to the chosen node; their nominations
        are to be cleared.
    """

    dry_run: DryRun
    candidates: Candidates = ()
    choice: Choice | None = None
    cleared_nominations: tuple[Pod, ...] = ()

    def describe(self) -> tuple[str, ...]:
        """Describe in sentences the dry run, the victims, and the deciding criterion."""
        tried = self.dry_run
        lines = [
            f"tried {tried.visited_count} of {tried.helpable_count} nodes where preemption may "
            f"help: {len(tried.candidates)} candidates"
        ]
        lines += [f"{r.count} {r.status.message}" for r in tried.rejections]
        if self.choice is None:
            return tuple(lines)
        for candidate in sorted(self.candidates, key=lambda one: one.node):
            spared = f", spares {_names(candidate.spared)}" if candidate.spared else ""
            broken = candidate.pdb_violations
            against = f", against {broken} disruption budgets" if broken else ""
            lines.append(f"{candidate.node}: evicts {_names(candidate.victims)}{spared}{against}")
        decided = self.choice.criterion
        why = "the only candidate" if decided is None else decided.description
        lines.append(f"takes {self.choice.candidate.node}: {why}")
        return tuple(lines)

    @property
    def victims(self) -> tuple[Pod, ...]:
        """The pods to evict, the most important first."""
        return () if self.choice is None else self.choice.candidate.victims


def preempt(failed: FilteredCycle, limits: Limits | None = None) -> PostFilterResult:
    """Choose the pods to evict so that a pod that fits on no node fits.

    Parameters
    ----------
    limits : Limits, optional
        How many candidates end the search.

    Returns
    -------
    PostFilterResult
        `details` is a `Preemption`, unless the pod is not eligible.

    Notes
    -----
    Upstream: pkg/scheduler/framework/preemption/preemption.go, `Evaluator.Preempt`.
    """
    status = eligibility(failed)
    if not status.is_success:
        return PostFilterResult(status=status)
    found = dry_run(failed, limits)
    return conclude(failed, found, found.candidates)


def preempt_steps(failed: FilteredCycle, limits: Limits | None = None) -> PreemptionSteps:
    """Do the same, and call the extenders if there are any.

    Notes
    -----
    Upstream: pkg/scheduler/framework/preemption/preemption.go, `callExtenders`.
    """
    status = eligibility(failed)
    if not status.is_success:
        return PostFilterResult(status=status)
    found = dry_run(failed, limits)
    left: Candidates | Status = found.candidates
    if found.candidates:
        left = yield CallPreemptExtenders(pod=failed.pod, candidates=found.candidates)
    return conclude(failed, found, left)


def conclude(failed: FilteredCycle, found: DryRun, left: Candidates | Status) -> PostFilterResult:
    """Choose among the candidates that extenders kept.

    Parameters
    ----------
    found : DryRun
    left : sequence of Candidate, or Status
        The candidates themselves if there are no extenders; an error if one of them failed.
    """
    if not found.candidates:
        if found.errors:
            return PostFilterResult(
                status=Status.error(aggregated(found.errors)), details=_nothing(found)
            )
        return PostFilterResult(
            status=Status.unschedulable(_why_not(failed, found)),
            # As upstream, an empty name clears the pod's earlier nomination; None would keep it.
            nominated_node="",
            details=_nothing(found),
        )
    if isinstance(left, Status):
        return PostFilterResult(status=left, details=_nothing(found))
    if not left:
        return PostFilterResult(status=NO_CANDIDATE, details=_nothing(found))
    choice = choose(left, now_ns=failed.now_ns)
    preemption = Preemption(
        dry_run=found,
        candidates=left,
        choice=choice,
        cleared_nominations=_lower_nominated(failed, choice.candidate),
    )
    return PostFilterResult(
        status=Status.OK, nominated_node=choice.candidate.node, details=preemption
    )


def _names(pods: tuple[Pod, ...]) -> str:
    return ", ".join(f"{pod.key} (priority {priority_of(pod)})" for pod in pods)


def _nothing(found: DryRun) -> Preemption:
    return Preemption(dry_run=found)


def _why_not(failed: FilteredCycle, found: DryRun) -> str:
    """Return for every node why preemption on it would not help."""
    node_count = failed.cluster.nodes.n_alive
    rejected_count = sum(rejection.count for rejection in found.rejections)
    rest = Rejection(NOT_HELPFUL, node_count - rejected_count)
    rejections = (*found.rejections, rest) if rest.count else found.rejections
    return fit_error(node_count, None, rejections)


def _lower_nominated(failed: FilteredCycle, chosen: Candidate) -> tuple[Pod, ...]:
    """Return the lower-priority pods nominated to the node (`getLowerPriorityNominatedPods`)."""
    there = failed.cluster.nominated.get(chosen.node)
    if not there:
        return ()
    priority = priority_of(failed.pod)
    return tuple([pod for pod in there.values() if priority_of(pod) < priority])


# Eligibility: whether a pod may preempt others.

NEVER = Status.unschedulable("not eligible due to preemptionPolicy=Never.")
WAITS = Status.unschedulable("not eligible due to a terminating pod on the nominated node.")


def eligibility(failed: FilteredCycle) -> Status:
    """Return whether the pod may preempt.

    Returns
    -------
    Status
        OK, or UNSCHEDULABLE: its policy is Never, or others are making room for it already.

    Notes
    -----
    Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go,
    `PodEligibleToPreemptOthers`, `podTerminatingByPreemption`.
    """
    pod = failed.pod
    if pod.spec.preemption_policy == "Never":
        return NEVER
    name = pod.status.nominated_node_name
    cluster = failed.cluster
    slot = cluster.nodes.slot_of.get(name)
    if slot is None:
        return Status.OK
    if failed.status_of(name).code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        # The pod can no longer run on the nominated node, so it does not wait for it.
        return Status.OK
    priority = priority_of(pod)
    for placed in cluster.pods_on[slot].values():
        if priority_of(placed.pod) < priority and is_terminating_by_preemption(placed.pod):
            return WAITS
    return Status.OK


def is_terminating_by_preemption(pod: Pod) -> bool:
    """Return whether a pod is being deleted because the scheduler preempted it."""
    if pod.metadata.deletion_timestamp is None:
        return False
    return any(
        condition.type == "DisruptionTarget"
        and condition.status == "True"
        and condition.reason == "PreemptionByScheduler"
        for condition in pod.status.conditions
    )

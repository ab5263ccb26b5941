"""Decisions for a gang as a whole, on all nodes or on each of its placements.

Upstream: pkg/scheduler/schedule_one_podgroup.go, podGroupSchedulingDefaultAlgorithm,
podGroupSchedulingPlacementAlgorithm
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.scheduler.assembly.reserving import refused
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import (
    Code,
    Cycle,
    Decision,
    Diagnosis,
    Placement,
    PluginRunner,
    Runner,
    Status,
    confined,
)
from podwright.scheduler.machine import (
    GANG_SCHEDULING,
    GROUP_UNSCHEDULABLE,
    call_permit,
)


class Decider(Protocol):
    """What decides for the members one after the other, and places them."""

    cluster: Cluster
    pending: dict[NamespacedName, Pod]
    cycle_number: int

    def schedule(self, pod: Pod | str, *, post_filter: bool) -> Decision:
        """Decide for a pod, and place it if it fits."""

    def withdraw(self, pod: NamespacedName) -> None:
        """Take a pod off its node."""


def _decide(
    decider: Decider, runner: Runner | None, gang: Sequence[Pod], *, post_filter: bool
) -> tuple[list[Decision], bool]:
    """Place the members of a gang, or none; return the decisions, and whether enough fit."""
    decisions = [decider.schedule(pod.key, post_filter=post_filter) for pod in gang]
    last = next((each for each in reversed(decisions) if each.slot >= 0), None)
    held = Status.OK if last is None or runner is None else _permit(decider, runner, last)
    if held.code != Code.WAIT:
        return decisions, last is not None and held.is_success
    reason = ", ".join((GROUP_UNSCHEDULABLE, *held.reasons))
    for number, decision in reversed(list(enumerate(decisions))):
        if decision.slot >= 0:
            _unplace(decider, decision.pod)
            status = Status.unschedulable(reason).by(GANG_SCHEDULING)
            decisions[number] = refused(decision, status)
    return decisions, False


def decide_gang(
    decider: Decider,
    runner: Runner | None,
    gang: Sequence[Pod],
    group: NamespacedName,
    *,
    post_filter: bool,
) -> tuple[list[Decision], Placement | None]:
    """Place the members of a gang, or none.

    Parameters
    ----------
    runner : Runner, optional
        Of the profile of all members; None if no profile has their scheduler's name.
    group : str
        The PodGroup, on whose placements the gang is tried; "" for all nodes.
    post_filter : bool
        Whether it is found out where evicting others would make room.

    Returns
    -------
    (list of Decision, Placement or None)
        The decisions on the best placement, or on the first if the gang fits in none; None if
        there is no placement.
    """
    if not (group and isinstance(runner, PluginRunner)):
        return _decide(decider, runner, gang, post_filter=post_filter)[0], None
    # Imported with its gate only, as commands start sooner without.
    from podwright.scheduler.machine import best_placement, placements_of

    found = placements_of(runner.profile, decider.cluster, group)
    if isinstance(found, Status):
        return [_without_placement(pod, found, decider.cluster) for pod in gang], None
    if len(found) == 1:
        with confined(runner, found[0]):
            return _decide(decider, runner, gang, post_filter=post_filter)[0], found[0]
    number = decider.cycle_number
    tried: list[list[Decision]] = []
    fitting: list[tuple[Placement, int]] = []
    for placement in found:
        decider.cycle_number, position = number, runner.search_position()
        with confined(runner, placement):
            decisions, fits = _decide(decider, runner, gang, post_filter=post_filter)
        tried.append(decisions)
        placed = tuple(each.pod for each in decisions if each.slot >= 0)
        for pod in reversed(placed):
            _unplace(decider, pod)
        if fits:
            fitting.append((placement._replace(pods=placed), position))
    if not fitting:
        return tried[0], found[0]
    chosen: int | Status = 0
    if len(fitting) > 1:
        candidates = [placement for placement, _ in fitting]
        chosen = best_placement(runner.profile, decider.cluster, group, candidates)
    if isinstance(chosen, Status):
        return [_without_placement(pod, chosen, decider.cluster) for pod in gang], None
    best, position = fitting[chosen]
    decider.cycle_number = number
    runner.restore_search_position(position)
    with confined(runner, best):
        return _decide(decider, runner, gang, post_filter=post_filter)[0], best


def _permit(decider: Decider, runner: Runner, placed: Decision) -> Status:
    """Return whether enough members of a pod's gang have a node by now."""
    for plugin in runner.profile.permit:
        if plugin.name == GANG_SCHEDULING:
            return call_permit(plugin, Cycle(placed.pod, decider.cluster), placed.node)[0]
    return Status.OK


def _unplace(decider: Decider, pod: Pod) -> None:
    """Take a pod that was placed off its node, as pending again."""
    decider.withdraw(pod.key)
    decider.pending[pod.key] = pod


def _without_placement(pod: Pod, status: Status, cluster: Cluster) -> Decision:
    """Return the decision for a member of a gang that has no placement."""
    if not status.is_rejection:
        return Decision(pod=pod, error=status)
    diagnosis = Diagnosis(
        node_count=cluster.nodes.n_alive,
        pre_filter=status,
        rejected_by=frozenset({status.plugin}),
    )
    return Decision(pod=pod, diagnosis=diagnosis)

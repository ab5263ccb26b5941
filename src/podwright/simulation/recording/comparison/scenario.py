"""A cluster with the options of its scheduler, scheduled from the same start each time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, Unpack

import msgspec

from podwright.apimachinery.devices import claim_without_users
from podwright.apimachinery.objects import (
    DEFAULT_SCHEDULER_NAME,
    NamespacedName,
    Node,
    Object,
    Pod,
    PodSpec,
    PodwrightError,
    ResourceClaim,
    with_node_name,
)
from podwright.cluster.controllers import expand
from podwright.scheduler.assembly import Because, Scheduler, outcome_of, reason_of
from podwright.scheduler.columns import uses_volumes
from podwright.scheduler.config import KubeSchedulerConfiguration
from podwright.scheduler.framework import CallExtender, Decision
from podwright.scheduler.machine import DecisionKeywords, SchedulerOptions, names_decision_keywords
from podwright.simulation.recording.comparison.placement_diff import PlacementDiff, compare
from podwright.simulation.recording.comparison.placements import (
    Placements,
    PodPlacement,
    counterparts,
    is_movable_pod,
    nodes_of_pods,
    renamed,
    use_of,
    workloads_of,
)

_ENDED: Final = ("Succeeded", "Failed")

Specs: TypeAlias = dict[tuple[object, ...], PodSpec]
"""The last spec of the pods of a namespace with the same labels."""

_FROM_KUBELET: Final = (
    "containerStatuses", "initContainerStatuses", "resources", "allocatedResources", "resize",
    "startTime", "nominatedNodeName",
)  # fmt: skip
"""The fields of a pod's status that a pod without a node does not have."""

Watch: TypeAlias = Callable[[Iterable[Decision], int], Iterable[Decision]]
"""Passes decisions on one by one, given their number; a command shows the progress with it."""


class Scenario:
    """A cluster, and the options of the scheduler that schedules its pending pods.

    Parameters
    ----------
    objects : iterable of object
        Nodes, pods and other objects, as for `Scheduler.add`. Workloads are expanded into the pods
        that their controllers would create.
    configuration : KubeSchedulerConfiguration or SchedulerOptions, optional
        The default profile if left out.
    reschedule : bool
        Whether pods that have a node are scheduled again, from an empty cluster. Pods of daemon
        sets, mirror pods, terminating pods and pods that no profile matches keep their nodes. The
        other pods give their devices back.
    call_extender : callable, optional
        As for `Scheduler`.
    expands_workloads : bool
        Whether workloads are expanded; not if their controllers have created the pods.
    hpa : {"min", "max"}
        The replicas of workloads that a HorizontalPodAutoscaler scales.
    only : collection of str, optional
        The only pods to schedule; all pending pods if left out.
    plugins, gates, seed, tie_rule, draws_preemption_offset
        As for `SchedulerOptions`.

    Attributes
    ----------
    objects : tuple of object
        With the pods of the workloads.
    expansion : Expansion
        What the workloads were expanded into.

    Raises
    ------
    InvalidObject
        If a workload or its pod template is invalid.
    """

    @names_decision_keywords
    def __init__(
        self,
        objects: Iterable[Object],
        configuration: KubeSchedulerConfiguration | SchedulerOptions | None = None,
        *,
        reschedule: bool = False,
        call_extender: CallExtender | None = None,
        expands_workloads: bool = True,
        hpa: Literal["min", "max"] = "min",
        only: Collection[NamespacedName] | None = None,
        **keywords: Unpack[DecisionKeywords],
    ) -> None:
        given = tuple(objects)
        self.expansion = expand(given if expands_workloads else (), hpa=hpa)
        self.only = only
        self.objects: Sequence[Object] = tuple(self.expansion.with_objects(given))
        self.options = SchedulerOptions.of(configuration, **keywords)
        self.reschedule = reschedule
        self._pending: list[Object] | None = None
        self._call_extender = call_extender

    def __repr__(self) -> str:
        nodes, pods = (sum(isinstance(obj, kind) for obj in self.objects) for kind in (Node, Pod))
        return f"<Scenario: {nodes} nodes, {pods} pods>"

    @property
    def pods(self) -> list[Pod]:
        """The pods that have not ended."""
        return [
            obj for obj in self.objects if isinstance(obj, Pod) and obj.status.phase not in _ENDED
        ]

    def scheduler(self) -> Scheduler:
        """Return a new scheduler that holds the objects.

        Raises
        ------
        InputError
            If the configuration is not valid.
        """
        scheduler = Scheduler(self.options, call_extender=self._call_extender)
        if self.reschedule and self._pending is None:
            self._pending = _rescheduled(self.objects, scheduler.profiles)
        scheduler.add(*(self._pending or self.objects))
        return scheduler


def _rescheduled(objects: Iterable[Object], profiles: Mapping[str, object]) -> list[Object]:
    """Return the objects with pods that are pending again, and without their devices."""
    found: list[Object] = []
    moving: set[str] = set()
    specs: Specs = {}
    for obj in objects:
        if isinstance(obj, Pod) and _is_moving(obj, profiles):
            moving.add(obj.metadata.uid)
            found.append(as_new_pod(obj, specs))
        else:
            found.append(obj)
    moving.discard("")
    if not moving:
        return found
    kept: list[Object] = []
    for obj in found:
        if isinstance(obj, ResourceClaim):
            claim = claim_without_users(obj, moving)
            if claim is not None:
                kept.append(claim)
        else:
            kept.append(obj)
    return kept


def _is_moving(pod: Pod, profiles: Mapping[str, object]) -> bool:
    """Return whether a pod is scheduled again."""
    return (
        bool(pod.spec.node_name)
        and pod.metadata.deletion_timestamp is None
        and (pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME) in profiles
        and is_movable_pod(pod)
    )


def as_new_pod(pod: Pod, specs: Specs | None = None) -> Pod:
    """Return a pod that has no node and that no kubelet has started, as its controller creates it.

    It requests what its spec says, and the claims that were created for it stay in its status.

    Parameters
    ----------
    specs : dict, optional
        Pods of one template share their spec by it, as new ones do: keys of pods are found by the
        spec. Only the volume of the token, whose name is drawn, differs between them.
    """
    pod = with_node_name(pod, "")
    specs = {} if specs is None else specs
    place = pod.namespace, *pod.metadata.labels.items()
    spec = specs.get(place)
    if spec is None or not _is_like(pod.spec, spec):
        spec = specs[place] = pod.spec
    status = msgspec.structs.replace(
        pod.status,
        container_statuses=(),
        init_container_statuses=(),
        resources=None,
        allocated_resources=None,
        resize="",
        start_time=None,
        nominated_node_name="",
    )
    raw = pod.raw
    if raw.get("status"):
        kept = {k: v for k, v in raw["status"].items() if k not in _FROM_KUBELET}
        raw = raw | {"status": kept}
    return msgspec.structs.replace(pod, spec=spec, status=status, raw=raw)


def _is_like(spec: PodSpec, other: PodSpec) -> bool:
    """Return whether two specs are equal but for volumes that scheduling does not read."""
    if len(spec.volumes) != len(other.volumes) or uses_volumes(spec) or uses_volumes(other):
        return spec == other
    return msgspec.structs.replace(spec, volumes=other.volumes) == other


class ScheduledScenario:
    """The decisions of a scenario, and the scheduler after them.

    Attributes
    ----------
    decisions : dict of str to Decision
        By pod, in the order of the queue.
    reasons : dict of str to Because or None
        For the first pods with another decision in `others`: the reason against it.
    is_cut : bool
        Whether the pods after the last one with a reason were left out.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        others: Mapping[NamespacedName, Decision] | None = None,
        most_reasons: int | None = None,
        is_cut: bool = False,
        watch: Watch | None = None,
    ) -> None:
        self._scheduler = scenario.scheduler()
        self._only = self._scheduler.pending if scenario.only is None else scenario.only
        self._others = {} if others is None else others
        self._most_reasons = len(self._others) if most_reasons is None else most_reasons
        self.is_cut = is_cut
        self.decisions: dict[NamespacedName, Decision] = {}
        self.reasons: dict[NamespacedName, Because | None] = {}
        steps: Iterable[Decision] = self._run()
        if watch is not None:
            steps = watch(steps, len(self._scheduler.pending))
        for decision in steps:
            self.decisions[decision.pod.key] = decision

    def _run(self) -> Iterator[Decision]:
        scheduler = self._scheduler
        for pod in scheduler.in_queue_order():
            key = pod.key
            if key not in scheduler.pending or key not in self._only or key in self.decisions:
                continue
            # The explanation needs the position at which the search of this decision started.
            began = scheduler.visiting()
            for decision in scheduler.schedule_together(key):
                is_full = len(self.reasons) >= self._most_reasons
                other = None if is_full else self._others.get(decision.pod.key)
                if other is not None and outcome_of(decision) != outcome_of(other):
                    with scheduler.visiting_from(began):
                        self.reasons[decision.pod.key] = reason_of(scheduler, decision, other)
                yield decision
            if self.is_cut and len(self.reasons) >= self._most_reasons:
                return

    def placements(self) -> Placements:
        """Return where all pods are, those that already had a node included."""
        found = {
            key: PodPlacement(
                node=decision.node,
                nominated=_nominated(decision),
                message="" if decision.node else decision.message,
            )
            for key, decision in self.decisions.items()
        }
        for key, node in nodes_of_pods(self._scheduler.cluster).items():
            found[key] = PodPlacement(node=node)
        return Placements(found, use_of(self._scheduler.cluster), len(self.decisions))


def _nominated(decision: Decision) -> str:
    result = decision.post_filter
    return "" if result is None else result.nominated_node or ""


# The differences between scenarios, with their reasons.
#
# A reason comes from the side's own cycle, explained in the state in which that side scheduled the
# pod, so it agrees with `Scheduler.explain`. The first side is therefore scheduled twice: once for
# its decisions, and again to explain those that differ from the decisions of the second side.

MOST_REASONS: Final = 500
"""For how many pods a page shows reasons; see `diff_scenarios`."""


class NotReproducible(PodwrightError):  # noqa: N818 - named for what it is
    """A scenario decides differently when it is scheduled again."""


def counted(advance: Callable[[int], None]) -> Watch:
    """Return what counts the decisions of a comparison, and passes on how many were made."""
    done = 0

    def watch(decisions: Iterable[Decision], _: int) -> Iterator[Decision]:
        nonlocal done
        for decision in decisions:
            yield decision
            done += 1
            advance(done)

    return watch


def decision_count(before: Scenario, *afters: Scenario, most_reasons: int | None = None) -> int:
    """Return how many decisions a comparison with each of several scenarios makes at most.

    The first side is scheduled again for the reasons. With a limit this ends early: how early is
    not known, and as many pods as the limit are counted.
    """
    first = _scheduled_count(before)
    again = first if most_reasons is None else min(first, most_reasons)
    return first + sum(_scheduled_count(after) + again for after in afters)


def _scheduled_count(scenario: Scenario) -> int:
    return sum(scenario.reschedule or not pod.spec.node_name for pod in scenario.pods)


def diff_scenarios(
    before: Scenario,
    after: Scenario,
    *,
    most_reasons: int | None = None,
    watch: Watch | None = None,
) -> PlacementDiff:
    """Schedule two scenarios and compare the results.

    Parameters
    ----------
    before, after : Scenario
    most_reasons : int, optional
        The number of differing pods, first in the order of the second side, for which reasons are
        found; all if left out. A reason costs several times as much as a decision, and later
        differences mostly follow the first ones.
    watch : callable, optional
        Shows the progress.

    Raises
    ------
    NotReproducible
        If the first side decides differently when it is scheduled again.
    """
    (diff,) = diff_with_each(before, (after,), most_reasons=most_reasons, watch=watch)
    return diff


def diff_with_each(
    before: Scenario,
    afters: Iterable[Scenario],
    *,
    most_reasons: int | None = None,
    watch: Watch | None = None,
) -> list[PlacementDiff]:
    """Schedule a scenario once, and compare it with each of several others.

    See `diff_scenarios` for the parameters and errors.
    """
    first = ScheduledScenario(before, watch=watch)
    return [_diff(before, first, after, most_reasons, watch) for after in afters]


def _diff(
    before: Scenario,
    first: ScheduledScenario,
    after: Scenario,
    most_reasons: int | None,
    watch: Watch | None,
) -> PlacementDiff:
    pods = [scenario.pods for scenario in (before, after)]
    pairs = counterparts(
        *map(workloads_of, pods),
        pods_before={pod.key for pod in pods[0]},
        pods_after={pod.key for pod in pods[1]},
    )
    names = {after_key: key for key, after_key in pairs.items()}
    second = ScheduledScenario(
        after,
        others={pairs.get(key, key): decision for key, decision in first.decisions.items()},
        most_reasons=most_reasons,
        watch=watch,
    )
    after_reasons = {names.get(key, key): because for key, because in second.reasons.items()}
    reasons: Mapping[NamespacedName, Because | None] = {}
    if after_reasons:
        others = {names.get(key, key): second.decisions[key] for key in second.reasons}
        again = ScheduledScenario(before, others=others, is_cut=True, watch=watch)
        _check_reproduced(first, again, len(others))
        reasons = again.reasons
    return compare(
        first.placements(),
        renamed(second.placements(), pairs),
        {key: (reasons.get(key), because) for key, because in after_reasons.items()},
        pairs,
    )


def _check_reproduced(
    first: ScheduledScenario, again: ScheduledScenario, reason_count: int
) -> None:
    for key, decision in first.decisions.items():
        repeated = again.decisions.get(key)
        if repeated is None and len(again.reasons) == reason_count:
            return  # after the last pod with a reason
        if repeated is None or outcome_of(repeated) != outcome_of(decision):
            raise NotReproducible(
                f"pod {key} was scheduled differently when the first side was scheduled again, so"
                " the differences cannot be explained: a plugin or an extender depends on state"
                " that is not in the cluster, such as a class variable"
            )

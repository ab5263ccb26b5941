"""The scheduling cycle of a pod group: all its pending pods together (alpha upstream).

Theory of operation
-------------------
Popping one member of a group takes all its members out of the queue. The cycle then has two
parts:

    evaluate  each member in turn is placed on a node, Reserve and Permit included, so that the
              next one takes it into account; at the end all placements are reverted
    submit    depending on the outcome of the group, the members are assumed and start their
              binding cycles, or return to the queue

The group can be scheduled as soon as Permit returns Success for one member: GangScheduling
returns it when enough members have a node. A member that does not fit returns to the queue; an
error ends the cycle for all members. If a member needs a preemption after that, all members wait
for it, nominated to the nodes of the evaluation.

Two partially placed groups cannot block each other: an unsuccessful evaluation is reverted
completely, and members are assumed only after a successful one.

Two feature gates repeat the evaluation. With TopologyAwareWorkloadScheduling a group is evaluated
on each of its `placements`, and the best of those in which it fits counts. With
WorkloadAwarePreemption victims are found for the group as a whole (`preemption.groups`), which
evaluates it without them, and with those that may be reprieved.

Upstream: pkg/scheduler/schedule_one_podgroup.go
"""

from __future__ import annotations

from collections.abc import Generator

from podwright.apimachinery.objects import (
    Condition,
    NamespacedName,
    ObjectMeta,
    Pod,
    PodGroup,
    timestamp_text,
)
from podwright.scheduler.config import ExtenderCall, ExtenderReply, Gates
from podwright.scheduler.framework import Code, Decision, Placement, Status, Steps, confined
from podwright.scheduler.machine.actions import PatchPodGroupStatus
from podwright.scheduler.machine.cycles.binding import Binding
from podwright.scheduler.machine.cycles.eviction import Eviction
from podwright.scheduler.machine.cycles.evictions import Evictions
from podwright.scheduler.machine.cycles.failure import Failure, failed, fits_nowhere, refused
from podwright.scheduler.machine.cycles.failure_handling import handle_failure
from podwright.scheduler.machine.cycles.plugin_calls import (
    call_permit,
    call_plugin,
    notify_plugin,
    with_point,
)
from podwright.scheduler.machine.cycles.pod_steps import PodSteps
from podwright.scheduler.machine.events import object_key
from podwright.scheduler.machine.profiles import RunningProfile
from podwright.scheduler.machine.state import GANG_SCHEDULING, State
from podwright.scheduler.queueing import QueuedPod

GROUP_UNSCHEDULABLE = "pod group is unschedulable"
_PREEMPTION = "DefaultPreemption"
_WAITING = f"{GROUP_UNSCHEDULABLE}, pod group is waiting for preemption to complete"
_FAILED = "failed to schedule other pod from a pod group"
_HELD = "one or more plugins asked to wait and no plugin rejected pod"

GroupSteps = Generator[ExtenderCall, ExtenderReply, None]


class Attempt:
    """The result of the evaluation for one member.

    Attributes
    ----------
    decision : Decision or None
        None: the evaluation ended before this member.
    binding : Binding or None
        The pod with its node of the evaluation.
    failure : Failure or None
        Why the pod has no node.
    error : str
        A failure that ends the cycle.
    permit : Status or None
        The status of Permit.
    needs_preemption : bool
        The node has room only after a preemption.
    """

    __slots__ = (
        "binding",
        "decision",
        "error",
        "failure",
        "needs_preemption",
        "permit",
        "queued",
    )

    def __init__(self, queued: QueuedPod) -> None:
        self.queued = queued
        self.decision: Decision | None = None
        self.binding: Binding | None = None
        self.failure: Failure | None = None
        self.error = ""
        self.permit: Status | None = None
        self.needs_preemption = False

    @property
    def fits(self) -> bool:
        """Whether there is a node for the pod right now."""
        return self.permit is not None and not self.needs_preemption


class Outcome:
    """The outcome of one evaluation of a group, or of its cycle.

    Attributes
    ----------
    attempts : list of Attempt
        One for each member.
    is_placed : bool
        The members that fit are assumed on their nodes.
    is_waiting : bool
        The group fits after the preemption.
    rejection : str
        Why the group is not placed.
    error : str
        "" unless something went wrong.
    """

    __slots__ = ("attempts", "error", "is_placed", "is_waiting", "rejection")

    def __init__(self, members: list[QueuedPod], status: Status = Status.OK) -> None:
        self.attempts = [Attempt(queued) for queued in members]
        self.is_placed = False
        self.is_waiting = False
        self.rejection = status.message if status.is_rejection else GROUP_UNSCHEDULABLE
        self.error = "" if status.is_success or status.is_rejection else status.message

    @property
    def message(self) -> str:
        """For the PodGroup's condition."""
        return self.error if self.error or self.is_placed else self.rejection

    @property
    def placed(self) -> tuple[Pod, ...]:
        """The members that have a node, some of them only after a preemption."""
        found = [each.queued.pod for each in self.attempts if each.permit is not None]
        return tuple(found)


class PodGroupCycles:
    """Runs the cycles of pod groups."""

    def __init__(self, state: State, steps: PodSteps, evictions: Evictions, gates: Gates) -> None:
        self._state = state
        self._steps = steps
        self._evictions = evictions
        self._has_placements = "TopologyAwareWorkloadScheduling" in gates
        self._preempts = "WorkloadAwarePreemption" in gates
        self.evaluations: list[Decision] = []
        """All decisions of the last cycle, those of evaluations that do not count included."""
        self._evicting: list[Eviction] = []
        self.being_tried: frozenset[str] = frozenset()
        """The uids of the members of the cycle that runs."""
        self.last_decisions: tuple[Decision, ...] = ()
        """The decisions of the last cycle, one per member."""

    def steps(self, popped: QueuedPod, group: NamespacedName) -> GroupSteps:
        """Schedule all members of the group of a popped pod; yields calls of extenders."""
        state = self._state
        self.last_decisions, self.evaluations = (), []
        members = self._pop_all(popped, group)
        profile = self._profile_of(members)
        if profile is None:
            return
        members = [queued for queued in members if not self._is_skipped(queued)]
        if not members:
            return
        for queued in members:
            self._nominate(queued, state.queue.nominator.node_of(queued.uid))
        self.being_tried = frozenset([queued.uid for queued in members])
        outcome = yield from self._schedule(profile, group, members)
        if self._preempts and not (outcome.is_placed or outcome.error):
            yield from self._preempt(profile, group, members, outcome)
        self.being_tried = frozenset()
        decisions = [each.decision for each in outcome.attempts]
        self.last_decisions = tuple([each for each in decisions if each is not None])
        for attempt in outcome.attempts:
            self._submit(attempt, outcome)
        # Only now: an eviction reads the nominations, which `_submit` sets.
        evicting, self._evicting = self._evicting, []
        for eviction in evicting:
            self._evictions.start(eviction)
        result = "scheduled" if outcome.is_placed else "error" if outcome.error else "unschedulable"
        duration_ns = state.now_ns - state.cycle_started_ns
        state.metrics.pod_group_ended(profile.name, result, duration_ns)
        self._set_condition(group, outcome)

    def _pop_all(self, popped: QueuedPod, group: NamespacedName) -> list[QueuedPod]:
        """Pop all members from the queue, in the order in which they are evaluated."""
        state = self._state
        members = [popped]
        for pod in state.groups.members(GANG_SCHEDULING, group).unscheduled():
            if pod.key != popped.key:
                queued = state.queue.pop_pod(pod.key, state.now_ns)
                if queued is not None:
                    members.append(queued)
        # The sort is stable: the popped pod precedes its equals, which keep the order of the group.
        members.sort(key=lambda queued: (-queued.priority, queued.initial_attempt_ns or 0))
        return members

    def _profile_of(self, members: list[QueuedPod]) -> RunningProfile | None:
        """Return the profile of all members; None if they disagree, which ends their attempt."""
        state = self._state
        first = members[0].pod.spec.scheduler_name
        for queued in members:
            name = queued.pod.spec.scheduler_name
            if name != first:
                status = Status.error(
                    "all pods in a single pod group should have the same .spec.schedulerName "
                    f'set, got: "{name}" and "{first}"'
                )
                for failing in members:
                    handle_failure(state, failing, failing.pod, failed(status))
                return None
        return state.profiles[first]

    def _is_skipped(self, queued: QueuedPod) -> bool:
        if not self._steps.is_skipped(queued, queued.pod):
            return False
        self._state.queue.done(queued, self._state.now_ns)
        return True

    # ------------------------------------------------------------ the evaluation

    def _schedule(
        self,
        profile: RunningProfile,
        group: NamespacedName,
        members: list[QueuedPod],
        *,
        post_filter: bool = True,
    ) -> Steps[Outcome]:
        """Evaluate a group, on each of its placements if it has some, and return what counts.

        Upstream: schedule_one_podgroup.go, podGroupSchedulingPlacementAlgorithm
        """
        if not self._has_placements:
            return (yield from self._evaluate(profile, members, post_filter=post_filter))
        # Imported with its gate only, as commands start sooner without.
        from podwright.scheduler.machine.cycles.placements import best_placement, placements_of

        cluster = self._state.cluster
        found = placements_of(profile.profile, cluster, group)
        if isinstance(found, Status):
            return Outcome(members, found)
        first: Outcome | None = None
        fitting: list[tuple[Placement, Outcome]] = []
        for placement in found:
            with confined(profile.runner, placement):
                outcome = yield from self._evaluate(profile, members, post_filter=post_filter)
            if outcome.error:
                return outcome
            first = first or outcome
            if outcome.is_placed or outcome.is_waiting:
                fitting.append((placement._replace(pods=outcome.placed), outcome))
        if not fitting:
            assert first is not None, f"{group} was not evaluated"
            first.rejection = (
                f"0/{len(found)} placements are available, first placement status:"
                f" {GROUP_UNSCHEDULABLE}"
            )
            return first
        chosen: int | Status = 0
        if len(fitting) > 1:
            candidates = [placement for placement, _ in fitting]
            chosen = best_placement(profile.profile, cluster, group, candidates)
        return Outcome(members, chosen) if isinstance(chosen, Status) else fitting[chosen][1]

    def _preempt(
        self,
        profile: RunningProfile,
        group: NamespacedName,
        members: list[QueuedPod],
        outcome: Outcome,
    ) -> Steps[None]:
        """Find victims for a group that does not fit, and update its outcome.

        Upstream: schedule_one_podgroup.go, runWorkloadAwarePreemption
        """
        found = yield from self._victims(profile, group, members)
        if isinstance(found, tuple):
            pod_group, victims = found
            pods = tuple(queued.pod for queued in members)
            eviction = self._evictions.announce_group(pod_group, pods, _PREEMPTION, victims)
            self._evicting += [] if eviction is None else [eviction]
            outcome.is_waiting = True
        elif found.is_rejection:
            outcome.rejection += f", {found.message}"
        else:
            outcome.error = found.message

    def _victims(
        self, profile: RunningProfile, group: NamespacedName, members: list[QueuedPod]
    ) -> Steps[tuple[PodGroup, tuple[Pod, ...]] | Status]:
        """Return the group and the pods to evict for it, or why preemption does not help."""
        from podwright.scheduler.preemption import preempt_for_group

        state = self._state
        if not profile.profile.holding:
            return Status.unschedulable(
                "default preemption plugin is not registered, workload aware preemption is disabled"
            )
        pod_group = state.objects.get(object_key(PodGroup, group))
        if not isinstance(pod_group, PodGroup):
            name = group.partition("/")[2]
            text = f'podgroup.scheduling.k8s.io "{name}" not found'
            return Status.error(f"failed to get pod group object: {text}")
        constraints = pod_group.spec.scheduling_constraints
        if constraints is not None and constraints.topology:
            return Status.unschedulable(
                "workload aware preemption is not supported for pod groups with scheduling"
                " constraints"
            )

        def try_group() -> Steps[Status]:
            tried = yield from self._schedule(profile, group, members, post_filter=False)
            if tried.is_placed:
                return Status.OK
            make = Status.error if tried.error else Status.unschedulable
            return make(tried.message)

        found = yield from preempt_for_group(
            state.cluster,
            pod_group,
            [queued.pod for queued in members],
            group_of=self.group_of,
            try_group=try_group,
            now_ns=state.now_ns,
        )
        return found if isinstance(found, Status) else (pod_group, found)

    def group_of(self, pod: Pod) -> PodGroup | None:
        """Return the PodGroup of a pod; None if it has none, or if there is none of that name."""
        group = pod.spec.scheduling_group
        if group is None:
            return None
        name = f"{pod.metadata.namespace}/{group.pod_group_name}"
        found = self._state.objects.get(object_key(PodGroup, name))
        return found if isinstance(found, PodGroup) else None

    def preemptor_of(self, pod: Pod) -> str:
        """Return the uid of what preempts for a pod: itself, or its group."""
        if not self._preempts or pod.spec.scheduling_group is None:
            return pod.metadata.uid
        group = self.group_of(pod)
        return "" if group is None else group.metadata.uid

    def _evaluate(
        self, profile: RunningProfile, members: list[QueuedPod], *, post_filter: bool
    ) -> Steps[Outcome]:
        """Determine which members fit together; all placements are reverted."""
        outcome = Outcome(members)
        attempts = outcome.attempts
        needs_preemption = False
        number = self._state.queue.scheduling_cycle - len(attempts)
        for attempt in attempts:
            number += 1
            decision = yield from self._steps.decide(
                profile, attempt.queued.pod, number, post_filter=post_filter
            )
            self.evaluations.append(decision)
            self._try(profile, attempt, decision)
            if attempt.error:
                outcome.is_placed = outcome.is_waiting = False
                outcome.error = f"{_FAILED}: {attempt.error}"
                break
            needs_preemption |= attempt.needs_preemption
            if attempt.permit is not None and attempt.permit.is_success:
                outcome.is_waiting = needs_preemption
                outcome.is_placed = not needs_preemption
                outcome.rejection = _WAITING
        # The last placement first, so that Unreserve finds what its own Reserve left.
        for attempt in reversed(attempts):
            if attempt.permit is not None:
                self._revert(attempt)
        return outcome

    def _try(self, profile: RunningProfile, attempt: Attempt, decision: Decision) -> None:
        """Place a member on the chosen node, up to Permit."""
        state, queued = self._state, attempt.queued
        attempt.decision = decision
        self._steps.count(profile, decision)
        slot, node = decision.slot, decision.node
        if not node:
            if decision.error is not None:
                attempt.error = decision.error.message
            attempt.failure = fits_nowhere(decision)
            self._steps.make_calls(decision)
            eviction = self._steps.announce(queued, decision)
            self._evicting += [] if eviction is None else [eviction]
            node = attempt.failure.nominated_node or ""
            slot = state.cluster.nodes.slot_of.get(node, -1)
            if not node or attempt.error:
                return
            attempt.needs_preemption = True
        binding = self._steps.binding(profile, queued, node)
        status = self._steps.count_on(binding, slot)
        if status is not None:
            self._end(attempt, status)
            return
        attempt.binding = binding
        self._mark(attempt, is_scheduled=True)
        for plugin in binding.plugins.reserve:
            status = call_plugin(plugin, "reserve", binding.cycle, node)
            if not status.is_success:
                self._revert(attempt)
                self._end(attempt, status, "Reserve")
                return
        attempt.permit = self._permit(binding)
        if attempt.permit.code not in {Code.SUCCESS, Code.WAIT}:
            self._revert(attempt)
            self._end(attempt, attempt.permit, "Permit")

    def _permit(self, binding: Binding) -> Status:
        """Call the Permit plugins; no pod has to wait.

        Notes
        -----
        If several plugins return Wait, the reasons are those of the last one. Upstream:
        pkg/scheduler/framework/runtime/framework.go, `RunPermitPlugins`.
        """
        held = Status.OK
        for plugin in binding.plugins.permit:
            status, _ = call_permit(plugin, binding.cycle, binding.node)
            if status.code == Code.WAIT:
                held = Status.wait(*status.reasons, _HELD)
            elif not status.is_success:
                return status
        return held

    def _end(self, attempt: Attempt, status: Status, point: str = "") -> None:
        """Record that Reserve or Permit rejected a member, or failed."""
        attempt.binding = attempt.permit = None
        attempt.needs_preemption = False
        if status.is_rejection:
            attempt.failure = refused(status)
            return
        status = with_point(status, point) if point else status
        attempt.error = status.message
        attempt.failure = failed(status)

    def _revert(self, attempt: Attempt) -> None:
        binding = attempt.binding
        assert binding is not None, f"{attempt.queued.key} has no place to take back"
        for plugin in binding.plugins.unreserve:
            notify_plugin(plugin, "unreserve", binding.cycle, binding.node, self._state.on_ignored)
        self._state.cluster.remove(attempt.queued.key)
        self._mark(attempt, is_scheduled=False)
        self._nominate(attempt.queued, attempt.queued.pod.status.nominated_node_name)

    def _nominate(self, queued: QueuedPod, node: str | None) -> None:
        """Let a nomination of a member count as a pod without fields, until its attempt ends.

        Notes
        -----
        Upstream knows nominations by name, and looks for the pods in the queue, where none of the
        members is. Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, nominatedPodToInfo
        """
        if node:
            of = queued.pod.metadata
            metadata = ObjectMeta(name=of.name, namespace=of.namespace, uid=of.uid)
            self._state.queue.nominator.add(Pod(metadata=metadata), node)

    def _slot_of(self, attempt: Attempt) -> int:
        assert attempt.decision is not None, attempt.queued
        return attempt.decision.slot

    def _mark(self, attempt: Attempt, *, is_scheduled: bool) -> None:
        self._state.groups.mark(attempt.queued.pod, is_scheduled=is_scheduled)

    # ------------------------------------------------------------ what becomes of it

    def _submit(self, attempt: Attempt, outcome: Outcome) -> None:
        """Assume a member on its node, or return it to the queue."""
        if outcome.is_placed and attempt.fits:
            assert attempt.binding is not None, f"{attempt.queued.key} fits nowhere"
            self._steps.commit(attempt.binding, self._slot_of(attempt))
        else:
            queued = attempt.queued
            handle_failure(self._state, queued, queued.pod, _failure(attempt, outcome))

    def _set_condition(self, group: NamespacedName, outcome: Outcome) -> None:
        """Set the PodGroup's condition; once True it stays True."""
        state = self._state
        pod_group = state.objects.get(object_key(PodGroup, group))
        if not isinstance(pod_group, PodGroup):
            return
        status, reason = "False", "SchedulerError" if outcome.error else "Unschedulable"
        if outcome.is_placed:
            status, reason = "True", "Scheduled"
        changed_at: str | None = timestamp_text(state.now_ns)
        generation = pod_group.metadata.generation or None
        for present in pod_group.status.conditions:
            if present.type != "PodGroupScheduled":
                continue
            if present.status == "True" and status != "True":
                return
            if present.status == status:
                changed_at = present.last_transition_time
                same = (present.reason, present.message, present.observed_generation)
                if same == (reason, outcome.message, generation):
                    return
        condition = Condition(
            type="PodGroupScheduled",
            status=status,
            reason=reason,
            message=outcome.message,
            last_transition_time=changed_at,
            observed_generation=generation,
        )
        state.actions.append(PatchPodGroupStatus(state.next_call(), group, condition))


def _failure(attempt: Attempt, outcome: Outcome) -> Failure:
    """Return why a member goes back to the queue."""
    if outcome.error:
        if attempt.error:
            assert attempt.failure is not None, attempt.queued
            return attempt.failure
        return Failure(message=outcome.error)
    if attempt.fits and outcome.is_waiting:
        assert attempt.binding is not None, attempt.queued
        return Failure(
            message=outcome.rejection, is_rejected=True, nominated_node=attempt.binding.node
        )
    if attempt.fits or (attempt.needs_preemption and not outcome.is_waiting):
        # The member fits, but the group does not. Upstream records no rejecting plugin then, so
        # the pod is retried after the error backoff, without any event.
        assert attempt.permit is not None, attempt.queued
        message = f"{GROUP_UNSCHEDULABLE}, {attempt.permit.message}"
        return Failure(message=message, is_rejected=True)
    if attempt.failure is None:
        # The group was rejected before any member was tried.
        return Failure(message=outcome.rejection, is_rejected=True, nominated_node=None)
    return attempt.failure

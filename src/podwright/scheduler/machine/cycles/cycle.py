"""The scheduling cycle: one pod from the queue to a node, or back to the queue.

Pop, decide, assume, Reserve, Permit; then the binding cycle takes over. Where no node fits,
PostFilter may nominate one and name victims, whose removal then runs beside the cycles.

Only one cycle runs at a time. A cycle that calls an extender is *suspended* until the reply is
handled; so is a cycle that waits for its victims to be deleted
(without the gate SchedulerAsyncPreemption). Until then the machine holds all other events, so that
the cycle ends with the cluster that it started with, as upstream's does with its snapshot.

What a cycle changes when it ends well: the pod counts on its node
(*assumed*) although the API server does not know yet, so that the next cycle can start.

Upstream: pkg/scheduler/schedule_one.go, `ScheduleOne`, `schedulingCycle`
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from podwright.apimachinery.objects import NamespacedName
from podwright.scheduler.config import DEFAULT_GATES, ExtenderReply, Gates
from podwright.scheduler.framework import CallError, Decision, Status, Steps
from podwright.scheduler.machine.actions import CallExtender
from podwright.scheduler.machine.cycles.binding_cycles import BindingCycles
from podwright.scheduler.machine.cycles.eviction import Eviction
from podwright.scheduler.machine.cycles.evictions import Evictions
from podwright.scheduler.machine.cycles.failure import fits_nowhere
from podwright.scheduler.machine.cycles.failure_handling import handle_failure
from podwright.scheduler.machine.cycles.pod_group import GroupSteps, PodGroupCycles
from podwright.scheduler.machine.cycles.pod_steps import PodSteps
from podwright.scheduler.machine.events import CallDone, Event, ExtenderReplied
from podwright.scheduler.machine.profiles import RunningProfile
from podwright.scheduler.machine.state import GANG_SCHEDULING, State
from podwright.scheduler.queueing import QueuedPod


class Suspended:
    """A cycle that waits for an extender.

    Attributes
    ----------
    call : int
        The number of the call.
    """

    __slots__ = ("call", "profile", "queued", "steps")

    def __init__(
        self, profile: RunningProfile, queued: QueuedPod, steps: Steps[Decision] | GroupSteps
    ) -> None:
        self.profile = profile
        self.queued = queued
        self.steps = steps
        self.call = 0


class Preempting:
    """A cycle that waits for its victims to be deleted.

    Attributes
    ----------
    decision : Decision
        The pod fits nowhere, and others are to make room.
    """

    __slots__ = ("decision", "eviction", "profile", "queued")

    def __init__(
        self, profile: RunningProfile, queued: QueuedPod, decision: Decision, eviction: Eviction
    ) -> None:
        self.profile = profile
        self.queued = queued
        self.decision = decision
        self.eviction = eviction


class SchedulingCycles:
    """Runs scheduling cycles, one after the other.

    Parameters
    ----------
    keeps_nominations : bool
        Whether a pod without a node keeps its nomination, unless PostFilter clears it.
    """

    def __init__(
        self,
        state: State,
        bindings: BindingCycles,
        evictions: Evictions,
        *,
        keeps_nominations: bool = False,
        gates: Gates = DEFAULT_GATES,
    ) -> None:
        self._state = state
        self._nominated_node = None if keeps_nominations else ""
        self._evictions = evictions
        self._steps = PodSteps(state, bindings, evictions)
        self.last_decision: Decision | None = None
        """The decision of the last cycle."""
        self.last_decisions: tuple[Decision, ...] = ()
        """The same, for all members if it was the cycle of a pod group."""
        self.last_evaluations: tuple[Decision, ...] = ()
        """The same, with the evaluations of the group that do not count."""
        self.suspended: Suspended | Preempting | None = None
        self.known_nodes: Mapping[NamespacedName, str] = {}
        """The nodes that pods are known to get; they are not decided again."""
        self.groups = PodGroupCycles(state, self._steps, evictions, gates)

    def run(self) -> None:
        """Schedule the next pod, if there is one."""
        state = self._state
        queued = state.queue.pop(state.now_ns)
        if queued is None:
            return
        state.cycle_started_ns = state.now_ns
        pod = queued.pod
        profile = state.profiles.get(pod.spec.scheduler_name)
        if state.groups.is_used and profile is not None:
            group = state.groups.group_of(GANG_SCHEDULING, pod)
            if isinstance(group, str):
                self._advance(Suspended(profile, queued, self.groups.steps(queued, group)), None)
                return
        if profile is None or self._steps.is_skipped(queued, pod):
            state.queue.done(queued, state.now_ns)
            return
        number = state.queue.scheduling_cycle
        if profile.extenders:
            steps = self._steps.decide(profile, pod, number)
            self._advance(Suspended(profile, queued, steps), None)
            return
        node = self.known_nodes.get(queued.key)
        decision = profile.repeat(pod, node) if node is not None else None
        if decision is None:
            decision = profile.decide(pod, cycle_number=number, now_ns=state.now_ns)
        if decision.slot < 0:
            decision = profile.runner.post_filter(
                decision, cycle_number=number, now_ns=state.now_ns
            )
        self._decided(profile, queued, decision)

    def being_tried(self) -> frozenset[str]:
        """Return the uids of the pods whose cycle is suspended."""
        if self.suspended is None:
            return frozenset()
        return self.groups.being_tried | {self.suspended.queued.uid}

    def waits_for(self, event: Event) -> bool:
        """Report whether a cycle is suspended until this event."""
        match self.suspended, event:
            case Suspended(call=call), ExtenderReplied():
                return call == event.call
            case Preempting(eviction=eviction), CallDone():
                return event.call in eviction.busy
            case _:
                return False

    def resume(self, event: Event) -> None:
        """Resume the cycle that waits for this event."""
        match self.suspended, event:
            case Suspended() as cycle, ExtenderReplied(_, reply):
                self.suspended = None
                self._advance(cycle, reply)
            case Preempting() as cycle, CallDone():
                del self._state.calls[event.call]
                self._evictions.call_done(cycle.eviction, event)
                self._finish_if_preempted(cycle)
            case _:
                raise AssertionError(f"no cycle waits for {event}")

    def _advance(self, cycle: Suspended, reply: ExtenderReply | None) -> None:
        """Take a cycle to its next call, or to its end."""
        state = self._state
        try:
            request = next(cycle.steps) if reply is None else cycle.steps.send(reply)
        except StopIteration as end:
            if end.value is not None:
                self._decided(cycle.profile, cycle.queued, end.value)
            else:
                self.last_decisions = self.groups.last_decisions
                self.last_evaluations = tuple(self.groups.evaluations)
            return
        cycle.call = state.next_call()
        state.actions.append(CallExtender(cycle.call, request))
        self.suspended = cycle

    def _decided(self, profile: RunningProfile, queued: QueuedPod, decision: Decision) -> None:
        if not decision.node and self._evictions.is_awaited:
            eviction = self._steps.announce(queued, decision)
            if eviction is not None:
                self.suspended = cycle = Preempting(profile, queued, decision, eviction)
                self._evictions.start(eviction)
                self._finish_if_preempted(cycle)
                return
        self._report(profile, decision)
        if decision.node:
            self._steps.commit(self._steps.binding(profile, queued, decision.node), decision.slot)
        else:
            self._fits_nowhere(queued, decision)

    def _report(self, profile: RunningProfile, decision: Decision) -> None:
        self.last_decision = decision
        self.last_decisions = self.last_evaluations = (decision,)
        self._steps.count(profile, decision)

    def _finish_if_preempted(self, cycle: Preempting) -> None:
        """End a cycle whose victims are removed, or cannot be."""
        eviction = cycle.eviction
        if not eviction.is_over:
            return
        self.suspended = None
        decision = cycle.decision
        if eviction.error is not None:
            decision = _not_preempted(decision, eviction.error)
        self._report(cycle.profile, decision)
        self._report_failure(cycle.queued, decision)

    def _fits_nowhere(self, queued: QueuedPod, decision: Decision) -> None:
        # Announced before the pod is queued: PreEnqueue gates it from then on.
        self._steps.make_calls(decision)
        eviction = self._steps.announce(queued, decision)
        self._report_failure(queued, decision)
        if eviction is not None:
            self._evictions.start(eviction)

    def _report_failure(self, queued: QueuedPod, decision: Decision) -> None:
        failure = fits_nowhere(decision, nominated_node=self._nominated_node)
        handle_failure(self._state, queued, queued.pod, failure)


def _not_preempted(decision: Decision, error: CallError) -> Decision:
    """Return what becomes of a decision if a victim cannot be removed."""
    diagnosis, result = decision.diagnosis, decision.post_filter
    assert diagnosis is not None, f"pod {decision.pod.key} preempted without a diagnosis"
    assert result is not None, f"pod {decision.pod.key} preempted without PostFilter"
    status = Status.error(f"preemption: {error.message}").by(result.status.plugin)
    result = msgspec.structs.replace(result, status=status, nominated_node=None)
    diagnosis = msgspec.structs.replace(diagnosis, post_filter_message=result.message)
    return msgspec.structs.replace(decision, diagnosis=diagnosis, post_filter=result)

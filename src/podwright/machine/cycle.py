"""The scheduling cycle: one pod from the queue to a node, or back to the queue.

Pop, decide, assume, Reserve, Permit; then the binding cycle takes over. Where no node fits,
PostFilter may nominate one and name victims, whose removal then runs beside the cycles.

Only one cycle runs at a time. One that has to ask an extender is *suspended*: it gives the
call away and goes on with the answer; so is one that has to wait for its victims to be removed
(without the gate SchedulerAsyncPreemption). Until then the machine takes nothing else in, so that
the cycle goes on with the cluster that it began with, as upstream's does with its snapshot.

What a cycle changes when it ends well: the pod counts on its node
(*assumed*) although the API server does not know yet, so that the next cycle can begin.

Upstream: pkg/scheduler/schedule_one.go, `ScheduleOne`, `schedulingCycle`
"""

from __future__ import annotations

import msgspec

from podwright.config import ExtenderReply
from podwright.framework import CallError, Code, Cycle, Decision, Status, Steps
from podwright.machine.actions import CallExtender
from podwright.machine.batching import count_batch
from podwright.machine.binding import Binding, BindingCycles, forget
from podwright.machine.events import CallDone, Event, ExtenderReplied
from podwright.machine.evictions import Eviction, Evictions
from podwright.machine.extension_path import ExtensionPath, decision_path, placing_path
from podwright.machine.failure import Failure, failed, fits_nowhere, handle_failure, refused
from podwright.machine.groups import GANG_SCHEDULING
from podwright.machine.plugin_calls import ask, ask_permit, tell, worded
from podwright.machine.pod_group import GroupSteps, PodGroupCycles
from podwright.machine.profiles import RunningProfile
from podwright.machine.reporting import emit_failed
from podwright.machine.state import State
from podwright.machine.waiting import LONGEST_WAIT_NS, WaitingPod
from podwright.objects import Pod
from podwright.preemption import Preemption
from podwright.queueing import QueuedPod

_PREEMPTION = "DefaultPreemption"


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
    """A cycle that waits for its victims to be removed.

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
    """Runs scheduling cycles, one after the other."""

    def __init__(self, state: State, bindings: BindingCycles, evictions: Evictions) -> None:
        self._state = state
        self._bindings = bindings
        self._evictions = evictions
        self.last_decision: Decision | None = None
        """What came of the last cycle."""
        self.last_decisions: tuple[Decision, ...] = ()
        """The same, for all members if it was the cycle of a pod group."""
        self.suspended: Suspended | Preempting | None = None
        self.groups = PodGroupCycles(state, self, evictions)

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
                self._go_on(Suspended(profile, queued, self.groups.steps(queued, group)), None)
                return
        if profile is None or self.is_skipped(queued, pod):
            state.queue.done(queued, state.now_ns)
            return
        number = state.queue.scheduling_cycle
        if profile.extenders:
            steps = _steps(profile, pod, number, state.now_ns)
            self._go_on(Suspended(profile, queued, steps), None)
            return
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
        """Tell whether a cycle is suspended until this event."""
        match self.suspended, event:
            case Suspended(call=call), ExtenderReplied():
                return call == event.call
            case Preempting(eviction=eviction), CallDone():
                return event.call in eviction.busy
            case _:
                return False

    def resume(self, event: Event) -> None:
        """Go on with the cycle that waits for this event."""
        match self.suspended, event:
            case Suspended() as cycle, ExtenderReplied(_, reply):
                self.suspended = None
                self._go_on(cycle, reply)
            case Preempting() as cycle, CallDone():
                del self._state.calls[event.call]
                self._evictions.call_done(cycle.eviction, event)
                self._finish_if_preempted(cycle)
            case _:
                raise AssertionError(f"no cycle waits for {event}")

    def _go_on(self, cycle: Suspended, reply: ExtenderReply | None) -> None:
        """Take a cycle to its next call, or to its end."""
        state = self._state
        try:
            request = next(cycle.steps) if reply is None else cycle.steps.send(reply)
        except StopIteration as end:
            if end.value is not None:
                self._decided(cycle.profile, cycle.queued, end.value)
            else:
                self.last_decisions = self.groups.last_decisions
            return
        cycle.call = state.next_call()
        state.actions.append(CallExtender(cycle.call, request))
        self.suspended = cycle

    def _decided(self, profile: RunningProfile, queued: QueuedPod, decision: Decision) -> None:
        if not decision.node and self._evictions.is_awaited:
            eviction = self.announce(queued, decision)
            if eviction is not None:
                self.suspended = cycle = Preempting(profile, queued, decision, eviction)
                self._evictions.start(eviction)
                self._finish_if_preempted(cycle)
                return
        self._report(profile, decision)
        if decision.node:
            self.commit(self.binding(profile, queued, decision.node), decision.slot)
        else:
            self._fits_nowhere(queued, decision)

    def _report(self, profile: RunningProfile, decision: Decision) -> None:
        self.last_decision = decision
        self.last_decisions = (decision,)
        self.count(profile, decision)

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
        handle_failure(self._state, cycle.queued, cycle.queued.pod, fits_nowhere(decision))

    def count(self, profile: RunningProfile, decision: Decision) -> None:
        """Count a decision in the metrics."""
        state, path = self._state, decision_path(decision)
        duration_ns = state.now_ns - state.cycle_started_ns
        if decision.batch is not None:
            count_batch(state.metrics, profile.name, decision.batch)
        if not path.points:
            state.metrics.decided(profile.name, path, duration_ns=duration_ns)
            return
        skipped, skipped_scores = profile.runner.skipped
        state.metrics.decided(profile.name, path, skipped, skipped_scores, duration_ns=duration_ns)
        result = decision.post_filter
        if result is not None and _has_tried_preemption(profile, result.status):
            preemption = result.details
            victims = preemption.victims if isinstance(preemption, Preemption) else ()
            state.metrics.preemption_tried(len(victims))

    def decide(self, profile: RunningProfile, pod: Pod, cycle_number: int) -> Steps[Decision]:
        """Decide for a pod, and let PostFilter do something if there is no node."""
        return _steps(profile, pod, cycle_number, self._state.now_ns)

    def is_skipped(self, queued: QueuedPod, pod: Pod) -> bool:
        """Tell whether a popped pod should not be scheduled after all."""
        state = self._state
        if pod.metadata.deletion_timestamp is not None:
            emit_failed(state, pod, f"skip schedule deleting pod: {pod.key}")
            return True
        # It was updated, and so queued again, before it was assumed.
        return queued.uid in state.assumed

    def _fits_nowhere(self, queued: QueuedPod, decision: Decision) -> None:
        eviction = self.announce(queued, decision)
        handle_failure(self._state, queued, queued.pod, fits_nowhere(decision))
        if eviction is not None:
            self._evictions.start(eviction)

    def announce(self, queued: QueuedPod, decision: Decision) -> Eviction | None:
        """Hold a pod back for which others are to be preempted; None if there is none."""
        result = decision.post_filter
        if result is not None and isinstance(result.details, Preemption):
            node = result.nominated_node
            if node and self._evictions.is_wanted(result.details):
                return self._evictions.announce(
                    self._state.pods.get(queued.key, queued.pod),
                    node,
                    result.status.plugin,
                    result.details,
                )
        return None

    # ------------------------------------------------------------ a node was found

    def binding(self, profile: RunningProfile, queued: QueuedPod, node: str) -> Binding:
        """Return the pod that was decided on last, ready for its way to a node."""
        state, pod = self._state, queued.pod
        runner = profile.runner
        placing = profile.placing(runner.skipped[0])
        cycle = Cycle(pod, state.cluster) if placing.is_plain else runner.own_cycle(pod)
        state.binding_count += 1
        binding = Binding(state.binding_count, queued, node, cycle, placing)
        binding.started_ns = state.cycle_started_ns
        return binding

    def count_on(self, binding: Binding, slot: int) -> Status | None:
        """Let a pod count on its node; returns an error if it cannot."""
        state, queued = self._state, binding.queued
        if queued.key in state.cluster.pods:
            # A pod of that name still counts: its deletion has not been seen to the end.
            return Status.error(
                f"pod {queued.key}({queued.uid}) is in the cache, so can't be assumed"
            )
        # One of that name on a node that is gone must not come back in its place.
        state.cluster.forget_pod_on_missing_node(queued.key)
        # The pod counts as it is, without its node's name: it has the keys of its template.
        if slot >= 0:
            state.cluster.place(binding.pod, slot, queued.key)
        else:
            # An extender named a node that does not exist; the API server may know better.
            state.cluster.put(binding.assumed_pod)
        state.queue.nominator.remove(queued.uid)
        return None

    def commit(self, binding: Binding, slot: int) -> None:
        """Assume a pod on its node, and send it there unless Reserve or Permit object."""
        state, queued, placing = self._state, binding.queued, binding.placing
        error = self.count_on(binding, slot)
        if error is not None:
            handle_failure(state, queued, binding.pod, failed(error))
            return
        state.assumed[queued.uid] = binding
        if state.groups.is_used:
            state.groups.mark(binding.pod, is_scheduled=True)
        if not placing.is_plain:
            ended = self._reserve(binding) or self._permit(binding)
            if ended is not None:
                failure, path = ended
                for plugin in placing.unreserve:
                    tell(plugin, "unreserve", binding.cycle, binding.node)
                forget(state, binding)
                handle_failure(state, queued, binding.pod, failure, path=path)
                return
        self._bindings.start(binding)

    def _reserve(self, binding: Binding) -> tuple[Failure, ExtensionPath] | None:
        for plugin in binding.placing.reserve:
            status = ask(plugin, "reserve", binding.cycle, binding.node)
            if not status.is_success:
                return _ended(status, "Reserve")
        return None

    def _permit(self, binding: Binding) -> tuple[Failure, ExtensionPath] | None:
        """Ask the Permit plugins; the pod waits if one of them holds it."""
        state = self._state
        pending: dict[str, int] = {}
        for plugin in binding.placing.permit:
            status, timeout_ns = ask_permit(plugin, binding.cycle, binding.node)
            if status.code == Code.WAIT:
                pending[plugin.name] = min(timeout_ns, LONGEST_WAIT_NS)
            elif not status.is_success:
                return _ended(status, "Permit")
        if pending:
            state.waiting_count += 1
            number, queued = state.waiting_count, binding.queued
            state.waiting[queued.uid] = WaitingPod(number, queued.key, queued.uid, pending)
            for name, timeout_ns in pending.items():
                state.timers.add(state.now_ns + timeout_ns, number, queued.uid, name)
        return None


def _steps(profile: RunningProfile, pod: Pod, cycle_number: int, now_ns: int) -> Steps[Decision]:
    """Decide with extenders, and let PostFilter do something if there is no node."""
    runner = profile.runner
    decision = yield from runner.steps(pod, cycle_number=cycle_number)
    if not decision.node:
        decision = yield from runner.post_filter_steps(
            decision, cycle_number=cycle_number, now_ns=now_ns
        )
    return decision


def _not_preempted(decision: Decision, error: CallError) -> Decision:
    """Return what becomes of a decision if a victim cannot be removed."""
    diagnosis, result = decision.diagnosis, decision.post_filter
    assert diagnosis is not None, f"pod {decision.pod.key} preempted without a diagnosis"
    assert result is not None, f"pod {decision.pod.key} preempted without PostFilter"
    status = Status.error(f"preemption: {error.message}").by(result.status.plugin)
    result = msgspec.structs.replace(result, status=status, nominated_node=None)
    diagnosis = msgspec.structs.replace(diagnosis, post_filter_message=result.message)
    return msgspec.structs.replace(decision, diagnosis=diagnosis, post_filter=result)


def _ended(status: Status, point: str) -> tuple[Failure, ExtensionPath]:
    if status.is_rejection:
        return refused(status), placing_path(point, status.code)
    return failed(worded(status, point)), placing_path(point, Code.ERROR)


def _has_tried_preemption(profile: RunningProfile, status: Status) -> bool:
    """Tell whether DefaultPreemption was asked: it, or all plugins together, had the last word."""
    if status.plugin == _PREEMPTION:
        return True
    if status.code is not Code.UNSCHEDULABLE:
        return False
    return any(plugin.name == _PREEMPTION for plugin in profile.profile.post_filter)

"""The steps of a scheduling cycle for one pod: decide, assume, Reserve, Permit.

The cycles of single pods (`cycle`) and of pod groups (`pod_group`) are made of these steps.

Upstream: pkg/scheduler/schedule_one.go, `schedulingCycle`
"""

from __future__ import annotations

from podwright.apimachinery.objects import Pod
from podwright.scheduler.framework import Code, Cycle, Decision, Status, Steps
from podwright.scheduler.machine.cycles.batching import count_batch
from podwright.scheduler.machine.cycles.binding import Binding
from podwright.scheduler.machine.cycles.binding_cycles import BindingCycles, forget, request_call
from podwright.scheduler.machine.cycles.eviction import Eviction
from podwright.scheduler.machine.cycles.evictions import Evictions
from podwright.scheduler.machine.cycles.failure import Failure, failed, refused
from podwright.scheduler.machine.cycles.failure_handling import handle_failure
from podwright.scheduler.machine.cycles.plugin_calls import (
    ExtensionPath,
    binding_path,
    call_permit,
    call_plugin,
    decision_path,
    notify_plugin,
    with_point,
)
from podwright.scheduler.machine.cycles.waiting import LONGEST_WAIT_NS, WaitingPod
from podwright.scheduler.machine.profiles import RunningProfile
from podwright.scheduler.machine.reporting import emit_failed
from podwright.scheduler.machine.state import State
from podwright.scheduler.preemption import Preemption
from podwright.scheduler.queueing import QueuedPod

_PREEMPTION = "DefaultPreemption"


class PodSteps:
    """Takes one pod through the steps of a cycle."""

    def __init__(self, state: State, bindings: BindingCycles, evictions: Evictions) -> None:
        self._state = state
        self._bindings = bindings
        self._evictions = evictions

    def count(self, profile: RunningProfile, decision: Decision) -> None:
        """Count a decision in the metrics."""
        state, path = self._state, decision_path(decision)
        duration_ns = state.now_ns - state.cycle_started_ns
        count_batch(state.metrics, profile.name, decision)
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

    def decide(
        self, profile: RunningProfile, pod: Pod, cycle_number: int, *, post_filter: bool = True
    ) -> Steps[Decision]:
        """Decide for a pod, with PostFilter if no node fits; yields the calls to extenders."""
        runner, now_ns = profile.runner, self._state.now_ns
        if profile.extenders:
            decision = yield from runner.steps(pod, cycle_number=cycle_number)
        else:
            popped = self._state.queue.scheduling_cycle
            decision = profile.decide(pod, cycle_number=cycle_number, now_ns=now_ns, popped=popped)
        if not post_filter:
            return decision
        if not decision.node:
            decision = yield from runner.post_filter_steps(
                decision, cycle_number=cycle_number, now_ns=now_ns
            )
        return decision

    def make_calls(self, decision: Decision) -> None:
        """Make the calls to the API server that PostFilter plugins request."""
        result = decision.post_filter
        if result is not None:
            for call in result.calls:
                request_call(self._state, call)

    def is_skipped(self, queued: QueuedPod, pod: Pod) -> bool:
        """Report whether a popped pod is not to be scheduled."""
        state = self._state
        if pod.metadata.deletion_timestamp is not None:
            emit_failed(state, pod, f"skip schedule deleting pod: {pod.key}")
            return True
        # It was updated, and so queued again, before it was assumed.
        return queued.uid in state.assumed

    def announce(self, queued: QueuedPod, decision: Decision) -> Eviction | None:
        """Gate a pod whose victims are to be deleted; None if there are no victims."""
        result = decision.post_filter
        if result is not None and isinstance(result.details, Preemption):
            node = result.nominated_node
            if node and self._evictions.is_needed(result.details):
                return self._evictions.announce(
                    self._state.pods.get(queued.key, queued.pod),
                    node,
                    result.status.plugin,
                    result.details,
                )
        return None

    # ------------------------------------------------------------ after a node is chosen

    def binding(self, profile: RunningProfile, queued: QueuedPod, node: str) -> Binding:
        """Return a new binding cycle for the pod that was decided last."""
        state, pod = self._state, queued.pod
        runner = profile.runner
        plugins = profile.bind_plugins(runner.skipped[0])
        cycle = Cycle(pod, state.cluster) if plugins.is_plain else runner.own_cycle(pod)
        state.binding_count += 1
        binding = Binding(state.binding_count, queued, node, cycle, plugins)
        binding.started_ns = state.cycle_started_ns
        return binding

    def count_on(self, binding: Binding, slot: int) -> Status | None:
        """Count a pod on its node; returns an error if that is not possible."""
        state, queued = self._state, binding.queued
        if queued.key in state.cluster.pods:
            # A pod of that name still counts: its deletion has not been observed.
            return Status.error(
                f"pod {queued.key}({queued.uid}) is in the cache, so can't be assumed"
            )
        # A pod of that name on a deleted node must not return when the node does.
        state.cluster.forget_pod_on_missing_node(queued.key)
        # The pod counts as it is, without its node's name: it has the keys of its template.
        if slot >= 0:
            state.cluster.place(binding.pod, slot, queued.key)
        else:
            # An extender named a node that does not exist; the API server decides.
            state.cluster.put(binding.assumed_pod)
        state.queue.nominator.remove(queued.uid)
        return None

    def commit(self, binding: Binding, slot: int) -> None:
        """Assume a pod on its node, and start its binding unless Reserve or Permit reject it."""
        state, queued, plugins = self._state, binding.queued, binding.plugins
        error = self.count_on(binding, slot)
        if error is not None:
            handle_failure(state, queued, binding.pod, failed(error))
            return
        # Assumed before Reserve: `forget` reverts only a pod that is assumed by this binding.
        state.assumed[queued.uid] = binding
        if state.groups.is_used:
            state.groups.mark(binding.pod, is_scheduled=True)
        if not plugins.is_plain:
            ended = self._reserve(binding) or self._permit(binding)
            if ended is not None:
                failure, path = ended
                # As upstream, also the plugins whose Reserve was not called.
                for plugin in plugins.unreserve:
                    notify_plugin(
                        plugin, "unreserve", binding.cycle, binding.node, state.on_ignored
                    )
                forget(state, binding)
                handle_failure(state, queued, binding.pod, failure, path=path)
                return
        self._bindings.start(binding)

    def _reserve(self, binding: Binding) -> tuple[Failure, ExtensionPath] | None:
        for plugin in binding.plugins.reserve:
            status = call_plugin(plugin, "reserve", binding.cycle, binding.node)
            if not status.is_success:
                return _ended(status, "Reserve")
        return None

    def _permit(self, binding: Binding) -> tuple[Failure, ExtensionPath] | None:
        """Call the Permit plugins; the pod waits if one of them returns Wait."""
        state = self._state
        pending: dict[str, int] = {}
        for plugin in binding.plugins.permit:
            status, timeout_ns = call_permit(plugin, binding.cycle, binding.node)
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


def _ended(status: Status, point: str) -> tuple[Failure, ExtensionPath]:
    if status.is_rejection:
        return refused(status), binding_path(point, status.code)
    return failed(with_point(status, point)), binding_path(point, Code.ERROR)


def _has_tried_preemption(profile: RunningProfile, status: Status) -> bool:
    """Report whether DefaultPreemption ran: no plugin before it ended PostFilter."""
    if status.plugin == _PREEMPTION:
        return True
    names = [plugin.name for plugin in profile.profile.post_filter]
    if _PREEMPTION not in names:
        return False
    # A rejection is that of all plugins together; the first one signs it.
    if status.code is Code.UNSCHEDULABLE:
        return True
    return status.plugin in names[names.index(_PREEMPTION) :]

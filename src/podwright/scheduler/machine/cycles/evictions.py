"""Asynchronous preemption: victims are deleted while other pods are scheduled.

Theory of operation
-------------------
A preemptor that was nominated goes back to the queue like any pod that fits nowhere. Its
`Eviction` then runs beside the scheduling cycles:

    CLEARING ─► MANY ─► LAST ─► (over)

*CLEARING* clears the nominations of pods of lower priority to the same node, one after the
other. *MANY* deletes all victims but the last, at most `parallelism` at a time; if one cannot be
deleted the rest stay. *LAST* deletes the last victim.

Until the eviction ends PreEnqueue gates the preemptor, because its victims would still occupy the
node. The gate ends as soon as the deletion of the last victim is observed: that deletion moves
the preemptor in the queue, and it may be observed before the call is answered. After a failure
the preemptor is activated, since no event might ever move it.

A victim that waits at Permit, or is in PreBind, is not running: its binding cycle is canceled
and it is queued again, without a call. Any other victim gets the condition DisruptionTarget and
is then deleted.

`BlockingEvictions` replaces this without the gate SchedulerAsyncPreemption.

Upstream: pkg/scheduler/framework/preemption/executor.go, `prepareCandidateAsync`,
`IsPodRunningPreemption`
"""

from __future__ import annotations

from typing import ClassVar

from podwright._compiled_classes import mypyc_attr
from podwright.apimachinery.objects import Condition, Pod, PodGroup
from podwright.scheduler.machine.actions import DeletePod
from podwright.scheduler.machine.cycles.binding_cycles import BindingCycles, call_failed
from podwright.scheduler.machine.cycles.eviction import Eviction, EvictionStage
from podwright.scheduler.machine.events import CallDone
from podwright.scheduler.machine.reporting import emit, patch_status
from podwright.scheduler.machine.state import State
from podwright.scheduler.preemption import Preemption

HELD = "waiting for the preemption for this pod to be finished"
GROUP_HELD = "waiting for the preemption for this pod group to be finished"


@mypyc_attr(allow_interpreted_subclasses=True)
class Evictions:
    """Runs asynchronous preemptions.

    Parameters
    ----------
    parallelism : int
        How many victims of one preemptor are deleted at the same time.
    """

    is_awaited: ClassVar[bool] = False
    """Whether the scheduling cycle waits until the victims are deleted."""

    def __init__(self, state: State, bindings: BindingCycles, *, parallelism: int = 16) -> None:
        self._state = state
        self._bindings = bindings
        self._parallelism = parallelism

    def is_needed(self, preemption: Preemption) -> bool:
        """Report whether there are victims to delete before the preemptor is retried."""
        return bool(preemption.victims)

    def announce(
        self, preemptor: Pod, node: str, plugin: str, preemption: Preemption
    ) -> Eviction | None:
        """Gate the preemptor from now on; None if there is nothing to do."""
        victims = _not_terminating(preemption.victims)
        return self._hold(Eviction(preemptor, node, plugin, victims))

    def announce_group(
        self, preemptor: PodGroup, members: tuple[Pod, ...], plugin: str, victims: tuple[Pod, ...]
    ) -> Eviction | None:
        """Gate the members of a group from now on; None if there is nothing to do.

        Upstream: pkg/scheduler/framework/preemption/executor.go, actuatePodGroupPreemption
        """
        victims = _not_terminating(victims)
        return self._hold(Eviction(preemptor, "cluster", plugin, victims, members=members))

    def _hold(self, eviction: Eviction) -> Eviction | None:
        if not eviction.victims:
            return None
        self._state.evictions[eviction.preemptor.metadata.uid] = eviction
        return eviction

    def start(self, eviction: Eviction) -> None:
        """Start the eviction, once the preemptor is back in the queue."""
        eviction.started_ns = self._state.now_ns
        eviction.to_clear = self._less_important(eviction)
        self._clear_next(eviction)

    def call_done(self, eviction: Eviction, done: CallDone) -> None:
        """Handle the answer to a call and continue."""
        pod, is_deletion = eviction.busy.pop(done.call)
        if eviction.stage is EvictionStage.CLEARING:
            # A nomination that cannot be cleared does not stop the eviction.
            eviction.has_failed |= done.error is not None
            self._clear_next(eviction)
            return
        if call_failed(done.error):
            eviction.has_failed = eviction.is_stopped = True
            eviction.error = eviction.error or done.error
        # With NotFound neither branch applies: the victim was gone already.
        elif done.error is None and is_deletion:
            self._report(eviction, pod, "")
        elif done.error is None and not eviction.is_stopped:
            self._delete(eviction, pod)
        self._advance(eviction)

    # ------------------------------------------------------------ step by step

    def _clear_next(self, eviction: Eviction) -> None:
        while eviction.to_clear:
            pod = eviction.to_clear.pop(0)
            call = patch_status(self._state, pod, nominated_node="")
            if call is not None:
                self._wait(eviction, call, pod)
                return
        self._cleared(eviction)

    def _cleared(self, eviction: Eviction) -> None:
        """Continue after all nominations are cleared."""
        eviction.stage = EvictionStage.MANY
        self._advance(eviction)

    def _less_important(self, eviction: Eviction) -> list[Pod]:
        """Return the pods of lower priority that are nominated to the node."""
        priority = eviction.preemptor.priority
        return [
            pod
            for pod in self._state.queue.nominator.pods_on(eviction.node)
            if pod.priority < priority
        ]

    def _advance(self, eviction: Eviction) -> None:
        """Delete as many victims as the parallelism allows; finish if none is left."""
        if eviction.stage is EvictionStage.MANY:
            self._remove_some(eviction, len(eviction.victims) - 1)
            if not eviction.busy and not eviction.is_stopped:
                eviction.stage = EvictionStage.LAST
                self._remove(eviction, eviction.victims[-1])
        if not eviction.busy:
            self._finish(eviction)

    def _remove_some(self, eviction: Eviction, count: int) -> None:
        """Delete as many of the first `count` victims as the parallelism allows."""
        while (
            eviction.next_victim < count
            and len(eviction.busy) < self._parallelism
            and not eviction.is_stopped
        ):
            victim = eviction.victims[eviction.next_victim]
            eviction.next_victim += 1
            self._remove(eviction, victim)

    def _remove(self, eviction: Eviction, victim: Pod) -> None:
        if self._bindings.preempt(victim.metadata.uid, eviction.plugin):
            self._report(eviction, victim, " (in kube-scheduler memory).")
            return
        condition = Condition(
            type="DisruptionTarget",
            status="True",
            reason="PreemptionByScheduler",
            message=(
                f"{eviction.scheduler_name}: preempting to accommodate a higher priority"
                f" {eviction.type}"
            ),
        )
        call = patch_status(self._state, victim, condition=condition)
        # The victim has the condition already, so that its deletion does not wait for a patch.
        if call is None:
            self._delete(eviction, victim)
        else:
            self._wait(eviction, call, victim)

    def _delete(self, eviction: Eviction, victim: Pod) -> None:
        state = self._state
        call = state.next_call()
        state.actions.append(DeletePod(call, victim.key, victim.metadata.uid))
        self._wait(eviction, call, victim, is_deletion=True)

    def _wait(self, eviction: Eviction, call: int, pod: Pod, *, is_deletion: bool = False) -> None:
        eviction.busy[call] = (pod, is_deletion)
        self._state.calls[call] = eviction

    def _report(self, eviction: Eviction, victim: Pod, suffix: str) -> None:
        preemptor = eviction.preemptor
        emit(
            self._state,
            victim,
            "Normal",
            "Preempted",
            "Preempting",
            f"Preempted by {eviction.type} {preemptor.metadata.uid} on node"
            f" {eviction.node}{suffix}",
            controller=eviction.scheduler_name,
            related=preemptor.key,
        )

    def _finish(self, eviction: Eviction) -> None:
        state = self._state
        # Upstream keeps one mark per preemptor: one that preempts again while its last victim
        # is being deleted is no longer gated when the first preemption ends, not the second.
        state.evictions.pop(eviction.preemptor.metadata.uid, None)
        duration_ns = state.now_ns - eviction.started_ns
        state.metrics.victims_removed(has_failed=eviction.has_failed, duration_ns=duration_ns)
        if eviction.has_failed:
            state.queue.activate(eviction.pods, state.now_ns)


class BlockingEvictions(Evictions):
    """Preemption that the scheduling cycle waits for: all victims, then all nominations.

    The preemptor is neither gated nor activated. If a victim cannot be deleted, the remaining
    ones stay, nominations are not cleared, and the cycle ends with the error. The cycle of a pod
    group does not wait for its victims.

    Upstream: pkg/scheduler/framework/preemption/executor.go, `prepareCandidate`
    """

    is_awaited = True

    def _hold(self, eviction: Eviction) -> Eviction:
        """Gate no pod."""
        return eviction

    def start(self, eviction: Eviction) -> None:
        """Start to delete the victims."""
        eviction.stage = EvictionStage.MANY
        self._advance(eviction)

    def _advance(self, eviction: Eviction) -> None:
        self._remove_some(eviction, len(eviction.victims))
        if eviction.busy:
            return
        if eviction.is_stopped:
            eviction.is_over = True
            return
        eviction.stage = EvictionStage.CLEARING
        eviction.to_clear = self._less_important(eviction)
        self._clear_next(eviction)

    def _cleared(self, eviction: Eviction) -> None:
        eviction.is_over = True


def _not_terminating(victims: tuple[Pod, ...]) -> tuple[Pod, ...]:
    return tuple([pod for pod in victims if pod.metadata.deletion_timestamp is None])


def is_held(state: State, uid: str) -> Eviction | None:
    """Return the preemption that holds a pod back; None if nothing does."""
    eviction = state.evictions.get(uid)
    if eviction is None or eviction.stage is not EvictionStage.LAST:
        return eviction
    last = state.pods.get(eviction.victims[-1].key)
    if last is None or last.metadata.deletion_timestamp is not None:
        return None
    return eviction

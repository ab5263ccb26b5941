"""Advice for a past cycle: the same cycle runs again with changed objects.

Extenders are not called. A trial that makes a call of the recorded cycle, with the same content,
gets the recorded reply; a trial that needs another reply is not possible.
"""

from __future__ import annotations

from collections.abc import Container

import msgspec

from podwright.apimachinery.objects import Pod
from podwright.scheduler.advice import Advice, Change, Outcome, UnknownReply, edited, find_advice
from podwright.scheduler.assembly import accepting_reply, broken_affinity, reservation_for
from podwright.scheduler.config import ExtenderCall, ExtenderReply, Gates
from podwright.scheduler.framework import Decision, Explanation, run_steps
from podwright.scheduler.preemption import Preemption
from podwright.simulation.recording.explanations.explain import PastCycle


def past_advice(
    past: PastCycle, explanation: Explanation, *, gates: Gates, custom_plugins: Container[str] = ()
) -> Advice:
    """Return changes after which the pod of a past cycle would have fit, and what limits them.

    Parameters
    ----------
    past : PastCycle
        Its machine is changed and reverted.
    explanation : Explanation
        Of the cycle as recorded, by `past.explain`.
    gates : Gates
        Of the recorded run.
    custom_plugins : container of str
        The names of its out-of-tree plugins.
    """
    cluster = past.machine.cluster
    found = find_advice(
        explanation, cluster, _PastTrial(past), gates=gates, custom_plugins=custom_plugins
    )
    limits = (*broken_affinity(explanation, cluster), *found.limits)
    return msgspec.structs.replace(found, limits=limits)


class _PastTrial:
    """A `Trial` of `podwright.scheduler.advice` in the state before a past cycle."""

    pods_ahead = 0

    def __init__(self, past: PastCycle) -> None:
        self._past = past
        self._cluster = past.machine.cluster
        self._bypassed: frozenset[int] = frozenset()

    def run(self, change: Change) -> Outcome | None:
        """Run the cycle with a change; None if the pod does not fit."""
        # A cycle moves the start of the next search; every trial starts where the recorded one did.
        position = self._past.runner.search_position()
        try:
            with edited(self._cluster, put=change.put, delete=change.delete, drop=change.drop):
                self._bypassed = change.bypassed
                return self._outcome(change.pod, evicts=change.evicts)
        finally:
            self._bypassed = frozenset()
            self._past.runner.restore_search_position(position)

    def confirm(self, change: Change) -> Outcome | None:
        """Run the cycle with a change: no other pods are scheduled in it."""
        return self.run(change)

    def explain(self, change: Change) -> Explanation:
        """Run the cycle with a change and everything recorded."""
        past = self._past
        with edited(self._cluster, put=change.put, delete=change.delete, drop=change.drop):
            return past.runner.explain(
                change.pod,
                cycle_number=past.number,
                now_ns=past.entry.now_ns,
                call_extender=self._reply,
                post_filter=change.evicts,
            )

    def _outcome(self, pod: Pod, *, evicts: bool) -> Outcome | None:
        decision = self._decide(pod)
        if decision.node:
            return Outcome(decision.node, decision.feasible_count)
        if not evicts:
            return None
        past = self._past
        steps = past.runner.post_filter_steps(
            decision, cycle_number=past.number, now_ns=past.entry.now_ns
        )
        result = run_steps(steps, self._reply).post_filter
        if result is None or not result.nominated_node:
            return None
        victims = result.details.victims if isinstance(result.details, Preemption) else ()
        # The pod's next cycle, as it is once the victims are gone.
        for victim in victims:
            self._cluster.remove(victim.key)
        decision = self._decide(pod)
        if not decision.node:
            return None
        names = tuple(victim.key for victim in victims)
        return Outcome(decision.node, decision.feasible_count, names)

    def _decide(self, pod: Pod) -> Decision:
        """Run the cycle up to Reserve, which is undone."""
        runner = self._past.runner
        decision = run_steps(runner.steps(pod, cycle_number=self._past.number), self._reply)
        reservation = reservation_for(runner, decision) if decision.slot >= 0 else None
        if reservation is None:
            return decision
        # The scheduler assumes the pod before its plugins reserve; the trial takes it back.
        self._cluster.place(pod, decision.slot)
        status = reservation.reserve()
        if status.is_success:
            reservation.take_back()
        return decision if status.is_success else Decision(pod=pod, error=status)

    def _reply(self, call: ExtenderCall) -> ExtenderReply:
        if call.extender in self._bypassed and call.verb == "filter":
            return accepting_reply(call)
        reply = self._past.replies.get(call)
        if reply is None:
            raise UnknownReply(f"the recorded cycle did not call {call.url} with the same content")
        return reply

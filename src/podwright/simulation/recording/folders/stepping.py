"""Stepping through a recorded run, forward and backward.

A position is a number of handled events; the current event is the last of them. A step forward
handles the next event. A step backward replays from the checkpoint before. The last few hundred
moments on the way to a position are kept, so most steps backward replay nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping

import msgspec

from podwright.apimachinery.objects import NamespacedName, Pod
from podwright.scheduler.framework import Plugin
from podwright.scheduler.machine import (
    Action,
    CallDone,
    Event,
    ExtenderReplied,
    Machine,
    ObjectDeleted,
    ObjectPut,
)
from podwright.simulation.recording.explanations.explain import Cycles
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import Entry, decode_actions
from podwright.simulation.recording.log.replay import Replay

_KEPT = 500


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """The state after an event, as far as it is shown.

    Parameters
    ----------
    entry : Entry
        The event, with the recorded actions.
    is_new : bool or None
        Whether the event creates a pod; None if the pod has ended and the machine does not know it,
        as it forgets a pod that ends.
    request : Action, optional
        The action that the event replies to, if it is known.
    sizes : mapping of str to int
        The number of pods in each subqueue.
    node_count, placed_count : int
        The number of nodes, and of pods that are assigned to one or assumed there.
    """

    entry: Entry
    is_new: bool | None
    request: Action | None
    sizes: Mapping[str, int]
    node_count: int
    placed_count: int

    @property
    def actions(self) -> list[Action]:
        """The recorded actions."""
        return decode_actions(self.entry.actions)


class Stepper:
    """Steps through a log.

    Parameters
    ----------
    log : DecisionLog
    plugins : iterable of type
        The user's own plugin classes that the run was recorded with.
    kept : int
        The number of moments to keep before the current one.
    """

    def __init__(
        self, log: DecisionLog, *, plugins: Iterable[type[Plugin]] = (), kept: int = _KEPT
    ) -> None:
        self._log = log
        self._plugins = tuple(plugins)
        self._kept = kept
        self._run = Replay(log, until=0, plugins=self._plugins)
        self._moments: OrderedDict[int, Moment] = OrderedDict()
        self._requests: dict[int, Action] = {}
        self._position = 0
        self._cycles: Cycles | None = None

    @property
    def position(self) -> int:
        """The number of handled events."""
        return self._position

    @property
    def moment(self) -> Moment | None:
        """The state after the current event; None before the first event."""
        return self._moments.get(self._position)

    @property
    def cycles(self) -> Cycles:
        """The cycles of the log, by pod and by event."""
        if self._cycles is None:
            self._cycles = Cycles(self._log)
        return self._cycles

    @property
    def machine(self) -> Machine:
        """The machine at this position; to read."""
        if self._run.index != self._position:
            self._begin_before(self._position)
            self._advance(self._position)
        return self._run.machine

    # ------------------------------------------------------------ moving

    def forward(self) -> bool:
        """Step to the next event; False at the end."""
        return self.go_to(self._position + 1)

    def back(self) -> bool:
        """Step back by one event; False at the start."""
        return self.go_to(self._position - 1)

    def go_to(self, position: int) -> bool:
        """Go to a position; False if it is not in the run, or is this one."""
        target = min(max(position, 0), len(self._log))
        if target == self._position:
            return False
        if target not in self._moments:
            if target < self._run.index or self._begins_later(target):
                self._begin_before(target)
            self._advance(target)
        self._position = target
        return target == position

    def go_to_time(self, at_ns: int) -> bool:
        """Go to the position after every event up to a time; False if it is the current one."""
        return self.go_to(self._log.index_at_ns(at_ns))

    def next_cycle(self) -> bool:
        """Go to the end of the next cycle; False if there is none."""
        ends = self.cycles.ends
        place = bisect_left(ends, self._position)
        return place < len(ends) and self.go_to(ends[place] + 1)

    def previous_cycle(self) -> bool:
        """Go back to the end of the cycle before; False if there is none."""
        ends = self.cycles.ends
        # The current event has the number `position - 1`; a cycle that it ended is not before it.
        place = bisect_left(ends, self._position - 1)
        return place > 0 and self.go_to(ends[place - 1] + 1)

    def next_about(self, pod: NamespacedName) -> bool:
        """Go to the next event that concerns a pod; False if there is none."""
        calls = self._calls_about(pod)
        text = pod.encode()
        for entry in self._log.entries(self._position):
            actions: list[Action] = []
            # The name may be a prefix of another name, or part of a message.
            if text in entry.actions:
                actions = [a for a in decode_actions(entry.actions) if _pod_of(a) == pod]
            is_reply = _call_of(entry) in calls
            if actions or is_reply or pod in entry.pods or _subject_of(entry) == pod:
                return self.go_to(entry.index + 1)
            calls.update(call for action in actions if (call := _number_of(action)) is not None)
        return False

    def _calls_about(self, pod: NamespacedName) -> set[int]:
        """Return the calls about a pod that may get a reply later, as far as they are known."""
        requests = [*self._requests.values()]
        for moment in self._moments.values():
            if pod.encode() in moment.entry.actions:
                requests += moment.actions
        numbers = (_number_of(action) for action in requests if _pod_of(action) == pod)
        return {number for number in numbers if number is not None}

    def attempt_of(self, pod: NamespacedName) -> int:
        """Return which attempt of a pod the cycle that ended with this event was."""
        return bisect_right(self.cycles.of(pod), self._position - 1)

    # ------------------------------------------------------------ the machine

    def _begins_later(self, position: int) -> bool:
        """Tell whether a checkpoint is closer to a position than the machine."""
        checkpoints = self._log.checkpoints
        place = bisect_right(checkpoints, max(position - self._kept, 0))
        return place > 0 and checkpoints[place - 1] > self._run.index

    def _begin_before(self, position: int) -> None:
        # Earlier, so that the moments before the position are kept for later steps backward.
        until = max(position - self._kept, 0)
        self._run = Replay(self._log, until=until, plugins=self._plugins)

    def _advance(self, position: int) -> None:
        """Handle events up to a position, and keep the last moments."""
        run = self._run
        run.run_to(position - self._kept)
        while run.index < position:
            entry = run.peek()
            if entry is None:
                return
            is_new = _is_new(run.machine, entry.event)
            step = run.step()
            assert step is not None, "there was an entry"
            self._requests.update(
                (call, action) for action in step[1] if (call := _number_of(action)) is not None
            )
            request = self._requests.pop(_call_of(entry), None)
            self._moments[run.index] = _moment(run.machine, entry, request, is_new=is_new)
            while len(self._moments) > self._kept:
                self._moments.popitem(last=False)


def _is_new(machine: Machine, event: Event) -> bool | None:
    if not isinstance(event, ObjectPut) or not isinstance(event.obj, Pod):
        return False
    if machine.pod(event.obj.key) is not None:
        return False
    return None if event.obj.status.phase in ("Succeeded", "Failed") else True


def _moment(
    machine: Machine, entry: Entry, request: Action | None, *, is_new: bool | None
) -> Moment:
    sizes = dict(machine.queue.metrics().pending_pods)
    sizes["in_flight"] = len(machine.queue.in_flight())
    return Moment(
        entry=entry,
        is_new=is_new,
        request=request,
        sizes=sizes,
        node_count=machine.cluster.nodes.n_alive,
        placed_count=len(machine.cluster.pods),
    )


def _subject_of(entry: Entry) -> NamespacedName:
    """Return the pod that an event is about; "" if it is about something else."""
    match entry.event:
        case ObjectPut(obj) | ObjectDeleted(obj) if isinstance(obj, Pod):
            return obj.key
        case event:
            name: NamespacedName = getattr(event, "pod", "")
            return name


def _call_of(entry: Entry) -> int:
    """Return the number of the call that an event replies to; -1 if it is not a reply."""
    match entry.event:
        case CallDone(call) | ExtenderReplied(call):
            return call
        case _:
            return -1


def _number_of(action: Action) -> int | None:
    """Return the call number of an action that gets a reply."""
    number: int | None = getattr(action, "call", None)
    return number


def _pod_of(action: Action) -> NamespacedName:
    """Return the pod that an action is about; "" if it is about something else."""
    name: NamespacedName = getattr(action, "pod", "")
    return name

"""Explanation of a past cycle: the same cycle runs again, with all results recorded.

Replay sets the machine to the state before the cycle. The cycle then runs for its explanation
only, with the same random draw, so its decision is the recorded one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from msgspec.structs import replace

from podwright._progress import metered
from podwright.apimachinery.objects import (
    ArgumentError,
    NamespacedName,
    Pod,
    PodwrightError,
    Time,
    nearest,
    timestamp_text,
)
from podwright.scheduler.config import ExtenderCall, ExtenderReply
from podwright.scheduler.framework import CallExtender, Explanation, Plugin, Runner
from podwright.scheduler.machine import CycleDue, ExtenderReplied, Machine
from podwright.simulation.recording.log.decision_log import DecisionLog, require_log
from podwright.simulation.recording.log.log_format import Entry
from podwright.simulation.recording.log.replay import Replay


class UnknownCycle(PodwrightError):  # noqa: N818 - named for what it is
    """The log does not contain the cycle."""


class Cycles:
    """The scheduling cycles of a log, by pod and by event.

    Parameters
    ----------
    log : DecisionLog
    naming : str
        A part of a name: all cycles of the pods whose names contain it, and few others.

    Attributes
    ----------
    ends : list of int
        The numbers of the events in which cycles ended, in order.
    """

    def __init__(self, log: DecisionLog, naming: str = "") -> None:
        self._ends: dict[NamespacedName, list[int]] = {}
        self.ends: list[int] = []
        for index, pod in log.cycles(naming):
            self._ends.setdefault(pod, []).append(index)
            # The cycle of a pod group ends for all its pods in one event.
            if self.ends[-1:] != [index]:
                self.ends.append(index)

    @property
    def pods(self) -> Collection[NamespacedName]:
        """The pods, in the order of their first attempts."""
        return self._ends

    def of(self, pod: NamespacedName) -> Sequence[int]:
        """Return the numbers of the events in which the cycles of a pod ended."""
        return self._ends.get(pod, ())


class _CycleStart(NamedTuple):
    """The start of a cycle."""

    machine: Machine
    """The machine just before the cycle."""
    entry: Entry
    """The event that starts the cycle."""
    event_index: int
    """The number of the event in which it starts; not that of `entry` if the machine deferred
    `entry` because another cycle was suspended."""
    replies: Sequence[Entry]
    """The events from the start of the cycle to its end."""


class PastCycle:
    """A past cycle, and the machine before it.

    Attributes
    ----------
    run : Replay
        The replay; its next event is the one in which the cycle starts.
    machine : Machine
        The machine just before the cycle; it may be changed. It is the machine of `run`, unless
        the event that starts the cycle was deferred because another cycle was suspended.
    entry : Entry
        The event that starts the cycle, with the time of the start.
    end : int
        The number of the event in which the cycle ended.
    ends : sequence of int
        The same for all cycles of the pod.
    pod : Pod
        The pod as the cycle evaluated it.
    runner : Runner
        The runner of the pod's profile.
    number : int
        The number of the cycle, which determines its random draw.
    replies : dict of ExtenderCall to ExtenderReply
        The replies to the extender calls of the cycle; filled by `explain` of the recorded runner.
    """

    def __init__(
        self, run: Replay, start: _CycleStart, pod: Pod, *, end: int, ends: Sequence[int]
    ) -> None:
        machine = start.machine
        runner = machine.runner(pod.spec.scheduler_name)
        assert runner is not None, f"no profile matches {pod.key}, which has a scheduling attempt"
        self.run = run
        self.machine: Machine = machine
        self.entry = start.entry
        self.end = end
        self.ends = ends
        self.pod = pod
        self.runner: Runner = runner
        self.number = machine.queue.scheduling_cycle + 1
        self.replies: dict[ExtenderCall, ExtenderReply] = {}
        self._replies = start.replies

    @property
    def attempt(self) -> int:
        """The number of the attempt; the first is 1."""
        return self.ends.index(self.end) + 1

    def explain(self, runner: Runner | None = None) -> Explanation:
        """Run the cycle with all results recorded; the machine does not change.

        Parameters
        ----------
        runner : Runner, optional
            A runner to use instead of the recorded one.
        """
        deciding = self.runner if runner is None else runner
        explanation = deciding.explain(
            self.pod,
            cycle_number=self.number,
            now_ns=self.entry.now_ns,
            call_extender=_recorded_answers(self._replies, self.replies if runner is None else {}),
        )
        return replace(explanation, attempt=self.attempt)

    def confirm(self) -> None:
        """Replay to the end of the cycle, to check its actions; call `explain` before.

        Raises
        ------
        LogError
            If an out-of-tree plugin decides differently than recorded.
        """
        self.run.run_to(self.end + 1)


def _recorded_answers(
    replies: Iterable[Entry], found: dict[ExtenderCall, ExtenderReply]
) -> CallExtender:
    """Reply to extender calls with the recorded replies, in order, and collect both."""
    events: Iterator[ExtenderReply] = (
        entry.event.reply for entry in replies if isinstance(entry.event, ExtenderReplied)
    )

    def answer(call: ExtenderCall) -> ExtenderReply:
        reply = next(events, None)
        if reply is None:
            raise UnknownCycle(
                f"the log has no reply to {call}: the recorded cycle did not make this call"
            )
        found[call] = reply
        return reply

    return answer


def find_cycle(
    log: DecisionLog,
    pod: NamespacedName,
    attempt: int = -1,
    *,
    at_ns: int | None = None,
    plugins: Iterable[type[Plugin]] = (),
    cycles: Cycles | None = None,
) -> PastCycle:
    """Replay to the state before one cycle of a pod.

    Parameters
    ----------
    pod : str
        `namespace/name`.
    attempt : int
        1 is the first cycle of the pod, -1 the last.
    at_ns : int, optional
        Instead of `attempt`: the last cycle that had ended at this time, in nanoseconds since 1970.
    plugins : iterable of type
        The out-of-tree plugin classes that the run was recorded with.
    cycles : Cycles, optional
        The cycles of the log, if the caller has them.

    Raises
    ------
    UnknownCycle
        If the pod has no such attempt.
    LogError
        If the run cannot be replayed.
    """
    known = Cycles(log) if cycles is None else cycles
    end = _end_of(log, known, pod, attempt, at_ns)
    own = tuple(plugins)
    run = Replay(log, until=end, plugins=own, is_repeated=True)
    run.run_to(end)
    entry = run.peek()
    assert entry is not None, f"the log has no event {end}"
    start = _CycleStart(run.machine, entry, entry.index, ())
    if not isinstance(entry.event, CycleDue):
        # The cycle called extenders: it started earlier and was suspended until they replied.
        start = _suspended_start(log, pod, end, own)
        run = Replay(log, until=start.event_index, plugins=own)
        run.run_to(start.event_index)
        # A deferred event is processed inside another one; only `_suspended_start` stops there.
        if start.entry.index == start.event_index:
            start = start._replace(machine=run.machine)
    queued = start.machine.queue.get(pod)
    if queued is None:
        raise UnknownCycle(f"pod {pod} was not in the queue before event {start.event_index}")
    return PastCycle(run, start, queued.pod, end=end, ends=known.of(pod))


def explain_cycles(
    log: DecisionLog,
    requested: Iterable[tuple[int, NamespacedName]],
    *,
    plugins: Iterable[type[Plugin]] = (),
    is_shown: bool | None = None,
) -> Iterator[tuple[NamespacedName, Explanation]]:
    """Explain many past cycles, in their order; see `past_cycles` for parameters and errors."""
    for past in past_cycles(log, requested, plugins=plugins, is_shown=is_shown):
        yield past.pod.key, past.explain()


def past_cycles(
    log: DecisionLog,
    requested: Iterable[tuple[int, NamespacedName]],
    *,
    plugins: Iterable[type[Plugin]] = (),
    is_shown: bool | None = None,
) -> Iterator[PastCycle]:
    """Yield many past cycles, in their order, with one forward replay.

    The replay of a cycle may be continued until the next one is taken, which ends its use.

    Parameters
    ----------
    requested : iterable of (int, str)
        The number of the event in which a cycle ended, and its pod.
    plugins : iterable of type
        The out-of-tree plugin classes that the run was recorded with.
    is_shown : bool, optional
        Whether the progress is shown.

    Raises
    ------
    UnknownCycle
        If no cycle of the pod ended in the event.
    LogError
        If the run cannot be replayed.
    """
    ordered = sorted(requested)
    with metered("explaining", len(ordered), is_shown=is_shown) as meter:
        for number, past in enumerate(_in_order(log, ordered, tuple(plugins)), start=1):
            yield past
            meter.advance(number)


def _in_order(
    log: DecisionLog,
    requested: Sequence[tuple[int, NamespacedName]],
    own: tuple[type[Plugin], ...],
) -> Iterator[PastCycle]:
    known, checkpoints = Cycles(log), log.checkpoints
    run: Replay | None = None
    for end, pod in requested:
        if end not in known.of(pod):
            raise UnknownCycle(f"no cycle of pod {pod} ended in event {end}")
        # The caller may have replayed beyond it. A checkpoint on the way saves handling the events
        # before it.
        if run is None or run.index > end or any(run.index < start <= end for start in checkpoints):
            run = Replay(log, until=end, plugins=own, is_repeated=True)
        run.run_to(end)
        entry = run.peek()
        assert entry is not None, f"the log has no event {end}"
        queued = run.machine.queue.get(pod)
        if isinstance(entry.event, CycleDue) and queued is not None:
            start = _CycleStart(run.machine, entry, entry.index, ())
            yield PastCycle(run, start, queued.pod, end=end, ends=known.of(pod))
        else:
            # The cycle called extenders and started in an earlier event.
            attempt = known.of(pod).index(end) + 1
            yield find_cycle(log, pod, attempt, plugins=own, cycles=known)


def select_cycles(
    log: DecisionLog,
    pods: Iterable[NamespacedName] | None = None,
    *,
    first_ns: int | None = None,
    last_ns: int | None = None,
) -> list[tuple[int, NamespacedName]]:
    """Return the cycles of some pods between two times, as `explain_cycles` takes them.

    Parameters
    ----------
    pods : iterable of str, optional
        `namespace/name`; without it, all pods.
    first_ns, last_ns : int, optional
        The first and the last time at which a cycle may have ended.

    Raises
    ------
    UnknownCycle
        If one of the pods has no cycle in the log.
    """
    known = Cycles(log)
    chosen = list(known.pods if pods is None else dict.fromkeys(pods))
    # `index_at` returns the event after a time, and the cycles at `first_ns` count.
    first = 0 if first_ns is None else log.index_at_ns(first_ns - 1)
    end = len(log) if last_ns is None else log.index_at_ns(last_ns)
    for pod in chosen:
        _end_of(log, known, pod, -1, None)
    return sorted((index, pod) for pod in chosen for index in known.of(pod) if first <= index < end)


_NAMESAKES_SHOWN: Final = 3


def _end_of(
    log: DecisionLog, cycles: Cycles, pod: NamespacedName, attempt: int, at_ns: int | None
) -> int:
    found = cycles.of(pod)
    if not found:
        namesakes = [key for key in cycles.pods if key.rpartition("/")[2] == pod]
        near = " or ".join(namesakes[:_NAMESAKES_SHOWN]) or nearest(pod, cycles.pods)
        hint = f"; did you mean {near}?" if near else ""
        raise UnknownCycle(f"pod {pod} has no scheduling attempt in this log{hint}{_dropped(log)}")
    if at_ns is not None:
        if attempt != -1:
            raise ArgumentError("attempt and at: specify one of them, not both")
        limit = log.index_at_ns(at_ns)
        before = bisect_left(found, limit)
        if not before:
            first = timestamp_text(log.time_of(found[0]))
            raise UnknownCycle(
                f"pod {pod} has no scheduling attempt before {timestamp_text(at_ns)}; its first was"
                f" at {first}{_dropped(log)}"
            )
        return found[before - 1]
    if attempt == 0 or not -len(found) <= attempt <= len(found):
        raise UnknownCycle(
            f"pod {pod} has {len(found)} scheduling attempt{'s' * (len(found) != 1)}: there is no "
            f"attempt {attempt}"
            f"{_dropped(log)}"
        )
    return found[attempt - 1 if attempt > 0 else attempt]


def _dropped(log: DecisionLog) -> str:
    """Return what a message about a missing attempt adds if the log is bounded."""
    if not 0 < log.first < len(log):
        return ""
    since = timestamp_text(log.time_of(log.first))
    return f"; the attempts before {since} are no longer in the log"


def _suspended_start(
    log: DecisionLog, pod: NamespacedName, end: int, plugins: Sequence[type[Plugin]]
) -> _CycleStart:
    """Return the start of a suspended cycle, given the event in which it ended."""
    run = Replay(log, until=end, plugins=plugins)
    machine = run.machine
    steps: list[tuple[Entry, int]] = []
    last, begin, found = machine.last_decisions, -1, (-1, -1)
    for step in chain(run.processed(), (None,)):
        # The decisions of the previous step.
        if machine.last_decisions is not last:
            last = machine.last_decisions
            if any(decision.pod.key == pod for decision in last):
                found = (begin, len(steps))
        if step is None or step[1] > end:
            break
        if isinstance(step[0].event, CycleDue):
            begin = len(steps)
        steps.append(step)
    begin, stop = found
    if begin < 0:
        raise UnknownCycle(f"the cycle that ended with event {end} started before the log")
    entry, index = steps[begin]
    # Deferred: `processed` pauses before it handles an event, which leaves the machine there.
    if entry.index != index:
        run = Replay(log, until=end, plugins=plugins)
        machine = run.machine
        for _ in islice(run.processed(), begin + 1):
            pass
    return _CycleStart(machine, entry, index, [entry for entry, _ in steps[begin:stop]])


def explain_cycle(
    log: DecisionLog,
    pod: NamespacedName,
    attempt: int = -1,
    *,
    at: Time | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> Explanation:
    """Explain one past cycle of a pod in full.

    Parameters
    ----------
    log : DecisionLog
        The log of the run.
    pod : str
        `namespace/name`.
    attempt : int
        1 is the first cycle of the pod, -1 the last.
    at : Time, optional
        Instead of `attempt`: the last cycle that had ended at this time.
    plugins : iterable of type
        The out-of-tree plugin classes that the run was recorded with.
    """
    require_log(log)
    past = find_cycle(log, pod, attempt, at_ns=log.read_optional_time(at), plugins=plugins)
    explanation = past.explain()
    past.confirm()
    return explanation

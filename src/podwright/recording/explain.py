"""Explanation of a past cycle: the same cycle runs again, with all results recorded.

Replay sets the machine to the state before the cycle. The cycle then runs for its explanation
only, with the same random draw, so its decision is the recorded one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from podwright.config import ExtenderCall, ExtenderReply
from podwright.framework import CallExtender, Explanation, Plugin, Runner
from podwright.machine import CycleDue, ExtenderReplied, Machine
from podwright.objects import NamespacedName, Pod, PodwrightError, nearest, timestamp_text
from podwright.recording.decision_log import DecisionLog
from podwright.recording.log_format import Entry
from podwright.recording.replay import Replay


class UnknownCycle(PodwrightError):  # noqa: N818 - named for what it is
    """The log has no such cycle."""


class Cycles:
    """The scheduling cycles of a log, by pod and by event.

    Parameters
    ----------
    log : DecisionLog

    Attributes
    ----------
    ends : list of int
        The numbers of the events in which cycles ended, in order.
    """

    def __init__(self, log: DecisionLog) -> None:
        self._ends: dict[NamespacedName, list[int]] = {}
        self.ends: list[int] = []
        for index, pod in log.cycles():
            self._ends.setdefault(pod, []).append(index)
            # The cycle of a pod group ends for all its pods in one event.
            if self.ends[-1:] != [index]:
                self.ends.append(index)

    @property
    def pods(self) -> Collection[NamespacedName]:
        """The pods, in the order of their first attempts."""
        return self._ends.keys()

    def of(self, pod: NamespacedName) -> Sequence[int]:
        """Return the numbers of the events in which the cycles of a pod ended."""
        return self._ends.get(pod, ())


class _Began(NamedTuple):
    """The start of a cycle."""

    machine: Machine
    """As it was just before."""
    entry: Entry
    """The event that begins the cycle."""
    event_index: int
    """The number of the event in which it begins: another one, if a cycle was held up then."""
    replies: Sequence[Entry]
    """What came from then on until it ended."""


class PastCycle:
    """A past cycle, and the machine before it.

    Attributes
    ----------
    run : Replay
        The run, about to handle the event in which the cycle begins.
    machine : Machine
        As it was just before the cycle; it may be changed. It is that of `run`, but if the cycle
        was told to begin while another one was held up.
    entry : Entry
        The event that begins the cycle, at the time at which it does.
    end : int
        The number of the event in which the cycle ended.
    ends : sequence of int
        The same for all cycles of the pod.
    pod : Pod
        As it was tried.
    runner : Runner
        Who decided.
    number : int
        Of the cycle, for its draw.
    """

    def __init__(
        self, run: Replay, began: _Began, pod: Pod, *, end: int, ends: Sequence[int]
    ) -> None:
        machine = began.machine
        runner = machine.runner(pod.spec.scheduler_name)
        assert runner is not None, f"no profile is for {pod.key}, yet it was tried"
        self.run = run
        self.machine: Machine = machine
        self.entry = began.entry
        self.end = end
        self.ends = ends
        self.pod = pod
        self.runner: Runner = runner
        self.number = machine.queue.scheduling_cycle + 1
        self._replies = began.replies

    @property
    def attempt(self) -> int:
        """The number of the attempt; the first is 1."""
        return self.ends.index(self.end) + 1

    def explain(self, runner: Runner | None = None) -> Explanation:
        """Run the cycle for its explanation, without changing the machine.

        Parameters
        ----------
        runner : Runner, optional
            A runner to use instead of the recorded one.
        """
        deciding = self.runner if runner is None else runner
        return deciding.explain(
            self.pod,
            cycle_number=self.number,
            now_ns=self.entry.now_ns,
            call_extender=_recorded_answers(self._replies),
        )

    def confirm(self) -> None:
        """Replay to the end of the cycle; explain it first.

        Raises
        ------
        LogError
            If an out-of-tree plugin decides differently than recorded.
        """
        self.run.run_to(self.end + 1)


def _recorded_answers(replies: Iterable[Entry]) -> CallExtender:
    """Reply to extender calls with the recorded replies, in order."""
    events: Iterator[ExtenderReply] = (
        entry.event.reply for entry in replies if isinstance(entry.event, ExtenderReplied)
    )

    def answer(call: ExtenderCall) -> ExtenderReply:
        reply = next(events, None)
        if reply is None:
            raise UnknownCycle(f"the log has no answer to {call}: this was not asked then")
        return reply

    return answer


def cycles_of(log: DecisionLog, pod: NamespacedName) -> list[int]:
    """Return the numbers of the events in which cycles of one pod ended."""
    return log.cycles_of(pod)


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
        Instead of `attempt`: the last one that was over at this time.
    plugins : iterable of type
        The user's own plugin classes that the run was recorded with.
    cycles : Cycles, optional
        Those of the log, if they are known already.

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
    run = Replay(log, until=end, plugins=own)
    run.run_to(end)
    entry = run.peek()
    assert entry is not None, f"the log has no event {end}"
    began = _Began(run.machine, entry, entry.index, ())
    if not isinstance(entry.event, CycleDue):
        # The cycle called extenders: it started earlier and was suspended until they replied.
        began = _began(log, pod, end, own)
        run = Replay(log, until=began.event_index, plugins=own)
        run.run_to(began.event_index)
        if began.entry.index == began.event_index:
            began = began._replace(machine=run.machine)
    queued = began.machine.queue.get(pod)
    if queued is None:
        raise UnknownCycle(f"pod {pod} was not in the queue before event {began.event_index}")
    return PastCycle(run, began, queued.pod, end=end, ends=known.of(pod))


def _end_of(
    log: DecisionLog, cycles: Cycles, pod: NamespacedName, attempt: int, at_ns: int | None
) -> int:
    found = cycles.of(pod)
    if not found:
        near = nearest(pod, cycles.pods)
        hint = f"; did you mean {near}?" if near else ""
        raise UnknownCycle(f"no cycle of this log is for pod {pod}{hint}")
    if at_ns is not None:
        limit = log.index_at(at_ns)
        before = bisect_left(found, limit)
        if not before:
            first = timestamp_text(log.time_of(found[0]))
            raise UnknownCycle(
                f"pod {pod} was not tried before {timestamp_text(at_ns)}; its first attempt was at"
                f" {first}"
            )
        return found[before - 1]
    if attempt == 0 or not -len(found) <= attempt <= len(found):
        raise UnknownCycle(f"pod {pod} was tried {len(found)} times: there is no attempt {attempt}")
    return found[attempt - 1 if attempt > 0 else attempt]


def _began(
    log: DecisionLog, pod: NamespacedName, end: int, plugins: Sequence[type[Plugin]]
) -> _Began:
    """Return the start of a suspended cycle, given the event in which it ended."""
    run = Replay(log, until=end, plugins=plugins)
    machine = run.machine
    steps: list[tuple[Entry, int]] = []
    last, begin, found = machine.last_decisions, -1, (-1, -1)
    for step in chain(run.taken_in(), (None,)):
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
        raise UnknownCycle(f"the cycle that ended with event {end} began before the log")
    entry, index = steps[begin]
    if entry.index != index:
        run = Replay(log, until=end, plugins=plugins)
        machine = run.machine
        for _ in islice(run.taken_in(), begin + 1):
            pass
    return _Began(machine, entry, index, [entry for entry, _ in steps[begin:stop]])


def explain_cycle(
    log: DecisionLog,
    pod: NamespacedName,
    attempt: int = -1,
    *,
    at_ns: int | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> Explanation:
    """Explain one past cycle of a pod in full; see `find_cycle` for the parameters."""
    past = find_cycle(log, pod, attempt, at_ns=at_ns, plugins=plugins)
    explanation = past.explain()
    past.confirm()
    return explanation

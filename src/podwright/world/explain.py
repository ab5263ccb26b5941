"""A past cycle, explained in full: the same cycle again, with everything recorded.

The machine is brought to the moment before the cycle. Then the cycle is run for its
explanation only, with the draw that it had, so the answer is the one that was given then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podwright.config import ExtenderCall, ExtenderReply
from podwright.framework import Plugin
from podwright.framework.explain import Explanation, explain
from podwright.framework.extenders import CallExtender
from podwright.framework.run import Runner
from podwright.machine import CycleDue, ExtenderReplied, Machine
from podwright.objects import NamespacedName, Pod
from podwright.objects.errors import PodwrightError, nearest
from podwright.store.decision_log import DecisionLog
from podwright.store.log_format import Entry
from podwright.world.replay import Replay


class UnknownCycle(PodwrightError):  # noqa: N818 - named for what it is
    """The log has no such cycle."""


class PastCycle:
    """The moment before a cycle.

    Attributes
    ----------
    entry : Entry
        The event that begins the cycle.
    machine : Machine
        As it was before that event; it may be changed.
    pod : Pod
        As it was tried.
    runner : Runner
        Who decided.
    number : int
        Of the cycle, for its draw.
    """

    def __init__(self, machine: Machine, entry: Entry, pod: Pod, replies: list[Entry]) -> None:
        runner = machine.runner(pod.spec.scheduler_name)
        assert runner is not None, f"no profile is for {pod.key}, yet it was tried"
        self.machine = machine
        self.entry = entry
        self.pod = pod
        self.runner: Runner = runner
        self.number = machine.queue.scheduling_cycle + 1
        self._replies = replies

    def explain(self, runner: Runner | None = None) -> Explanation:
        """Run the cycle for its explanation; nothing is changed.

        Parameters
        ----------
        runner : Runner, optional
            Instead of the one who decided.
        """
        return explain(
            self.runner if runner is None else runner,
            self.pod,
            cycle_number=self.number,
            now_ns=self.entry.now_ns,
            call_extender=_recorded_answers(self._replies),
        )


def _recorded_answers(replies: Iterable[Entry]) -> CallExtender:
    """Answer calls of extenders as they were answered then, in order."""
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
    """Return the numbers of the events in which a node was looked for, for one pod."""
    return log.cycles_of(pod)


def find_cycle(
    log: DecisionLog,
    pod: NamespacedName,
    attempt: int = -1,
    *,
    at_ns: int | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> PastCycle:
    """Go to the moment before one cycle of a pod.

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

    Raises
    ------
    UnknownCycle
        If the pod was not tried then, or never.
    LogError
        If the run cannot be repeated.
    """
    end = _end_of(log, pod, attempt, at_ns)
    begin, replies = _begin_of(log, end)
    run = Replay(log, until=begin, plugins=plugins)
    run.run_to(begin)
    entry = next(log.entries(begin, begin + 1))
    queued = run.machine.queue.get(pod)
    if queued is None:
        raise UnknownCycle(f"pod {pod} was not in the queue before event {begin}")
    return PastCycle(run.machine, entry, queued.pod, replies)


def _end_of(log: DecisionLog, pod: NamespacedName, attempt: int, at_ns: int | None) -> int:
    cycles = list(log.cycles())
    found = [index for index, name in cycles if name == pod]
    if not found:
        near = nearest(pod, {name for _, name in cycles})
        hint = f"; did you mean {near}?" if near else ""
        raise UnknownCycle(f"no cycle of this log is for pod {pod}{hint}")
    if at_ns is not None:
        limit = log.index_at(at_ns)
        found = [index for index in found if index < limit]
        if not found:
            raise UnknownCycle(f"pod {pod} was not tried before {at_ns} ns")
        return found[-1]
    if attempt == 0 or not -len(found) <= attempt <= len(found):
        raise UnknownCycle(f"pod {pod} was tried {len(found)} times: there is no attempt {attempt}")
    return found[attempt - 1 if attempt > 0 else attempt]


def _begin_of(log: DecisionLog, end: int) -> tuple[int, list[Entry]]:
    """Return the event that began the cycle, and the answers that came during it.

    Without extenders that is the event in which it ended.
    """
    last = next(log.entries(end, end + 1))
    if isinstance(last.event, CycleDue):
        return end, []
    begin, replies = -1, list[Entry]()
    for entry in log.entries(log.start(end).index, end + 1):
        if isinstance(entry.event, CycleDue):
            begin, replies = entry.index, []
        replies.append(entry)
    if begin < 0:
        raise UnknownCycle(f"the cycle that ended with event {end} began before the log")
    return begin, replies


def explain_cycle(
    log: DecisionLog,
    pod: NamespacedName,
    attempt: int = -1,
    *,
    at_ns: int | None = None,
    plugins: Iterable[type[Plugin]] = (),
) -> Explanation:
    """Explain one past cycle of a pod in full; see `find_cycle` for the parameters."""
    return find_cycle(log, pod, attempt, at_ns=at_ns, plugins=plugins).explain()

"""Shadow: play the record of a real cluster, and ask at each decision what ours would be.

For each binding of the real scheduler, its cluster is set up as the scheduler saw it, and the
pod is decided for with every node scored. The two agree if the node that was chosen is feasible
and no other has more points: which of equals is taken is chance. If they do not agree, the
difference is explained, if it can be: `shadow_findings.Reason` says what counts as an
explanation, and nothing else does.

Preemptions likewise: the node has to be equal to the best by the five criteria, and the victims
those that we find there. The order of equally important pods is free, as it is upstream, where
an unstable sort decides it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias

import msgspec

from podwright.assembly import Scheduler
from podwright.config import DEFAULT_GATES, Gates, KubeSchedulerConfiguration
from podwright.files import Record, SchedulerLog
from podwright.framework import TieRule
from podwright.objects import FieldError, InputError, Node, Pod
from podwright.shadow.attempts import (
    DEFAULT_DELAY_NS,
    Attempt,
    LoggedAttempts,
    ObservedState,
    is_binding,
)
from podwright.shadow.comparison import MOST_SEARCHES, DecisionComparer
from podwright.shadow.findings import Finding, Outcome, Reason
from podwright.shadow.images import CopiedImageCounts
from podwright.shadow.record_attempts import RecordedAttempts
from podwright.shadow.recorded_cluster import Positions, RecordedCluster

Reasons: TypeAlias = tuple[Reason, ...] | None
Look: TypeAlias = Callable[[], Reasons]

_SHOWN_LINES = 3
_MOST_STATES = 1_500
_TOLD: dict[Reason, str] = {
    "sampling": "it stopped looking after enough feasible nodes",
    "image counts": "it scored each node with the image counts of when the node last changed",
    "delay": "",
}


class Shadow:
    """A comparison of a real scheduler with ours.

    Parameters
    ----------
    record : Record
        Of the real cluster.
    log : SchedulerLog, optional
        Of the real scheduler. With it, the order of its decisions is known, and what it had
        seen nearly so.
    delay_ns : int
        Without a log: for how long a change may be on its way.
    configuration : KubeSchedulerConfiguration, optional
        That of the real scheduler; the default one if left out.
    gates : Gates
        Its feature gates.

    Attributes
    ----------
    attempt_count : int
        How many attempts there are to go through.
    failed_count, same_message_count : int
        Attempts that found no node, so far, and those of them for which we say the same.

    Raises
    ------
    InputError
        If the configuration is wrong, or has what cannot be asked again.
    """

    def __init__(
        self,
        record: Record,
        log: SchedulerLog | None = None,
        *,
        delay_ns: int = DEFAULT_DELAY_NS,
        configuration: KubeSchedulerConfiguration | None = None,
        gates: Gates = DEFAULT_GATES,
        source: str = "configuration",
    ) -> None:
        scheduler = _scheduler(configuration, gates, source)
        names = frozenset(scheduler.profiles)
        bindings = [
            (line.line, line.object)
            for line in record.lines
            if is_binding(line) and isinstance(line.object, Pod)
        ]
        _check_nodes(record, bindings)
        self._view = RecordedCluster(record.lines, scheduler.cluster)
        self._images = CopiedImageCounts(scheduler.cluster)
        self._judges = {
            name: DecisionComparer(profile, scheduler.cluster, self._images)
            for name, profile in scheduler.profiles.items()
        }
        self._moments: LoggedAttempts | RecordedAttempts
        self._untold: list[tuple[int, Pod]] = []
        if log is None:
            self._moments = RecordedAttempts(self._view, delay_ns=delay_ns)
        else:
            self._moments = LoggedAttempts(self._view, log)
            told = {attempt.line for attempt in self._moments.attempts}
            ours = [(line, pod) for line, pod in bindings if pod.spec.scheduler_name in names]
            self._untold = [(line, pod) for line, pod in ours if line not in told]
            if ours and len(self._untold) == len(ours):
                message = f"none of the bindings in {record.source} is in this log"
                raise InputError([FieldError(source=log.source, path="", message=message)])
        self.attempt_count = len(self._moments.attempts)
        self._start = 0
        self.failed_count = 0
        self.same_message_count = 0

    def findings(self) -> Iterator[Finding | None]:
        """Go through the attempts; None for those that neither placed a pod nor preempted."""
        for attempt in self._moments:
            self._images.copy(self._view.touched)
            self._view.touched.clear()
            yield self._look_at(attempt)
        for line, pod in self._untold:
            yield Finding(
                what="binding",
                line=line,
                pod=pod.key,
                node=pod.spec.node_name,
                outcome="unexplained",
                explanation="the scheduler's log has no attempt that ends with this binding",
            )

    def _look_at(self, attempt: Attempt) -> Finding | None:
        pod = self._view.pending(attempt.pod)
        judge = None if pod is None else self._judges.get(pod.spec.scheduler_name)
        if pod is None or judge is None:
            return None
        judge.searches_left = MOST_SEARCHES
        if attempt.node:
            finding = self._binding(attempt, pod, judge) if attempt.line else None
            if not pod.status.nominated_node_name:
                self._go_on(attempt.evaluated_count)
            return finding
        if attempt.message:
            self._compare_messages(attempt, pod, judge)
        return self._preemption(attempt, pod, judge) if attempt.preempted_node else None

    def _go_on(self, evaluated_count: int) -> None:
        """Let the next search begin where this one ended.

        Notes
        -----
        Upstream: pkg/scheduler/schedule_one.go, `nextStartNodeIndex`
        """
        node_count = self._view.cluster.nodes.n_alive
        self._start = (self._start + evaluated_count) % node_count if node_count else 0

    def _compare_messages(self, attempt: Attempt, pod: Pod, judge: DecisionComparer) -> None:
        self.failed_count += 1
        decision = judge.decide(pod)
        self._go_on(decision.evaluated_count)
        ours = decision.message
        self.same_message_count += bool(ours) and attempt.message.startswith(ours)

    def _binding(self, attempt: Attempt, pod: Pod, judge: DecisionComparer) -> Finding:
        def look() -> tuple[Reason, ...] | None:
            return judge.place(
                pod, attempt.node, evaluated_count=attempt.evaluated_count, start=self._start
            )

        finding = Finding(
            what="binding",
            line=attempt.line,
            pod=attempt.pod,
            node=attempt.node,
            outcome="agreed",
        )
        reasons = look()
        if reasons == ():
            return finding
        return self._explained(judge.compared(finding, pod), attempt, pod, reasons, look)

    def _preemption(self, attempt: Attempt, pod: Pod, judge: DecisionComparer) -> Finding:
        def look() -> tuple[Reason, ...] | None:
            return judge.preempts(pod, attempt.preempted_node, attempt.victims, attempt.time_ns)

        finding = Finding(
            what="preemption",
            line=attempt.line,
            pod=attempt.pod,
            node=attempt.preempted_node,
            outcome="agreed",
            victims=tuple(attempt.victims),
        )
        reasons = look()
        if reasons == ():
            return finding
        finding = judge.compared_preemption(finding, pod, attempt.time_ns)
        return self._explained(finding, attempt, pod, reasons, look)

    def _explained(
        self, finding: Finding, attempt: Attempt, pod: Pod, reasons: Reasons, look: Look
    ) -> Finding:
        """Say what explains a difference, if anything does."""
        if reasons is not None:
            text = "; ".join(_TOLD[reason] for reason in reasons)
            return _with(finding, "explained", reasons, text)
        view, here = self._view, self._view.positions()
        with view.trying():
            for seen in islice(self._moments.states(attempt, pod), _MOST_STATES):
                view.go_to({**here, **seen.positions})
                view.try_placed(seen.placed)
                reasons = look()
                if reasons is not None:
                    text = "; ".join(
                        [self._told(here, seen), *(_TOLD[reason] for reason in reasons)]
                    )
                    return _with(finding, "explained", ("delay", *reasons), text)
        return _with(finding, "unexplained", (), "")

    def _told(self, here: Positions, seen: ObservedState) -> str:
        """Say which changes the scheduler had seen, or had not, for this to be its choice."""
        parts = []
        for words, is_early in (("not seen yet", False), ("seen already", True)):
            lines = [
                line
                for kind, position in seen.positions.items()
                for line in self._view.tracks[kind].lines[
                    min(here[kind], position) : max(here[kind], position)
                ]
                if (position > here[kind]) == is_early
            ]
            if lines:
                shown = [
                    f"line {line.line} ({line.event} {line.object.kind} {line.object.key})"
                    for line in lines[:_SHOWN_LINES]
                ]
                parts.append(f"{words}: {_listed(shown, len(lines))}")
        if seen.placed:
            names = [f"{pod.key} on {node}" for pod, node in seen.placed[:_SHOWN_LINES]]
            parts.append(f"placed already: {_listed(names, len(seen.placed))}")
        return "; ".join(parts)


def _listed(shown: list[str], count: int) -> str:
    more = count - len(shown)
    return f"{', '.join(shown)}{f' and {more} more' if more else ''}"


def _with(finding: Finding, outcome: Outcome, reasons: tuple[Reason, ...], text: str) -> Finding:
    return msgspec.structs.replace(finding, outcome=outcome, reasons=reasons, explanation=text)


def _check_nodes(record: Record, bindings: list[tuple[int, Pod]]) -> None:
    """Refuse a record in which pods are bound to nodes that it never has."""
    known = {line.object.name for line in record.lines if isinstance(line.object, Node)}
    errors = [
        FieldError(
            source=f"{record.source}: line {line}",
            path="resource.spec.nodeName",
            message=f'no line adds the node "{pod.spec.node_name}"',
            value=pod.spec.node_name,
        )
        for line, pod in bindings
        if pod.spec.node_name not in known
    ]
    if errors:
        raise InputError(errors)


def _scheduler(
    configuration: KubeSchedulerConfiguration | None, gates: Gates, source: str
) -> Scheduler:
    """Make what decides; only decisions that depend on nothing but the record can be compared."""
    if configuration is not None:
        wrong = {
            "rules": configuration.rules is not None
            and "records are compared with the modern rules only",
            "extenders": bool(configuration.extenders)
            and "what extenders said then is not in a record",
        }
        errors = [
            FieldError(source=source, path=path, message=message)
            for path, message in wrong.items()
            if isinstance(message, str)
        ]
        if errors:
            raise InputError(errors)
    return Scheduler(configuration, gates=gates, tie_rule=TieRule.HEAP, source=source)

"""Shadow: replays the record of a real cluster and compares each decision with podwright's.

For each binding of the real scheduler, the cluster is set to the state that the scheduler
observed, and podwright schedules the pod with every node scored. The two agree if the chosen node
is feasible and no other node has a higher score: ties are broken at random. Otherwise the
comparison looks for an explanation; `findings.Reason` lists all explanations that count.

Preemptions are compared in the same way. The chosen node must be equal to the best one by the
five criteria, and its victims must be those that podwright selects there. The order of equally
important pods is free, because upstream sorts them with an unstable sort.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias

import msgspec

from podwright.apimachinery.objects import FieldError, InputError, Node, Pod
from podwright.cluster.store import POD, GroupKind
from podwright.scheduler.assembly import Scheduler
from podwright.scheduler.columns import claim_uses
from podwright.scheduler.config import DEFAULT_GATES, Gates, KubeSchedulerConfiguration
from podwright.scheduler.framework import Plugin, TieRule
from podwright.simulation.files import Record, RecordLine, SchedulerLog
from podwright.simulation.shadow.attempts import (
    DEFAULT_DELAY_NS,
    Attempt,
    LoggedAttempts,
    ObservedState,
    is_binding,
    is_result,
    nearest_positions,
    waiting_claims,
)
from podwright.simulation.shadow.comparison import (
    MOST_SEARCHES,
    DecisionComparer,
    Finding,
    Outcome,
    Reason,
)
from podwright.simulation.shadow.recorded_cluster import (
    CopiedImageCounts,
    Positions,
    RecordedCluster,
    Track,
    updated_pod,
    waits_to_be_bound,
)

# The scheduling attempts of the real scheduler, read from the record alone.
#
# Without a scheduler's log, a decision is visible only by its results in the API: a binding,
# before it the binding of the pod's volumes, or a nomination and deleted victims. The most likely
# state is that of the API right before the first result.
#
# Decisions are serial, but bindings are written concurrently and watches are delayed. So the
# scheduler may not have observed the latest changes, and may have assumed pods whose bindings the
# API shows later. The states within `delay_ns` are tried.

_MOST_STATES_RECORD_ATTEMPTS = 600


class RecordedAttempts:
    """Iterates over the decisions that are visible in a record, with their states.

    Parameters
    ----------
    view : RecordedCluster
    delay_ns : int
        The most that a change may be delayed.

    Attributes
    ----------
    attempts : list of Attempt
        The bindings and preemptions, in the order of their first results.
    """

    def __init__(self, view: RecordedCluster, *, delay_ns: int = DEFAULT_DELAY_NS) -> None:
        self._view = view
        self._delay_ns = delay_ns
        self._pods = view.tracks.get(POD) or Track([])
        self._lines = sorted(
            (line for track in view.tracks.values() for line in track.lines),
            key=lambda line: line.line,
        )
        self._waiting = waiting_claims(view)
        self._index_of = {line.line: index for index, line in enumerate(self._lines)}
        bindings = [self._binding(line) for line in self._pods.lines if is_binding(line)]
        self.attempts = sorted([*bindings, *self._preemptions()], key=lambda attempt: attempt.index)

    # ---------------------------------------------------------------- finding decisions

    def _binding(self, line: RecordLine) -> Attempt:
        pod = line.object
        assert isinstance(pod, Pod), f"line {line.line} is a binding"
        first = self._first_result(line, pod)
        return Attempt(
            index=first.line,
            time_ns=first.seen_ns,
            pod=pod.key,
            node=pod.spec.node_name,
            line=line.line,
        )

    def _first_result(self, binding: RecordLine, pod: Pod) -> RecordLine:
        """Return the first line that is a result of the decision."""
        old = binding.old
        assert isinstance(old, Pod), f"line {binding.line} is a binding"
        if not claim_uses(pod) and not old.status.nominated_node_name:
            return binding
        first = binding
        for index in reversed(range(self._index_of[binding.line])):
            line = self._lines[index]
            obj = line.object
            if isinstance(obj, Pod):
                if obj.uid != pod.uid:
                    continue
                # The pod was added here: no result is earlier.
                if line.old is None or line.old.uid != pod.uid:
                    break
                # The scheduler nominates a pod to its chosen node if binding volumes takes time.
                if not _is_nomination(line, pod.spec.node_name):
                    continue
                is_at_once = first is not binding and _apart_ns(line, first) <= self._delay_ns
                if is_at_once or waits_to_be_bound(obj):
                    first = line
            elif is_result(line, pod, (), self._waiting):
                first = line
        return first

    def _preemptions(self) -> Iterator[Attempt]:
        """Yield nominations with their victims: pods of that node deleted at about that time."""
        leaving: dict[str, list[RecordLine]] = defaultdict(list)
        nominations: dict[str, list[RecordLine]] = defaultdict(list)
        for line in self._pods.lines:
            if (pods := updated_pod(line)) is None:
                continue
            new, old = pods
            node = new.status.nominated_node_name
            is_new = not new.spec.node_name and _is_nomination(line, node)
            if node and is_new and not waits_to_be_bound(new):
                nominations[node].append(line)
            elif _is_preempted(new) and not _is_preempted(old):
                leaving[new.spec.node_name].append(line)
        for node, lines in nominations.items():
            victims: dict[int, list[RecordLine]] = defaultdict(list)
            for victim in leaving[node]:
                nearest = min(lines, key=lambda line: (_apart_ns(line, victim), line.line))
                if _apart_ns(nearest, victim) <= 4 * self._delay_ns:
                    victims[nearest.line].append(victim)
            for line in lines:
                if victims[line.line]:
                    first = min([line, *victims[line.line]], key=lambda one: one.line)
                    yield Attempt(
                        index=first.line,
                        time_ns=first.seen_ns,
                        pod=line.object.key,
                        preempted_node=node,
                        victims=[victim.object.key for victim in victims[line.line]],
                        line=line.line,
                    )

    # ---------------------------------------------------------------- the most likely state

    def __iter__(self) -> Iterator[Attempt]:
        """Set the cluster to the state before each decision's first result, then yield it."""
        for attempt in self.attempts:
            self._view.go_to(
                {
                    kind: max(track.position, track.before_line(attempt.index))
                    for kind, track in self._view.tracks.items()
                }
            )
            yield attempt
            if attempt.node:
                self._view.assume(self._view.pods[attempt.pod], attempt.node)

    # ---------------------------------------------------------------- other possible states

    def states(self, attempt: Attempt, pod: Pod) -> Iterator[ObservedState]:
        """Yield the other states that the scheduler may have observed, the most likely first."""
        here = self._view.positions()
        upcoming = self._coming(attempt, here[POD])
        for count in range(1, len(upcoming) + 1):
            yield ObservedState({}, upcoming[:count])
        earlier = self._earlier(POD, attempt)
        backwards = nearest_positions(earlier, here[POD], self._pods.lines)
        for position in backwards:
            crossed = self._placed_between(position, here[POD])
            yield ObservedState({POD: position}, crossed)
            if crossed:
                yield ObservedState({POD: position})
        for kind, track in self._view.tracks.items():
            if kind != POD:
                positions = self._earlier(kind, attempt)
                for position in nearest_positions(positions, here[kind], track.lines):
                    yield ObservedState({kind: position})
        tried = 0
        for position in backwards:
            crossed = self._placed_between(position, here[POD])
            for count in range(1, len(upcoming) + 1):
                if tried == _MOST_STATES_RECORD_ATTEMPTS:
                    return
                tried += 1
                yield ObservedState({POD: position}, (*crossed, *upcoming[:count]))

    def _earlier(self, kind: GroupKind, attempt: Attempt) -> range:
        track = self._view.tracks[kind]
        least = min(track.seen_at(attempt.time_ns - self._delay_ns), track.position)
        return range(least, track.position + 1)

    def _coming(self, attempt: Attempt, position: int) -> tuple[tuple[Pod, str], ...]:
        """Return existing pods whose bindings follow within the delay, in order."""
        found = []
        for line in self._pods.lines[
            position : self._pods.seen_at(attempt.time_ns + self._delay_ns)
        ]:
            if (pods := updated_pod(line)) is None or line.object.key == attempt.pod:
                continue
            placed = pods[0]
            there = self._view.pods.get(placed.key)
            node = placed.spec.node_name if is_binding(line) else _awaited_node(line)
            if node and there is not None and there.uid == placed.uid:
                found.append((there, node))
        return tuple(found)

    def _placed_between(self, position: int, here: int) -> tuple[tuple[Pod, str], ...]:
        """Return the pods that were bound between two positions."""
        return tuple(
            (pods[1], pods[0].spec.node_name)
            for line in self._pods.lines[position:here]
            if is_binding(line) and (pods := updated_pod(line))
        )


def _is_preempted(pod: Pod) -> bool:
    preempted = ("DisruptionTarget", "True", "PreemptionByScheduler")
    return any((one.type, one.status, one.reason) == preempted for one in pod.status.conditions)


def _is_nomination(line: RecordLine, node: str) -> bool:
    return (pods := updated_pod(line)) is not None and [
        pod.status.nominated_node_name == node for pod in pods
    ] == [True, False]


def _awaited_node(line: RecordLine) -> str:
    """Return the node to which this change nominates a pod that was placed there."""
    if (pods := updated_pod(line)) is None or not waits_to_be_bound(pods[0]):
        return ""
    node = pods[0].status.nominated_node_name
    return node if _is_nomination(line, node) else ""


def _apart_ns(one: RecordLine, other: RecordLine) -> int:
    return abs(one.seen_ns - other.seen_ns)


Reasons: TypeAlias = tuple[Reason, ...] | None
Explain: TypeAlias = Callable[[], Reasons]

_SHOWN_LINES = 3
_MOST_STATES = 1_500
_DESCRIPTIONS: dict[Reason, str] = {
    "sampling": "it stopped looking after enough feasible nodes",
    "image counts": "it scored each node with the image counts of when the node last changed",
}


class Shadow:
    """A comparison of a real scheduler with podwright.

    Parameters
    ----------
    record : Record
        The record of the real cluster.
    log : SchedulerLog, optional
        The log of the real scheduler. It gives the order of its decisions, and narrows the states
        that it may have observed.
    delay_ns : int
        Without a log: the most that a change may be delayed.
    configuration : KubeSchedulerConfiguration, optional
        The configuration of the real scheduler; default: the default configuration.
    gates : Gates
        Its feature gates.
    plugins : sequence of type
        Its custom plugins, in Python. They decide; what they keep at Reserve is not repeated.
    source : str
        The name of the configuration, for errors.
    checks_nodes : bool
        Whether a record is rejected that lacks nodes to which pods are bound.

    Attributes
    ----------
    attempt_count : int
        The number of attempts.
    failed_count, same_message_count : int
        The attempts so far that found no node, and those of them with podwright's message.
    schedulers : frozenset of str
        The names of the schedulers whose bindings are compared.
    other_bindings : mapping of str to int
        How many pods were bound whose scheduler is not in the configuration, by its name.

    Raises
    ------
    InputError
        The configuration is invalid, or depends on answers that a record does not contain.
    """

    def __init__(
        self,
        record: Record,
        log: SchedulerLog | None = None,
        *,
        delay_ns: int = DEFAULT_DELAY_NS,
        configuration: KubeSchedulerConfiguration | None = None,
        gates: Gates = DEFAULT_GATES,
        plugins: Sequence[type[Plugin]] = (),
        source: str = "configuration",
        checks_nodes: bool = True,
    ) -> None:
        scheduler = _scheduler(configuration, gates, plugins, source)
        names = self.schedulers = frozenset(scheduler.profiles)
        bindings = [
            (line.line, line.object)
            for line in record.lines
            if is_binding(line) and isinstance(line.object, Pod)
        ]
        if checks_nodes:
            _check_nodes(record, bindings)
        self.other_bindings = Counter(
            pod.spec.scheduler_name for _, pod in bindings if pod.spec.scheduler_name not in names
        )
        self._view = RecordedCluster(record.lines, scheduler.cluster)
        self._images = CopiedImageCounts(scheduler.cluster)
        self._comparers = {
            name: DecisionComparer(profile, scheduler.cluster, self._images)
            for name, profile in scheduler.profiles.items()
        }
        self._attempts: LoggedAttempts | RecordedAttempts
        self._missing_from_log: list[tuple[int, Pod]] = []
        if log is None:
            self._attempts = RecordedAttempts(self._view, delay_ns=delay_ns)
        else:
            self._attempts = LoggedAttempts(self._view, log)
            in_log = {attempt.line for attempt in self._attempts.attempts}
            ours = [(line, pod) for line, pod in bindings if pod.spec.scheduler_name in names]
            self._missing_from_log = [(line, pod) for line, pod in ours if line not in in_log]
            if ours and len(self._missing_from_log) == len(ours):
                message = f"none of the bindings in {record.source} is in this log"
                raise InputError.of(log.source, message)
        self.attempt_count = len(self._attempts.attempts)
        self._start = 0
        self.failed_count = 0
        self.same_message_count = 0

    def findings(self, lines: range | None = None) -> Iterator[Finding | None]:
        """Yield a finding per attempt; None for those that neither bound a pod nor preempted.

        Parameters
        ----------
        lines : range, optional
            Only attempts whose binding or nomination is in these lines of the record are compared.
        """
        for attempt in self._attempts:
            self._images.copy(self._view.touched)
            self._view.touched.clear()
            if lines is None or attempt.line in lines:
                yield self._compare_attempt(attempt)
        for line, pod in self._missing_from_log:
            yield Finding(
                what="binding",
                line=line,
                pod=pod.key,
                node=pod.spec.node_name,
                outcome="unexplained",
                explanation="the scheduler's log has no attempt that ends with this binding",
            )

    def _compare_attempt(self, attempt: Attempt) -> Finding | None:
        pod = self._view.pending(attempt.pod)
        comparer = None if pod is None else self._comparers.get(pod.spec.scheduler_name)
        if pod is None or comparer is None:
            return None
        comparer.searches_left = MOST_SEARCHES
        if attempt.node:
            finding = self._binding(attempt, pod, comparer) if attempt.line else None
            # A pod that fits on its nominated node is placed without a search.
            if not pod.status.nominated_node_name:
                self._advance_start(attempt.evaluated_count)
            return finding
        if attempt.message:
            self._compare_messages(attempt, pod, comparer)
        return self._preemption(attempt, pod, comparer) if attempt.preempted_node else None

    def _advance_start(self, evaluated_count: int) -> None:
        """Move the start of the next search to the end of this one.

        Notes
        -----
        Upstream: pkg/scheduler/schedule_one.go, `nextStartNodeIndex`
        """
        node_count = self._view.cluster.nodes.n_alive
        self._start = (self._start + evaluated_count) % node_count if node_count else 0

    def _compare_messages(self, attempt: Attempt, pod: Pod, comparer: DecisionComparer) -> None:
        self.failed_count += 1
        decision = comparer.decide(pod)
        self._advance_start(decision.evaluated_count)
        ours = decision.message
        # `decide` runs no PostFilter, whose text ends the real message.
        self.same_message_count += bool(ours) and attempt.message.startswith(ours)

    def _binding(self, attempt: Attempt, pod: Pod, comparer: DecisionComparer) -> Finding:
        def find_reasons() -> tuple[Reason, ...] | None:
            observed = self._view.pending(attempt.pod) or pod
            return comparer.explain_binding(
                observed, attempt.node, evaluated_count=attempt.evaluated_count, start=self._start
            )

        finding = Finding(
            what="binding",
            line=attempt.line,
            pod=attempt.pod,
            node=attempt.node,
            outcome="agreed",
        )
        reasons = find_reasons()
        if reasons == ():
            return finding
        return self._explained(
            comparer.with_scores(finding, pod), attempt, pod, reasons, find_reasons
        )

    def _preemption(self, attempt: Attempt, pod: Pod, comparer: DecisionComparer) -> Finding:
        def find_reasons() -> tuple[Reason, ...] | None:
            observed = self._view.pending(attempt.pod) or pod
            return comparer.explain_preemption(
                observed, attempt.preempted_node, attempt.victims, attempt.time_ns
            )

        finding = Finding(
            what="preemption",
            line=attempt.line,
            pod=attempt.pod,
            node=attempt.preempted_node,
            outcome="agreed",
            victims=tuple(attempt.victims),
            our_victims=(),
        )
        reasons = find_reasons()
        if reasons == ():
            return finding
        finding = comparer.with_our_preemption(finding, pod, attempt.time_ns)
        return self._explained(finding, attempt, pod, reasons, find_reasons)

    def _explained(
        self, finding: Finding, attempt: Attempt, pod: Pod, reasons: Reasons, find_reasons: Explain
    ) -> Finding:
        """Return the finding with the explanation of its difference, if there is one."""
        if reasons is not None:
            text = "; ".join(_DESCRIPTIONS[reason] for reason in reasons)
            return _with(finding, "explained", reasons, text)
        view, here = self._view, self._view.positions()
        tried = 1
        with view.speculation():
            for seen in islice(self._attempts.states(attempt, pod), _MOST_STATES):
                view.go_to({**here, **seen.positions})
                view.place_speculatively(seen.placed)
                tried += 1
                reasons = find_reasons()
                if reasons is not None:
                    text = "; ".join(
                        [self._describe(here, seen), *(_DESCRIPTIONS[reason] for reason in reasons)]
                    )
                    return _with(finding, "explained", ("delay", *reasons), text)
        states = "the observed state" if tried == 1 else f"any of {tried} observable states"
        text = f"no explanation: in {states}, neither sampling nor older image counts lead to it"
        return _with(finding, "unexplained", (), text)

    def _describe(self, here: Positions, seen: ObservedState) -> str:
        """Describe how an observed state differs from the most likely one."""
        parts = []
        for words, is_early in (("had not yet seen", False), ("had already seen", True)):
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
                parts.append(f"the real scheduler {words} {_listed(shown, len(lines))}")
        if seen.placed:
            names = [f"{pod.key} on {node}" for pod, node in seen.placed[:_SHOWN_LINES]]
            listed = _listed(names, len(seen.placed))
            parts.append(f"the real scheduler had already placed {listed}")
        return "; ".join(parts)


def _listed(shown: list[str], count: int) -> str:
    more = count - len(shown)
    return f"{', '.join(shown)}{f' and {more} more' if more else ''}"


def _with(finding: Finding, outcome: Outcome, reasons: tuple[Reason, ...], text: str) -> Finding:
    return msgspec.structs.replace(finding, outcome=outcome, reasons=reasons, explanation=text)


def _check_nodes(record: Record, bindings: list[tuple[int, Pod]]) -> None:
    """Reject a record in which pods are bound to nodes that it never adds."""
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
    configuration: KubeSchedulerConfiguration | None,
    gates: Gates,
    plugins: Sequence[type[Plugin]],
    source: str,
) -> Scheduler:
    """Build the scheduler; its decisions must depend on nothing but the record."""
    if configuration is not None:
        wrong = {
            "rules": configuration.rules is not None
            and "records are compared with the v1.36 rules only",
            "extenders": bool(configuration.extenders)
            and "a record does not contain the answers of extenders",
        }
        errors = [
            FieldError(source=source, path=path, message=message)
            for path, message in wrong.items()
            if isinstance(message, str)
        ]
        if errors:
            raise InputError(errors)
    return Scheduler(
        configuration, plugins=plugins, gates=gates, tie_rule=TieRule.HEAP, source=source
    )

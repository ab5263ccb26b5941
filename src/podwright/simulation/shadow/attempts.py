"""The scheduling attempts of the real scheduler, read from its log.

The log has the order of the attempts, so the effects of earlier attempts are known: every pod
that an earlier attempt placed is assumed. The log does not say which changes the scheduler's
watches had delivered. Two constraints are known:

- The log says when a change of a pod was observed (`arrivals`). Before that time the scheduler had
  not observed that change or any later change of a pod. After it, the scheduler had observed the
  change and all earlier changes of pods.
- The delay between the scheduler and the recorder is the difference between the times of the same
  changes in the two files. The extreme differences in this record bound all others; differences of
  more than a second from the median are ignored. With a complete log, changes of pods may be a
  second outside these bounds: the first constraint is exact for them, and this one is not.

The most likely state is what the recorder had observed at the time of the attempt, shifted by the
median difference and corrected by the first constraint. The other states between the bounds are
those that the scheduler may have observed instead. It copies the state after the attempt's first
line in the log, so it may have observed what the log has until the next line of the attempt or the
next attempt. And the last change before the first line may not have been applied.

Notes
-----
Upstream: pkg/scheduler/eventhandlers.go. One goroutine handles the changes of pods, in the order of
the watch; it writes a line to the log, and then changes the cache and the queue. The informer's
field selector ends the watch of pods that succeeded or failed (pkg/scheduler/scheduler.go,
`newPodInformer`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator
from statistics import median_low
from typing import Final, TypeAlias

import msgspec

from podwright.apimachinery.objects import (
    NamespacedName,
    Node,
    Object,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    has_actual_resources,
    timestamp_ns,
)
from podwright.cluster.store import POD, GroupKind, group_kind
from podwright.scheduler.columns import claim_uses
from podwright.simulation.files import LogLine, RecordLine, SchedulerLog
from podwright.simulation.shadow.recorded_cluster import (
    Positions,
    RecordedCluster,
    Track,
    updated_pod,
)

SELECTED_NODE = "volume.kubernetes.io/selected-node"

_CLAIM = group_kind(PersistentVolumeClaim)
_VOLUME = group_kind(PersistentVolume)
_MOST_STATES = 600
_MOST_DELAY_NS = 1_000_000_000

DEFAULT_DELAY_NS = 250_000_000
"""The most that a change may be delayed, if nothing is known about the delays."""


class ObservedState(msgspec.Struct, frozen=True):
    """A state that the scheduler may have observed.

    Attributes
    ----------
    positions : mapping
        How many changes of some kinds were observed; the positions of other kinds stay.
    placed : tuple of (Pod, str)
        Pods that the scheduler had assumed, and their nodes, before the API showed them.
    """

    positions: Positions
    placed: tuple[tuple[Pod, str], ...] = ()


class Attempt(msgspec.Struct):
    """One scheduling attempt of a pod; filled in while the log is read.

    Attributes
    ----------
    index : int
        The position of its first line in the log.
    end : int
        The position of the next line of the attempt, or of the next attempt; 0 if there is none.
    time_ns : int
    pod : str
        "namespace/name".
    node : str
        The chosen node; "" if there is none.
    assumed_node : str
        The chosen node of a pod that waited before it was bound, or rejected; "" if it did not.
    evaluated_count : int
        How many nodes were evaluated; 0 if unknown.
    is_over : bool
        Whether the log has the result of the attempt.
    message : str
        Why no node was found.
    preempted_node : str
        The node that preemption selected.
    victims : list of str
        The pods that preemption deletes.
    line : int
        The line of the record that shows the binding or nomination; 0 if there is none.
    """

    index: int
    time_ns: int
    pod: NamespacedName
    node: str = ""
    assumed_node: str = ""
    evaluated_count: int = 0
    is_over: bool = False
    message: str = ""
    preempted_node: str = ""
    victims: list[NamespacedName] = []
    line: int = 0
    end: int = 0


class Delays(msgspec.Struct, frozen=True):
    """The delay of the recorder relative to the scheduler.

    Attributes
    ----------
    usual_ns : int
        The median of the recorder's time minus the scheduler's time of the same change, each by
        its own clock. Most of it is the difference between the two clocks.
    least_ns, most_ns : int
        The smallest and the greatest difference.
    pods_least_ns, pods_most_ns : int
        The bounds for changes of pods.
    """

    usual_ns: int
    least_ns: int
    most_ns: int
    pods_least_ns: int
    pods_most_ns: int


def attempts_of(log: SchedulerLog) -> list[Attempt]:
    """Group the lines of the log by attempt, in the order of the attempts."""
    attempts: list[Attempt] = []
    newest: dict[NamespacedName, Attempt] = {}
    preempting: dict[NamespacedName, Attempt] = {}
    for index, line in enumerate(log.lines):
        if line.what == "attempt":
            # Attempts are made one after the other; only bindings take place at the same time.
            if attempts and not attempts[-1].end:
                attempts[-1].end = index
            newest[line.pod] = Attempt(index, line.time_ns, line.pod)
            attempts.append(newest[line.pod])
        elif (attempt := newest.get(line.pod)) is not None:
            attempt.end = attempt.end or index
            if line.what == "preempt":
                preempting[line.pod] = attempt
            elif line.what == "victim":
                # Victims are deleted beside the attempts: the pod may be tried again meanwhile.
                attempt = preempting.get(line.pod, attempt)
            _fill_in(attempt, line)
    return attempts


def _fill_in(attempt: Attempt, line: LogLine) -> None:
    if line.what == "bound" and not attempt.is_over:
        attempt.node = line.node
        attempt.evaluated_count = line.evaluated_count
        attempt.is_over = True
    elif line.what == "unschedulable" and not attempt.is_over:
        attempt.message = line.message
        attempt.is_over = True
    elif line.what == "condition":
        if line.is_nominating and not line.is_failure and not attempt.is_over:
            attempt.assumed_node = line.node
    elif line.what == "preempt":
        attempt.preempted_node = line.node
    elif line.what == "victim":
        attempt.victims.append(line.victim)


class LoggedAttempts:
    """Iterates over the attempts of a log since the start of the record, with their states.

    Parameters
    ----------
    view : RecordedCluster
    log : SchedulerLog

    Attributes
    ----------
    attempts : list of Attempt
    delays : Delays
        The measured delays.
    """

    def __init__(self, view: RecordedCluster, log: SchedulerLog) -> None:
        self._view = view
        self._log = log
        firsts = [track.lines[0].seen_ns for track in view.tracks.values()]
        self._began_ns = min(firsts, default=0)
        self._pods = view.tracks.get(POD) or Track([])
        self.attempts = attempts_of(log)
        self._waiting = waiting_claims(view)
        self._bindings = _bindings(self._pods.lines)
        self._first_position: dict[str, int] = {}
        for position, line in enumerate(self._pods.lines):
            self._first_position.setdefault(line.object.uid, position)
        self._match()
        self._arrivals = Arrivals(log.lines, self._pods.lines)
        self.delays = self._measure()

    def _match(self) -> None:
        """Find the binding in the record for every attempt that placed a pod."""
        left = {key: deque(lines) for key, lines in self._bindings.items()}
        for attempt in self.attempts:
            of_pod = left.get(attempt.pod)
            while attempt.node and of_pod and not attempt.line:
                pod, number = of_pod[0].object, of_pod[0].line
                if isinstance(pod, Pod) and pod.spec.node_name == attempt.node:
                    attempt.line = number
                    of_pod.popleft()
                else:
                    break

    def _measure(self) -> Delays:
        """Measure the delays by the changes of pods that both files contain."""
        arrivals = [
            (self._pods.lines[position], self._log.lines[index].time_ns)
            for index, position in zip(
                self._arrivals.indexes, self._arrivals.positions, strict=True
            )
        ]
        # Objects that existed when the watch started have no meaningful delay; they are used only
        # if there are no others.
        new = [(line, ns) for line, ns in arrivals if line.old or _is_new(line)] or arrivals
        late = [line.seen_ns - ns for line, ns in new]
        if not late:
            default = -DEFAULT_DELAY_NS, DEFAULT_DELAY_NS
            return Delays(0, *default, *default)
        # `median_low` is one of the values, and therefore an integer.
        usual = median_low(late)
        least = max(min(late), usual - _MOST_DELAY_NS)
        if not self._arrivals.is_complete:
            most = min(max(late), usual + _MOST_DELAY_NS)
            return Delays(usual, least, most, least, most)
        # What a slow scheduler observed sooner than usual is not an error of a complete log.
        most = max(late)
        return Delays(usual, least, most, min(late) - _MOST_DELAY_NS, most + _MOST_DELAY_NS)

    # ---------------------------------------------------------------- the most likely state

    def __iter__(self) -> Iterator[Attempt]:
        """Set the cluster to the state of each attempt, yield it, then apply its effects."""
        attempts = iter(self.attempts)
        upcoming = next(attempts, None)
        for index, line in enumerate(self._log.lines):
            self._write_nomination(line)
            if upcoming is None or index != upcoming.index:
                continue
            # The state of an attempt before the record started is unknown.
            if upcoming.line or upcoming.time_ns + self.delays.usual_ns >= self._began_ns:
                self._go_to_attempt(upcoming)
                yield upcoming
                self._apply_own_effects(upcoming)
            upcoming = next(attempts, None)

    def _write_nomination(self, line: LogLine) -> None:
        pod = self._view.pods.get(line.pod)
        if pod is None or pod.spec.node_name:
            return
        if line.is_failure:
            self._view.forget(pod)
        if line.is_nominating:
            self._view.nominate(pod, line.node)

    def _go_to_attempt(self, attempt: Attempt) -> None:
        arrived = self._arrivals.count_before(attempt.index)
        least, most = self._pod_bounds(attempt, self._arrivals.position_after(arrived), arrived)
        positions: dict[GroupKind, int] = {}
        for kind, track in self._view.tracks.items():
            position = track.seen_at(attempt.time_ns + self.delays.usual_ns)
            if kind == POD:
                position = max(min(position, most), least)
            # Never backward: the attempt before had observed at least this much.
            positions[kind] = max(position, track.position)
        if attempt.line:
            pod = self._pods.lines[self._first_position[self._uid_of(attempt)]].object
            assert isinstance(pod, Pod), f"line {attempt.line} is a binding"
            for kind in (_CLAIM, _VOLUME):
                if kind in positions:
                    positions[kind] = self._before_results(kind, positions[kind], attempt, pod)
        self._view.go_to(positions)

    def _pod_bounds(self, attempt: Attempt, least: int, most_count: int) -> tuple[int, int]:
        """Return the bounds of the position of pods after at most so many arrivals."""
        coming = self._arrivals.position_before(most_count)
        most = len(self._pods.lines) if coming is None else coming
        if attempt.line:
            # The scheduler had observed the pod, but not yet its binding.
            most = min(most, self._pods.before_line(attempt.line))
            least = max(least, self._first_position[self._uid_of(attempt)] + 1)
        return least, most

    def _uid_of(self, attempt: Attempt) -> str:
        """Return the uid of the pod that an attempt bound."""
        return self._pods.lines[self._pods.before_line(attempt.line)].object.uid

    def _before_results(self, kind: GroupKind, most: int, attempt: Attempt, pod: Pod) -> int:
        """Return the last position before the first result of the attempt itself."""
        track = self._view.tracks[kind]
        for position in range(track.position, most):
            if is_result(track.lines[position], pod, attempt.victims, self._waiting):
                return position
        return most

    def _apply_own_effects(self, attempt: Attempt) -> None:
        """Assume or nominate the pod as the scheduler did after the attempt."""
        pod = self._view.pods.get(attempt.pod)
        if pod is None or pod.spec.node_name:
            return
        if node := attempt.node or attempt.assumed_node:
            self._view.assume(pod, node)
        elif attempt.preempted_node:
            self._view.nominate(pod, attempt.preempted_node)

    # ---------------------------------------------------------------- other possible states

    def states(self, attempt: Attempt, pod: Pod) -> Iterator[ObservedState]:
        """Yield the other states that the scheduler may have observed, the most likely first."""
        view = self._view
        here = view.positions()
        ranges = {kind: self._range(kind, attempt, pod) for kind in view.tracks}
        pods = nearest_positions(ranges.pop(POD), here[POD], self._pods.lines)
        for position in pods:
            yield ObservedState({POD: position})
        others = {kind: r for kind, r in ranges.items() if len(r) > 1}
        for kind, positions_of_kind in others.items():
            for position in nearest_positions(
                positions_of_kind, here[kind], view.tracks[kind].lines
            ):
                yield ObservedState({kind: position})
        together = list(self._together(attempt, others))
        most = _MOST_STATES // max(1, len(together))
        for positions in together:
            yield ObservedState(positions)
            for position in pods[:most]:
                yield ObservedState({**positions, POD: position})

    def _together(
        self, attempt: Attempt, ranges: dict[GroupKind, range]
    ) -> Iterator[dict[GroupKind, int]]:
        """Yield the positions of a scheduler whose watches all have the same delay."""
        seen_times = {
            self._view.tracks[kind].lines[position].seen_ns
            for kind, positions in ranges.items()
            for position in positions[:-1]
            if not _is_inert(self._view.tracks[kind].lines[position])
        }
        usual_ns = attempt.time_ns + self.delays.usual_ns
        for seen_ns in sorted(seen_times, key=lambda ns: (abs(ns - usual_ns), ns)):
            yield {
                kind: max(
                    positions[0], min(self._view.tracks[kind].seen_at(seen_ns), positions[-1])
                )
                for kind, positions in ranges.items()
            }

    def _range(self, kind: GroupKind, attempt: Attempt, pod: Pod) -> range:
        """Return the possible positions of the scheduler for one kind."""
        track, delays = self._view.tracks[kind], self.delays
        end_ns = self._log.lines[attempt.end].time_ns if attempt.end else attempt.time_ns
        if kind == POD:
            least_pods, most_pods = self._pod_bounds(attempt, *self._arrival_bounds(attempt))
            least = max(track.seen_at(attempt.time_ns + delays.pods_least_ns), least_pods)
            most = min(track.seen_at(end_ns + delays.pods_most_ns), most_pods)
        else:
            least = track.seen_at(attempt.time_ns + delays.least_ns)
            most = track.seen_at(end_ns + delays.most_ns)
        if attempt.line:
            most = min(most, track.before_line(attempt.line))
        least = min(least, track.position)
        most = self._before_results(kind, max(most, track.position), attempt, pod)
        return range(least, most + 1)

    def _arrival_bounds(self, attempt: Attempt) -> tuple[int, int]:
        """Return the least position of pods and the most arrivals that an attempt may have seen.

        Notes
        -----
        Upstream: pkg/scheduler/schedule_one.go, `scheduleOnePod` (writes the first line of an
        attempt), `schedulingCycle` (copies the cache).
        """
        arrived = self._arrivals.count_before(attempt.index)
        if not self._arrivals.is_complete:
            return self._arrivals.position_after(arrived), arrived
        # All changes before the last one have been applied.
        least = (self._arrivals.position_before(arrived - 1) if arrived else None) or 0
        return least, self._arrivals.count_before(attempt.end) if attempt.end else arrived


def waiting_claims(view: RecordedCluster) -> frozenset[NamespacedName]:
    """Return the claims whose volumes are bound or provisioned after a scheduler selects a node."""
    track = view.tracks.get(_CLAIM)
    lines = [] if track is None else track.lines
    return frozenset(
        line.object.key for line in lines if SELECTED_NODE in line.object.metadata.annotations
    )


def is_result(
    line: RecordLine,
    pod: Pod,
    victims: Collection[NamespacedName],
    waiting: Collection[NamespacedName],
) -> bool:
    """Whether a change is a result of the decision for a pod.

    Results are its binding or nomination, the deletion of its victims, and the binding of its
    volumes.

    Parameters
    ----------
    victims : collection of str
        The pods that are preempted for it.
    waiting : collection of str
        See `waiting_claims`.

    Notes
    -----
    Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go, `bindAPIUpdate`
    """
    obj, old = line.object, line.old
    if isinstance(obj, Pod):
        if obj.uid == pod.uid:
            return bool(obj.spec.node_name or obj.status.nominated_node_name)
        return obj.key in victims
    claims = {f"{pod.namespace}/{use.name}" for use in claim_uses(pod)}
    if not claims:
        return False
    if isinstance(obj, PersistentVolumeClaim):
        before = old.metadata.annotations if isinstance(old, PersistentVolumeClaim) else {}
        return (
            obj.key in claims
            and SELECTED_NODE in obj.metadata.annotations
            and SELECTED_NODE not in before
        )
    if isinstance(obj, PersistentVolume):
        claim = obj.spec.claim_ref
        key = "" if claim is None else f"{claim.namespace}/{claim.name}"
        if key not in claims or (isinstance(old, PersistentVolume) and old.spec.claim_ref):
            return False
        # An existing volume is bound; a new one was provisioned for the claim.
        return old is not None or key in waiting
    return False


def nearest_positions(positions: range, here: int, lines: list[RecordLine]) -> list[int]:
    """Return the other positions that differ by relevant changes, nearest first."""
    found = []
    for position in sorted(positions, key=lambda p: (abs(p - here), p)):
        # The change between this position and its neighbor towards `here`; if it is inert, the two
        # positions are equivalent.
        crossed = lines[position] if position < here else lines[position - 1]
        if position != here and not _is_inert(crossed):
            found.append(position)
    return found


def _is_inert(line: RecordLine) -> bool:
    """Whether a change is irrelevant for scheduling, such as a status update of a bound pod."""
    new, old = line.object, line.old
    if old is None or line.event == "Delete":
        return False
    if new.metadata.labels != old.metadata.labels or _spec(new) != _spec(old):
        return False
    match new, old:
        case Pod(), Pod():
            return (
                new.metadata.deletion_timestamp == old.metadata.deletion_timestamp
                and new.is_terminal == old.is_terminal
                and new.status.nominated_node_name == old.status.nominated_node_name
                and new.status.start_time == old.status.start_time
                and not has_actual_resources(new)
                and not has_actual_resources(old)
            )
        case Node(), Node():
            return (
                new.status.allocatable == old.status.allocatable
                and new.status.images == old.status.images
                and new.status.declared_features == old.status.declared_features
            )
        # The scheduler also reads their status or annotations.
        case ((PodDisruptionBudget() | PersistentVolume() | PersistentVolumeClaim()), _):
            return False
        case _:
            return hasattr(new, "spec")


def _spec(obj: Object) -> object:
    return getattr(obj, "spec", None)


def _bindings(lines: list[RecordLine]) -> dict[NamespacedName, list[RecordLine]]:
    """Return the lines that bind a pod, by pod."""
    found: dict[NamespacedName, list[RecordLine]] = defaultdict(list)
    for line in lines:
        if is_binding(line):
            found[line.object.key].append(line)
    return found


def _is_new(line: RecordLine) -> bool:
    """Whether an object was observed right after its creation, which has second precision."""
    created_ns = timestamp_ns(line.object.metadata.creation_timestamp)
    return created_ns is None or abs(line.seen_ns - created_ns) <= 2 * _MOST_DELAY_NS


def is_binding(line: RecordLine) -> bool:
    """Whether the change binds an existing pod."""
    pods = updated_pod(line)
    if pods is None:
        return False
    new, old = pods
    return new.uid == old.uid and bool(new.spec.node_name) and not old.spec.node_name


# When the real scheduler observed changes of pods, read from its log.
#
# The log has the observation of each new pod. The log of kube-scheduler itself also has the
# observation of pods that have a node for the first time, and of pods that ended: it is complete.
# Its other changes are updates, which the scheduler observed between their neighbors.

_NEW: Final = "UnschedulablePodAdd"
_ASSIGNED: Final = "AssignedPodAdd"
_ENDED: Final = "AssignedPodDelete"

Observation: TypeAlias = tuple[NamespacedName, str]
"""A pod, and the event as which its change was observed."""


class Arrivals:
    """The changes of pods whose observation the log has, in order.

    Parameters
    ----------
    log : sequence of LogLine
    pods : sequence of RecordLine
        The changes of pods.

    Attributes
    ----------
    indexes : list of int
        Where the log has each of them.
    positions : list of int
        The positions of the changes; both lists increase.
    is_complete : bool
        Whether the log has the observations of pods that have a node or ended.
    """

    def __init__(self, log: Iterable[LogLine], pods: Iterable[RecordLine]) -> None:
        logged: dict[Observation, deque[int]] = defaultdict(deque)
        self.is_complete = False
        for index, line in enumerate(log):
            if line.what == "observed":
                self.is_complete = True
            if line.what == "observed" or line.event == _NEW:
                logged[line.pod, line.event].append(index)
        found = []
        for position, change in enumerate(pods):
            observation = _observation(change)
            if observation is not None and (left := logged.get(observation)):
                found.append((left.popleft(), position))
        self.indexes: list[int] = []
        self.positions: list[int] = []
        for index, position in _in_order(found):
            self.indexes.append(index)
            self.positions.append(position)

    def count_before(self, index: int) -> int:
        """Return how many of the changes were observed before a line of the log."""
        return bisect_left(self.indexes, index)

    def position_after(self, count: int) -> int:
        """Return the least position of a scheduler that has observed so many of the changes."""
        return self.positions[count - 1] + 1 if count else 0

    def position_before(self, count: int) -> int | None:
        """Return the greatest position of a scheduler that has observed no more than so many.

        None if there are no further ones.
        """
        return self.positions[count] if count < len(self.positions) else None


def _observation(line: RecordLine) -> Observation | None:
    """Return as what the scheduler observes a change; None if its log does not show it."""
    new, old = line.object, line.old
    if not isinstance(new, Pod):
        return None
    if not isinstance(old, Pod):
        if line.event == "Delete" or new.is_terminal:
            return None
        return new.key, _ASSIGNED if new.spec.node_name else _NEW
    if new.uid != old.uid or old.is_terminal:
        return None
    if line.event == "Delete" or new.is_terminal:
        return (new.key, _ENDED) if old.spec.node_name else None
    return (new.key, _ASSIGNED) if new.spec.node_name and not old.spec.node_name else None


def _in_order(pairs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the most pairs that increase in both numbers, given in the order of the second.

    Observations that are not in the order of the watch are not of this record, such as those of
    an earlier pod with the same name.
    """
    ends: list[int] = []
    chosen: list[int] = []
    previous: list[int] = []
    for number, (index, _) in enumerate(pairs):
        length = bisect_left(ends, index)
        previous.append(chosen[length - 1] if length else -1)
        ends[length : length + 1] = [index]
        chosen[length : length + 1] = [number]
    path = []
    number = chosen[-1] if chosen else -1
    while number >= 0:
        path.append(pairs[number])
        number = previous[number]
    yield from reversed(path)

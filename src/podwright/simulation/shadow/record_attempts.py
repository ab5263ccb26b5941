"""The scheduling attempts of the real scheduler, read from the record alone.

Without a scheduler's log, a decision is visible only by its results in the API: a binding, before
it the binding of the pod's volumes, or a nomination and deleted victims. The most likely state is
that of the API right before the first result.

Decisions are serial, but bindings are written concurrently and watches are delayed. So the
scheduler may not have observed the latest changes, and may have assumed pods whose bindings the
API shows later. The states within `delay_ns` are tried.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from podwright.apimachinery.objects import Pod
from podwright.cluster.store import POD, GroupKind
from podwright.scheduler.columns import claim_uses
from podwright.simulation.files import RecordLine
from podwright.simulation.shadow.attempts import (
    DEFAULT_DELAY_NS,
    Attempt,
    ObservedState,
    is_binding,
    is_result,
    nearest_positions,
    waiting_claims,
)
from podwright.simulation.shadow.recorded_cluster import RecordedCluster, Track, waits_to_be_bound

_MOST_STATES = 600


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
        was_nominated = isinstance(old, Pod) and bool(old.status.nominated_node_name)
        if not claim_uses(pod) and not was_nominated:
            return binding
        first = binding
        for index in range(self._index_of[binding.line] - 1, -1, -1):
            line = self._lines[index]
            obj = line.object
            if isinstance(obj, Pod):
                if obj.uid != pod.uid:
                    continue
                # The pod was added here: no result is earlier.
                if line.old is None:
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
            new, old = line.object, line.old
            if not isinstance(new, Pod) or not isinstance(old, Pod) or line.event == "Delete":
                continue
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
            pod = self._view.pods.get(attempt.pod)
            if pod is not None and attempt.node and not pod.spec.node_name:
                self._view.assume(pod, attempt.node)

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
        others = {
            kind: positions_of_kind
            for kind in self._view.tracks
            if kind != POD and len(positions_of_kind := self._earlier(kind, attempt)) > 1
        }
        for kind, positions_of_kind in others.items():
            for position in nearest_positions(
                positions_of_kind, here[kind], self._view.tracks[kind].lines
            ):
                yield ObservedState({kind: position})
        tried = 0
        for position in backwards:
            crossed = self._placed_between(position, here[POD])
            for count in range(1, len(upcoming) + 1):
                if tried == _MOST_STATES:
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
        for line in self._pods.lines[position:]:
            if line.seen_ns > attempt.time_ns + self._delay_ns:
                break
            placed = line.object
            if not isinstance(placed, Pod) or placed.key == attempt.pod:
                continue
            there = self._view.pods.get(placed.key)
            node = placed.spec.node_name if is_binding(line) else _awaited_node(line)
            if node and there is not None and there.uid == placed.uid:
                found.append((there, node))
        return tuple(found)

    def _placed_between(self, position: int, here: int) -> tuple[tuple[Pod, str], ...]:
        """Return the pods that were bound between two positions."""
        return tuple(
            (line.old, line.object.spec.node_name)
            for line in self._pods.lines[position:here]
            if is_binding(line) and isinstance(line.object, Pod) and isinstance(line.old, Pod)
        )


def _is_preempted(pod: Pod) -> bool:
    preempted = ("DisruptionTarget", "True", "PreemptionByScheduler")
    return any((one.type, one.status, one.reason) == preempted for one in pod.status.conditions)


def _is_nomination(line: RecordLine, node: str) -> bool:
    new, old = line.object, line.old
    return (
        isinstance(new, Pod)
        and isinstance(old, Pod)
        and new.status.nominated_node_name == node
        and old.status.nominated_node_name != node
    )


def _awaited_node(line: RecordLine) -> str:
    """Return the node to which this change nominates a pod that was placed there."""
    pod = line.object
    if not isinstance(pod, Pod) or not waits_to_be_bound(pod):
        return ""
    node = pod.status.nominated_node_name
    return node if _is_nomination(line, node) else ""


def _apart_ns(one: RecordLine, other: RecordLine) -> int:
    return abs(one.seen_ns - other.seen_ns)

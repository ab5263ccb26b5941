"""The annotations of the pods of a log that is still being recorded.

A machine of its own follows the log. Each cycle is explained before the machine handles the event
in which it ended, and the calls after it are traced while the machine continues, so that the
results of all attempts together cost one replay of the log.

A cycle that calls extenders starts in an earlier event than it ends. With extenders there is a
second machine, which handles the events of a cycle after it was explained, so all cost two replays.

Notes
-----
Upstream: kube-scheduler-simulator simulator/resourcewatcher/resourcewatcher.go,
simulator/resourcewatcher/streamwriter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from podwright.apimachinery.objects import NamespacedName, Pod, PodwrightError
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework import Explanation, Plugin, PluginCall, Profile, trace_plugins
from podwright.scheduler.machine import Action, CycleDue, ExtenderReplied
from podwright.simulation.kss.annotations import (
    PodResults,
    finished_attempt,
    first_profile_weights,
    is_stateless,
    kss_annotations,
)
from podwright.simulation.kss.results import HISTORY, AttemptTrace
from podwright.simulation.kss.snapshot_import import SnapshotKind
from podwright.simulation.recording import DecisionLog, Entry, UnknownCycle, new_machine

PODS_MAX: Final = 2_000
"""The results of so many pods are kept; those of others are found by a separate replay."""


class _OpenAttempt(msgspec.Struct, frozen=True):
    """An attempt whose pod is not bound yet and has not failed."""

    explanation: Explanation
    profile: Profile
    trace: AttemptTrace


class _Pod(msgspec.Struct):
    """What was found of a pod."""

    uid: str
    results: PodResults
    open: _OpenAttempt | None = None


class LiveResults:
    """The annotations of pods, kept up to date with a log.

    Parameters
    ----------
    log : DecisionLog
        In memory, or of this process.
    plugins : iterable of type
        The user's plugin classes that the run is recorded with.
    """

    def __init__(self, log: DecisionLog, *, plugins: Iterable[type[Plugin]] = ()) -> None:
        self._log = log
        self._plugins = tuple(plugins)
        self._machine = machine = new_machine(log, plugins=self._plugins)
        runners = map(machine.runner, machine.profiles)
        has_extenders = any(each is not None and each.extenders for each in runners)
        # The machine before the current cycle, on which that is explained.
        self._before = new_machine(log, plugins=self._plugins) if has_extenders else machine
        self._cycle: list[tuple[Entry, Sequence[Action]]] = []
        """The events since the start of a cycle that waits for an extender."""
        self._replies: list[ExtenderReply] = []
        """The replies of extenders to that cycle."""
        self._weights = first_profile_weights(log.setup, plugins=self._plugins)
        self._events = log.follow()
        self._pods: dict[NamespacedName, _Pod] = {}
        self._attempts: dict[NamespacedName, int] = {}
        self._traced: dict[int, Profile] = {}
        self._calls: list[PluginCall] = []
        self._open: dict[str, _Pod] = {}
        self._can_follow = True

    def advance(self, is_over: Callable[[], bool] = lambda: False) -> bool:
        """Process the events that were recorded since the last call.

        Parameters
        ----------
        is_over : callable
            Called after each event; whether to stop, and to continue in the next call.

        Returns
        -------
        bool
            Whether the end of the log is reached.
        """
        while self._can_follow and (entry := next(self._events)) is not None:
            self._process(entry)
            if is_over():
                return False
        return True

    def is_kept(self, pod: NamespacedName) -> bool:
        """Whether the annotations of a pod are known without a replay of the log."""
        return pod in self._pods or (self._can_follow and pod not in self._attempts)

    def annotations(self, pod: NamespacedName) -> Mapping[str, str]:
        """Return the annotations of a pod so far; empty if it was never tried.

        Raises
        ------
        LogError
            The log cannot be replayed.
        """
        self.advance()
        found = self._pods.get(pod)
        if found is not None:
            return found.results.annotations(self._unfinished(found))
        if self.is_kept(pod):
            return {}
        try:
            return kss_annotations(self._log, pod, plugins=self._plugins)
        except UnknownCycle:
            return {}

    def _unfinished(self, pod: _Pod) -> Mapping[str, str]:
        open_attempt = pod.open
        return {} if open_attempt is None else self._results_of(open_attempt)

    def _results_of(self, attempt: _OpenAttempt) -> Mapping[str, str]:
        explanation, profile, trace = attempt.explanation, attempt.profile, attempt.trace
        return finished_attempt(explanation, profile, self._weights, trace).results

    def _process(self, entry: Entry) -> None:
        machine = self._machine
        match entry.event:
            case ExtenderReplied(reply=reply) if not machine.defers(entry.event):
                self._replies.append(reply)
            case CycleDue() if machine.defers(entry.event):
                self._can_follow = False  # another driver than those of podwright
            case _:
                pass
        for key in entry.pods:
            self._begin(key, entry)
        if not self._can_follow:
            self._pods.clear()
            return
        self._calls.clear()  # those of the explanations
        actions = machine.handle(entry.event, entry.now_ns)
        for uid, pod in list(self._open.items()):
            attempt = pod.open
            assert attempt is not None, f"{uid} has no open attempt"
            for call in self._calls:
                attempt.trace.record_call(call)
            attempt.trace.process(entry, actions)
            if attempt.trace.is_decided:
                pod.results.add(self._results_of(attempt))
                pod.open = None
                del self._open[uid]
        if self._before is not machine:
            self._cycle.append((entry, actions))
            if not machine.defers(CycleDue()):
                self._end_cycle()

    def _end_cycle(self) -> None:
        """Let the machine on which cycles are explained catch up."""
        for entry, _ in self._cycle:
            self._before.handle(entry.event, entry.now_ns)
        self._cycle.clear()
        self._replies.clear()

    def _begin(self, key: NamespacedName, entry: Entry) -> None:
        """Explain the cycle of a pod that ends in an event, before the event is handled."""
        before = self._before
        queued = before.queue.get(key)
        self._attempts[key] = number = self._attempts.get(key, 0) + 1
        runner = None if queued is None else before.runner(queued.pod.spec.scheduler_name)
        start = self._cycle[0][0] if self._cycle else entry
        if queued is None or runner is None or not self._can_explain(queued.pod, start):
            self._can_follow = False
            return
        uid = queued.pod.metadata.uid
        pod = self._pods.get(key)
        if pod is None or pod.uid != uid:
            self._pods.pop(key, None)
            if number > 1 and pod is None:
                return  # earlier results are not kept any more
            pod = _Pod(uid, PodResults(queued.pod.metadata.annotations.get(HISTORY)))
            self._pods[key] = pod
            if len(self._pods) > PODS_MAX:
                del self._pods[next(iter(self._pods))]
        replies = iter(self._replies)
        explanation = runner.explain(
            queued.pod,
            cycle_number=before.queue.scheduling_cycle + 1,
            now_ns=start.now_ns,
            call_extender=lambda _: next(replies),
        )
        trace = AttemptTrace(uid, entry.index, explanation.decision.node, runner.extenders)
        for earlier, actions in self._cycle:
            trace.process(earlier, actions)
        explanation = msgspec.structs.replace(explanation, attempt=number)
        pod.open = _OpenAttempt(explanation, runner.profile, trace)
        self._open[uid] = pod

    def _can_explain(self, pod: Pod, start: Entry) -> bool:
        """Whether the cycle of a pod can be explained on a machine that continues with it.

        Explanations could change plugins that keep state.
        """
        runner = self._machine.runner(pod.spec.scheduler_name)
        assert runner is not None, f"both machines have the profile of {pod.key}"
        profile = runner.profile
        if id(profile) not in self._traced:
            if not all(map(is_stateless, profile.all_plugins())):
                return False
            trace_plugins(profile, self._calls.append)
            self._traced[id(profile)] = profile
        return isinstance(start.event, CycleDue)


# The stream `listwatchresources`: the objects of seven kinds, and their changes, as JSON lines.

PARAMETERS: Final[Mapping[str, str]] = {
    "pods": "podsLastResourceVersion",
    "nodes": "nodesLastResourceVersion",
    "pvs": "pvsLastResourceVersion",
    "pvcs": "pvcsLastResourceVersion",
    "storageClasses": "scsLastResourceVersion",
    "priorityClasses": "pcsLastResourceVersion",
    "namespaces": "namespaceLastResourceVersion",
}
"""The query parameter with the last version that the client knows, by the key of the kind."""

_EVENT_TYPES: Final = frozenset({"ADDED", "MODIFIED", "DELETED"})
_TYPE_FIELDS: Final = ("kind", "apiVersion")


class StreamEnded(PodwrightError):  # noqa: N818 - named for what happened
    """The watch of a kind reported an error, so the stream ends."""


class Change(msgspec.Struct, frozen=True):
    """An event of the stream.

    Attributes
    ----------
    kind : SnapshotKind
    type : str
        ADDED, MODIFIED or DELETED.
    obj : dict of str to Raw
        The object without kind and apiVersion.
    """

    kind: SnapshotKind
    type: str
    obj: dict[str, msgspec.Raw]

    def line(self, annotations: Mapping[str, str] | None = None) -> bytes:
        """Return the line, with further annotations of the object."""
        obj = self.obj
        if annotations:
            metadata = msgspec.json.decode(obj["metadata"])
            metadata["annotations"] = {**(metadata.get("annotations") or {}), **annotations}
            obj = {**obj, "metadata": msgspec.Raw(msgspec.json.encode(metadata))}
        event = {"Kind": self.kind.resource, "EventType": self.type, "Obj": obj}
        return msgspec.json.encode(event) + b"\n"


class _List(msgspec.Struct, frozen=True, kw_only=True):
    metadata: dict[str, str | int]
    items: list[dict[str, msgspec.Raw]]


class _WatchLine(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    object: dict[str, msgspec.Raw]


def last_version(parameters: Mapping[str, str], kind: SnapshotKind) -> str:
    """Return the version after which a client continues; "" for all objects first.

    The documentation of kube-scheduler-simulator writes the parameters with a small `l`.
    """
    name = PARAMETERS[kind.key]
    return parameters.get(name) or parameters.get(name.replace("Last", "last")) or ""


def listed(kind: SnapshotKind, body: bytes) -> tuple[list[Change], str]:
    """Return the events for the objects of a list, and the version of the list."""
    found = msgspec.json.decode(body, type=_List)
    changes = [Change(kind, "ADDED", _without_type(item)) for item in found.items]
    return changes, str(found.metadata["resourceVersion"])


def change_of(kind: SnapshotKind, line: bytes) -> Change | None:
    """Return the event of a line of a watch; None for a bookmark.

    Raises
    ------
    StreamEnded
        The line is an error.
    """
    event = msgspec.json.decode(line, type=_WatchLine)
    if event.type == "ERROR":
        message = msgspec.json.decode(event.object.get("message", b'""'))
        raise StreamEnded(f"the watch of {kind.resource} ended: {message}")
    if event.type not in _EVENT_TYPES:
        return None
    return Change(kind, event.type, _without_type(event.object))


def _without_type(obj: dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    return {name: value for name, value in obj.items() if name not in _TYPE_FIELDS}

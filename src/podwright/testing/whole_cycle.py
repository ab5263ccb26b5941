"""Whole cycles of one plugin in a machine, for `check_plugin`.

A machine schedules all pods with the plugin at every extension point that it implements, beside
NodeResourcesFit and DefaultBinder. The first binding of each pod fails, so that Unreserve runs;
the next one succeeds. Then all pods end. Every call to the plugin is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from podwright.apimachinery.objects import Object, Pod, with_fields, with_node_name
from podwright.scheduler.assembly import Registry
from podwright.scheduler.framework import (
    CallError,
    Cycle,
    Plugin,
    PluginRunner,
    PostFilterResult,
    Profile,
    Status,
)
from podwright.scheduler.machine import (
    Action,
    Bind,
    CallDone,
    CycleDue,
    DeletePod,
    Event,
    Failure,
    FlushBackoff,
    Machine,
    ObjectDeleted,
    ObjectPut,
    PatchPodMetadata,
    PodAllowed,
    RunningProfile,
    TimerFired,
    UpdateClaim,
    UpdateVolume,
    WakeAt,
    WriteResourceClaim,
    with_point,
)

_SCHEDULER: Final = "default-scheduler"
_START_NS: Final = 1_700_000_000 * 1_000_000_000
_BACKOFF_NS: Final = 60 * 1_000_000_000
_MOST_EVENTS: Final = 5_000
_MOST_ATTEMPTS: Final = 10
"""Per pod on average, in one phase: a pod that is never allowed at Permit is retried forever."""
_LOST: Final = "check_plugin fails the first binding of each pod"

_TRACED: Final = (
    "pre_enqueue",
    "post_filter",
    "reserve",
    "unreserve",
    "permit",
    "pre_bind",
    "continue_pre_bind",
    "bind",
    "continue_bind",
    "post_bind",
    "pod_ended",
)


class PluginCall(NamedTuple):
    """One call of the plugin.

    Parameters
    ----------
    method : str
    pod : Pod
    answer : object
        What it returned; an Exception if it raised.
    """

    method: str
    pod: Pod
    answer: object


class CycleOutcome(NamedTuple):
    """What happened to a plugin in whole cycles.

    Parameters
    ----------
    problems : list of str
        The errors of the plugin, in the order in which they occurred.
    calls : list of PluginCall
    keeps_state : bool
        Something that the plugin refers to has changed, and it does not define `remembers`.
    """

    problems: list[str]
    calls: list[PluginCall]
    keeps_state: bool

    def answers(self, method: str) -> list[object]:
        """Return what a method returned, call by call."""
        return [call.answer for call in self.calls if call.method == method]


def run_whole_cycles(
    plugin: Plugin, objects: Iterable[Object], pods: Iterable[Pod]
) -> CycleOutcome:
    """Schedule, bind and end pods with a plugin.

    Parameters
    ----------
    objects : iterable of object
        Namespaces, nodes and placed pods.
    pods : iterable of Pod
        Pending pods; their schedulerName is replaced.
    """
    trace = _Trace()
    handle = plugin.handle
    with _traced(plugin, trace):
        driver = _Driver(plugin, trace)
        driver.put(*objects)
        pending = [_schedulable(pod) for pod in pods]
        driver.check_queueing(pending)
        driver.put_pending(pending)
        driver.allow_waiting()
        driver.settle()
        driver.after_backoff()
        keeps_state = bool(driver.machine.unrestorable)
        driver.end_all()
    plugin.handle = handle
    return CycleOutcome(driver.problems, trace.calls, keeps_state)


def notes_of(plugin: Plugin, outcome: CycleOutcome) -> Iterator[str]:
    """Say which methods were not exercised."""
    for method in _TRACED:
        answers = outcome.answers(method)
        if not plugin.implements(method):
            continue
        if not answers:
            yield f"{method} was never called"
        elif method == "permit" and not any(_has_code(answer) for answer in answers):
            yield "permit never rejected a pod and never let one wait"
        elif method == "pre_enqueue" and not any(map(_has_code, answers)):
            yield "pre_enqueue never rejected a pod"
        elif method == "post_filter" and not any(map(_nominates, answers)):
            yield "post_filter never nominated a node"
    if plugin.implements("reserve") and not plugin.implements("unreserve"):
        yield "reserve has no unreserve: what it keeps for a pod stays when the attempt fails"
    if outcome.keeps_state:
        yield (
            "the plugin keeps state from pod to pod and does not define remembers(): checkpoints"
            " of a recorded run cannot contain it"
        )


def _has_code(answer: object) -> bool:
    status = answer[0] if isinstance(answer, tuple) else answer
    return isinstance(status, Status) and not status.is_success and not status.is_skip


def _nominates(answer: object) -> bool:
    # A plugin that calls extenders returns a generator, whose result is not seen here.
    return not isinstance(answer, PostFilterResult) or bool(answer.nominated_node)


# ---------------------------------------------------------------- tracing


class _Trace:
    """The calls so far; an object of podwright, so that it does not count as state."""

    def __init__(self) -> None:
        self.calls: list[PluginCall] = []


@contextmanager
def _traced(plugin: Plugin, trace: _Trace) -> Iterator[None]:
    """Record the calls of a plugin for a while, by a subclass of its class."""
    cls = type(plugin)
    methods: dict[str, Any] = {
        name: _recording(name, getattr(cls, name), trace)
        for name in _TRACED
        if cls.implements(name)
    }
    namespace = methods | {"__slots__": (), "__module__": cls.__module__, "__doc__": cls.__doc__}
    metaclass: Any = type(cls)
    plugin.__class__ = metaclass(cls.__name__, (cls,), namespace)
    try:
        yield
    finally:
        plugin.__class__ = cls


def _recording(name: str, method: Callable[..., object], trace: _Trace) -> Callable[..., object]:
    def call(plugin: Plugin, first: Cycle | Pod, *more: Any) -> object:
        pod = first.pod if isinstance(first, Cycle) else first
        try:
            answer = method(plugin, first, *more)
        except Exception as error:
            trace.calls.append(PluginCall(name, pod, error))
            raise
        trace.calls.append(PluginCall(name, pod, answer))
        return answer

    return call


# ---------------------------------------------------------------- driving


def _schedulable(pod: Pod) -> Pod:
    named = with_fields(pod, "spec", scheduler_name=_SCHEDULER)
    return named if pod.metadata.uid else with_fields(named, "metadata", uid=pod.key)


def _profile_of(plugin: Plugin) -> Profile:
    """Return a profile with the plugin wherever it implements an extension point."""

    def at(*methods: str) -> tuple[Plugin, ...]:
        return (plugin,) if any(plugin.implements(method) for method in methods) else ()

    beside = {
        name: made
        for name in ("NodeResourcesFit", "DefaultBinder")
        if plugin.name != name
        and (made := Registry().make(name, None, source="check_plugin")) is not None
    }
    fit = tuple(made for name, made in beside.items() if name == "NodeResourcesFit")
    binder = tuple(made for name, made in beside.items() if name == "DefaultBinder")
    return Profile(
        scheduler_name=_SCHEDULER,
        pre_enqueue=at("pre_enqueue"),
        queue_sort=at("queue_sort_key"),
        pre_filter=(*fit, *at("pre_filter")),
        filter=(*fit, *at("filter", "filter_columns")),
        post_filter=at("post_filter"),
        pre_score=at("pre_score"),
        score=tuple((one, 1) for one in at("score", "score_columns")),
        reserve=at("reserve", "unreserve"),
        permit=at("permit"),
        pre_bind=at("pre_bind"),
        bind=(*at("bind"), *binder),
        post_bind=at("post_bind"),
    )


class _Driver:
    """Drives a machine: executes its actions, and lets time pass."""

    def __init__(self, plugin: Plugin, trace: _Trace) -> None:
        self._plugin = plugin
        self._trace = trace
        profile = _profile_of(plugin)
        self.machine = machine = Machine({_SCHEDULER: profile})
        machine.watch_failures(self._note_failure, self._found)
        machine.watch_state({plugin.name})
        self._now_ns = _START_NS
        self._wake_ns: int | None = None
        self._failed: set[str] = set()
        self._event_count = 0
        self._pod_count: int
        self._own_errors = re.compile(
            rf'running \w+ (?:plugin )?"{re.escape(plugin.name)}": .*', re.DOTALL
        )
        self.problems: list[str] = []

    def put(self, *objects: Object) -> None:
        """Deliver new objects, or new versions."""
        for obj in objects:
            self._deliver(ObjectPut(obj))

    def put_pending(self, pods: Sequence[Pod]) -> None:
        """Deliver pending pods, and try each of them once."""
        self._pod_count = len(pods)
        self.put(*pods)
        for _ in pods:
            if self.machine.has_next:
                self._deliver(CycleDue())

    def allow_waiting(self) -> None:
        """Allow every second pod that waits at Permit; the others time out."""
        for key, plugins in list(self.machine.waiting().items())[::2]:
            for name in plugins:
                self._deliver(PodAllowed(key, name))

    def check_queueing(self, pods: Iterable[Pod]) -> None:
        """Report errors of PreEnqueue, QueueSort and `group_of`, which only gate pods."""
        running = next(iter(self.machine.profiles.values()))
        checked = RunningProfile(PluginRunner(running, self.machine.cluster))
        for pod in pods:
            gated = checked.run_pre_enqueue(pod, self._now_ns)
            if gated is not None and not gated[2].is_rejection:
                point, name, status = gated
                self._found(with_point(status.by(name), point).message)

    def settle(self) -> None:
        """Run cycles and timers until nothing is left to do, or only retries are."""
        limit = self._event_count + _MOST_EVENTS
        cycles_left = _MOST_ATTEMPTS * self._pod_count
        while self._event_count < limit:
            if self.machine.has_next and not cycles_left:
                return
            if self.machine.has_next:
                cycles_left -= 1
                self._deliver(CycleDue())
            elif self._wake_ns is not None:
                self._now_ns, self._wake_ns = max(self._now_ns, self._wake_ns), None
                self._deliver(TimerFired())
            else:
                return
        self._found(
            f"pods are not bound after {_MOST_EVENTS:,} events: the plugin does not finish"
            " PreBind or Bind"
        )

    def after_backoff(self) -> None:
        """Retry the pods whose first binding failed."""
        self._now_ns += _BACKOFF_NS
        self._deliver(FlushBackoff())
        self.settle()

    def end_all(self) -> None:
        """Let all pods end, one half by success and the other half by deletion."""
        pods = map(self.machine.pod, sorted(self.machine.cluster.pods))
        for index, pod in enumerate(filter(None, pods)):
            if index % 2:
                self.put(with_fields(pod, "status", phase="Succeeded"))
            else:
                self._deliver(ObjectDeleted(pod))

    # ------------------------------------------------------------ events and actions

    def _deliver(self, event: Event) -> None:
        events = [event]
        while events:
            self._event_count += 1
            for action in self.machine.handle(events.pop(0), self._now_ns):
                events.extend(self._execute(action))

    def _execute(self, action: Action) -> Iterator[Event]:
        match action:
            case Bind():
                yield from self._bind(action)
            case DeletePod():
                pod = self.machine.pod(action.pod)
                if pod is not None:
                    yield ObjectDeleted(pod)
                yield CallDone(action.call)
            case WakeAt():
                due_ns = action.due_ns
                self._wake_ns = due_ns if self._wake_ns is None else min(due_ns, self._wake_ns)
            case UpdateVolume():
                yield CallDone(action.call, obj=action.volume)
            case UpdateClaim():
                yield CallDone(action.call, obj=action.claim)
            case WriteResourceClaim():
                yield ObjectPut(action.claim)
                yield CallDone(action.call, obj=action.claim)
            case PatchPodMetadata():
                pod = self.machine.pod(action.pod)
                if pod is not None:
                    yield ObjectPut(action.applied_to(pod))
                yield CallDone(action.call)
            case _ if hasattr(action, "call"):
                yield CallDone(action.call)
            case _:
                pass

    def _bind(self, action: Bind) -> Iterator[Event]:
        if action.uid not in self._failed:
            self._failed.add(action.uid)
            yield CallDone(action.call, CallError(_LOST))
            return
        pod = self.machine.pod(action.pod)
        if pod is not None:
            yield ObjectPut(with_node_name(pod, action.node))
        yield CallDone(action.call)

    def _note_failure(self, pod: Pod, failure: Failure, now_ns: int) -> None:
        found = self._own_errors.search(failure.message)
        if found and _LOST not in failure.message:
            self._found(found.group())

    def _found(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

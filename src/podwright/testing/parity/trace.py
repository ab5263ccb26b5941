"""Traces of the whole scheduler: the machine with a fake API server.

The server is as `golden/FORMAT.md` describes it: a write increments the object's version and is
delivered to the machine before the call returns; calls take no time unless the script sets a
delay.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

from podwright.scheduler.framework import Decision, PluginRunner
from podwright.scheduler.machine import (
    Action,
    Bind,
    CallDone,
    CallExtender,
    CycleDue,
    DeletePod,
    EmitEvent,
    Event,
    FlushBackoff,
    FlushUnschedulable,
    Machine,
    PatchExtendedClaim,
    PatchPodGroupStatus,
    PatchPodMetadata,
    PatchPodStatus,
    PodAllowed,
    PodRejected,
    TimerFired,
    UpdateClaim,
    UpdateVolume,
    WakeAt,
    WriteResourceClaim,
)
from podwright.scheduler.queueing import SECOND_NS, QueuedPod, QueueName
from podwright.simulation.world import EventHeap, Turn
from podwright.testing.parity.comparison import (
    Case,
    Check,
    Comparison,
    LeftOut,
    Winners,
    equal,
    only,
    time_of,
    winners_of,
)
from podwright.testing.parity.queue import popped_pod, queue_state
from podwright.testing.parity.trace_server import Call, Server, machine_of

_EVENTS: dict[str, Callable[[dict[str, Any]], Event]] = {
    "flush_backoff": lambda _step: FlushBackoff(),
    "flush_unschedulable": lambda _step: FlushUnschedulable(),
    "allow": lambda step: PodAllowed(step["name"], step["plugin"]),
    "reject": lambda step: PodRejected(step["name"], step["plugin"], step["message"]),
}
"""The steps that are events of the machine."""


_RACE = "upstream evicts for a group while its members return to the queue, some of them not gated"


def check_trace(case: Case) -> Check:
    """Compare what happened in each step, and the state after it.

    A step of the machine ends before its calls are answered, so that all members of a group that
    preempts are gated. Where upstream had other members gated, the rest cannot be compared.
    """
    replay = TraceReplay(case)
    found: list[Comparison | LeftOut] = []
    for step in case["steps"]:
        replay.begin_step(step["dt"])
        popped = replay.do(step)
        results = _compare(step["expect"], replay, popped, step["op"])
        of_step = [each for each in results if isinstance(each, Comparison)]
        differing = {each.field for each in of_step if not each.agrees}
        if replay.has_raced and differing and differing <= _QUEUE:
            agrees = all(isinstance(each, Comparison) and each.agrees for each in found)
            found = [LeftOut(_RACE)] if agrees else found
            break
        found += of_step
    yield from found


class TraceReplay:
    """One trace: machine, server and clock.

    Attributes
    ----------
    machine : Machine
    server : Server
    start_ns, now_ns : int
    plugin_calls, calls, events : dict of str to list
        What happened in this step, per pod or object.
    unchanged : dict of str to list
        Per call, the fields that its patch sets to their old value.
    decisions : list of Decision
        Those of this step.
    full : (Decision, list of str), optional
        The decision of a full cycle and its winners, if a batching hint decides this step.
    """

    def __init__(self, case: Case) -> None:
        self.start_ns = time_of(case["start"])
        self._heap: EventHeap[TimerFired | Call] = EventHeap(self.start_ns)
        self.shows_all_batches = case.get("family") == "batching"
        """Whether what batching did is given for every attempt."""
        self._actions: deque[Action] = deque()
        self.plugin_calls: dict[str, list[Any]] = defaultdict(list)
        self.calls: dict[str, list[Any]] = defaultdict(list)
        self.unchanged: dict[str, list[frozenset[tuple[str, str]]]] = defaultdict(list)
        self.events: dict[str, list[Any]] = defaultdict(list)
        self.decisions: list[Decision] = []
        self.full: tuple[Decision, list[str]] | None = None
        self._released: set[str] = set()
        self._resuming: list[tuple[str, CallDone]] = []
        script = case.get("script") or {}
        self.has_raced = False
        """Whether a group has preempted other pods."""
        self.machine: Machine = machine_of(case, script, self.plugin_calls, self.start_ns)
        self._winners = {
            name: Winners(runner)
            for name in self.machine.profiles
            if isinstance(runner := self.machine.runner(name), PluginRunner)
        }
        self.server = Server(script, self._deliver, self._heap)
        for document in case["objects"]:
            self.server.create(document)
            self._settle()

    # ---------------------------------------------------------------- time

    def begin_step(self, dt: float) -> None:
        """Advance the time; due timers fire at their own time."""
        for happened in (self.plugin_calls, self.calls, self.unchanged, self.events):
            happened.clear()
        self.decisions.clear()
        for winners in self._winners.values():
            winners.clear()
        self.full = None
        until_ns = self.now_ns + round(dt * SECOND_NS)
        while (due := self._heap.pop(until_ns)) is not None:
            event = due.event
            self._deliver(event if isinstance(event, TimerFired) else self.server.finish(event))
            self._settle()
        self._heap.advance(until_ns)

    @property
    def now_ns(self) -> int:
        """The time of the trace."""
        return self._heap.now_ns

    def seconds(self, time_ns: int) -> float:
        """Return a time in seconds since the start, as the vectors write it."""
        return (time_ns - self.start_ns) / SECOND_NS

    # ---------------------------------------------------------------- events and actions

    def _deliver(self, event: Event) -> None:
        self._actions.extend(self.machine.handle(event, self.now_ns))

    def _settle(self) -> None:
        """Carry out actions until everything waits for something."""
        while True:
            while self._actions:
                self._carry_out(self._actions.popleft())
            if not self._resuming:
                return
            _, done = self._resuming.pop(0)
            self._deliver(done)

    def _carry_out(self, action: Action) -> None:
        match action:
            case WakeAt(due_ns):
                self._later(due_ns, TimerFired())
            case CallExtender() | WriteResourceClaim() | PatchExtendedClaim() | PatchPodMetadata():
                raise AssertionError(
                    f"traces have no extenders, devices or plugins of users: {action}"
                )
            case EmitEvent():
                self.events[action.pod].append(_event_of(action))
            case (
                Bind()
                | PatchPodStatus()
                | PatchPodGroupStatus()
                | DeletePod()
                | UpdateVolume()
                | UpdateClaim()
            ):
                name, call = self.server.describe(action)
                delay_ns = self.server.begin(action)
                self.calls[name].append(call)
                self.unchanged[name].append(self.server.unchanged(name, call))
                if delay_ns:
                    call["started"] = True
                    self._later(self.now_ns + delay_ns, action)
                else:
                    done = self.server.finish(action)
                    if done.error is not None:
                        call["error"] = done.error.message
                    self._answer(action, done)

    def _answer(self, action: Action, done: CallDone) -> None:
        """Reply to a call; a binding continues before the next one starts, preemptions alternate.

        A pod that waits at permit and is released by a later pod of the same cycle continues
        after a delay that grows with the number in its name, as in the recordings: immediately
        if the number is 0, otherwise after the binding of the pod that released it.
        """
        if not isinstance(action, PatchPodStatus) or action.condition is not None:
            self._deliver(done)
        elif action.pod in self._released and _number_in(action.pod):
            self._released.remove(action.pod)
            self._resuming.append((action.pod, done))
            self._resuming.sort(key=lambda resuming: _number_in(resuming[0]))
        else:
            self._actions.extendleft(reversed(self.machine.handle(done, self.now_ns)))

    def _later(self, due_ns: int, due: TimerFired | Call) -> None:
        self._heap.push(max(due_ns, self.now_ns), Turn.TIMER, due)

    # ---------------------------------------------------------------- steps

    def do(self, step: dict[str, Any]) -> dict[str, Any] | None:
        """Run a step; return the popped pod."""
        popped: dict[str, Any] | None = None
        op, name = step["op"], step.get("name", "")
        if op == "cycle":
            popped = _next(self.machine)
            if any(_has_hint(attempt) for attempt in step.get("expect", {}).get("attempts", [])):
                self.full = self._decide_fully()
            self._cycle()
        elif op in _EVENTS:
            self._deliver(_EVENTS[op](step))
        else:
            self._change(op, name, step)
        self._settle()
        return popped

    def _cycle(self) -> None:
        before, pods = self.machine.last_evaluations, {*self.server.names("Pod")}
        allowed_before = self._allowed()
        self._deliver(CycleDue())
        self._released = self._allowed() - allowed_before
        if not pods.issuperset(self.machine.preempting()):
            self.has_raced = True
        # Pods that already waited are released in order of their names, after this pod; one
        # without a delay is first.
        at_once = [a for a in self._actions if isinstance(a, Bind) and self._has_no_delay(a)]
        for action in at_once:
            self._actions.remove(action)
        self._actions.extendleft(reversed(at_once))
        decisions = self.machine.last_evaluations
        if decisions is not before:
            self.decisions += decisions

    def _has_no_delay(self, action: Bind) -> bool:
        return action.pod in self._released and not _number_in(action.pod)

    def _allowed(self) -> set[str]:
        """Return the pods at permit that every plugin has allowed."""
        return {name for name, plugins in self.machine.waiting().items() if not plugins}

    def winners_of(self, decision: Decision) -> list[str]:
        """Return the nodes with the greatest total in a decision of this step."""
        return self._winners[decision.pod.spec.scheduler_name].of(decision)

    def search_position_of(self, decision: Decision) -> object:
        """Return where the search starts that follows the decision of this step."""
        runner = self.machine.runner(decision.pod.spec.scheduler_name)
        return None if runner is None else runner.search_position()

    def _decide_fully(self) -> tuple[Decision, list[str]]:
        """Return the decision for the next pod without batching."""
        pod = _next_queued(self.machine).pod
        profile = self.machine.profiles[pod.spec.scheduler_name]
        runner = PluginRunner(profile, self.machine.cluster, keeps_totals=True)
        decision = runner.decide(pod, cycle_number=0)
        return decision, winners_of(runner, decision)

    def _change(self, op: str, name: str, step: dict[str, Any]) -> None:
        """Do what users, kubelets and the volume controller do."""
        match op:
            case "create":
                self.server.create(step["object"])
            case "update":
                self.server.update(step["object"])
            case "delete":
                self.server.delete(step.get("kind", "Pod"), name)
            case "terminate":
                self.server.terminate(name)
            case "reap":
                self.server.reap()
            case "volumes":
                self.server.bind_volumes()
            case "volumes_reset":
                self.server.reset_volumes()
            case "tick":
                pass
            case other:
                raise AssertionError(f"unknown op {other}")

    # ---------------------------------------------------------------- state

    def state(self) -> dict[str, Any]:
        """Return the state after a step, as `expect` writes it."""
        machine = self.machine
        return {
            "now": self.seconds(self.now_ns),
            "waiting": {name: sorted(plugins) for name, plugins in machine.waiting().items()},
            "assumed": machine.assumed(),
            "preempting": sorted(machine.preempting()),
            **queue_state(machine.queue, self.seconds),
        }


def _number_in(name: str) -> int:
    """Return the number at the end of a pod's name."""
    return int(re.split(r"\D+", name)[-1] or 0)


def _event_of(action: EmitEvent) -> dict[str, Any]:
    event = {
        "type": action.type,
        "reason": action.reason,
        "action": action.action,
        "note": action.note,
    }
    if action.related:
        event["related"] = action.related
    return event


def _next(machine: Machine) -> dict[str, Any]:
    """Return the pod that is popped next; the counters include this attempt."""
    if not machine.has_next:
        return {"name": None}
    queued = _next_queued(machine)
    return popped_pod(queued, queued.attempts + 1)


def _next_queued(machine: Machine) -> QueuedPod:
    queue = machine.queue
    waiting = queue.pods_in(QueueName.ACTIVE) or queue.pods_in(QueueName.BACKOFF)
    return waiting[0]


# -------------------------------------------------------------------- comparing


_QUEUE = frozenset({"active", "backoff", "gated", "preempting", "unschedulable"})
_HAPPENED = frozenset({"attempts", "calls", "events", "plugin_calls", "pop"})
_ALWAYS = frozenset({"now", "active", "backoff", "in_flight", "unschedulable"})
"""What `expect` gives even if it is empty."""

_OF_ATTEMPTS = frozenset({
    "batch", "chosen", "error", "feasible", "max_score", "next_start", "pod", "winners",
})  # fmt: skip


def _compare(
    expect: dict[str, Any], replay: TraceReplay, popped: dict[str, Any] | None, op: str
) -> Check:
    state = replay.state()
    yield from only("", expect, {*_HAPPENED, *state})
    if op == "cycle" or "pop" in expect:
        yield equal("pop", expect.get("pop"), popped)
    yield from _compare_attempts(expect.get("attempts", []), replay)
    yield equal("plugin_calls", expect.get("plugin_calls", {}), dict(replay.plugin_calls))
    yield equal("events", expect.get("events", {}), dict(replay.events))
    yield from _compare_calls(expect.get("calls", {}), replay)
    for field, actual in state.items():
        empty: Any = {} if isinstance(actual, dict) else []
        yield equal(field, expect.get(field, None if field in _ALWAYS else empty), actual)


def _compare_attempts(attempts: list[dict[str, Any]], replay: TraceReplay) -> Check:
    decisions = replay.decisions
    yield equal("attempts", len(attempts), len(decisions))
    # What one side has more of is a difference in their number.
    for expect, decision in zip(attempts, decisions, strict=False):
        yield from only("attempts", expect, _OF_ATTEMPTS)
        yield equal("attempts.pod", expect.get("pod"), decision.pod.key)
        yield equal("attempts.chosen", expect.get("chosen", "missing"), decision.node or None)
        error = None if decision.error is None else decision.message
        yield equal("attempts.error", expect.get("error"), error)
        batch = _batch_of(decision)
        if "batch" in expect or "hint" in batch or replay.shows_all_batches:
            yield equal("attempts.batch", expect.get("batch", {}), batch)
        if "next_start" in expect:
            # A share of the nodes was evaluated.
            yield equal("attempts.feasible", expect["feasible"], decision.feasible_count)
            position = replay.search_position_of(decision)
            yield equal("attempts.next_start", expect["next_start"], position)
            continue
        # What follows is about a full evaluation of the pod at this moment.
        full, winners = decision, replay.winners_of(decision)
        if _has_hint(expect) and replay.full is not None:
            full, winners = replay.full
        yield equal("attempts.feasible", expect.get("feasible"), full.feasible_count)
        yield equal("attempts.winners", expect.get("winners"), winners)
        yield equal("attempts.tie_count", len(expect.get("winners", ())), full.tie_count)
        yield equal("attempts.max_score", expect.get("max_score"), full.total)


def _has_hint(attempt: dict[str, Any]) -> bool:
    return "hint" in attempt.get("batch", {})


def _batch_of(decision: Decision) -> dict[str, Any]:
    """Return the batching report in the form of the vectors."""
    report = decision.batch
    if report is None:
        return {}
    fields: dict[str, Any] = {}
    if report.hint:
        fields = {"hint": report.hint, "used": report.is_used}
    if report.flushed:
        fields["flush"] = list(report.flushed)
    return fields


def _compare_calls(expected: dict[str, Any], replay: TraceReplay) -> Check:
    actual = replay.calls
    for name in sorted(expected.keys() | actual.keys()):
        expected_calls, made = expected.get(name, []), actual.get(name, [])
        if len(expected_calls) != len(made):
            yield Comparison("calls", {name: expected_calls}, {name: made}, agrees=False)
            continue
        for expected_call, make, unchanged in zip(
            expected_calls, made, replay.unchanged[name], strict=True
        ):
            agrees = _same_call(expected_call, make, unchanged)
            yield Comparison(f"calls.{make['call']}", {name: expected_call}, {name: make}, agrees)


def _same_call(
    expected_call: dict[str, Any], make: dict[str, Any], unchanged: frozenset[tuple[str, str]]
) -> bool:
    """Compare calls; for a patch, only its changes.

    Parameters
    ----------
    unchanged : frozenset of (str, str)
        Condition type and key of unchanged values: a recorded patch omits them.
    """
    if "patch" not in expected_call or "patch" not in make:
        return expected_call == make
    expected_patch, made = _plain_patch(expected_call["patch"]), make["patch"]
    differing, full = expected_patch.pop("conditions", []), made.get("conditions", [])
    if len(differing) != len(full):
        return False
    for changes, condition in zip(differing, full, strict=True):
        same = condition.items() & changes.items()
        left_out = condition.items() - same
        if len(same) != len(changes) or not all(
            key not in changes and (condition["type"], key) in unchanged for key, _ in left_out
        ):
            return False
    others = {key: value for key, value in made.items() if key != "conditions"}
    return expected_patch == others and expected_call | {"patch": {}} == make | {"patch": {}}


def _plain_patch(patch: dict[str, Any]) -> dict[str, Any]:
    """Leave out the details of the patch format."""
    plain = {key: value for key, value in patch.items() if not key.startswith("$")}
    if "conditions" in plain:
        plain["conditions"] = [
            {key: value for key, value in condition.items() if key != "lastProbeTime"}
            for condition in plain["conditions"]
        ]
    return plain

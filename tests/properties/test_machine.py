"""Laws of the machine under random histories: delayed events, lost replies, changing pods."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given, note, strategies as st
from tests.properties.effort import effort
from tests.properties.exercised import Exercised
from tests.properties.limits import IS_COMPILED
from tests.properties.machine_variants import LICENCE, START_NS, VARIANTS, Variant

from podwright.apimachinery.objects import (
    Node,
    Object,
    Pod,
    with_condition,
    with_fields,
    with_node_name,
    with_nominated_node_name as with_nomination,
)
from podwright.apimachinery.schema import decode
from podwright.scheduler.config import ExtenderCall, ExtenderReply
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.framework.decision import Decision
from podwright.scheduler.machine import (
    Action,
    Bind,
    CallDone,
    CallExtender,
    CycleDue,
    DeletePod,
    Event,
    ExtenderReplied,
    FlushBackoff,
    FlushUnschedulable,
    ObjectDeleted,
    ObjectPut,
    PatchPodGroupStatus,
    PatchPodStatus,
    PodActivated,
    PodAllowed,
    PodRejected,
    TimerFired,
)
from podwright.scheduler.machine.cycles.pod_steps import PodSteps
from podwright.scheduler.machine.profiles import RunningProfile
from podwright.scheduler.preemption import Preemption
from podwright.scheduler.queueing import SECOND_NS, QueuedPod, QueueName
from podwright.testing import make_node, make_pod

pytestmark = pytest.mark.property

NODES = [f"n{i}" for i in range(3)]
PODS = [f"p{i}" for i in range(12)]
GROUPS = ["g0", "g1"]

EXERCISED = Exercised()
"""The counts of the current histories."""


class Surroundings:
    """An API server whose events are delayed, and a clock."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.capacity: dict[str, int] = {}
        self.machine = variant.new_machine()
        if not IS_COMPILED:
            self.pops_in_order()
            self.hints_see_the_node()
        self.delivered: dict[str, Pod] = {}
        self.gone: dict[tuple[str, str], Object] = {}
        self.now_ns = START_NS
        self.objects: dict[tuple[str, str], Object] = {}
        self.news: dict[tuple[str, str], deque[Event]] = {}
        self.calls: list[Action] = []
        self.log: list[tuple[Event, int, bytes]] = []
        self.version = 0

    # ---------------------------------------------------------------- the machine

    def send(self, event: Event) -> list[Action]:
        if isinstance(event, ObjectPut) and isinstance(event.obj, Pod):
            self.delivered[event.obj.key] = event.obj
        elif isinstance(event, ObjectDeleted):
            self.delivered.pop(event.obj.key, None)
            EXERCISED.count("nodes removed", isinstance(event.obj, Node))
        actions = self.machine.handle(event, self.now_ns)
        self.log.append((event, self.now_ns, msgspec.json.encode(actions)))
        self.calls += [action for action in actions if isinstance(action, Call)]
        self.machine.validate()
        self.no_node_is_over_committed()
        return actions

    def pops_in_order(self) -> None:
        """Check at every pop that no more important pod was ready."""
        queue: Any = self.machine.queue
        pop = queue.pop

        def watched(now_ns: int) -> QueuedPod | None:
            ready = [queued.priority for queued in queue.pods_in(QueueName.ACTIVE)]
            popped: QueuedPod | None = pop(now_ns)
            if popped is not None and ready:
                assert popped.priority == max(ready), (popped, popped.priority, ready)
            return popped

        queue.pop = watched

    def hints_see_the_node(self) -> None:
        """Check that the cluster has a removed node while the queue moves pods for its removal.

        Upstream: pkg/scheduler/eventhandlers.go, `deleteNodeFromCache`, which moves pods
        first.
        """
        queue: Any = self.machine.queue
        move = queue.move

        def watched(*args: Any, old: Any = None, new: Any = None, **named: Any) -> Any:
            if isinstance(old, Node) and new is None:
                assert old.metadata.name in self.machine.cluster.nodes.slot_of, old.metadata.name
            return move(*args, old=old, new=new, **named)

        queue.move = watched

    def no_node_is_over_committed(self) -> None:
        if self.variant.assumed_pod_expiry_ns:
            # The API server may bind pods that the machine no longer knows, as upstream's would.
            return
        used = dict.fromkeys(NODES, 0)
        for obj in self.objects.values():
            if isinstance(obj, Pod) and obj.spec.node_name:
                used[obj.spec.node_name] += int(obj.spec.containers[0].resources.requests["cpu"])
        for name, amount in used.items():
            node = self.objects.get(("Node", name))
            if isinstance(node, Node):
                room = int(node.status.allocatable["cpu"])
                assert amount <= room, f"{name} has {room}, used {amount}"
        if self.machine._cycles.suspended is not None:
            # During the dry run of a group its members count beside their victims.
            return
        nodes = self.machine.cluster.nodes
        cpu = nodes.resources["cpu"]
        over = nodes.alive & (nodes.requested[:, cpu] > nodes.allocatable[:, cpu])
        assert not over.any(), nodes.names

    # ---------------------------------------------------------------- the API server

    def write(self, obj: Any) -> None:
        self.version += 1
        obj = with_fields(obj, "metadata", resource_version=str(self.version))
        key = (obj.kind, obj.key)
        self.objects[key] = obj
        self.news.setdefault(key, deque()).append(ObjectPut(obj))

    def remove(self, kind: str, name: str) -> None:
        obj = self.objects.pop((kind, name), None)
        if obj is not None:
            self.gone[kind, name] = obj
            self.news[kind, name].append(ObjectDeleted(obj))

    def deliver(self, which: int) -> None:
        waiting = [key for key, events in self.news.items() if events]
        if waiting:
            self.send(self.news[waiting[which % len(waiting)]].popleft())

    def deliver_all(self, key: tuple[str, str]) -> None:
        while self.news.get(key):
            self.send(self.news[key].popleft())

    def answer(self, which: int, outcome: str) -> None:
        """Complete one of the pending calls, let it fail, or lose its reply."""
        if not self.calls:
            return
        action = self.calls.pop(which % len(self.calls))
        assert isinstance(action, Call)
        match action:
            case CallExtender(call, request):
                self.send(ExtenderReplied(call, self.reply(request, which, outcome)))
            case PatchPodGroupStatus(call):
                self.send(CallDone(call))
            case _:
                self.answer_about_pod(action, outcome)

    def answer_about_pod(self, action: Bind | PatchPodStatus | DeletePod, outcome: str) -> None:
        pod = self.objects.get(("Pod", action.pod))
        if not isinstance(pod, Pod) or pod.metadata.uid != action.uid:
            self.send(CallDone(action.call, CallError("not found", "NotFound")))
            return
        if outcome == "fails":
            self.send(CallDone(action.call, CallError("no leader")))
            return
        error = None
        match action:
            case Bind():
                if not self.bind(pod, action.node):
                    error = CallError("conflict", "Conflict")
            case PatchPodStatus():
                if action.condition is not None:
                    pod = with_condition(pod, action.condition)
                if action.nominated_node is not None:
                    pod = with_nomination(pod, action.nominated_node)
                self.write(pod)
            case DeletePod():
                self.delete(action.pod)
        if outcome == "is lost":
            # The call was executed, but its reply is an error; the change is delivered before that.
            self.deliver_all(("Pod", action.pod))
            error = CallError("connection reset")
        self.send(CallDone(action.call, error))

    def bind(self, pod: Pod, node: str) -> bool:
        """Bind a pod unless it is invalid by now; the API server does not check for resources."""
        if pod.spec.node_name or pod.is_terminating:
            return False
        self.write(with_nomination(with_node_name(pod, node), ""))
        return True

    def reply(self, call: ExtenderCall, which: int, outcome: str) -> ExtenderReply:
        """Reply as an extender: with a valid reply, an invalid one, or none."""
        if outcome == "fails":
            # An empty reply to a binding would claim that the pod is bound.
            rubbish = [b"<html>", b'{"Error": 5}'] if call.verb == "bind" else RUBBISH
            return ExtenderReply(status=200, body=rubbish[which % len(rubbish)])
        if outcome == "is lost":
            return ExtenderReply(error="connection reset")
        body = msgspec.json.decode(call.body)
        answer: Any
        match call.verb:
            case "filter":
                names = body["NodeNames"] or []
                kept = names if which % 3 else names[1:]
                left_out = {name: "not this one" for name in names if name not in kept}
                answer = {"NodeNames": kept, "FailedNodes": left_out}
            case "prioritize":
                answer = [
                    {"Host": name, "Score": (which + position) % 11}
                    for position, name in enumerate(body["NodeNames"] or [])
                ]
            case "preempt":
                victims = body["NodeNameToMetaVictims"] or {}
                answer = {"NodeNameToMetaVictims": dict(list(victims.items())[which % 2 :])}
            case _:
                name = f"{body['PodNamespace']}/{body['PodName']}"
                pod = self.objects.get(("Pod", name))
                is_bound = (
                    isinstance(pod, Pod)
                    and pod.metadata.uid == body["PodUID"]
                    and self.bind(pod, body["Node"])
                )
                answer = {"Error": "" if is_bound else "too late"}
        return ExtenderReply(status=200, body=msgspec.json.encode(answer))

    def delete(self, name: str) -> None:
        """Delete a pod; one on a node terminates later."""
        pod = self.objects.get(("Pod", name))
        if not isinstance(pod, Pod):
            return
        if pod.spec.node_name and not pod.is_terminating:
            self.write(with_fields(pod, "metadata", deletion_timestamp="2030-01-01T00:00:00Z"))
        else:
            self.remove("Pod", name)

    def activate(self, key: str) -> None:
        """Move a pod by hand; it leaves every other queue unless it is gated."""
        queued = self.machine.queue.get(key)
        waits = queued is not None and queued.place in WAITS
        EXERCISED.count("activations of waiting pods", waits)
        self.send(PodActivated(key))
        queued = self.machine.queue.get(key)
        if waits and self.machine._cycles.suspended is None:
            assert queued is not None
            assert queued.place in (QueueName.ACTIVE, QueueName.GATED), queued

    def run(self, cycles: int) -> None:
        """Deliver events and replies normally, and schedule pods."""
        for _ in range(cycles):
            self.send(CycleDue())
            while self.calls or any(self.news.values()):
                self.deliver(0)
                self.answer(0, "succeeds")

    def add_node(self, name: str, cpu: int) -> None:
        """Add a node, or one that was removed, with its earlier resources, as pods may be bound to
        it."""
        if ("Node", name) not in self.objects:
            self.write(make_node(name, cpu=self.capacity.setdefault(name, cpu)))

    def settle(self) -> None:
        """Deliver all events and replies, and let all plugins return."""
        for _ in range(70):
            while any(self.news.values()):
                self.deliver(0)
            while self.calls:
                self.answer(0, "succeeds")
            self.now_ns += 10 * SECOND_NS
            self.send(TimerFired())


WAITS = (QueueName.BACKOFF, QueueName.ERROR_BACKOFF, QueueName.UNSCHEDULABLE)
Call = Bind | PatchPodStatus | PatchPodGroupStatus | DeletePod | CallExtender
RUBBISH = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"<html>",
    b'{"NodeNames": 7}',
    b'{"NodeNames": ["ghost"]}',
    b'{"NodeNames": ["n0", "n0"], "FailedNodes": {"n1": null}}',
    b'[{"Host": "n0", "Score": "much"}]',
    b'[{"Host": "ghost", "Score": 1}, {"Host": null}]',
    b'[{"Host": "n0", "Score": 1e300}]',
    b'[{"Host": "n0", "Score": 9223372036854775807}]',
    b'{"NodeNameToMetaVictims": {"ghost": {"Pods": []}}}',
    b'{"NodeNameToMetaVictims": {"n0": {"Pods": [{"UID": "unknown"}]}}}',
    b'{"NodeNameToMetaVictims": {"n0": null, "n1": {}, "n2": {"Pods": null}}}',
    b'{"NodeNameToVictims": {"n0": {"Pods": []}}}',
    b'{"Error": "no"}',
    b'{"Error": 5}',
]


# -------------------------------------------------------------------- histories

OPERATIONS = st.one_of(
    st.tuples(st.just("node"), st.sampled_from(NODES), st.integers(1, 4)),
    # Twice as often as nodes go, so that pods have a choice.
    st.tuples(st.just("node"), st.sampled_from(NODES), st.integers(4, 8)),
    st.tuples(st.just("no_node"), st.sampled_from(NODES)),
    st.tuples(
        st.just("pod"),
        st.sampled_from(PODS),
        st.integers(1, 3),
        st.sampled_from([0, 0, 10, 100]),
        st.sampled_from(["", "", "", "permit", "pre_bind", "reserve"]),
        st.sampled_from([False, False, True]),
        st.sampled_from(["", "", "", *GROUPS]),
    ),
    st.tuples(st.just("group"), st.sampled_from(GROUPS), st.integers(1, 3)),
    st.tuples(st.just("no_group"), st.sampled_from(GROUPS)),
    st.tuples(st.just("gone_again"), st.sampled_from(PODS)),
    st.tuples(st.just("ungate"), st.sampled_from(PODS)),
    st.tuples(st.just("relabel"), st.sampled_from(PODS)),
    st.tuples(st.just("delete"), st.sampled_from(PODS)),
    st.tuples(st.just("cycle")),
    st.tuples(st.just("run"), st.integers(1, 4)),
    st.tuples(st.just("deliver"), st.integers(0, 5)),
    st.tuples(st.just("deliver"), st.integers(0, 5)),
    st.tuples(st.just("again"), st.sampled_from(PODS)),
    st.tuples(
        st.just("answer"),
        st.integers(0, 17),
        st.sampled_from(["succeeds", "succeeds", "fails", "is lost"]),
    ),
    st.tuples(st.just("time"), st.sampled_from([0.3, 1.0, 2.5, 11.0, 301.0])),
    st.tuples(st.just("allow"), st.sampled_from(PODS)),
    st.tuples(st.just("reject"), st.sampled_from(PODS)),
    st.tuples(st.just("activate"), st.sampled_from(PODS)),
)


NO_PAST: tuple[tuple[Any, ...], ...] = ()


@st.composite
def pasts(draw: st.DrawFn) -> tuple[tuple[Any, ...], ...]:
    """Draw the start of a history: a full cluster with preemptions that loses a node.

    The drawn steps then apply to this state instead of an empty cluster.
    """
    cpus = draw(st.lists(st.integers(2, 4), min_size=3, max_size=3))
    priorities = draw(st.lists(st.sampled_from([0, 10]), min_size=6, max_size=6))
    hold = draw(st.sampled_from(["", "permit", "pre_bind"]))
    leaving = draw(st.sampled_from(NODES))
    wait = draw(st.sampled_from([1.0, 2.5, 11.0]))
    least = zip(PODS[:6], priorities, strict=True)
    return (
        *(("node", name, cpu) for name, cpu in zip(NODES, cpus, strict=True)),
        *(("pod", name, 1, low, "", False, "") for name, low in least),
        ("run", 6),
        *(("pod", name, 2, 100, "", False, "") for name in PODS[6:9]),
        ("run", 3),
        ("time", wait),
        ("run", 3),
        ("no_node", leaving),
        ("pod", PODS[9], 2, 100, hold, False, ""),
        ("run", 2),
        ("node", leaving, 1),
        ("time", wait),
        ("run", 3),
        ("no_node", NODES[0]),
        ("pod", PODS[10], 1, 0, "", False, ""),
        ("run", 1),
        ("node", NODES[0], 1),
    )


PASTS = st.one_of(st.just(NO_PAST), pasts(), pasts(), pasts())


def live(variant: Variant, history: Iterable[tuple[Any, ...]]) -> Surroundings:
    around = Surroundings(variant)
    note(variant.name)
    for number, operation in enumerate(history):
        note(f"{number}: {operation}")
        step(around, number, *operation)
    return around


def step(around: Surroundings, number: int, op: str, *what: Any) -> None:  # noqa: C901, PLR0912 - one step per word
    key = f"default/{what[0]}" if what else ""
    pod = around.objects.get(("Pod", key))
    match op:
        case "node":
            around.add_node(*what)
        case "no_node":
            around.remove("Node", what[0])
        case "run":
            around.run(what[0])
        case "pod":
            if pod is None:
                # Nodes do not have this resource; an extender manages it.
                around.write(new_pod(number, *what, licence=around.variant.extenders))
        case "ungate":
            if isinstance(pod, Pod) and pod.spec.scheduling_gates:
                around.write(with_fields(pod, "spec", scheduling_gates=()))
        case "relabel":
            if isinstance(pod, Pod):
                labels = {**pod.metadata.labels, "seen": str(number)}
                around.write(with_fields(pod, "metadata", labels=labels))
        case "delete":
            around.delete(key)
        case "cycle":
            around.send(CycleDue())
        case "group":
            for group in new_groups(*what):
                around.write(group)
        case "no_group":
            for kind, name in list(around.objects):
                if kind == "PodGroup" and name == key:
                    around.remove(kind, name)
        case "gone_again":
            gone = around.gone.get(("Pod", key))
            if gone is not None and not around.news["Pod", key]:
                around.send(ObjectDeleted(gone))
        case "deliver":
            around.deliver(what[0])
        case "again":
            if key in around.delivered:
                around.send(ObjectPut(around.delivered[key]))
        case "answer":
            around.answer(*what)
        case "time":
            around.now_ns += round(what[0] * SECOND_NS)
            for event in (TimerFired(), FlushBackoff(), FlushUnschedulable()):
                around.send(event)
        case "allow":
            around.send(PodAllowed(key, "Gate"))
        case "reject":
            around.send(PodRejected(key, "Gate", "not today"))
        case "activate":
            around.activate(key)
        case _:
            raise AssertionError(f"unknown operation {op}")


def new_groups(name: str, least: int) -> list[Object]:
    """Create the two kinds of PodGroup; the machine determines which of them applies."""
    metadata = {"namespace": "default", "name": name}
    return [
        decode(
            {
                "apiVersion": "scheduling.k8s.io/v1alpha2",
                "kind": "PodGroup",
                "metadata": metadata,
                "spec": {"schedulingPolicy": {"gang": {"minCount": least}}},
            }
        ),
        decode(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": metadata,
                "spec": {"minMember": least, "scheduleTimeoutSeconds": 5},
            }
        ),
    ]


def new_pod(
    number: int,
    name: str,
    cpu: int,
    priority: int,
    hold: str,
    is_gated: bool,
    group: str,
    *,
    licence: bool,
) -> Pod:
    labels = {"hold": hold} if hold else {}
    if group:
        labels["scheduling.x-k8s.io/pod-group"] = group
    pod = make_pod(
        name,
        cpu=cpu,
        priority=priority,
        labels=labels,
        resources={LICENCE: "1"} if licence and number % 4 == 0 else {},
        spec={"schedulingGroup": {"podGroupName": group}} if group else {},
        gates=["wait"] if is_gated else [],
        scheduler="default-scheduler",
    )
    return with_fields(pod, "metadata", uid=f"u{number}")


HISTORIES = st.lists(OPERATIONS, min_size=10, max_size=80)
KINDS = st.sampled_from(VARIANTS)


NEEDED = {
    "decisions": 1_000,
    "preemptions": 200,
    "nodes removed": 200,
    "activations of waiting pods": 20,
}


def count_decision(steps: PodSteps, profile: RunningProfile, decision: Decision) -> None:
    EXERCISED.count("decisions")
    EXERCISED.count("with several feasible nodes", decision.feasible_count > 1)
    result = decision.post_filter
    details = None if result is None else result.details
    is_preempting = isinstance(details, Preemption) and details.choice is not None
    EXERCISED.count("preemptions", is_preempting)
    COUNT(steps, profile, decision)


COUNT = PodSteps.count


def test_no_pod_is_lost_no_node_over_committed_and_priorities_hold(
    record_property: Callable[[str, object], None],
) -> None:
    """The laws are checked after every event."""

    @effort(200)
    @given(KINDS, PASTS, HISTORIES)
    def keeps_the_laws(
        variant: Variant, past: tuple[tuple[Any, ...], ...], history: list[tuple[Any, ...]]
    ) -> None:
        live(variant, [*past, *history])

    EXERCISED.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PodSteps, "count", count_decision)
        keeps_the_laws()
    # The calls of compiled modules are not seen.
    uncounted = {"decisions", "preemptions"} if IS_COMPILED else set()
    needed = {name: count for name, count in NEEDED.items() if name not in uncounted}
    EXERCISED.at_least(record_property, needed)
    if not IS_COMPILED:
        assert 3 * EXERCISED["with several feasible nodes"] >= EXERCISED["decisions"], EXERCISED


@effort(60)
@given(KINDS, PASTS, HISTORIES)
def test_the_same_events_give_the_same_actions(variant, past, history):
    around = live(variant, [*past, *history])
    again = variant.new_machine()
    for event, now_ns, actions in around.log:
        assert msgspec.json.encode(again.handle(event, now_ns)) == actions


@effort(60)
@given(KINDS, PASTS, HISTORIES)
def test_every_pod_ends(variant, past, history):
    """After the last change no pod waits except for resources and gates."""
    around = live(variant, [*past, *history])
    around.settle()
    machine = around.machine
    assert not machine.assumed()
    assert not machine.preempting()
    assert not machine.queue.in_flight()
    for (kind, name), obj in around.objects.items():
        if kind == "Pod":
            assert machine.pod(name) == obj

"""The parts of a round by themselves: what is delayed, what is routed, which errors are ignored."""

from __future__ import annotations

import warnings
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.api import (
    CreateObject,
    DeleteObject,
    EvictPod,
    RecordEvent,
    Rejection,
    UpdateObject,
)
from podwright.cluster.controllers import DrainNode, NodeDown, SyncAt, SyncDue, WriteRejected
from podwright.cluster.kubelets import STAGE, ScheduleStage, StageDue
from podwright.cluster.store import Change, FreshChange
from podwright.scheduler.config import ExtenderCall
from podwright.scheduler.framework import CallError
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    CallExtender,
    DeletePod,
    EmitEvent,
    ExtenderReplied,
    ObjectPut,
    PatchPodStatus,
    TimerFired,
    WakeAt,
)
from podwright.simulation.world.clock import EventHeap, Turn
from podwright.simulation.world.observers import KubernetesEvent, event_of
from podwright.simulation.world.timing.delays import CycleOver, Issued, Watched, Written
from podwright.simulation.world.world_rounds import SLICE_CHANGES_MAX, WorldRounds
from podwright.testing import make_node, make_pod

NOW_NS = 100


class Observed:
    """An observer of everything, which notes what it receives."""

    def __init__(self) -> None:
        self.notes: list[Any] = []

    def changed(self, old: Any, new: Any, now_ns: int) -> None:
        self.notes.append(("changed", old, new, now_ns))

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        self.notes.append(("event", event, now_ns))

    def node_event(self, event: Any, now_ns: int) -> None:
        self.notes.append(("node", event, now_ns))

    def removal_handled(self, pod: Any, request: Any, error: Any, now_ns: int) -> None:
        self.notes.append(("removal", pod, request, error, now_ns))


class Parts:
    """The components of a world, as far as rounds use them; each notes what it receives."""

    def __init__(self, *, delays: Any = None, observed: Observed | None = None, **options: Any):
        self.notes: list[Any] = []
        self.errors: deque[Any] = deque()
        self.retried: set[str] = set()
        self.running: set[str] = set()
        self.staged: list[Any] = []
        self.store: dict[str, Any] = {}
        self.heap: EventHeap[Any] = EventHeap(NOW_NS)
        self.changes: list[Change] = []
        self.actions: deque[Any] = deque()
        self.delays = delays
        self.has_next = False
        components: Any = SimpleNamespace(
            options=SimpleNamespace(
                **{"has_scheduler": True, "call_extender": None, "begin_extender_call": None}
                | options
            ),
            store=SimpleNamespace(get=lambda _, key: self.store.get(key)),
            api=SimpleNamespace(handle=self._handle, store=None),
            heap=self.heap,
            lifecycle=self,
            controllers=self,
            delays=delays,
            changes=self.changes,
        )
        scheduler: Any = SimpleNamespace(
            handle=lambda event, now_ns: [("scheduler", event, now_ns)],
            handle_reply=lambda reply, now_ns: [("reply", reply, now_ns)],
            decide=lambda event: self.notes.append(("decide", event)),
            deliver_decisions=lambda: self.notes.append("decisions"),
            unproductive_cycles=7,
        )
        self.scheduler = scheduler
        self.rounds = WorldRounds(
            components, scheduler, self.actions, () if observed is None else (observed,)
        )

    kinds = frozenset({("", "Node"), STAGE})

    def _handle(self, request: Any, user: str, now_ns: int) -> Any:
        self.notes.append(("request", request, user, now_ns))
        error = self.errors.popleft() if self.errors else None
        return SimpleNamespace(error=error, raise_for_error=lambda: None, stored=None)

    def observe(self, changes: Any) -> None:
        self.notes.append(("observe", list(changes)))
        self.has_next = True

    def handle(self, event: Any, now_ns: int) -> list[Any]:
        self.notes.append(("handle", event, now_ns))
        return [("handled", event)]

    def handle_change(self, change: Any, now_ns: int) -> list[Any]:
        self.notes.append(("stage", change.key, now_ns))
        return list(self.staged)

    def retries(self, user: str) -> bool:
        return user in self.retried

    def runs(self, user: str) -> bool:
        return user in self.running

    def rejected(self, request: Any, error: Any) -> list[Any]:
        del request
        return [RecordEvent("", "Pod", "a/p", "u", "Warning", "Failed", str(error), "kubelet")]


def delays(**more: Any) -> Any:
    return SimpleNamespace(**{"controllers_ns": 0, "is_late": lambda _: False} | more)


def client(*ends_ns: int) -> Any:
    ends = iter(ends_ns)
    return SimpleNamespace(end_ns=lambda _: next(ends))


def draws(*values: int) -> Any:
    rest = iter(values)
    return SimpleNamespace(next=lambda: next(rest))


def change(old: Any, new: Any) -> Change:
    obj = new if new is not None else old
    group = obj.api_version.rpartition("/")[0]
    return FreshChange(1, (group, obj.kind), obj.key, old, new, obj)


BIND = Bind(1, "a/p", "u", "n")


def test_calls_of_the_scheduler_take_effect_when_its_client_has_written_them():
    parts = Parts(delays=delays(scheduler=client(NOW_NS, 150)))
    parts.rounds._handlers[Bind](BIND)
    parts.rounds._handlers[Bind](BIND)
    assert parts.scheduler.unproductive_cycles == 0
    assert parts.rounds._replies == [CallDone(1)]
    (due,) = parts.heap.entries()
    assert (due.due_ns, due.turn, due.event) == (150, Turn.TIMED, Written(BIND))
    parts.heap.pop()
    parts.rounds.process_timed(due.event)
    assert parts.rounds._replies == [CallDone(1), CallDone(1)]
    assert not parts.rounds.is_done
    assert not parts.rounds.has_next


def test_without_a_model_of_time_calls_take_effect_at_once():
    parts = Parts()
    parts.rounds._handlers[PatchPodStatus](Bind(2, "a/p", "u", "n"))
    assert parts.rounds._replies == [CallDone(2)]
    assert len(parts.heap) == 0


def test_what_was_delayed_is_processed_by_its_kind():
    parts = Parts(delays=delays())
    put = ObjectPut(make_node("n"))
    parts.rounds.process_timed(Issued(BIND))
    parts.rounds.process_timed(Watched((put, put)))
    parts.rounds.process_timed(CycleOver())
    assert list(parts.actions) == [BIND, *[("scheduler", put, NOW_NS)] * 2]
    update = UpdateObject(make_node("n"), "main", "writer")
    parts.rounds.process_timed(Written(update))
    assert parts.notes == [("request", update, "writer", NOW_NS)]


def test_changes_reach_the_scheduler_after_the_delay_of_its_watch():
    put = ObjectPut(make_node("n"))
    for watched_ns, due in ((NOW_NS, []), (NOW_NS + 1, [(NOW_NS + 1, Turn.TIMED)])):
        parts = Parts(delays=delays(watched_ns=lambda _, end=watched_ns: end))
        found: list[Any] = parts.rounds._watch([put], NOW_NS)
        assert [(each.due_ns, each.turn) for each in parts.heap.entries()] == due
        assert found == ([] if due else [("scheduler", put, NOW_NS)])
        assert [each.event for each in parts.heap.entries()] == [Watched((put,))] * len(due)
    parts = Parts(delays=delays(watched_ns=lambda _: 1 / 0))
    assert parts.rounds._watch([], NOW_NS) == []
    at_once: list[Any] = Parts().rounds._watch([put, put], NOW_NS)
    assert at_once == [("scheduler", put, NOW_NS)] * 2


@pytest.mark.parametrize(
    ("held_ns", "until_ns", "due"),
    [
        (0, 150, [150]), (0, NOW_NS, []), (0, NOW_NS - 1, []), (150, 150, []), (160, 150, []),
        (150, 151, [151]),
    ],
)  # fmt: skip
def test_controllers_are_held_until_the_latest_time(held_ns, until_ns, due):
    parts = Parts(delays=delays(controllers_ns=held_ns))
    parts.rounds.hold_controllers(until_ns)
    assert [(each.due_ns, each.event) for each in parts.heap.entries()] == [
        (due_ns, CycleOver()) for due_ns in due
    ]
    assert parts.delays.controllers_ns == (until_ns if due else held_ns)


EVENT = RecordEvent("", "Pod", "a/p", "u", "Normal", "Created", "note", "controller")
SYNC = SyncAt(300, SyncDue("controller", "a/p"))


def test_writes_of_controllers_take_effect_at_the_end_of_their_client_and_events_at_once():
    parts = Parts(delays=delays(controllers=client(150, NOW_NS, 120)))
    first, second, third = (UpdateObject(make_node(name), "main", "c") for name in "abc")
    parts.rounds.write_of_controllers([EVENT, first, SYNC, second, third])
    assert list(parts.actions) == [EVENT, SYNC, second]
    assert [(each.due_ns, each.event) for each in parts.heap.entries()] == [
        (120, Written(third)), (150, Written(first)), (150, CycleOver())
    ]  # fmt: skip
    assert parts.delays.controllers_ns == 150
    at_once = Parts()
    at_once.rounds.write_of_controllers([first, EVENT])
    assert list(at_once.actions) == [first, EVENT]


def test_actions_are_due_at_their_times_and_not_before_now():
    late = delays(is_late=lambda stage: stage == "pod-ready", late_ns=lambda: 40)
    parts = Parts(delays=late)
    due = StageDue("", "Pod", "a/p", 1)
    for action in (
        ScheduleStage(due_ns=200, event=due, stage="pod-ready"),
        ScheduleStage(due_ns=200, event=due, stage="other"),
        SyncAt(50, SYNC.event), SYNC, WakeAt(due_ns=50), WakeAt(due_ns=300),
    ):  # fmt: skip
        parts.rounds._handlers[type(action)](action)
    assert [(each.due_ns, each.turn, each.event) for each in parts.heap.entries()] == [
        (NOW_NS, Turn.CONTROLLER, SYNC.event), (NOW_NS, Turn.TIMER, TimerFired()),
        (200, Turn.STAGE, due), (240, Turn.STAGE, due), (300, Turn.CONTROLLER, SYNC.event),
        (300, Turn.TIMER, TimerFired()),
    ]  # fmt: skip


def test_an_extender_is_called_by_the_driver_or_at_once():
    request = ExtenderCall(extender=0, verb="filter", url="", body=b"", timeout_ns=0)
    begun: list[Any] = []
    parts = Parts(begin_extender_call=lambda number, call: begun.append((number, call)))
    parts.rounds._run_extender_call(CallExtender(3, request))
    assert (begun, parts.notes) == ([(3, request)], [])
    at_once = Parts(call_extender=lambda call: f"reply to {call.verb}")
    at_once.rounds._run_extender_call(CallExtender(3, request))
    assert at_once.notes == [("decide", ExtenderReplied(3, "reply to filter"))]  # type: ignore[arg-type]


POD = make_pod("p", namespace="a")


def test_a_victim_of_preemption_is_a_removal_for_observers():
    observed = Observed()
    parts = Parts(observed=observed)
    call = DeletePod(4, "a/p", "u")
    parts.store["a/p"] = POD
    parts.rounds._call(call)
    ((_, request, user, now_ns),) = parts.notes
    assert (user, now_ns) == (request.user, NOW_NS)
    assert request == DeleteObject("", "Pod", "a/p", "u", request.user)
    assert observed.notes == [("removal", POD, request, None, NOW_NS)]
    assert parts.rounds._replies == [CallDone(4)]
    assert parts.scheduler.unproductive_cycles == 7
    parts.store.clear()
    parts.rounds._call(call)
    assert len(observed.notes) == 1, "it was gone"


def test_requests_that_remove_pods_are_delivered_with_the_pod_before_and_the_error():
    observed = Observed()
    parts = Parts(observed=observed)
    parts.store["a/p"] = POD
    budget = Rejection(429, "TooManyRequests", "no", about=("b",))
    parts.errors.extend([None, budget, None])
    delete = DeleteObject("", "Pod", "a/p", "u", "job-controller")
    evict = EvictPod("a/p", "u", "node-controller")
    parts.rounds._write_or_remove(delete)
    parts.rounds._evict(evict)
    assert observed.notes == [
        ("removal", POD, delete, None, NOW_NS), ("removal", POD, evict, budget, NOW_NS)
    ]  # fmt: skip
    assert list(parts.actions) == [], "a budget that rejects an eviction is not news"
    other = DeleteObject("", "ConfigMap", "a/p", "u", "job-controller")
    parts.errors.clear()
    parts.rounds._write_or_remove(other)
    parts.rounds._write_or_remove(CreateObject(POD, "job-controller"))
    assert len(observed.notes) == 2
    alone = Parts()
    alone.store["a/p"] = POD
    assert alone.rounds._remove_pod(delete, "a/p") is None


UPDATE = UpdateObject(make_node("n"), "main", "user")
CREATE = CreateObject(POD, "user")


def rejection(code: int, reason: str) -> Rejection:
    return Rejection(code, reason, "why")


@pytest.mark.parametrize("reason", ["NotFound", "AlreadyExists", "Conflict"])
def test_errors_that_the_next_sync_settles_are_ignored(reason):
    parts = Parts(observed=Observed())
    error = rejection(409, reason)
    parts.errors.append(error)
    assert parts.rounds._write(UPDATE) is error
    assert [note[0] for note in parts.notes] == ["request"]
    assert parts.rounds._write(UPDATE) is None


@pytest.mark.parametrize(
    ("request_", "error", "retried", "running", "outcome"),
    [
        pytest.param(UPDATE, rejection(403, "Forbidden"), "user", "", "ignored",
                     id="its controller retries"),
        pytest.param(CREATE, rejection(403, "Forbidden"), "", "", "ignored",
                     id="its controller records why nothing was created"),
        pytest.param(UPDATE, rejection(500, "InternalError"), "", "", "ignored",
                     id="too large for the server"),
        pytest.param(UPDATE, rejection(422, "Invalid"), "", "user", "warned",
                     id="of a simulated controller"),
        pytest.param(UPDATE, rejection(422, "Invalid"), "", "", "recorded", id="of a kubelet"),
    ],
)  # fmt: skip
def test_other_errors_are_reported_where_upstream_does(request_, error, retried, running, outcome):
    observed = Observed()
    parts = Parts(observed=observed)
    parts.retried, parts.running = {retried}, {running}
    parts.errors.append(error)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert parts.rounds._write(request_) is error
    rejected = WriteRejected(request_, "why")
    assert parts.notes[1:] == [("handle", rejected, NOW_NS)]
    assert list(parts.actions) == [("handled", rejected)]
    assert [str(each.message) for each in caught] == (["user: why"] if outcome == "warned" else [])
    recorded = [note[1].note for note in observed.notes]
    assert recorded == (["why"] if outcome == "recorded" else [])


def test_a_namespace_that_is_deleted_is_no_news():
    parts = Parts()
    causes = {"causes": [{"reason": "NamespaceTerminating", "message": "m"}]}
    error = Rejection(403, "Forbidden", "why", causes)
    parts.errors.append(error)
    assert parts.rounds._write(CREATE) is error
    assert list(parts.actions) == []


def test_events_reach_those_who_take_them():
    observed = Observed()
    parts = Parts(observed=observed)
    parts.rounds._record(EVENT)
    emitted = EmitEvent(
        "a/p", "u", "Warning", "FailedScheduling", "Scheduling", "no", "default-scheduler",
        "a/q", "7",
    )  # fmt: skip
    assert observed.notes == [
        ("event", KubernetesEvent("Pod", "a/p", "Normal", "Created", "note", "controller", uid="u"),
         NOW_NS)
    ]  # fmt: skip
    assert event_of(emitted) == KubernetesEvent(
        "Pod", "a/p", "Warning", "FailedScheduling", "no", "default-scheduler", "", "u",
        "Scheduling", "a/q", "7",
    )  # fmt: skip


# -------------------------------------------------------------------------------- changes

SERVICE = {
    "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "a"},
    "spec": {"selector": {"a": "b"}},
}  # fmt: skip


def service(**more: Any) -> Any:
    return decode({**SERVICE, **more})


def test_each_component_gets_the_changes_of_its_kinds():
    parts = Parts()
    node, selecting = make_node("n"), service()
    other = service(spec={"selector": {"a": "c"}})
    config: Any = decode({"apiVersion": "v1", "kind": "ConfigMap",
                          "metadata": {"name": "c", "namespace": "a"}})  # fmt: skip
    event: Any = decode({"apiVersion": "v1", "kind": "Event",
                         "metadata": {"name": "e", "namespace": "a"}})  # fmt: skip
    changes = [
        change(None, node), change(node, None), change(None, selecting),
        change(selecting, service(status={"loadBalancer": {}})), change(selecting, other),
        change(other, None), change(None, event), change(None, config), change(None, POD),
    ]  # fmt: skip
    staged, watched = parts.rounds._route(changes)
    assert staged == changes[:2]
    shown = [(type(each).__name__, each.obj.kind) for each in watched]
    assert [each for each in shown if each[1] != "ConfigMap"] == [
        ("ObjectPut", "Node"), ("ObjectDeleted", "Node"), ("ObjectPut", "Service"),
        ("ObjectPut", "Service"), ("ObjectDeleted", "Service"), ("ObjectPut", "Pod"),
    ]  # fmt: skip
    without = Parts(has_scheduler=False)
    assert without.rounds._route(changes) == (changes[:2], [])


def test_changes_are_delivered_component_by_component_and_replies_follow():
    observed = Observed()
    parts = Parts(observed=observed, delays=delays(
        watched_ns=lambda now_ns: now_ns, watch=draws(30), controllers_ns=0))  # fmt: skip
    node = make_node("n")
    due, later = StageDue("", "Node", "n", 1), StageDue("", "Node", "n", 2)
    parts.staged = [
        ScheduleStage(due_ns=NOW_NS, event=due, stage="s"),
        ScheduleStage(due_ns=NOW_NS + 1, event=later, stage="t"),
        UPDATE,
    ]
    added = change(None, node)
    reply = CallDone(5, CallError("no"))
    found = parts.rounds._dispatch([added], [reply], NOW_NS)
    assert found == [
        parts.staged[1], UPDATE, ("scheduler", ObjectPut(node), NOW_NS), ("reply", reply, NOW_NS),
        ("handled", due),
    ]  # fmt: skip
    assert parts.notes == [
        ("stage", "n", NOW_NS), ("observe", [added]), ("handle", due, NOW_NS)
    ]  # fmt: skip
    assert observed.notes == [("changed", None, node, NOW_NS)]
    # The controllers were idle, so their watch has its delay.
    assert [(each.due_ns, each.event) for each in parts.heap.entries()] == [
        (NOW_NS + 30, CycleOver())
    ]


def test_a_stage_that_is_late_is_not_due_at_once():
    parts = Parts(delays=delays(
        is_late=lambda _: True, watched_ns=lambda now_ns: now_ns, watch=draws(0)))  # fmt: skip
    due = StageDue("", "Node", "n", 1)
    parts.staged = [ScheduleStage(due_ns=NOW_NS, event=due, stage="s")]
    assert parts.rounds._dispatch([change(None, make_node("n"))], [], NOW_NS)[0] == parts.staged[0]


def test_another_stage_may_apply_to_other_kinds():
    parts = Parts()
    parts.rounds._dispatch([change(None, POD)], [], NOW_NS)
    assert ("", "Pod") in parts.rounds._subscriptions
    stage: Any = decode({"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage",
                         "metadata": {"name": "s"}, "spec": {}})  # fmt: skip
    parts.rounds._dispatch([change(None, stage)], [], NOW_NS)
    assert parts.rounds._subscriptions == {}


def test_a_slice_delivers_thirty_two_changes_at_once_and_replies_with_the_last():
    parts = Parts()
    ends = iter([False, False, True])
    parts.rounds.begin_slice(lambda: next(ends))
    parts.changes.extend(change(None, make_pod(f"p{n}")) for n in range(70))
    parts.rounds._replies.append(CallDone(1))
    parts.rounds._handlers = {tuple: lambda _: None}
    parts.rounds.process()
    batches = [len(note[1]) for note in parts.notes if note[0] == "observe"]
    assert batches == [32, 32, 6]
    assert SLICE_CHANGES_MAX == 32
    assert parts.notes.count("decisions") == 3
    assert parts.rounds._replies == []
    parts.rounds.end_slice()
    assert not parts.rounds.is_slice_over()
    parts.actions.clear()
    parts.changes.extend(change(None, make_pod(f"p{n}")) for n in range(70))
    parts.notes.clear()
    parts.rounds.process()
    assert [len(note[1]) for note in parts.notes if note[0] == "observe"] == [70]


def test_an_event_of_a_node_reaches_all_but_a_drain_the_kubelets():
    observed = Observed()
    parts = Parts(observed=observed)
    for event in (NodeDown("n"), DrainNode("n")):
        parts.rounds.dispatch_node_event(event)
    assert observed.notes == [("node", NodeDown("n"), NOW_NS), ("node", DrainNode("n"), NOW_NS)]
    assert parts.notes == [("handle", NodeDown("n"), NOW_NS)] * 2 + [
        ("handle", DrainNode("n"), NOW_NS)
    ]
    assert list(parts.actions) == [("handled", NodeDown("n"))]


def test_a_new_scheduler_gets_all_objects():
    parts = Parts()
    node = make_node("n")
    parts.rounds._store = SimpleNamespace(creations=lambda: [change(None, node)])  # type: ignore[assignment]
    handled: list[Any] = []
    parts.rounds._handlers = {tuple: handled.append}
    parts.rounds.load_scheduler()
    assert handled == [("scheduler", ObjectPut(node), NOW_NS)]

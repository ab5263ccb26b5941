"""Operations on the scheduling queue, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from podwright.apimachinery.objects import Pod, decode_pod
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly import Registry
from podwright.scheduler.columns import Cluster
from podwright.scheduler.framework import ActionType, ClusterEvent, EventHint, Hint
from podwright.scheduler.machine import hint_table
from podwright.scheduler.queueing import (
    SECOND_NS,
    HintTable,
    PodQueue,
    QueuedPod,
    QueueName,
    QueueSettings,
    SchedulingQueue,
    derive_events,
)
from podwright.testing.parity.comparison import (
    Case,
    Check,
    compared,
    equal,
    nanoseconds,
    only,
    time_of,
)
from podwright.testing.parity.sequence import NOW_NS, ClusterHandle, cluster_of, profiles_of

_PROFILE = "default-scheduler"


def check_queue(case: Case) -> Check:
    """Compare the popped pod and the whole state after each step."""
    replay = QueueReplay(case)
    for step in case["steps"]:
        found = replay.run(step)
        expected = _expected_state(step["expect"])
        yield from compared("", expected, found)


def _pre_enqueue(pod: Pod) -> tuple[str, tuple[str, ...]] | None:
    return ("SchedulingGates", ("gated",)) if pod.spec.scheduling_gates else None


class QueueReplay:
    """One trace: the queue, and the objects around it.

    Parameters
    ----------
    case : dict
        A case of family queue; its steps are not read.

    Attributes
    ----------
    popped : dict of str to QueuedPod
        The pods in flight, by name.
    """

    def __init__(self, case: Case) -> None:
        options = case["options"]
        self.start_ns = self.now_ns = time_of(case["start"])
        self.pods: dict[str, Pod] = {}
        self.popped: dict[str, QueuedPod] = {}
        self.queue = SchedulingQueue(
            QueueSettings(
                initial_backoff_ns=options["pod_initial_backoff_seconds"] * SECOND_NS,
                max_backoff_ns=options["pod_max_backoff_seconds"] * SECOND_NS,
                max_unschedulable_ns=options["pod_max_in_unschedulable_pods_seconds"] * SECOND_NS,
            ),
            hints={_PROFILE: _hint_table(case)},
            pre_enqueue=_pre_enqueue,
            lookup=self.pods.get,
            start_ns=self.start_ns,
        )

    def run(self, step: dict[str, Any]) -> dict[str, Any]:
        """Do a step, and return the state after it, with times in nanoseconds."""
        self.now_ns += nanoseconds(step["dt"])
        found = getattr(self, f"_{step['op']}")(step)
        self.queue.validate()
        state = queue_state(self.queue, lambda time_ns: time_ns - self.start_ns)
        for optional in ("error_backoff", "gated", "nominated"):
            if not state[optional]:
                del state[optional]
        return {"now": self.now_ns - self.start_ns} | state | (found or {})

    def _add(self, step: dict[str, Any]) -> None:
        pod = decode_pod(step["pod"])
        self.pods[pod.key] = pod
        self.queue.add(pod, self.now_ns)

    def _update(self, step: dict[str, Any]) -> None:
        new = decode_pod(step["pod"])
        old = self.pods[new.key]
        self.pods[new.key] = new
        self.queue.update(old, new, self.now_ns)

    def _delete(self, step: dict[str, Any]) -> None:
        pod = self.pods.pop(f"default/{step['name']}")
        self.queue.delete(pod, self.now_ns)

    def _pop(self, step: dict[str, Any]) -> dict[str, Any]:
        queued = self.queue.pop(self.now_ns)
        if queued is None:
            return {"pop": {"name": None}}
        self.popped[queued.pod.metadata.name] = queued
        return {"pop": popped_pod(queued, queued.attempts)}

    def _fail(self, step: dict[str, Any]) -> None:
        queued = self.popped.pop(step["name"])
        self.queue.park(
            queued,
            self.now_ns,
            unschedulable_plugins=step.get("unschedulable_plugins", ()),
            pending_plugins=step.get("pending_plugins", ()),
            pod=self.pods.get(queued.key),
        )

    def _done(self, step: dict[str, Any]) -> None:
        queued = self.popped.pop(step["name"])
        self.queue.done(queued, self.now_ns)
        self.queue.nominator.remove(queued.uid)
        self.pods.pop(queued.key, None)

    def _move(self, step: dict[str, Any]) -> None:
        old, new = (decode(step[side]) if side in step else None for side in ("old", "new"))
        event = ClusterEvent(step["resource"], ActionType.from_label(step["action"]))
        self.queue.move(event, self.now_ns, old=old, new=new)

    def _flush_backoff(self, step: dict[str, Any]) -> None:
        self.queue.flush_backoff(self.now_ns)

    def _flush_unschedulable(self, step: dict[str, Any]) -> None:
        self.queue.flush_unschedulable(self.now_ns)

    def _activate(self, step: dict[str, Any]) -> None:
        names = step.get("names", ())
        pods = [self.pods[key] for name in names if (key := f"default/{name}") in self.pods]
        self.queue.activate(pods, self.now_ns)

    def _nominate(self, step: dict[str, Any]) -> None:
        key = f"default/{step['name']}"
        self.queue.nominate(self.pods[key], step["node"])

    def _tick(self, step: dict[str, Any]) -> None:
        pass


def popped_pod(queued: QueuedPod, attempts: int) -> dict[str, Any]:
    """Return a popped pod in the form of the vectors, without what is 0."""
    fields = {
        "name": queued.pod.metadata.name,
        "attempts": attempts,
        "unschedulable_count": queued.unschedulable_count,
        "consecutive_errors": queued.consecutive_errors,
        "was_flushed": queued.was_flushed,
    }
    return {field: value for field, value in fields.items() if value}


def queue_state(queue: PodQueue, time: Callable[[int], float]) -> dict[str, Any]:
    """Return the state of a queue in the form of the vectors, its times as `time` has them."""

    def names(place: QueueName) -> list[str]:
        return [queued.pod.metadata.name for queued in queue.pods_in(place)]

    def ends(place: QueueName) -> list[list[Any]]:
        return [
            [queued.pod.metadata.name, time(queue.backoff_end_ns(queued))]
            for queued in queue.pods_in(place)
        ]

    return {
        "active": names(QueueName.ACTIVE),
        "backoff": ends(QueueName.BACKOFF),
        "error_backoff": sorted(ends(QueueName.ERROR_BACKOFF), key=lambda end: end[::-1]),
        "unschedulable": sorted(names(QueueName.UNSCHEDULABLE)),
        "gated": sorted(names(QueueName.GATED)),
        "in_flight": sorted(names(QueueName.IN_FLIGHT)),
        "nominated": {
            node: sorted(pod.metadata.name for pod in pods)
            for node, pods in queue.nominator.nodes().items()
        },
    }


def _hint_table(case: Case) -> HintTable:
    if case["hint_mode"] == "default":
        return default_hints()
    scripted: dict[str, Sequence[EventHint]] = {}
    for hint in case["hints"]:
        actions = ActionType.NONE
        for label in hint["actions"]:
            actions |= ActionType.from_label(label)
        event = EventHint(hint["resource"], actions, _ANSWERS[hint["hint"]])
        scripted[hint["plugin"]] = (*scripted.get(hint["plugin"], ()), event)
    gates = Registry().make("SchedulingGates", None, source="")
    assert gates is not None
    # Scripted hints are the whole truth: nothing is added for UpdateNodeTaint.
    return HintTable(dict(scripted) | {"SchedulingGates": gates.events_to_register()})


def _hint_queue(_pod: Pod, _old: object, _new: object) -> Hint:
    return Hint.QUEUE


def _hint_skip(_pod: Pod, _old: object, _new: object) -> Hint:
    return Hint.SKIP


def _hint_error(_pod: Pod, _old: object, _new: object) -> Hint:
    raise ValueError("scripted")


_ANSWERS = {"Queue": _hint_queue, "Skip": _hint_skip, "Error": _hint_error}


def _expected_state(expect: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded state with times in nanoseconds."""
    state = expect | {"now": nanoseconds(expect["now"])}
    for place in ("backoff", "error_backoff"):
        if place in state:
            state[place] = [[name, nanoseconds(end)] for name, end in state[place]]
    return state


# Queueing hints: the result of every plugin of the default profile for one change.


def default_hints(cluster: Cluster | None = None) -> HintTable:
    """Return the registrations of the plugins of the default profile."""
    (profile,) = profiles_of(None).values()
    ClusterHandle(cluster or Cluster(), NOW_NS).give_to(profile)
    return hint_table(profile)


def check_hints(case: Case) -> Check:
    """Compare the events of a change, and every plugin's hint for each."""
    pod = decode_pod(case["pod"])
    change = case["change"]
    old, new = (decode(change[side]) if side in change else None for side in ("old", "new"))
    if isinstance(new, Pod) and new.metadata.uid == pod.metadata.uid:
        pod = new
    cluster = cluster_of(case.get("objects", ()))
    if new is not None:
        cluster.put(new)
    table = default_hints(cluster)
    found = [
        {"resource": event.resource, "action": event.action.label}
        | _hints(table, pod, event, old, new)
        for event in derive_events(old, new)
    ]
    yield from only("", case["expect"], ("events",))
    expected = [{"hints": {}} | event for event in case["expect"]["events"]]
    yield equal("events", expected, found)


def _hints(
    table: HintTable, pod: Pod, event: ClusterEvent, old: object, new: object
) -> dict[str, dict[str, str]]:
    """Return every plugin's hint; an exception is an Error, as in upstream."""
    table.executions.clear()
    answers = {plugin: hint.value for plugin, hint in table.answers(pod, event, old, new).items()}
    failed = {plugin for plugin, _, answer in table.executions if answer == "Error"}
    return {"hints": answers | dict.fromkeys(failed, "Error")}

"""The scheduling queue and its hints, step by step, against kube-scheduler 1.36."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from podwright.framework.events import ActionType, ClusterEvent, EventHint, Hint
from podwright.objects import Pod, decode, decode_as
from podwright.plugins.hints import (
    default_preemption,
    dynamic_resources,
    inter_pod_affinity,
    node_affinity,
    node_declared_features,
    node_name,
    node_ports,
    node_resources_fit,
    node_unschedulable,
    node_volume_limits,
    pod_topology_spread,
    scheduling_gates,
    taint_toleration,
    volume_binding,
    volume_restrictions,
    volume_zone,
)
from podwright.queueing import (
    HintTable,
    QueuedPod,
    QueueName,
    QueueSettings,
    SchedulingQueue,
    derive_events,
)

pytestmark = pytest.mark.golden

VECTORS = Path(__file__).parent / "vectors"
PROFILE = "default-scheduler"
SECOND_NS = 1_000_000_000


def read_cases(family: str) -> list[Any]:
    with gzip.open(VECTORS / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [pytest.param(case := json.loads(line), id=case["id"]) for line in lines]


def to_ns(seconds: float) -> int:
    """A decimal number of seconds, exactly."""
    return int(Fraction(str(seconds)) * SECOND_NS)


def parse_time(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return int(moment.replace(microsecond=0).timestamp()) * SECOND_NS + moment.microsecond * 1000


def pre_enqueue(pod: Pod) -> tuple[str, tuple[str, ...]] | None:
    return ("SchedulingGates", ("gated",)) if pod.spec.scheduling_gates else None


def default_hints() -> HintTable:
    """What the plugins of the default profile register."""
    return HintTable.from_plugins(
        {
            "SchedulingGates": scheduling_gates.events_to_register(),
            "NodeUnschedulable": node_unschedulable.events_to_register(),
            "NodeName": node_name.events_to_register(),
            "TaintToleration": taint_toleration.events_to_register(),
            "NodeAffinity": node_affinity.events_to_register(),
            "NodePorts": node_ports.events_to_register(),
            "NodeResourcesFit": node_resources_fit.events_to_register(),
            "VolumeRestrictions": volume_restrictions.events_to_register(),
            "NodeVolumeLimits": node_volume_limits.events_to_register(),
            "VolumeBinding": volume_binding.events_to_register(),
            "VolumeZone": volume_zone.events_to_register(),
            "PodTopologySpread": pod_topology_spread.events_to_register(),
            "InterPodAffinity": inter_pod_affinity.events_to_register(),
            "DynamicResources": dynamic_resources.events_to_register(),
            "DefaultPreemption": default_preemption.events_to_register(),
            # No pod of these vectors needs a feature.
            "NodeDeclaredFeatures": node_declared_features.events_to_register(
                required_features=lambda _pod: ()
            ),
        }
    )


# --------------------------------------------------------------------------- hints


@pytest.mark.parametrize("case", read_cases("hints"))
def test_every_plugin_answers_as_upstream(case: dict[str, Any]) -> None:
    table = default_hints()
    pod = decode_as(case["pod"], Pod)
    old, new = (
        decode(case["change"][side]) if side in case["change"] else None for side in ("old", "new")
    )
    if isinstance(new, Pod) and new.metadata.uid == pod.metadata.uid:
        pod = new
    found = [
        {
            "resource": event.resource,
            "action": event.action.label,
            "hints": {
                plugin: hint.value for plugin, hint in table.answers(pod, event, old, new).items()
            },
        }
        for event in derive_events(old, new)
    ]
    expected = [{"hints": {}} | event for event in case["expect"]["events"]]
    for event in expected:
        event["hints"] = {
            plugin: "Queue" if hint == "Error" else hint for plugin, hint in event["hints"].items()
        }
    assert found == expected


# --------------------------------------------------------------------------- queue


class Replay:
    """One trace: the queue, and what the world around it knows."""

    def __init__(self, case: dict[str, Any]) -> None:
        options = case["options"]
        self.start_ns = self.now_ns = parse_time(case["start"])
        self.pods: dict[str, Pod] = {}
        self.popped: dict[str, QueuedPod] = {}
        self.queue = SchedulingQueue(
            QueueSettings(
                initial_backoff_ns=options["pod_initial_backoff_seconds"] * SECOND_NS,
                max_backoff_ns=options["pod_max_backoff_seconds"] * SECOND_NS,
                max_unschedulable_ns=options["pod_max_in_unschedulable_pods_seconds"] * SECOND_NS,
            ),
            hints={PROFILE: hint_table(case)},
            pre_enqueue=pre_enqueue,
            lookup=self.pods.get,
            start_ns=self.start_ns,
        )

    def run(self, step: dict[str, Any]) -> dict[str, Any]:
        self.now_ns += to_ns(step["dt"])
        found = getattr(self, step["op"])(step)
        self.queue.validate()
        return self.state() | (found or {})

    def add(self, step: dict[str, Any]) -> None:
        pod = decode_as(step["pod"], Pod)
        self.pods[pod.key] = pod
        self.queue.add(pod, self.now_ns)

    def update(self, step: dict[str, Any]) -> None:
        new = decode_as(step["pod"], Pod)
        old = self.pods[new.key]
        self.pods[new.key] = new
        self.queue.update(old, new, self.now_ns)

    def delete(self, step: dict[str, Any]) -> None:
        pod = self.pods.pop(f"default/{step['name']}")
        self.queue.delete(pod, self.now_ns)

    def pop(self, step: dict[str, Any]) -> dict[str, Any]:
        queued = self.queue.pop(self.now_ns)
        if queued is None:
            return {"pop": {"name": None}}
        self.popped[queued.pod.metadata.name] = queued
        popped = {
            "name": queued.pod.metadata.name,
            "attempts": queued.attempts,
            "unschedulable_count": queued.unschedulable_count,
            "consecutive_errors": queued.consecutive_errors,
            "was_flushed": queued.was_flushed,
        }
        return {"pop": {field: value for field, value in popped.items() if value}}

    def fail(self, step: dict[str, Any]) -> None:
        queued = self.popped.pop(step["name"])
        self.queue.park(
            queued,
            self.now_ns,
            unschedulable_plugins=step.get("unschedulable_plugins", ()),
            pending_plugins=step.get("pending_plugins", ()),
            pod=self.pods.get(queued.key),
        )

    def done(self, step: dict[str, Any]) -> None:
        queued = self.popped.pop(step["name"])
        self.queue.done(queued, self.now_ns)
        self.queue.nominator.remove(queued.uid)
        self.pods.pop(queued.key, None)

    def move(self, step: dict[str, Any]) -> None:
        old, new = (decode(step[side]) if side in step else None for side in ("old", "new"))
        event = ClusterEvent(step["resource"], ActionType.from_label(step["action"]))
        self.queue.move(event, self.now_ns, old=old, new=new)

    def flush_backoff(self, step: dict[str, Any]) -> None:
        self.queue.flush_backoff(self.now_ns)

    def flush_unschedulable(self, step: dict[str, Any]) -> None:
        self.queue.flush_unschedulable(self.now_ns)

    def activate(self, step: dict[str, Any]) -> None:
        names = step.get("names", ())
        pods = [self.pods[key] for name in names if (key := f"default/{name}") in self.pods]
        self.queue.activate(pods, self.now_ns)

    def nominate(self, step: dict[str, Any]) -> None:
        key = f"default/{step['name']}"
        self.queue.nominate(self.pods[key], step["node"])

    def tick(self, step: dict[str, Any]) -> None:
        pass

    def state(self) -> dict[str, Any]:
        queue = self.queue
        state: dict[str, Any] = {
            "now": self.now_ns - self.start_ns,
            "active": self.names(QueueName.ACTIVE),
            "backoff": self.ends(QueueName.BACKOFF),
            "error_backoff": sorted(
                self.ends(QueueName.ERROR_BACKOFF), key=lambda end: (end[1], end[0])
            ),
            "unschedulable": sorted(self.names(QueueName.UNSCHEDULABLE)),
            "gated": sorted(self.names(QueueName.GATED)),
            "in_flight": sorted(self.names(QueueName.IN_FLIGHT)),
            "nominated": {
                node: sorted(pod.metadata.name for pod in pods)
                for node, pods in queue.nominator.nodes().items()
            },
        }
        for optional in ("error_backoff", "gated", "nominated"):
            if not state[optional]:
                del state[optional]
        return state

    def names(self, place: QueueName) -> list[str]:
        return [queued.pod.metadata.name for queued in self.queue.pods_in(place)]

    def ends(self, place: QueueName) -> list[tuple[str, int]]:
        return [
            (queued.pod.metadata.name, self.queue.backoff_end_ns(queued) - self.start_ns)
            for queued in self.queue.pods_in(place)
        ]


def hint_table(case: dict[str, Any]) -> HintTable:
    if case["hint_mode"] == "default":
        return default_hints()
    scripted: dict[str, Sequence[EventHint]] = {}
    for hint in case["hints"]:
        actions = ActionType.NONE
        for label in hint["actions"]:
            actions |= ActionType.from_label(label)
        event = EventHint(hint["resource"], actions, ANSWERS[hint["hint"]])
        scripted[hint["plugin"]] = (*scripted.get(hint["plugin"], ()), event)
    gates = scheduling_gates.events_to_register()
    # Scripted hints are the whole truth: nothing is added for UpdateNodeTaint.
    return HintTable(dict(scripted) | {"SchedulingGates": gates})


def answer_queue(_pod: Pod, _old: object, _new: object) -> Hint:
    return Hint.QUEUE


def answer_skip(_pod: Pod, _old: object, _new: object) -> Hint:
    return Hint.SKIP


def answer_error(_pod: Pod, _old: object, _new: object) -> Hint:
    raise ValueError("scripted")


ANSWERS = {"Queue": answer_queue, "Skip": answer_skip, "Error": answer_error}


def expected_state(expect: dict[str, Any]) -> dict[str, Any]:
    """The recorded state with times in nanoseconds."""
    state = expect | {"now": to_ns(expect["now"])}
    for place in ("backoff", "error_backoff"):
        if place in state:
            state[place] = [(name, to_ns(end)) for name, end in state[place]]
    return state


@pytest.mark.parametrize("case", read_cases("queue"))
def test_queue_goes_through_the_same_states(case: dict[str, Any]) -> None:
    replay = Replay(case)
    for index, step in enumerate(case["steps"]):
        found = replay.run(step)
        expected = expected_state(step["expect"])
        assert found == expected, f"step {index}: {step['op']} {step.get('name', '')}"

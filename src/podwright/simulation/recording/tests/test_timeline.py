"""The timeline of a run, played forwards and backwards, equals the replayed state at each time."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort

import podwright as pw
from podwright.apimachinery.objects import Pod, decode
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.machine import ExtenderReplied, Machine, ObjectDeleted, ObjectPut
from podwright.simulation.recording.folders.recorded_state import cluster_of, queue_of
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.record import record
from podwright.simulation.recording.log.replay import replay
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded
from podwright.simulation.recording.timelines import feed
from podwright.simulation.recording.timelines.columns import PHASES, PLACES, Timeline
from podwright.simulation.recording.timelines.feed import timeline_of_log
from podwright.testing import make_node, make_pod

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "app"}]},
        },
    },
}


def state_of_replay(log: DecisionLog, timeline: Timeline, at_ns: int) -> dict[Any, int]:
    machine = replay(log, until=log.index_at_ns(at_ns))
    nodes, state = machine.cluster.nodes, {}
    for slot in nodes.alive.nonzero()[0].tolist():
        subject = ("node", nodes.names[slot])
        found = nodes.objects[slot]
        assert found is not None
        state[subject, "present"] = 1
        state[subject, "ready"] = int(any(c.status == "True" for c in found.status.conditions))
        state[subject, "unschedulable"] = int(found.spec.unschedulable)
        state[subject, "taints"] = len(found.spec.taints)
        for resource, column in nodes.resources.items():
            state[subject, f"allocatable/{resource}"] = int(nodes.allocatable[slot, column])
            state[subject, f"requested/{resource}"] = int(nodes.requested[slot, column])
    state |= pods_of_replay(log, machine, timeline, at_ns)
    for pod, node in cluster_of(machine, at_ns).node_of.items():
        state[("pod", pod), "node"] = timeline.subjects.index(("node", node)) + 1
    for place, pods in queue_of(machine, at_ns).places.items():
        for pending in pods:
            queued = ("pod", pending.pod)
            state[queued, "queue"] = PLACES.index(place) + 1
            state[queued, "attempts"] = pending.attempts
            if pending.waits_for:
                reason = ("reason", ", ".join(pending.waits_for))
                state[queued, "waitsFor"] = timeline.subjects.index(reason) + 1
    return {key: value for key, value in state.items() if value}


def pods_of_replay(
    log: DecisionLog, machine: Machine, timeline: Timeline, at_ns: int
) -> dict[Any, int]:
    state: dict[Any, int] = {}
    index_of = {subject: index + 1 for index, subject in enumerate(timeline.subjects)}
    for pod in last_versions(log, at_ns):
        subject = ("pod", pod.key)
        state[subject, "phase"] = PHASES.index(pod.status.phase or "Pending") + 1
        state[subject, "deleting"] = int(pod.metadata.deletion_timestamp is not None)
        if pod.metadata.controller is not None:
            state[subject, "workload"] = index_of["workload", "Deployment default/web"]
        for each in pod.status.conditions:
            if each.type == "DisruptionTarget" and each.status == "True":
                state[subject, "disruptedBy"] = index_of["reason", each.reason]
    for node, pods in queue_of(machine, at_ns).nominated.items():
        for name in pods:
            state[("pod", name), "nominatedTo"] = index_of["node", node]
    return state


def last_versions(log: DecisionLog, at_ns: int) -> Iterable[Pod]:
    """Return the pods of the API server, also those that have ended."""
    known = {obj.key: obj for obj in replay(log, until=log.first).objects() if isinstance(obj, Pod)}
    for entry in log.entries(log.first):
        match entry.event:
            case ObjectPut(obj) if isinstance(obj, Pod) and entry.now_ns <= at_ns:
                known[obj.key] = obj
            case ObjectDeleted(obj) if entry.now_ns <= at_ns:
                known.pop(obj.key, None)
            case _:
                pass
    return known.values()


def assert_is_the_replay(log: DecisionLog, timeline: Timeline) -> None:
    """Compare the state at each time with that of a replay, forwards and backwards."""
    times = sorted({entry.now_ns for entry in log.entries(log.first)})
    for at_ns in [*times, *(time + 1 for time in times)]:
        expected = state_of_replay(log, timeline, at_ns)
        assert timeline.state_at(at_ns) == expected
        assert timeline.state_at(at_ns, is_rewound=True) == expected
    assert timeline.first_ns == times[0]
    assert timeline.state_at(times[0] - 1) == {}


CLASSIC = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "rules": {"name": "classic"},
}


@pytest.mark.parametrize("rules", [None, CLASSIC], ids=["v1.36", "v1.16"])
@pytest.mark.parametrize("is_rewound", [False, True], ids=["forwards", "backwards"])
def test_the_state_at_every_time_is_that_of_the_replay(is_rewound, rules):
    """Also with the queue of v1.16, which does not say on which pods it operated."""
    configuration = None if rules is None else pw.read_configuration(rules, source="test")
    low = [make_pod(f"low-{i}", cpu="1") for i in range(6)]
    high = make_pod("high", cpu="2", priority=100)
    run = pw.simulate(
        [make_node("n1", cpu="2"), make_node("n2", cpu="2"), decode(DEPLOYMENT), *low],
        events=[
            {"at": "5s", "apply": high.raw},
            {"at": "20s", "apply": make_node("n3", cpu="4").raw},
            {"at": "40s", "delete": "pod/low-0", "gracePeriodSeconds": 0},
            {"at": "60s", "delete": "node/n2"},
            {"at": "60s", "apply": make_node("n4", cpu="8").raw},
            {"at": "80s", "cordon": "n3"},
        ],
        until="3m",
        configuration=configuration,
    )
    log = run.log
    timeline = timeline_of_log(log)
    times = sorted({entry.now_ns for entry in log.entries()})
    assert len(times) > 5
    assert ("workload", "Deployment default/web") in timeline.subjects
    for at_ns in [times[0] - 1, *times, *(time + 1 for time in times)]:
        expected = state_of_replay(log, timeline, at_ns)
        assert timeline.state_at(at_ns, is_rewound=is_rewound) == expected


def test_a_log_without_events_has_no_rows():
    timeline = timeline_of_log(DecisionLog.create())
    assert timeline.state_at(0) == {}
    assert len(timeline.deltas) == 0


def test_compressed_rows_are_read_as_the_others(monkeypatch):
    run = Recorded()
    run.put(make_node("n1", cpu="4"), make_node("n2", cpu="4"))
    for number in range(12):
        run.put(make_pod(f"p{number:02}", cpu="1"))
        run.cycle()
    plain = timeline_of_log(run.run.log)
    monkeypatch.setattr(feed, "_PACKED_NUMBERS", 4 * 8)
    packed = timeline_of_log(run.run.log)
    assert packed.subjects == plain.subjects
    assert len(plain.deltas) > 2 * 8
    for name in ("times_ns", "subject_index", "field_index", "deltas"):
        assert getattr(packed, name).tolist() == getattr(plain, name).tolist()


def test_a_log_without_its_oldest_events_begins_with_the_state_of_a_checkpoint():
    run = Recorded()
    run.run = record(None, checkpoint_events=1 << 40)
    run.put(make_node("n1", cpu="4"), make_node("n2", cpu="4"))
    for number in range(12):
        run.put(make_pod(f"p{number:02}", cpu="1"))
        run.cycle()
        if number == 6:
            assert run.run.log.checkpoint(run.run.machine, is_whole=True)
    log = run.run.log
    assert log.drop_before_checkpoint() > 0
    timeline = timeline_of_log(log)
    assert ("pod", "default/p00") in timeline.subjects
    assert_is_the_replay(log, timeline)


def test_events_that_a_suspended_cycle_holds_back():
    run = Recorded(
        extenders=[
            {"urlPrefix": "http://extender", "filterVerb": "filter", "nodeCacheCapable": True}
        ]
    )
    run.holds = {"CallExtender"}
    run.put(make_node("n1", cpu="4"), make_pod("placed", cpu="1", node="n1"))
    run.attempt(make_pod("a", cpu="1"))
    (call,) = run.held
    run.now_ns += SECOND_NS
    placed = run.pods["default/placed"]
    ended = msgspec.structs.replace(placed.status, phase="Succeeded")
    run.put(msgspec.structs.replace(placed, status=ended))
    run.now_ns += SECOND_NS
    run.put(make_pod("b", cpu="1"))
    run.now_ns += SECOND_NS
    run.tell(ExtenderReplied(call.call, ExtenderReply(status=200, body=b'{"nodenames": ["n1"]}')))
    run.cycle()
    log = run.run.log
    assert_is_the_replay(log, timeline_of_log(log))


def test_more_operations_at_one_time_than_the_queue_keeps():
    run = Recorded()
    run.run = record(None, checkpoint_events=1 << 40)
    run.put(*(make_pod(f"p{number:05}", cpu="1") for number in range(10_500)))
    timeline = timeline_of_log(run.run.log)
    state = timeline.state_at(timeline.first_ns)
    active = PLACES.index("active") + 1
    assert (
        sum(state.get((subject, "queue"), 0) == active for subject in timeline.subjects) == 10_500
    )


@effort(5)
@given(seed=st.integers(0, 1 << 30))
def test_the_state_of_generated_runs_is_that_of_the_replay(seed):
    choose = random.Random(seed)
    nodes = [make_node(f"n{i}", cpu=str(choose.randint(1, 4))) for i in range(choose.randint(1, 4))]
    events: list[dict[str, Any]] = []
    for number in range(choose.randint(1, 15)):
        at = f"{choose.randint(1, 60)}s"
        node = f"n{choose.randrange(5)}"
        pod = make_pod(
            f"p{number}", cpu=str(choose.randint(1, 3)), priority=choose.choice([0, 0, 10, 100])
        )
        raw = pod.raw
        if choose.random() < 0.5:
            # The pod ends by itself.
            raw.setdefault("metadata", {})["annotations"] = {
                "pod-complete.stage.kwok.x-k8s.io/delay": "20s"
            }
        events.append({"at": at, "apply": raw})
        kind = choose.randrange(6)
        if kind == 0:
            events.append({"at": "61s", "delete": f"pod/p{number}", "gracePeriodSeconds": 0})
        elif kind == 1:
            events.append({"at": f"{62 + number}s", "apply": make_node(node, cpu="5").raw})
        elif kind == 2:
            events.append({"at": f"{90 + number}s", "apply": make_node(node, cpu="2").raw})
            events.append({"at": f"{120 + number}s", "delete": f"node/{node}"})
    events.sort(key=lambda event: int(event["at"][:-1]))
    run = pw.simulate(nodes, events=events, until="4m")
    timeline = timeline_of_log(run.log)
    assert_is_the_replay(run.log, timeline)

"""The timeline of a run, played forwards and backwards, equals the replayed state at each time."""

from __future__ import annotations

from typing import Any

import pytest

import podwright as pw
from podwright.recording.decision_log import DecisionLog
from podwright.recording.recorded_state import cluster_of, queue_of
from podwright.recording.replay import replay
from podwright.recording.timeline import PLACES, Timeline, timeline_of_log
from podwright.testing import make_node, make_pod


def state_of_replay(log: DecisionLog, timeline: Timeline, at_ns: int) -> dict[Any, int]:
    machine = replay(log, until=log.index_at(at_ns))
    nodes, state = machine.cluster.nodes, {}
    for slot in nodes.alive.nonzero()[0].tolist():
        subject = ("node", nodes.names[slot])
        state[subject, "present"] = 1
        for resource, column in nodes.resources.items():
            state[subject, f"allocatable/{resource}"] = int(nodes.allocatable[slot, column])
            state[subject, f"requested/{resource}"] = int(nodes.requested[slot, column])
    for pod, node in cluster_of(machine, at_ns).node_of.items():
        state[("pod", pod), "node"] = timeline.subjects.index(("node", node)) + 1
    for place, pods in queue_of(machine, at_ns).places.items():
        for pending in pods:
            state[("pod", pending.pod), "queue"] = PLACES.index(place) + 1
    return {key: value for key, value in state.items() if value}


@pytest.mark.parametrize("is_rewound", [False, True], ids=["forwards", "backwards"])
def test_the_state_at_every_time_is_that_of_the_replay(is_rewound):
    low = [make_pod(f"low-{i}", cpu="1") for i in range(6)]
    high = make_pod("high", cpu="2", priority=100)
    run = pw.simulate(
        [make_node("n1", cpu="2"), make_node("n2", cpu="2"), *low],
        events=[
            {"at": "5s", "apply": high.raw},
            {"at": "20s", "apply": make_node("n3", cpu="4").raw},
            {"at": "40s", "delete": "pod/low-0", "gracePeriodSeconds": 0},
            {"at": "60s", "delete": "node/n2"},
            {"at": "60s", "apply": make_node("n4", cpu="8").raw},
            {"at": "80s", "cordon": "n3"},
        ],
        until="3m",
    )
    log = run.log
    timeline = timeline_of_log(log)
    times = sorted({entry.now_ns for entry in log.entries()})
    assert len(times) > 5
    for at_ns in [times[0] - 1, *times, *(time + 1 for time in times)]:
        expected = state_of_replay(log, timeline, at_ns)
        assert timeline.state_at(at_ns, is_rewound=is_rewound) == expected


def test_a_log_without_events_has_no_rows():
    timeline = timeline_of_log(DecisionLog.create())
    assert timeline.state_at(0) == {}
    assert len(timeline.deltas) == 0

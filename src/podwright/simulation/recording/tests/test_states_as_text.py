"""States of a run, and results of a verification, as notebooks and prompts show them."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import Node
from podwright.scheduler.machine import Bind, CycleDue
from podwright.simulation.recording.folders.recorded_state import cluster_at, cluster_of, queue_of
from podwright.simulation.recording.log.replay import replay, verify
from podwright.simulation.recording.tests.recording import SECOND_NS, Recorded
from podwright.testing import make_node, make_pod


def a_run():
    """One pod on a node, one that is assumed there, and one that waits."""
    recorded = Recorded()
    recorded.attempt(make_node("n1", cpu="2"), make_pod("placed", cpu="1"))
    recorded.attempt(make_pod("waits", cpu="8", priority=7))
    recorded.holds = {"Bind"}
    recorded.attempt(make_pod("assumed", cpu="1"))
    return recorded


def test_a_cluster_has_pods_last_and_those_that_are_assumed():
    recorded = a_run()
    found = cluster_of(recorded.run.machine, 3 * SECOND_NS)
    assert isinstance(found.objects[0], Node)
    assert [obj.name for obj in found.objects[1:]] == ["placed", "waits", "assumed"]
    assert dict(found.node_of) == {"default/placed": "n1", "default/assumed": "n1"}
    assert found.assumed == {"default/assumed"}
    assert repr(found) == "<ClusterAt 1970-01-01T00:00:03Z: 4 objects, 2 pods on nodes>"
    text = found._repr_html_()
    assert "Cluster at 1970-01-01T00:00:03Z" in text
    for cell in ("Node", "Pod", "3", "default/placed", "n1"):
        assert f">{cell}<" in text
    early = cluster_at(recorded.run.log, "1s")
    assert dict(early.node_of) == {"default/placed": "n1"}
    assert early.now_ns == SECOND_NS


def test_a_queue_has_its_pods_by_place():
    recorded = a_run()
    found = queue_of(recorded.run.machine, 3 * SECOND_NS)
    assert set(found.places) == {
        "active", "backoff", "error_backoff", "unschedulable", "gated", "in_flight"
    }  # fmt: skip
    (one,) = found.places["unschedulable"]
    assert (one.pod, one.priority, one.attempts) == ("default/waits", 7, 1)
    assert (one.since_ns, one.backoff_end_ns) == (2 * SECOND_NS, 3 * SECOND_NS)
    assert one.waits_for == ("NodeResourcesFit",)
    assert repr(found) == "<QueueAt 1970-01-01T00:00:03Z: 1 unschedulable>"
    text = found._repr_html_()
    assert "Queue at 1970-01-01T00:00:03Z" in text
    for cell in ("default/waits", "unschedulable", "7", "NodeResourcesFit"):
        assert f">{cell}<" in text
    empty = queue_of(Recorded().run.machine, 0)
    assert repr(empty) == "<QueueAt 1970-01-01T00:00:00Z: no pods>"
    assert "No pods." in empty._repr_html_()


def test_the_plugins_that_a_pod_waits_for_are_in_order():
    recorded = Recorded()
    recorded.attempt(
        make_node("full", cpu="1", labels={"on": "x"}),
        make_node("tainted", labels={"on": "x"}, taints=["a:NoSchedule"]),
        make_node("closed", labels={"on": "x"}, unschedulable=True),
        make_node("other"),
        make_pod("p", cpu="2", node_selector={"on": "x"}),
    )
    (one,) = queue_of(recorded.run.machine, 0).places["unschedulable"]
    assert one.waits_for == (
        "NodeAffinity", "NodeResourcesFit", "NodeUnschedulable", "TaintToleration",
    )  # fmt: skip


def test_a_verification_counts_equal_events_up_to_the_first_difference():
    log = a_run().run.log
    found = verify(log)
    assert (found.is_same, found.event_count) == (True, len(log))
    assert "The runs are equal" in found._repr_html_()
    count = len(log)
    log.append(4 * SECOND_NS, CycleDue(), [Bind(77, "default/waits", "u", "n1")])
    log.append(5 * SECOND_NS, CycleDue(), [])
    found = verify(log)
    assert (found.is_same, found.event_count) == (False, count)
    difference = found.difference
    assert difference is not None
    assert (difference.index, difference.now_ns) == (count, 4 * SECOND_NS)
    assert (len(difference.recorded), difference.repeated) == (1, ())
    assert difference.story[-1].startswith(f"{2 * SECOND_NS} ns default/waits: ")
    lines = str(difference).splitlines()
    assert lines[0].startswith(f"event {count} at {4 * SECOND_NS} ns: CycleDue")
    assert lines[1].startswith("  recorded: Bind(")
    assert lines[2].startswith("  before:   ")
    text = found._repr_html_()
    assert "The runs differ" in text
    assert "First event with different actions" in text
    assert f">{count}<" in text


@pytest.mark.parametrize("second", [1, 2, 3])
def test_a_replay_handles_every_event_up_to_a_time(second):
    log = a_run().run.log
    times = [entry.now_ns for entry in log.entries()]
    upto = sum(time <= second * SECOND_NS for time in times)
    machine = replay(log, at=f"{second}s")
    assert machine.objects() == replay(log, until=upto).objects()
    assert queue_of(machine, 0) == queue_of(replay(log, until=upto), 0)
    assert len(machine.objects()) == min(second + 2, 4)

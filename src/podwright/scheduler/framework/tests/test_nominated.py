"""Nominated pods count on their node, and the first filter that rejects is named.

Upstream: pkg/scheduler/framework/runtime/framework.go, RunFilterPluginsWithNominatedPods
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec
import numpy as np
import pytest

from podwright.apimachinery.objects import Pod
from podwright.scheduler.columns import NodeColumns, Reads
from podwright.scheduler.framework import (
    Cycle,
    NodeView,
    PlacedPod,
    Plugin,
    PluginRunner,
    PreFilterResult,
    StateKey,
    Status,
    Verdicts,
)
from podwright.scheduler.framework.nominated import NominatedCheck
from podwright.scheduler.framework.post_filter import FilteredCycle
from podwright.scheduler.framework.status import Code
from podwright.scheduler.preemption.tests.situations import cluster_of, pod, profile
from podwright.testing import make_node

TAINTED = {"taints": ["k=v:NoSchedule"]}
LAST = {"labels": {"last": ""}}


class Last(Plugin):
    """Rejects the nodes of its label, after all other filters."""

    name = "Last"
    filter_reads = Reads.NODE

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.unschedulable("last") if "last" in node.labels else Status.OK


@pytest.mark.parametrize(
    ("given", "nominated_priority", "message"),
    [
        pytest.param({}, 5, "1 Insufficient cpu.", id="there is no room beside it"),
        pytest.param({}, 4, "", id="one of lower priority does not count"),
        pytest.param(
            TAINTED,
            5,
            "1 node(s) had untolerated taint(s).",
            id="a filter before the sums rejects the node, too",
        ),
        pytest.param(LAST, 5, "1 Insufficient cpu.", id="a filter after the sums does, too"),
        pytest.param(
            TAINTED | LAST,
            5,
            "1 node(s) had untolerated taint(s).",
            id="filters before and after the sums reject it",
        ),
        pytest.param(LAST, 4, "1 last.", id="a filter after the sums alone"),
    ],
)
def test_a_node_with_a_nominated_pod(
    given: dict[str, Any], nominated_priority: int, message: str
) -> None:
    cluster = cluster_of(make_node("n", cpu="2", **given))
    cluster.nominate(pod("first", "2", priority=nominated_priority), "n")
    decision = PluginRunner(profile([Last]), cluster).decide(
        pod("p", "1", priority=5), cycle_number=1
    )
    assert decision.message == (f"0/1 nodes are available: {message}" if message else "")
    assert decision.node == ("" if message else "n")


def test_a_pod_does_not_count_on_the_node_to_which_it_is_nominated_itself() -> None:
    cluster = cluster_of(make_node("n", cpu="2"))
    nominated = pod("p", "2", priority=5)
    cluster.nominate(nominated, "n")
    runner = PluginRunner(profile(), cluster)
    assert runner.decide(nominated, cycle_number=1).node == "n"
    # Another one that was created with its name is another pod.
    again = msgspec.structs.replace(
        nominated, metadata=msgspec.structs.replace(nominated.metadata, uid="again")
    )
    assert runner.decide(again, cycle_number=2).node == ""


def port(number: int) -> list[dict[str, Any]]:
    """Return containers of which one has a host port."""
    ports = [{"containerPort": 80, "hostPort": number}]
    return [{"name": "c", "image": "i", "ports": ports, "resources": {"requests": {"cpu": "1"}}}]


APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"app": "first"}},
            }
        ]
    }
}


class Crowded(Plugin):
    """Fails at nodes with a pod."""

    name = "Crowded"
    filter_reads = Reads.NODE | Reads.PODS

    def filter_columns(self, cycle: Cycle, nodes: NodeColumns, out: Verdicts) -> None:
        for slot in out.rows.tolist():
            if cycle.cluster.pods_on[slot]:
                out.reject_slot(slot, Status.error("crowded"))


def test_a_filter_that_fails_because_of_a_nominated_pod_is_named() -> None:
    cluster = cluster_of(make_node("n"))
    cluster.nominate(pod("first", priority=5), "n")
    runner = PluginRunner(profile([Crowded]), cluster)
    decision = runner.decide(pod("p", priority=5), cycle_number=1)
    assert not decision.node
    assert 'running "Crowded" filter plugin: crowded' in decision.message


def test_the_slots_of_a_code_are_those_that_nominated_pods_take() -> None:
    cluster = cluster_of(*[make_node(name, cpu="2") for name in "abc"])
    runner, incoming = PluginRunner(profile(), cluster), pod("p", "1", priority=5)

    def found(code: Code) -> list[int]:
        check = NominatedCheck(runner.profile, runner.ranking_of(incoming), incoming, cluster)
        check.apply(np.zeros(cluster.nodes.n_slots, dtype=np.int64))
        slots: list[int] = check.slots_with_code(code).tolist()
        return slots

    assert found(Code.UNSCHEDULABLE) == []
    cluster.nominate(pod("first", "2", priority=5), "c")
    cluster.nominate(pod("second", "2", priority=5), "a")
    assert found(Code.UNSCHEDULABLE) == [0, 2], "in the order of slots"
    assert found(Code.ERROR) == []


def test_the_nodes_that_pass_are_found_once() -> None:
    cluster = cluster_of(make_node("a", cpu="2"), make_node("b", cpu="2"))
    cluster.nominate(pod("first", "2", priority=5), "a")
    runner, incoming = PluginRunner(profile(), cluster), pod("p", "1", priority=5)
    ranking = runner.ranking_of(incoming)
    check = NominatedCheck(runner.profile, ranking, incoming, cluster)
    totals = np.zeros(cluster.nodes.n_slots, dtype=np.int64)
    check.apply(totals)
    slots = cluster.live_slots()
    assert totals[slots].tolist() == [-1, 0]
    passing = check.without_rejected(slots)
    assert [cluster.nodes.names[slot] for slot in passing.tolist()] == ["b"]
    assert check.without_rejected(slots) is passing
    check.confine_to(passing)
    assert check.without_rejected(slots).tolist() == slots.tolist()


def test_nodes_that_were_not_evaluated_are_no_longer_rejected() -> None:
    cluster = cluster_of(*(make_node(name, cpu="2") for name in "abcd"))
    for name in "abc":
        cluster.nominate(pod(f"first-{name}", "2", priority=5), name)
    runner, incoming = PluginRunner(profile(), cluster), pod("p", "1", priority=5)
    check = NominatedCheck(runner.profile, runner.ranking_of(incoming), incoming, cluster)
    check.apply(np.zeros(cluster.nodes.n_slots, dtype=np.int64))
    slots = cluster.live_slots()
    assert check.without_rejected(slots).tolist() == [3]
    assert [rejection.count for rejection in check.rejections()] == [3]
    check.confine_to(np.array([3, 1], dtype=np.int32))
    assert check.without_rejected(slots).tolist() == [0, 2, 3]
    assert set(check.rejected) == {1}
    assert [(each.count, each.status.plugin) for each in check.rejections()] == [
        (1, "NodeResourcesFit")
    ]
    assert check.slots_with_code(Code.UNSCHEDULABLE).tolist() == [1]
    check.confine_to(np.array([0], dtype=np.int32))
    assert (check.rejected, list(check.rejections())) == ({}, [])
    assert check.without_rejected(slots) is slots


@pytest.mark.parametrize(
    ("spec", "adds_up"),
    [
        pytest.param({}, True, id="requests alone"),
        pytest.param({"containers": port(80)}, False, id="a port"),
        pytest.param({"affinity": APART}, False, id="other pods"),
    ],
)
def test_only_requests_add_up(spec: dict[str, Any], adds_up: bool) -> None:
    cluster = cluster_of(make_node("n"))
    cluster.nominate(pod("first", priority=5), "n")
    runner, incoming = PluginRunner(profile(), cluster), pod("p", priority=5, **spec)
    check = NominatedCheck(runner.profile, runner.ranking_of(incoming), incoming, cluster)
    check.apply(np.zeros(cluster.nodes.n_slots, dtype=np.int64))
    assert (check.filters is not None) is adds_up
    assert check.rejected == {}


@pytest.mark.parametrize("is_nominated", [False, True])
def test_a_cycle_that_failed_adds_up_no_filters_twice(is_nominated: bool) -> None:
    cluster = cluster_of(make_node("n"))
    if is_nominated:
        cluster.nominate(pod("first", priority=5), "n")
    runner, incoming = PluginRunner(profile(), cluster), pod("p", priority=5)
    ranking = runner.ranking_of(incoming)
    check = NominatedCheck(runner.profile, ranking, incoming, cluster)
    check.apply(np.zeros(cluster.nodes.n_slots, dtype=np.int64))
    failed = FilteredCycle(incoming, runner.profile, ranking, cluster.live_slots(), check)
    assert (check.filters is not None) is is_nominated
    assert (failed.sum_filters() is check.filters) is is_nominated
    without = FilteredCycle(incoming, runner.profile, ranking, cluster.live_slots()).sum_filters()
    found = failed.sum_filters()
    assert found is not None
    assert without is not None
    assert found.pairs.tolist() == without.pairs.tolist()


@pytest.mark.parametrize(
    ("given", "spec", "message"),
    [
        pytest.param(
            {},
            {"containers": port(80)},
            "1 node(s) didn't have free ports for the requested pod ports.",
            id="its port",
        ),
        pytest.param({}, {"containers": port(81)}, "", id="another port"),
        pytest.param(
            {}, {"affinity": APART}, "1 node(s) didn't match pod anti-affinity rules.", id="labels"
        ),
        pytest.param(
            TAINTED,
            {"containers": port(80)},
            "1 node(s) had untolerated taint(s).",
            id="an earlier filter rejects the node, too",
        ),
        pytest.param({"cpu": "1"}, {"affinity": APART}, "1 Insufficient cpu.", id="its requests"),
    ],
)
def test_a_nominated_pod_counts_in_filters_that_do_not_add_up(
    given: dict[str, Any], spec: dict[str, Any], message: str
) -> None:
    cluster = cluster_of(make_node("n", **given))
    first = pod("first", priority=5, labels={"app": "first"}, containers=port(80))
    cluster.nominate(first, "n")
    decision = PluginRunner(profile(), cluster).decide(
        pod("p", "1", priority=5, **spec), cycle_number=1
    )
    assert decision.message == (f"0/1 nodes are available: {message}" if message else "")


def test_a_node_is_rejected_for_its_own_nominated_pods() -> None:
    cluster = cluster_of(*(make_node(name) for name in ("a", "b", "c")))
    for name, priority, node_name in (("low", 4, "a"), ("lost", 5, "gone"), ("first", 5, "b")):
        cluster.nominate(pod(name, priority=priority, containers=port(80)), node_name)
    incoming = pod("p", priority=5, containers=port(80))
    decision = PluginRunner(profile(), cluster).decide(incoming, cycle_number=1)
    assert (decision.node in ("a", "c"), decision.feasible_count) == (True, 2)


class Restricts(Last):
    """Leaves one node to choose from, and rejects it."""

    name = "Restricts"

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PreFilterResult(frozenset({"left"}))

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.unschedulable("left") if node.name == "left" else Status.OK


@pytest.mark.parametrize(
    ("others", "given", "against"),
    [
        pytest.param({"first": 5}, {}, "NodeResourcesFit ", id="by a pod that is nominated there"),
        pytest.param({"first": 4}, {"unschedulable": True}, "NodeUnschedulable ", id="by itself"),
    ],
)
def test_the_plugin_that_rejects_the_nominated_node_is_named_for_those_left_out(
    others: dict[str, int], given: dict[str, Any], against: str
) -> None:
    # Upstream: pkg/scheduler/schedule_one.go, evaluateNominatedNode
    cluster = cluster_of(*(make_node(name) for name in ("left", "out")), make_node("own", **given))
    for name, priority in others.items():
        cluster.nominate(pod(name, "4", priority=priority), "own")
    incoming = pod("p", "1", priority=5, nominated="own")
    runner = PluginRunner(profile([Restricts]), cluster)
    decision = runner.decide(incoming, cycle_number=1)
    assert f"1 node(s) didn't satisfy plugin(s) [{against}Restricts]" in decision.message
    assert "1 left" in decision.message
    # Upstream: findNodesThatFitPod, processedNodes; `left` was searched, and `own` has a status.
    assert (decision.evaluated_count, runner.search_position()) == (2, 2)


class FailsElsewhere(Plugin):
    """Fails at a node that its PreFilter leaves out."""

    name = "FailsElsewhere"

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PreFilterResult(frozenset({"left"}))

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        if node.name == "own":
            raise ValueError("no answer")
        return Status.unschedulable("left")


def test_a_nominated_node_at_which_a_filter_fails_has_no_status() -> None:
    # Upstream: pkg/scheduler/schedule_one.go, evaluateNominatedNode, whose error is logged
    cluster = cluster_of(*map(make_node, ("left", "out", "own")))
    runner = PluginRunner(profile([FailsElsewhere]), cluster)
    decision = runner.decide(pod("p", "1", nominated="own"), cycle_number=1)
    assert decision.message.startswith(
        "0/3 nodes are available: 1 left, 2 node(s) didn't satisfy plugin(s) [FailsElsewhere]."
    )
    assert (decision.evaluated_count, runner.search_position()) == (1, 1)


COUNT = StateKey[int]("test/count")


class Counts(Plugin):
    """Allows two pods in its state, however many there are on a node."""

    name = "Counts"
    filter_reads = Reads.NODE | Reads.PODS

    def pre_filter(self, cycle: Cycle) -> Status:
        cycle.write(COUNT, 0)
        return Status.OK

    def add_pod(self, cycle: Cycle, placed: PlacedPod) -> None:
        cycle.write(COUNT, cycle.read(COUNT) + 1)

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        count = cycle.read(COUNT)
        return Status.OK if count <= 2 else Status.unschedulable(f"{count} on {node.name}")


@pytest.mark.parametrize(
    ("counts", "rejected"),
    [
        pytest.param({"a": 2, "b": 2}, [], id="each node counts its own"),
        pytest.param({"a": 3, "b": 1, "c": 4}, ["3 on a", "4 on c"], id="all of a node count"),
    ],
)
def test_the_state_with_the_pods_of_one_node_is_not_that_of_the_next(
    counts: dict[str, int], rejected: list[str]
) -> None:
    cluster = cluster_of(*[make_node(name, cpu="9") for name in "abc"])
    for name, count in counts.items():
        for number in range(count):
            cluster.nominate(pod(f"{name}{number}", priority=5), name)
    runner, incoming = PluginRunner(profile([Counts]), cluster), pod("p", priority=5)
    for _ in range(2):
        ranking = runner.ranking_of(incoming)
        check = NominatedCheck(runner.profile, ranking, incoming, cluster)
        check.apply(np.zeros(cluster.nodes.n_slots, dtype=np.int64))
        assert [status.message for status in check.rejected.values()] == rejected
        assert ranking.cycle.read(COUNT) == 0


class Called(Plugin):
    """Reads no pods, and records the nodes for which it is called."""

    name = "Called"
    filter_reads = Reads.NODE

    def __init__(self) -> None:
        self.names: list[str] = []

    def pod_key(self, pod: Pod) -> Hashable:
        return ()

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        self.names.append(node.name)
        return Status.OK


def test_a_filter_that_reads_no_pods_is_not_called_again_for_nominated_ones() -> None:
    cluster = cluster_of(make_node("a"), make_node("b"))
    cluster.nominate(pod("first", priority=5, containers=port(80)), "b")
    called = Called()
    made = profile()
    runner = PluginRunner(msgspec.structs.replace(made, filter=(*made.filter, called)), cluster)
    counts = []
    for number in range(4):
        incoming = pod(f"p{number}", priority=5, containers=port(80))
        assert runner.decide(incoming, cycle_number=number).node == "a"
        counts.append(len(called.names))
    assert counts[-1] == counts[1]

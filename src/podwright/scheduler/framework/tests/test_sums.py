"""Filters whose requests add up, and the filters around them that do not read pods."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.framework import (
    Cycle,
    NodeView,
    Plugin,
    PluginRunner,
    PreFilterResult,
    Profile,
    Status,
)
from podwright.scheduler.framework.rankings.sums import SumFilters
from podwright.scheduler.preemption.tests.situations import cluster_of, pod, profile
from podwright.testing import make_node

TAINTED: dict[str, Any] = {"taints": ["k=v:NoSchedule"]}
LAST: dict[str, Any] = {"labels": {"last": ""}}
BEFORE, AFTER = 1, 2


class Last(Plugin):
    """Rejects the nodes of its label, after all other filters."""

    name = "Last"
    filter_reads = Reads.NODE

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.unschedulable("last") if "last" in node.labels else Status.OK


class ReadsPods(Last):
    """Reads pods, and does not add up."""

    filter_reads = Reads.NODE | Reads.PODS


class Rejects(Last):
    """Rejects pods as a whole."""

    def pre_filter(self, cycle: Cycle) -> Status:
        return Status.unschedulable("no")


class Restricts(Last):
    """Restricts pods to one node."""

    def pre_filter(self, cycle: Cycle) -> PreFilterResult:
        return PreFilterResult(node_names=frozenset({"plain"}))


def sums_of(cluster: Cluster, *plugins: type[Plugin]) -> SumFilters | None:
    ranking = PluginRunner(profile(plugins), cluster).ranking_of(pod("p", "1"))
    return SumFilters.of(ranking)


@pytest.mark.parametrize(
    ("plugin", "adds_up"),
    [
        pytest.param(Last, True, id="a filter of nodes"),
        pytest.param(Restricts, True, id="a PreFilter that restricts pods"),
        pytest.param(ReadsPods, False, id="a second filter that reads pods"),
        pytest.param(Rejects, False, id="a PreFilter that rejects the pod"),
    ],
)
def test_when_filters_add_up(plugin: type[Plugin], adds_up: bool) -> None:
    found = sums_of(cluster_of(make_node("plain")), plugin)
    assert (found is not None) is adds_up
    if found is not None:
        assert found.row.plugin.name == "NodeResourcesFit"
        assert found.pairs.tolist() == [0, 1000]


def test_nodes_that_other_filters_reject_are_marked_with_the_first_of_them() -> None:
    cluster = cluster_of(
        make_node("plain", cpu="4"),
        make_node("tainted", cpu="4", **TAINTED),
        make_node("last", cpu="4", **LAST),
        make_node("both", cpu="4", **TAINTED | LAST),
        make_node("full", cpu="1m"),
    )
    found = sums_of(cluster, Last)
    assert found is not None
    assert found.blocked(5).tolist() == [0, BEFORE, AFTER, BEFORE, 0]
    by_slot = [found.blocking_status(slot) for slot in range(5)]
    assert [status.plugin for status in by_slot] == [
        "", "TaintToleration", "Last", "TaintToleration", "",
    ]  # fmt: skip
    assert by_slot[0] is Status.OK
    assert by_slot[2].reasons == ("last",)
    assert found.status_of(1 << 1).plugin == "NodeResourcesFit"


def test_without_a_rejection_no_node_is_marked() -> None:
    found = sums_of(cluster_of(make_node("plain"), make_node("other")), Last)
    assert found is not None
    assert found.blocked(2).tolist() == []


def test_pods_that_are_nominated_take_their_room_of_less_important_ones() -> None:
    cluster = cluster_of(*[make_node(name, cpu="4") for name in "abc"])
    for name, node, priority in (
        ("same", "a", 0),
        ("high", "b", 5),
        ("more", "b", 1),
        ("low", "c", -1),
    ):
        cluster.nominate(pod(name, "1", priority=priority), node)
    cluster.nominate(pod("gone", "1"), "missing")
    found = sums_of(cluster)
    assert found is not None
    room, touched = found.room_for(pod("p", "1"), cluster)
    assert touched.tolist() == [0, 1]
    reserved = [room.reserved[room.reserved_row[slot], 0] for slot in touched.tolist()]
    assert reserved == [1000, 2000]
    assert found.room_for(pod("p", "1"), cluster)[0] is room, "it is found once"


def test_a_filter_that_reads_pods_alone_adds_nothing_up() -> None:
    made = Profile(scheduler_name="s", filter=(Last(), ReadsPods()))
    cluster = cluster_of(make_node("plain"))
    assert SumFilters.of(PluginRunner(made, cluster).ranking_of(pod("p"))) is None
    none = Profile(scheduler_name="s", filter=(Last(),))
    assert SumFilters.of(PluginRunner(none, cluster).ranking_of(pod("p"))) is None

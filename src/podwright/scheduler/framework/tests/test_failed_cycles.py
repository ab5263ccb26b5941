"""A cycle that found no node, as PostFilter plugins see it.

Upstream: pkg/scheduler/framework/types.go, NodeToStatus
"""

from __future__ import annotations

from typing import Any

import pytest

from podwright.scheduler.columns import Cluster, Reads
from podwright.scheduler.framework import (
    Code,
    Cycle,
    NodeView,
    Plugin,
    PluginRunner,
    PostFilterResult,
    Profile,
    Status,
)
from podwright.scheduler.framework.nominated import SlotFilter
from podwright.scheduler.framework.post_filter import FilteredCycle
from podwright.scheduler.framework.status import PreFilterResult
from podwright.scheduler.preemption.tests.situations import (
    cluster_of,
    failed_cycle,
    pod,
)
from podwright.testing import make_node, make_pod

OVERFULL = {"cpu": "1"}
TAINTED: dict[str, Any] = {"taints": ["k=v:NoSchedule"]}
CORDONED = {"unschedulable": True}


def helped(failed: FilteredCycle) -> list[str]:
    names = failed.cluster.nodes.names
    return [names[slot] for slot in failed.slots_where_preemption_may_help().tolist()]


def failed_on(*given: dict[str, Any], cpu: str = "2", **spec: Any) -> FilteredCycle:
    nodes = [make_node(f"n{number}", **one) for number, one in enumerate(given)]
    return failed_cycle(pod("p", cpu, priority=5, **spec), cluster_of(*nodes))


@pytest.mark.parametrize(
    ("given", "may_help"),
    [
        pytest.param((OVERFULL, OVERFULL), [], id="more than a node has"),
        pytest.param((TAINTED, CORDONED), [], id="whatever pods are there"),
    ],
)
def test_nodes_where_removing_pods_cannot_help(
    given: tuple[dict[str, Any], ...], may_help: list[str]
) -> None:
    assert helped(failed_on(*given)) == may_help


def test_nodes_where_removing_pods_may_help() -> None:
    cluster = cluster_of(
        make_node("full", cpu="2"),
        make_node("tainted", cpu="2", **TAINTED),
        make_node("also", cpu="2"),
        make_node("nominated", cpu="2"),
        make_node("both", cpu="2"),
        make_node("small", cpu="1"),
    )
    for name in ("full", "tainted", "also", "both"):
        cluster.place(pod(f"on-{name}", "2"), cluster.nodes.slot_of[name])
    cluster.nominate(pod("first", "2", priority=5), "nominated")
    cluster.nominate(pod("second", "2", priority=5), "both")
    failed = failed_cycle(pod("p", "2", priority=5), cluster)
    assert helped(failed) == ["full", "also", "nominated", "both"]
    codes = {name: failed.status_of(name).code for name in cluster.nodes.names}
    assert codes == {
        "full": Code.UNSCHEDULABLE,
        "tainted": Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
        "also": Code.UNSCHEDULABLE,
        "nominated": Code.UNSCHEDULABLE,
        "both": Code.UNSCHEDULABLE,
        "small": Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
    }
    assert failed.status_of("full").plugin == "NodeResourcesFit"


class Restricts(Plugin):
    """Answers PreFilter for all pods, and rejects every node."""

    name = "Restricts"
    filter_reads = Reads.NODE

    def __init__(self, answer: Status | PreFilterResult) -> None:
        self.answer = answer

    def pre_filter(self, cycle: Cycle) -> Status | PreFilterResult:
        return self.answer

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        return Status.unschedulable("full")

    def post_filter(self, cycle: Cycle, failed: object) -> PostFilterResult:
        return PostFilterResult(status=Status.unschedulable("no"))


def restricted(answer: Status | PreFilterResult) -> FilteredCycle:
    cluster = Cluster()
    for name in ("n1", "n2"):
        cluster.put(make_node(name))
    plugin = Restricts(answer)
    made = Profile(
        scheduler_name="s", pre_filter=(plugin,), filter=(plugin,), post_filter=(plugin,)
    )
    runner = PluginRunner(made, cluster)
    runner.decide(make_pod("p"), cycle_number=1)
    failed = runner._failed
    assert failed is not None
    return failed


@pytest.mark.parametrize(
    ("answer", "may_help", "statuses"),
    [
        pytest.param(
            PreFilterResult(frozenset({"n2"})),
            ["n2"],
            ["node(s) didn't satisfy plugin(s) [Restricts]", "full", ""],
            id="only nodes that PreFilter leaves",
        ),
        pytest.param(
            Status.unschedulable("later"),
            ["n1", "n2"],
            ["later", "later", "later"],
            id="all nodes, if PreFilter rejects the pod for now",
        ),
        pytest.param(
            Status.unresolvable("never"),
            [],
            ["never", "never", "never"],
            id="no node, if it rejects it for good",
        ),
        pytest.param(Status.OK, ["n1", "n2"], ["full", "full", ""], id="all that were filtered"),
    ],
)
def test_a_status_says_why_a_node_was_rejected(
    answer: Status | PreFilterResult, may_help: list[str], statuses: list[str]
) -> None:
    failed = restricted(answer)
    assert helped(failed) == may_help
    assert [failed.status_of(name).message for name in ("n1", "n2", "gone")] == statuses


@pytest.mark.parametrize("answer", [Status.OK, Status.unschedulable("later")])
def test_filters_run_on_single_nodes_whatever_pre_filter_said(answer: Status) -> None:
    failed = restricted(answer)
    status = SlotFilter(failed.profile, failed.ranking).status(failed.cycle, 0)
    assert status == Status.unschedulable("full").by("Restricts")


class Called(Plugin):
    """Records the nodes for which it is called."""

    name = "Called"
    filter_reads = Reads.NODE

    def __init__(self) -> None:
        self.names: list[str] = []

    def filter(self, cycle: Cycle, node: NodeView) -> Status:
        self.names.append(node.name)
        return Status.OK


class CalledForPods(Called):
    """Does so, and reads their pods."""

    name = "CalledForPods"
    filter_reads = Reads.NODE | Reads.PODS


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        pytest.param(CalledForPods, ["n2"], id="once, for that node alone"),
        pytest.param(Called, [], id="not at all, if it reads no pods"),
    ],
)
def test_a_filter_of_a_single_node_is_called(kind: type[Called], calls: list[str]) -> None:
    cluster = cluster_of(*[make_node(name) for name in ("n1", "n2", "n3")])
    called = kind()
    profile = Profile(scheduler_name="s", filter=(called,))
    ranking = PluginRunner(profile, cluster).ranking_of(make_pod("p"))
    single = SlotFilter(profile, ranking)
    called.names.clear()
    assert single.status(ranking.cycle, 1) == Status.OK
    assert called.names == calls


class Skips(Restricts):
    """Has nothing to filter, and would reject every node."""

    name = "Skips"


@pytest.mark.parametrize("answer", [Status.OK, Status.unschedulable("later")])
def test_a_filter_that_pre_filter_skipped_rejects_no_single_node(answer: Status) -> None:
    cluster = Cluster()
    cluster.put(make_node("n1"))
    skips, other = Skips(Status.skip()), Restricts(answer)
    profile = Profile(scheduler_name="s", pre_filter=(skips, other), filter=(skips, other))
    runner = PluginRunner(profile, cluster)
    runner.decide(make_pod("p"), cycle_number=1)
    ranking = runner.ranking_of(make_pod("p"))
    status = SlotFilter(profile, ranking).status(ranking.cycle, 0)
    assert status == Status.unschedulable("full").by("Restricts")


def test_without_nominated_pods_the_rejections_of_filters_alone_say_where_to_help() -> None:
    cluster = cluster_of(make_node("a", cpu="2"), make_node("b", cpu="2", **TAINTED))
    cluster.place(pod("on-a", "2"), 0)
    made = failed_cycle(pod("p", "2", priority=5), cluster)
    failed = FilteredCycle(made.pod, made.profile, made.ranking, cluster.live_slots())
    assert helped(failed) == ["a"]
    assert failed.status_of("b").code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    unseen = FilteredCycle(made.pod, made.profile, made.ranking)
    assert helped(unseen) == [], "no node was evaluated"


def test_nodes_that_pre_filter_leaves_out_are_counted() -> None:
    cluster = Cluster()
    for number in range(5):
        cluster.put(make_node(f"n{number}"))
    plugin = Restricts(PreFilterResult(frozenset({"n3", "n4"})))
    made = Profile(scheduler_name="s", pre_filter=(plugin,), filter=(plugin,))
    decision = PluginRunner(made, cluster).decide(make_pod("p"), cycle_number=1)
    assert decision.message == (
        "0/5 nodes are available: 2 full, 3 node(s) didn't satisfy plugin(s) [Restricts]."
    )
    assert decision.evaluated_count == 2


def test_a_pod_that_fits_has_no_post_filter() -> None:
    cluster = Cluster()
    cluster.put(make_node("n"))
    made = Profile(scheduler_name="s", post_filter=(Restricts(Status.OK),))
    runner = PluginRunner(made, cluster)
    decision = runner.decide(make_pod("p"), cycle_number=1)
    assert runner.post_filter(decision, cycle_number=1, now_ns=0) is decision


def test_a_failed_cycle_has_the_time_and_the_draws_that_it_is_given() -> None:
    failed = failed_on(OVERFULL)
    made = FilteredCycle(failed.pod, failed.profile, failed.ranking)
    assert (made.now_ns, made.seed, made.cycle_number, made.extenders) == (0, 0, 0, ())
    assert made.cluster is failed.cluster


def test_a_node_that_passed_all_filters_has_the_status_of_those_left_out() -> None:
    # An extender removed it without a reason.
    cluster = cluster_of(make_node("a", cpu="2"), make_node("b", cpu="2", **TAINTED))
    cluster.place(pod("on-b", "2"), 1)
    made = failed_cycle(pod("p", "2", priority=5), cluster_of(make_node("full", cpu="1")))
    ranking = PluginRunner(made.profile, cluster).ranking_of(pod("p", "2"))
    ranking.write_rows(cluster)
    failed = FilteredCycle(pod("p", "2"), made.profile, ranking, cluster.live_slots())
    assert failed.status_of("a") == ranking.outcome.absent_status()
    assert failed.status_of("b").plugin == "TaintToleration"
    by_extender = {"a": Status.unschedulable("busy"), "gone": Status.unschedulable("odd")}
    failed = FilteredCycle(
        pod("p", "2"), made.profile, ranking, cluster.live_slots(), extender_statuses=by_extender
    )
    assert [failed.status_of(name).message for name in ("a", "gone")] == ["busy", ""]
    assert helped(failed) == ["a"]

"""Decisions of a `Scheduler` in rare states, and explanations that agree with them."""

from __future__ import annotations

from typing import ClassVar

import pytest

import podwright as pw
from podwright.apimachinery.objects import InputError, with_nominated_node_name
from podwright.scheduler.assembly.tests.test_deciding import Keeps, scheduling
from podwright.scheduler.assembly.tests.test_gangs_together import (
    FULL,
    HELD,
    gang,
    member,
    nodes_of,
    scheduler as with_gangs,
)
from podwright.scheduler.framework import PostFilterResult
from podwright.testing import make_node, make_pod


def test_a_scheduler_refuses_a_configuration_that_could_have_no_effect():
    with pytest.raises(InputError, match="parallelize_until"):
        pw.Scheduler(parallelize_until=print)


def test_only_objects_are_added():
    scheduler = pw.Scheduler()
    with pytest.raises(TypeError):
        scheduler.add({"kind": "Node"})  # type: ignore[arg-type]  # the mistake that it refuses


def test_a_removed_pod_is_not_reserved_again():
    scheduler = pw.Scheduler(plugins=[Keeps])
    scheduler.add(make_node("n1"), make_pod("a"))
    scheduler.schedule("default/a")
    scheduler.remove(make_pod("a"))
    assert not scheduler.bookkeeping().reservations


class Nominates(pw.Plugin):
    """Nominates every pod to one node, without victims."""

    name = "Nominates"

    def filter(self, cycle, node):
        return pw.Status.unschedulable("never")

    def post_filter(self, cycle, failed):
        return PostFilterResult(status=pw.Status(), nominated_node="n1")


def test_a_plugin_nominates_a_pod_without_naming_victims():
    scheduler = pw.Scheduler(plugins=[Nominates])
    scheduler.add(make_node("n1"))
    scheduler.schedule(make_pod("web"))
    assert scheduler.pending["default/web"].status.nominated_node_name == "n1"


def test_a_withdrawn_pod_leaves_the_node_that_it_was_nominated_to():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1", cpu="1"))
    scheduler.add(with_nominated_node_name(make_pod("vip", cpu="1", priority=9), "n1"))
    assert not scheduler.schedule(make_pod("web", cpu="1")).node
    scheduler.withdraw("default/vip")
    assert scheduler.schedule("default/web").node == "n1"


def test_names_of_pods_that_are_not_pending_are_passed_over():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1"), make_pod("a"), make_pod("b", scheduler="other"))
    decisions = list(scheduler.schedule_each(["default/x", "default/a", "default/b", "default/a"]))
    assert [(each.pod.name, each.node, each.ignored) for each in decisions] == [
        ("a", "n1", ""),
        ("b", "", 'no profile has schedulerName "other"'),
    ]


def test_a_pod_that_was_added_is_decided_as_it_was_admitted():
    scheduler = pw.Scheduler()
    scheduler.add(make_node("n1"), make_pod("web"))
    pod = scheduler.pending["default/web"]
    scheduler.add(scheduling("later", kind="PriorityClass", value=7, globalDefault=True))
    assert scheduler.explain(pod).pod is pod
    assert scheduler.explain(make_pod("other")).pod.priority == 7


def test_an_explanation_draws_the_node_that_the_pod_gets():
    scheduler = pw.Scheduler(seed=3)
    scheduler.add(*(make_node(f"n{number:02}") for number in range(20)))
    scheduler.add(*(make_pod(f"p{number}") for number in range(4)))
    explained, decided = [], []
    for key in list(scheduler.pending):
        explained.append(scheduler.explain(key).decision.node)
        decided.append(scheduler.schedule(key).node)
    assert explained == decided


class Looks(pw.Plugin):
    """Records at Reserve whether the pod counts on its node."""

    name = "Looks"
    seen: ClassVar[list[bool]] = []

    def reserve(self, cycle, node_name):
        self.seen.append(cycle.pod.key in cycle.cluster.pods)
        return pw.Status()


def test_reserve_is_called_for_a_pod_that_counts_on_its_node_and_for_no_other():
    Looks.seen.clear()
    scheduler = pw.Scheduler(plugins=[Looks])
    scheduler.add(make_node("n1", cpu="1"))
    scheduler.explain(make_pod("big", cpu="2"))
    scheduler.explain(make_pod("web", cpu="1"))
    scheduler.schedule(make_pod("web", cpu="1"))
    assert Looks.seen == [True, True]


class Sorts(pw.Plugin):
    """Records the times that it is called with."""

    name = "Sorts"
    times: ClassVar[list[int]] = []

    def queue_sort_key(self, pod, timestamp_ns):
        self.times.append(timestamp_ns)
        return timestamp_ns


def test_no_time_passes_for_a_queue_sort_plugin():
    Sorts.times.clear()
    scheduler = pw.Scheduler(plugins=[Sorts])
    scheduler.add(make_node("n1"))
    scheduler.schedule(make_pod("web"))
    assert Sorts.times == [0]


# --------------------------------------------------------------------------------- gangs


class Waits(pw.Plugin):
    """Lets every pod wait at Permit, which this scheduler does not run."""

    name = "Waits"

    def permit(self, cycle, node_name):
        return pw.Status(pw.Code.WAIT), 60


def test_of_the_plugins_at_permit_only_that_of_gangs_is_called():
    found = with_gangs(
        make_node("n1", cpu="4"), gang("g", 2), member("a", "g"), member("b", "g"), plugins=[Waits]
    )
    assert nodes_of(found.schedule_all()) == {"a": "n1", "b": "n1"}


def test_the_members_of_a_gang_are_decided_by_priority():
    found = with_gangs(
        make_node("n1", cpu="2"), gang("g", 2),
        member("a", "g"), member("b", "g", priority=5), member("c", "g", priority=5),
    )  # fmt: skip
    decisions = found.schedule_together("default/a")
    assert [each.pod.name for each in decisions] == ["b", "c", "a"]
    assert nodes_of(decisions) == {"b": "n1", "c": "n1", "a": ""}


def test_a_member_whose_others_were_withdrawn_does_not_fit_and_no_pod_is_lost():
    found = with_gangs(
        make_node("n1", cpu="4"), gang("g", 2),
        make_pod("first"), member("a", "g"), member("b", "g"), make_pod("last"),
    )  # fmt: skip
    found.withdraw("default/b")
    (decision,) = found.schedule_together("default/a")
    assert decision.message == HELD
    assert list(found.pending) == ["default/first", "default/a", "default/last"]


def test_a_member_that_fits_nowhere_is_explained_by_all_nodes():
    found = with_gangs(
        make_node("n1", cpu="1"), make_node("n2", cpu="4", unschedulable=True), gang("g", 1),
        member("a", "g", cpu="2"), member("b", "g", cpu="2"),
    )  # fmt: skip
    assert found.explain("default/b").decision.message.startswith(
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    )


def test_explaining_a_member_places_no_other():
    found = with_gangs(
        make_node("n1", cpu="1"), gang("g", 2), member("a", "g"), member("b", "g", priority=5)
    )
    before = ["default/a", "default/b"]
    for name, message in (("b", HELD), ("a", FULL)):
        assert found.explain(f"default/{name}").decision.message.startswith(message)
        assert (list(found.cluster.pods), list(found.pending)) == ([], before)
    found.add(make_node("n2", cpu="1"))
    assert found.explain("default/a").decision.node
    assert (list(found.cluster.pods), list(found.pending)) == ([], before)

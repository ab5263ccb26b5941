"""The machine by itself: what comes late, twice or out of order; several profiles; extenders."""

from __future__ import annotations

import msgspec
import pytest

from podwright.apimachinery.objects import Duration, Pod, with_fields, with_node_name
from podwright.scheduler.config import ExtenderReply
from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    CallExtender,
    CycleDue,
    DeletePod,
    ExtenderReplied,
    FlushBackoff,
    ObjectPut,
    PatchPodStatus,
    PodAllowed,
    TimerFired,
    WakeAt,
)
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, pending
from podwright.testing import make_node, make_pod


class Gate(Plugin):
    """Hold every pod for an hour, which is cut to a quarter of one."""

    name = "Gate"

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        return Status.wait("an hour"), "1h"


def seen(driver: Driver, name: str) -> Pod:
    pod = driver.machine.pod(name)
    assert pod is not None, name
    return pod


# -------------------------------------------------------------------- whose pod it is


def test_pods_of_other_schedulers_are_left_alone():
    driver = Driver()
    driver.put(make_node("n1"), make_pod("theirs", scheduler="theirs", cpu="1"))
    assert not driver.machine.has_next
    driver.cycle()
    assert driver.actions == []


def test_pods_of_other_schedulers_count_once_they_are_bound():
    driver = Driver()
    driver.put(make_node("n1", cpu="1"), make_pod("theirs", scheduler="theirs", cpu="1"))
    driver.put(with_node_name(seen(driver, "default/theirs"), "n1"))
    driver.put(pending("a", cpu="1"))
    driver.cycle()
    assert driver.place_of("default/a") == "unschedulable"


def test_each_profile_takes_its_own_pods():
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {"schedulerName": "default-scheduler"},
            {
                "schedulerName": "patient",
                "plugins": {"multiPoint": {"enabled": [{"name": "Gate"}]}},
            },
        ],
    }
    driver = Driver(Gate, config=config)
    driver.put(make_node("n1"), pending("a"), make_pod("b", scheduler="patient"))
    driver.cycle()
    driver.cycle()
    assert driver.node_of("default/a") == "n1"
    assert driver.machine.waiting() == {"default/b": ("Gate",)}


def test_profiles_share_the_position_from_which_nodes_are_searched():
    # Upstream: pkg/scheduler/schedule_one.go, findNodesThatFitPod: Scheduler.nextStartNodeIndex
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 1,
        "profiles": [{"schedulerName": "default-scheduler"}, {"schedulerName": "other"}],
    }
    driver = Driver(config=config)
    driver.put(*[make_node(f"n{index}") for index in range(130)])
    driver.put(pending("a"), make_pod("b", scheduler="other"))
    # The least number of nodes that are searched is 100.
    for next_start in (100, 70):
        driver.cycle()
        for name in ("default-scheduler", "other"):
            runner = driver.machine.runner(name)
            assert runner is not None
            assert runner.search_position() == next_start


# -------------------------------------------------------------------- late, twice, out of order


def test_a_change_that_is_told_twice_is_one_change():
    driver = Driver()
    driver.put(pending("a"))
    driver.deliver(ObjectPut(seen(driver, "default/a")))
    assert len(driver.machine.queue) == 1
    driver.put(make_node("n1"))
    driver.cycle()
    bound = seen(driver, "default/a")
    driver.deliver(ObjectPut(bound))
    assert list(driver.machine.cluster.pods) == ["default/a"]


def test_a_pod_seen_bound_before_the_answer_is_bound_once():
    driver = Driver()
    driver.holds.add("Bind")
    driver.put(make_node("n1"), pending("a", cpu="1"))
    driver.cycle()
    (bind,) = driver.all_of(Bind)
    driver.put(with_node_name(seen(driver, "default/a"), "n1"))
    assert driver.machine.assumed() == {}
    driver.deliver(CallDone(bind.call))
    assert driver.notes == ["Scheduled: Successfully assigned default/a to n1"]


def test_a_binding_that_was_made_although_its_answer_is_an_error_stands():
    driver = Driver()
    driver.holds.add("Bind")
    driver.put(make_node("n1"), pending("a", cpu="1"))
    driver.cycle()
    (bind,) = driver.all_of(Bind)
    driver.put(with_node_name(seen(driver, "default/a"), "n1"))
    driver.deliver(CallDone(bind.call, CallError("connection reset")))
    assert driver.place_of("default/a") == ""
    assert list(driver.machine.cluster.pods) == ["default/a"]


def test_a_pod_bound_by_somebody_else_leaves_the_queue():
    driver = Driver()
    driver.put(make_node("n1"), pending("a"))
    driver.put(with_node_name(seen(driver, "default/a"), "n1"))
    assert not driver.machine.has_next
    assert list(driver.machine.cluster.pods) == ["default/a"]


def test_a_pod_made_anew_under_its_name_is_another_pod():
    driver = Driver()
    driver.put(make_node("n1"), pending("a"))
    driver.put(with_fields(pending("a"), "metadata", uid="another"))
    driver.cycle()
    (bind,) = driver.all_of(Bind)
    assert bind.uid == "another"


def test_the_late_deletion_of_an_earlier_pod_leaves_its_successor_alone():
    driver = Driver()
    first = with_fields(pending("a", cpu="1"), "metadata", uid="first")
    driver.put(first)
    driver.put(with_fields(pending("a", cpu="1"), "metadata", uid="second"))
    driver.remove(first)
    assert seen(driver, "default/a").metadata.uid == "second"
    assert driver.place_of("default/a") == "active"


def test_old_news_of_a_bound_pod_do_not_take_its_node_away():
    driver = Driver()
    driver.put(make_node("n1", cpu="1"), pending("a", cpu="1"))
    before = seen(driver, "default/a")
    driver.cycle()
    assert driver.node_of("default/a") == "n1"
    driver.deliver(ObjectPut(before))
    assert driver.node_of("default/a") == "n1"
    assert "default/a" in driver.machine.cluster.pods
    assert not driver.machine.has_next


def test_a_pod_that_ends_is_gone():
    driver = Driver()
    driver.put(make_node("n1"), pending("a", cpu="1"))
    driver.cycle()
    driver.put(with_fields(seen(driver, "default/a"), "status", phase="Succeeded"))
    assert not driver.machine.cluster.pods
    assert driver.machine.pod("default/a") is None


def test_a_pod_that_is_being_deleted_when_its_turn_comes_is_skipped():
    driver = Driver()
    driver.put(make_node("n1"), pending("a"))
    going = with_fields(
        seen(driver, "default/a"), "metadata", deletion_timestamp="2030-01-01T00:00:00Z"
    )
    driver.put(going)
    driver.cycle()
    assert driver.notes == ["FailedScheduling: skip schedule deleting pod: default/a"]
    assert not driver.all_of(Bind)


# -------------------------------------------------------------------- waiting


def test_no_plugin_holds_a_pod_for_more_than_a_quarter_of_an_hour():
    driver = Driver(Gate)
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    (wake,) = driver.all_of(WakeAt)
    assert wake.due_ns - driver.now_ns == 900 * SECOND_NS
    driver.now_ns = wake.due_ns
    driver.deliver(TimerFired())
    assert driver.notes == [
        "FailedScheduling: 0/1 nodes are available: 1 rejected due to timeout after waiting"
        " 15m0s at plugin Gate."
    ]


def test_a_pod_that_waits_tells_where_it_is_going_and_takes_it_back():
    driver = Driver(Gate)
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    assert seen(driver, "default/a").status.nominated_node_name == "n1"
    driver.now_ns += 900 * SECOND_NS
    driver.deliver(TimerFired())
    assert seen(driver, "default/a").status.nominated_node_name == ""


def test_a_pod_that_need_not_wait_tells_nothing():
    driver = Driver()
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    assert driver.all_of(PatchPodStatus) == []


def test_a_waiting_pod_that_is_deleted_frees_its_node():
    driver = Driver(Gate)
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    driver.remove(seen(driver, "default/a"))
    assert driver.machine.assumed() == {}
    assert not driver.machine.cluster.pods
    driver.deliver(PodAllowed("default/a", "Gate"))
    assert not driver.all_of(Bind)


# -------------------------------------------------------------------- preemption


@pytest.mark.parametrize(
    ("error", "place"),
    [
        pytest.param(CallError("denied", "Forbidden"), "active", id="tried again at once"),
        pytest.param(CallError("gone", "NotFound"), "unschedulable", id="gone is good"),
    ],
)
def test_a_victim_that_cannot_be_deleted(error: CallError, place: str) -> None:
    driver = Driver()
    driver.put(make_node("n1", cpu="1"), pending("low", cpu="1"))
    driver.cycle()
    driver.errors["DeletePod"] = error
    driver.put(pending("high", cpu="1", priority=10))
    driver.cycle()
    assert driver.machine.preempting() == ()
    assert driver.place_of("default/high") == place
    assert not any(note.startswith("Preempted") for note in driver.notes)


def test_victims_but_the_last_go_together_and_the_last_one_after_them():
    driver = Driver()
    driver.put(make_node("n1", cpu="3"), *(pending(f"low{i}", cpu="1") for i in range(3)))
    for _ in range(3):
        driver.cycle()
    driver.holds.add("DeletePod")
    driver.put(pending("high", cpu="3", priority=10))
    driver.cycle()
    assert [delete.pod for delete in driver.all_of(DeletePod)] == ["default/low0", "default/low1"]
    assert driver.machine.preempting() == ("default/high",)
    for delete in list(driver.held):
        driver.answer(delete)
    assert driver.all_of(DeletePod)[-1].pod == "default/low2"
    driver.answer(driver.held[-1])
    assert driver.machine.preempting() == ()


# -------------------------------------------------------------------- extenders


EXTENDED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "extenders": [
        {"urlPrefix": "http://e.example", "filterVerb": "filter", "bindVerb": "bind", "weight": 1}
    ],
}


def replied(value: object) -> ExtenderReply:
    return ExtenderReply(status=200, body=msgspec.json.encode(value))


def suspended_driver() -> tuple[Driver, CallExtender]:
    driver = Driver(config=EXTENDED)
    driver.put(make_node("n1"), make_node("n2"), pending("a", cpu="1"), pending("b", cpu="1"))
    driver.cycle()
    (call,) = driver.all_of(CallExtender)
    return driver, call


def nodes_of(call: CallExtender) -> list[dict[str, object]]:
    items: list[dict[str, object]] = msgspec.json.decode(call.request.body)["Nodes"]["items"]
    return items


def test_a_pod_whose_cycle_is_suspended_has_been_attempted():
    driver, _ = suspended_driver()
    pods = [driver.machine.pod(f"default/{name}") for name in "ab"]
    assert [driver.machine.attempts_of(pod) for pod in pods if pod is not None] == [1, 0]
    assert driver.machine.is_suspended
    assert not driver.machine.has_next, "although another pod waits"


def test_a_pod_counts_on_a_node_that_only_an_extender_knows_when_it_comes():
    driver, call = suspended_driver()
    ghost = nodes_of(call)[0] | {"metadata": {"name": "ghost"}}
    driver.deliver(ExtenderReplied(call.call, replied({"Nodes": {"items": [ghost]}})))
    assert not driver.machine.is_suspended
    cluster = driver.machine.cluster
    assert [*cluster.pods_on_missing_nodes()] == ["ghost"]
    assert cluster.pods == {}
    assert cluster.nodes.requested[:, 0].tolist() == [0, 0]
    driver.put(make_node("ghost", cpu="4"))
    assert cluster.nodes.requested[:, 0].tolist() == [0, 0, 1_000]


def test_a_cycle_goes_on_with_what_the_extender_answers():
    driver, call = suspended_driver()
    second = nodes_of(call)[1]
    driver.deliver(ExtenderReplied(call.call, replied({"Nodes": {"items": [second]}})))
    bind = driver.all_of(CallExtender)[1]
    assert bind.request.verb == "bind"
    assert msgspec.json.decode(bind.request.body)["Node"] == "n2"
    driver.deliver(ExtenderReplied(bind.call, replied({})))
    assert driver.notes == ["Scheduled: Successfully assigned default/a to n2"]
    assert not driver.all_of(Bind)


@pytest.mark.parametrize(
    ("ignorable", "error", "bound_by"),
    [
        pytest.param(False, "", "the extender", id="it binds"),
        pytest.param(False, "no", "", id="it fails"),
        pytest.param(True, "", "the extender", id="one to ignore binds"),
        pytest.param(True, "no", "a plugin", id="one to ignore fails"),
    ],
)
def test_a_pod_is_bound_by_a_plugin_where_no_extender_does(ignorable, error, bound_by):
    extender = {"urlPrefix": "http://e.example", "bindVerb": "bind", "ignorable": ignorable}
    driver = Driver(config=EXTENDED | {"extenders": [extender | {"weight": 1}]})
    driver.put(make_node("n1"), pending("a", cpu="1"))
    driver.cycle()
    (bind,) = driver.all_of(CallExtender)
    can_snapshot = [driver.machine.can_snapshot]
    driver.holds.add("Bind")
    driver.deliver(ExtenderReplied(bind.call, replied({"Error": error})))
    can_snapshot.append(driver.machine.can_snapshot)
    assert can_snapshot == [False, True]
    driver.holds.clear()
    for action in driver.held:
        driver.answer(action)
    assert len(driver.all_of(Bind)) == (bound_by == "a plugin")
    if bound_by:
        assert driver.notes == ["Scheduled: Successfully assigned default/a to n1"]
    else:
        assert driver.condition("default/a")[0] == "SchedulerError"
        assert driver.place_of("default/a") == "error_backoff"


def test_nothing_else_happens_while_a_cycle_waits():
    driver, call = suspended_driver()
    assert not driver.machine.can_snapshot
    assert not driver.machine.has_next
    driver.deliver(CycleDue())
    driver.remove(make_node("n1"))
    assert driver.machine.cluster.nodes.n_alive == 2
    answer = {"Nodes": {"items": nodes_of(call)}}
    driver.deliver(ExtenderReplied(call.call, replied(answer)))
    # Now the other cycle has begun, with one node, and waits in its turn.
    filters = [c for c in driver.all_of(CallExtender) if c.request.verb == "filter"]
    assert len(filters) == 2
    driver.deliver(ExtenderReplied(filters[1].call, replied(answer)))
    assert driver.machine.cluster.nodes.n_alive == 1


def test_an_extender_that_is_down_is_an_error_and_the_pod_is_retried():
    driver, call = suspended_driver()
    driver.deliver(ExtenderReplied(call.call, ExtenderReply(status=0, error="connection refused")))
    reason, message = driver.condition("default/a")
    assert reason == "SchedulerError"
    assert "connection refused" in message
    assert driver.place_of("default/a") == "error_backoff"
    driver.now_ns += 3 * SECOND_NS
    driver.deliver(FlushBackoff())
    assert driver.place_of("default/a") == "active"


def test_a_pod_whose_node_has_gone_counts_nowhere_after_its_binding_failed():
    driver = Driver()
    node = make_node("n1")
    driver.put(node, pending("a", cpu="1"))
    driver.holds = {"Bind"}
    driver.cycle()
    (bind,) = driver.all_of(Bind)
    driver.remove(node)
    assert list(driver.machine.cluster.pods_on_missing_nodes()) == ["n1"]
    driver.deliver(CallDone(bind.call, CallError("no node")))
    assert driver.machine.cluster.pods_on_missing_nodes() == {}


class Admits(Plugin):
    """Admits every pod with a status of its own."""

    name = "Admits"

    def pre_enqueue(self, pod: Pod) -> Status:
        return Status()


def test_a_plugin_may_admit_pods_with_any_success():
    assert Status() is not Status.OK
    driver = Driver(Admits)
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    assert driver.node_of("default/a") == "n1"


# -------------------------------------------------------------------- invariants


def test_a_pod_that_is_lost_is_told_with_its_story():
    driver = Driver()
    driver.put(pending("a"))
    driver.machine.queue.delete(seen(driver, "default/a"), driver.now_ns)
    with pytest.raises(AssertionError, match=r"default/a is in 0 places.*'active'"):
        driver.machine.validate()


def test_another_pod_of_its_name_in_the_queue_does_not_stand_for_a_pod():
    driver = Driver()
    driver.put(pending("a"))
    pod = seen(driver, "default/a")
    driver.machine.queue.delete(pod, driver.now_ns)
    driver.machine.queue.add(with_fields(pod, "metadata", uid="another"), driver.now_ns)
    with pytest.raises(AssertionError, match="default/a is in 0 places"):
        driver.machine.validate()


def test_a_pod_that_is_queued_again_while_it_is_assumed_is_reported_with_its_story():
    driver = Driver()
    driver.put(make_node("n1"), pending("a"))
    driver.holds = {"Bind"}
    driver.cycle()
    driver.machine.queue.add(seen(driver, "default/a"), driver.now_ns)
    with pytest.raises(AssertionError, match="default/a is in 2 places"):
        driver.machine.validate()


def test_a_pod_made_anew_on_another_node_while_the_earlier_one_is_assumed_is_no_error():
    driver = Driver()
    driver.put(make_node("n1"), pending("a", cpu="1"))
    driver.holds = {"Bind"}
    driver.cycle()
    driver.put(make_node("n2"))
    other = with_fields(make_pod("a", cpu="2", node="n2"), "metadata", uid="another")
    driver.put(other)
    driver.machine.validate()
    placed = driver.machine.cluster.pods["default/a"]
    assert placed.pod.metadata.uid == "another"

"""What Events and conditions say about the version of a pod that the scheduler knew.

Upstream: pkg/scheduler/schedule_one.go, handleSchedulingFailure;
pkg/scheduler/framework/preemption/executor.go
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import (
    Condition,
    Duration,
    Pod,
    timestamp_text,
    with_condition,
    with_fields,
    with_node_name,
    with_nominated_node_name as with_nomination,
)
from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.machine import EmitEvent, Failure, PatchPodStatus, PodRejected
from podwright.scheduler.machine.cycles.failure import refused
from podwright.scheduler.machine.reporting import patch_status
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, pending
from podwright.testing import make_node


class Gate(Plugin):
    """Hold every pod."""

    name = "Gate"

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        return Status.wait("an hour"), "1h"


def generation(number: int, name: str, **fields: Any) -> Pod:
    return with_fields(pending(name, **fields), "metadata", generation=number)


def test_conditions_have_the_generation_of_the_pod_as_it_is_known():
    driver = Driver()
    victim = with_node_name(generation(2, "victim", cpu="1", priority=0), "n1")
    driver.put(make_node("n1", cpu="1"), victim, generation(3, "big", cpu="1", priority=1))
    driver.cycle()
    found = [(each.pod, each.condition) for each in driver.all_of(PatchPodStatus)]
    assert [(pod, c.type, c.observed_generation) for pod, c in found if c is not None] == [
        ("default/big", "PodScheduled", 3),
        ("default/victim", "DisruptionTarget", 2),
    ]


def test_a_new_condition_follows_those_that_the_pod_has():
    driver = Driver()
    bound = with_node_name(pending("victim", cpu="1", priority=0), "n1")
    scheduled = Condition(type="PodScheduled", status="True")
    driver.put(make_node("n1", cpu="1"), with_condition(bound, scheduled))
    driver.put(pending("big", cpu="1", priority=1))
    driver.cycle()
    patches = driver.all_of(PatchPodStatus)
    assert {each.pod: each.condition_types for each in patches} == {
        "default/big": ("PodScheduled",),
        "default/victim": ("PodScheduled", "DisruptionTarget"),
    }


def test_another_message_of_a_condition_is_written_with_its_earlier_transition_time():
    # Upstream: pkg/api/v1/pod/util.go, UpdatePodCondition
    driver = Driver()
    driver.put(pending("a", cpu="2"))
    driver.cycle()
    started_ns = driver.now_ns
    pod = driver.machine.pod("default/a")
    assert pod is not None
    driver.now_ns += SECOND_NS
    driver.put(make_node("n1", cpu="1"))
    driver.machine.queue.activate([pod], driver.now_ns)
    driver.cycle()
    first, second = driver.all_of(PatchPodStatus)
    assert first.condition is not None
    assert second.condition is not None
    assert first.condition.message != second.condition.message
    assert first.condition.last_transition_time == timestamp_text(started_ns)
    assert second.condition.last_transition_time == first.condition.last_transition_time
    assert second.condition_types == ("PodScheduled",)


def test_a_condition_that_is_the_same_is_not_written_for_a_new_generation():
    driver = Driver()
    driver.put(generation(1, "a", cpu="1"))
    driver.cycle()
    pod = driver.machine.pod("default/a")
    assert pod is not None
    driver.put(with_fields(pod, "metadata", generation=2, labels={"some": "label"}))
    driver.machine.queue.activate([pod], driver.now_ns)
    driver.cycle()
    assert len(driver.all_of(EmitEvent)) == 2
    assert len(driver.all_of(PatchPodStatus)) == 1


def test_events_have_the_version_of_the_pod():
    driver = Driver()
    driver.put(make_node("n1", cpu="1"), pending("a", cpu="1"), pending("big", cpu="1"))
    driver.cycle()
    driver.cycle()
    versions = {each.reason: each.resource_version for each in driver.all_of(EmitEvent)}
    assert versions == {"Scheduled": "2", "FailedScheduling": "3"}


def test_a_failure_is_reported_for_the_newest_version_and_not_for_another_pod_of_the_name():
    driver = Driver(Gate)
    driver.put(make_node("n1"), pending("a"), pending("b"))
    driver.cycle()
    driver.cycle()
    for name, change in (("a", {"labels": {"some": "label"}}), ("b", {"uid": "another"})):
        driver.put(with_fields(pending(name), "metadata", **change))
    for name in ("a", "b"):
        driver.deliver(PodRejected(pending(name).uid, "Gate", "no"))
    failed = [each for each in driver.all_of(EmitEvent) if each.reason == "FailedScheduling"]
    # The versions before are those of the nodes and pods, and of two nominations.
    assert [(each.pod, each.resource_version) for each in failed] == [("default/a", "6")]
    conditions = [each.pod for each in driver.all_of(PatchPodStatus) if each.condition]
    assert conditions == ["default/a"]


def test_a_pod_that_is_held_back_before_the_queue_has_no_event():
    """Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, runPreEnqueuePlugin."""
    driver = Driver()
    driver.put(pending("a", spec={"schedulingGates": [{"name": "g"}]}))
    assert driver.place_of("default/a") == "gated"
    assert driver.notes == []


def test_who_watches_failures_receives_each_with_its_pod_and_time():
    driver = Driver(Gate)
    seen: list[tuple[str, bool, str, int]] = []

    def watch(pod: Pod, failure: Failure, now_ns: int) -> None:
        seen.append((pod.key, failure.is_rejected, failure.message, now_ns))

    driver.machine.watch_failures(watch)
    driver.put(make_node("n1", cpu="1"), pending("big", cpu="2"), pending("small", cpu="1"))
    driver.cycle()
    driver.cycle()
    driver.now_ns += 1
    driver.deliver(PodRejected("default/small", "Gate", "no"))
    assert [(key, is_rejected, at_ns) for key, is_rejected, _, at_ns in seen] == [
        ("default/big", True, driver.now_ns - 1),
        ("default/small", True, driver.now_ns),
    ]
    assert seen[0][2].startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_the_events_of_a_preemption_are_complete():
    # Upstream: pkg/scheduler/schedule_one.go, and pkg/scheduler/framework/preemption/executor.go
    driver = Driver()
    victim = with_node_name(pending("victim", cpu="1", priority=0), "n1")
    driver.put(make_node("n1", cpu="1"), victim, pending("big", cpu="1", priority=1))
    for _ in range(2):
        driver.cycle()
    big, small = "default/big", "default/victim"
    profile = "default-scheduler"
    events = {each.reason: each for each in driver.all_of(EmitEvent)}
    preempted, failed = events["Preempted"], events["FailedScheduling"]
    scheduled = events["Scheduled"]
    assert preempted == EmitEvent(
        small,
        victim.metadata.uid,
        "Normal",
        "Preempted",
        "Preempting",
        f"Preempted by pod {pending('big').metadata.uid} on node n1",
        profile,
        big,
        preempted.resource_version,
    )
    assert failed.note.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    uid = pending("big").metadata.uid
    assert failed == EmitEvent(
        big,
        uid,
        "Warning",
        "FailedScheduling",
        "Scheduling",
        failed.note,
        profile,
        "",
        failed.resource_version,
    )
    note = "Successfully assigned default/big to n1"
    assert scheduled == EmitEvent(
        big,
        uid,
        "Normal",
        "Scheduled",
        "Binding",
        note,
        profile,
        "",
        scheduled.resource_version,
    )


def test_a_refusal_at_reserve_is_a_fit_error_about_one_node():
    # Upstream: pkg/scheduler/schedule_one.go, assumeAndReserve
    found = refused(Status.unschedulable("no disk", "no port").by("P"))
    assert found.message == "0/1 nodes are available: 1 no disk, 1 no port."
    assert (found.is_rejected, found.reason) == (True, "no disk, no port")
    assert (found.rejected_by, found.pending) == (frozenset({"P"}), frozenset())
    pending_one = refused(Status.pending("later").by("P"))
    assert (pending_one.rejected_by, pending_one.pending) == (frozenset(), frozenset({"P"}))


def test_each_change_of_a_pod_that_is_handled_is_counted():
    driver = Driver()
    for label in ("a", "b", "b"):
        driver.put(pending("p", labels={"app": label}))
    driver.put(make_node("n1"))
    driver.cycle()
    handled = driver.machine._state.metrics.capture().handled
    assert handled == {
        "AssignedPodAdd": 1,
        "NodeAdd": 1,
        "UnschedulablePodAdd": 1,
        "UnschedulablePodUpdate": 2,
    }


EARLIER = "2020-01-01T00:00:00Z"
REFUSED = Condition(
    type="PodScheduled",
    status="False",
    reason="Unschedulable",
    message="no room",
    last_transition_time=EARLIER,
)


def other(**fields: Any) -> Condition:
    return msgspec.structs.replace(REFUSED, **fields)


@pytest.mark.parametrize(
    ("present", "written"),
    [
        pytest.param([], "now", id="the first"),
        pytest.param([REFUSED], None, id="the same"),
        pytest.param([other(message="?")], EARLIER, id="another message"),
        pytest.param([other(reason="?")], EARLIER, id="another reason"),
        pytest.param([other(status="True")], "now", id="another status is a transition"),
        pytest.param([other(last_transition_time=None)], None, id="its time says nothing"),
        pytest.param([other(type="Ready")], "now", id="the same of another type"),
        pytest.param([other(type="Ready"), REFUSED], None, id="the same behind another type"),
        pytest.param(
            [other(type="Ready", last_transition_time=None), other(message="?")],
            EARLIER,
            id="another message behind another type",
        ),
    ],
)
def test_a_condition_is_written_where_the_pod_has_another(
    present: list[Condition], written: str | None
) -> None:
    # Upstream: pkg/api/v1/pod/util.go, UpdatePodCondition
    pod = generation(4, "p")
    for condition in present:
        pod = with_condition(pod, condition)
    state = Driver().machine._state
    state.now_ns = 1_700_000_000 * SECOND_NS
    new = other(last_transition_time=None)
    call = patch_status(state, pod, condition=new, nominated_node=pod.status.nominated_node_name)
    if written is None:
        assert (call, state.actions) == (None, [])
        return
    (patch,) = state.actions
    assert isinstance(patch, PatchPodStatus)
    at = timestamp_text(state.now_ns) if written == "now" else written
    expected = other(last_transition_time=at, observed_generation=4)
    assert (patch.call, patch.condition, patch.nominated_node) == (call, expected, None)
    types = [each.type for each in present]
    assert patch.condition_types == tuple(dict.fromkeys([*types, "PodScheduled"]))


@pytest.mark.parametrize(
    ("present", "nominated", "written"),
    [
        pytest.param("", "n1", True, id="nominated"),
        pytest.param("n1", "", True, id="cleared"),
        pytest.param("n1", "n2", True, id="to another node"),
        pytest.param("n1", "n1", False, id="already"),
        pytest.param("", "", False, id="nothing to clear"),
        pytest.param("n1", None, False, id="left as it is"),
    ],
)
def test_a_nomination_is_written_where_the_pod_has_another(
    present: str, nominated: str | None, written: bool
) -> None:
    state = Driver().machine._state
    pod = with_nomination(pending("p"), present)
    call = patch_status(state, pod, nominated_node=nominated)
    assert (call is not None, len(state.actions)) == (written, int(written))
    for patch in state.actions:
        assert isinstance(patch, PatchPodStatus)
        assert (patch.call, patch.nominated_node, patch.condition) == (call, nominated, None)
        assert (patch.pod, patch.uid, patch.condition_types) == (
            pod.key, pod.metadata.uid, (),
        )  # fmt: skip


@pytest.mark.parametrize(("number", "written"), [(0, None), (1, 1), (7, 7)])
def test_a_pod_without_a_generation_has_conditions_without_one(
    number: int, written: int | None
) -> None:
    state = Driver().machine._state
    patch_status(state, generation(number, "p"), condition=other())
    (patch,) = state.actions
    assert isinstance(patch, PatchPodStatus)
    assert patch.condition is not None
    assert patch.condition.observed_generation == written

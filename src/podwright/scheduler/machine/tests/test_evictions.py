"""The stages of an asynchronous preemption."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import (
    Pod,
    with_fields,
    with_node_name,
    with_nominated_node_name as with_nomination,
)
from podwright.scheduler.framework.binding import CallError
from podwright.scheduler.machine import CallDone, DeletePod, PatchPodStatus
from podwright.scheduler.machine.tests.driving import Driver, pending
from podwright.testing import make_node

BROKEN = CallError("denied", "Forbidden")


def make_victim(number: int) -> Pod:
    """A bound pod of low priority."""
    return with_node_name(pending(f"v{number:02}", cpu="1", priority=0), "n1")


def preempting(victim_count: int, *nominated: Pod) -> Driver:
    """A driver in which `default/big` has just preempted all pods of a full node.

    No call of the eviction is answered yet.
    """
    driver = Driver()
    driver.put(make_node("n1", cpu=str(victim_count)))
    driver.put(*(make_victim(number) for number in range(victim_count)), *nominated)
    driver.holds = {"DeletePod"}
    driver.put(pending("big", cpu=str(victim_count), priority=10))
    while driver.machine.preempting() == ():
        assert driver.machine.has_next
        driver.cycle()
    return driver


def deleted(driver: Driver) -> list[str]:
    return [delete.pod.removeprefix("default/") for delete in driver.all_of(DeletePod)]


def place_after_activation(driver: Driver) -> str:
    """Run PreEnqueue for `default/big`, and return its place."""
    pod = driver.machine.pod("default/big")
    assert pod is not None
    driver.machine.queue.activate([pod], driver.now_ns)
    return driver.place_of("default/big")


def answer_next(driver: Driver, error: CallError | None = None) -> None:
    action = driver.held.pop(0)
    assert isinstance(action, DeletePod)
    if error is not None:
        driver.errors["DeletePod"] = error
    driver.answer(action)


def disrupted(driver: Driver) -> list[str]:
    return [
        patch.pod.removeprefix("default/")
        for patch in driver.all_of(PatchPodStatus)
        if patch.condition is not None and patch.condition.type == "DisruptionTarget"
    ]


def cleared(driver: Driver) -> list[str]:
    return [
        patch.pod.removeprefix("default/")
        for patch in driver.all_of(PatchPodStatus)
        if patch.nominated_node == ""
    ]


def test_sixteen_victims_are_deleted_at_a_time_and_the_last_one_alone() -> None:
    driver = preempting(19)
    assert deleted(driver) == [f"v{number:02}" for number in range(16)]
    answer_next(driver)
    assert deleted(driver)[16:] == ["v16"]
    answer_next(driver)
    assert deleted(driver)[17:] == ["v17"]
    while len(driver.held) > 1:
        answer_next(driver)
    assert len(deleted(driver)) == 18
    answer_next(driver)
    assert deleted(driver)[18:] == ["v18"]
    answer_next(driver)
    assert driver.machine.preempting() == ()
    assert driver.place_of("default/big") == "backoff"


def test_after_a_deletion_that_fails_the_other_victims_stay_and_the_preemptor_is_activated() -> (
    None
):
    driver = preempting(19)
    answer_next(driver, BROKEN)
    while driver.held:
        assert driver.machine.preempting() == ("default/big",)
        answer_next(driver)
    assert deleted(driver) == [f"v{number:02}" for number in range(16)]
    assert disrupted(driver) == deleted(driver)
    assert driver.machine.preempting() == ()
    assert driver.place_of("default/big") == "active"


def test_a_victim_whose_condition_is_written_after_a_failure_is_not_deleted() -> None:
    driver = Driver()
    driver.put(make_node("n1", cpu="3"), *(make_victim(number) for number in range(3)))
    driver.holds = {"PatchPodStatus"}
    driver.put(pending("big", cpu="3", priority=10))
    driver.cycle()
    first, second = (
        patch
        for patch in driver.held
        if isinstance(patch, PatchPodStatus) and patch.condition and patch.pod != "default/big"
    )
    driver.deliver(CallDone(first.call, BROKEN))
    assert driver.machine.preempting() == ("default/big",)
    driver.deliver(CallDone(second.call))
    assert deleted(driver) == []
    assert driver.machine.preempting() == ()


def test_the_preemptor_is_gated_until_the_deletion_of_the_last_victim_is_observed() -> None:
    driver = preempting(2)
    assert place_after_activation(driver) == "gated"
    answer_next(driver)
    assert deleted(driver) == ["v00", "v01"]
    assert place_after_activation(driver) == "gated"
    driver.remove(make_victim(1))
    assert driver.machine.preempting() == ("default/big",)
    assert driver.place_of("default/big") == "backoff"


def test_a_last_victim_that_terminates_ends_the_gate() -> None:
    driver = preempting(1)
    assert place_after_activation(driver) == "gated"
    terminating = with_fields(make_victim(0), "metadata", deletion_timestamp="2023-11-14T22:13:20Z")
    driver.put(terminating)
    assert driver.machine.preempting() == ("default/big",)
    assert place_after_activation(driver) == "active"


@pytest.mark.parametrize("error", [None, BROKEN], ids=["cleared", "not cleared"])
def test_nominations_of_lower_priority_are_cleared_before_victims_are_deleted(
    error: CallError | None,
) -> None:
    nominated = [
        with_nomination(pending(name, priority=priority), "n1")
        for name, priority in (("lower", 9), ("equal", 10), ("lowest", 8))
    ]
    driver = Driver()
    driver.put(make_node("n1", cpu="1"), make_node("n2", cpu="1"), make_victim(0))
    driver.put(with_node_name(pending("other", cpu="1", priority=20), "n2"))
    driver.put(pending("big", cpu="1", priority=10))
    driver.holds = {"PatchPodStatus", "DeletePod"}
    queued = driver.machine.queue
    for pod in nominated:
        driver.put(pod)
        queued.nominate(pod)
    driver.cycle()
    assert driver.machine.preempting() == ("default/big",)
    assert cleared(driver) == ["lower"]
    assert deleted(driver) == []
    for name in ("lower", "lowest"):
        patch = driver.all_of(PatchPodStatus)[-1]
        assert patch.pod == f"default/{name}"
        driver.deliver(CallDone(patch.call, error))
    assert cleared(driver) == ["lower", "lowest"]
    condition = driver.all_of(PatchPodStatus)[-1]
    assert condition.pod == "default/v00"
    driver.deliver(CallDone(condition.call))
    (delete,) = driver.all_of(DeletePod)
    driver.deliver(CallDone(delete.call))
    assert driver.machine.preempting() == ()
    assert driver.place_of("default/big") == ("unschedulable" if error is None else "active")


def test_a_nomination_that_no_status_has_needs_no_patch() -> None:
    driver = Driver()
    driver.put(make_node("n1", cpu="1"), make_victim(0), pending("big", cpu="1", priority=10))
    pods = [pending("planned", priority=9), with_nomination(pending("written", priority=8), "n1")]
    driver.put(*pods)
    for pod in pods:
        driver.machine.queue.nominate(pod, "n1")
    driver.holds = {"DeletePod"}
    driver.cycle()
    assert cleared(driver) == ["written"]
    assert deleted(driver) == ["v00"]
    assert driver.machine.preempting() == ("default/big",)
    answer_next(driver)
    assert driver.machine.preempting() == ()


def test_the_first_of_several_errors_is_the_reason_of_the_cycle_that_waits() -> None:
    driver = Driver(gates="SchedulerAsyncPreemption=false")
    driver.put(make_node("n1", cpu="2"), make_victim(0), make_victim(1))
    driver.holds = {"DeletePod"}
    driver.put(pending("big", cpu="2", priority=10))
    driver.cycle()
    assert deleted(driver) == ["v00", "v01"]
    for message in ("first", "second"):
        answer_next(driver, CallError(message, "Forbidden"))
    (note,) = (note for note in driver.notes if note.startswith("FailedScheduling"))
    assert note.endswith("preemption: first")

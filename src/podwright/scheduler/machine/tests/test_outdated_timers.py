"""Timers that fire after what they were set for is over, or before it may continue."""

from __future__ import annotations

from typing import ClassVar

from podwright.apimachinery.objects import (
    Duration,
    ObjectMeta,
    PersistentVolumeClaim,
    with_node_name,
)
from podwright.scheduler.framework import ClaimUpdate, Cycle, Pending, Plugin, Progress, Status
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    FlushBackoff,
    PodRejected,
    TimerFired,
    UpdateClaim,
    WakeAt,
)
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, pending
from podwright.testing import make_node

CLAIM = PersistentVolumeClaim(metadata=ObjectMeta(namespace="default", name="data"))


class Claims(Plugin):
    """Update a claim before binding, and continue ten seconds later or after the answer."""

    name = "Claims"
    continued: ClassVar[list[int]] = []

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        return Pending(calls=(ClaimUpdate(CLAIM),), delay_ns=10 * SECOND_NS)

    def continue_pre_bind(
        self, cycle: Cycle, node_name: str, progress: Progress
    ) -> Status | Pending:
        self.continued.append(len(progress.answers))
        return Status.OK


class Short(Claims):
    """Do the same, five seconds later."""

    name = "Short"

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        return Pending(calls=(ClaimUpdate(CLAIM),), delay_ns=5 * SECOND_NS)


class Slow(Plugin):
    """Wait a minute before binding."""

    name = "Slow"

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        return Pending(delay_ns=60 * SECOND_NS)

    def continue_pre_bind(
        self, cycle: Cycle, node_name: str, progress: Progress
    ) -> Status | Pending:
        return Status.OK


class Gate(Plugin):
    """Let every pod wait a minute at Permit."""

    name = "Gate"

    def permit(self, cycle: Cycle, node_name: str) -> Status | tuple[Status, Duration]:
        return Status.wait("a minute"), "1m"


def wait(driver: Driver, seconds: int) -> None:
    driver.now_ns += seconds * SECOND_NS
    driver.deliver(TimerFired())


def has_timers(driver: Driver) -> bool:
    return driver.machine.has_timers


def started(*plugins: type[Plugin], assumed_pod_expiry_ns: int = 0) -> Driver:
    """Start the binding cycle of a pod; calls about pods are not answered."""
    Claims.continued.clear()
    driver = Driver(*plugins, assumed_pod_expiry_ns=assumed_pod_expiry_ns)
    driver.holds = {"Bind"}
    driver.put(make_node("n1", cpu="1"), pending("a", cpu="1"))
    driver.cycle()
    return driver


def answer_claim(driver: Driver) -> None:
    (call,) = driver.all_of(UpdateClaim)
    driver.deliver(CallDone(call.call))


def test_the_delay_of_a_plugin_does_not_end_its_wait_for_calls() -> None:
    driver = started(Claims)
    wait(driver, 10)
    assert Claims.continued == []
    answer_claim(driver)
    assert Claims.continued == [1]
    assert len(driver.all_of(Bind)) == 1


def test_the_timer_of_an_earlier_plugin_does_not_resume_a_later_one() -> None:
    driver = started(Claims, Slow)
    answer_claim(driver)
    wait(driver, 10)
    assert driver.all_of(Bind) == []
    wait(driver, 50)
    assert len(driver.all_of(Bind)) == 1


def test_the_timer_of_a_plugin_does_not_expire_the_bound_pod() -> None:
    driver = started(Claims, assumed_pod_expiry_ns=30 * SECOND_NS)
    answer_claim(driver)
    (bind,) = driver.all_of(Bind)
    driver.deliver(CallDone(bind.call))
    wait(driver, 10)
    assert driver.machine.expired() == ()
    assert has_timers(driver)
    wait(driver, 20)
    assert driver.machine.expired() == ("default/a",)
    assert not has_timers(driver)


def test_a_delay_that_is_over_is_no_timer_of_a_plugin_that_waits_later() -> None:
    driver = started(Claims)
    assert has_timers(driver)
    answer_claim(driver)
    assert not has_timers(driver)


def test_the_timer_of_an_earlier_plugin_is_none_of_a_later_one_whose_delay_is_over() -> None:
    driver = started(Claims, Short)
    answer_claim(driver)
    wait(driver, 5)
    # The later plugin waits for its call only, and the earlier one's timer is due in 5 seconds.
    assert driver.all_of(Bind) == []
    assert not has_timers(driver)


def test_only_the_last_wait_at_permit_has_a_timer() -> None:
    driver = started(Gate)
    assert has_timers(driver)
    driver.deliver(PodRejected("default/a", "Gate", "not yet"))
    assert not has_timers(driver)
    driver.machine.queue.activate([pending("a", cpu="1")], driver.now_ns)
    driver.cycle()
    wait(driver, 59)
    assert has_timers(driver)
    wait(driver, 1)
    assert not has_timers(driver)


def test_a_pod_that_is_confirmed_before_the_answer_has_no_expiry() -> None:
    driver = started(assumed_pod_expiry_ns=30 * SECOND_NS)
    driver.put(with_node_name(pending("a", cpu="1"), "n1"))
    (bind,) = driver.all_of(Bind)
    driver.deliver(CallDone(bind.call))
    assert driver.all_of(WakeAt) == []


def test_the_timeout_of_an_earlier_wait_at_permit_does_not_end_a_later_one() -> None:
    driver = started(Gate)
    wait(driver, 10)
    driver.deliver(PodRejected("default/a", "Gate", "not yet"))
    driver.now_ns += 10 * SECOND_NS
    driver.machine.queue.activate([pending("a", cpu="1")], driver.now_ns)
    driver.deliver(FlushBackoff())
    driver.cycle()
    assert list(driver.machine.waiting()) == ["default/a"]
    wait(driver, 40)
    assert list(driver.machine.waiting()) == ["default/a"]
    wait(driver, 20)
    assert driver.machine.waiting() == {}

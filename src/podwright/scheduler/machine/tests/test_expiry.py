"""Assumed pods whose update does not come."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import with_fields, with_node_name
from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.framework.binding import Pending
from podwright.scheduler.machine import (
    Bind,
    CallDone,
    CycleDue,
    EmitEvent,
    FlushBackoff,
    ObjectDeleted,
    ObjectPut,
    TimerFired,
    Value,
    WakeAt,
)
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, pending
from podwright.testing import make_node

EXPIRY_NS = 30 * SECOND_NS


def bound_but_not_seen(*plugins: type[Plugin], expiry_ns: int = EXPIRY_NS) -> Driver:
    """Bind a pod that fills the only node, and deliver no later update of it."""
    driver = Driver(*plugins, assumed_pod_expiry_ns=expiry_ns)
    driver.holds = {"Bind"}
    driver.put(make_node("n1", cpu="1"), pending("a", cpu="1"))
    driver.cycle()
    if not driver.held:
        driver.now_ns += 5 * SECOND_NS
        driver.deliver(TimerFired())
    (bind,) = driver.held
    assert isinstance(bind, Bind)
    driver.deliver(CallDone(bind.call))
    assert driver.notes == ["Scheduled: Successfully assigned default/a to n1"]
    assert driver.machine.assumed() == {"default/a": "n1"}
    return driver


def wait(driver: Driver, duration_ns: int) -> None:
    driver.now_ns += duration_ns
    driver.deliver(TimerFired())


def is_expired(driver: Driver) -> bool:
    expired = driver.machine.expired()
    assert (not expired) == ("default/a" in driver.machine.cluster.pods)
    return expired == ("default/a",)


def test_without_an_expiry_a_pod_is_assumed_for_ever() -> None:
    driver = bound_but_not_seen(expiry_ns=0)
    wait(driver, 365 * 86_400 * SECOND_NS)
    assert driver.machine.assumed() == {"default/a": "n1"}
    assert not driver.all_of(WakeAt)


def test_a_pod_that_is_not_seen_in_time_is_forgotten_in_silence() -> None:
    driver = bound_but_not_seen()
    assert [wake.due_ns for wake in driver.all_of(WakeAt)] == [driver.now_ns + EXPIRY_NS]
    count = len(driver.actions)
    wait(driver, EXPIRY_NS - 1)
    assert not is_expired(driver)
    wait(driver, 1)
    assert is_expired(driver)
    assert not driver.machine.assumed()
    assert driver.actions[count:] == []
    sizes = {
        value.labels: value.value
        for family in driver.machine.metrics_snapshot().families
        if family.name == "scheduler_cache_size"
        for value in family.series
        if isinstance(value, Value)
    }
    assert sizes[("assumed_pods",)] == sizes[("pods",)] == 0


def test_the_time_begins_when_the_binding_has_finished() -> None:
    driver = Driver(assumed_pod_expiry_ns=EXPIRY_NS)
    driver.holds = {"Bind"}
    driver.put(make_node("n1"), pending("a", cpu="1"))
    driver.cycle()
    wait(driver, 10 * EXPIRY_NS)
    assert driver.machine.assumed() == {"default/a": "n1"}
    (bind,) = driver.held
    assert isinstance(bind, Bind)
    driver.deliver(CallDone(bind.call))
    wait(driver, EXPIRY_NS - 1)
    assert not is_expired(driver)
    wait(driver, 1)
    assert is_expired(driver)


def test_a_pod_that_is_seen_in_time_stays() -> None:
    driver = bound_but_not_seen()
    driver.put(with_node_name(pending("a", cpu="1"), "n1"))
    wait(driver, EXPIRY_NS)
    assert not is_expired(driver)
    assert "default/a" in driver.machine.cluster.pods


def test_its_room_is_given_away_and_then_it_counts_again_when_it_is_seen() -> None:
    """No pod is requeued: upstream forgets without an event, and so over-commits the node."""
    driver = bound_but_not_seen()
    driver.put(pending("b", cpu="1"))
    driver.cycle()
    assert driver.place_of("default/b") == "unschedulable"
    wait(driver, EXPIRY_NS)
    assert driver.place_of("default/b") == "unschedulable"
    driver.holds.clear()
    driver.put(pending("c", cpu="1"))
    driver.cycle()
    assert driver.node_of("default/c") == "n1"
    driver.put(with_node_name(pending("a", cpu="1"), "n1"))
    assert driver.machine.expired() == ()
    nodes = driver.machine.cluster.nodes
    assert nodes.requested[nodes.slot_of["n1"]][nodes.resources["cpu"]] == 2_000


def test_old_news_do_not_bring_it_back_but_a_new_version_without_a_node_does() -> None:
    driver = bound_but_not_seen()
    wait(driver, EXPIRY_NS)
    known = driver.machine.pod("default/a")
    assert known is not None
    driver.deliver(ObjectPut(known))
    assert is_expired(driver)
    assert not driver.machine.has_next
    driver.put(with_fields(known, "metadata", labels={"seen": "again"}))
    assert driver.machine.expired() == ()
    assert driver.place_of("default/a") == "active"
    driver.holds.clear()
    driver.cycle()
    assert driver.node_of("default/a") == "n1"


def test_it_may_be_deleted_meanwhile() -> None:
    driver = bound_but_not_seen()
    wait(driver, EXPIRY_NS)
    known = driver.machine.pod("default/a")
    assert known is not None
    driver.deliver(ObjectDeleted(with_node_name(known, "n1")))
    assert driver.machine.expired() == ()
    driver.put(pending("a", cpu="1"))
    assert driver.place_of("default/a") == "active"


class Slow(Plugin):
    """Asks to be woken before the binding, so that an old timer of the same cycle is left."""

    name = "Slow"

    def pre_bind(self, cycle: Cycle, node_name: str) -> Status | Pending:
        return Pending(delay_ns=5 * SECOND_NS)


def test_an_earlier_timer_of_the_binding_does_not_end_it() -> None:
    driver = bound_but_not_seen(Slow)
    wait(driver, EXPIRY_NS - 1)
    assert not is_expired(driver)
    wait(driver, 1)
    assert is_expired(driver)


@pytest.mark.parametrize("is_late", [False, True])
def test_a_pod_bound_again_after_it_was_forgotten_has_a_time_of_its_own(is_late: bool) -> None:
    driver = bound_but_not_seen()
    wait(driver, EXPIRY_NS)
    known = driver.machine.pod("default/a")
    assert known is not None
    driver.put(with_fields(known, "metadata", labels={"seen": "again"}))
    driver.held.clear()
    driver.deliver(FlushBackoff())
    driver.deliver(CycleDue())
    (bind,) = driver.held
    assert isinstance(bind, Bind)
    driver.deliver(CallDone(bind.call))
    wait(driver, EXPIRY_NS - (0 if is_late else 1))
    assert is_expired(driver) == is_late
    assert len(driver.all_of(EmitEvent)) == 2

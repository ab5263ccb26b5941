"""Plugins release what they keep for a pod when the pod ends, however it ends."""

from __future__ import annotations

from typing import ClassVar

import pytest

from podwright.apimachinery.objects import Pod, with_fields, with_node_name
from podwright.scheduler.framework import CallError, Cycle, Plugin, Status
from podwright.scheduler.machine import Bind, CallDone, TimerFired
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, pending
from podwright.testing import make_node, make_pod


class Counts(Plugin):
    """Records which pods are reserved and released."""

    name = "Counts"
    calls: ClassVar[list[str]] = []

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        self.calls.append(f"reserve {cycle.pod.metadata.name}")
        return Status.OK

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        self.calls.append(f"unreserve {cycle.pod.metadata.name}")

    def pod_ended(self, pod: Pod) -> None:
        self.calls.append(f"ended {pod.metadata.name} on {pod.spec.node_name or '?'}")


class Raises(Counts):
    """Fails to release."""

    def pod_ended(self, pod: Pod) -> None:
        super().pod_ended(pod)
        raise RuntimeError("ignored")


def driver_with(plugin: type[Counts] = Counts, expiry_ns: int = 0) -> Driver:
    Counts.calls.clear()
    driver = Driver(plugin, assumed_pod_expiry_ns=expiry_ns)
    driver.put(make_node("n1", cpu="1"))
    return driver


def pod_of(driver: Driver, name: str = "default/a") -> Pod:
    pod = driver.machine.pod(name)
    assert pod is not None
    return pod


def delete(driver: Driver) -> None:
    driver.remove(pod_of(driver))


def succeed(driver: Driver) -> None:
    driver.put(with_fields(pod_of(driver), "status", phase="Succeeded"))


def fail(driver: Driver) -> None:
    driver.put(with_fields(pod_of(driver), "status", phase="Failed"))


def replace(driver: Driver) -> None:
    driver.put(with_fields(pending("a", cpu="1"), "metadata", uid="another"))


@pytest.mark.parametrize("end", [delete, succeed, fail, replace])
@pytest.mark.parametrize("plugin", [Counts, Raises])
def test_a_bound_pod_that_ends_is_released_once(plugin, end):
    driver = driver_with(plugin)
    driver.put(pending("a", cpu="1"))
    driver.cycle()
    assert Counts.calls == ["reserve a"]
    end(driver)
    assert Counts.calls == ["reserve a", "ended a on n1"]
    assert driver.machine.pod("default/a") is None or end is replace
    assert "default/a" not in driver.machine.cluster.pods


@pytest.mark.parametrize("end", [delete, succeed, fail])
def test_a_pod_that_was_not_scheduled_here_is_released(end):
    driver = driver_with()
    driver.put(make_pod("a", node="n1"))
    end(driver)
    assert Counts.calls == ["ended a on n1"]


@pytest.mark.parametrize(
    ("known", "last", "expected"),
    [
        pytest.param("n1", "n1", "ended a on n1 at last", id="as the deletion shows the pod"),
        pytest.param("", "n1", "ended a on n1 at last", id="its binding was not observed"),
        pytest.param("n1", "", "ended a on n1", id="the deletion shows an older version"),
    ],
)
def test_plugins_receive_the_last_version_that_has_the_node(known, last, expected):
    class Versions(Counts):
        def pod_ended(self, pod):
            super().pod_ended(pod)
            self.calls[-1] += "".join(pod.metadata.labels)

    driver = driver_with(Versions)
    driver.put(make_pod("a", cpu="64", node=known))
    driver.remove(make_pod("a", cpu="64", node=last, labels={" at last": ""}))
    assert Counts.calls == [expected]


@pytest.mark.parametrize("end", [delete, succeed])
def test_a_pending_pod_has_nothing_to_release(end):
    driver = driver_with()
    driver.put(pending("a", cpu="64"))
    driver.cycle()
    end(driver)
    assert Counts.calls == []


@pytest.mark.parametrize(
    ("is_seen", "error", "expected"),
    [
        pytest.param(False, None, ["ended a on n1"], id="bound, not seen with its node"),
        pytest.param(True, None, ["ended a on n1"], id="bound and seen with its node"),
        pytest.param(False, CallError("gone"), ["unreserve a"], id="the binding failed"),
        pytest.param(True, CallError("lost"), ["unreserve a"], id="the answer was lost"),
    ],
)
def test_a_pod_that_ends_before_its_binding_is_confirmed_is_released_once(is_seen, error, expected):
    driver = driver_with()
    driver.holds = {"Bind"}
    driver.put(pending("a", cpu="1"))
    driver.cycle()
    (bind,) = driver.all_of(Bind)
    if is_seen:
        driver.put(with_node_name(pod_of(driver), "n1"))
    delete(driver)
    assert Counts.calls == ["reserve a"]
    driver.deliver(CallDone(bind.call, error))
    assert Counts.calls == ["reserve a", *expected]


def test_a_pod_that_is_replaced_before_its_binding_is_confirmed_is_released_once():
    driver = driver_with()
    driver.holds = {"Bind"}
    driver.put(pending("a", cpu="1"))
    driver.cycle()
    (bind,) = driver.all_of(Bind)
    replace(driver)
    driver.deliver(CallDone(bind.call))
    assert Counts.calls == ["reserve a", "ended a on n1"]


@pytest.mark.parametrize("is_expired", [False, True])
def test_a_pod_that_was_bound_and_never_seen_with_its_node_is_released(is_expired):
    driver = driver_with(expiry_ns=30 * SECOND_NS)
    driver.holds = {"Bind"}
    driver.put(pending("a", cpu="1"))
    driver.cycle()
    (bind,) = driver.all_of(Bind)
    driver.deliver(CallDone(bind.call))
    if is_expired:
        driver.now_ns += 31 * SECOND_NS
        driver.deliver(TimerFired())
        assert driver.machine.expired()
    delete(driver)
    assert Counts.calls == ["reserve a", f"ended a on {'?' if is_expired else 'n1'}"]


def test_the_plugin_releases_before_waiting_pods_are_tried_again():
    class Quota(Plugin):
        """One pod at a time."""

        name = "Quota"
        used: ClassVar[set[str]] = set()

        def pre_filter(self, cycle):
            return Status.unschedulable("quota") if self.used else Status.OK

        def reserve(self, cycle, node_name):
            self.used.add(cycle.pod.metadata.uid)
            return Status.OK

        def unreserve(self, cycle, node_name):
            self.used.discard(cycle.pod.metadata.uid)

        def pod_ended(self, pod):
            self.used.discard(pod.metadata.uid)

    driver = Driver(Quota)
    driver.put(make_node("n1"), pending("a", cpu="1"), pending("b", cpu="1"))
    driver.cycle()
    driver.cycle()
    assert (driver.node_of("default/a"), driver.node_of("default/b")) == ("n1", "")
    driver.now_ns += 60 * SECOND_NS
    delete(driver)
    driver.cycle()
    assert driver.node_of("default/b") == "n1"

"""State that a snapshot must hold and few tests reach."""

from __future__ import annotations

from collections.abc import Iterable

from podwright.apimachinery.objects import KubernetesObject, with_node_name
from podwright.scheduler.machine import SchedulerOptions
from podwright.scheduler.machine.tests.driving import Driver
from podwright.testing import make_node, make_pod


class Numbered:
    """Numbers objects by identity, in the order of their first use."""

    def __init__(self) -> None:
        self.objects: list[KubernetesObject] = []

    def of(self, obj: KubernetesObject) -> int:
        for number, known in enumerate(self.objects):
            if known is obj:
                return number
        self.objects.append(obj)
        return len(self.objects) - 1

    def of_all(self, objects: Iterable[KubernetesObject]) -> list[int]:
        return [self.of(obj) for obj in objects]


def restored(driver: Driver) -> Driver:
    numbering = Numbered()
    snapshot = driver.machine.snapshot(numbering)
    again = Driver()
    again.machine.restore(snapshot, dict(enumerate(numbering.objects)))
    return again


def test_pods_of_a_node_that_arrives_after_a_restore_take_its_room():
    driver = Driver()
    driver.put(make_node("n1", cpu="1"), with_node_name(make_pod("early", cpu="3"), "late"))
    again = restored(driver)
    again.put(make_node("late", cpu="4"), make_pod("p", cpu="2"))
    again.cycle()
    assert again.node_of("default/p") == ""
    reason, message = again.condition("default/p")
    assert reason == "Unschedulable"
    assert message.startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_the_default_seed_is_0():
    assert SchedulerOptions().seed == 0

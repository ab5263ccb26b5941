"""What hints and queues see of the cluster while a change is taken in."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, with_fields, with_node_name
from podwright.scheduler.columns.tests.storage_objects import claim
from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.framework.events import (
    NODE,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    ActionType,
    EventHint,
    Hint,
)
from podwright.scheduler.machine import ObjectDeleted, ObjectPut
from podwright.scheduler.machine.tests.driving import SECOND_NS, Driver, pending
from podwright.testing import make_node, make_pod

ANY = ActionType.ALL


class Scene:
    """A machine in which `waits` is refused, and what the plugin's hints saw."""

    def __init__(self) -> None:
        self.answer = Hint.SKIP
        self.seen: list[tuple[str, str, str, list[str], list[str]]] = []
        scene = self

        class Looking(Plugin):
            name = "Looking"

            def filter(self, cycle: Cycle, node: Any) -> Status:
                if cycle.pod.metadata.name == "waits":
                    return Status.unschedulable("not yet")
                return Status.OK

            def events_to_register(self) -> tuple[EventHint, ...]:
                return tuple(EventHint(of, ANY, self.look) for of in (NODE, POD))

            def look(self, pod: Pod, old: Any, new: Any) -> Hint:
                scene.look(pod, old, new)
                return scene.answer

        self.driver = driver = Driver(Looking)
        driver.put(make_node("n1", cpu="4"), make_node("n2", cpu="4"))
        driver.put(make_pod("there", node="n1", cpu="1"), pending("waits"))
        driver.cycle()
        assert driver.place_of("default/waits") == "unschedulable"
        driver.now_ns += 30 * SECOND_NS
        self.seen.clear()

    def look(self, pod: Pod, old: Any, new: Any) -> None:
        if pod.metadata.name != "waits":
            return
        cluster = self.driver.machine.cluster
        names = [there.metadata.name if there is not None else "" for there in (old, new)]
        nodes = [cluster.nodes.names[slot] for slot in cluster.live_slots()]
        self.seen.append((pod.metadata.name, names[0], names[1], nodes, [*cluster.pods]))


def test_hints_see_a_node_that_is_removed_and_its_pods_still_there():
    scene = Scene()
    scene.driver.remove(make_node("n1"))
    assert scene.seen == [("waits", "n1", "", ["n1", "n2"], ["default/there"])]
    cluster = scene.driver.machine.cluster
    assert (cluster.nodes.n_alive, [*cluster.pods]) == (1, [])


def test_a_pod_that_a_removed_node_helps_is_woken():
    scene = Scene()
    scene.answer = Hint.QUEUE
    scene.driver.remove(make_node("n1"))
    assert scene.driver.machine.cluster.nodes.n_alive == 1
    assert scene.driver.place_of("default/waits") == "active"


def test_a_removed_node_is_gone_also_if_nobody_wants_to_know():
    scene = Scene()
    scene.driver.remove(make_node("n1"))
    assert scene.driver.machine.cluster.nodes.n_alive == 1
    assert scene.driver.place_of("default/waits") == "unschedulable"
    scene.driver.remove(make_node("n1"))
    assert len(scene.seen) == 1, "a node that is unknown is no event"


def test_hints_see_a_new_node_with_the_pods_that_waited_for_it():
    scene = Scene()
    scene.driver.put(make_pod("early", node="n3"))
    scene.seen.clear()
    scene.driver.put(make_node("n3"))
    assert scene.seen == [
        ("waits", "", "n3", ["n1", "n2", "n3"], ["default/there", "default/early"])
    ]


def test_hints_see_a_changed_node_as_it_is_now():
    scene = Scene()
    before = scene.driver.machine.cluster.nodes.allocatable[0, 0]
    cpu: list[int] = []
    look = scene.look

    def looking(pod: Pod, old: Any, new: Any) -> None:
        cpu.append(int(scene.driver.machine.cluster.nodes.allocatable[0, 0]))
        assert old.status.allocatable["cpu"] == "4"
        assert new.status.allocatable["cpu"] == "8"
        look(pod, old, new)

    scene.look = looking  # type: ignore[method-assign]
    scene.driver.put(make_node("n1", cpu="8"))
    assert (int(before), cpu) == (4_000, [8_000])


def test_a_node_that_is_removed_and_made_anew_is_two_events():
    scene = Scene()
    scene.driver.remove(make_node("n2"))
    scene.driver.put(make_node("n2"))
    assert scene.seen == [
        ("waits", "n2", "", ["n1", "n2"], ["default/there"]),
        ("waits", "", "n2", ["n1", "n2"], ["default/there"]),
    ]


@pytest.mark.parametrize(
    ("node", "left"),
    [
        pytest.param("n1", ["default/other"], id="a known node"),
        pytest.param("n9", ["default/there", "default/other"], id="an unknown node"),
    ],
)
def test_hints_see_an_assigned_pod_that_is_gone_as_gone(node: str, left: list[str]):
    scene = Scene()
    driver = scene.driver
    driver.put(make_pod("other", node="n2"))
    pod = "there"
    if node != "n1":
        pod = "elsewhere"
        driver.put(make_pod(pod, node=node))
    scene.seen.clear()
    driver.deliver(ObjectDeleted(make_pod(pod, node=node)))
    assert scene.seen == [("waits", pod, "", ["n1", "n2"], left)]
    driver.put(make_node("n9"))
    assert [*driver.machine.cluster.pods] == left, "nor does it come with its node"


def test_hints_see_a_pod_that_was_assigned_by_others_in_its_place():
    scene = Scene()
    scene.driver.put(make_pod("new", node="n2"))
    assert scene.seen == [("waits", "", "new", ["n1", "n2"], ["default/there", "default/new"])]


def test_hints_see_a_pod_that_was_bound_once_with_its_node():
    scene = Scene()
    driver = scene.driver
    driver.put(pending("mine"))
    scene.seen.clear()
    driver.cycle()
    assert driver.node_of("default/mine")
    assert [entry[1:3] for entry in scene.seen] == [("", "mine")]
    assert scene.seen[0][4] == ["default/there", "default/mine"]


def test_a_pod_made_anew_unseen_is_one_that_goes_and_one_that_comes():
    scene = Scene()
    anew = with_fields(make_pod("there", node="n2"), "metadata", uid="another")
    scene.driver.put(anew)
    assert [(*entry[1:3], entry[4]) for entry in scene.seen] == [
        ("there", "", []),
        ("", "there", ["default/there"]),
    ]


def test_hints_see_a_changed_pod_as_it_is_now():
    scene = Scene()
    driver = scene.driver
    labels: list[dict[str, str]] = []
    look = scene.look

    def looking(pod: Pod, old: Any, new: Any) -> None:
        labels.append(dict(driver.machine.cluster.pods["default/there"].pod.metadata.labels))
        look(pod, old, new)

    scene.look = looking  # type: ignore[method-assign]
    driver.put(make_pod("there", node="n1", cpu="1", labels={"a": "1"}))
    assert labels == [{"a": "1"}]
    assert [entry[1:3] for entry in scene.seen] == [("there", "there")]


def test_a_version_that_was_seen_already_is_no_event():
    scene = Scene()
    pod = scene.driver.machine.pod("default/waits")
    assert pod is not None
    same = with_fields(pod, "metadata", labels={"a": "1"})
    scene.driver.deliver(ObjectPut(same))
    assert scene.seen == []
    queued = scene.driver.machine.queue.get("default/waits")
    assert queued is not None
    assert queued.pod.metadata.labels == {}
    scene.driver.put(same)
    assert queued.pod.metadata.labels == {"a": "1"}


def test_the_beginning_of_a_nomination_is_no_departure():
    scene = Scene()
    pod = pending("nominated", priority=10)
    scene.driver.put(pod)
    scene.seen.clear()
    scene.driver.put(with_fields(pod, "status", nominated_node_name="n1"))
    assert scene.seen == []
    scene.driver.put(pod)
    assert [entry[1:3] for entry in scene.seen] == [("nominated", "")]


def test_hints_see_other_objects_that_are_gone_as_gone():
    left: list[int] = []
    drivers: list[Driver] = []

    class Storing(Plugin):
        name = "Storing"

        def filter(self, cycle: Cycle, node: Any) -> Status:
            return Status.unschedulable("not yet")

        def events_to_register(self) -> tuple[EventHint, ...]:
            return (EventHint(PERSISTENT_VOLUME_CLAIM, ANY, self.look),)

        def look(self, pod: Pod, old: Any, new: Any) -> Hint:
            left.append(drivers[0].machine.cluster.storage.version)
            return Hint.SKIP

    driver = Driver(Storing)
    drivers.append(driver)
    driver.put(make_node("n1"), pending("waits"))
    driver.cycle()
    storage = driver.machine.cluster.storage
    before = storage.version
    driver.put(claim("c"))
    assert left == [storage.version]
    assert storage.version > before
    between = storage.version
    driver.remove(claim("c"))
    assert left == [between, storage.version]
    assert storage.version > between
    driver.remove(claim("c"))
    assert len(left) == 2


def test_a_pod_that_has_ended_is_gone_once():
    scene = Scene()
    ended = with_fields(make_pod("there", node="n1"), "status", phase="Succeeded")
    scene.driver.put(ended)
    assert [(*entry[1:3], entry[4]) for entry in scene.seen] == [("there", "", [])]
    scene.driver.put(ended)
    scene.driver.deliver(ObjectDeleted(ended))
    assert len(scene.seen) == 1


def test_old_news_of_a_pod_without_its_node_change_nothing():
    scene = Scene()
    driver = scene.driver
    driver.deliver(ObjectPut(make_pod("there", cpu="1")))
    assert scene.seen == []
    pod = driver.machine.pod("default/there")
    assert pod is not None
    assert pod.spec.node_name == "n1"


def test_a_pod_bound_by_others_is_announced_and_then_leaves_the_queue():
    scene = Scene()
    driver = scene.driver
    pod = pending("mine", priority=-1)
    driver.put(pod)
    scene.seen.clear()
    driver.put(with_node_name(pod, "n2"))
    assert [entry[1:3] for entry in scene.seen] == [("", "mine")]
    assert driver.place_of("default/mine") == ""


# -------------------------------------------------------------------- nominations that end


@pytest.mark.parametrize(
    ("priority", "woken"),
    [
        pytest.param(9, True, id="lower"),
        pytest.param(10, True, id="equal"),
        pytest.param(11, False, id="higher"),
    ],
)
@pytest.mark.parametrize("how", ["deleted", "elsewhere", "nowhere"])
def test_the_end_of_a_nomination_wakes_pods_that_are_not_more_important(
    how: str, priority: int, woken: bool
):
    driver = Driver()
    driver.put(make_node("n1", cpu="1"), make_node("n2", cpu="1"), make_pod("x", node="n1"))
    big = {"cpu": "2"}
    nominated = with_fields(
        pending("nominated", priority=10, **big), "status", nominated_node_name="n1"
    )
    driver.holds.add("PatchPodStatus")
    driver.put(nominated, pending("other", priority=priority, **big))
    driver.cycle()
    driver.cycle()
    for name in ("nominated", "other"):
        assert driver.place_of(f"default/{name}") == "unschedulable"
    driver.now_ns += 30 * SECOND_NS
    if how == "deleted":
        driver.remove(nominated)
    else:
        node = "n2" if how == "elsewhere" else ""
        driver.put(with_fields(nominated, "status", nominated_node_name=node))
    assert (driver.place_of("default/other") == "active") is woken


def test_a_nomination_that_stays_or_begins_wakes_nobody():
    driver = Driver()
    driver.put(make_node("n1", cpu="1"), make_node("n2", cpu="1"))
    first = pending("nominated", priority=10, cpu="2")
    driver.put(first, pending("other", cpu="2"))
    driver.cycle()
    driver.cycle()
    driver.now_ns += 30 * SECOND_NS
    nominated = with_fields(first, "status", nominated_node_name="n1")
    driver.put(nominated)
    driver.put(nominated)
    assert driver.place_of("default/other") == "unschedulable"
    driver.remove(first)
    assert driver.place_of("default/other") == "unschedulable", "the last version counts"

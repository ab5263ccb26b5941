"""What a machine reports about itself, and what plugins can read and do through their handle."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from podwright.apimachinery.objects import Pod, StorageClass, with_fields, with_node_name
from podwright.apimachinery.schema import decode
from podwright.scheduler.framework import Cycle, Plugin, Status
from podwright.scheduler.framework.binding import PodMetadataPatch
from podwright.scheduler.machine import Action, Bind, CycleDue, EmitEvent, PatchPodMetadata
from podwright.scheduler.machine.state import Groups
from podwright.scheduler.machine.tests.driving import Driver, pending
from podwright.testing import make_node, make_pod


def test_a_machine_is_described_by_its_counts():
    driver = Driver()
    driver.holds = {"Bind"}
    driver.put(make_node("n1"), make_node("n2"), pending("a"), pending("b"), pending("c"))
    driver.cycle()
    assert repr(driver.machine) == "<Machine: 2 nodes, 1 pods on nodes, 2 in the queue>"


def test_what_a_machine_received():
    driver = Driver()
    storage_class = decode(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "s"},
            "provisioner": "p",
        }
    )
    driver.put(pending("b"), make_node("n1"), pending("a"), storage_class)
    machine = driver.machine
    assert [obj.metadata.name for obj in machine.objects()] == ["n1", "s", "b", "a"]
    assert [obj.metadata.name for obj in machine.objects_but_pods()] == ["n1", "s"]
    assert list(machine.pods()) == ["default/b", "default/a"]
    found = machine.pod("default/a")
    assert found is not None
    assert found is machine.pods()["default/a"]
    assert machine.pod("default/c") is None
    with pytest.raises(TypeError):
        machine.pods()["default/a"] = found  # type: ignore[index]  # it is read-only
    driver.remove(found)
    assert list(machine.pods()) == ["default/b"]


def test_the_profiles_of_a_machine():
    machine = Driver().machine
    assert list(machine.profiles) == ["default-scheduler"]
    runner = machine.runner("default-scheduler")
    assert runner is not None
    assert machine.runner("other") is None
    assert machine.search_positions() == {"default-scheduler": runner.search_position()}


def test_the_decisions_of_the_last_cycle():
    driver = Driver()
    assert (driver.machine.last_decision, driver.machine.last_decisions) == (None, ())
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    decision = driver.machine.last_decision
    assert decision is not None
    assert decision.node == "n1"
    assert driver.machine.last_decisions == (decision,)


def test_a_queue_without_failed_pods_needs_no_flush():
    driver = Driver()
    driver.put(pending("a"))
    flushes = [driver.machine.next_flush_ns]
    assert [touch.step for touch in driver.machine.story("default/a")] == ["active"]
    driver.cycle()
    flushes.append(driver.machine.next_flush_ns)
    assert flushes == [None, driver.machine.queue.next_due_ns()]
    assert flushes[1] is not None


def test_a_binding_that_is_known_is_repeated_without_a_decision():
    driver = Driver()
    driver.put(*[make_node(f"n{i}") for i in range(4)], pending("a"), pending("b"))
    machine, now_ns = driver.machine, driver.now_ns
    for name, node in (("a", "n3"), ("b", "n1")):
        pod = machine.pod(f"default/{name}")
        assert pod is not None
        bind = Bind(9, pod.key, pod.metadata.uid, node)
        actions: list[Action] = [
            bind,
            EmitEvent(pod.key, "u", "Normal", "Scheduled", "Binding", "", "", "", ""),
        ]
        found = machine.repeat(CycleDue(), now_ns, actions)
        assert [(each.pod, each.node) for each in found if isinstance(each, Bind)] == [
            (pod.key, node)
        ]
    driver.put(pending("c"))
    (bind_c,) = [x for x in machine.handle(CycleDue(), now_ns) if isinstance(x, Bind)]
    assert bind_c.node in {"n0", "n2"}, "the pods that were repeated count on their nodes"


def test_nodes_that_were_known_for_one_event_are_decided_on_again_in_the_next():
    driver = Driver()
    driver.put(make_node("n1"), make_node("n2"), pending("a"), pending("b"))
    actions = [Bind(9, f"default/{name}", "u", "n1") for name in "ab"]
    driver.machine.repeat(CycleDue(), driver.now_ns, actions)
    driver.put(make_node("n1", unschedulable=True))
    (bind,) = [x for x in driver.machine.handle(CycleDue(), driver.now_ns) if isinstance(x, Bind)]
    assert (bind.pod, bind.node) == ("default/b", "n2")


class Remembers(Plugin):
    """Remembers the pods that it has seen."""

    name = "Remembers"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Remember a pod."""
        self.seen.append(cycle.pod.metadata.name)
        return Status.OK


@pytest.mark.parametrize("watched", [(), ("Other",), ("Remembers",)])
def test_only_plugins_whose_state_is_watched_make_a_machine_unrestorable(watched: tuple[str, ...]):
    driver = Driver(Remembers)
    driver.machine.watch_state(watched)
    driver.put(make_node("n1"), pending("a"))
    assert driver.machine.unrestorable == ()
    driver.cycle()
    assert driver.machine.unrestorable == (("Remembers",) if "Remembers" in watched else ())


# ------------------------------------------------------------------------------ the handle


class Reader(Plugin):
    """Records what its handle returns while a pod passes Reserve."""

    name = "Reader"
    found: ClassVar[dict[str, Any]] = {}

    def group_of(self, pod: Pod) -> str | None:
        """Return the group of a pod by its label; without one it raises."""
        return pod.metadata.labels["team"]

    def reserve(self, cycle: Cycle, node_name: str) -> Status:
        """Read all there is."""
        handle = self.handle
        assert handle is not None
        self.found.update(
            binds=handle.binds,
            now_ns=handle.now_ns,
            storage_class=handle.find(StorageClass, "s"),
            missing=handle.find(StorageClass, "t"),
            custom=handle.find("StorageClass.example.com", "s"),
            members=sorted(handle.members(self.name, "red").pods),
            others=sorted(handle.members(self.name, "blue").pods),
            waiting=handle.waiting(),
            device_class=handle.device_class_of("example.com/gpu"),
        )
        handle.request(PodMetadataPatch(labels={"seen": "yes"}), cycle.pod)
        handle.record_event(cycle.pod, "Read", f"on {node_name}")
        return Status.OK


def test_what_a_plugin_reads_and_requests():
    driver = Driver(Reader)
    driver.holds = {"Bind"}
    made: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
        ("storage.k8s.io/v1", "StorageClass", {"name": "s"}, {"provisioner": "p"}),
        ("example.com/v1", "StorageClass", {"name": "s"}, {"load": 95}),
        (
            "resource.k8s.io/v1",
            "DeviceClass",
            {"name": "gpus"},
            {"spec": {"extendedResourceName": "example.com/gpu"}},
        ),
    ]
    objects = [
        decode({"apiVersion": group, "kind": kind, "metadata": metadata} | fields)
        for group, kind, metadata, fields in made
    ]
    teams = {"a": "red", "b": "red", "c": "blue"}
    pods = [pending(name, labels={"team": team}) for name, team in teams.items()]
    driver.put(make_node("n1"), *objects, *pods)
    driver.cycle()
    found = Reader.found
    uids = {
        name: seen.metadata.uid for name in teams if (seen := driver.machine.pod(f"default/{name}"))
    }
    assert found["binds"] is True
    assert found["now_ns"] == driver.now_ns
    assert found["storage_class"].metadata.name == "s"
    assert found["missing"] is None
    assert found["custom"].raw["load"] == 95
    assert found["members"] == sorted([uids["a"], uids["b"]])
    assert found["others"] == [uids["c"]]
    assert found["waiting"] == ()
    assert found["device_class"] == "gpus"
    (patch,) = driver.all_of(PatchPodMetadata)
    assert (patch.pod, patch.uid, dict(patch.labels)) == ("default/a", uids["a"], {"seen": "yes"})
    (event,) = [each for each in driver.all_of(EmitEvent) if each.reason == "Read"]
    assert (event.pod, event.uid, event.type) == ("default/a", uids["a"], "Normal")
    assert (event.action, event.note, event.related) == ("Scheduling", "on n1", "")
    assert event.controller == "default-scheduler"


class Decides(Plugin):
    """Holds pods at Permit until a pod with another name decides about all of them."""

    name = "Decides"

    def permit(self, cycle: Cycle, node_name: str) -> Status:
        """Decide about the pods that wait, or wait."""
        name, handle = cycle.pod.metadata.name, self.handle
        assert handle is not None
        for uid in handle.waiting():
            if name == "allows":
                handle.allow(uid, self.name)
            elif name == "rejects":
                handle.reject(uid, self.name, "no more")
        return Status.OK if name in ("allows", "rejects") else Status.wait("held")


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        pytest.param("allows", ["n1", "n1"], id="allowed"),
        pytest.param("rejects", ["", ""], id="rejected"),
        pytest.param("other", ["", ""], id="undecided"),
    ],
)
def test_a_plugin_decides_about_pods_that_wait(name: str, nodes: list[str]):
    driver = Driver(Decides)
    driver.put(make_node("n1"), pending("a"), pending("b"))
    driver.cycle()
    driver.cycle()
    assert driver.machine.waiting() == {"default/a": ("Decides",), "default/b": ("Decides",)}
    driver.put(pending(name))
    driver.cycle()
    assert [driver.node_of(f"default/{each}") for each in "ab"] == nodes
    assert len(driver.machine.waiting()) == (3 if name == "other" else 0)
    rejected = [note for note in driver.notes if "1 no more." in note]
    assert len(rejected) == (2 if name == "rejects" else 0)


class Undone(Decides):
    """Records which members have a node at Unreserve."""

    scheduled: ClassVar[list[str]] = []

    def group_of(self, pod: Pod) -> str:
        """Put all pods into one group."""
        return "all"

    def unreserve(self, cycle: Cycle, node_name: str) -> None:
        """Look at the group."""
        assert self.handle is not None
        self.scheduled.extend(sorted(self.handle.members(self.name, "all").scheduled))


def test_a_waiting_pod_that_is_to_be_deleted_has_its_node_until_after_unreserve():
    # Upstream: pkg/scheduler/schedule_one.go, handleBindingCycleError
    Undone.scheduled = []
    driver = Driver(Undone)
    driver.put(make_node("n1"), pending("a"))
    driver.cycle()
    pod = driver.machine.pod("default/a")
    assert pod is not None
    driver.put(with_fields(pod, "metadata", deletion_timestamp="2026-01-01T00:00:00Z"))
    assert Undone.scheduled == [pod.metadata.uid]
    assert driver.machine.waiting() == {}


# ------------------------------------------------------------------------------ groups


def in_team(name: str, team: str, *, node: str = "") -> Pod:
    return with_node_name(make_pod(name, labels={"team": team} if team else {}), node)


def test_the_groups_of_pods_follow_their_versions():
    groups = Groups([Reader()])
    assert groups.is_used
    assert groups.has("Reader")
    assert not groups.has("Other")
    a, b, loner = in_team("a", "red"), in_team("b", "red", node="n1"), in_team("c", "")
    assert groups.group_of("Reader", a) == "red"
    assert groups.group_of("Other", a) is None
    assert groups.group_of("Reader", loner) is None, "the plugin fails"
    for pod in (a, b, loner):
        groups.put(pod)

    def members(team: str) -> tuple[set[str], set[str]]:
        found = groups.members("Reader", team)
        return set(found.pods), set(found.scheduled)

    ids = {pod.metadata.name: pod.metadata.uid for pod in (a, b, loner)}
    assert members("red") == ({ids["a"], ids["b"]}, {ids["b"]})
    groups.mark(a, is_scheduled=True)
    groups.mark(loner, is_scheduled=True)
    assert members("red") == ({ids["a"], ids["b"]}, {ids["a"], ids["b"]})
    for pod in (a, b, loner):
        groups.mark(pod, is_scheduled=False)
    assert members("red")[1] == {ids["b"]}, "it was seen with its node"
    groups.mark(in_team("unknown", "red"), is_scheduled=True)
    assert members("red")[1] == {ids["b"]}, "only members are scheduled"
    moved = in_team("a", "blue")
    groups.replace(a, moved)
    assert members("red") == ({ids["b"]}, {ids["b"]})
    assert members("blue") == ({ids["a"]}, set())
    groups.remove(in_team("a", "red"))
    groups.remove(loner)
    assert members("red") == ({ids["b"]}, {ids["b"]}), "it is not in this group any more"
    groups.remove(moved)
    assert members("blue") == (set(), set())
    groups.remove(moved)
    groups.rebuild([moved, b, loner], [ids["a"], "gone"])
    assert members("blue") == ({ids["a"]}, {ids["a"]})
    assert members("red") == ({ids["b"]}, {ids["b"]})
    groups.rebuild([loner], [])
    assert members("blue") == members("red") == (set(), set()), "only what exists has groups"


def test_each_plugin_has_its_own_groups():
    groups = Groups([Reader(), Undone()])
    loner, a = in_team("loner", ""), in_team("a", "red")
    for pod in (loner, a):
        groups.put(pod)
        groups.mark(pod, is_scheduled=True)
    everyone = {loner.metadata.uid, a.metadata.uid}
    for name, group, uids in (
        ("Reader", "red", {a.metadata.uid}),
        (Undone.name, "all", everyone),
        (Undone.name, "red", set()),
    ):
        found = groups.members(name, group)
        assert (set(found.pods), found.scheduled) == (uids, uids)
    groups.remove(loner)
    assert set(groups.members(Undone.name, "all").pods) == {a.metadata.uid}


def test_a_pod_whose_label_changes_is_in_another_group():
    driver = Driver(Reader)
    for team in ("red", "blue"):
        driver.put(pending("a", labels={"team": team}))
    groups = driver.machine._state.groups
    found = {team: len(groups.members("Reader", team).pods) for team in ("red", "blue")}
    assert found == {"red": 0, "blue": 1}


def test_a_machine_without_groups_keeps_none():
    groups = Groups([Plugin()])
    assert not groups.is_used
    groups.put(make_pod("a"))
    assert not groups.members("Plugin", "red").pods

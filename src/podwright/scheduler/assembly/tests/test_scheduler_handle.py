"""What plugins can use in `Scheduler`: the handle, groups, and `pod_ended`."""

from __future__ import annotations

from typing import ClassVar

import pytest

import podwright as pw
from podwright.apimachinery.objects import Service, decode_as, with_fields
from podwright.apimachinery.schema import decode
from podwright.scheduler.assembly.scheduler_handle import SchedulerHandle
from podwright.testing import make_node, make_pod

TEAM = "team"


class Team(pw.Plugin):
    """Needs a Service of the pod's name, and groups pods by a label."""

    name = "Team"
    calls: ClassVar[list[str]] = []

    def group_of(self, pod):
        return pod.metadata.labels.get(TEAM)

    def pre_filter(self, cycle):
        handle = self.handle
        assert handle is not None
        assert (handle.now_ns, handle.binds) == (0, False)
        assert handle.waiting() == ()
        handle.allow("uid", self.name)
        handle.reject("uid", self.name, "no")
        handle.activate([cycle.pod])
        group = self.group_of(cycle.pod)
        members = handle.members(self.name, group)
        self.calls.append(f"{len(members.scheduled)} of {len(members.pods)}")
        if handle.find(Service, f"default/{group}") is None:
            return pw.Status.unresolvable(f"no service {group}")
        return pw.Status()

    def pod_ended(self, pod):
        self.calls.append("ended")
        self.calls[-1] = f"ended {pod.metadata.name} on {pod.spec.node_name}"


def service(name):
    return decode_as({"metadata": {"name": name, "namespace": "default"}}, Service)


@pytest.fixture
def scheduler():
    Team.calls.clear()
    scheduler = pw.Scheduler(plugins=[Team])
    scheduler.add(make_node("n1"), service("red"))
    scheduler.add(*(make_pod(name, labels={TEAM: "red"}) for name in ("a", "b")))
    return scheduler


def test_a_plugin_reads_objects_and_groups(scheduler):
    assert [decision.node for decision in scheduler.schedule_all()] == ["n1", "n1"]
    assert Team.calls == ["0 of 2", "1 of 2"]
    decision = scheduler.schedule(make_pod("c", labels={TEAM: "blue"}))
    assert decision.diagnosis.message == (
        "0/1 nodes are available: no service blue. no new claims to deallocate, preemption: 0/1"
        " nodes are available: 1 Preemption is not helpful for scheduling."
    )
    scheduler.remove(service("red"))
    assert not scheduler.schedule(make_pod("d", labels={TEAM: "red"})).node
    assert Team.calls[-1] == "2 of 3"


def test_a_plugin_finds_objects_by_their_group_and_the_classes_of_devices():
    handle = SchedulerHandle(())
    knative = {"apiVersion": "serving.knative.dev/v1", "kind": "Service"}
    theirs = decode({**knative, "metadata": {"name": "red", "namespace": "default"}})
    handle.put(theirs)
    assert handle.find(Service, "default/red") is None
    assert handle.find("Service.serving.knative.dev", "default/red") is theirs
    handle.put(service("red"))
    handle.remove(theirs)
    assert handle.find(Service, "default/red") == service("red")
    assert handle.find("Service.serving.knative.dev", "default/red") is None
    gpus = decode({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": "example.com/gpu"},
    })  # fmt: skip
    assert handle.device_class_of("example.com/gpu") == ""
    handle.put(gpus)
    assert handle.device_class_of("example.com/gpu") == "gpu"
    handle.remove(gpus)
    assert handle.device_class_of("example.com/gpu") == ""


def test_an_unknown_pod_that_is_removed_is_ignored(scheduler):
    scheduler.remove(make_pod("unknown"))
    assert Team.calls == []


def test_a_placed_pod_that_is_explained_again_does_not_count_meanwhile(scheduler):
    list(scheduler.schedule_all())
    Team.calls.clear()
    scheduler.explain_again("default/a")
    scheduler.explain_again("default/b")
    assert set(Team.calls) == {"1 of 2"}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", ""])
def test_a_placed_pod_that_ends_is_released_once(scheduler, phase):
    list(scheduler.schedule_all())
    Team.calls.clear()
    pod = make_pod("a", labels={TEAM: "red"})
    if phase:
        scheduler.add(with_fields(pod, "status", phase=phase))
    else:
        scheduler.remove(pod)
    assert Team.calls == ["ended a on n1"]
    scheduler.remove(pod)
    assert Team.calls == ["ended a on n1"]
    assert "default/a" not in scheduler.pending
    scheduler.schedule(make_pod("c", labels={TEAM: "red"}))
    assert Team.calls[-1] == "1 of 2"


def test_a_pending_pod_that_is_removed_is_not_released(scheduler):
    scheduler.remove(make_pod("a"))
    assert [decision.node for decision in scheduler.schedule_all()] == ["n1"]
    assert Team.calls == ["0 of 1"]


class Gate(pw.Plugin):
    """Fails at PreEnqueue in the way of the pod's name."""

    name = "Gate"

    def pre_enqueue(self, pod):
        match pod.metadata.name:
            case "raises":
                raise ValueError("no gate")
            case "nothing":
                return None
            case "gated":
                return pw.Status.unresolvable("closed")
            case _:
                return pw.Status()


@pytest.mark.parametrize(
    ("name", "error", "gated_by"),
    [
        (
            "raises",
            'running PreEnqueue plugin "Gate": ValueError: no gate (pod default/raises)',
            None,
        ),
        (
            "nothing",
            'running PreEnqueue plugin "Gate": returned None, not a Status (pod default/nothing)',
            None,
        ),
        ("gated", None, "closed"),
        ("open", None, None),
    ],
)
def test_pre_enqueue_may_fail(name, error, gated_by):
    scheduler = pw.Scheduler(plugins=[Gate])
    scheduler.add(make_node("n1"))
    decision = scheduler.schedule(make_pod(name))
    assert (decision.error.message if decision.error else None) == error
    assert (decision.gated_by.message if decision.gated_by else None) == gated_by
    assert bool(decision.node) is (name == "open")


class Sorter(pw.Plugin):
    """Orders pods by a label; some labels cannot be compared."""

    name = "Sorter"

    def queue_sort_key(self, pod, timestamp_ns):
        key = pod.metadata.labels["key"]
        return float("nan") if key == "nan" else int(key)


SORTING = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [
        {
            "plugins": {
                "queueSort": {"enabled": [{"name": "Sorter"}], "disabled": [{"name": "*"}]},
            }
        }
    ],
}


def test_a_pod_without_a_sort_key_comes_last_and_fails():
    configuration = pw.read_configuration(SORTING, source="config")
    scheduler = pw.Scheduler(configuration, plugins=[Sorter])
    scheduler.add(make_node("n1"))
    for name, labels in (
        ("none", {}),
        ("nan", {"key": "nan"}),
        ("two", {"key": "2"}),
        ("one", {"key": "1"}),
    ):
        scheduler.add(make_pod(name, labels=labels))
    decisions = list(scheduler.schedule_all())
    assert [d.pod.metadata.name for d in decisions[:2]] == ["one", "two"]
    errors = {d.pod.metadata.name: d.error.message for d in decisions[2:] if d.error}
    assert errors == {
        "none": "running QueueSort plugin \"Sorter\": KeyError: 'key' (pod default/none)",
        "nan": 'running QueueSort plugin "Sorter": returned nan, which cannot be sorted'
        " (pod default/nan)",
    }


def test_pods_of_manifests_have_uids_to_tell_them_apart():
    scheduler = pw.Scheduler(plugins=[Team])
    scheduler.add(make_node("n1"), service("red"))
    for name in ("a", "b"):
        pod = make_pod(name, labels={TEAM: "red"})
        scheduler.add(with_fields(pod, "metadata", uid=""))
    Team.calls.clear()
    assert [decision.node for decision in scheduler.schedule_all()] == ["n1", "n1"]
    assert Team.calls == ["0 of 2", "1 of 2"]


def test_a_new_version_of_a_pod_changes_its_group(scheduler):
    scheduler.add(make_pod("a", labels={TEAM: "blue"}), service("blue"))
    assert [decision.node for decision in scheduler.schedule_all()] == ["n1", "n1"]
    assert sorted(Team.calls) == ["0 of 1", "0 of 1"]

"""Objects of KWOK's kind Stage: created, changed and deleted, they take effect at once."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

import podwright as pw
from podwright.apimachinery.objects import KubernetesObject, Object, Pod
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets import STAGE
from podwright.cluster.store import GroupKind
from podwright.simulation.world.observers import KubernetesEvent
from podwright.testing import make_node, make_pod

FAILS = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: fails}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchLabels: {fails: "true"}
    matchExpressions: [{key: .status.phase, operator: NotIn, values: [Failed]}]
  delay: {durationMilliseconds: 3000}
  next: {statusTemplate: "phase: Failed"}
"""
LABELS = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: labels}
spec:
  resourceRef: {apiGroup: v1, kind: ConfigMap}
  selector: {matchExpressions: [{key: .metadata.labels.seen, operator: DoesNotExist}]}
  next: {patches: [{root: metadata, type: merge, template: "labels: {seen: here}"}]}
"""
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "m", "namespace": "default"},
}


class Notes:
    """Keeps the Events."""

    def __init__(self) -> None:
        self.events: list[KubernetesEvent] = []

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        del now_ns
        self.events.append(event)


def a_stage(text: str, **spec: Any) -> Object:
    document = yaml.safe_load(text)
    document["spec"] |= spec
    return decode(document)


def phases(world: pw.World) -> dict[str, str]:
    pods = world.store.list(Pod).objects
    return {pod.name: pod.status.phase for pod in pods if isinstance(pod, Pod)}


def stored(world: pw.World, kind: GroupKind, key: str) -> KubernetesObject:
    found = world.store.get(kind, key)
    assert found is not None
    return found


@pytest.mark.parametrize("has_kubelet", [False, True])
def test_a_stage_applies_to_pods_that_run_already_and_to_new_ones(has_kubelet: bool) -> None:
    world = pw.World(has_kubelet=has_kubelet)
    world.add(make_node("n1"), make_pod("a", labels={"fails": "true"}), make_pod("b"))
    world.run_until("10s")
    assert phases(world) == {"a": "Running", "b": "Running"}
    world.add(a_stage(FAILS))
    world.run_until("12s")
    assert phases(world) == {"a": "Running", "b": "Running"}
    world.run_until("14s")
    assert phases(world) == {"a": "Failed", "b": "Running"}
    world.add(make_pod("c", labels={"fails": "true"}))
    world.run_until("18s")
    assert phases(world)["c"] == "Failed"


def test_a_changed_stage_has_its_new_delay() -> None:
    world = pw.World()
    world.add(make_node("n1"), a_stage(FAILS), make_pod("a", labels={"fails": "true"}))
    world.run_until("2s")
    world.add(a_stage(FAILS, delay={"durationMilliseconds": 60_000}))
    world.run_until("61s")
    assert phases(world) == {"a": "Pending"}, "the stages of the cluster replace the built-in ones"
    world.run_until("63s")
    assert phases(world) == {"a": "Failed"}


def test_without_a_stage_any_more_the_built_in_stages_apply() -> None:
    world = pw.World()
    world.add(make_node("n1"), a_stage(FAILS), make_pod("a"))
    world.run_until("1s")
    assert phases(world) == {"a": "Pending"}
    world.remove(a_stage(FAILS))
    world.run_until("2s")
    assert phases(world) == {"a": "Running"}


def test_objects_of_a_kind_that_had_no_stages_are_changed() -> None:
    world = pw.World()
    world.add(decode(CONFIG_MAP))
    world.run_until("1s")
    world.add(a_stage(LABELS))
    world.add(decode(CONFIG_MAP | {"metadata": {"name": "late", "namespace": "default"}}))
    world.run_until("2s")
    for name in ("m", "late"):
        assert stored(world, ("", "ConfigMap"), f"default/{name}").metadata.labels == {
            "seen": "here"
        }


def test_a_fork_has_the_stages_and_their_delays() -> None:
    world = pw.World()
    world.add(make_node("n1"), a_stage(FAILS), make_pod("a", labels={"fails": "true"}))
    world.run_until("2s")
    fork = world.fork()
    fork.run_until("4s")
    assert (phases(fork), phases(world)) == ({"a": "Failed"}, {"a": "Pending"})
    world.run_until("4s")
    assert phases(world) == {"a": "Failed"}


def test_a_stage_that_is_wrong_is_an_event_where_failures_are_reported() -> None:
    notes, failures = Notes(), []
    world = pw.World(
        observers=[notes],
        report_failure=lambda where, key, error: failures.append((where, key, str(error))),
    )
    world.add(make_node("n1"), make_pod("a", labels={"fails": "true"}), a_stage(FAILS))
    world.run_until("1s")
    world.add(a_stage(FAILS, next={"statusTemplate": "phase: {{ .x"}))
    world.run_until("9s")
    assert phases(world) == {"a": "Running"}, "the former stage has no effect any more"
    (failed,) = [event for event in notes.events if event.reason == "StageFailed"]
    assert failed.key == "fails"
    assert "Stage fails: spec.next.statusTemplate" in failed.note
    ((where, key, message),) = failures
    assert (where, key) == ("stages", "fails")
    assert message in failed.note


def test_a_stage_that_is_wrong_ends_a_simulation_with_its_path() -> None:
    world = pw.World()
    with pytest.raises(pw.InputError, match=r"Stage fails: spec\.delay\.durationMilliseconds"):
        world.add(a_stage(FAILS, delay={"durationMilliseconds": "x"}))


def test_a_world_without_kubelets_has_no_stages() -> None:
    world = pw.World(stages=())
    assert STAGE not in world.components.lifecycle.kinds


IDLE = {
    "delay": {
        "durationMilliseconds": 1000,
        "jitterDurationFrom": {"cel": {"expression": "duration('2s')"}},
    },
    "next": {
        "event": {"type": "Normal", "reason": "Seen", "message": "{{ .metadata.name }}"},
        "statusTemplate": "phase: Failed",
    },
}
NOTES = (
    "Stage fails: spec.delay.jitterDurationFrom.cel: KWOK ignores it here; use jq",
    "Stage fails: spec.next.event.message: not a template; it is recorded as it is",
)


def test_what_has_no_effect_in_a_stage_is_an_event_of_it_where_failures_are_reported() -> None:
    notes, reported = Notes(), []
    world = pw.World(
        observers=[notes],
        report_failure=lambda _where, key, error: reported.append((key, str(error))),
    )
    world.add(make_node("n1"), a_stage(FAILS, **IDLE), make_pod("a", labels={"fails": "true"}))
    world.run_until("5s")
    assert phases(world) == {"a": "Failed"}, "the stage takes effect"
    found = [event for event in notes.events if event.reason == "StageWarning"]
    assert [(event.key, event.note) for event in found] == [("fails", note) for note in NOTES]
    assert reported == [("fails", note) for note in NOTES]


def test_what_has_no_effect_in_a_stage_is_a_warning_of_a_simulation() -> None:
    world = pw.World()
    with pytest.warns(UserWarning, match=r"KWOK ignores it here|not a template") as caught:
        world.add(a_stage(FAILS, **IDLE))
    assert [str(each.message) for each in caught] == list(NOTES)

"""Pods that admission rejects are created once their priority class exists."""

from __future__ import annotations

from typing import Any

import pytest

from podwright.apimachinery.schema import decode
from podwright.cluster.controllers.registry import WORKLOAD_CONTROLLERS
from podwright.cluster.controllers.tests.controller_cluster import Cluster
from podwright.simulation.world.observers import KubernetesEvent
from podwright.simulation.world.world import World
from podwright.testing import make_node

WORKLOAD = """
apiVersion: {version}
kind: {kind}
metadata: {{name: web}}
spec:
  selector: {selector}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      priorityClassName: urgent
      containers: [{{name: c, image: "web:1"}}]
"""

CLASS = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
"""


@pytest.mark.parametrize(
    ("version", "kind", "selector"),
    [
        ("apps/v1", "ReplicaSet", "{matchLabels: {app: web}}"),
        ("apps/v1", "Deployment", "{matchLabels: {app: web}}"),
        ("apps/v1", "StatefulSet", "{matchLabels: {app: web}}"),
        ("apps/v1", "DaemonSet", "{matchLabels: {app: web}}"),
        ("v1", "ReplicationController", "{app: web}"),
    ],
)
def test_pods_are_created_when_their_priority_class_is_added(version, kind, selector):
    world = Cluster(WORKLOAD_CONTROLLERS, nodes=1)
    world.apply(WORKLOAD.format(version=version, kind=kind, selector=selector))
    world.run(60)
    assert world.names() == []
    events = world.new_events()
    (refusal,) = [line for line in events if line.startswith("!")]
    assert "no PriorityClass with name urgent was found" in refusal
    failure = "Create Pod web-0 in StatefulSet web failed error:"
    note = failure if kind == "StatefulSet" else "Error creating:"
    assert len([line for line in events if "FailedCreate" in line and note in line]) == 1
    world.apply(CLASS)
    # The tries of upstream are 41 and 82 seconds after the first.
    world.run(21)
    assert not world.pods()
    world.run(1)
    (pod,) = world.pods()
    assert pod.priority == 1000


def conditions(world: Cluster, kind: str) -> list[tuple[str, str, str]]:
    (obj,) = world.all(kind)
    written = obj.raw["status"].get("conditions", ())
    return [(c["type"], c["status"], c["reason"]) for c in written if c["type"] == "ReplicaFailure"]


FAILURE = [("ReplicaFailure", "True", "FailedCreate")]


def test_a_deployment_reports_rejected_pods_until_they_are_accepted():
    world = Cluster(WORKLOAD_CONTROLLERS, nodes=1)
    text = WORKLOAD.format(
        version="apps/v1", kind="Deployment", selector="{matchLabels: {app: web}}\n  replicas: 3"
    )
    world.apply(text)
    world.run(60)
    # Upstream creates one pod, and the others after it succeeds; so there is one Event.
    assert len([line for line in world.new_events() if "FailedCreate" in line]) == 1
    assert conditions(world, "replicaset") == FAILURE
    assert conditions(world, "deployment") == FAILURE
    (replica_set,) = world.all("replicaset")
    (failure,) = replica_set.raw["status"]["conditions"]
    assert failure["message"].endswith("is forbidden: no PriorityClass with name urgent was found")
    assert replica_set.raw["status"]["replicas"] == 0
    world.apply(CLASS)
    # The tries of upstream are 41 and 82 seconds after the first.
    world.run(21)
    assert not world.pods()
    world.run(1)
    assert len(world.pods()) == 3
    assert conditions(world, "replicaset") == []
    assert conditions(world, "deployment") == []


def test_a_scaled_set_reports_another_rejection_and_does_not_retry():
    world = Cluster(WORKLOAD_CONTROLLERS, nodes=1)
    selector = "{matchLabels: {app: web}}"
    text = WORKLOAD.format(version="apps/v1", kind="ReplicaSet", selector=selector)
    world.apply(text)
    world.run(60)
    world.new_events()
    world.apply(text.replace("  selector", "  replicas: 2\n  selector"))
    world.run(60)
    assert len([line for line in world.new_events() if "FailedCreate" in line]) == 1
    assert conditions(world, "replicaset") == FAILURE
    world.apply(text.replace("  selector", "  replicas: 0\n  selector"))
    world.run(1)
    assert conditions(world, "replicaset") == []


class Said:
    """Records messages."""

    def __init__(self) -> None:
        self.notes: list[KubernetesEvent] = []

    def patched(self, old: Any, new: Any, now_ns: int) -> None: ...

    def decided(self, decisions: Any, now_ns: int) -> None: ...

    def event_recorded(self, event: KubernetesEvent, now_ns: int) -> None:
        self.notes.append(event)


def test_a_job_with_rejected_pods_runs_once_they_are_accepted():
    said = Said()
    world = World(observers=[said])
    spec = {
        "priorityClassName": "urgent",
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "web:1"}],
    }
    annotations = {"pod-complete.stage.kwok.x-k8s.io/delay": "5s"}
    world.add(
        make_node("n1"),
        decode(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": "j", "namespace": "default"},
                "spec": {
                    "completions": 2,
                    "parallelism": 2,
                    "template": {"metadata": {"annotations": annotations}, "spec": spec},
                },
            }
        ),
    )
    world.run()
    (job,) = world.store.list(("batch", "Job")).objects
    assert job.raw["status"].get("active", 0) == 0
    assert [note.reason for note in said.notes] == ["FailedCreate"]
    world.add(
        decode(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "urgent"},
                "value": 7,
            }
        )
    )
    world.run()
    (job,) = world.store.list(("batch", "Job")).objects
    assert job.raw["status"]["succeeded"] == 2

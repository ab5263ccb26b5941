"""Pods that the API refuses are made when what they lack is there."""

from __future__ import annotations

import pytest

from podwright.world.controllers.tests.driving import Cluster
from podwright.world.controllers.workloads import WORKLOAD_CONTROLLERS

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
def test_a_priority_class_that_comes_later_lets_pods_in(version, kind, selector):
    world = Cluster(WORKLOAD_CONTROLLERS, nodes=1)
    world.apply(WORKLOAD.format(version=version, kind=kind, selector=selector))
    world.run(60)
    assert world.names() == []
    (refusal,) = [line for line in world.told() if line.startswith("!")]
    assert "no PriorityClass with name urgent was found" in refusal
    world.apply(CLASS)
    world.run(5)
    (pod,) = world.pods()
    assert pod.priority == 1000

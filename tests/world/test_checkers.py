"""Checkers detect violations of their laws."""

from __future__ import annotations

from random import Random

import pytest
from tests.world.checkers.budgets import Budgets
from tests.world.checkers.capacity import Capacity
from tests.world.checkers.convergence import DESIRED_REPLICAS, Convergence
from tests.world.checkers.pod_lifecycle import PodLifecycle
from tests.world.workloads import a_budget, a_deployment, a_job, a_template, an_object

from podwright.apimachinery.objects import KubernetesObject, with_fields
from podwright.apimachinery.schema import decode
from podwright.simulation.world.world import World
from podwright.testing import make_node, make_pod


def on(name: str, cpu: str) -> KubernetesObject:
    return make_pod(name, cpu=cpu, node="n1", labels={"app": "web"})


def test_an_overcommitted_node():
    checker = Capacity()
    checker.changed(None, make_node("n1", cpu="4"), 0)
    checker.changed(None, on("a", "2"), 0)
    checker.changed(None, on("b", "2"), 0)
    assert not checker.violations
    checker.changed(None, on("c", "1m"), 7)
    assert checker.violations == ["Capacity: at 7: n1 has (4000, 110) and 3 pods with 4001m"]


def test_pods_that_are_lost_moved_or_restarted():
    checker = PodLifecycle()
    pod = on("a", "1")
    checker.changed(pod, None, 1)
    checker.changed(pod, with_fields(pod, "spec", node_name="n2"), 2)
    checker.changed(
        with_fields(pod, "status", phase="Failed"),
        with_fields(pod, "status", phase="Running"),
        3,
    )
    assert [entry.partition(": ")[2] for entry in checker.violations] == [
        "at 1: default/a is removed from n1 without a deletion",
        "at 2: default/a moved from n1 to n2",
        "at 3: default/a was terminal and is Running",
    ]


def world_without_controllers() -> World:
    world = World(controllers=())
    world.add(make_node("n1"), on("a", "1"))
    draw = Random(1)
    world.add(a_deployment(draw, "default", "web"), a_budget(draw, "default", "web"))
    world.add(a_job(draw, 1))
    world.run_until_ns(world.now_ns)
    return world


def test_a_budget_without_a_controller():
    checker = Budgets()
    checker.after_step(world_without_controllers())
    assert len(checker.violations) == 1


def test_workloads_without_controllers():
    checker = Convergence()
    checker.after_recovery(world_without_controllers())
    assert [" ".join(entry.split()[3:5]) for entry in checker.violations] == [
        "Deployment default/web",
        "Job default/j1",
    ]


@pytest.mark.parametrize(
    ("kind", "counts", "desired", "is_reported"),
    [
        pytest.param("Recreate", (1, 1), "1", False, id="upstream scales nothing"),
        pytest.param("Recreate", (1, 1), "2", True, id="not a changed number"),
        pytest.param("Recreate", (1, 0), "1", True, id="one active set"),
        pytest.param("RollingUpdate", (1, 1), "1", True, id="a rolling update"),
    ],
)
def test_a_recreated_deployment_that_upstream_leaves(kind, counts, desired, is_reported):
    world = World(controllers=())
    spec = {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "web"}},
        "template": a_template("web", "1", 1),
    }
    strategy = {"strategy": {"type": kind}}
    world.add(an_object("Deployment", "apps/v1", "default", "web", spec | strategy))
    made = world.store.get(("apps", "Deployment"), "default/web")
    assert made is not None
    owner = {
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": made.uid,
        "controller": True,
    }  # fmt: skip
    for number, count in enumerate(counts):
        name = f"web-{number}"
        replica_set = an_object(
            "ReplicaSet", "apps/v1", "default", name, spec | {"replicas": count}
        ).raw
        metadata = {**replica_set["metadata"], "ownerReferences": [owner]}
        metadata["annotations"] = {DESIRED_REPLICAS: desired}
        world.add(decode({**replica_set, "metadata": metadata}))
    checker = Convergence()
    checker.after_recovery(world)
    assert len(checker.violations) == is_reported

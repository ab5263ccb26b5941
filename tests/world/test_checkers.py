"""Checkers notice what they are there for."""

from __future__ import annotations

from random import Random

from tests.world.checkers.budgets import Budgets
from tests.world.checkers.capacity import Capacity
from tests.world.checkers.convergence import Convergence
from tests.world.checkers.lives import Lives
from tests.world.workloads import a_budget, a_deployment, a_job

from podwright.objects import KubernetesObject, with_fields
from podwright.simulation.world import World
from podwright.testing import make_node, make_pod


def on(name: str, cpu: str) -> KubernetesObject:
    return make_pod(name, cpu=cpu, node="n1", labels={"app": "web"})


def test_a_node_with_too_much_on_it():
    checker = Capacity()
    checker.changed(None, make_node("n1", cpu="4"), 0)
    checker.changed(None, on("a", "2"), 0)
    checker.changed(None, on("b", "2"), 0)
    assert not checker.broken
    checker.changed(None, on("c", "1m"), 7)
    assert checker.broken == ["Capacity: at 7: n1 has (4000, 110) and 3 pods with 4001m"]


def test_pods_that_vanish_move_or_rise_again():
    checker = Lives()
    pod = on("a", "1")
    checker.changed(pod, None, 1)
    checker.changed(pod, with_fields(pod, "spec", node_name="n2"), 2)
    checker.changed(
        with_fields(pod, "status", phase="Failed"),
        with_fields(pod, "status", phase="Running"),
        3,
    )
    assert [entry.partition(": ")[2] for entry in checker.broken] == [
        "at 1: default/a is gone from n1, unasked",
        "at 2: default/a went from n1 to n2",
        "at 3: default/a had ended and is Running",
    ]


def a_world_that_does_nothing() -> World:
    world = World(controllers=())
    world.add(make_node("n1"), on("a", "1"))
    draw = Random(1)
    world.add(a_deployment(draw, "default", "web"), a_budget(draw, "default", "web"))
    world.add(a_job(draw, 1))
    world.run(world.now_ns)
    return world


def test_a_budget_that_nobody_keeps():
    checker = Budgets()
    checker.at_rest(a_world_that_does_nothing())
    assert len(checker.broken) == 1


def test_workloads_that_nobody_looks_after():
    checker = Convergence()
    checker.at_peace(a_world_that_does_nothing())
    assert [" ".join(entry.split()[3:5]) for entry in checker.broken] == [
        "Deployment default/web",
        "Job default/j1",
    ]

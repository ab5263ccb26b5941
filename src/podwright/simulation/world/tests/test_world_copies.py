"""Forks and pickled copies of worlds and runs."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

import podwright as pw
from podwright.apimachinery.objects import KubernetesObject
from podwright.apimachinery.schema import decode
from podwright.cluster.kubelets import default_stages, read_stages
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.world import Condition, Delete, Stop, World
from podwright.simulation.world.inputs.conditions import OperationSequence, Step
from podwright.simulation.world.world_copies import CannotCopy, with_scheduler
from podwright.testing import make_node, make_pod

DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 4,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    },
}
HOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "MutatingWebhookConfiguration",
    "metadata": {"name": "hook"},
}
COPIES: dict[str, Callable[[pw.World], pw.World]] = {
    "fork": lambda world: world.fork(),
    "pickle": lambda world: pickle.loads(pickle.dumps(world)),
    "deepcopy": copy.deepcopy,
    "twice": lambda world: pickle.loads(pickle.dumps(world.fork())).fork(),
}


class Quota(pw.Plugin):
    """Refuse every second pod; the count is state that checkpoints do not hold."""

    name = "Quota"

    def __init__(self) -> None:
        self.count = 0

    def pre_filter(self, cycle: pw.Cycle) -> pw.Status:
        self.count += 1
        return pw.Status.unschedulable("every second") if self.count % 2 else pw.Status()


def busy_world(**options: Any) -> pw.World:
    """Return a world with running pods, later operations, inputs, retries and a controller."""
    world = pw.World(seed=3, **options)
    world.add(*[make_node(f"n{number}", cpu="4") for number in range(3)])
    world.add(*[make_pod(f"p{number}", cpu="1", duration="10m") for number in range(20)])
    world.add(decode(DEPLOYMENT))
    world.add(make_pod("late", cpu="1"), at="5m")
    world.do(pw.Cordon("n1"), at="6m")
    later = [(world.start_ns + minute * 60 * 10**9, pw.Cordon("n2")) for minute in (2, 20)]
    world.add_inputs(later)
    world.run_until("90s")
    return world


@pytest.mark.parametrize("plugins", [(), (Quota,)], ids=["in-tree", "a plugin with state"])
@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_continues_as_the_original_does(copied: str, plugins: Any) -> None:
    world = busy_world(plugins=plugins)
    other = COPIES[copied](world)
    ends = [each.run(until="2h") for each in (world, other)]
    first, second = ends
    assert first.node_of == second.node_of
    assert first.pending == second.pending
    assert first.summary == second.summary
    actions = [[bytes(entry.actions) for entry in run.log.entries()] for run in ends]
    assert actions[0] == actions[1]
    assert pw.verify(second.log, plugins=plugins).is_same


def test_a_fork_does_not_change_the_original() -> None:
    alone, world = busy_world(), busy_world()
    fork = world.fork()
    fork.do(pw.Drain("n0"))
    fork.add(make_node("n3", cpu="64"))
    assert fork.run().node_of != alone.run().node_of
    assert world.run().node_of == alone.run().node_of


def test_a_fork_continues_the_review_of_what_was_added() -> None:
    world = pw.World()
    world.add(make_node("n1"), decode(HOOK))
    fork = world.fork()
    fork.add(decode(HOOK | {"metadata": {"name": "other"}}))
    kinds = [each.review_so_far().review().ignored_kinds for each in (world, fork)]
    assert [[(each.kind, each.count) for each in found] for found in kinds] == [
        [(HOOK["kind"], 1)], [(HOOK["kind"], 2)],
    ]  # fmt: skip


def test_observers_stay_with_the_original() -> None:
    class Seen:
        def __init__(self) -> None:
            self.kinds: list[str] = []

        def changed(
            self, old: KubernetesObject | None, new: KubernetesObject | None, now_ns: int
        ) -> None:
            assert new is not None
            self.kinds.append(new.kind)

    mine, its = Seen(), Seen()
    world = pw.World(observers=[mine])
    fork = world.fork(observers=[its])
    count = len(mine.kinds)
    fork.add(make_node("n1"))
    assert (len(mine.kinds), set(its.kinds)) == (count, {"Node"})


STAGES = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: start}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: DoesNotExist}
    - {key: .spec.nodeName, operator: Exists}
    - {key: .status.phase, operator: In, values: [Pending]}
  delay: {durationMilliseconds: 5000, jitterDurationMilliseconds: 9000}
  next: {statusTemplate: 'phase: {{ with .spec.nodeName }}Running{{ end }}'}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: end}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions: [{cel: {expression: 'self.status.phase == "Running"'}}]
  delay: {durationFrom: {cel: {expression: 'duration("9s")'}}}
  next: {statusTemplate: 'phase: Succeeded'}
"""


@pytest.mark.parametrize("copied", COPIES)
def test_stages_of_the_user_are_copied(copied: str) -> None:
    own = read_stages(STAGES, source="stages.yaml")
    world = pw.World(stages=(*default_stages()[:1], *own))
    world.add(make_node("n1"), make_pod("p"))
    world.run_until("1s")
    other = COPIES[copied](world)
    first, second = [each.run(until="1m") for each in (world, other)]
    assert first.summary.counts.succeeded == 1
    assert first.summary == second.summary


def test_a_world_with_a_local_function_says_why_it_is_not_pickled() -> None:
    def unreachable(call: object) -> NoReturn:
        raise AssertionError(call)

    world = pw.World(call_extender=unreachable)
    with pytest.raises(
        CannotCopy, match=r"^the world cannot be pickled: call_extender: .*fork\(\)$"
    ):
        pickle.dumps(world)
    world.fork()


def test_a_world_of_a_server_says_why_it_is_not_copied() -> None:
    world = pw.World(is_served=True)
    with pytest.raises(CannotCopy, match="a world that a server drives cannot be copied"):
        world.fork()
    with pytest.raises(CannotCopy):
        pickle.dumps(world)


def test_a_pickled_run_has_the_same_results(tmp_path: Path) -> None:
    objects = [make_node("n1", cpu="2"), make_pod("a", cpu="1"), make_pod("b", cpu="4")]
    runs = [
        pw.simulate(objects),
        pw.simulate(objects, output=tmp_path / "run"),
        pw.Run.open(tmp_path / "run"),
        busy_world().run(),
    ]
    for run in runs:
        again = pickle.loads(pickle.dumps(run))
        assert (again.node_of, again.pending) == (run.node_of, run.pending)
        assert again.summary == run.summary
        for name, table in run.tables.items():
            assert again.tables[name].equals(table), name
        pod = next(iter(run.pending), "default/late")
        assert str(again.explain(pod)) == str(run.explain(pod))


def test_a_scheduler_says_why_it_is_not_pickled_and_a_scenario_is() -> None:
    with pytest.raises(TypeError, match=r"a Scheduler cannot be pickled: .* podwright\.Scenario"):
        pickle.dumps(pw.Scheduler())
    scenario = pw.Scenario([make_node("n1"), make_pod("a")], seed=4)
    again = pickle.loads(pickle.dumps(scenario)).scheduler()
    assert [decision.node for decision in again.schedule_all()] == ["n1"]


def test_the_pods_of_a_run_are_a_table() -> None:
    run = pw.simulate([make_node("n1", cpu="2"), make_pod("a", cpu="1"), make_pod("b", cpu="4")])
    assert pw.to_arrow(run).equals(run.tables["waits"])
    frame = pw.to_pandas(run).set_index("pod")
    assert frame.loc["a", "node"] == "n1"
    assert frame.loc["b", "outcome"] == "Pending"
    assert str(frame["wait_ns"].dtype) == "Int64"
    with pytest.raises(
        pw.ArgumentError, match="source: must be an explanation, several, decisions or a"
    ):
        pw.to_pandas(3)  # type: ignore[arg-type]


def test_a_world_whose_operations_wait_is_not_copied():
    world = pw.World()
    wait = Step(place="wait", wait=Condition(settled=True), operation=Stop())
    world.add_sequence(OperationSequence(iter([wait])))
    with pytest.raises(CannotCopy, match=r"operations wait for conditions"):
        world.fork()


def test_a_fork_counts_the_operations_that_find_no_object_on_its_own():
    world = World()
    world.add_inputs([(world.now_ns, Delete(("", "Pod"), "a/x", place="e"))])
    fork = world.fork()
    fork.run(progress=False)
    assert (fork.missing.count, world.missing.count) == (1, 0)
    world.run(progress=False)
    assert world.fork().missing == world.missing == fork.missing
    assert with_scheduler(world, SchedulerOptions()).missing == fork.missing

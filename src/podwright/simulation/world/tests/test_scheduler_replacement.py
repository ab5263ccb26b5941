"""Another scheduler in a world that runs."""

from __future__ import annotations

import pytest

from podwright.apimachinery.objects import InputError
from podwright.scheduler.config import KubeSchedulerConfiguration, read_configuration
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording import Cycles, explain_cycle
from podwright.simulation.world import (
    Apply,
    ClientTiming,
    ClientTimings,
    Condition,
    CycleTiming,
    Operation,
    Stop,
    Timing,
    World,
    with_scheduler,
)
from podwright.simulation.world.inputs.conditions import OperationSequence, Step
from podwright.simulation.world.timing.distributions import Distribution
from podwright.testing import make_node, make_pod

SECOND = 1_000_000_000


def configuration_of(**profile: object) -> KubeSchedulerConfiguration:
    return read_configuration(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"schedulerName": "default-scheduler", **profile}],
        },
        source="test",
    )


PACKING = configuration_of(
    pluginConfig=[
        {
            "name": "NodeResourcesFit",
            "args": {
                "scoringStrategy": {
                    "type": "MostAllocated",
                    "resources": [{"name": "cpu", "weight": 1}],
                }
            },
        }
    ],
    plugins={"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}},
)


def test_the_new_configuration_decides_from_now_on():
    world = World(seed=1)
    world.add(make_node("used", cpu="8"), make_node("empty", cpu="8"))
    world.add(make_pod("base", cpu="4", node="used"))
    world.add(make_pod("spread", cpu="1"))
    world.run_until_ns(world.now_ns + SECOND)
    assert world.node_of["default/spread"] == "empty"
    changed = with_scheduler(world, SchedulerOptions(configuration=PACKING))
    changed.add(make_pod("packed", cpu="1"))
    changed.run_until_ns(changed.now_ns + SECOND)
    assert changed.node_of["default/packed"] == "used"


def test_pods_that_wait_are_tried_by_the_new_scheduler():
    world = World()
    pod = make_pod("web", cpu="1", scheduler="mine")
    world.add(make_node("n1", cpu="8"), pod)
    world.run_until_ns(world.now_ns + SECOND)
    assert not world.node_of
    mine = configuration_of(schedulerName="mine")
    changed = with_scheduler(world, SchedulerOptions(configuration=mine))
    changed.run_until_ns(changed.now_ns + SECOND)
    assert changed.node_of == {"default/web": "n1"}


def test_the_decisions_of_both_schedulers_can_be_explained():
    world = World()
    world.add(make_node("n1", cpu="8"), make_pod("first", cpu="1"))
    world.run_until_ns(world.now_ns + SECOND)
    changed = with_scheduler(world, SchedulerOptions(configuration=PACKING))
    changed.add(make_pod("second", cpu="1"))
    changed.run_until_ns(changed.now_ns + SECOND)
    assert explain_cycle(world.log, "default/first").decision.node == "n1"
    assert explain_cycle(changed.log, "default/second").decision.node == "n1"
    # Pods that are bound already are no decisions of the new scheduler.
    assert list(Cycles(changed.log).pods) == ["default/second"]


def test_controllers_and_stages_go_on():
    world = World()
    world.add(make_node("n1", cpu="8"), make_pod("web", cpu="1"))
    world.run_until_ns(world.now_ns + 1)
    changed = with_scheduler(world, SchedulerOptions())
    changed.run_until_ns(changed.now_ns + 30 * SECOND)
    assert [pod.status.phase for pod in changed.pods] == ["Running"]


def test_a_configuration_that_is_not_valid_leaves_the_world_as_it_was():
    world = World()
    world.add(make_node("n1", cpu="8"))
    wrong = configuration_of(plugins={"score": {"enabled": [{"name": "NoSuchPlugin"}]}})
    with pytest.raises(InputError, match="NoSuchPlugin"):
        with_scheduler(world, SchedulerOptions(configuration=wrong))
    world.add(make_pod("web", cpu="1"))
    world.run_until_ns(world.now_ns + SECOND)
    assert world.node_of == {"default/web": "n1"}


def test_what_users_do_later_goes_on():
    world = World()
    world.add(make_node("n1", cpu="8"))
    done: list[Operation] = []
    later = [(world.now_ns + at_s * SECOND, Apply(make_pod(f"p{at_s}"))) for at_s in (1, 3)]
    world.add_inputs(later, operate=done.append)
    wait = Step(place="wait", wait=Condition(scheduled="", count=1), operation=Stop())
    world.add_sequence(OperationSequence(iter([wait])))
    world.run_until_ns(world.now_ns + 2 * SECOND)
    changed = with_scheduler(world, SchedulerOptions(configuration=PACKING))
    changed.run_until_ns(changed.now_ns + 2 * SECOND)
    assert done == [operation for _, operation in later]
    changed.add(make_pod("web"))
    changed.run_until_ns(changed.now_ns + SECOND)
    assert done[2:] == [Stop()]


def test_a_new_scheduler_takes_as_long_as_the_timing_model_says():
    world = World(timing=Timing(cycle=CycleTiming(constant="10ms")), stages=(), controllers=())
    world.add(make_node("n1", cpu="8"), make_pod("web", scheduler="mine"))
    world.run_until_ns(world.now_ns + SECOND)
    mine = configuration_of(schedulerName="mine")
    changed = with_scheduler(world, SchedulerOptions(configuration=mine))
    changed.run_until_ns(changed.now_ns + 9_000_000)
    assert not changed.node_of
    changed.run_until_ns(changed.now_ns + 1_000_000)
    assert changed.node_of == {"default/web": "n1"}


def test_a_new_scheduler_continues_the_draws_and_the_queues_of_the_old_one():
    """A client that has used up its burst waits as long, and no draw comes twice."""
    timing = Timing(
        cycle=CycleTiming(constant="10ms"),
        watch_delay=Distribution(distribution="uniform", min="1ms", max="5ms"),
        clients=ClientTimings(scheduler=ClientTiming(qps=0.1, burst=1)),
    )
    world = World(timing=timing, stages=(), controllers=(), seed=4)
    world.add(make_node("n1", cpu="8"), make_pod("a"))
    world.run_until_ns(world.now_ns + SECOND)
    assert world.node_of == {"default/a": "n1"}
    changed = with_scheduler(world, SchedulerOptions(configuration=PACKING))
    before, after = world.components.delays, changed.components.delays
    assert before is not None
    assert after is not None
    assert after is not before
    assert after.state() == before.state()
    # Two writes of the scheduler, a second apart at most, are ten seconds apart.
    changed.add(make_pod("b"))
    changed.run_until_ns(changed.now_ns + 8 * SECOND)
    assert list(changed.node_of) == ["default/a"]
    changed.run_until_ns(changed.now_ns + 4 * SECOND)
    assert list(changed.node_of) == ["default/a", "default/b"]


def test_a_world_without_delays_has_none_with_a_new_scheduler():
    world = World(stages=(), controllers=())
    assert with_scheduler(world, SchedulerOptions()).components.delays is None

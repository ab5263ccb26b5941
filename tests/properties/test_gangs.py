"""Laws of both kinds of gangs under random clusters: all or none, and none is stuck."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, strategies as st
from tests.properties.effort import effort
from tests.stories.runner import Story

pytestmark = pytest.mark.property

ROUNDS = 6
LONGER_THAN_ANY_WAIT_S = 310


class Gang(NamedTuple):
    """Pods of one size, of which a minimum number must be scheduled."""

    name: str
    least: int
    members: int
    cpu: int

    @property
    def pods(self) -> list[str]:
        return [f"default/{self.name}-{i}" for i in range(self.members)]


class Scene(NamedTuple):
    """The CPUs of nodes, gangs, and the order in which all are added."""

    nodes: list[int]
    gangs: list[Gang]
    commands: list[str]


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    nodes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    gangs = [
        Gang(f"g{i}", draw(st.integers(1, 4)), draw(st.integers(1, 5)), draw(st.integers(1, 2)))
        for i in range(draw(st.integers(1, 4)))
    ]
    commands = [f"node n{i} cpu={cpu}" for i, cpu in enumerate(nodes)]
    commands += [f"group default/{gang.name} min={gang.least}" for gang in gangs]
    commands += [
        f"pod {pod} cpu={gang.cpu} group={gang.name}" for gang in gangs for pod in gang.pods
    ]
    commands += ["cycle"] * draw(st.integers(0, 4))
    return Scene(nodes, gangs, draw(st.permutations(commands)))


def come_to_rest(kind: str, scene: Scene) -> Story:
    """Run until no work is left; the story asserts the machine's invariants."""
    story = Story([[kind]])
    for command in scene.commands:
        story.run(f"0s {command}")
    cycle_count = sum(gang.members for gang in scene.gangs) + 1
    for index in range(ROUNDS):
        start_ms = (index + 1) * LONGER_THAN_ANY_WAIT_S * 1000
        # An idle scheduler pops pods out of backoff immediately, so there is always a next one.
        # Each cycle has its own time: Coscheduling orders groups by the times of their failures.
        for cycle in range(cycle_count):
            story.run(f"{(start_ms + cycle) / 1000}s cycle")
        at = f"{(start_ms + cycle_count) / 1000}s"
        story.run(f"{at} flush_backoff")
        story.run(f"{at} flush_unschedulable")
    story.run(f"{(ROUNDS + 1) * LONGER_THAN_ANY_WAIT_S}s wait")
    return story


def node_of(story: Story) -> dict[str, str]:
    names = story.server.names("Pod")
    pods = [pod for pod in map(story.machine.pod, names) if pod is not None]
    return {pod.key: pod.spec.node_name for pod in pods if pod.spec.node_name}


def free_cpus(story: Story, scene: Scene) -> list[int]:
    free = dict(enumerate(scene.nodes))
    placed = node_of(story)
    for gang in scene.gangs:
        for pod in gang.pods:
            if pod in placed:
                free[int(placed[pod].removeprefix("n"))] -= gang.cpu
    return list(free.values())


@pytest.mark.parametrize("kind", ["gangs", "coscheduling"])
@effort(150)
@given(scene=scenes())
def test_gangs_are_scheduled_completely_or_not_at_all_and_never_block_each_other(
    kind: str, scene: Scene
) -> None:
    story = come_to_rest(kind, scene)
    assert not story.machine.waiting(), "a pod waits at Permit for longer than its timeout"
    assert not story.machine.assumed(), "a pod holds a node without being bound"
    free = free_cpus(story, scene)
    assert min(free) >= 0, f"a node is overcommitted: {free}"
    placed = node_of(story)
    for gang in scene.gangs:
        bound = sum(pod in placed for pod in gang.pods)
        assert bound == 0 or bound >= gang.least, f"{gang}: {bound} bound"
        if bound == 0 and gang.members >= gang.least:
            room = sum(cpus // gang.cpu for cpus in free)
            assert room < gang.least, f"{gang} is pending beside {free} free CPUs"

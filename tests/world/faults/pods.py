"""Faults of pods: deletions, changed labels, preemption."""

from __future__ import annotations

from random import Random

from tests.world.faults import Fault

from podwright.apimachinery.objects import encode
from podwright.apimachinery.schema import decode
from podwright.simulation.world.inputs.operations import Apply, Delete
from podwright.simulation.world.world import World
from podwright.testing import make_pod

POD = ("", "Pod")


def delete(draw: Random, world: World) -> None:
    """Delete a pod."""
    if world.pods:
        world.do(Delete(POD, draw.choice(world.pods).key))


def relabel(draw: Random, world: World) -> None:
    """Change the label of a pod so that its set releases it, or change it back."""
    pods = [pod for pod in world.pods if "app" in pod.metadata.labels and not pod.is_terminating]
    if not pods:
        return
    pod = draw.choice(pods)
    document = dict(encode(pod))
    metadata = dict(document["metadata"])
    app = metadata["labels"]["app"]
    new = app.removesuffix("-out") if app.endswith("-out") else f"{app}-out"
    metadata["labels"] = metadata["labels"] | {"app": new}
    world.do(Apply(decode(document | {"metadata": metadata})))


def add_urgent_pod(draw: Random, world: World) -> None:
    """Add a pod of high priority, which may preempt others."""
    name = f"urgent-{draw.randrange(6)}"
    if world.store.get(POD, f"default/{name}") is None:
        cpu = draw.choice(("500m", "1", "3"))
        world.add(make_pod(name, cpu=cpu, priority=draw.choice((10, 1000))))


POD_FAULTS: tuple[Fault, ...] = (delete, delete, relabel, add_urgent_pod)

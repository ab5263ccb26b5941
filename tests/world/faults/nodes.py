"""Nodes fall silent, return, are drained, cordoned, tainted, taken away and brought back."""

from __future__ import annotations

from random import Random

from tests.world.faults import Fault

from podwright.objects import KubernetesObject, Node, decode, encode
from podwright.simulation.operations import Apply, Cordon, Delete, Drain, FailNode, RestoreNode
from podwright.simulation.world import World
from podwright.testing import make_node

ZONES = ("a", "b")


def a_node(number: int) -> KubernetesObject:
    """Return a node; its number says where it is."""
    zone = ZONES[number % len(ZONES)]
    return make_node(f"n{number}", cpu="4", labels={"topology.kubernetes.io/zone": zone})


def _one(draw: Random, world: World) -> Node | None:
    return draw.choice(world.nodes) if world.nodes else None


def fall_silent(draw: Random, world: World) -> None:
    """A kubelet stops to report, and be it one of a node that is not there."""
    world.do(FailNode(f"n{draw.randrange(7)}"))


def come_back(draw: Random, world: World) -> None:
    """A kubelet reports again, or always has."""
    if node := _one(draw, world):
        world.do(RestoreNode(node.name))


def drain(draw: Random, world: World) -> None:
    """Somebody drains a node."""
    if node := _one(draw, world):
        world.do(Drain(node.name))


def cordon(draw: Random, world: World) -> None:
    """Somebody cordons or uncordons a node."""
    if node := _one(draw, world):
        world.do(Cordon(node.name, draw.random() < 0.5))


def taint(draw: Random, world: World) -> None:
    """Somebody taints a node, or takes that back."""
    if node := _one(draw, world):
        effect = draw.choice(("NoSchedule", "NoExecute"))
        with_taints(world, node, [{"key": "x", "effect": effect}] if draw.random() < 0.6 else [])


def with_taints(world: World, node: Node, own: list[dict[str, str]]) -> None:
    """Give a node other taints of ours; those of controllers stay."""
    document = dict(encode(node))
    spec = dict(document.get("spec") or {})
    kept = [each for each in spec.get("taints") or () if each["key"] != "x"]
    spec["taints"] = [*kept, *own]
    world.do(Apply(decode(document | {"spec": spec})))


def take_away(draw: Random, world: World) -> None:
    """A node is deleted, if there are others."""
    if len(world.nodes) > 2:
        node = draw.choice(world.nodes)
        world.do(Delete(("", "Node"), node.name))


def bring(draw: Random, world: World) -> None:
    """A node comes, or one that was there before comes again."""
    new = a_node(draw.randrange(8))
    if world.store.get(("", "Node"), new.name) is None:
        world.add(new)


NODE_FAULTS: tuple[Fault, ...] = (
    fall_silent,
    come_back,
    come_back,
    drain,
    cordon,
    taint,
    take_away,
    bring,
)

"""Faults of nodes: kubelets stop and resume; nodes are drained, cordoned, tainted and removed."""

from __future__ import annotations

from random import Random

from tests.world.faults import Fault

from podwright.apimachinery.objects import KubernetesObject, Node, encode
from podwright.apimachinery.schema import decode
from podwright.simulation.world.inputs.operations import (
    Apply,
    Cordon,
    Delete,
    Drain,
    FailNode,
    RestoreNode,
)
from podwright.simulation.world.world import World
from podwright.testing import make_node

ZONES = ("a", "b")


def a_node(number: int) -> KubernetesObject:
    """Return a node; its number selects its zone."""
    zone = ZONES[number % len(ZONES)]
    return make_node(f"n{number}", cpu="4", labels={"topology.kubernetes.io/zone": zone})


def _one(draw: Random, world: World) -> Node | None:
    return draw.choice(world.nodes) if world.nodes else None


def stop_kubelet(draw: Random, world: World) -> None:
    """Stop the kubelet of a node, which may not exist."""
    world.do(FailNode(f"n{draw.randrange(7)}"))


def resume_kubelet(draw: Random, world: World) -> None:
    """Resume the kubelet of a node, which may be running."""
    if node := _one(draw, world):
        world.do(RestoreNode(node.name))


def drain(draw: Random, world: World) -> None:
    """Drain a node."""
    if node := _one(draw, world):
        world.do(Drain(node.name))


def cordon(draw: Random, world: World) -> None:
    """Cordon or uncordon a node."""
    if node := _one(draw, world):
        world.do(Cordon(node.name, draw.random() < 0.5))


def taint(draw: Random, world: World) -> None:
    """Taint a node, or remove the taint."""
    if node := _one(draw, world):
        effect = draw.choice(("NoSchedule", "NoExecute"))
        with_taints(world, node, [{"key": "x", "effect": effect}] if draw.random() < 0.6 else [])


def with_taints(world: World, node: Node, own: list[dict[str, str]]) -> None:
    """Replace the taints of this module on a node; taints of controllers stay."""
    document = dict(encode(node))
    spec = dict(document.get("spec") or {})
    kept = [each for each in spec.get("taints") or () if each["key"] != "x"]
    spec["taints"] = [*kept, *own]
    world.do(Apply(decode(document | {"spec": spec})))


def delete_node(draw: Random, world: World) -> None:
    """Delete a node, if there are others."""
    if len(world.nodes) > 2:
        node = draw.choice(world.nodes)
        world.do(Delete(("", "Node"), node.name))


def add_node(draw: Random, world: World) -> None:
    """Add a node, which may have existed before."""
    new = a_node(draw.randrange(8))
    if world.store.get(("", "Node"), new.name) is None:
        world.add(new)


NODE_FAULTS: tuple[Fault, ...] = (
    stop_kubelet,
    resume_kubelet,
    resume_kubelet,
    drain,
    cordon,
    taint,
    delete_node,
    add_node,
)

"""Plans of scaling: what an autoscaler would do for a cluster in the time to come.

It takes part in a world with a copy of the cluster, as in any simulation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import msgspec

from podwright.apimachinery.objects import Document, Node, Object, Pod, encode, pending_requests
from podwright.cluster.controllers import ALL_CONTROLLERS
from podwright.scheduler.framework import CallExtender
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import (
    Autoscaling,
    AutoscalingExplanation,
    ClusterAutoscaler,
    GroupSizes,
    NodeGroupSizes,
    NodeRemoval,
    explain_autoscaling,
    explain_scale_down,
    pool_of,
)
from podwright.simulation.capacity.drains import Move, moves_of, planned_world
from podwright.simulation.capacity.filling import Advance, unwatched
from podwright.simulation.world import START_NS, World

_STEPS: Final = 60
"""How often progress is reported."""


class ScalingPlan(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What an autoscaler does for a cluster.

    Attributes
    ----------
    pods : tuple of AutoscalingExplanation
        Which groups help the pods that are pending at the start.
    nodes : tuple of NodeRemoval
        Whether each node would be removed at the start, and what keeps it.
    groups : tuple of GroupSizes
        Their sizes over time.
    new_nodes : tuple of dict
        The manifests of the nodes that it adds.
    removed_nodes : tuple of str
    moves : tuple of Move
        The pods that have another node at the end; those that were pending come from "".
    pending : tuple of str
        The pods without a node at the end.
    """

    pods: tuple[AutoscalingExplanation, ...]
    nodes: tuple[NodeRemoval, ...]
    groups: tuple[GroupSizes, ...]
    new_nodes: tuple[Document, ...]
    removed_nodes: tuple[str, ...]
    moves: tuple[Move, ...]
    pending: tuple[str, ...]


def planned_scaling(
    objects: Sequence[Object],
    autoscaling: Autoscaling,
    options: SchedulerOptions,
    duration_ns: int,
    *,
    call_extender: CallExtender | None = None,
    advance: Advance = unwatched,
) -> ScalingPlan:
    """Let an autoscaler take part in a copy of a cluster for some time.

    Parameters
    ----------
    objects : sequence of Object
        The cluster.
    autoscaling : Autoscaling
    options : SchedulerOptions
    duration_ns : int
        How long the copy runs once its pods have settled.
    call_extender : callable, optional
        Of the scheduler; the autoscaler's own trials do without extenders, as upstream's.
    advance : callable
        Receives how many parts of the time have passed, and how many there are; while the pods
        settle, as for `settle_world`.

    Raises
    ------
    InputError
        If a group is wrong.
    """
    if not options.start_ns:
        options = msgspec.structs.replace(options, start_ns=START_NS)
    explained = explain_autoscaling(objects, autoscaling, (), options, expands_workloads=False)
    removals = explain_scale_down(
        objects, autoscaling, options, now_ns=options.start_ns, expands_workloads=False
    )
    sizes = NodeGroupSizes(autoscaling, options.start_ns)
    autoscaler = partial(ClusterAutoscaler, autoscaling=autoscaling, scheduler=options)
    world = planned_world(
        objects,
        options,
        call_extender,
        controllers=(*ALL_CONTROLLERS, autoscaler),
        observers=(sizes,),
        advance=advance,
    )
    start_ns = world.now_ns
    for step in range(1, _STEPS + 1):
        world.run_until_ns(start_ns + duration_ns * step // _STEPS, progress=False)
        advance(step, _STEPS)
    before = {obj.name for obj in objects if isinstance(obj, Node)}
    after = {node.name: node for node in world.nodes}
    label = autoscaling.options.pool_label
    templates = {each.name: each.node_template(label) for each in autoscaling.groups}
    return ScalingPlan(
        pods=tuple(explained),
        nodes=tuple(removals),
        groups=sizes.report(world.now_ns),
        new_nodes=tuple(
            encode(templates[pool_of(node, label)].node(name))
            for name, node in after.items()
            if name not in before
        ),
        removed_nodes=tuple(sorted(before - after.keys())),
        moves=tuple(_moves(objects, world)),
        pending=tuple(
            pod.key for pod in world.pods if not pod.spec.node_name and not pod.is_terminal
        ),
    )


def _moves(objects: Sequence[Object], world: World) -> Iterator[Move]:
    before = {obj.key: obj for obj in objects if isinstance(obj, Pod) and not obj.is_terminal}
    after = {pod.key: pod for pod in world.pods}
    for key, pod in before.items():
        to = after[key].spec.node_name if key in after else pod.spec.node_name
        if to != pod.spec.node_name:
            requests = pending_requests(pod)
            node = pod.spec.node_name
            yield Move(pod=key, node=node, replacement=key, to=to, requests=requests)
    leaving = [pod for key, pod in before.items() if key not in after and pod.spec.node_name]
    yield from moves_of(leaving, (pod for key, pod in after.items() if key not in before))

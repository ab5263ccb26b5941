"""Plans over HTTP: what fits, which nodes to add, what an autoscaler would do, how to drain.

A copy of the process counts and simulates; the cluster does not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Final, TypeAlias

import msgspec
from starlette.responses import Response

from podwright.apimachinery.objects import (
    Document,
    InputError,
    Object,
    encode,
    pending_requests,
    read_duration,
    timestamp_text,
)
from podwright.cluster.controllers import expand
from podwright.online.apiserver.control.endpoints import ControlledCluster, Endpoint, declared
from podwright.online.apiserver.control.scheduling.configuration import (
    UNKNOWN,
    SchedulerParameter,
    chosen_scheduler,
)
from podwright.online.apiserver.control.scheduling.progress import answers, reply
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.scheduling.present_scheduler import (
    present_objects,
    present_scheduler,
    stored_objects,
)
from podwright.online.apiserver.scheduling.served_scheduler import ServedScheduler
from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.autoscaling import parse_node_groups, pool_groups
from podwright.simulation.capacity import (
    Advance,
    CapacityQuestion,
    CapacityScope,
    DrainPlan,
    Move,
    ScalingPlan,
    capacity_in,
    capacity_review,
    drain_plan,
    planned_scaling,
    pool_types,
    purchase_document,
    purchase_in,
    read_node_types,
)
from podwright.simulation.files import ObjectReader, Place

SCALING_MAX_NS: Final = 7 * 24 * 3600 * 1_000_000_000
"""The longest time in which an autoscaler takes part."""

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class CapacityRequest(CapacityScope, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to count; see `podwright capacity`.

    Attributes
    ----------
    pods : list of dict
        Manifests of the pods and workloads to count, in turn.
    ratio : list of int
        How many pods of each are in a set.
    preemption : bool
        Whether pods of lower priority are evicted to make room.
    max_limit : int
        The most pods; 0 for no limit.
    exclude_nodes : list of str
        Nodes that are left out, with their pods.
    pool_label : str
        The label of nodes that names their pool; "" for the known ones.
    headroom : bool
        Whether to count how many more pods of each existing workload fit.
    loss : list of str
        Of what the loss is tried: `node`, `zone`, `pool`.
    progress : bool
        Whether the reply is a stream of lines of JSON, as for `WhatIf`.
    """

    pods: tuple[Document, ...] = ()
    progress: bool = False


class ClusterCapacityReview(msgspec.Struct, frozen=True, kw_only=True):
    """The report of cluster-capacity, with zones, pools, sets, headroom and losses in its status.

    Attributes
    ----------
    kind : str
    spec, status : dict
    """

    kind: str
    spec: dict[str, Any]
    status: dict[str, Any]


class PurchaseRequest(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """Which nodes can be bought for the pending pods; see `podwright capacity --buy`.

    Attributes
    ----------
    types : list of dict
        As in a file of types; none for the pools of the cluster, each node at price 1.
    pods : list of dict
        Manifests of pods and workloads that need nodes besides the pending pods.
    pool_label : str
        The label of nodes that names their pool; "" for the known ones.
    progress : bool
        Whether the reply is a stream of lines of JSON, as for `WhatIf`.
    """

    types: list[dict[str, Any]] = []
    pods: list[dict[str, Any]] = []
    pool_label: str = ""
    progress: bool = False


class PurchaseReply(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The cheapest nodes that were found.

    Attributes
    ----------
    nodes : list of dict
        How many of each type, and their price.
    price, bound, gap : float
        No mix is cheaper than the bound; the gap is its distance as a share of the price.
    is_cheapest : bool
        Whether all cheaper mixes were tried.
    pending, scheduled, mixes : int
        Pods that were pending, those of them that have a node then, and mixes that were tried.
    unplaced : list of dict
        Pods that have no node even then, and why.
    new_nodes : list of dict
        The manifests of the nodes.
    moves : list of dict
        The node that each pod gets.
    """

    nodes: list[dict[str, Any]]
    price: float
    bound: float
    gap: float
    is_cheapest: bool
    pending: int
    scheduled: int
    mixes: int
    unplaced: list[dict[str, Any]]
    new_nodes: list[dict[str, Any]]
    moves: list[dict[str, Any]]


class AutoscalingRequest(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """The node groups of an autoscaler, and how long it takes part in a copy of the cluster.

    Attributes
    ----------
    groups : list of dict
        As in a file of node groups; none for those of `podwright up --node-groups`, or without
        these for a group of each pool, without known limits.
    options : dict
        Of the autoscaler, as in such a file.
    duration : str
    progress : bool
        Whether the reply is a stream of lines of JSON, as for `WhatIf`.
    """

    groups: list[dict[str, Any]] = []
    options: dict[str, Any] = {}
    duration: str = "30m"
    progress: bool = False


class DrainPlanRequest(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    """Which nodes to drain; see `podwright drain-plan`.

    Attributes
    ----------
    nodes : list of str
    selector : str
        The labels of nodes to drain.
    surge : int
        Upgrade: so many nodes at a time get a new node each before they are drained.
    most_nodes : int
        The most nodes of a step; 0 for no limit.
    progress : bool
        Whether the reply is a stream of lines of JSON, as for `WhatIf`.
    """

    nodes: list[str] = []
    selector: str = ""
    surge: _Count = 0
    most_nodes: _Count = 0
    progress: bool = False


class _Planning:
    """The endpoints."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._turns = cluster.turns
        self._readers = Readers(cluster.turns)

    @answers("/capacity", reply=ClusterCapacityReview, problems={404: UNKNOWN})
    async def count(self, body: CapacityRequest, query: SchedulerParameter) -> Response:
        """Count how many more pods fit, where, and what stops the next one."""
        cluster = self._turns.cluster
        served = chosen_scheduler(cluster, query)

        def answer(advance: Advance) -> Document:
            scope = {name: getattr(body, name) for name in CapacityScope.__struct_fields__}
            question = CapacityQuestion(pods=tuple(_read(body.pods)), **scope)
            found = capacity_in(
                present_scheduler(cluster, served), present_objects(served), question, advance
            )
            now = timestamp_text(served.world.now_ns)
            return capacity_review(found, max_limit=body.max_limit, now=now)

        return await reply(self._readers, answer, has_progress=body.progress)

    @answers("/drain-plan", reply=DrainPlan, problems={404: UNKNOWN})
    async def drain(self, body: DrainPlanRequest, query: SchedulerParameter) -> Response:
        """Plan the drains of nodes: an order, what moves where, what blocks."""
        served = chosen_scheduler(self._turns.cluster, query)

        def answer(advance: Advance) -> DrainPlan:
            return drain_plan(
                stored_objects(served.world.store),
                body.nodes,
                _options_now(served),
                selector=body.selector,
                surge=body.surge,
                most_nodes=body.most_nodes,
                call_extender=served.call_extender,
                advance=advance,
            )

        return await reply(self._readers, answer, has_progress=body.progress)

    @answers("/purchase", reply=PurchaseReply, problems={404: UNKNOWN})
    async def buy(self, body: PurchaseRequest, query: SchedulerParameter) -> Response:
        """Find the cheapest nodes for the pending pods, and for those of the request."""
        served = chosen_scheduler(self._turns.cluster, query)
        cluster = self._turns.cluster

        def answer(advance: Advance) -> Document:
            load = _read(body.pods)
            scheduler, objects = present_scheduler(cluster, served), present_objects(served)
            added = expand(load).with_objects(load)
            scheduler.add(*added)
            objects += added
            if body.types:
                types = read_node_types(msgspec.json.encode({"types": body.types}), "")
            else:
                types = pool_types(objects, body.pool_label)
            pending = dict(scheduler.pending)
            found = purchase_in(scheduler, objects, types, advance, pool_label=body.pool_label)
            moves = [
                Move(pod=key, node="", to=node, requests=pending_requests(pending[key]))
                for key, node in found.placed.items()
            ]
            return purchase_document(found, types) | {
                "newNodes": [encode(node) for node in found.added],
                "moves": [msgspec.structs.asdict(move) for move in moves],
            }

        return await reply(self._readers, answer, has_progress=body.progress)

    @answers("/autoscaling", reply=ScalingPlan, problems={404: UNKNOWN})
    async def scale(self, body: AutoscalingRequest, query: SchedulerParameter) -> Response:
        """Let an autoscaler take part in a copy of the cluster, and say what it does."""
        served = chosen_scheduler(self._turns.cluster, query)
        present = self._turns.cluster.autoscaling

        def answer(advance: Advance) -> ScalingPlan:
            duration_ns = read_duration(body.duration, "duration")
            if duration_ns > SCALING_MAX_NS:
                raise InputError.of("duration", f"{body.duration} is longer than a week")
            objects = stored_objects(served.world.store)
            autoscaling = None if body.groups or body.options else present or pool_groups(objects)
            if autoscaling is None or not autoscaling.groups:
                document = {"groups": body.groups, "options": body.options}
                autoscaling = parse_node_groups(document, "")
            return planned_scaling(
                objects,
                autoscaling,
                _options_now(served),
                duration_ns,
                call_extender=served.call_extender,
                advance=advance,
            )

        return await reply(self._readers, answer, has_progress=body.progress)


def _read(pods: Iterable[Document]) -> list[Object]:
    """Return the objects of manifests in the body of a request.

    Raises
    ------
    InputError
        With all errors.
    """
    reader = ObjectReader("strict")
    found = [
        reader.read(document, Place("the request"), path=f"pods[{index}]")
        for index, document in enumerate(pods)
    ]
    if reader.errors:
        raise InputError(reader.errors)
    return [obj for obj in found if obj is not None]


def _options_now(served: ServedScheduler) -> SchedulerOptions:
    """Return options of a scheduler for a world that starts at the time of the cluster."""
    return msgspec.structs.replace(served.options, start_ns=served.world.now_ns)


def planning_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoints of plans."""
    return declared(_Planning(cluster))

"""Plans over HTTP: what fits into the cluster, and how its nodes can be drained.

A copy of the process counts and simulates; the cluster does not change.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias, cast

import msgspec
from starlette.responses import Response

from podwright.apimachinery.objects import InputError, Object, timestamp_text
from podwright.apimachinery.schema import decode
from podwright.online.apiserver.control.endpoints import (
    ControlledCluster,
    Endpoint,
    declared,
    endpoint,
)
from podwright.online.apiserver.control.problems import input_problem
from podwright.online.apiserver.control.scheduling.configuration import (
    UNKNOWN,
    SchedulerParameter,
    chosen_scheduler,
)
from podwright.online.apiserver.control.scheduling.progress import NDJSON, reply
from podwright.online.apiserver.readers import Readers
from podwright.online.apiserver.scheduling.present_scheduler import (
    present_objects,
    present_scheduler,
)
from podwright.simulation.capacity import (
    Advance,
    CapacityQuestion,
    LossOf,
    capacity_in,
    capacity_review,
    drain_plan_document,
    planned_drains,
)

_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
_SHORT_LIVED: Final = ("Event", "Lease")
"""Kinds that a simulation makes anew."""


class CapacityRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
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

    pods: list[dict[str, Any]] = []
    ratio: list[int] = []
    preemption: bool = False
    max_limit: _Count = 0
    exclude_nodes: list[str] = []
    pool_label: str = ""
    headroom: bool = False
    loss: list[LossOf] = []
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


class DrainPlanRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
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


class DrainPlanReply(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A plan of drains.

    Attributes
    ----------
    steps, blocked : list of dict
        The steps in their order, and the nodes that cannot be drained.
    is_complete : bool
        Whether all nodes are drained and all pods find a node.
    """

    steps: list[dict[str, Any]]
    blocked: list[dict[str, Any]]
    is_complete: bool


class _Planning:
    """The endpoints."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self._turns = cluster.turns
        self._readers = Readers(cluster.turns)

    @endpoint(
        "POST",
        "/capacity",
        changes_nothing=True,
        reply=ClusterCapacityReview,
        other_media_types=(NDJSON,),
        problems={404: UNKNOWN},
    )
    async def count(self, body: CapacityRequest, query: SchedulerParameter) -> Response:
        """Count how many more pods fit, where, and what stops the next one."""
        served = chosen_scheduler(self._turns.cluster, query)
        cluster = self._turns.cluster

        def answer(advance: Advance) -> bytes:
            found = capacity_in(
                present_scheduler(cluster, served), present_objects(served), question, advance
            )
            now = timestamp_text(served.world.now_ns)
            review = capacity_review(found, max_limit=body.max_limit, now=now)
            return msgspec.json.encode(review) + b"\n"

        try:
            question = CapacityQuestion(
                pods=tuple(map(decode, body.pods)),
                ratio=tuple(body.ratio),
                preemption=body.preemption,
                max_limit=body.max_limit,
                exclude_nodes=tuple(body.exclude_nodes),
                pool_label=body.pool_label,
                headroom=body.headroom,
                loss=tuple(body.loss),
            )
            return await reply(self._readers, answer, has_progress=body.progress)
        except InputError as error:
            raise input_problem(error) from error

    @endpoint(
        "POST",
        "/drain-plan",
        changes_nothing=True,
        reply=DrainPlanReply,
        other_media_types=(NDJSON,),
        problems={404: UNKNOWN},
    )
    async def drain(self, body: DrainPlanRequest, query: SchedulerParameter) -> Response:
        """Plan the drains of nodes: an order, what moves where, what blocks."""
        served = chosen_scheduler(self._turns.cluster, query)
        store = served.world.store

        def answer(advance: Advance) -> bytes:
            kinds = [kind for kind in store.kinds() if kind[1] not in _SHORT_LIVED]
            objects = [obj for kind in kinds for obj in store.list(kind).objects]
            plan = planned_drains(
                cast(list[Object], objects),
                body.nodes,
                served.options,
                selector=body.selector,
                surge=body.surge,
                most_nodes=body.most_nodes,
                call_extender=served.call_extender,
                advance=advance,
            )
            return msgspec.json.encode(drain_plan_document(plan)) + b"\n"

        try:
            return await reply(self._readers, answer, has_progress=body.progress)
        except InputError as error:
            raise input_problem(error) from error


def planning_endpoints(cluster: ControlledCluster) -> list[Endpoint]:
    """Return the endpoints of plans."""
    return declared(_Planning(cluster))

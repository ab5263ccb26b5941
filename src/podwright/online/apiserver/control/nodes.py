"""Failures of nodes over HTTP: a simulated kubelet stops reporting, and reports again.

What follows from it reaches the scheduler as changes of objects, so the decision log has it.
"""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from podwright.apimachinery.objects import SOURCE_UID, Node
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.control.endpoints import Endpoint, Handler, json_response
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.simulation.world import FailNode, RestoreNode


class SilentNodeList(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The nodes whose kubelet does not report.

    Attributes
    ----------
    has_kubelets : bool
        Whether kubelets are simulated; otherwise no node can fail.
    nodes : list of str
        Their names, in alphabetic order.
    """

    has_kubelets: bool
    nodes: list[str]


def node_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints of the failures of nodes."""

    async def show(_: Request) -> Response:
        return json_response(await turns.call(lambda _: _silent(turns.cluster)))

    def operating(operation: type[FailNode | RestoreNode]) -> Handler:
        async def operate(request: Request) -> Response:
            node = request.path_params["name"]
            await turns.reach(turns.clock.now_ns())
            await turns.call(lambda _: _operate(turns.cluster, operation(node)))
            await turns.reach(turns.clock.now_ns())
            return await show(request)

        return operate

    rows: tuple[tuple[str, Handler, str], ...] = (
        ("fail", operating(FailNode), "Let the simulated kubelet of a node stop reporting"),
        ("restore", operating(RestoreNode), "Let the simulated kubelet of a node report again"),
    )
    return [
        Endpoint(
            method="GET",
            path="/nodes/silent",
            summary="List the nodes whose simulated kubelet does not report",
            handler=show,
            reply=SilentNodeList,
        ),
        *(
            Endpoint(
                method="POST",
                path=f"/nodes/{{name}}/{path}",
                summary=summary,
                handler=handler,
                reply=SilentNodeList,
                problems={
                    404: "there is no such node",
                    409: "the kubelet of the node is not simulated, or has not started",
                },
            )
            for path, handler, summary in rows
        ),
    ]


def _operate(cluster: Cluster, operation: FailNode | RestoreNode) -> None:
    world, name = cluster.world, operation.node
    if not world.components.options.has_kubelet:
        raise Problem(409, "no kubelets are simulated; omit --no-lifecycle")
    node = cluster.store.get(Node, name)
    if node is None:
        raise Problem(404, f"there is no node {name}")
    if SOURCE_UID in node.metadata.annotations:
        raise Problem(409, f"node {name} is a copy of a node of another cluster")
    if not world.components.lifecycle.has_received(node):
        raise Problem(
            409, f"node {name} was added while the cluster is stopped; let it go on first"
        )
    # At once, also at a breakpoint: the scheduler receives what follows from it later.
    world.operate(operation)


def _silent(cluster: Cluster) -> SilentNodeList:
    silent = cluster.world.components.lifecycle.silent_nodes
    present = [name for name in silent if cluster.store.get(Node, name) is not None]
    has_kubelets = cluster.world.components.options.has_kubelet
    return SilentNodeList(has_kubelets=has_kubelets, nodes=sorted(present))

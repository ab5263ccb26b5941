"""Several writes of the Kubernetes API in one request, as a sync sends them."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from starlette.requests import Request

from podwright.apimachinery.objects import SOURCE_UID, Node
from podwright.cluster.api.endpoints import HttpReply, HttpRequest, Watch, wire_headers
from podwright.online.apiserver.cluster import Cluster
from podwright.online.apiserver.control.endpoints import JSON, Endpoint, declared, endpoint
from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.latency import ApiLatency
from podwright.online.client import ABSENT, WriteReplies, WriteReply, Writes
from podwright.simulation.world import FailNode, RestoreNode

_BODY_MAX: Final = 64 << 20
_OF_THE_WHOLE: Final = frozenset({"content-length", "content-type", "accept", "accept-encoding"})
"""The headers of the request that are not those of each write."""


class _Writing:
    """The endpoint."""

    def __init__(self, turns: TurnLoop, latency: ApiLatency) -> None:
        self._turns = turns
        self._latency = latency

    @endpoint("POST", "/writes", body_max=_BODY_MAX)
    async def execute(self, body: Writes, request: Request) -> WriteReplies:
        """Execute writes of the Kubernetes API in order, each with its own reply.

        They are executed as the user of the request, also those that follow a rejected one.
        """
        sent = wire_headers(request.scope["headers"])
        headers = {name: value for name, value in sent.items() if name not in _OF_THE_WHOLE}
        certified = request.scope["state"].get("certified")
        requests = [
            HttpRequest(
                method=each.method,
                path=each.path,
                headers={
                    **headers,
                    "accept": "application/json",
                    "content-type": each.content_type,
                },
                body=b"" if bytes(each.body) == ABSENT else bytes(each.body),
                certified=certified,
            )
            for each in body.writes
        ]
        if self._latency.rules:
            await asyncio.sleep(sum(map(self._latency.delay_seconds, requests)))
        # They enter the queue in this order, and most of them are executed in one turn.
        found = await asyncio.gather(*map(self._turns.execute, requests))
        return WriteReplies([_reply(each) for each in found])


def _reply(found: HttpReply | Watch) -> WriteReply:
    assert isinstance(found, HttpReply), "writes are not watches"
    body = b"".join((found.body, *(found.rest or ())))
    if body and not (found.header("content-type") or "").startswith(JSON):
        body = msgspec.json.encode(body.decode())
    return WriteReply(found.status, msgspec.Raw(body or ABSENT))


def write_endpoints(turns: TurnLoop, latency: ApiLatency) -> list[Endpoint]:
    """Return the endpoint that executes several writes."""
    return declared(_Writing(turns, latency))


# Failures of nodes over HTTP: a simulated kubelet stops reporting, and reports again.
#
# What follows from it reaches the scheduler as changes of objects, so the decision log has it.


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


_PROBLEMS: Final = {
    404: "there is no such node",
    409: "the kubelet of the node is not simulated, or has not started",
}


class _Nodes:
    """The endpoints."""

    def __init__(self, turns: TurnLoop) -> None:
        self._turns = turns

    @endpoint("GET", "/nodes/silent")
    async def show(self) -> SilentNodeList:
        """List the nodes whose simulated kubelet does not report."""
        return await self._turns.call(lambda _: _silent(self._turns.cluster))

    @endpoint("POST", "/nodes/{name}/fail", problems=_PROBLEMS)
    async def fail(self, name: str) -> SilentNodeList:
        """Let the simulated kubelet of a node stop reporting."""
        return await self._operate(FailNode(name))

    @endpoint("POST", "/nodes/{name}/restore", problems=_PROBLEMS)
    async def restore(self, name: str) -> SilentNodeList:
        """Let the simulated kubelet of a node report again."""
        return await self._operate(RestoreNode(name))

    async def _operate(self, operation: FailNode | RestoreNode) -> SilentNodeList:
        turns = self._turns
        await turns.reach(turns.clock.now_ns())
        await turns.call(lambda _: _operate(turns.cluster, operation))
        await turns.reach(turns.clock.now_ns())
        return await self.show()


def node_endpoints(turns: TurnLoop) -> list[Endpoint]:
    """Return the endpoints of the failures of nodes."""
    return declared(_Nodes(turns))


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
        raise Problem(409, f"node {name} was added while the cluster is stopped; resume it first")
    # At once, also at a breakpoint: the scheduler receives what follows from it later.
    world.operate(operation)


def _silent(cluster: Cluster) -> SilentNodeList:
    silent = cluster.world.components.lifecycle.silent_nodes
    present = [name for name in silent if cluster.store.get(Node, name) is not None]
    has_kubelets = cluster.world.components.options.has_kubelet
    return SilentNodeList(has_kubelets=has_kubelets, nodes=sorted(present))

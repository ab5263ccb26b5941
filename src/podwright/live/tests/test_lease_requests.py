"""The requests of an election, to a small HTTP server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from podwright.client.cluster import ClusterAddress, RejectedRequest, UnreachableCluster
from podwright.client.cluster.write_connection import WriteConnection
from podwright.live import ElectionTimes, LeaseElection, LeaseState

TIMES = ElectionTimes(
    lease_duration_ns=15_000_000_000, renew_deadline_ns=10_000_000_000, retry_period_ns=1_000_000
)
HELD = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "b", "leaseDurationSeconds": 3600}}
CUT = None
"""A connection that is cut instead of a reply."""
FREE = {"metadata": {"name": "l"}, "spec": {"holderIdentity": ""}}


@asynccontextmanager
async def electing(replies):
    """Serve replies to reads of the Lease, the last one without end; yields an election."""
    rest = list(replies)

    async def read(request):
        reply = rest.pop(0) if len(rest) > 1 else rest[0]
        if reply is CUT:
            request.transport.abort()
            return web.Response()
        status, body = reply
        return web.json_response(body, status=status)

    async def write(request):
        return web.json_response(await request.json())

    application = web.Application()
    application.router.add_get("/{path:.*}", read)
    application.router.add_put("/{path:.*}", write)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address = ClusterAddress(server=f"http://127.0.0.1:{runner.addresses[0][1]}")
        async with WriteConnection(address) as connection:
            yield LeaseElection(connection, "kube-system", "l", LeaseState("a", TIMES))
    finally:
        await runner.cleanup()


def test_a_waiting_replica_survives_failures_of_the_server():
    async def run():
        failures = [(status, {"message": "busy"}) for status in (503, 429, 500)]
        async with electing([(200, HELD), *failures, (200, FREE)]) as election:
            assert not election.is_leader
            await election.acquire()
            assert election.is_leader
            assert election.is_renewed()

    asyncio.run(run())


def test_a_replica_without_rights_does_not_wait():
    async def run():
        async with electing([(403, {"message": "no"})]) as election:
            with pytest.raises(RejectedRequest):
                await election.acquire()
            assert not election.is_leader

    asyncio.run(run())


def test_only_the_first_request_must_be_answered():
    async def run():
        async with electing([CUT]) as election:
            with pytest.raises(UnreachableCluster):
                await election.acquire()
        # The client itself repeats a read whose connection was in use before.
        async with electing([(200, HELD), CUT, CUT, CUT, CUT, (200, FREE)]) as election:
            await election.acquire()
            assert election.is_leader

    asyncio.run(run())

"""The requests of an election, to a small HTTP server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from podwright.online.client.cluster import RejectedRequest, UnreachableCluster
from podwright.online.client.cluster.write_connection import WriteConnection
from podwright.online.live import ElectionTimes, LeaseElection, LeaseState, LostLease
from podwright.online.live.tests.fake_server import CUT, FakeServer, forbidden, serving

TIMES = ElectionTimes(
    lease_duration_ns=15_000_000_000, renew_deadline_ns=10_000_000_000, retry_period_ns=1_000_000
)
HELD = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "b", "leaseDurationSeconds": 3600}}
OWN = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}
FREE = {"metadata": {"name": "l"}, "spec": {"holderIdentity": ""}}


@asynccontextmanager
async def connected(server, times=TIMES):
    """Serve for the time of a block; yields an election."""
    async with serving(server) as address, WriteConnection(address) as connection:
        yield LeaseElection(connection, "kube-system", "l", LeaseState("a", times))


def electing(replies):
    """Serve replies to reads of the Lease, the last one without end; yields an election."""
    return connected(FakeServer(GET=replies, PUT=[(200, OWN)]))


def test_a_waiting_replica_survives_failures_of_the_server():
    async def run():
        failures = [(status, {"message": "busy"}) for status in (503, 429, 500)]
        async with electing([(200, HELD), *failures, (200, FREE)]) as election:
            with pytest.raises(LostLease):
                election.check_held()
            await election.acquire()
            election.check_held()
            assert election.is_renewed()

    asyncio.run(run())


def test_a_waiting_replica_survives_a_server_that_starts_again():
    """Its RBAC has no roles yet, and it verifies no tokens."""

    async def run():
        refusals = [forbidden("get", "leases"), (401, {}), (401, {})]
        async with electing([(200, HELD), *refusals, (200, FREE)]) as election:
            await election.acquire()
            election.check_held()

    asyncio.run(run())


def test_a_replica_without_rights_does_not_wait():
    async def run():
        async with electing([(403, {"message": "no"})]) as election:
            with pytest.raises(RejectedRequest):
                await election.acquire()
            with pytest.raises(LostLease):
                election.check_held()

    asyncio.run(run())


def test_only_the_first_request_must_be_answered():
    async def run():
        async with electing([CUT]) as election:
            with pytest.raises(UnreachableCluster):
                await election.acquire()
        # The client itself repeats a read whose connection was in use before.
        async with electing([(200, HELD), CUT, CUT, CUT, CUT, (200, FREE)]) as election:
            await election.acquire()
            election.check_held()

    asyncio.run(run())


def test_a_lease_whose_last_renewal_was_not_waited_for_is_released():
    server = FakeServer(GET=[(200, FREE), (200, OWN)], PUT=[(200, OWN), (409, {}), (200, FREE)])

    async def run():
        async with connected(server) as election:
            await election.acquire()
            await election.release()

    asyncio.run(run())
    assert server.verbs() == ["GET", "PUT", "PUT", "GET", "PUT"]
    assert server.requests[-1][2]["spec"]["holderIdentity"] == ""


def test_a_lease_that_another_replica_has_taken_is_not_released():
    server = FakeServer(GET=[(200, FREE), (200, HELD)], PUT=[(200, OWN), (409, {})])

    async def run():
        async with connected(server) as election:
            await election.acquire()
            await election.release()

    asyncio.run(run())
    assert server.verbs() == ["GET", "PUT", "PUT", "GET"]


def test_a_lease_that_is_not_renewed_within_the_deadline_is_lost():
    times = ElectionTimes(
        lease_duration_ns=3_000_000_000, renew_deadline_ns=1_000_000, retry_period_ns=2_000_000
    )

    async def run():
        async with connected(
            FakeServer(GET=[(200, FREE), CUT], PUT=[(200, OWN)]), times
        ) as election:
            with pytest.raises(LostLease):
                election.check_held()  # it is not acquired
            await election.acquire()
            with pytest.raises(LostLease):
                await election.renew()
            with pytest.raises(LostLease):
                election.check_held()

    asyncio.run(run())

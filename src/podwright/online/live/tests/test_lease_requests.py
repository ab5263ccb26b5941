"""The requests of an election, to a small HTTP server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest

from podwright.online.client.cluster import RejectedRequest
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
async def connected(server, times=TIMES, **options):
    """Serve for the time of a block; yields an election."""
    async with serving(server) as address, WriteConnection(address) as connection:
        yield LeaseElection(connection, "kube-system", "l", LeaseState("a", times), **options)


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


@pytest.mark.parametrize("first", [(), ((200, HELD),)])
def test_a_request_without_a_reply_is_repeated(first):
    async def run():
        # The client itself repeats a read whose connection was in use before.
        async with electing([*first, CUT, CUT, CUT, CUT, (200, FREE)]) as election:
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


@pytest.mark.parametrize("reply", [(201, {}), (403, {"message": "no"}), CUT])
def test_an_event_is_about_the_lease_and_may_fail(reply):
    """Upstream: client-go/tools/leaderelection/resourcelock/leaselock.go, RecordEvent"""
    metadata = {"name": "l", "namespace": "kube-system", "uid": "u", "resourceVersion": "7"}
    server = FakeServer(GET=[(200, FREE)], PUT=[(200, OWN | {"metadata": metadata})], POST=[reply])

    async def run():
        async with connected(server, reporter="mine") as election:
            await election.acquire()
            await election.record("became leader")

    asyncio.run(run())
    _, path, event = server.requests[-1]
    assert path == "/apis/events.k8s.io/v1/namespaces/kube-system/events"
    own, time = event["metadata"].pop("name"), event.pop("eventTime")
    assert (own.partition(".")[0], time[-1]) == ("l", "Z")
    assert event == {
        "apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"namespace": "kube-system"},
        "reportingController": "mine", "reportingInstance": "a",
        "action": "LeaderElection", "reason": "LeaderElection", "type": "Normal",
        "note": "a became leader",
        "regarding": {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", **metadata},
    }  # fmt: skip


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


def test_a_lease_that_another_replica_has_taken_is_not_renewed():
    times = ElectionTimes(
        lease_duration_ns=3_000_000_000, renew_deadline_ns=300_000_000, retry_period_ns=1_000_000
    )
    server = FakeServer(GET=[(200, FREE), (200, HELD)], PUT=[(200, OWN), (409, {})])

    async def run():
        async with connected(server, times) as election:
            await election.acquire()
            # The server replies all the time, so that only the deadline ends the attempts.
            async with asyncio.timeout(30):
                with pytest.raises(LostLease):
                    await election.renew()

    asyncio.run(run())


def test_an_absent_lease_is_created_and_given_away(monkeypatch):
    monkeypatch.setattr("podwright.online.live.lease_election.time.time_ns", lambda: 123_456_000)
    now = "1970-01-01T00:00:00.123456Z"
    spec = {
        "holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": now, "acquireTime": now,
        "leaseTransitions": 0,
    }  # fmt: skip
    head = {
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "l", "namespace": "kube-system"},
    }  # fmt: skip
    server = FakeServer(
        GET=[(404, {})], POST=[(201, {**head, "spec": spec, "stored": True})], PUT=[(200, FREE)]
    )

    async def run():
        async with connected(server) as election:
            assert election.name == "l"
            await election.release()  # it is not held
            await election.acquire()
            await election.release()
            with pytest.raises(LostLease):
                election.check_held()
            assert election.is_renewed()

    asyncio.run(run())
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    free = {**spec, "holderIdentity": "", "leaseDurationSeconds": 1}
    assert server.requests == [
        ("GET", f"{leases}/l", None),
        ("POST", leases, {**head, "spec": spec}),
        ("PUT", f"{leases}/l", {**head, "spec": free, "stored": True}),
    ]


def test_of_two_replicas_that_write_at_once_one_waits():
    server = FakeServer(GET=[(200, FREE), (200, HELD), (200, FREE)], PUT=[(409, {}), (200, OWN)])

    async def run():
        async with connected(server) as election:
            await election.acquire()
            election.check_held()

    asyncio.run(run())
    assert server.verbs() == ["GET", "PUT", "GET", "GET", "PUT"]
    assert server.requests[1][2] == {
        "metadata": {"name": "l"}, "spec": server.requests[1][2]["spec"]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("replies", "status"),
    [
        ({"GET": [(200, FREE)], "PUT": [(403, {})]}, 403),
        ({"GET": [(200, FREE)], "PUT": [(422, {})]}, 422),
        ({"GET": [(200, HELD), (404, {})], "POST": [(403, {})]}, 403),
        ({"GET": [(401, {})]}, 401),
        ({"GET": [forbidden("get", "leases")]}, 403),
        ({"GET": [(400, {})]}, 400),
    ],
)
def test_a_replica_that_may_not_take_the_lease_says_so(replies, status):
    async def run():
        async with connected(FakeServer(**replies)) as election:
            with pytest.raises(RejectedRequest) as rejected:
                await election.acquire()
            assert rejected.value.status == status

    asyncio.run(run())


def test_a_release_that_is_refused_is_an_error():
    server = FakeServer(GET=[(200, FREE)], PUT=[(200, OWN), (403, {})])

    async def run():
        async with connected(server) as election:
            await election.acquire()
            with pytest.raises(RejectedRequest):
                await election.release()

    asyncio.run(run())
    assert server.verbs() == ["GET", "PUT", "PUT"]


def test_who_loses_the_lease_ends_so_that_another_can_schedule():
    times = ElectionTimes(
        lease_duration_ns=15 * 10**9, renew_deadline_ns=2_500_000_000, retry_period_ns=10**9
    )

    async def run():
        async with connected(FakeServer(GET=[(200, FREE)]), times) as election:
            with pytest.raises(LostLease) as lost:
                election.check_held()
            assert lost.value.is_remote
            return str(lost.value)

    assert asyncio.run(run()) == (
        "the lease kube-system/l was not renewed for 2.5 s; the process ends, so that another "
        "replica can schedule"
    )


@pytest.mark.parametrize(
    ("age_ns", "held", "renewed"),
    [
        (0, True, True),
        (10 * 10**9, True, True),
        (10 * 10**9 + 1, False, True),
        (35 * 10**9, False, True),
        (35 * 10**9 + 1, False, False),
    ],
)
def test_a_lease_is_held_until_the_deadline_and_healthy_for_a_while_longer(
    monkeypatch, age_ns, held, renewed
):
    """Upstream tolerates 20 s beyond the lease duration."""
    clock = [7]
    monkeypatch.setattr("podwright.online.live.lease_election.time.monotonic_ns", lambda: clock[0])
    no_connection: Any = None
    election = LeaseElection(no_connection, "kube-system", "l", LeaseState("a", TIMES))
    assert election.is_renewed()
    election._renewed_ns = 7
    clock[0] += age_ns
    assert election.is_renewed() is renewed
    if held:
        election.check_held()
    else:
        with pytest.raises(LostLease):
            election.check_held()

"""An election beside a loop that is occupied."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from tests.http_servers import serving
from tests.waiting import until

from podwright.online.client.cluster import ClusterAddress, RejectedRequest
from podwright.online.client.cluster.write_connection import WriteConnection
from podwright.online.live import ElectionTimes, LeaseElection, LeaseState, LeaseThread, LostLease

TIMES = ElectionTimes(
    lease_duration_ns=120_000_000_000, renew_deadline_ns=60_000_000_000, retry_period_ns=1_000_000
)


class Leases(BaseHTTPRequestHandler):
    """Keeps one Lease."""

    lease: dict[str, object]
    writes: list[str]
    status: list[int]
    events: list[tuple[str, dict[str, object]]]

    def do_GET(self):
        self.send(self.lease)

    def do_PUT(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.lease.update(body)
        self.writes.append(body["spec"]["holderIdentity"])
        self.send(body)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.events.append((self.path, body))
        self.send(body)

    def send(self, document):
        body = json.dumps(document).encode()
        self.send_response(self.status[0])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Served:
    """What the server has, and how it replies."""

    def __init__(self):
        self.lease: dict[str, Any] = {"metadata": {"name": "l"}, "spec": {}}
        self.writes = []
        self.status = [200]
        self.events = []

    def address(self):
        members = {"lease": self.lease, "writes": self.writes, "status": self.status}
        return serving(Leases, events=self.events, **members)


def electing(address, times=TIMES):
    connection = WriteConnection(ClusterAddress(server=address), per_second=1e6, burst=1000)
    election = LeaseElection(connection, "kube-system", "l", LeaseState("a", times))
    return LeaseThread(connection, election)


def test_the_lease_is_renewed_while_the_loop_is_occupied():
    """Hold the loop as a kernel does that is compiled."""
    served = Served()

    async def run(address):
        async with electing(address) as election:
            await election.acquire()
            until(lambda: len(served.writes) > 20, pause_seconds=0.001)
            election.check_held()
            assert election.is_renewed()
            await election.release()

    with served.address() as address:
        asyncio.run(run(address))
    assert set(served.writes[:-1]) == {"a"}
    assert served.writes[-1] == ""
    paths, events = zip(*served.events, strict=True)
    assert set(paths) == {"/apis/events.k8s.io/v1/namespaces/kube-system/events"}
    assert [each["note"] for each in events] == ["a became leader", "a stopped leading"]


def test_a_replica_that_has_only_waited_has_no_events():
    served = Served()
    served.lease["spec"] = {"holderIdentity": "b", "leaseDurationSeconds": 3600}

    async def run(address):
        async with electing(address) as election:
            waiting = asyncio.create_task(election.acquire())
            await asyncio.sleep(0.1)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            await election.release()
        async with electing(address) as election:
            await election.release()

    with served.address() as address:
        asyncio.run(run(address))
    assert (served.writes, served.events) == ([], [])


def test_a_wait_that_is_cancelled_ends_no_renewals():
    served = Served()

    async def run(address):
        async with electing(address) as election:
            await election.acquire()
            waiting = asyncio.create_task(election.wait_until_lost())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            before = len(served.writes)
            until(lambda: len(served.writes) > before + 5, pause_seconds=0.001)

    with served.address() as address:
        asyncio.run(run(address))


def test_a_lost_lease_ends_the_wait():
    served = Served()
    times = ElectionTimes(
        lease_duration_ns=3_000_000_000, renew_deadline_ns=50_000_000, retry_period_ns=1_000_000
    )

    async def run(address):
        async with electing(address, times) as election:
            await election.acquire()
            served.status[0] = 500
            with pytest.raises(LostLease):
                await election.wait_until_lost()

    with served.address() as address:
        asyncio.run(run(address))


def test_a_replica_without_rights_does_not_wait():
    served = Served()
    served.status[0] = 403

    async def run(address):
        async with electing(address) as election:
            await election.acquire()

    with served.address() as address, pytest.raises(RejectedRequest):
        asyncio.run(run(address))


def test_the_thread_ends_although_its_connection_cannot_be_closed():
    class Failing(WriteConnection):
        async def close(self):
            await super().close()
            raise OSError("no")

    async def run(address):
        connection = Failing(ClusterAddress(server=address))
        election = LeaseElection(connection, "kube-system", "l", LeaseState("a", TIMES))
        with pytest.raises(OSError, match="no"):
            async with LeaseThread(connection, election):
                assert "lease" in [thread.name for thread in threading.enumerate()]

    with Served().address() as address:
        asyncio.run(run(address))
    assert "lease" not in [thread.name for thread in threading.enumerate()]


def test_the_thread_ends_if_its_connection_cannot_be_opened():
    class Failing(WriteConnection):
        async def __aenter__(self):
            raise OSError("no")

    async def run():
        connection = Failing(ClusterAddress(server="http://127.0.0.1:1"))
        election = LeaseElection(connection, "kube-system", "l", LeaseState("a", TIMES))
        async with LeaseThread(connection, election):
            pass

    with pytest.raises(OSError, match="no"):
        asyncio.run(run())
    assert "lease" not in [thread.name for thread in threading.enumerate()]


def test_a_release_waits_until_a_renewal_uses_the_connection_no_more():
    steps: list[str] = []

    class Slow:
        """Needs time to end a request that is cancelled."""

        lease: bytes = json.dumps({"metadata": {"name": "l"}, "spec": {}}).encode()

        async def __aenter__(self) -> None:
            pass

        async def close(self) -> None:
            steps.append("close")

        async def get(self, path: str) -> bytes:
            if "PUT" in steps:
                steps.append("renewal")
                try:
                    await asyncio.sleep(60)
                finally:
                    await asyncio.sleep(0.01)
                    steps.append("end of the renewal")
            return self.lease

        async def write(self, verb: str, path: str, body: bytes) -> bytes:
            if verb == "PUT":
                steps.append(verb)
                self.lease = body
            return body

    async def run() -> None:
        connection: Any = Slow()
        election = LeaseElection(connection, "kube-system", "l", LeaseState("a", TIMES))
        async with LeaseThread(connection, election) as lease:
            await lease.acquire()
            until(lambda: "renewal" in steps, pause_seconds=0.001)
            await lease.release()

    asyncio.run(run())
    assert steps == ["PUT", "renewal", "end of the renewal", "PUT", "close"]

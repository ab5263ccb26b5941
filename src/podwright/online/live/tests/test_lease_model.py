"""Several replicas that elect a leader, in virtual time, with a server that fails.

The elections are the real ones; only the connection and the clocks are simulated.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.properties.effort import effort

from podwright.online.client.cluster import RejectedRequest, UnreachableCluster
from podwright.online.live import lease_election
from podwright.online.live.lease_election import (
    ElectionTimes,
    LeaseElection,
    LeaseState,
    LostLease,
)

SECOND = 1_000_000_000
TIMES = ElectionTimes(
    lease_duration_ns=15 * SECOND, renew_deadline_ns=10 * SECOND, retry_period_ns=2 * SECOND
)
RUNNING: contextvars.ContextVar[Replica] = contextvars.ContextVar("RUNNING")


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0
        selector: Any = self._selector  # type: ignore[attr-defined]
        select = selector.select

        def jump(timeout: float | None = None) -> Any:
            assert timeout is not None, "nothing is due"
            self.seconds += timeout + 1e-6  # a step takes a moment
            return select(0)

        selector.select = jump

    def time(self) -> float:
        return self.seconds


class Server:
    """A Lease with optimistic concurrency."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0

    def get(self) -> bytes:
        if self.lease is None:
            raise RejectedRequest("absent", status=404)
        return json.dumps(self.lease).encode()

    def write(self, verb: str, body: bytes) -> bytes:
        lease = json.loads(body)
        known = lease["metadata"].get("resourceVersion")
        if (verb == "POST") is not (self.lease is None) or (
            self.lease is not None and known != self.lease["metadata"]["resourceVersion"]
        ):
            raise RejectedRequest("conflict", status=409)
        self.version += 1
        lease["metadata"]["resourceVersion"] = str(self.version)
        self.lease = lease
        return json.dumps(lease).encode()


class Replica:
    """A process that waits for the Lease, renews it, and starts again when it was lost."""

    def __init__(self, name: str, server: Server, skew_ns: int, rate: float) -> None:
        self.name, self.server, self.skew_ns, self.rate = name, server, skew_ns, rate
        self.fault, self.delay_seconds, self.reply_seconds = "", 0.0, 0.0
        self.starts = 0
        self.is_renewing = False
        self.task: asyncio.Task[None] | None = None
        self.start()

    def start(self) -> None:
        self.starts += 1
        state = LeaseState(f"{self.name}{self.starts}", TIMES)
        connection: Any = self
        self.election = LeaseElection(connection, "kube-system", "l", state)

    @property
    def now_ns(self) -> int:
        return self.skew_ns + int(asyncio.get_event_loop().time() * self.rate * SECOND)

    def leads(self) -> bool:
        RUNNING.set(self)
        try:
            self.election.check_held()
        except LostLease:
            return False
        return True

    async def run(self) -> None:
        RUNNING.set(self)
        while True:
            try:
                await self.election.acquire()
                self.is_renewing = True
                await self.election.renew()
            except (LostLease, RejectedRequest, UnreachableCluster):
                self.start()
            finally:
                self.is_renewing = False
            await asyncio.sleep(1)

    async def get(self, _: str) -> bytes:
        return await self.sent(self.server.get)

    async def write(self, verb: str, _: str, body: bytes) -> bytes:
        reply = await self.sent(lambda: self.server.write(verb, body))
        await asyncio.sleep(self.reply_seconds)
        return reply

    async def sent(self, execute: Any) -> bytes:
        """Execute a request at the server, whether the client still waits or not."""

        async def executed() -> bytes:
            await asyncio.sleep(self.delay_seconds)
            return bytes(execute())

        fault = self.fault
        if fault == "silence":
            await asyncio.sleep(40)
        if fault in ("cut", "silence"):
            await asyncio.sleep(0.1)
            raise UnreachableCluster("cut")
        if fault == "busy":
            raise RejectedRequest("busy", status=503)
        execution: asyncio.Future[bytes] = asyncio.ensure_future(executed())
        execution.add_done_callback(lambda done: done.cancelled() or done.exception())
        reply = await asyncio.shield(execution)
        if fault == "no replies":
            raise UnreachableCluster("cut")
        return reply


CLOCKS = SimpleNamespace(
    monotonic_ns=lambda: RUNNING.get().now_ns,
    time_ns=lambda: RUNNING.get().now_ns,
)
FAULTS = st.sampled_from(["", "", "cut", "silence", "busy", "no replies"])
WHO = st.integers(0, 3)


class Simulation:
    """Replicas in a virtual time.

    Parameters
    ----------
    skews : sequence of int
        Of the clock of each replica, in seconds.
    rates : sequence of float
        How fast these clocks run.
    """

    def __init__(self, skews: Sequence[int], rates: Sequence[float] = (1.0,) * 4) -> None:
        self.real_time = vars(lease_election)["time"]
        vars(lease_election)["time"] = CLOCKS
        self.loop = VirtualLoop()
        asyncio.set_event_loop(self.loop)
        self.server = Server()
        self.replicas = [
            Replica(name, self.server, skew * SECOND + 10**18, rate)
            for name, skew, rate in zip("abcd", skews, rates, strict=False)
        ]
        for each in self.replicas:
            each.task = self.loop.create_task(each.run())

    @property
    def leaders(self) -> list[Replica]:
        return [each for each in self.replicas if each.leads()]

    @property
    def holder(self) -> str:
        assert self.server.lease is not None
        return str(self.server.lease["spec"]["holderIdentity"])

    def pass_time(self, seconds: float) -> None:
        """Let time pass, and count the leaders at every moment."""

        async def watch() -> None:
            for _ in range(int(seconds * 2)):
                await asyncio.sleep(0.5)
                leaders = self.leaders
                assert len(leaders) <= 1, "two leaders"
                await asyncio.sleep(0.01)
                for each in self.replicas:
                    # One that does not lead any longer has stopped, whatever its requests do.
                    assert each in leaders or each.leads() or not each.is_renewing

        self.loop.run_until_complete(watch())

    def crash(self, replica: Replica) -> None:
        """Kill a process."""
        assert replica.task is not None
        replica.task.cancel()
        self.loop.run_until_complete(asyncio.gather(replica.task, return_exceptions=True))

    def start(self, replica: Replica) -> None:
        """Start a process, whose name is another one."""
        replica.start()
        replica.task = self.loop.create_task(replica.run())

    def hand_over(self, replica: Replica) -> None:
        """End a process, which gives its Lease away, and nobody else's."""
        leaders = self.leaders
        self.crash(replica)

        async def release() -> None:
            RUNNING.set(replica)
            with suppress(RejectedRequest, UnreachableCluster, TimeoutError):
                async with asyncio.timeout(20):
                    await replica.election.release()

        self.loop.run_until_complete(self.loop.create_task(release()))
        if leaders and replica not in leaders and self.leaders == leaders:
            assert self.holder == leaders[0].election._state.identity

    def quiet(self) -> Replica:
        """Return the leader after a time without failures."""
        for each in self.replicas:
            each.fault, each.delay_seconds, each.reply_seconds = "", 0.0, 0.0
        self.pass_time(90)
        (leader,) = self.leaders
        self.pass_time(30)
        assert self.leaders == [leader], "nothing changes while nothing fails"
        assert self.holder == leader.election._state.identity
        return leader

    def close(self) -> None:
        """End all processes."""
        tasks = asyncio.all_tasks(self.loop)
        for each in tasks:
            each.cancel()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        asyncio.set_event_loop(None)
        self.loop.close()
        vars(lease_election)["time"] = self.real_time


class Elections(RuleBasedStateMachine):
    """There are never two leaders, and always one after a quiet time."""

    @initialize(
        skews=st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=4),
        rates=st.lists(st.sampled_from([0.95, 1.0, 1.05]), min_size=4, max_size=4),
    )
    def start(self, skews: list[int], rates: list[float]) -> None:
        self.all = Simulation(skews, rates)

    def replica(self, who: int) -> Replica:
        """Return a replica, often the leader."""
        leaders = self.all.leaders
        return leaders[0] if leaders and who < 2 else self.all.replicas[who % 2]

    @rule(seconds=st.sampled_from([1, 3, 12, 20]))
    def wait(self, seconds: int) -> None:
        self.all.pass_time(seconds)

    @rule(
        who=WHO,
        fault=FAULTS,
        delay_seconds=st.sampled_from([0, 0, 1, 4, 9]),
        reply_seconds=st.sampled_from([0, 0, 1, 4, 9]),
    )
    def fail(self, who: int, fault: str, delay_seconds: float, reply_seconds: float) -> None:
        replica = self.replica(who)
        replica.fault, replica.delay_seconds = fault, delay_seconds
        replica.reply_seconds = reply_seconds

    @rule(fault=FAULTS)
    def fail_for_all(self, fault: str) -> None:
        for each in self.all.replicas:
            each.fault = fault

    @rule(who=WHO)
    def crash(self, who: int) -> None:
        replica = self.replica(who)
        self.all.crash(replica)
        self.all.start(replica)

    @rule(who=WHO)
    def hand_over(self, who: int) -> None:
        replica = self.replica(who)
        self.all.hand_over(replica)
        self.all.start(replica)

    @rule()
    def quiet(self) -> None:
        self.all.quiet()

    def teardown(self) -> None:
        if hasattr(self, "all"):
            try:
                self.all.quiet()
            finally:
                self.all.close()


TestElections = Elections.TestCase
TestElections.settings = effort(15, stateful_step_count=12)


@pytest.fixture
def two() -> Iterator[Simulation]:
    """Yield two replicas whose clocks are days apart, and whose leader has led for a while."""
    simulation = Simulation([-300_000, 700_000])
    try:
        simulation.quiet()
        yield simulation
    finally:
        simulation.close()


@pytest.mark.parametrize("fault", ["cut", "silence", "busy", "no replies"])
def test_a_leader_that_cannot_renew_stops_before_another_starts(two: Simulation, fault: str):
    (leader,) = two.leaders
    leader.fault = fault
    two.pass_time(7)
    assert two.leaders == [leader], "others would lead no sooner"
    two.pass_time(15)
    if fault != "no replies":  # then its renewals reach the server
        (other,) = two.leaders
        assert other is not leader
    assert not leader.is_renewing
    two.quiet()


def test_a_failure_that_is_over_before_the_deadline_changes_nothing(two: Simulation):
    (leader,) = two.leaders
    for fault in ("cut", "busy", "silence"):
        leader.fault = fault
        two.pass_time(6)
        leader.fault = ""
        two.pass_time(6)
    assert two.leaders == [leader]
    assert leader.starts == 1


def test_a_released_lease_is_taken_within_a_retry_period_or_two(two: Simulation):
    (leader,) = two.leaders
    two.hand_over(leader)
    assert two.holder == ""
    assert two.leaders == [], "what is still under way is not sent"
    two.pass_time(5)
    (other,) = two.leaders
    assert other is not leader


def test_a_replica_that_waits_releases_nothing(two: Simulation):
    (leader,) = two.leaders
    (other,) = (each for each in two.replicas if each is not leader)
    two.hand_over(other)
    assert two.holder == leader.election._state.identity
    two.pass_time(30)
    assert two.leaders == [leader]


def test_a_lease_whose_reply_was_late_is_held_since_it_was_requested():
    """Another replica counts from when the server has it."""
    simulation = Simulation([0, 0])
    first, other = simulation.replicas
    first.reply_seconds, other.fault = 9, "busy"
    try:
        simulation.pass_time(9.5)
        assert simulation.leaders == [first]
        first.fault, other.fault = "cut", ""
        simulation.pass_time(2)
        assert simulation.leaders == []
        simulation.pass_time(18)
        assert simulation.leaders == [other]
    finally:
        simulation.close()


def test_a_renewal_whose_reply_was_late_counts_since_it_was_requested(two: Simulation):
    (leader,) = two.leaders
    leader.reply_seconds = 3
    two.pass_time(8)
    ages_ns = []
    for _ in range(40):
        two.pass_time(0.5)
        since_ns = leader.election._renewed_ns
        assert since_ns is not None
        ages_ns.append(leader.now_ns - since_ns)
    assert 3 * SECOND <= min(ages_ns) < max(ages_ns) < 10 * SECOND


def test_the_leader_is_renewed_while_it_leads_and_one_that_waits_always(two: Simulation):
    (leader,) = two.leaders
    (other,) = (each for each in two.replicas if each is not leader)
    for each, seconds, is_renewed in ((leader, 30, True), (leader, 38, False), (other, 60, True)):
        RUNNING.set(each)
        each.skew_ns += seconds * SECOND
        assert each.election.is_renewed() is is_renewed
        each.skew_ns -= seconds * SECOND

"""Leader election by a Lease: one of several replicas schedules.

Theory of operation
-------------------
A replica reads the Lease every retry period. It takes the Lease if it has no holder, or if its
holder has not renewed it for the lease duration as observed here: clocks of two machines are never
compared. The holder renews it; if that fails for the renew deadline, which is shorter than the
lease duration, it stops scheduling before another replica can start. All writes name the version
that was read, so of two replicas one gets a conflict.

Upstream: staging/src/k8s.io/client-go/tools/leaderelection/leaderelection.go,
staging/src/k8s.io/client-go/tools/leaderelection/resourcelock/leaselock.go
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, Self, TypeVar

import msgspec

from podwright.apimachinery.objects import (
    DEFAULT_SCHEDULER_NAME,
    Document,
    PodwrightError,
    timestamp_text_micro,
)
from podwright.online.client.cluster import RejectedRequest, UnreachableCluster
from podwright.online.client.cluster.write_connection import WriteConnection
from podwright.online.live.api_calls import is_passing

_LEASE_KIND: Final = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
_EVENT_REASON: Final = "LeaderElection"
_EVENT_SECONDS: Final = 5.0
_RELEASED_SECONDS: Final = 1
_TOLERANCE_NS: Final = 20_000_000_000
"""Upstream: cmd/kube-scheduler/app/options/options.go, `NewLeaderHealthzAdaptor`"""


class LostLease(PodwrightError):  # noqa: N818 - named for what it is
    """The Lease was not renewed in time; another replica may schedule."""

    is_remote = True


class ElectionTimes(msgspec.Struct, frozen=True, kw_only=True):
    """The periods of the election, in nanoseconds, as a KubeSchedulerConfiguration has them."""

    lease_duration_ns: int
    renew_deadline_ns: int
    retry_period_ns: int

    def next_attempt(self, renewed_ns: int, now_ns: int) -> tuple[int, int]:
        """Return the wait before the next renewal, and how long its requests may take.

        Together they end at the renew deadline at the latest: until the lease duration ends, the
        holder has the rest of the time to stop. A request that hangs leaves time for another one.

        Parameters
        ----------
        renewed_ns, now_ns : int
            On the monotonic clock.

        Notes
        -----
        Upstream: staging/src/k8s.io/client-go/tools/leaderelection/leaderelection.go, `renew`
        """
        left_ns = max(0, renewed_ns + self.renew_deadline_ns - now_ns)
        wait_ns = min(self.retry_period_ns, left_ns)
        return wait_ns, min(self.renew_deadline_ns // 2, left_ns - wait_ns)


class LeaseState:
    """What a replica knows of the Lease, without I/O.

    Parameters
    ----------
    identity : str
        Of this replica.
    times : ElectionTimes
    """

    def __init__(self, identity: str, times: ElectionTimes) -> None:
        self.identity = identity
        self.times = times
        self._observed: Document | None = None
        self._observed_ns = 0

    def observe(self, lease: Document | None, now_ns: int) -> None:
        """Take the Lease as it is; None if there is none."""
        if self._observed is None or _spec(lease) != _spec(self._observed):
            self._observed_ns = now_ns
        self._observed = lease

    def lease_to_write(self, now_ns: int, wall_ns: int) -> Document | None:
        """Return the Lease to write: to take or to renew it; None while another holds it.

        Parameters
        ----------
        now_ns : int
            On the monotonic clock.
        wall_ns : int
            Since 1970, for the times in the Lease.
        """
        lease = self._observed or {}
        spec = _spec(lease)
        holder = spec.get("holderIdentity")
        is_mine = holder == self.identity
        duration_ns = (spec.get("leaseDurationSeconds") or 0) * 1_000_000_000
        if holder and not is_mine and now_ns < self._observed_ns + duration_ns:
            return None
        now = timestamp_text_micro(wall_ns)
        seconds = self.times.lease_duration_ns // 1_000_000_000
        is_transition = self._observed is not None and not is_mine
        # A strategy of coordinated elections ends with it, as in upstream's `Update`.
        changed = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, seconds),
            "renewTime": now,
            "acquireTime": spec.get("acquireTime", now) if is_mine else now,
            "leaseTransitions": (spec.get("leaseTransitions") or 0) + is_transition,
        }
        return {**lease, "spec": changed}

    def reference(self) -> Document:
        """Return a reference to the Lease as it was seen last."""
        assert self._observed is not None, "it was taken"
        metadata = self._observed["metadata"]
        named = ("namespace", "name", "uid", "resourceVersion")
        return {**_LEASE_KIND, **{each: metadata[each] for each in named if each in metadata}}

    def released(self, wall_ns: int) -> Document | None:
        """Return the Lease without a holder; None if this replica does not hold it.

        Parameters
        ----------
        wall_ns : int
            Since 1970, for the times in the Lease.
        """
        lease = self._observed or {}
        spec = _spec(lease)
        if spec.get("holderIdentity") != self.identity:
            return None
        now = timestamp_text_micro(wall_ns)
        changed = {
            "holderIdentity": "",
            "leaseDurationSeconds": _RELEASED_SECONDS,
            "renewTime": now,
            "acquireTime": now,
            "leaseTransitions": spec.get("leaseTransitions") or 0,
        }
        return {**lease, "spec": changed}


def _spec(lease: Document | None) -> Document:
    return (lease or {}).get("spec") or {}


class LeaseElection:
    """Takes and renews a Lease.

    Parameters
    ----------
    connection : WriteConnection
    namespace, name : str
        Of the Lease.
    state : LeaseState
    reporter : str
        The name of the scheduler, in Events.

    Attributes
    ----------
    name : str
        Of the Lease.
    """

    def __init__(
        self,
        connection: WriteConnection,
        namespace: str,
        name: str,
        state: LeaseState,
        *,
        reporter: str = DEFAULT_SCHEDULER_NAME,
    ) -> None:
        self._reporter = reporter
        self._connection = connection
        self._collection = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self.name = name
        self._namespace = namespace
        self._state = state
        self._renewed_ns: int | None = None
        """When it was taken or renewed, on the monotonic clock; None before."""

    def is_renewed(self) -> bool:
        """Whether this replica waits for the Lease, or has renewed it while it was valid.

        Upstream: staging/src/k8s.io/client-go/tools/leaderelection/healthzadaptor.go
        """
        since = self._renewed_ns
        if since is None:
            return True
        return time.monotonic_ns() - since <= self._state.times.lease_duration_ns + _TOLERANCE_NS

    def check_held(self) -> None:
        """Check that the Lease was renewed within the renew deadline: no other replica has it.

        Raises
        ------
        LostLease
        """
        since = self._renewed_ns
        if since is None or time.monotonic_ns() - since > self._state.times.renew_deadline_ns:
            raise self._lost()

    async def acquire(self) -> None:
        """Wait until this replica holds the Lease.

        Raises
        ------
        RejectedRequest
            It may not be read or written. Once a request was granted, this passes: a replica may
            wait for days, and a server that has started again refuses requests for a while.
        """
        has_replied = False
        while True:
            began_ns = time.monotonic_ns()
            try:
                if await self._try():
                    self._renewed_ns = began_ns
                    return
                has_replied = True
            except UnreachableCluster:
                pass  # the server has replied before, and may be starting again
            except RejectedRequest as error:
                if not (is_passing(error) if has_replied else error.is_passing):
                    raise
            await asyncio.sleep(self._state.times.retry_period_ns / 1e9)

    async def renew(self) -> None:
        """Renew the Lease, until cancelled.

        Raises
        ------
        LostLease
            It was not renewed within the renew deadline.
        """
        while True:
            self.check_held()
            assert self._renewed_ns is not None, "the Lease was held a moment ago"
            wait_ns, timeout_ns = self._state.times.next_attempt(
                self._renewed_ns, time.monotonic_ns()
            )
            await asyncio.sleep(wait_ns / 1e9)
            began_ns = time.monotonic_ns()
            try:
                # asyncio.wait_for of Python 3.11 loses a cancellation while a request ends.
                async with asyncio.timeout(timeout_ns / 1e9):
                    is_renewed = await self._try()
                if is_renewed:
                    # Another replica counts from when the server has the renewal, which is later.
                    self._renewed_ns = began_ns
            except (RejectedRequest, UnreachableCluster, TimeoutError):
                pass  # the deadline decides

    def _lost(self) -> LostLease:
        return LostLease(
            f"the lease {self._namespace}/{self.name} was not renewed for "
            f"{self._state.times.renew_deadline_ns / 1e9:g} s; the process ends, so that another "
            "replica can schedule"
        )

    async def release(self) -> None:
        """Give the Lease away, so that another replica need not wait for its end."""
        self._renewed_ns = None  # what is still under way is not sent: another replica may lead
        path = f"{self._collection}/{self.name}"
        lease = self._state.released(time.time_ns())
        if lease is None:
            return
        try:
            await self._connection.write("PUT", path, msgspec.json.encode(lease))
        except RejectedRequest as error:
            if error.status != HTTPStatus.CONFLICT:
                raise
            # The reply to the last renewal was not waited for.
            self._state.observe(
                msgspec.json.decode(await self._connection.get(path)), time.monotonic_ns()
            )
            lease = self._state.released(time.time_ns())
            if lease is not None:
                await self._connection.write("PUT", path, msgspec.json.encode(lease))

    async def record(self, what: str) -> None:
        """Write an Event that says what happens to this replica; one that fails is lost.

        Upstream: staging/src/k8s.io/client-go/tools/leaderelection/resourcelock/leaselock.go,
        `RecordEvent`
        """
        now_ns = time.time_ns()
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": f"{self.name}.{now_ns:x}", "namespace": self._namespace},
            "eventTime": timestamp_text_micro(now_ns),
            "reportingController": self._reporter,
            "reportingInstance": self._state.identity,
            "action": _EVENT_REASON,
            "reason": _EVENT_REASON,
            "type": "Normal",
            "note": f"{self._state.identity} {what}",
            "regarding": self._state.reference(),
        }
        path = f"/apis/events.k8s.io/v1/namespaces/{self._namespace}/events"
        with suppress(RejectedRequest, UnreachableCluster, TimeoutError):
            async with asyncio.timeout(_EVENT_SECONDS):
                await self._connection.write("POST", path, msgspec.json.encode(event))

    async def _try(self) -> bool:
        path = f"{self._collection}/{self.name}"
        lease: Document | None = None
        try:
            lease = msgspec.json.decode(await self._connection.get(path))
        except RejectedRequest as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        state = self._state
        state.observe(lease, time.monotonic_ns())
        due = state.lease_to_write(time.monotonic_ns(), time.time_ns())
        if due is None:
            return False
        try:
            if lease is None:
                metadata = {"name": self.name, "namespace": self._namespace}
                body = msgspec.json.encode({**_LEASE_KIND, "metadata": metadata, **due})
                written = await self._connection.write("POST", self._collection, body)
            else:
                written = await self._connection.write("PUT", path, msgspec.json.encode(due))
        except RejectedRequest as error:
            if error.status == HTTPStatus.CONFLICT:
                return False
            raise
        state.observe(msgspec.json.decode(written), time.monotonic_ns())
        return True


# An election in a separate thread: renewals of the Lease never wait for the scheduler's work.
#
# The event loop of the scheduler also decides, and decodes long lists; a kernel that is compiled
# there takes seconds. The election has a loop and a separate connection; the interpreter switches
# between the two threads every few milliseconds.
#
# Before each call that it sends, the scheduler checks that the Lease is held: a loop that was
# occupied for longer than the renew deadline sends nothing that it had decided before.

T = TypeVar("T")


class LeaseThread:
    """Takes, renews and releases a Lease in a thread; use it with `async with`.

    Parameters
    ----------
    connection : WriteConnection
        That of the election, which nothing else has opened.
    election : LeaseElection
    """

    def __init__(self, connection: WriteConnection, election: LeaseElection) -> None:
        self._connection = connection
        self._election = election
        self._opened: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._renewal: Future[None] | None = None

    async def __aenter__(self) -> Self:
        # A loop has sockets: one that is never entered has none to close.
        self._opened = asyncio.new_event_loop()
        self._thread.start()
        try:
            await self._call(self._connection.__aenter__())
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await self._stop_renewals()
            await self._call(self._connection.close())
        finally:
            await self._end()

    @property
    def _loop(self) -> asyncio.AbstractEventLoop:
        assert self._opened is not None, "the thread has started"
        return self._opened

    def _run(self) -> None:
        """Run the loop until it is stopped, and close it, whoever still waits for that."""
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    def is_renewed(self) -> bool:
        """Whether this replica waits for the Lease, or has renewed it while it was valid."""
        return self._election.is_renewed()

    def check_held(self) -> None:
        """Check that no other replica can hold the Lease.

        Raises
        ------
        LostLease
            It was not renewed within the renew deadline.
        """
        self._election.check_held()

    async def acquire(self) -> None:
        """Wait until this replica holds the Lease, and renew it from then on.

        Raises
        ------
        RejectedRequest, UnreachableCluster
            As of `LeaseElection.acquire`.
        """
        await self._call(self._election.acquire())
        self._renewal = asyncio.run_coroutine_threadsafe(self._election.renew(), self._loop)
        asyncio.run_coroutine_threadsafe(self._election.record("became leader"), self._loop)

    async def wait_until_lost(self) -> None:
        """Wait until the Lease could not be renewed in time.

        A wait that is cancelled ends no renewals: they last until the release.

        Raises
        ------
        LostLease
        """
        assert self._renewal is not None, "the Lease is held"
        await asyncio.shield(asyncio.wrap_future(self._renewal))

    async def release(self) -> None:
        """Give the Lease away, so that another replica need not wait for its end."""
        await self._stop_renewals()
        await self._call(self._election.release())
        if self._renewal is not None:  # others only waited for it
            await self._call(self._election.record("stopped leading"))

    async def _stop_renewals(self) -> None:
        if self._renewal is not None and self._renewal.cancel():
            await self._call(_other_tasks_ended())

    async def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)


async def _other_tasks_ended() -> None:
    """Wait for a request whose task was cancelled: it uses the connection until it has ended."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)

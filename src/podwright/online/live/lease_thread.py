"""An election in a separate thread: renewals of the Lease never wait for the scheduler's work.

The event loop of the scheduler also decides, and decodes long lists; a kernel that is compiled
there takes seconds. The election has a loop and a separate connection; the interpreter switches
between the two threads every few milliseconds.

Before each call that it sends, the scheduler checks that the Lease is held: a loop that was
occupied for longer than the renew deadline sends nothing that it had decided before.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from podwright.online.client.cluster.write_connection import WriteConnection
from podwright.online.live.lease_election import LeaseElection

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

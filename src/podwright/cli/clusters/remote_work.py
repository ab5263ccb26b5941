"""Runs what talks to a cluster until it is over or interrupted."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

from podwright.cli.console import print_message

if TYPE_CHECKING:
    from podwright.online.client.cluster import ReadConnection


_T = TypeVar("_T")
_AGAIN_SECONDS: Final = 10.0
_KEPT_MAX: Final = 100


class FailureLines:
    """Prints which requests failed and are repeated.

    A server that cannot be reached fails the requests for all kinds, again and again: the same
    error is printed once in ten seconds, with the first kind.

    Parameters
    ----------
    clock_s : callable
        Returns the seconds of a clock that does not go back.
    """

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._printed_s: dict[str, float] = {}

    def __call__(self, resource: str, error: Exception) -> None:
        """Print that a request for the objects of a resource failed."""
        text, now_s = str(error), self._clock_s()
        if now_s - self._printed_s.get(text, -_AGAIN_SECONDS) < _AGAIN_SECONDS:
            return
        if len(self._printed_s) >= _KEPT_MAX:
            self._printed_s.clear()
        self._printed_s[text] = now_s
        print_message(f"{resource}: {text}; retrying")


async def once_answered(work: Callable[[], Awaitable[_T]], seconds: float | None = None) -> _T:
    """Return the result of the first requests of a process that follows a cluster.

    They are repeated while the server cannot be reached, or fails: the process may be started
    beside its API server, which refuses connections until it is ready.

    Parameters
    ----------
    work : callable
        Sends the requests.
    seconds : float, optional
        How long they are repeated; without it, without end.

    Raises
    ------
    UnreachableCluster, RejectedRequest
        In a way that no later attempt changes, or the time is over.

    Notes
    -----
    Upstream: staging/src/k8s.io/client-go/tools/cache/reflector.go, `RunWithContext`
    """
    from podwright.online.client.cluster import Backoff, RejectedRequest, UnreachableCluster

    backoff, failed = Backoff(0), FailureLines()
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        try:
            return await work()
        except (RejectedRequest, UnreachableCluster) as error:
            wait = backoff.next_ns() / 1e9
            if not error.is_passing or (end is not None and time.monotonic() + wait >= end):
                raise
            failed("start", error)
        await asyncio.sleep(wait)


async def until_interrupted(
    work: Awaitable[object], seconds: float | None = None, *, since: asyncio.Event | None = None
) -> None:
    """Run until a time is over or the process gets SIGINT or SIGTERM; then end the work.

    Parameters
    ----------
    since : asyncio.Event, optional
        Set by the work when the time starts; without it, the time starts at once.

    Raises
    ------
    Exception
        That of the work.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)

    async def wait_for_end() -> None:
        if since is not None:
            await since.wait()
        assert seconds is not None, "there is an end"
        await asyncio.sleep(seconds)

    working = asyncio.ensure_future(work)
    endings: list[asyncio.Future[object]] = [working, asyncio.create_task(stop.wait())]
    if seconds is not None:
        endings.append(asyncio.create_task(wait_for_end()))
    try:
        await asyncio.wait(endings, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        for each in endings:
            each.cancel()
        await asyncio.gather(*endings, return_exceptions=True)


async def warn_of_version(connection: ReadConnection) -> None:
    """Warn of a server of another version than podwright follows.

    Raises
    ------
    UnreachableCluster, RejectedRequest
    """
    from podwright.cli.commands import UPSTREAM
    from podwright.online.client.cluster import server_version

    version = await server_version(connection)
    if warning := version.warning(f"v{UPSTREAM}"):
        print_message(f"warning: {warning}")

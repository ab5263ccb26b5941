"""Clusters that a thread serves over HTTP, and commands that run beside them in this process."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.waiting import until
from typer.testing import CliRunner

from podwright.cli import app
from podwright.online.sync.tests.served_cluster import ServedCluster


@contextmanager
def served(cluster: ServedCluster) -> Iterator[str]:
    """Serve a cluster for the time of a block; yields its address."""
    loop = asyncio.new_event_loop()
    started, addresses = threading.Event(), []
    ended = asyncio.Event()

    async def serve() -> None:
        async with cluster.serve() as address:
            addresses.append(address.server)
            started.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    started.wait()
    try:
        yield addresses[0]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


def command(line: str, stdin: str | None = None) -> tuple[str, str, int]:
    """Run a command: stdout, stderr and the exit status."""
    result = CliRunner().invoke(app, shlex.split(line), input=stdin, prog_name="podwright")
    return result.stdout, result.stderr, result.exit_code


def held(condition: Callable[[], object], times: int = 30) -> Callable[[], bool]:
    """Return whether a condition held so many times in a row.

    A cluster shows what a command did before the command has the reply and counts it.
    """
    seen = 0

    def is_held() -> bool:
        nonlocal seen
        seen = seen + 1 if condition() else 0
        return seen >= times

    return is_held


def command_until(condition: Callable[[], object], line: str) -> tuple[str, str, int]:
    """Run a command, and interrupt it as soon as a condition holds: as `command` returns it."""
    failures: list[AssertionError] = []

    def is_interruptible() -> bool:
        return signal.getsignal(signal.SIGTERM) != signal.SIG_DFL and bool(condition())

    def interrupt() -> None:
        try:
            until(is_interruptible, 30, pause_seconds=0.01)
        except AssertionError as error:
            failures.append(error)
            if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
                return  # the command has ended
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=interrupt)
    thread.start()
    found = command(line)
    thread.join()
    assert not failures, found
    return found

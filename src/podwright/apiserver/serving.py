"""Serving: a socket, uvicorn on it, and the turn loop beside it in one thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable
from typing import Any, Final

import uvicorn
import uvloop

from podwright.apiserver.application import Application
from podwright.apiserver.hosts import AllowedHosts
from podwright.apiserver.turn_loop import TurnLoop
from podwright.apiserver.wire_protocol import WireProtocol
from podwright.objects import PodwrightError

KEEP_ALIVE_SECONDS: Final = 185
"""Longer than clients keep idle connections; client-go keeps them for 90 seconds."""

STOP_SECONDS: Final = 5
_BACKLOG: Final = 2048


class ServingError(PodwrightError):
    """A server that cannot start; the text says why."""


def bound_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Parameters
    ----------
    host : str
        The address.
    port : int
        0 for any free port.

    Raises
    ------
    ServingError
        The address is in use, or does not belong to this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        raise ServingError(
            f"port {port} of {host} cannot be served: {error}; choose another one with --port"
        ) from error
    listening.settimeout(0)
    return listening


def serve(
    turns: Callable[[], TurnLoop],
    listening: socket.socket,
    *,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Serve a cluster until the process is interrupted or terminated.

    Parameters
    ----------
    turns : callable
        Makes the turn loop, in the event loop that runs it.
    listening : socket
    started : callable
        Called when requests are served.

    Raises
    ------
    UnusableStore
        The store cannot write.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(turns, listening, started))


async def _serve(
    make_turns: Callable[[], TurnLoop], listening: socket.socket, started: Callable[[], None]
) -> None:
    turns = make_turns()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, turns.stop)
    await serving(Application(turns, AllowedHosts()), turns, listening, started)


async def serving(
    application: Application,
    turns: TurnLoop,
    listening: socket.socket,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Serve an application until its turn loop ends.

    Raises
    ------
    UnusableStore
        The store cannot write.
    """
    # Warnings about the requests of clients are answers, not lines of a log.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    server = _Server(
        uvicorn.Config(
            application,
            http=WireProtocol,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=STOP_SECONDS,
        ),
        started,
    )

    async def turn() -> None:
        try:
            await turns.run()
        finally:
            server.should_exit = True

    turning = asyncio.create_task(turn())
    await server.serve(sockets=[listening])
    turns.stop()
    await turning
    if server.failure is not None:
        await server.shutdown(sockets=[listening])
        raise server.failure


class _Server(uvicorn.Server):
    """Leaves signals to `serve`."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._call_started = started
        self.failure: OSError | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report it; a server whose report cannot be written ends."""
        await super().startup(sockets=sockets)
        try:
            self._call_started()
        except OSError as error:
            self.failure = error
            self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        """Install no handlers of signals."""
        yield

"""Serving: a socket, uvicorn on it, and the turn loop beside it in one thread."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import ssl
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import uvicorn
import uvloop

from podwright.apimachinery.objects import PodwrightError
from podwright.online.apiserver.free_memory import keep_huge_pages, share_heap, short_collections
from podwright.online.apiserver.records.run_collection import RunCollection, keep_memory_checkpoints
from podwright.online.apiserver.scheduling.running_scheduler import PluginReload, RunningScheduler
from podwright.online.apiserver.scheduling.shadow_feed import ShadowFeed
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.application import Application
from podwright.online.apiserver.wire.hosts import AllowedHosts, with_cors
from podwright.online.apiserver.wire.latency import ApiLatency
from podwright.online.apiserver.wire.sending import WireProtocol

KEEP_ALIVE_SECONDS: Final = 185
"""Longer than clients keep idle connections; client-go keeps them for 90 seconds."""

STOP_SECONDS: Final = 5
_TICK_SECONDS: Final = 0.1
_PAUSE_SECONDS: Final = 0.005
_BACKLOG: Final = 2048
_ACCEPT_STEPS: Final = 3
"""Turns of the event loop until a connection that was accepted is one of the server's."""


class ServingError(PodwrightError):
    """A server that cannot start; the text says why."""


def bound_socket(host: str, port: int, option: str = "--port") -> socket.socket:
    """Return a listening socket.

    Parameters
    ----------
    host : str
        The address.
    port : int
        0 for any free port.
    option : str
        The option that chooses another port.

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
        reason = getattr(error, "strerror", None) or error
        is_elsewhere = getattr(error, "errno", None) == errno.EADDRNOTAVAIL
        choice = (
            "an address of this machine with --address"
            if is_elsewhere
            else f"another one with {option}"
        )
        raise ServingError(
            f"port {port} of {host} cannot be served: {reason}; choose {choice}"
        ) from error
    listening.settimeout(0)
    return listening


def server_context(certificate: Path, key: Path, authority: Path) -> ssl.SSLContext:
    """Return the context of a server's TLS.

    Parameters
    ----------
    certificate, key : Path
        Of the server, in PEM; the certificate may be followed by its chain.
    authority : Path
        Signs the certificates of clients.

    Raises
    ------
    ServingError
        The files cannot be used.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # A key with a password is an error, and no question on the terminal.
        context.load_cert_chain(certificate, key, password=lambda: b"")
        context.load_verify_locations(authority)
    except (OSError, ValueError) as error:
        raise ServingError(f"{certificate}: cannot be used for TLS: {error}") from error
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


class ControlledParts(NamedTuple):
    """What podwright's own API shows and controls, besides the turn loop.

    Parameters
    ----------
    scheduler : callable
        Makes the scheduler of the turn loop, whose configuration can be changed over HTTP.
    latency : ApiLatency, optional
        How long requests of the Kubernetes API are delayed.
    shadow : ShadowFeed, optional
        Compares the decisions of another scheduler; one of the followers of the turn loop.
    runs : RunCollection, optional
        The runs that it lists.
    background : sequence of callable
        What runs beside the turn loop until it ends.
    reload : PluginReload, optional
        Reloads the plugin files of the schedulers.
    """

    scheduler: Callable[[TurnLoop], RunningScheduler] = RunningScheduler
    latency: ApiLatency | None = None
    shadow: ShadowFeed | None = None
    runs: RunCollection | None = None
    background: Sequence[Callable[[TurnLoop], Coroutine[Any, Any, None]]] = ()
    reload: PluginReload | None = None


class Site(NamedTuple):
    """A further application of a server, on a separate socket, with the TLS of the server."""

    application: Any
    listening: socket.socket


def serve(
    turns: Callable[[], TurnLoop],
    listening: socket.socket,
    *,
    started: Callable[[], None] = lambda: None,
    tls: ssl.SSLContext | None = None,
    hosts: AllowedHosts | None = None,
    parts: ControlledParts | None = None,
    sites: Callable[[RunningScheduler], Sequence[Site]] = lambda _: (),
) -> None:
    """Serve a cluster until the process is interrupted or terminated.

    Parameters
    ----------
    turns : callable
        Makes the turn loop, in the event loop that runs it.
    listening : socket
    started : callable
        Called when requests are served.
    tls : SSLContext, optional
        The context of TLS; HTTP without TLS if left out.
    hosts : AllowedHosts, optional
        Which requests of browsers are served; those to loopback if left out.
    parts : ControlledParts, optional
        The default ones if left out.
    sites : callable, optional
        Makes further sites of the scheduler's cluster.

    Raises
    ------
    UnusableStore
        The store cannot write.
    """
    share_heap()
    with short_collections(), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        allowed = hosts or AllowedHosts()
        controlled = parts or ControlledParts()
        runner.run(_serve(turns, listening, started, tls, allowed, controlled, sites))


async def _serve(
    make_turns: Callable[[], TurnLoop],
    listening: socket.socket,
    started: Callable[[], None],
    tls: ssl.SSLContext | None,
    hosts: AllowedHosts,
    parts: ControlledParts,
    make_sites: Callable[[RunningScheduler], Sequence[Site]],
) -> None:
    turns = make_turns()
    loop = asyncio.get_running_loop()
    stopping = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as with nohup
        stopping.append(signal.SIGHUP)
    for number in stopping:
        loop.add_signal_handler(number, turns.stop)
    scheduler = parts.scheduler(turns)
    application: Any = Application(
        turns,
        hosts,
        latency=parts.latency,
        scheduler=scheduler,
        shadow=parts.shadow,
        runs=parts.runs,
    )
    if hosts.origins:
        application = with_cors(application, hosts.origins)
    sites = make_sites(scheduler)
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(loop.create_task(keep_huge_pages()).cancel)
        stack.callback(loop.create_task(keep_memory_checkpoints(turns)).cancel)
        for run in parts.background:
            stack.callback(loop.create_task(run(turns)).cancel)
        if parts.reload is not None:
            stack.callback(loop.create_task(parts.reload.run(scheduler)).cancel)
        await serving(application, turns, listening, started, tls=tls, sites=sites)


async def serving(
    application: Any,
    turns: TurnLoop,
    listening: socket.socket,
    started: Callable[[], None] = lambda: None,
    *,
    tls: ssl.SSLContext | None = None,
    sites: Sequence[Site] = (),
) -> None:
    """Serve an application, and further sites beside it, until its turn loop ends.

    Raises
    ------
    UnusableStore
        The store cannot write.
    """
    # Warnings about the requests of clients are answers, not lines of a log.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    server = _server(application, tls, started)
    others = [_server(site.application, tls) for site in sites]

    async def turn() -> None:
        try:
            await turns.run()
        finally:
            for each in (server, *others):
                each.stop()

    turning = asyncio.create_task(turn())
    beside = [
        asyncio.create_task(other.serve(sockets=[site.listening]))
        for other, site in zip(others, sites, strict=True)
    ]
    await server.serve(sockets=[listening])
    turns.stop()
    await asyncio.gather(turning, *beside)
    if server.failure is not None:
        await server.shutdown(sockets=[listening])
        raise server.failure


def _server(
    application: Any, tls: ssl.SSLContext | None, started: Callable[[], None] = lambda: None
) -> _Server:
    config = uvicorn.Config(
        application,
        http=WireProtocol if tls is None else _negotiated(),
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    config.load()
    config.ssl = tls
    return _Server(config, started)


def _negotiated() -> Any:
    """Return the protocol of connections over TLS, whose library is installed for TLS only."""
    from podwright.online.apiserver.wire.http2 import NegotiatedProtocol

    return NegotiatedProtocol


class _Server(uvicorn.Server):
    """Leaves signals to `serve`."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._call_started = started
        self._stopped = asyncio.Event()
        self.failure: OSError | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and report it; a server whose report cannot be written ends."""
        await super().startup(sockets=sockets)
        try:
            self._call_started()
        except OSError as error:
            self.failure = error
            self.should_exit = True

    def stop(self) -> None:
        """End the server at once, and not at uvicorn's next tick."""
        self.should_exit = True
        self._stopped.set()

    async def main_loop(self) -> None:
        """Keep the headers up to date until the server is stopped."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TICK_SECONDS):
                    await self._stopped.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, and after half of the time close the connections whose clients take nothing.

        Uvicorn's would wait for a tenth of a second where there is no connection.
        """
        state = self.server_state
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        for _ in range(_ACCEPT_STEPS):
            await asyncio.sleep(0)
        for connection in list(state.connections):
            connection.shutdown()
        for end in (self._close_connections, self._cancel_tasks):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS / 2):
                    while state.connections or state.tasks:  # noqa: ASYNC110, sets of uvicorn
                        await asyncio.sleep(_PAUSE_SECONDS)
                    return
            end()

    def _close_connections(self) -> None:
        # Otherwise their requests are cancelled, which uvicorn reports as an error of the server.
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()

    def _cancel_tasks(self) -> None:
        for task in self.server_state.tasks:
            task.cancel()

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        """Install no handlers of signals."""
        yield

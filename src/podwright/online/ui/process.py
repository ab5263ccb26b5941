"""Serves the page on loopback."""

from __future__ import annotations

import socket
import threading
from typing import BinaryIO

import msgspec
import uvicorn

from podwright.online.client import ClusterAccess
from podwright.online.ui.application import new_application
from podwright.online.ui.origin import OwnOrigin
from podwright.online.ui.upstream import Upstream

__all__ = ["PageSettings", "Upstream", "serve_page"]


def serve_page(
    upstream: Upstream,
    listening: socket.socket,
    *,
    compared: Upstream | None = None,
    lives_until: BinaryIO | None = None,
) -> None:
    """Serve the page until the process is interrupted.

    Parameters
    ----------
    upstream : Upstream
        The server of the page.
    listening : socket
        A listening socket on loopback.
    compared : Upstream, optional
        Another server to compare with.
    lives_until : binary file, optional
        The process ends at the end of this file: the one that started it has ended.
    """
    port = listening.getsockname()[1]
    server = _Server(
        uvicorn.Config(
            OwnOrigin(new_application(upstream, compared), port),
            log_level="warning",
            lifespan="on",
            server_header=False,
            timeout_graceful_shutdown=1,
        )
    )
    if lives_until is not None:
        threading.Thread(target=_stop_at_end, args=(server, lives_until), daemon=True).start()
    server.run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server whose streams end with it."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the server and all connections."""
        # Streams to pages never end by themselves. uvicorn would cancel their requests, and print
        # a traceback for each.
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await super().shutdown(sockets=sockets)


def _stop_at_end(server: uvicorn.Server, file: BinaryIO) -> None:
    file.read()
    server.should_exit = True


# What the process of the page is started with.


class PageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a page that another process starts: one line of JSON on its stdin.

    They have the token, and are neither arguments nor environment variables, which other
    processes can read.

    Attributes
    ----------
    access : ClusterAccess
        How the server is reached.
    descriptor : int
        The file descriptor of the listening socket, which the process inherits.
    """

    access: ClusterAccess
    descriptor: int

"""The check of who sends a request, in front of what is served beside the Kubernetes API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podwright.cluster.api.endpoints import HttpRequest, Rejection, wire_headers
from podwright.online.apiserver.turn_loop import TurnLoop
from podwright.online.apiserver.wire.sending import CERTIFIED


class AuthorizedPaths:
    """An ASGI middleware that serves the requests of users who may access a path.

    Parameters
    ----------
    application : ASGI application
    turns : TurnLoop
        Of the cluster, which knows the users and their rights.
    path_of : callable
        Returns the method and the nonresource path that a user needs, for those of a request.
    reply : callable
        Makes the ASGI response for a rejection.
    """

    def __init__(
        self,
        application: Any,
        turns: TurnLoop,
        path_of: Callable[[str, str], tuple[str, str]],
        reply: Callable[[Rejection], Any],
    ) -> None:
        self._application = application
        self._turns = turns
        self._path_of = path_of
        self._reply = reply

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request, or reject it."""
        headers = wire_headers(scope["headers"])
        method, path = self._path_of(scope["method"], scope["path"])
        certified = scope["state"].get(CERTIFIED)
        sent = HttpRequest(method=method, path=path, headers=headers, certified=certified)
        turns = self._turns
        error = turns.cluster.server.path_rejection(sent, turns.clock.now_ns())
        application = self._application if error is None else self._reply(error)
        await application(scope, receive, send)

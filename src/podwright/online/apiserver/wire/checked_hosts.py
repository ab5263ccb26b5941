"""The check of where requests come from, in front of the API of kube-scheduler-simulator."""

from __future__ import annotations

from typing import Any

from podwright.cluster.api.endpoints import MediaType, error_reply
from podwright.online.apiserver.wire.hosts import AllowedHosts


class CheckedHosts:
    """An ASGI middleware that rejects requests of other pages, and under other names.

    Parameters
    ----------
    application : ASGI application
    hosts : AllowedHosts
    """

    def __init__(self, application: Any, hosts: AllowedHosts) -> None:
        self._application = application
        self._hosts = hosts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one request."""
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        rejection = self._hosts.rejection(scope["method"], headers, scope["scheme"])
        if rejection is None:
            await self._application(scope, receive, send)
            return
        reply = error_reply(rejection, MediaType())
        encoded = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in reply.headers]
        await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
        await send({"type": "http.response.body", "body": reply.body})

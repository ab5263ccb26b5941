"""The check of Host and Origin in front of the API of kube-scheduler-simulator."""

from __future__ import annotations

from typing import Any

from podwright.apiserver.hosts import AllowedHosts, forbidden


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
        message = self._hosts.rejection(headers)
        if not message:
            await self._application(scope, receive, send)
            return
        reply = forbidden(message)
        encoded = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in reply.headers]
        await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
        await send({"type": "http.response.body", "body": reply.body})

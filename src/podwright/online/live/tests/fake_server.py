"""A small API server whose replies a test scripts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from tests.http_servers import serving_all_paths

from podwright.online.client.cluster import ClusterAddress

CUT = None
"""A connection that is cut instead of a reply."""
Reply = tuple[int, dict[str, Any]] | None


def forbidden(verb: str, resource: str) -> Reply:
    """Return what kube-apiserver replies while its RBAC has no roles yet."""
    text = f'pods "p" is forbidden: User "u" cannot {verb} resource "{resource}" in API group ""'
    return 403, {"kind": "Status", "message": text, "reason": "Forbidden", "code": 403}


def status(code: int, reason: str = "", message: str = "no") -> Reply:
    return code, {"kind": "Status", "message": message, "reason": reason, "code": code}


class FakeServer:
    """Gives each request the next reply to its verb, the last one without end.

    Attributes
    ----------
    requests : list of (str, str, object)
        Verb, path with its query, and body.
    """

    def __init__(self, **replies: Sequence[Reply]) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self._replies = {verb: list(each) for verb, each in replies.items()}

    def verbs(self) -> list[str]:
        return [verb for verb, _, _ in self.requests]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else None
        self.requests.append((request.method, request.path_qs, body))
        rest = self._replies[request.method]
        reply = rest.pop(0) if len(rest) > 1 else rest[0]
        if reply is CUT:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        code, document = reply
        return web.json_response(document, status=code)


@asynccontextmanager
async def serving(server: FakeServer) -> AsyncIterator[ClusterAddress]:
    """Serve for the time of a block."""
    async with serving_all_paths(server.answer) as address:
        yield ClusterAddress(server=address)

"""Requests whose replies are lines of JSON, such as comparisons with their progress."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from podwright.online.client import ClusterAccess
from podwright.online.ui.configuration import progress_text
from podwright.online.ui.server_requests import RejectedRequest, ServerRequests
from podwright.online.ui.upstream import Upstream

PROBLEM = {"title": "Unprocessable", "detail": "wrong", "field": "configuration.profiles"}


def received(reply: Response) -> list[Any]:
    """Return the lines of a reply."""
    server = Starlette(routes=[Route("/lines", lambda _: reply, methods=["POST"])])
    access = ClusterAccess(server="http://127.0.0.1:8180")
    requests = ServerRequests(Upstream(access, transport=httpx.ASGITransport(server)))

    async def read() -> list[Any]:
        return [line async for line in requests.lines("/lines", {})]

    return asyncio.run(read())


def test_each_line_is_yielded():
    lines = [{"done": 1, "total": 2}, {"summary": {}}]
    assert received(Response('{"done":1,"total":2}\n{"summary":{}}\n')) == lines


@pytest.mark.parametrize(
    ("reply", "causes"),
    [
        pytest.param(
            JSONResponse(PROBLEM, 422), [("wrong", "configuration.profiles")], id="no reply begun"
        ),
        pytest.param(
            Response('{"done":1,"total":2}\n{"detail":"it failed"}\n'),
            [("it failed", "")],
            id="failed later",
        ),
        pytest.param(Response('{"done":1,"to'), [("The reply broke off.", "")], id="broken off"),
    ],
)
def test_why_there_is_no_reply_is_an_error(reply, causes):
    with pytest.raises(RejectedRequest) as raised:
        received(reply)
    assert [(each.message, each.field) for each in raised.value.causes] == causes


def test_the_remaining_time_follows_from_the_decisions_made():
    assert progress_text(1_000, 4_000, 30) == "1,000 of 4,000 decisions, about 1 min 30 s left"
    assert progress_text(3_000, 4_000, 30) == "3,000 of 4,000 decisions, about 10 s left"

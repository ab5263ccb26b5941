"""Requests that are passed through to the server."""

import asyncio
import gzip

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from podwright.online.client import ClusterAccess
from podwright.online.ui.pass_through import METHODS, PassThrough, is_passed
from podwright.online.ui.upstream import Upstream

TOKEN = "secret-token"
BODY = gzip.compress(b"a table")


async def echo(request):
    return JSONResponse(
        {
            "method": request.method,
            "target": request.scope["raw_path"].decode(),
            "query": request.scope["query_string"].decode(),
            "headers": dict(request.headers),
            "body": (await request.body()).decode(),
        },
        headers={"etag": '"7"', "set-cookie": "a=b", "x-internal": "1"},
    )


async def compressed(_):
    return Response(BODY, headers={"content-encoding": "gzip", "content-type": "text/plain"})


class Unreachable(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request):
        raise httpx.ConnectError("Connection refused")


def sent(method, path, *, transport=None, **options):
    """Send a request to the page, and return the reply with its bytes."""
    server = Starlette(
        routes=[
            Route("/podwright/v1/gzip", compressed),
            Route("/{path:path}", echo, methods=list(METHODS)),
        ]
    )
    access = ClusterAccess(server="http://127.0.0.1:8180", token=TOKEN)

    async def send():
        upstream = Upstream(access, transport=transport or httpx.ASGITransport(server))
        passed = PassThrough(upstream)
        page = Starlette(
            routes=[Route("/server/{path:path}", passed.forward, methods=list(METHODS))]
        )
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(page), base_url="http://127.0.0.1:8181"
        ) as client:
            request = client.build_request(method, path, **options)
            response = await client.send(request, stream=True)
            content = b"".join([part async for part in response.aiter_raw()])
            await upstream.close()
            return response, content

    return asyncio.run(send())


def test_a_request_reaches_the_server_unchanged():
    response, _ = sent(
        "POST",
        "/server/api/v1/pods%2Fa?watch=1&a=%20b",
        content=b"{}",
        headers={
            "content-type": "application/json",
            "cookie": "a=b",
            "authorization": "Bearer other",
            "impersonate-user": "root",
        },
    )
    found = httpx.Response(200, content=_).json()
    assert response.status_code == 200
    assert (found["method"], found["target"]) == ("POST", "/api/v1/pods%2Fa")
    assert (found["query"], found["body"]) == ("watch=1&a=%20b", "{}")
    headers = found["headers"]
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["content-type"] == "application/json"
    assert headers["host"] == "127.0.0.1:8180"
    assert not {"cookie", "impersonate-user", "origin"} & set(headers)


def test_a_reply_is_returned_without_cookies_and_internal_headers():
    response, _ = sent("GET", "/server/version")
    assert response.headers["etag"] == '"7"'
    assert response.headers["content-type"] == "application/json"
    assert not {"set-cookie", "x-internal", "authorization"} & set(response.headers)


def test_compressed_bytes_are_returned_as_they_are():
    response, content = sent(
        "GET", "/server/podwright/v1/gzip", headers={"accept-encoding": "gzip"}
    )
    assert content == BODY
    assert response.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api", True),
        ("/api/v1/pods", True),
        ("/apis/apps/v1/deployments", True),
        ("/podwright/v1/queue", True),
        ("/version", True),
        ("/versions", False),
        ("/apiserver", False),
        ("/metrics", False),
        ("/", False),
        ("", False),
        ("/api/../metrics", False),
        ("/api/%2e%2E/metrics", False),
        ("/api/./v1", False),
    ],
)
def test_only_the_apis_are_passed(path, expected):
    assert is_passed(path) is expected


def test_another_path_is_not_found():
    response, content = sent("GET", "/server/metrics")
    assert response.status_code == 404
    assert b"/metrics" in content


def test_a_server_that_does_not_answer_is_an_error_of_kubernetes():
    response, content = sent("GET", "/server/api/v1/pods", transport=Unreachable())
    found = httpx.Response(200, content=content).json()
    assert response.status_code == 503
    assert found["kind"] == "Status"
    assert "http://127.0.0.1:8180 does not answer: Connection refused" in found["message"]

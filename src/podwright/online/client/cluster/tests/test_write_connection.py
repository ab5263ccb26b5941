"""What a connection sends when it writes, and what it does about refusals."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from aiohttp import web
from tests.http_servers import serving_all_paths

from podwright.online.client.cluster import (
    ClusterAddress,
    ReadConnection,
    RejectedRequest,
    UnreachableCluster,
)
from podwright.online.client.cluster.tests.test_read_connection import ABSENT, kubeconfig
from podwright.online.client.cluster.write_connection import WriteConnection


def written(handler: Any, user: dict[str, str], folder: Any, *writes: Any, **options: Any) -> Any:
    """Make writes, each of a verb, a path and a body; return the bodies of the replies."""

    async def run() -> list[bytes]:
        async with serving_all_paths(handler) as server:
            address = ClusterAddress(kubeconfig=kubeconfig(folder, server, user))
            async with WriteConnection(address) as connection:
                return [await connection.write(*each, **options) for each in writes]

    return asyncio.run(run())


def test_a_write_is_sent_as_it_was_given(tmp_path):
    seen = []

    async def handler(request):
        seen.append(
            (
                request.method,
                request.path_qs,
                request.headers["Content-Type"],
                request.headers["Authorization"],
                await request.read(),
            )
        )
        return web.Response(body=b"reply", status=201)

    bodies = written(
        handler,
        {"token": "t"},
        tmp_path,
        ("PATCH", "/api/v1/pods", b"{}"),
        query={"fieldManager": "a b", "dryRun": "All"},
        content_type="application/apply-patch+yaml",
    )
    assert bodies == [b"reply"]
    path = "/api/v1/pods?fieldManager=a+b&dryRun=All"
    assert seen == [("PATCH", path, "application/apply-patch+yaml", "Bearer t", b"{}")]
    written(handler, {"token": "t"}, tmp_path, ("DELETE", "/api/v1/pods"))
    assert seen[1] == ("DELETE", "/api/v1/pods", "application/json", "Bearer t", b"")


@pytest.mark.parametrize("is_rotated", [True, False])
def test_a_write_that_is_not_authenticated_is_repeated_once(tmp_path, is_rotated):
    token = tmp_path / "token"
    token.write_text("old")
    seen = []

    async def handler(request):
        seen.append((request.headers["Authorization"], await request.read()))
        if seen[-1][0] == "Bearer new":
            return web.Response(body=b"{}")
        if is_rotated:
            token.write_text("new")
        return web.json_response({"message": "Unauthorized"}, status=401)

    def run():
        return written(handler, {"tokenFile": str(token)}, tmp_path, ("POST", "/a", b"body"))

    if is_rotated:
        assert run() == [b"{}"]
        assert seen == [("Bearer old", b"body"), ("Bearer new", b"body")]
    else:
        with pytest.raises(RejectedRequest) as error:
            run()
        assert error.value.status == 401
        assert seen == [("Bearer old", b"body")] * 2


def test_a_write_that_is_refused_is_not_repeated(tmp_path):
    seen = []

    async def handler(request):
        seen.append(request.method)
        return web.json_response(
            {"message": "busy", "reason": "TooManyRequests"},
            status=429,
            headers={"Retry-After": "3"},
        )

    with pytest.raises(RejectedRequest, match="busy") as error:
        written(handler, {"token": "t"}, tmp_path, ("PUT", "/a", b"{}"))
    found = error.value
    assert (found.status, found.reason, found.retry_after_seconds) == (429, "TooManyRequests", 3)
    # The command ends with the status of a call that failed elsewhere.
    assert found.is_remote
    assert seen == ["PUT"]


def test_a_redirection_is_not_followed_and_no_success(tmp_path):
    seen = []

    async def handler(request):
        seen.append(request.path)
        raise web.HTTPTemporaryRedirect("/b")

    with pytest.raises(RejectedRequest, match="redirects to another address") as error:
        written(handler, {"token": "t"}, tmp_path, ("POST", "/a", b"{}"))
    assert (error.value.status, seen) == (307, ["/a"])


def test_a_server_that_is_not_there_cannot_be_reached():
    async def run():
        async with WriteConnection(ClusterAddress(server=ABSENT)) as connection:
            await connection.write("POST", "/a", b"{}")

    with pytest.raises(UnreachableCluster, match="Connection refused") as error:
        asyncio.run(run())
    assert error.value.is_remote


@pytest.mark.parametrize(("advice", "text"), [("", "it ended"), ("wait", "it ended; wait")])
def test_an_error_says_what_to_do_if_there_is_something(advice, text):
    error = UnreachableCluster("it ended", advice)
    assert (str(error), error.cause) == (text, "it ended")


def test_each_reply_is_reported_with_its_status_and_seconds(tmp_path):
    replies: list[Any] = []

    async def handler(request):
        await asyncio.sleep(0.01)
        return web.json_response({"message": "no"}, status=200 if request.method == "GET" else 409)

    async def run() -> Any:
        async with serving_all_paths(handler) as server:
            address = ClusterAddress(kubeconfig=kubeconfig(tmp_path, server, {}))
            on_reply = partial(_append, replies)
            async with WriteConnection(address, on_reply=on_reply) as connection:
                with pytest.raises(RejectedRequest):
                    await connection.write("POST", "/a", b"{}")
            async with ReadConnection(address, on_reply=on_reply) as connection:
                await connection.get("/a")
            return server

    server = asyncio.run(run())
    assert [each[:3] for each in replies] == [("POST", server, 409), ("GET", server, 200)]
    assert all(0.005 < seconds < 60 for *_, seconds in replies)


def _append(replies: list[Any], *reply: Any) -> None:
    replies.append(reply)


def test_a_reply_to_a_write_has_a_minute_and_one_to_a_read_two():
    seconds = []

    class Timed(WriteConnection):
        def _request_options(self, seconds_max: float) -> dict[str, Any]:
            seconds.append(seconds_max)
            return super()._request_options(seconds_max)

    async def handler(_: web.Request) -> web.Response:
        return web.Response(body=b"{}")

    async def run() -> None:
        async with (
            serving_all_paths(handler) as server,
            Timed(ClusterAddress(server=server)) as connection,
        ):
            await connection.write("POST", "/api/v1/pods")
            await connection.get("/api/v1/pods")

    asyncio.run(run())
    assert seconds == [60, 120]

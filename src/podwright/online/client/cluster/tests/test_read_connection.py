"""Connections to a small HTTP server, and what they say when something is wrong."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import stat
import time
from types import SimpleNamespace

import aiohttp
import pytest
import yaml
from aiohttp import web
from tests.http_servers import serving_all_paths

from podwright.online.client.cluster import (
    ClusterAddress,
    ReadConnection,
    RejectedRequest,
    UnreachableCluster,
    load_access,
    server_version,
)
from podwright.online.client.cluster.read_connection import _Connector

ABSENT = "http://127.0.0.1:9"
FAR = "http://far.invalid"


def kubeconfig(folder, server, user, *, name="config", context="c", **cluster):
    path = folder / name
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "k", "cluster": {"server": server, **cluster}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": context, "context": {"cluster": "k", "user": "u"}}],
        "current-context": context,
    }
    path.write_text(yaml.safe_dump(document))
    return str(path)


def access(path, **fields):
    return asyncio.run(load_access(ClusterAddress(kubeconfig=path, **fields)))


def test_credentials_are_sent(tmp_path):
    seen = []

    async def handler(request):
        seen.append((request.method, request.headers.get("Authorization")))
        return web.json_response({"gitVersion": "v1.30.1"})

    async def run(user):
        async with serving_all_paths(handler) as server:
            address = ClusterAddress(kubeconfig=kubeconfig(tmp_path, server, user))
            async with ReadConnection(address) as connection:
                return await server_version(connection)

    file = tmp_path / "token"
    file.write_text("from-file\n")
    plugin = tmp_path / "plugin"
    reply = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "from-plugin"},
    }
    plugin.write_text(f"#!/bin/sh\necho '{json.dumps(reply)}'\n")
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    exec_user = {"exec": {"apiVersion": reply["apiVersion"], "command": str(plugin)}}
    for user in ({"token": "t"}, {"tokenFile": "token"}, exec_user):
        asyncio.run(run(user))
    version = asyncio.run(run({}))
    assert [header for _, header in seen] == ["Bearer t", "Bearer from-file", "Bearer from-plugin",
                                              None]  # fmt: skip
    assert {method for method, _ in seen} == {"GET"}
    assert version.minor == 30
    assert "kinds that it does not serve are left out" in version.warning("v1.36")
    assert version.warning("v1.30.9") == ""


def test_a_request_says_what_it_accepts_and_who_sends_it():
    seen = []

    async def handler(request):
        seen.append((request.headers["Accept"], request.headers["User-Agent"], dict(request.query)))
        return web.Response(body=b"{}")

    async def run():
        async with (
            serving_all_paths(handler) as server,
            ReadConnection(ClusterAddress(server=server)) as one,
        ):
            await one.get("/api", {"limit": "5"})
            await one.get("/api")

    asyncio.run(run())
    assert seen == [("application/json", "podwright", each) for each in ({"limit": "5"}, {})]


async def is_closed(transport):
    for _ in range(200):
        if transport.is_closing():
            return True
        await asyncio.sleep(0.01)
    return False


def test_connections_end_with_the_last_of_their_requests():
    transports = []
    ended = asyncio.Event()

    async def handler(request):
        transports.append(request.transport)
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"x")
        if request.path == "/watch":
            await ended.wait()
        return response

    async def run():
        async with serving_all_paths(handler) as server:
            async with ReadConnection(ClusterAddress(server=server)) as one:
                async with one.stream("/watch", {}, silence_seconds=60) as chunks:
                    assert [await anext(chunks)] == [b"x"]
                assert await is_closed(transports[0]), "a stream that is left"
                ended.set()
                assert await one.get("/api") == b"x"
                assert not transports[1].is_closing()
            assert await is_closed(transports[1]), "with the connection"
            await one.close()
            with pytest.raises(AssertionError, match="not open"):
                await one.get("/api")

    asyncio.run(run())


def test_a_connection_that_is_lost_as_it_is_made_is_no_longer_there_to_end(monkeypatch):
    async def connect(*_: object) -> object:
        return SimpleNamespace(protocol=asyncio.Protocol(), transport=None)

    async def run():
        connector = _Connector(context=True)
        made = await connector.connect()
        await connector.close()
        assert made.transport is None

    monkeypatch.setattr(aiohttp.TCPConnector, "connect", connect)
    asyncio.run(run())


@pytest.mark.parametrize("status", [300, 302, 307])
def test_a_redirection_is_an_error_and_not_followed(status):
    seen = []

    async def handler(request):
        seen.append(request.path)
        return web.Response(status=status, headers={"Location": "/b"})

    async def run():
        async with (
            serving_all_paths(handler) as server,
            ReadConnection(ClusterAddress(server=server)) as one,
        ):
            await one.get("/a")

    with pytest.raises(RejectedRequest, match="redirects to another address"):
        asyncio.run(run())
    assert seen == ["/a"]


@pytest.mark.parametrize(
    ("status", "after", "rejections", "requests"),
    [
        pytest.param(429, "3", 2, 3, id="as often as the server demands it"),
        pytest.param(503, "3", 1, 2, id="a server that fails and says when it is back"),
        pytest.param(429, "3", 10, 11, id="ten times"),
        pytest.param(429, "3", 11, 0, id="not more often"),
        pytest.param(429, "", 1, 0, id="without a demand not at all"),
        pytest.param(500, "", 1, 0, id="nor after a failure"),
        pytest.param(404, "3", 1, 0, id="nor where no later attempt passes"),
    ],
)
def test_a_server_that_is_overloaded_says_when_to_come_again(
    monkeypatch, status, after, rejections, requests
):
    """Upstream: staging/src/k8s.io/client-go/rest/with_retry_test.go."""
    seen, waits = [], []

    async def note(seconds):
        waits.append(seconds)

    async def handler(request):
        seen.append(request.path)
        headers = {"Retry-After": after} if after else {}
        if len(seen) <= rejections:
            return web.json_response({}, status=status, headers=headers)
        return web.Response(body=b"{}")

    async def run():
        async with (
            serving_all_paths(handler) as server,
            ReadConnection(ClusterAddress(server=server)) as one,
        ):
            monkeypatch.setattr(asyncio, "sleep", note)
            try:
                return await one.get("/api")
            finally:
                monkeypatch.undo()

    if requests:
        assert asyncio.run(run()) == b"{}"
        assert (len(seen), waits) == (requests, [3.0] * rejections)
    else:
        with pytest.raises(RejectedRequest):
            asyncio.run(run())
        assert len(waits) == min(rejections - 1, 10)


def test_a_rotated_token_is_read_again(tmp_path):
    file = tmp_path / "token"
    file.write_text("old")

    async def handler(request):
        if request.headers["Authorization"] != "Bearer new":
            return web.json_response({"message": "Unauthorized"}, status=401)
        return web.Response(body=b"{}")

    async def run():
        async with serving_all_paths(handler) as server:
            path = kubeconfig(tmp_path, server, {"tokenFile": str(file)})
            async with ReadConnection(ClusterAddress(kubeconfig=path)) as connection:
                with pytest.raises(RejectedRequest):
                    await connection.get("/api")
                file.write_text("new")
                return await connection.get("/api")

    assert asyncio.run(run()) == b"{}"


def rejected(status, body, headers=None):
    async def handler(_):
        return web.json_response(body, status=status, headers=headers)

    async def run():
        async with serving_all_paths(handler) as server:
            address = ClusterAddress(server=server)
            async with ReadConnection(address) as connection:
                await connection.get("/api/v1/pods")

    with pytest.raises(RejectedRequest) as error:
        asyncio.run(run())
    return error.value


def test_a_token_file_is_read_again_after_a_minute(tmp_path, monkeypatch):
    file = tmp_path / "token"
    file.write_text("old")
    seen, transports = [], set()

    async def handler(request):
        seen.append(request.headers["Authorization"])
        transports.add(request.transport)
        return web.Response(body=b"{}")

    async def run():
        async with serving_all_paths(handler) as server:
            path = kubeconfig(tmp_path, server, {"tokenFile": str(file)})
            async with ReadConnection(ClusterAddress(kubeconfig=path)) as connection:
                file.write_text("new")
                now = time.monotonic_ns()
                for seconds in (30, 59, 62):
                    later = now + seconds * 10**9
                    monkeypatch.setattr(time, "monotonic_ns", lambda at=later: at)
                    await connection.get("/api")
                monkeypatch.undo()

    asyncio.run(run())
    assert seen == ["Bearer old"] * 2 + ["Bearer new"]
    assert len(transports) == 1, "no watch is cut for a token"


def test_rejections_say_what_to_do(monkeypatch):
    assert "log in again" in str(rejected(401, {"message": "Unauthorized"}))
    lacks = 'User "x" cannot list resource "pods" in API group "" at the cluster scope'
    # A strategy that checks a further right within a request rejects it as invalid.
    for status in (403, 422):
        forbidden = rejected(status, {"message": f"pods is forbidden: {lacks}", "code": status})
        assert lacks in str(forbidden)
        assert "ask an administrator to grant it: deploy/reader has the rights" in str(forbidden)
        assert forbidden.missing_right == 'cannot list resource "pods" in API group ""'
    denied = rejected(403, {"message": "admission webhook denied the request", "code": 403})
    assert "administrator" not in str(denied)
    assert denied.missing_right == ""
    waits = []

    async def note(seconds):
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", note)
    busy = rejected(429, {"message": "too many"}, {"Retry-After": "7"})
    assert waits
    assert set(waits) == {7}
    assert (busy.status, busy.retry_after_seconds) == (429, 7)
    assert [each.is_passing for each in (busy, denied, rejected(500, {}))] == [True, False, True]


def test_an_expired_token_says_until_when_it_was_valid(tmp_path):
    claims = base64.urlsafe_b64encode(b'{"exp": 1700000000}').decode().rstrip("=")

    async def handler(_):
        return web.json_response({"message": "Unauthorized"}, status=401)

    async def run():
        async with serving_all_paths(handler) as server:
            path = kubeconfig(tmp_path, server, {"token": f"x.{claims}.y"})
            async with ReadConnection(ClusterAddress(kubeconfig=path)) as connection:
                await connection.get("/api")

    with pytest.raises(RejectedRequest, match="valid until 2023-11-14T22:13:20Z"):
        asyncio.run(run())


@pytest.mark.parametrize(
    "reply", [{"text": "hello"}, {"text": "{}"}, {"status": 404}, {"text": '{"gitVersion": "x"}'}]
)
def test_what_is_no_api_server_is_named(reply):
    async def handler(_):
        return web.Response(**reply)

    async def run():
        async with (
            serving_all_paths(handler) as server,
            ReadConnection(ClusterAddress(server=server)) as one,
        ):
            await server_version(one)

    with pytest.raises(UnreachableCluster, match="is not a Kubernetes API server"):
        asyncio.run(run())


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ("http://127.0.0.1:9", "Connection refused"),
        ("http://a..b", "encoding with 'idna' codec failed .*"),
    ],
)
def test_a_server_that_does_not_run_is_named(server, reason):
    async def run():
        async with ReadConnection(ClusterAddress(server=server)) as one:
            await one.get("/api")

    with pytest.raises(UnreachableCluster) as raised:
        asyncio.run(run())
    text = f"{server} cannot be reached: {reason}; check that the cluster runs, and its address"
    assert re.match(text, str(raised.value))


@pytest.mark.parametrize(
    ("bypassed", "is_used"),
    [
        pytest.param("", True, id="for every server"),
        pytest.param("inside.example", True, id="not for others"),
        pytest.param("far.invalid", False, id="not for this one"),
    ],
)
def test_the_proxy_of_the_environment_is_used(monkeypatch, tmp_path, bypassed, is_used):
    seen = []

    async def proxy(request):
        seen.append((str(request.url), request.headers.get("Authorization")))
        return web.json_response({"gitVersion": "v1.36.0"})

    async def run():
        async with serving_all_paths(proxy) as address:
            monkeypatch.setenv("http_proxy", address)
            monkeypatch.setenv("no_proxy", bypassed)
            # Without the proxy it cannot be reached.
            async with ReadConnection(ClusterAddress(server=FAR)) as connection:
                await server_version(connection)

    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))
    if is_used:
        asyncio.run(run())
    else:
        with pytest.raises(UnreachableCluster):
            asyncio.run(run())
    assert seen == [(f"{FAR}/version", None)] * is_used


def test_the_proxy_of_the_kubeconfig_comes_before_that_of_the_environment(monkeypatch, tmp_path):
    seen = []

    async def proxy(request):
        seen.append(str(request.url))
        return web.json_response({"gitVersion": "v1.36.0"})

    async def run():
        async with serving_all_paths(proxy) as address:
            path = kubeconfig(tmp_path, ABSENT, {}, **{"proxy-url": address})
            async with ReadConnection(ClusterAddress(kubeconfig=path)) as connection:
                await server_version(connection)

    monkeypatch.setenv("http_proxy", ABSENT)
    monkeypatch.setenv("no_proxy", "")
    asyncio.run(run())
    assert seen == [f"{ABSENT}/version"]


def test_proxy_and_server_name_are_those_of_the_cluster(tmp_path):
    path = kubeconfig(
        tmp_path, "https://a:1", {}, **{"proxy-url": "http://p:3128", "tls-server-name": "inner"}
    )
    found = access(path)
    assert (found.proxy, found.server_name) == ("http://p:3128", "inner")


def test_a_connection_is_made_in_time_and_a_reply_may_take_as_long_as_it_says():
    async def run():
        async with ReadConnection(ClusterAddress(server=ABSENT)) as one:
            return one._request_options(7.0)["timeout"]

    timeout = asyncio.run(run())
    assert (timeout.total, timeout.sock_connect, timeout.sock_read) == (None, 15.0, 7.0)


def test_requests_wait_for_the_rate_limit(monkeypatch):
    waits = []

    async def note(seconds):
        waits.append(seconds)

    async def run():
        async with ReadConnection(ClusterAddress(server=ABSENT), per_second=10, burst=2) as one:
            monkeypatch.setattr(asyncio, "sleep", note)
            for _ in range(4):
                await one._prepare()
            monkeypatch.undo()

    asyncio.run(run())
    assert len(waits) == 2, "the burst starts at once"
    assert 0.05 < waits[0] < 0.11 < waits[1] < 0.21

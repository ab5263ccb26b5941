"""Credentials and certificates that change while a connection is open.

Upstream: staging/src/k8s.io/client-go/plugin/pkg/client/auth/exec/exec.go;
staging/src/k8s.io/client-go/transport/transport.go
"""

from __future__ import annotations

import asyncio
import json
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from tests.http_servers import serving_all_paths

from podwright.online.client.cluster import (
    ClusterAddress,
    ReadConnection,
    RejectedRequest,
)
from podwright.online.client.cluster.tests.test_read_connection import kubeconfig

V1 = "client.authentication.k8s.io/v1"
MINUTE_NS = 60 * 10**9


class Server:
    """Replies to requests with the valid token."""

    def __init__(self, valid: str) -> None:
        self.valid = valid
        self.seen: list[str] = []

    async def handle(self, request: web.Request) -> web.Response:
        self.seen.append(request.headers.get("Authorization", ""))
        if self.seen[-1] != f"Bearer {self.valid}":
            return web.json_response({"message": "Unauthorized"}, status=401)
        return web.Response(body=b"{}")

    @asynccontextmanager
    async def connected(self, folder: Path, user: Any) -> AsyncIterator[ReadConnection]:
        async with serving_all_paths(self.handle) as address:
            path = kubeconfig(folder, address, user)
            async with ReadConnection(ClusterAddress(kubeconfig=path)) as connection:
                yield connection


class Plugin:
    """Returns the token of a file, and counts its runs."""

    def __init__(self, folder: Path, **status: Any) -> None:
        self.folder = folder
        self.user = {"exec": {"apiVersion": V1, "command": str(folder / "plugin")}}
        script = '#!/bin/sh\necho x >> "$0.runs"\ncat "$0.out"\n'
        (folder / "plugin").write_text(script)
        (folder / "plugin").chmod(stat.S_IRWXU)
        self.returns(**status)

    def returns(self, **status: Any) -> None:
        reply = {"apiVersion": V1, "kind": "ExecCredential", "status": status}
        (self.folder / "plugin.out").write_text(json.dumps(reply))

    @property
    def runs(self) -> int:
        return len((self.folder / "plugin.runs").read_text().split())


def later(monkeypatch: pytest.MonkeyPatch, nanoseconds: int) -> None:
    at = time.monotonic_ns() + nanoseconds
    monkeypatch.setattr(time, "monotonic_ns", lambda: at)


def test_a_plugin_without_an_expiration_runs_once(tmp_path, monkeypatch):
    plugin, server = Plugin(tmp_path, token="a"), Server("a")

    async def run():
        async with server.connected(tmp_path, plugin.user) as connection:
            await connection.get("/api")
            later(monkeypatch, 1_000 * MINUTE_NS)
            await connection.get("/api")

    asyncio.run(run())
    assert (plugin.runs, server.seen) == (1, ["Bearer a"] * 2)


def test_a_plugin_runs_again_when_its_credentials_expire(tmp_path, monkeypatch):
    end = datetime.fromtimestamp(time.time() + 600, UTC).isoformat()
    plugin, server = Plugin(tmp_path, token="a", expirationTimestamp=end), Server("a")

    async def run():
        async with server.connected(tmp_path, plugin.user) as connection:
            later(monkeypatch, 9 * MINUTE_NS)
            await connection.get("/api")
            assert plugin.runs == 1
            server.valid = "b"
            plugin.returns(token="b")
            later(monkeypatch, 2 * MINUTE_NS)
            await connection.get("/api")

    asyncio.run(run())
    assert (plugin.runs, server.seen) == (2, ["Bearer a", "Bearer b"])


def test_requests_that_are_rejected_together_run_the_plugin_once(tmp_path):
    plugin, server = Plugin(tmp_path, token="a"), Server("b")

    async def run():
        async with server.connected(tmp_path, plugin.user) as connection:
            plugin.returns(token="b")
            await asyncio.gather(*(connection.get("/api") for _ in range(5)))

    asyncio.run(run())
    assert plugin.runs == 2
    assert sorted(server.seen) == ["Bearer a"] * 5 + ["Bearer b"] * 5


def test_connections_share_the_credentials_of_a_plugin(tmp_path):
    plugin, server = Plugin(tmp_path, token="a"), Server("b")

    async def run():
        async with (
            serving_all_paths(server.handle) as address,
            ReadConnection(
                ClusterAddress(kubeconfig=kubeconfig(tmp_path, address, plugin.user))
            ) as one,
            ReadConnection(
                ClusterAddress(kubeconfig=kubeconfig(tmp_path, address, plugin.user))
            ) as other,
        ):
            assert plugin.runs == 1
            plugin.returns(token="b")
            await one.get("/api")
            await other.get("/api")

    asyncio.run(run())
    assert (plugin.runs, server.seen) == (2, ["Bearer a", "Bearer b"] * 2)


def test_a_plugin_that_fails_later_leaves_the_last_credentials(tmp_path):
    plugin, server = Plugin(tmp_path, token="a"), Server("b")

    async def run():
        async with server.connected(tmp_path, plugin.user) as connection:
            (tmp_path / "plugin.out").unlink()
            with pytest.raises(RejectedRequest, match="log in again"):
                await connection.get("/api")
            plugin.returns(token="b")
            await connection.get("/api")

    asyncio.run(run())
    assert server.seen == ["Bearer a", "Bearer a", "Bearer a", "Bearer b"]


def test_credentials_that_could_not_be_renewed_are_loaded_again_after_a_minute(
    tmp_path, monkeypatch
):
    file = tmp_path / "token"
    file.write_text("a")
    server = Server("a")

    async def run():
        async with server.connected(tmp_path, {"tokenFile": str(file)}) as connection:
            file.unlink()
            for _ in range(2):
                later(monkeypatch, MINUTE_NS + 10**9)
                await connection.get("/api")
            file.write_text("b")
            server.valid = "b"
            later(monkeypatch, MINUTE_NS + 10**9)
            await connection.get("/api")

    asyncio.run(run())
    assert server.seen == ["Bearer a", "Bearer a", "Bearer b"]


def changed(path: str, cluster: Any, contexts: list[Any], current: str) -> None:
    document = yaml.safe_load(Path(path).read_text())
    document["clusters"].append(cluster)
    document |= {"contexts": contexts, "current-context": current}
    Path(path).write_text(yaml.safe_dump(document))


def test_another_current_context_does_not_change_an_open_connection(tmp_path, monkeypatch):
    server, other = Server("a"), Server("b")
    own_context = {"name": "c", "context": {"cluster": "k", "user": "u"}}

    async def run():
        async with (
            serving_all_paths(server.handle) as address,
            serving_all_paths(other.handle) as elsewhere,
        ):
            path = kubeconfig(tmp_path, address, {"token": "a"})
            async with ReadConnection(ClusterAddress(kubeconfig=path)) as connection:
                entry = {"name": "x", "cluster": {"server": elsewhere}}
                other_context = {"name": "x", "context": {"cluster": "x"}}
                changed(path, entry, [own_context, other_context], "x")
                later(monkeypatch, 2 * MINUTE_NS)
                await connection.get("/api")
                # Nor does another address of the same context.
                changed(path, entry, [{"name": "c", "context": other_context["context"]}], "c")
                later(monkeypatch, 2 * MINUTE_NS)
                await connection.get("/api")

    asyncio.run(run())
    assert (server.seen, other.seen) == (["Bearer a"] * 2, [])


def test_a_token_that_a_login_writes_into_the_kubeconfig_is_used(tmp_path):
    server = Server("b")

    async def run():
        async with serving_all_paths(server.handle) as address:
            path = kubeconfig(tmp_path, address, {"token": "a"})
            async with ReadConnection(ClusterAddress(kubeconfig=path)) as connection:
                kubeconfig(tmp_path, address, {"token": "b"})
                await connection.get("/api")

    asyncio.run(run())
    assert server.seen == ["Bearer a", "Bearer b"]


def test_requests_for_another_user_name_it(tmp_path):
    seen = []

    async def handler(request):
        seen.append([request.headers.get("Impersonate-User"),
                     *request.headers.getall("Impersonate-Group", [])])  # fmt: skip
        return web.Response(body=b"{}")

    async def run(user):
        async with serving_all_paths(handler) as server:
            address = ClusterAddress(kubeconfig=kubeconfig(tmp_path, server, user))
            async with ReadConnection(address) as connection:
                await connection.get("/api")

    asyncio.run(run({"as": "jane", "as-groups": ["a", "b"]}))
    asyncio.run(run({"token": "t"}))
    assert seen == [["jane", "a", "b"], [None]]

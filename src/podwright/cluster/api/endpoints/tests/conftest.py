"""A server in the bare set-up, and short ways to send requests to it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.cluster.api.endpoints import (
    BARE_TOKENS,
    ApiServer,
    HttpReply,
    HttpRequest,
    User,
    Watch,
    bare_options,
    bare_store,
)

START_NS = 1_772_445_600_000_000_000
ADMIN = BARE_TOKENS["admin-token"]


class Server:
    """Sends requests to a fresh server, a second apart."""

    def __init__(self) -> None:
        self.store = bare_store(START_NS)
        self.api = ApiServer(self.store, bare_options())
        self.now_ns = START_NS

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: dict[str, str] | None = None,
        user: User = ADMIN,
    ) -> HttpReply | Watch:
        self.now_ns += 1_000_000_000
        path, _, query = path.partition("?")
        data = b""
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = HttpRequest(method, path, query, headers or {}, data)
        return self.api.handle(request, user, self.now_ns)

    def reply(self, *args: Any, **kwargs: Any) -> tuple[int, Any]:
        """Return the status and the body of a reply."""
        found = self.send(*args, **kwargs)
        assert isinstance(found, HttpReply), found
        try:
            return found.status, json.loads(found.body)
        except ValueError:
            return found.status, found.body.decode()

    def patch(self, path: str, patch: Any, kind: str = "merge-patch+json") -> tuple[int, Any]:
        headers = {"content-type": f"application/{kind}"}
        return self.reply("PATCH", path, patch, headers=headers)

    def watch(self, path: str) -> Watch:
        found = self.send("GET", path)
        assert isinstance(found, Watch), found
        return found

    def events(self, watch: Watch) -> list[tuple[str, Any]]:
        """Return the type and the object of each event that a watch has now."""
        lines = [json.loads(line) for line in watch.poll(self.now_ns)]
        return [(line["type"], line["object"]) for line in lines]


@pytest.fixture
def server() -> Server:
    return Server()


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "app:1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers, **spec},
    }

"""What real clients sent to kube-apiserver 1.36, sent again to a fresh server.

The files of tests/golden/clients hold the requests of a client and the statuses that it got, but
not what others did meanwhile. What a request needs is created before it: the object that it names,
or the object that already has the name. Requests that the recorded server refused because it was
set up without protobuf or without streaming lists are dry runs here, which succeed.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from tests.conformance.replay import Answer, DirectServer

from podwright.cluster.api.endpoints import HttpRequest

CLIENTS = Path(__file__).parents[1] / "golden" / "clients"

_TIME = "2026-01-01T00:00:00.000000Z"
_CONTAINERS = [{"name": "c", "image": "nginx"}]
_NEEDED: dict[str, dict[str, Any]] = {
    "pods": {"spec": {"containers": _CONTAINERS}},
    "nodes": {"metadata": {"labels": {"kubernetes.io/hostname": "n1"}}},
    "serviceaccounts": {},
    "services": {"spec": {"ports": [{"port": 80}]}},
    "events": {
        "regarding": {"namespace": "default"},
        "eventTime": _TIME,
        "reportingController": "c",
        "reportingInstance": "c-1",
        "action": "Scheduling",
        "reason": "FailedScheduling",
        "type": "Warning",
    },
}
"""By resource, an object without a name that a request may need."""


class ClientRequest(msgspec.Struct, frozen=True, rename="camel"):
    """A request of a client, and what it got."""

    client: str
    command: str
    method: str
    path: str
    query: str
    accept: str | None
    content_type: str | None
    body: Any
    status: int
    response_content_type: str | None

    @property
    def is_cut(self) -> bool:
        """Whether the recording has only the first bytes of the body."""
        return (
            isinstance(self.body, dict)
            and "len" in self.body
            and len(base64.b64decode(self.body["protobuf_b64"])) < self.body["len"]
        )

    @property
    def was_not_understood(self) -> bool:
        """Whether the recorded server was set up to refuse what it understands otherwise."""
        return (
            self.status == 415 and self.content_type == "application/vnd.kubernetes.protobuf"
        ) or (self.status == 422 and self.method == "GET")

    @property
    def name(self) -> str:
        """A request in one line."""
        return f"{self.command}: {self.method} {self.path}?{self.query}"


def read_requests(path: Path) -> Iterator[ClientRequest]:
    """Yield the requests of a file."""
    with gzip.open(path, "rt") as lines:
        for line in lines:
            yield msgspec.json.decode(line, type=ClientRequest)


class ClientReplay:
    """Sends the requests of one client to a fresh server."""

    def __init__(self) -> None:
        self._server = DirectServer()
        self._continue = ""

    def send(self, request: ClientRequest) -> Answer:
        """Prepare what a request needs, send it, and return the response."""
        if request.status < 400 or request.was_not_understood:
            self._create_named(request)
        sent = self._request_of(request)
        if request.status == 409 and request.method == "POST":
            self._send("POST", request.path, sent.query, sent.headers, sent.body)
        answer = self._server.send(sent)
        if not answer.is_watch and answer.body.startswith(b"{"):
            metadata = json.loads(answer.body).get("metadata") or {}
            self._continue = metadata.get("continue", "")
        return answer

    def _send(
        self, method: str, path: str, query: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Any:
        headers = {"authorization": "Bearer admin-token", **headers}
        answer = self._server.send(HttpRequest(method, path, query, headers, body))
        return json.loads(answer.body) if answer.status < 300 else None

    def _create_named(self, request: ClientRequest) -> None:
        """Create the object that a request names, if it does not exist."""
        root, resource, name = _named(request.path)
        if not name or self._send("GET", f"{root}/{resource}/{name}", "", {}) is not None:
            return
        needed: Any = _NEEDED.get(resource)
        if request.method == "PUT" and isinstance(request.body, dict) and "spec" in request.body:
            needed = {"spec": request.body["spec"]}
        if needed is not None:
            made = needed | {"metadata": needed.get("metadata", {}) | {"name": name}}
            self._send("POST", f"{root}/{resource}", "", {}, json.dumps(made).encode())

    def _request_of(self, request: ClientRequest) -> HttpRequest:
        headers = {
            "authorization": f"Bearer {'alice' if 'alice' in request.command else 'admin'}-token"
        }
        if request.accept:
            headers["accept"] = request.accept
        if request.content_type:
            headers["content-type"] = request.content_type
        query = request.query.replace("<n>", "1").replace("<d>", "1s")
        query = query.replace("<continue>", self._continue)
        if "<rv>" in query:
            namespaces = self._send("GET", "/api/v1/namespaces", "", {})
            query = query.replace("<rv>", namespaces["metadata"]["resourceVersion"])
        if "<hash>" in query:
            paths = self._send("GET", "/openapi/v3", "", {})["paths"]
            url = paths[request.path.removeprefix("/openapi/v3/")]["serverRelativeURL"]
            query = query.replace("hash=<hash>", url.partition("?")[2])
        if request.was_not_understood:
            query = f"{query}&dryRun=All" if request.method == "POST" else query
        return HttpRequest(request.method, request.path, query, headers, self._body_of(request))

    def _body_of(self, request: ClientRequest) -> bytes:
        body = request.body
        if body is None:
            return b""
        if isinstance(body, dict) and "protobuf_b64" in body:
            return base64.b64decode(body["protobuf_b64"])
        text = body if isinstance(body, str) else json.dumps(_of_this_server(body))
        if "<rv>" in text or "<uid>" in text:
            root, resource, name = _named(request.path)
            found = self._send("GET", f"{root}/{resource}/{name}", "", {}) if name else None
            metadata = {"resourceVersion": "1", "uid": "1"} if found is None else found["metadata"]
            text = text.replace("<rv>", metadata["resourceVersion"])
            text = text.replace("<uid>", metadata["uid"])
        return text.replace("<time>", _TIME).encode()


def _of_this_server(body: Any) -> Any:
    """Return a body whose JSON patches state the version as a mark, as everything else does."""
    if not isinstance(body, list):
        return body
    return [
        each | {"value": "<rv>"} if each.get("path") == "/metadata/resourceVersion" else each
        for each in body
    ]


def _named(path: str) -> tuple[str, str, str]:
    """Return the path of the collection's parent, the resource and the name in a path."""
    parts = path.strip("/").split("/")
    start = 2 if parts[0] == "api" else 3
    if parts[start : start + 1] == ["namespaces"] and len(parts) > start + 2:
        start += 2
    names = [*parts[start : start + 2], "", ""]
    return "/" + "/".join(parts[:start]), names[0], names[1]

"""An API server over HTTP whose connections fail as a test says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from aiohttp import web
from tests.http_servers import serving_all_paths

from podwright.apimachinery.objects import Document
from podwright.cluster.api.endpoints import (
    BARE_TOKENS,
    ApiServer,
    HttpReply,
    HttpRequest,
    bare_options,
    bare_store,
)
from podwright.online.client.cluster import ClusterAddress

START_NS: Final = 1_800_000_000_000_000_000
ADMIN: Final = BARE_TOKENS["admin-token"]

LOST = "lost"
"""The connection is cut before the request is executed."""
UNANSWERED = "unanswered"
"""The request is executed, and the connection is cut instead of a reply."""


class ServedCluster:
    """A cluster without controllers and kubelets.

    Parameters
    ----------
    seed : int
        Of the uids: clusters with one seed and one age are taken for the same.

    Attributes
    ----------
    requests : list of str
        Method, path and query of each request that changes something, or of all with `GET` and
        `WATCH`.
    versions : tuple of str
        Versions of groups that are served besides the default ones.
    reports : list of dict, optional
        The states of syncs that it was sent, if it takes any: None, as of a real server, if not.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        versions: tuple[str, ...] = (),
        reports: list[Document] | None = None,
    ) -> None:
        self.reports = reports
        options = bare_options()
        served = (*options.group_versions, *versions)
        options = msgspec.structs.replace(options, group_versions=served)
        self.api = ApiServer(bare_store(START_NS, seed=seed), options)
        self.now_ns = START_NS
        self.requests: list[str] = []
        self._faults: list[tuple[str, str | int, str]] = []
        self._changed = asyncio.Event()
        self._watches: set[asyncio.Transport] = set()

    def fail(self, request: str, fault: str | int, *, times: int = 1, reason: str = "") -> None:
        """Let the next requests fail that have a text in their line: by a status, or a cut."""
        self._faults += [(request, fault, reason)] * times

    def heal(self) -> None:
        """Let requests fail no more."""
        self._faults.clear()

    def cut_watches(self) -> None:
        """Cut the connections of all watches."""
        for transport in self._watches:
            transport.abort()
        self._watches.clear()

    def send(self, method: str, path: str, body: Any = None, media: str = "json") -> Document:
        """Execute a request of somebody else."""
        path, _, query = path.partition("?")
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": f"application/{media}"}
        reply = self._execute(HttpRequest(method, path, query, headers, data))
        assert isinstance(reply, HttpReply)
        assert reply.status < 300, (path, reply.body)
        found: Document = json.loads(reply.body)
        return found

    def create(self, *objects: Document) -> None:
        """Create nodes, pods and config maps."""
        for obj in objects:
            self.send("POST", collection_of(obj), obj)

    def names(self, path: str) -> set[str]:
        """Return the names of a collection."""
        return {each["metadata"]["name"] for each in self.send("GET", path)["items"]}

    def _execute(self, request: HttpRequest) -> Any:
        self.now_ns += 1_000_000
        reply = self.api.handle(request, ADMIN, self.now_ns)
        self._changed.set()
        return reply

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[ClusterAddress]:
        """Serve for the time of a block."""
        self._changed = asyncio.Event()
        async with serving_all_paths(self._answer, patience_seconds=0.01) as address:
            try:
                yield ClusterAddress(server=address)
            finally:
                self.cut_watches()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        is_watch = "watch" in request.query
        line = f"{'WATCH' if is_watch else request.method} {request.path_qs}"
        self.requests.append(line)
        transport: Any = request.transport
        assert transport is not None
        fault = self._fault_of(line)
        if isinstance(fault, tuple):
            status, reason = fault
            document = {"kind": "Status", "message": "no", "reason": reason, "code": status}
            return web.json_response(document, status=status)
        if fault == LOST:
            transport.abort()
            return web.Response()
        headers = {name.lower(): value for name, value in request.headers.items()}
        sent = HttpRequest(
            request.method, request.path, request.query_string, headers, await request.read()
        )
        if self.reports is not None and request.path == "/podwright/v1/sync":
            self.reports.append(json.loads(sent.body))
            return web.json_response({})
        reply = self._execute(sent)
        if fault == UNANSWERED:
            transport.abort()
            return web.Response()
        if isinstance(reply, HttpReply):
            own = {"Content-Type": reply.header("content-type") or "application/json"}
            body = b"".join((reply.body, *(reply.rest or ())))
            return web.Response(status=reply.status, body=body, headers=own)
        return await self._stream(request, reply, transport)

    def _fault_of(self, line: str) -> str | tuple[int, str] | None:
        for number, (text, fault, reason) in enumerate(self._faults):
            if text in line:
                del self._faults[number]
                return (fault, reason) if isinstance(fault, int) else fault
        return None

    async def _stream(
        self, request: web.Request, watch: Any, transport: asyncio.Transport
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        self._watches.add(transport)
        try:
            while not transport.is_closing():
                while text := watch.read(self.now_ns):
                    await response.write(text)
                if watch.is_closed(self.now_ns):
                    break
                await asyncio.sleep(0.002)
        except ConnectionError:
            pass
        finally:
            self._watches.discard(transport)
        return response


def collection_of(obj: Document) -> str:
    """Return the path of the collection of a kind of the core group."""
    plural = f"{obj['kind'].lower()}s"
    namespace = obj["metadata"].get("namespace")
    return f"/api/v1/namespaces/{namespace}/{plural}" if namespace else f"/api/v1/{plural}"


def path_of(obj: Document) -> str:
    """Return the path of an object of the core group."""
    return f"{collection_of(obj)}/{obj['metadata']['name']}"


def document(kind: str, name: str, namespace: str = "", **fields: Any) -> Document:
    """Return an object of the core group."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    metadata |= fields.pop("metadata", {})
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def node(name: str, cpu: str = "4", **fields: Any) -> Document:
    """Return a node that is ready."""
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    return document("Node", name, status=status, **fields)


def pod(name: str, on: str = "", **fields: Any) -> Document:
    """Return a pod of the namespace default."""
    spec = {"containers": [{"name": "c", "image": "i"}], **({"nodeName": on} if on else {})}
    spec |= fields.pop("spec", {})
    return document("Pod", name, "default", spec=spec, **fields)


def lines(requests: Iterable[str], *methods: str) -> list[str]:
    """Return the requests with these methods."""
    return [each for each in requests if each.split()[0] in methods]

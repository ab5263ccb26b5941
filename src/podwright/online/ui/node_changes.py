"""Changes of the metadata of nodes as server-sent events, from one watch of the Kubernetes API.

The stream of the state has neither labels nor annotations. The first event says that the changes
start: a page lists the nodes after it, and then takes the events whose resource version is later.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.ui.upstream import UnreachableServer, Upstream

_NODES: Final = "/api/v1/nodes"
_METADATA: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_LIST: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    resource_version: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}


class _Object(msgspec.Struct, frozen=True):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _WatchEvent(msgspec.Struct, frozen=True):
    type: str
    object: _Object


@asynccontextmanager
async def node_changes(upstream: Upstream) -> AsyncIterator[AsyncIterator[bytes]]:
    """Open a watch of the nodes; its events are named `nodes`.

    The data of an event is `{"type": "STARTED"}`, or the type of the watch's event (`ADDED`,
    `MODIFIED`, `DELETED`) with `name`, `resourceVersion` and `labels` of the node, and `isCopied`:
    whether it is a copy of another cluster's node.

    Raises
    ------
    UnreachableServer
        There is no reply, or the server rejects the request.
    """
    async with upstream.open("GET", f"{_NODES}?limit=1", {"accept": _LIST}) as response:
        content = await response.aread()
        if response.status_code != 200:
            raise UnreachableServer(f"The nodes cannot be listed: status {response.status_code}.")
    version = msgspec.json.decode(content, type=_Object).metadata.resource_version
    target = f"{_NODES}?watch=1&resourceVersion={version}"
    async with upstream.open("GET", target, {"accept": _METADATA}) as response:
        if response.status_code != 200:
            raise UnreachableServer(f"The nodes cannot be watched: status {response.status_code}.")
        yield _events(response.aiter_raw())


async def _events(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield _event({"type": "STARTED"})
    rest = b""
    async for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in filter(None, lines):
            found = msgspec.json.decode(line, type=_WatchEvent)
            if found.type == "ERROR":
                return  # the versions are compacted: the next watch starts with a list
            if found.type != "BOOKMARK":
                metadata = found.object.metadata
                yield _event(
                    {
                        "type": found.type,
                        "name": metadata.name,
                        "resourceVersion": metadata.resource_version,
                        "labels": metadata.labels,
                        "isCopied": SOURCE_UID in metadata.annotations,
                    }
                )


def _event(data: Mapping[str, object]) -> bytes:
    return b"event: nodes\ndata: " + msgspec.json.encode(data) + b"\n\n"

"""Compression of long replies, for clients that accept it.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/writers.go,
deferredResponseWriter
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

import msgspec

from podwright.cluster.api.endpoints.request import HttpReply, HttpRequest

_SHORT_MAX_BYTES: Final = 128 * 1024
_LEVEL: Final = 1
_GZIP: Final = 16 + zlib.MAX_WBITS
_HEADERS: Final = (("content-encoding", "gzip"), ("vary", "Accept-Encoding"))
_NEVER: Final = "/openapi/v3"


def compressed(request: HttpRequest, reply: HttpReply) -> HttpReply:
    """Return a reply, compressed if it is long and the client accepts that."""
    if reply.rest is None and len(reply.body) <= _SHORT_MAX_BYTES:
        return reply
    accepted = request.header("accept-encoding").split(",")
    if "gzip" not in map(str.strip, accepted) or request.path.startswith(_NEVER):
        return reply
    rest = reply.rest or iter(())
    first = bytearray(reply.body)
    for part in rest:
        first += part
        if len(first) > _SHORT_MAX_BYTES:
            break
    else:
        if len(first) <= _SHORT_MAX_BYTES:
            return msgspec.structs.replace(reply, body=bytes(first), rest=None)
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    body = packer.compress(first)

    def packed() -> Iterator[bytes]:
        for part in rest:
            if found := packer.compress(part):
                yield found
        yield packer.flush()

    headers = (*_HEADERS, *reply.headers)
    if reply.rest is None:
        return HttpReply(reply.status, headers, body + packer.flush())
    return HttpReply(reply.status, headers, body, packed())

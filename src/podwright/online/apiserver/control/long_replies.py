"""Replies that a reader process makes, compressed if the client accepts it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from podwright.online.apiserver.control.problems import Problem
from podwright.online.apiserver.readers import Readers, begun
from podwright.simulation.recording import LogError

_FAST: Final = 1
"""A level of gzip that costs little more than the content."""


async def long_reply(
    request: Request, readers: Readers, content: Callable[[], bytes], media_type: str
) -> Response:
    """Return a reply that a reader process makes.

    Parameters
    ----------
    request : Request
    readers : Readers
    content : callable
        Returns the body; called and compressed in the reader.
    media_type : str

    Raises
    ------
    Problem
        The log cannot be replayed.
    """
    is_compressed = "gzip" in request.headers.get("accept-encoding", "")

    def encoded() -> bytes:
        body = content()
        return gzip.compress(body, compresslevel=_FAST) if is_compressed else body

    try:
        sent = await begun(readers.parts(encoded))
    except LogError as error:
        raise Problem(409, str(error)) from error
    headers = {"vary": "Accept-Encoding"}
    if is_compressed:
        headers["content-encoding"] = "gzip"
    return StreamingResponse(sent, media_type=media_type, headers=headers)

"""A connection to a cluster that also writes.

Only the target of a sync or a replay and the live scheduler use it; an import contract says so.
"""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import Final, Literal

from podwright.online.client.cluster.read_connection import (
    Query,
    ReadConnection,
    connection_failures,
)

Verb = Literal["POST", "PUT", "PATCH", "DELETE"]

_REPLY_SECONDS: Final = 60.0


class WriteConnection(ReadConnection):
    """Sends requests with any verb to one cluster."""

    async def write(
        self,
        verb: Verb,
        path: str,
        body: bytes = b"",
        *,
        query: Query | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        """Return the body of the reply to a request that changes something.

        Raises
        ------
        RejectedRequest
        UnreachableCluster
            The request may have been executed.
        """
        for is_last in (False, True):
            access = await self._prepare()
            options = self._request_options(_REPLY_SECONDS)
            options["headers"].append(("Content-Type", content_type))
            began = time.monotonic()
            with connection_failures(access.server):
                async with self._session.request(
                    verb,
                    f"{access.server}{path}",
                    params=query,
                    data=body,
                    allow_redirects=False,
                    **options,
                ) as response:
                    self._replied(verb, response.status, began)
                    found: bytes = await response.read()
            if response.status == HTTPStatus.UNAUTHORIZED and not is_last:
                await self._reload(access)  # the request was not executed
                continue
            if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                raise self._rejection(response, found)
            return found
        raise AssertionError("the second attempt returns or raises")

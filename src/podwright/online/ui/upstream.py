"""The connection to the server: requests with its token, replies as unparsed bytes."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import httpx

from podwright.online.client import ClusterAccess, pem_text

CONNECT_SECONDS: Final = 5.0
WRITE_SECONDS: Final = 60.0


class UnreachableServer(Exception):  # noqa: N818 - named for what it is
    """The server does not answer; the text says which one, and why."""


class Upstream:
    """Requests to the server of a page.

    Parameters
    ----------
    access : ClusterAccess
    renewed : callable, optional
        Returns the current access, before each request: a server that starts again may have
        another token. The certificates stay those of `access`.
    transport : AsyncBaseTransport, optional
        Instead of connections to the server, in tests.
    """

    def __init__(
        self,
        access: ClusterAccess,
        renewed: Callable[[], ClusterAccess] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._access = access
        self._renewed = renewed
        self._extensions = {"sni_hostname": access.server_name} if access.server_name else {}
        self._client = httpx.AsyncClient(
            verify=_tls_context(access) if access.server.startswith("https:") else False,
            timeout=httpx.Timeout(
                connect=CONNECT_SECONDS, read=None, write=WRITE_SECONDS, pool=None
            ),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
            trust_env=False,
            transport=transport,
        )

    @property
    def server(self) -> str:
        """The address of the server."""
        return self._access.server.rstrip("/")

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def open(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        content: AsyncIterator[bytes] | bytes | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request, and yield the reply before its body is read.

        Parameters
        ----------
        method : str
        target : str
            The path and the query, percent-encoded, from the "/".
        headers : mapping of str to str
        content : bytes or async iterator of bytes, optional

        Raises
        ------
        UnreachableServer
            There is no reply, or its body breaks off.
        """
        if self._renewed is not None:
            self._access = self._renewed()
        token = self._access.token
        own = {"authorization": f"Bearer {token}"} if token else {}
        request = self._client.build_request(
            method,
            self.server + target,
            headers={"accept-encoding": "identity", **headers, **own},
            content=content,
            extensions=self._extensions,
        )
        try:
            response = await self._client.send(request, stream=True)
            try:
                yield response
            finally:
                await response.aclose()
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise UnreachableServer(f"{self.server} does not answer: {reason}") from error


def _tls_context(access: ClusterAccess) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=pem_text(access.authority))
    if access.is_unverified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context

"""A connection to a cluster that only reads: GET is the only verb that it has.

`write_connection` adds the verbs that write; an import contract keeps it from what reads a source.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, Self, cast
from weakref import WeakKeyDictionary

import aiohttp
import msgspec

from podwright.apimachinery.objects import SECOND_NS
from podwright.online.client.cluster.access import (
    FILE_SECONDS,
    Access,
    ClusterAddress,
    TlsSettings,
    load_access,
)
from podwright.online.client.cluster.errors import (
    RejectedRequest,
    UnreachableCluster,
    connection_failure,
    rejection,
)
from podwright.online.client.cluster.list_watch import SeenVersion
from podwright.online.client.kubeconfig import ConnectionSettingsError, pem_text

PER_SECOND: Final = 50.0
BURST: Final = 100
ATTEMPTS_MAX: Final = 11
"""Upstream: staging/src/k8s.io/client-go/rest/request.go, `NewRequest`; with_retry.go."""

_CONNECT_SECONDS: Final = 15.0
_REPLY_SECONDS: Final = 120.0
_BUFFER_BYTES: Final = 2**21
"""Of a reply, before reading it pauses: the size of the largest object in etcd, and some more."""

Query = Mapping[str, str]
OnReply = Callable[[str, str, int, float], None]


class ReadConnection:
    """Sends GET requests to one cluster.

    Use it with `async with`. Credentials are loaded at its start, once a minute if they are in
    files, when those of a plugin expire, and after a reply with status 401. The context and the
    server stay those of the start, whatever the kubeconfig says later.

    Parameters
    ----------
    address : ClusterAddress
    per_second, burst : float, int
        How many requests start per second, and at once; a watch is one request.
    on_reply : callable, optional
        Called with the verb, the address of the server, the status, and the seconds until the
        reply starts, of each request.

    Attributes
    ----------
    seen : mapping of str to SeenVersion
        Of the objects of the cluster, by the path of their API group: `/api/v1` or `/apis/apps`.
    """

    def __init__(
        self,
        address: ClusterAddress,
        *,
        per_second: float = PER_SECOND,
        burst: int = BURST,
        on_reply: OnReply | None = None,
    ) -> None:
        self.seen = defaultdict[str, SeenVersion](SeenVersion)
        self._address = address
        self._on_reply = on_reply
        self._limit = TokenBucket(per_second, burst)
        self._access: Access | None = None
        self._opened: aiohttp.ClientSession | None = None
        self._replaced: list[aiohttp.ClientSession] = []
        self._reloading = asyncio.Lock()

    async def __aenter__(self) -> Self:
        access = await load_access(self._address)
        self._opened = _session(access)
        self._use(access)
        # The same context for as long as the connection is used, even if another one becomes the
        # current one.
        self._address = msgspec.structs.replace(
            self._address, kubeconfig=self._address.files, context=access.context
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def access(self) -> Access:
        """The address and the credentials in use."""
        assert self._access is not None, "the connection is not open"
        return self._access

    async def close(self) -> None:
        """Close all connections."""
        opened, self._opened = self._opened, None
        for session in (*self._replaced, *((opened,) if opened else ())):
            await session.close()
        self._replaced.clear()

    @property
    def _session(self) -> aiohttp.ClientSession:
        assert self._opened is not None, "the connection is not open"
        return self._opened

    async def get(
        self, path: str, query: Query | None = None, *, attempts_max: int = ATTEMPTS_MAX
    ) -> bytes:
        """Return the body of the reply to one request.

        A server that is overloaded says when to send the request again.

        Parameters
        ----------
        path : str
        query : mapping of str to str, optional
        attempts_max : int
            How often the request is sent.

        Raises
        ------
        RejectedRequest
        UnreachableCluster
        """
        for _ in range(1, attempts_max):
            try:
                return await self._get_once(path, query)
            except RejectedRequest as error:
                if not error.is_passing or not error.retry_after_seconds:
                    raise
                await asyncio.sleep(error.retry_after_seconds)
        return await self._get_once(path, query)

    async def _get_once(self, path: str, query: Query | None) -> bytes:
        async with self._reply(path, query, seconds=_REPLY_SECONDS) as response:
            with connection_failures(self.access.server):
                found: bytes = await response.read()
            return found

    @asynccontextmanager
    async def stream(
        self, path: str, query: Query, *, silence_seconds: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch; yields an iterator of its bytes, as they arrive.

        Parameters
        ----------
        path : str
        query : mapping of str to str
        silence_seconds : float
            After how long without a byte the connection counts as cut.

        Raises
        ------
        RejectedRequest
        UnreachableCluster
            Also from the iterator.
        """
        async with self._reply(path, query, seconds=silence_seconds) as response:

            async def chunks() -> AsyncIterator[bytes]:
                with connection_failures(self.access.server):
                    async for chunk in response.content.iter_any():
                        yield chunk

            yield chunks()

    @asynccontextmanager
    async def _reply(
        self, path: str, query: Query | None, *, seconds: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        for is_last in (False, True):
            response, access = await self._get(path, query, seconds)
            try:
                if response.status == HTTPStatus.UNAUTHORIZED and not is_last:
                    # The token may have been renewed since it was loaded.
                    await self._reload(access)
                    continue
                if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                    with connection_failures(self.access.server):
                        body = await response.read()
                    raise self._rejection(response, body)
                yield response
                return
            finally:
                response.close()

    async def _get(
        self, path: str, query: Query | None, seconds: float
    ) -> tuple[aiohttp.ClientResponse, Access]:
        """Return the reply, and the credentials that were sent."""
        access = await self._prepare()
        began = time.monotonic()
        with connection_failures(access.server):
            response = await self._session.get(
                f"{access.server}{path}",
                params=query,
                allow_redirects=False,
                **self._request_options(seconds),
            )
        self._replied("GET", response.status, began)
        return response, access

    def _replied(self, verb: str, status: int, began: float) -> None:
        if self._on_reply is not None:
            self._on_reply(verb, self.access.server, status, time.monotonic() - began)

    async def _prepare(self) -> Access:
        """Wait for the rate limit, and return the credentials; expired ones are renewed."""
        wait_ns = self._limit.reserve(time.monotonic_ns())
        if wait_ns:
            await asyncio.sleep(wait_ns / 1e9)
        if _seconds() > self._expires_seconds:
            await self._reload(self.access)
        return self.access

    def _request_options(self, seconds: float) -> dict[str, Any]:
        access = self.access
        headers = [("Accept", "application/json"), ("User-Agent", "podwright")]
        headers += access.impersonation
        if access.authorization:
            headers.append(("Authorization", access.authorization))
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_SECONDS, sock_read=seconds
        )
        return {
            "headers": headers,
            "timeout": timeout,
            "server_hostname": access.server_name,
            "proxy": access.proxy or None,
        }

    def _rejection(self, response: aiohttp.ClientResponse, body: bytes) -> RejectedRequest:
        return rejection(
            body,
            status=response.status,
            retry_after=response.headers.get("Retry-After", ""),
            what=self.access.name,
            token=self.access.authorization.removeprefix("Bearer "),
        )

    async def _reload(self, stale: Access) -> None:
        """Load the credentials; open new connections if TLS depends on what changed.

        Requests and watches that are under way continue on their own connections.

        What cannot be loaded, or is another server, leaves the connection as it is: a request
        says then what the server rejects.
        """
        async with self._reloading:
            if self.access is not stale:
                return  # another request was first
            kept = msgspec.structs.replace(stale, lifetime_seconds=FILE_SECONDS)
            try:
                found = await load_access(self._address, stale)
                if found.server != stale.server:
                    found = kept
                if found.tls != stale.tls:
                    opened = _session(found)
                    self._replaced = [*await _in_use(self._replaced), self._session]
                    self._opened = opened
            except ConnectionSettingsError:
                found = kept
            self._use(found)

    def _use(self, access: Access) -> None:
        self._access = access
        self._expires_seconds = _seconds() + access.lifetime_seconds


def _seconds() -> float:
    return time.monotonic_ns() / SECOND_NS


class _Connector(aiohttp.TCPConnector):
    """Connections that end with the session, also those whose reply was not read to its end.

    aiohttp closes such a connection gracefully and forgets it. With TLS it then waits for the
    server's end: an event loop that ends before would leave its socket open.
    """

    def __init__(self, context: ssl.SSLContext | bool) -> None:  # noqa: FBT001 - as aiohttp
        super().__init__(ssl=context)
        # By the protocol, since transports of uvloop have no weak references.
        self._transports = WeakKeyDictionary[asyncio.BaseProtocol, asyncio.Transport]()

    async def connect(self, *arguments: Any, **options: Any) -> aiohttp.connector.Connection:
        """Return a connection for a request."""
        connection = await super().connect(*arguments, **options)
        if connection.protocol is not None and connection.transport is not None:
            self._transports[connection.protocol] = connection.transport
        return connection

    @property
    def is_idle(self) -> bool:
        """Whether all connections have ended; those that are not used end after some seconds."""
        return all(each.is_closing() for each in self._transports.values())

    async def close(self, **options: Any) -> None:
        """Close all connections.

        A reply that is still read then gets neither data nor an error.
        """
        await super().close(**options)
        for transport in self._transports.values():
            transport.abort()


async def _in_use(sessions: list[aiohttp.ClientSession]) -> list[aiohttp.ClientSession]:
    """Return the sessions that still have connections; the others are closed."""
    found = [each for each in sessions if not cast(_Connector, each.connector).is_idle]
    for each in sessions:
        if each not in found:
            await each.close()
    return found


def _session(access: Access) -> aiohttp.ClientSession:
    """Return a session with the certificates of a cluster.

    The session of kubernetes_asyncio looks into the environment and into ~/.netrc in a thread for
    each request, which takes longer than the request; kubectl does not read ~/.netrc.
    """
    # Reading the certificates of the system takes as long as several requests.
    context = _tls_context(access) if access.server.startswith("https:") else True
    return aiohttp.ClientSession(connector=_Connector(context), read_bufsize=_BUFFER_BYTES)


def _tls_context(access: Access) -> ssl.SSLContext:
    settings, what = access.tls, "certificate authority"
    try:
        context = ssl.create_default_context(cadata=pem_text(settings.authority))
        # Python is stricter than Go, and refuses authorities of clusters since 3.13.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not settings.is_verified:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if settings.certificate:
            what = "client certificate and its key"
            _load_certificate(context, settings)
    except (OSError, ValueError) as error:
        raise ConnectionSettingsError(
            f"{access.name}: the {what} cannot be used: {error}; they must be in PEM"
        ) from error
    return context


def _load_certificate(context: ssl.SSLContext, settings: TlsSettings) -> None:
    with tempfile.TemporaryDirectory() as folder:  # its mode is 0700
        certificate, key = Path(folder) / "certificate", Path(folder) / "key"
        certificate.write_bytes(settings.certificate)
        key.write_bytes(settings.key)
        # Without a password, a key that needs one would be an input at the terminal.
        context.load_cert_chain(certificate, key, password="")


@contextlib.contextmanager
def connection_failures(server: str) -> Iterator[None]:
    """Turn the errors of a connection into an `UnreachableCluster`."""
    try:
        yield
    # The name of a host may be one that cannot be encoded for DNS.
    except (OSError, aiohttp.ClientError, UnicodeError) as error:
        failure: UnreachableCluster = connection_failure(error, server)
        raise failure from error


# A token bucket for requests, without its own clock.


class TokenBucket:
    """Limits how many requests start per second.

    Parameters
    ----------
    per_second : float
        The rate; positive.
    burst : int
        How many may start at once.

    Notes
    -----
    Upstream: staging/src/k8s.io/client-go/util/flowcontrol/throttle.go
    """

    def __init__(self, per_second: float, burst: int) -> None:
        self._interval_ns = int(SECOND_NS / per_second)
        self._ahead_ns = self._interval_ns * (burst - 1)
        # When the bucket is full again.
        self._full_ns = 0

    def reserve(self, now_ns: int) -> int:
        """Take a token, and return how long to wait for it, in nanoseconds."""
        full = max(self._full_ns, now_ns)
        self._full_ns = full + self._interval_ns
        return max(0, full - self._ahead_ns - now_ns)

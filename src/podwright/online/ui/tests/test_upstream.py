"""The connection to the server."""

import asyncio
import ssl

import httpx
import pytest

from podwright.online.client import ClusterAccess
from podwright.online.ui.upstream import UnreachableServer, Upstream

SERVER = "https://127.0.0.1:6443/"
ACCESS = ClusterAccess(server=SERVER, token="first", is_unverified=True)


def requested(access, headers=(), *, renewed=None, count=1):
    """Return the requests that the server receives."""
    received = []

    def reply(request):
        received.append(request)
        return httpx.Response(200)

    async def send():
        upstream = Upstream(access, renewed, transport=httpx.MockTransport(reply))
        for _ in range(count):
            async with upstream.open("GET", "/api?a=b", dict(headers)):
                pass
        await upstream.close()
        assert upstream._client.is_closed

    asyncio.run(send())
    return received


def test_a_request_has_the_token_of_the_page_and_the_path_of_the_server():
    (request,) = requested(ACCESS, {"accept": "a", "authorization": "Bearer other"})
    assert str(request.url) == "https://127.0.0.1:6443/api?a=b"
    assert request.headers["authorization"] == "Bearer first"
    assert request.headers["accept"] == "a"


@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_bytes_are_only_compressed_if_the_browser_reads_them(encoding):
    headers = {"accept-encoding": encoding} if encoding else {}
    (request,) = requested(ACCESS, headers)
    assert request.headers["accept-encoding"] == (encoding or "identity")


def test_a_server_without_tokens_gets_none():
    (request,) = requested(ClusterAccess(server="http://127.0.0.1:8180"))
    assert "authorization" not in request.headers


def test_a_server_that_starts_again_gets_its_new_token():
    tokens = iter(["second", "third"])
    found = requested(
        ACCESS, renewed=lambda: ClusterAccess(server=SERVER, token=next(tokens)), count=2
    )
    assert [one.headers["authorization"] for one in found] == ["Bearer second", "Bearer third"]


@pytest.mark.parametrize("name", ["", "kubernetes"])
def test_the_name_in_the_certificate_can_be_another_one(name):
    access = ClusterAccess(server=SERVER, server_name=name, is_unverified=True)
    (request,) = requested(access)
    assert request.extensions.get("sni_hostname", "") == name


def test_replies_have_no_limit_of_time_but_connections_do():
    (request,) = requested(ACCESS)
    limits = request.extensions["timeout"]
    assert limits == {"connect": 5.0, "read": None, "write": 60.0, "pool": None}


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        pytest.param(
            ClusterAccess(server=SERVER), (True, ssl.CERT_REQUIRED), id="verified by the system"
        ),
        pytest.param(ACCESS, (False, ssl.CERT_NONE), id="unverified"),
        pytest.param(ClusterAccess(server="http://127.0.0.1"), False, id="no TLS"),
    ],
)
def test_certificates_are_verified_unless_it_is_turned_off(access, expected, monkeypatch):
    given = {}

    class Client:
        def __init__(self, **options):
            given.update(options)

    monkeypatch.setattr(httpx, "AsyncClient", Client)
    Upstream(access)
    found = given["verify"]
    if found is not False:
        found = (found.check_hostname, found.verify_mode)
    assert found == expected
    assert given["trust_env"] is False, "a proxy of the environment does not see the token"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(httpx.ConnectError("Connection refused"), "Connection refused", id="text"),
        pytest.param(httpx.ReadTimeout(""), "ReadTimeout", id="without a text"),
    ],
)
def test_a_server_that_does_not_answer_has_a_reason(error, reason):
    def fail(_):
        raise error

    async def send():
        upstream = Upstream(ACCESS, transport=httpx.MockTransport(fail))
        async with upstream.open("GET", "/api", {}):
            pytest.fail("there is no reply")

    with pytest.raises(UnreachableServer) as raised:
        asyncio.run(send())
    assert str(raised.value) == f"https://127.0.0.1:6443 does not answer: {reason}"


def test_a_reply_that_is_not_read_is_closed():
    closed = []

    class Parts(httpx.AsyncByteStream):
        async def __aiter__(self):
            yield b"part"

        async def aclose(self):
            closed.append(True)

    async def send():
        transport = httpx.MockTransport(lambda _: httpx.Response(200, stream=Parts()))
        async with Upstream(ACCESS, transport=transport).open("GET", "/api", {}):
            assert not closed

    asyncio.run(send())
    assert closed == [True]

"""Which requests are those of the page itself."""

import asyncio

import pytest

from podwright.online.ui.origin import OwnOrigin
from podwright.online.ui.upstream import UnreachableServer

PAGE = "http://127.0.0.1:8181"


def rejection(method="GET", path="/server/version", kind="http", **headers):
    given = {"host": "127.0.0.1:8181", **{k.replace("_", "-"): v for k, v in headers.items()}}
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "headers": [(k.encode(), v.encode()) for k, v in given.items()],
    }
    return OwnOrigin(answer, 8181).rejection(scope)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        pytest.param({}, "", id="a reader without a browser"),
        pytest.param({"host": "localhost:8181"}, "", id="localhost"),
        pytest.param({"host": "LOCALHOST:8181"}, "", id="a name in capitals"),
        pytest.param({"host": "[::1]:8181"}, "", id="IPv6"),
        pytest.param({"host": "127.0.0.1:8180"}, "Host", id="another port"),
        pytest.param({"host": "rebound.example:8181"}, "Host", id="a name for 127.0.0.1"),
        pytest.param({"host": ""}, "Host", id="no host"),
        pytest.param({"origin": PAGE, "sec_fetch_site": "same-origin"}, "", id="the page"),
        pytest.param({"origin": "http://127.0.0.1:3000"}, "site", id="another page of loopback"),
        pytest.param({"sec_fetch_site": "cross-site"}, "site", id="an image of another site"),
        pytest.param({"sec_fetch_site": "same-site"}, "site", id="an image of another port"),
        pytest.param(
            {"sec_fetch_site": "cross-site", "path": "/"}, "", id="a link of another site"
        ),
        pytest.param({"method": "POST"}, "Origin", id="a change without an origin"),
        pytest.param(
            {"method": "POST", "origin": "null", "x_podwright_page": "1"},
            "Origin",
            id="a change from a file",
        ),
        pytest.param(
            {"method": "DELETE", "origin": PAGE}, "x-podwright-page", id="a change without header"
        ),
        pytest.param(
            {"method": "DELETE", "origin": PAGE, "x_podwright_page": "1"}, "", id="a change"
        ),
        pytest.param(
            {"method": "POST", "origin": PAGE, "path": "/_nicegui_ws/socket.io/"},
            "",
            id="NiceGUI's messages over HTTP",
        ),
        pytest.param(
            {"kind": "websocket", "origin": PAGE, "path": "/_nicegui_ws/socket.io/"},
            "",
            id="the page's WebSocket",
        ),
        pytest.param({"kind": "websocket"}, "Origin", id="a WebSocket without an origin"),
        pytest.param(
            {"kind": "websocket", "origin": "http://evil.example"},
            "Origin",
            id="another site's WebSocket",
        ),
    ],
)
def test_only_the_page_itself_is_served(case, reason):
    found = rejection(**case)
    assert (reason in found) if reason else not found


def served(app, **headers):
    """Return the messages that the middleware sends for a request."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    given = {"host": "127.0.0.1:8181", **headers}
    scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "headers": [(k.encode(), v.encode()) for k, v in given.items()],
    }
    asyncio.run(OwnOrigin(app, 8181)(scope, receive, send))
    return sent


async def answer(_scope, _receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"page"})


async def break_off(_scope, _receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    raise UnreachableServer("it was killed")


def test_each_reply_allows_only_the_own_origin():
    for headers in ({}, {"host": "evil.example"}):
        start = served(answer, **headers)[0]
        policy = dict(start["headers"])[b"content-security-policy"].decode()
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy


def test_each_reply_says_what_browsers_keep_from_other_sites():
    for app, headers in ((answer, {}), (answer, {"host": "evil.example"})):
        found = dict(served(app, **headers)[0]["headers"])
        for name, value in (
            (b"referrer-policy", b"no-referrer"), (b"x-content-type-options", b"nosniff"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
        ):  # fmt: skip
            assert found[name] == value


def test_a_reply_breaks_off_when_the_server_ends():
    assert [message["type"] for message in served(break_off)] == ["http.response.start"]


def test_a_web_socket_of_another_site_is_closed_with_the_reason():
    sent = []

    async def send(message):
        sent.append(message)

    async def never(*_):
        raise AssertionError("it is not served")

    scope = {"type": "websocket", "path": "/", "headers": [(b"host", b"127.0.0.1:8181")]}
    asyncio.run(OwnOrigin(never, 8181)(scope, never, send))
    reason = "The header Origin is not the address of this page."
    assert sent == [{"type": "websocket.close", "code": 1008, "reason": reason}]


def test_a_request_of_another_site_is_forbidden_with_the_reason():
    start, body = served(break_off, host="evil.example")
    assert start["status"] == 403
    headers = dict(start["headers"])
    assert headers[b"content-type"].startswith(b"text/plain")
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert body["body"] == (
        b"The header Host is not the address of this page: open it at 127.0.0.1.\n"
    )


def test_what_is_no_request_passes():
    received = []

    async def app(scope, _receive, _send):
        received.append(scope)

    nothing = {"type": "lifespan"}
    asyncio.run(OwnOrigin(app, 8181)(nothing, None, None))  # type: ignore[arg-type]
    assert received == [nothing]

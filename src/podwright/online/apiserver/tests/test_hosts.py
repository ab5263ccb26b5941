"""Which requests of browsers are served."""

import asyncio
import json

import pytest

from podwright.online.apiserver.wire.hosts import AllowedHosts, CheckedHosts

OWN = {"host": "127.0.0.1:8180", "origin": "http://127.0.0.1:8180"}
KSS = "http://localhost:3000"
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "127.0.0.1:8180"},
        {"host": "localhost"},
        {"host": "LOCALHOST:1"},
        {"host": "[::1]:8180"},
        OWN,
        {"host": "[::1]:8180", "origin": "http://[::1]:8180"},
        {"host": "127.0.0.1", "origin": KSS},
        {"host": "127.0.0.1", "origin": KSS, "sec-fetch-site": "same-site"},
        {"host": "127.0.0.1", "sec-fetch-site": "none", "sec-fetch-dest": "document"},
        {"host": "127.0.0.1", "sec-fetch-site": "same-origin", "sec-fetch-dest": "image"},
        {"host": "127.0.0.1", "sec-fetch-site": "cross-site", "sec-fetch-dest": "document"},
    ],
)
def test_own_and_allowed_origins_are_served(headers):
    assert AllowedHosts(origins=[KSS]).rejection("GET", headers) is None
    assert AllowedHosts(origins=[KSS]).rejection("POST", headers | JSON) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "rebound.example:8180"},
        {"host": "127.0.0.1.rebound.example"},
        {"host": "rebound.example", "origin": "http://rebound.example"},
        {"host": "[::1"},
        {"host": "127.0.0.1", "origin": "https://site.example"},
        {"host": "127.0.0.1", "origin": "null"},
        {"host": "127.0.0.1:8180", "origin": "http://127.0.0.1:8181"},
        {"host": "127.0.0.1:8180", "origin": "http://localhost:8180"},
        {"host": "127.0.0.1:8180", "origin": "https://127.0.0.1:8180"},
        {"host": "127.0.0.1:8180", "origin": KSS},
        {"origin": "http://"},
        {"host": "127.0.0.1", "sec-fetch-site": "cross-site", "sec-fetch-dest": "image"},
        {"host": "127.0.0.1", "sec-fetch-site": "same-site", "sec-fetch-dest": "iframe"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_names_and_pages_are_not(headers, method):
    error = AllowedHosts().rejection(method, headers | JSON)
    assert error is not None
    assert (error.code, error.status["reason"]) == (403, "Forbidden")
    named = [headers.get(name) for name in ("host", "origin")]
    assert any(f'"{name}"' in str(error) for name in named) or "other origins" in str(error)


@pytest.mark.parametrize(
    ("method", "content", "is_served"),
    [
        ("POST", JSON, True),
        ("POST", {"content-type": "application/yaml"}, True),
        ("POST", {}, False),
        ("POST", {"content-length": "2"}, False),
        ("POST", {"content-type": "text/plain"}, False),
        ("POST", {"content-type": "Text/Plain; a=application/json"}, False),
        ("POST", {"content-type": "application/x-www-form-urlencoded"}, False),
        ("POST", {"content-type": "multipart/form-data; boundary=x"}, False),
        ("PUT", {"content-type": "text/plain", "content-length": "2"}, False),
        ("PUT", {"content-length": "2"}, False),
        ("PATCH", {"transfer-encoding": "chunked"}, False),
        ("DELETE", {}, True),
        ("DELETE", {"content-length": "0"}, True),
        ("GET", {"content-type": "text/plain"}, True),
    ],
)
def test_a_page_writes_with_a_content_type_that_forms_cannot_send(method, content, is_served):
    for hosts, page in ((AllowedHosts(), OWN), (AllowedHosts(origins=[KSS]), {"origin": KSS})):
        error = hosts.rejection(method, page | content)
        assert (error is None) == is_served
        if error is not None:
            assert (error.code, error.status["reason"]) == (415, "UnsupportedMediaType")
    assert AllowedHosts().rejection(method, {"host": "127.0.0.1:8180"} | content) is None


def test_the_own_origin_of_tls_is_https():
    own = {"host": "127.0.0.1:8180", "origin": "https://127.0.0.1:8180"}
    assert AllowedHosts().rejection("GET", own, "https") is None
    assert AllowedHosts().rejection("GET", OWN, "https") is not None


def test_names_can_be_added():
    hosts = AllowedHosts({"cluster.example"})
    assert hosts.rejection("GET", {"host": "Cluster.example:8443"}) is None
    assert hosts.rejection("GET", {"host": "127.0.0.1"}) is not None


@pytest.mark.parametrize(
    ("host", "is_served"),
    [
        ("192.0.2.7:8180", True),
        ("[2001:db8::1]:8180", True),
        ("localhost", True),
        ("rebound.example", False),
        ("192.0.2.7.rebound.example", False),
        ("", True),
    ],
)
def test_a_server_on_all_addresses_is_reached_by_any_address_but_not_by_any_name(host, is_served):
    headers = {"host": host}
    served = AllowedHosts(allows_addresses=True).rejection("GET", headers)
    assert (served is None) is is_served
    only = AllowedHosts().rejection("GET", headers)
    assert (only is None) is (host in ("", "localhost"))


def test_the_check_is_in_front_of_an_application():
    async def application(scope, receive, send):
        del receive
        await send({"type": "http.response.start", "status": 200, "scope": scope})

    def answered(method, scheme="http", **headers):
        sent = []

        async def send(message):
            sent.append(message)

        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {"method": method, "scheme": scheme, "headers": encoded}
        asyncio.run(CheckedHosts(application, AllowedHosts())(scope, None, send))
        return sent

    assert [each["status"] for each in answered("GET", host="localhost")] == [200]
    secure = {"scheme": "https", "host": "localhost", "origin": "https://localhost"}
    assert [each["status"] for each in answered("GET", **secure)] == [200]
    start, body = answered("GET", host="rebound.example")
    assert start["status"] == 403
    assert (b"content-type", b"application/json") in start["headers"]
    assert json.loads(body["body"])["message"].endswith('"rebound.example"')
    page = {"host": "localhost", "origin": "http://localhost"}
    assert answered("POST", **page)[0]["status"] == 415

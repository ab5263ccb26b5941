"""Whole documents and messages of what lets requests in: kubeconfigs, hosts, latency, defects."""

from __future__ import annotations

import asyncio
import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from podwright.cluster.api.endpoints import HttpReply, HttpRequest, Rejection, User
from podwright.cluster.store import UnusableStore
from podwright.online.apiserver import KubeconfigError, kubeconfig, write_kubeconfig
from podwright.online.apiserver.access.authorized_paths import AuthorizedPaths
from podwright.online.apiserver.access.kubeconfig import TlsData
from podwright.online.apiserver.wire.defects import answered, logged_defect
from podwright.online.apiserver.wire.hosts import LOOPBACK, METHODS, AllowedHosts, CheckedHosts
from podwright.online.apiserver.wire.latency import ApiLatency, LatencyRule, read_latency_rule

NAMED = [
    ("users", {"name": "podwright", "user": {"token": "secret"}}),
    ("contexts", {"name": "podwright", "context": {"cluster": "podwright", "user": "podwright"}}),
]


def test_a_kubeconfig_as_a_whole(tmp_path):
    document = kubeconfig("http://127.0.0.1:8180", "secret")
    assert document == {
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "podwright", "cluster": {"server": "http://127.0.0.1:8180"}}],
        "users": [NAMED[0][1]], "contexts": [NAMED[1][1]], "current-context": "podwright",
    }  # fmt: skip
    path = tmp_path / "config"
    write_kubeconfig(path, document)
    comment, _, rest = path.read_text().partition("\n")
    assert comment == "# Written by `podwright up`; replaced at its next start."
    assert list(yaml.safe_load(rest)) == list(document), "in the order of kubectl"


@pytest.mark.parametrize(
    ("tls", "cluster", "user"),
    [
        (TlsData(authority=b"ca"), {"certificate-authority-data": "Y2E="}, {}),
        (
            TlsData(authority=b"ca", server_name="kubernetes", certificate=b"c", key=b"k"),
            {"certificate-authority-data": "Y2E=", "tls-server-name": "kubernetes"},
            {"client-certificate-data": "Yw==", "client-key-data": "aw=="},
        ),
    ],
)
def test_the_data_of_tls_are_in_base64(tls, cluster, user):
    found = kubeconfig("https://a", "t", tls)
    assert found["clusters"][0]["cluster"] == {"server": "https://a", **cluster}
    assert found["users"][0]["user"] == {"token": "t", **user}


def test_a_kubeconfig_that_cannot_be_written_says_why(tmp_path):
    path = tmp_path / "config"
    path.write_text("clusters: []\n")
    with pytest.raises(KubeconfigError) as foreign:
        write_kubeconfig(path, kubeconfig("a", "t"))
    assert str(foreign.value) == (
        f"{path}: the file exists and was not written by podwright; name another one with"
        " --kubeconfig"
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(KubeconfigError) as unreadable:
        write_kubeconfig(folder, kubeconfig("a", "t"))
    assert str(unreadable.value) == f"{folder}: the kubeconfig cannot be written: Is a directory"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["config", "folder"]


HOST = {"host": "127.0.0.1:8180"}
PAGE = 'requests of pages of "{}" are not served; --cors-origin allows an origin'
FORM = (
    "a write with an Origin needs a Content-Type that an HTML form cannot send, such as"
    " application/json; it has {}"
)


@pytest.mark.parametrize(
    ("method", "headers", "code", "reason", "message"),
    [
        ("GET", {"host": "evil:1"}, 403, "Forbidden",
         'the server is not reached by the name "evil:1"'),
        ("GET", {"host": ":80"}, 403, "Forbidden", 'the server is not reached by the name ":80"'),
        ("GET", {**HOST, "origin": "http://x"}, 403, "Forbidden", PAGE.format("http://x")),
        ("GET", {"origin": "http://127.0.0.1"}, 403, "Forbidden",
         PAGE.format("http://127.0.0.1")),
        ("GET", {**HOST, "sec-fetch-site": "cross-site"}, 403, "Forbidden",
         "requests of pages of other origins are not served"),
        ("POST", {**HOST, "origin": "http://127.0.0.1:8180"}, 415, "UnsupportedMediaType",
         FORM.format("none")),
        ("PUT", {**HOST, "origin": "http://127.0.0.1:8180", "content-type": "text/plain;x"}, 415,
         "UnsupportedMediaType", FORM.format('"text/plain"')),
    ],
)  # fmt: skip
def test_why_a_request_is_not_served(method, headers, code, reason, message):
    error = AllowedHosts().rejection(method, headers)
    assert error is not None
    assert (error.code, error.status["reason"], str(error)) == (code, reason, message)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("OPTIONS", {"content-type": "text/plain", "content-length": "3"}),
        ("HEAD", {"content-type": "text/plain"}),
        ("DELETE", {"content-length": "0"}),
        ("PATCH", {}),
        ("POST", {"content-type": "application/json"}),
    ],
)
def test_a_page_of_the_server_may_send(method, headers):
    own = {**HOST, "origin": "HTTP://127.0.0.1:8180"}
    assert AllowedHosts().rejection(method, own | headers) is None


def test_names_are_compared_without_case_and_ports():
    assert {"localhost", "127.0.0.1", "[::1]", "::1"} == LOOPBACK
    hosts = AllowedHosts(["Example.COM"], origins=["http://a"])
    assert hosts.origins == {"http://a"}
    for host, is_served in (("EXAMPLE.com:1", True), ("10.0.0.1", False), ("localhost", False)):
        assert (hosts.rejection("GET", {"host": host}) is None) is is_served
    every = AllowedHosts(["a"], allows_addresses=True)
    for host, is_served in (
        ("10.0.0.1:1", True), ("[2001:db8::1]:1", True), ("b", False), ("10.0.0", False),
    ):  # fmt: skip
        assert (every.rejection("GET", {"host": host}) is None) is is_served


def asgi(application: Any, scope: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what an application sends for a request."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(application(scope, None, send))
    return sent


def scope_of(method: str = "GET", path: str = "/x", **headers: str) -> dict[str, Any]:
    encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"method": method, "path": path, "scheme": "http", "headers": encoded, "state": {}}


async def served(scope: Any, _: Any, send: Any) -> None:
    await send({"served": scope["path"]})


def test_a_request_under_another_name_is_answered_with_a_status():
    application = CheckedHosts(served, AllowedHosts())
    assert asgi(application, scope_of(host="localhost")) == [{"served": "/x"}]
    start, body = asgi(application, scope_of(host="evil"))
    assert (start["type"], start["status"]) == ("http.response.start", 403)
    assert (b"Content-Type".lower(), b"application/json") in {
        (name.lower(), value) for name, value in start["headers"]
    }
    assert body["type"] == "http.response.body"
    assert json.loads(body["body"])["message"] == 'the server is not reached by the name "evil"'


def test_pages_of_other_origins_may_use_each_method():
    assert METHODS == ("GET", "HEAD", "PUT", "PATCH", "POST", "DELETE")


def test_a_path_is_authorized_with_the_headers_and_the_certificate_of_its_user():
    asked: list[Any] = []
    user = User("certified")
    error: list[Rejection | None] = [None]

    def path_rejection(request: HttpRequest, now_ns: int) -> Rejection | None:
        asked.append(
            (request.method, request.path, dict(request.headers), request.certified, now_ns)
        )
        return error[0]

    turns: Any = SimpleNamespace(
        cluster=SimpleNamespace(server=SimpleNamespace(path_rejection=path_rejection)),
        clock=SimpleNamespace(now_ns=lambda: 7),
    )

    def reply(rejection: Rejection) -> Any:
        async def rejected(*parts: Any) -> None:
            await parts[2]({"rejected": str(rejection)})

        return rejected

    application = AuthorizedPaths(
        served, turns, lambda method, path: (method.lower(), f"/own{path}"), reply
    )
    scope = scope_of("POST", "/y", authorization="Bearer ä")
    scope["state"]["certified"] = user
    assert asgi(application, scope) == [{"served": "/y"}]
    error[0] = Rejection(403, "Forbidden", "no")
    assert asgi(application, scope_of("GET", "/z")) == [{"rejected": "no"}]
    assert asked == [
        ("post", "/own/y", {"authorization": "Bearer ä"}, user, 7),
        ("get", "/own/z", {}, None, 7),
    ]


VERBS = "get, list, watch, create, update, patch, delete, deletecollection"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("=5ms", '"=5ms" is not DURATION, VERB=DURATION or VERB:RESOURCE=DURATION, such as 50ms or'
                 " create:pods=50ms"),
        ("gett=5ms", f'"gett" is not a verb: use {VERBS} or *; did you mean "get"?'),
        ("zzz=5ms", f'"zzz" is not a verb: use {VERBS} or *'),
        ("get:pod=5ms", '"pod" is not a resource: use the plural name, such as pods, or'
                        ' plural.group of a custom resource; did you mean "pods"?'),
        ("get:pods/x=5ms", '"pods" has no subresource "x": it has attach, binding,'
                           " ephemeralcontainers, eviction, exec, log, portforward, proxy, resize,"
                           " status"),
        ("get:configmaps/x=5ms", '"configmaps" has no subresource "x": it has none'),
        ("get=-1ms", '"-1ms" must not be negative, and at most one minute'),
        ("get=61s", '"61s" must not be negative, and at most one minute'),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_rule_of_latency(text, message):
    with pytest.raises(ValueError) as wrong:  # noqa: PT011 - the message is compared
        read_latency_rule(text)
    assert str(wrong.value) == message


def test_rules_are_for_resources_and_the_last_one_wins():
    pods = "/api/v1/namespaces/a/pods"
    latency = ApiLatency([LatencyRule("*", "*", 10**9), LatencyRule("get", "pods", 0)])
    assert latency.delay_seconds(HttpRequest("GET", f"{pods}/p", "", {}, b"")) == 0
    assert latency.delay_seconds(HttpRequest("GET", pods, "", {}, b"")) == 1
    assert latency.delay_seconds(HttpRequest("GET", "/version", "", {}, b"")) == 0
    assert ApiLatency().delay_seconds(HttpRequest("GET", pods, "", {}, b"")) == 0


def test_a_defect_is_a_line_of_the_log_that_the_reply_names(caplog):
    def failing(_: HttpRequest, now_ns: int) -> HttpReply:
        raise ZeroDivisionError(now_ns)

    with caplog.at_level(logging.ERROR):
        reply = answered(failing, HttpRequest("PUT", "/x", "", {}, b""), 7)
    (record,) = caplog.records
    number = record.args[0]
    assert record.getMessage() == f"defect {number}: PUT /x failed"
    assert len(number) == 8
    assert isinstance(record.exc_info[1], ZeroDivisionError)
    text = f"a bug in podwright; the log of the server has the details as defect {number}"
    assert isinstance(reply, HttpReply)
    assert reply.status == 500
    status = json.loads(reply.body)
    assert status["reason"] == "InternalError"
    assert status["message"] == f"Internal error occurred: {text}"
    assert status["details"] == {"causes": [{"message": text}]}


def test_only_a_store_that_cannot_write_ends_the_server():
    def unusable(*_: object) -> HttpReply:
        raise UnusableStore("full")

    with pytest.raises(UnusableStore):
        answered(unusable, HttpRequest("GET", "/x", "", {}, b""), 0)
    numbers = {str(logged_defect(ValueError(), "a")) for _ in range(3)}
    assert len(numbers) == 3

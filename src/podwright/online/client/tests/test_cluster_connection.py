"""Kubeconfigs, requests to the cluster that one names, and what rejections say."""

from __future__ import annotations

import base64
import json
import os
import ssl
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import yaml
from tests.http_servers import serving

from podwright.online.client.cluster.access import ClusterAddress, namespace_of
from podwright.online.client.cluster.errors import rejection
from podwright.online.client.cluster_connection import (
    ABSENT,
    WRITES,
    ClusterAccess,
    ClusterError,
    FailedCluster,
    Write,
    WriteReplies,
    WriteReply,
    Writes,
    _connection,
    read_access,
    send,
)
from podwright.online.client.kubeconfig import ConnectionSettingsError

DOCUMENT: dict[str, Any] = {
    "current-context": "two",
    "contexts": [
        {"name": "one", "context": {"cluster": "a", "user": "u", "namespace": "team"}},
        {"name": "two", "context": {"cluster": "b", "user": "v"}},
        {"name": "unverified", "context": {"cluster": "c", "user": "v"}},
    ],
    "clusters": [
        {
            "name": "a",
            "cluster": {
                "server": "https://a:1",
                "certificate-authority-data": base64.b64encode(b"PEM").decode(),
                "tls-server-name": "inner",
            },
        },
        {"name": "c", "cluster": {"server": "https://c", "insecure-skip-tls-verify": True}},
        {"name": "b", "cluster": {"server": "http://b:2"}},
    ],
    "users": [{"name": "u", "user": {"token": "t"}}, {"name": "v", "user": {}}],
}


CLUSTERS = [{"name": name, "cluster": {"server": "http://b:2"}} for name in "ab"]


def written(folder: Path, name: str = "config", **changes: Any) -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump({**DOCUMENT, **changes}))
    return path


def test_a_context_gives_address_token_and_certificates(tmp_path):
    path = str(written(tmp_path))
    assert read_access(path, "one") == ClusterAccess(
        server="https://a:1", token="t", authority=b"PEM", server_name="inner"
    )
    assert read_access(path) == ClusterAccess(server="http://b:2")
    assert read_access(path, "unverified") == ClusterAccess(server="https://c", is_unverified=True)
    (tmp_path / "ca").write_bytes(b"in a file")
    clusters = [{"name": "b", "cluster": {"server": "https://b", "certificate-authority": "ca"}}]
    found = read_access(str(written(tmp_path, clusters=clusters)))
    assert found.authority == b"in a file"


@pytest.mark.parametrize(
    ("changes", "context", "message"),
    [
        ({}, "tow", 'context "tow" does not exist; did you mean "two"?'),
        ({"clusters": []}, "one", 'cluster "a" does not exist'),
        ({"users": []}, "one", 'user "u" does not exist'),
        ({"contexts": None}, "", 'context "two" does not exist; available: none'),
        ({"contexts": [{"name": "one"}]}, "one", 'context "one" names no cluster'),
        ({"clusters": [{"name": "b", "cluster": {}}]}, "", 'cluster "b" has no server'),
        (
            {"clusters": [{"name": "b", "cluster": {"server": 1}}]},
            "",
            "clusters[0].cluster.server: must be a string",
        ),
    ],
)
def test_a_context_that_cannot_be_used_is_named_with_the_reason(
    tmp_path, changes, context, message
):
    path = written(tmp_path, **changes)
    with pytest.raises(ConnectionSettingsError) as raised:
        read_access(str(path), context)
    assert str(raised.value).startswith(f"{path}: ")
    assert message in str(raised.value)


def test_several_kubeconfigs_are_one(tmp_path):
    user = {"name": "u", "user": {"token": "other"}}
    later = {"name": "late", "context": {"cluster": "b", "user": "w"}}
    more = written(
        tmp_path, "more", clusters=None, users=[user, {"name": "w", "user": {"token": "w"}}],
        contexts=[later], **{"current-context": "late"},
    )  # fmt: skip
    first = written(tmp_path)
    absent = tmp_path / "absent"

    def access(*paths: Path, context: str = "") -> ClusterAccess:
        return read_access(os.pathsep.join(map(str, paths)), context)

    assert access(first, absent, more, context="one").token == "t"
    assert access(first, more) == ClusterAccess(server="http://b:2")
    assert access(first, more, context="late") == ClusterAccess(server="http://b:2", token="w")
    empty = written(tmp_path, "empty")
    empty.write_text("")
    assert access(empty, more, first).token == "w"
    assert access(first, empty) == ClusterAccess(server="http://b:2")


def test_a_name_that_is_near_no_other_has_no_hint(tmp_path):
    path = written(tmp_path)
    with pytest.raises(ConnectionSettingsError) as raised:
        read_access(str(path), "production")
    assert str(raised.value) == (
        f'{path}: context "production" does not exist; available: one, two, unverified'
    )


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    for path, message in (
        (tmp_path / "none", "there is no such kubeconfig; correct its path"),
        (tmp_path, "the kubeconfig cannot be read: .*Is a directory"),
    ):
        with pytest.raises(ConnectionSettingsError, match=message):
            read_access(str(path))
    (tmp_path / "odd").write_text("a: [")
    with pytest.raises(ConnectionSettingsError, match="the kubeconfig cannot be read"):
        read_access(str(tmp_path / "odd"))


class Handler(BaseHTTPRequestHandler):
    """Answers with what it has received, or as the test says."""

    status = 200
    body = ""

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        received = {
            "path": self.path,
            "method": self.command,
            "token": self.headers.get("Authorization"),
            "accepted": self.headers.get("Accept"),
            "type": self.headers.get("Content-Type"),
            "body": self.rfile.read(length).decode(),
        }
        data = (self.body or json.dumps(received)).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.do_POST()


def test_requests_have_the_token_and_json():
    with serving(Handler) as url:
        read = send(ClusterAccess(server=url), "GET", "/x?y=1")
        assert read == {
            "path": "/x?y=1",
            "method": "GET",
            "token": None,
            "accepted": "application/json",
            "type": None,
            "body": "",
        }
        written = send(ClusterAccess(server=url, token="t"), "POST", "/x", {"a": 1})
        assert written["token"] == "Bearer t"
        assert (written["type"], written["body"]) == ("application/json", '{"a": 1}')
        assert send(ClusterAccess(server=url), "POST", "/x")["body"] == "{}"


@pytest.mark.parametrize(
    ("status", "body", "is_remote", "message"),
    [
        (401, "{}", False, "rejects the credentials (401 Unauthorized); use the kubeconfig"),
        (400, '{"detail": "d", "message": "m", "field": "f"}', False, "f: d"),
        (404, '{"message": "m"}', False, "m"),
        (499, "{}", False, "status 499"),
        (500, "{}", True, "status 500"),
        (500, "[]", True, "the cluster answered with status 500"),
        (200, "no json", True, "cannot be reached: Expecting value"),
    ],
)
def test_a_rejected_request_has_the_reason_of_the_cluster(status, body, is_remote, message):
    with (
        serving(Handler, status=status, body=body) as url,
        pytest.raises(ClusterError) as raised,
    ):
        send(ClusterAccess(server=url), "GET", "/x")
    assert str(raised.value).removeprefix(f"{url} ").startswith(message)
    assert isinstance(raised.value, FailedCluster) is is_remote
    assert getattr(raised.value, "is_remote", False) is is_remote


def test_a_reply_without_a_body_is_null():
    class Empty(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(204)
            self.end_headers()

    with serving(Empty) as url:
        assert send(ClusterAccess(server=url), "GET", "/x") is None


def test_a_request_has_a_minute(monkeypatch):
    seconds: list[float | None] = []

    def request(connection: HTTPConnection, *_: object) -> None:
        seconds.append(connection.timeout)
        raise TimeoutError

    monkeypatch.setattr(HTTPConnection, "request", request)
    for options in ({}, {"timeout_seconds": 3}):
        with pytest.raises(FailedCluster, match="http://a cannot be reached: TimeoutError; check"):
            send(ClusterAccess(server="http://a"), "GET", "/x", **options)
    assert seconds == [60, 3]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no current context"),
        ("a: 1\na: 2\n", "there is no current context"),
        ("current-context: a\n---\n{}\n", 'context "a" does not exist'),
        ("\xff", "the kubeconfig cannot be read: "),
    ],
)
def test_a_kubeconfig_is_the_first_document_of_its_file(tmp_path, text, reason):
    path = tmp_path / "config"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConnectionSettingsError) as raised:
        read_access(str(path))
    assert str(raised.value).startswith(f"{path}: ")
    assert reason in str(raised.value)


WRITE = {"method": "PATCH", "path": "/api/v1/nodes/n", "contentType": "a/b", "body": {"c": 1}}


@pytest.mark.parametrize(
    ("document", "error"),
    [
        ({"writes": [WRITE, {"method": "DELETE", "path": "/apis/x", "body": None}]}, ""),
        ({"writes": [WRITE] * 1_000}, ""),
        ({"writes": [WRITE] * 1_001}, "Expected `array` of length <= 1000"),
        ({"writes": [WRITE | {"method": "GET"}]}, "Invalid enum value 'GET'"),
        ({"writes": [WRITE | {"path": "/podwright/v1/writes"}]}, "matching regex"),
        ({"writes": [WRITE | {"path": "api/v1/nodes"}]}, "matching regex"),
        ({"writes": [WRITE | {"content_type": "a"}]}, "unknown field `content_type`"),
        ({"writes": [], "write": 1}, "unknown field `write`"),
    ],
)
def test_several_writes_are_one_document(document, error):
    if error:
        with pytest.raises(msgspec.ValidationError, match=error):
            msgspec.json.decode(json.dumps(document), type=Writes)
    else:
        found = msgspec.json.decode(json.dumps(document), type=Writes)
        assert json.loads(msgspec.json.encode(found)) == document


def test_a_write_is_json_without_a_body_unless_it_says_otherwise():
    write = Write("DELETE", "/api/v1/nodes/n")
    assert (write.content_type, bytes(write.body)) == ("application/json", ABSENT)
    replies = WriteReplies([WriteReply(200, msgspec.Raw(b'{"a":1}'))])
    assert msgspec.json.encode(replies) == b'{"replies":[{"status":200,"body":{"a":1}}]}'
    assert WRITES == "/podwright/v1/writes"


def test_a_cluster_that_is_not_there_is_named():
    with serving(Handler) as url:
        pass
    expected = f"{url} cannot be reached: Connection refused; check that podwright up serves"
    with pytest.raises(ClusterError, match=expected):
        send(ClusterAccess(server=url), "GET", "/x")


# ------------------------------------------------------------------------------ namespaces


def test_the_namespace_is_that_of_the_context(tmp_path):
    path = str(written(tmp_path, clusters=CLUSTERS))
    assert namespace_of(ClusterAddress(kubeconfig=path, context="one")) == "team"
    assert namespace_of(ClusterAddress(kubeconfig=path)) == "default"
    assert namespace_of(ClusterAddress(server="http://a")) == "default"
    assert namespace_of(ClusterAddress(environment={"KUBECONFIG": path}, context="one")) == "team"


def test_of_several_kubeconfigs_the_first_that_has_it_counts(tmp_path):
    other = {"name": "one", "context": {"cluster": "a", "user": "u", "namespace": "late"}}
    extra = {"name": "three", "context": {"cluster": "a", "namespace": "third"}}
    first = written(tmp_path, clusters=CLUSTERS)
    second = written(tmp_path, "second", contexts=[other, extra])
    files = f"{tmp_path / 'none'}::{first}:{second}"
    assert namespace_of(ClusterAddress(kubeconfig=files, context="one")) == "team"
    assert namespace_of(ClusterAddress(kubeconfig=files, context="three")) == "third"


# ------------------------------------------------------------------------------ rejections


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        ("", None, 0),
        ("3", None, 3),
        ("3", 7, 3),
        ("", 7, 7),
        ("0", 7, 7),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 7, 7),
    ],
)
def test_a_rejection_says_when_to_try_again(header, details, seconds):
    body = {"kind": "Status", "message": "m", "reason": "TooManyRequests"}
    if details is not None:
        body["details"] = {"retryAfterSeconds": details}  # type: ignore[assignment]
    found = rejection(
        json.dumps(body).encode(), status=429, retry_after=header, what='context "prod"'
    )
    assert found.retry_after_seconds == seconds
    assert (found.status, found.reason, found.cause) == (429, "TooManyRequests", "m")


def test_a_rejection_without_a_status_has_the_phrase_of_http():
    found = rejection(b"<html>", status=503, retry_after="", what='context "prod"')
    assert found.cause == "Service Unavailable"
    assert (found.reason, found.retry_after_seconds) == ("", 0)
    body = b'{"details": {"name": "p"}}'
    found = rejection(body, status=404, retry_after="", what='context "prod"')
    assert (found.cause, found.retry_after_seconds) == ("Not Found", 0)


@pytest.mark.parametrize("server", ["", "a:1", "ftp://a:1", "http://", "https:///path"])
def test_an_address_of_another_form_is_refused(server):
    with pytest.raises(ClusterError) as raised:
        send(ClusterAccess(server=server), "GET", "/x")
    assert str(raised.value) == (
        f"{server} cannot be reached: the address must be http://HOST:PORT or https://HOST:PORT; "
        "check that podwright up serves there"
    )


def test_a_connection_with_tls_trusts_what_the_kubeconfig_says(monkeypatch):
    trusted: list[str | None] = []
    default = ssl.create_default_context

    def context(*, cadata: str | None) -> ssl.SSLContext:
        trusted.append(cadata)
        return default()

    monkeypatch.setattr(ssl, "create_default_context", context)
    checked: Any = _connection(ClusterAccess(server="https://a:1", authority=b"# \xff\nPEM"), 3)
    assert (checked.host, checked.port, checked.timeout) == ("a", 1, 3)
    assert (checked._server_name, checked._tls.verify_mode) == ("a", ssl.CERT_REQUIRED)
    access = ClusterAccess(server="https://a", server_name="inner", is_unverified=True)
    loose: Any = _connection(access, 3)
    assert (loose.port, loose._server_name) == (443, "inner")
    assert (loose._tls.verify_mode, loose._tls.check_hostname) == (ssl.CERT_NONE, False)
    assert trusted == ["# \\xff\nPEM", None]


def test_the_handshake_names_the_server_of_the_certificate(monkeypatch):
    names: list[str] = []
    connection: Any = _connection(ClusterAccess(server="https://a", server_name="inner"), 3)
    monkeypatch.setattr(HTTPConnection, "connect", lambda self: setattr(self, "sock", "plain"))

    def wrap(sock: str, *, server_hostname: str) -> str:
        names.append(server_hostname)
        return f"wrapped {sock}"

    connection._tls = SimpleNamespace(wrap_socket=wrap)
    connection.connect()
    assert (connection.sock, names) == ("wrapped plain", ["inner"])

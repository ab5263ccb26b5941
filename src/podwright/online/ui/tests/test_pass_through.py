"""Requests that are passed through to the server."""

import asyncio
import gzip
import json

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from podwright.apimachinery.objects import SOURCE_UID
from podwright.online.client import ClusterAccess
from podwright.online.ui.pass_through import METHODS, PassThrough, is_passed, node_changes
from podwright.online.ui.upstream import UnreachableServer, Upstream

TOKEN = "secret-token"
BODY = gzip.compress(b"a table")


async def echo(request):
    return JSONResponse(
        {
            "method": request.method,
            "target": request.scope["raw_path"].decode(),
            "query": request.scope["query_string"].decode(),
            "headers": dict(request.headers),
            "body": (await request.body()).decode(),
        },
        headers={"etag": '"7"', "set-cookie": "a=b", "x-internal": "1"},
    )


async def compressed(_):
    return Response(BODY, headers={"content-encoding": "gzip", "content-type": "text/plain"})


TABLE = {
    "kind": "Table",
    "apiVersion": "meta.k8s.io/v1",
    "metadata": {"resourceVersion": "7", "continue": "next"},
    "columnDefinitions": [{"name": "Name", "type": "string"}],
    "rows": [
        {
            "cells": ["web", 1, None],
            "object": {"metadata": {"name": "web", "labels": {"a": "b"}, "managedFields": [{}]}},
        }
    ],
}


async def table(request):
    assert "gzip" not in request.headers["accept-encoding"]
    return JSONResponse(TABLE)


async def refused(_):
    return JSONResponse({"kind": "Status", "code": 410}, 410)


async def plain_list(_):
    return JSONResponse({"kind": "List", "items": []})


class Unreachable(httpx.AsyncBaseTransport):
    async def handle_async_request(self, request):
        raise httpx.ConnectError("Connection refused")


def sent(method, path, *, transport=None, **options):
    """Send a request to the page, and return the reply with its bytes."""
    server = Starlette(
        routes=[
            Route("/podwright/v1/gzip", compressed),
            Route("/api/v1/tables", table),
            Route("/api/v1/refused", refused),
            Route("/api/v1/lists", plain_list),
            Route("/{path:path}", echo, methods=list(METHODS)),
        ]
    )
    access = ClusterAccess(server="http://127.0.0.1:8180", token=TOKEN)

    async def send():
        upstream = Upstream(access, transport=transport or httpx.ASGITransport(server))
        passed = PassThrough(upstream)
        page = Starlette(
            routes=[Route("/server/{path:path}", passed.forward, methods=list(METHODS))]
        )
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(page), base_url="http://127.0.0.1:8181"
        ) as client:
            request = client.build_request(method, path, **options)
            response = await client.send(request, stream=True)
            content = b"".join([part async for part in response.aiter_raw()])
            await upstream.close()
            return response, content

    return asyncio.run(send())


def test_a_request_reaches_the_server_unchanged():
    response, _ = sent(
        "POST",
        "/server/api/v1/pods%2Fa?watch=1&a=%20b",
        content=b"{}",
        headers={
            "content-type": "application/json",
            "cookie": "a=b",
            "authorization": "Bearer other",
            "impersonate-user": "root",
        },
    )
    found = httpx.Response(200, content=_).json()
    assert response.status_code == 200
    assert (found["method"], found["target"]) == ("POST", "/api/v1/pods%2Fa")
    assert (found["query"], found["body"]) == ("watch=1&a=%20b", "{}")
    headers = found["headers"]
    assert headers["authorization"] == f"Bearer {TOKEN}"
    assert headers["content-type"] == "application/json"
    assert headers["host"] == "127.0.0.1:8180"
    assert not {"cookie", "impersonate-user", "origin"} & set(headers)


@pytest.mark.parametrize("target", ["/api/v1/pods", "/api/v1/pods?a=b", "/api/v1/pods%2Fa?a=%3F"])
def test_the_server_gets_the_path_and_query_as_they_are(target):
    received = []

    def reply(request):
        received.append(request.url.raw_path.decode())
        return httpx.Response(200, content=_parts(b"{}"))

    sent("GET", f"/server{target}", transport=httpx.MockTransport(reply))
    assert received == [target]


async def _parts(content):
    yield content


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
def test_requests_keep_their_method(method):
    received = []

    def reply(request):
        received.append(request.method)
        return httpx.Response(200, content=_parts(b""))

    response, _ = sent(method, "/server/api/v1/pods", transport=httpx.MockTransport(reply))
    assert (response.status_code, received) == (200, [method])
    assert method in METHODS
    assert sent("OPTIONS", "/server/api/v1/pods")[0].status_code == 405


def test_each_header_that_a_page_reads_is_returned_and_no_other():
    read = {
        "cache-control": "no-store", "content-disposition": "attachment", "etag": "7",
        "content-encoding": "x", "content-length": "2", "content-type": "text/plain",
        "retry-after": "5", "vary": "accept", "warning": '299 - "old"',
    }  # fmt: skip
    others = {"set-cookie": "a=b", "server": "x", "access-control-allow-origin": "*"}

    def reply(_):
        return httpx.Response(429, headers=read | others, content=_parts(b"{}"))

    response, content = sent("GET", "/server/version", transport=httpx.MockTransport(reply))
    assert (response.status_code, content) == (429, b"{}")
    assert dict(response.headers) == read


def test_each_header_that_the_server_reads_is_sent_and_no_other():
    given = {
        "accept": "text/plain", "accept-encoding": "br", "content-type": "text/x", "if-match": "1",
        "if-none-match": "2", "last-event-id": "3", "cookie": "a=b", "origin": "http://x",
        "x-remote-user": "root",
    }  # fmt: skip
    _, found = sent("POST", "/server/api/v1/pods", content=b"{}", headers=given)
    headers = json.loads(found)["headers"]
    assert headers.pop("host") == "127.0.0.1:8180"
    for name in ("connection", "user-agent"):  # those of the client itself
        headers.pop(name, None)
    read = {name: value for name, value in given.items() if name not in ("cookie", "origin")}
    del read["x-remote-user"]
    assert headers == {**read, "content-length": "2", "authorization": f"Bearer {TOKEN}"}


def test_a_request_without_an_encoding_gets_plain_bytes():
    _, found = sent("GET", "/server/version", headers={"accept-encoding": ""})
    assert json.loads(found)["headers"]["accept-encoding"] in ("", "identity")


def test_a_reply_is_returned_without_cookies_and_internal_headers():
    response, _ = sent("GET", "/server/version")
    assert response.headers["etag"] == '"7"'
    assert response.headers["content-type"] == "application/json"
    assert not {"set-cookie", "x-internal", "authorization"} & set(response.headers)


def test_compressed_bytes_are_returned_as_they_are():
    response, content = sent(
        "GET", "/server/podwright/v1/gzip", headers={"accept-encoding": "gzip"}
    )
    assert content == BODY
    assert response.headers["content-encoding"] == "gzip"


@pytest.mark.parametrize("encoding", ["identity", "gzip, br"])
def test_a_table_comes_without_managed_fields(encoding):
    headers = {"accept": "application/json;as=Table;v=v1", "accept-encoding": encoding}
    response, content = sent("GET", "/server/api/v1/tables", headers=headers)
    assert response.headers.get("content-encoding") == ("gzip" if "gzip" in encoding else None)
    assert response.headers["content-length"] == str(len(content))
    assert response.headers["content-type"] == "application/json"
    found = json.loads(gzip.decompress(content) if "gzip" in encoding else content)
    assert found["rows"][0]["object"] == {"metadata": {"name": "web", "labels": {"a": "b"}}}
    assert found["rows"][0]["cells"] == ["web", 1, None]
    assert {key: found[key] for key in found if key != "rows"} == {
        key: TABLE[key] for key in TABLE if key != "rows"
    }


def test_the_tables_of_a_watch_are_passed_on_as_they_come():
    headers = {"accept": "application/json;as=Table;v=v1", "accept-encoding": "identity"}
    _, content = sent("GET", "/server/api/v1/tables?watch=1", headers=headers)
    assert json.loads(content) == TABLE


def test_a_table_that_is_refused_is_returned_as_it_is():
    headers = {"accept": "application/json;as=Table;v=v1"}
    response, content = sent("GET", "/server/api/v1/refused", headers=headers)
    assert response.status_code == 410
    assert json.loads(content)["kind"] == "Status"


def test_a_list_of_a_server_without_tables_is_returned_as_it_is():
    headers = {"accept": "application/json;as=Table,application/json", "accept-encoding": ""}
    _, content = sent("GET", "/server/api/v1/lists", headers=headers)
    assert json.loads(content) == {"kind": "List", "items": []}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api", True),
        ("/api/v1/pods", True),
        ("/apis/apps/v1/deployments", True),
        ("/podwright/v1/queue", True),
        ("/version", True),
        ("/api/", True),
        ("/apis", True),
        ("/apis/", True),
        ("/openapi/v3", True),
        ("/openapi/", True),
        ("/openapi", False),
        ("/podwright/v1/", True),
        ("/podwright/v1", False),
        ("/podwright/v2/queue", False),
        ("/version/", False),
        ("/api/v1/...", True),
        ("/api/v1/a..b", True),
        ("/api/v1/%2e", False),
        ("/api/v1/%2E%2e", False),
        ("/api/v1/.", False),
        ("/api/v1/..", False),
        ("/x/api/v1", False),
        ("/versions", False),
        ("/apiserver", False),
        ("/metrics", False),
        ("/", False),
        ("", False),
        ("/api/../metrics", False),
        ("/api/%2e%2E/metrics", False),
        ("/api/./v1", False),
    ],
)
def test_only_the_apis_are_passed(path, expected):
    assert is_passed(path) is expected


@pytest.mark.parametrize(("path", "named"), [("/server/metrics", "/metrics"), ("/server/", "/")])
def test_another_path_is_not_found(path, named):
    response, content = sent("GET", path)
    assert (response.status_code, response.headers["content-type"]) == (404, "application/json")
    assert json.loads(content) == {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": f"The page has no requests to {named}.",
        "reason": "NotFound",
        "code": 404,
    }


@pytest.mark.parametrize(
    ("content", "has_body"),
    [
        pytest.param(None, False, id="none"),
        pytest.param(b"", False, id="an empty one"),
        pytest.param(b"{}", True, id="of a length"),
        pytest.param([b"{", b"}"], True, id="in chunks"),
    ],
)
def test_only_a_request_with_a_body_is_sent_with_one(content, has_body):
    async def parts():
        for part in content:
            yield part

    given = parts() if isinstance(content, list) else content
    _, found = sent("POST", "/server/api/v1/pods", content=given)
    found = json.loads(found)
    assert found["body"] == ("{}" if has_body else "")
    assert ("transfer-encoding" in found["headers"]) is (has_body and content != b"{}")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_request_that_says_nothing_of_a_body_is_sent_without_one(method):
    _, found = sent(method, "/server/api/v1/pods")
    assert json.loads(found)["headers"].keys().isdisjoint({"transfer-encoding", "content-length"})


def test_conditions_and_the_last_event_reach_the_server():
    given = {"if-match": "1", "if-none-match": "2", "last-event-id": "3", "x-other": "4"}
    _, found = sent("GET", "/server/version", headers=given)
    headers = json.loads(found)["headers"]
    assert {name: headers.get(name) for name in given} == given | {"x-other": None}
    assert json.loads(found)["query"] == ""


def test_a_server_that_does_not_answer_is_an_error_of_kubernetes():
    response, content = sent("GET", "/server/api/v1/pods", transport=Unreachable())
    found = httpx.Response(200, content=content).json()
    assert response.status_code == 503
    assert (found["kind"], found["reason"]) == ("Status", "ServiceUnavailable")
    assert "http://127.0.0.1:8180 does not answer: Connection refused" in found["message"]


NODES = {"metadata": {"resourceVersion": "7"}, "items": []}
CHANGE = {
    "type": "ADDED",
    "object": {"metadata": {"name": "n1", "resourceVersion": "8", "labels": {"a": "b"}}},
}


LIST_FORM = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
WATCH_FORM = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def changes_of_nodes(statuses, changes=(CHANGE,), size=0):
    """Return the events of a watch of the nodes; the list and the watch reply with statuses.

    The lines of the watch come in parts of some bytes.
    """

    async def parts(*documents):
        text = b"".join(json.dumps(document).encode() + b"\n" for document in documents)
        step = size or len(text)
        for begin in range(0, len(text), step):
            yield text[begin : begin + step]

    def reply(request):
        is_watch = "watch=1" in request.url.query.decode()
        assert ("resourceVersion=7" in str(request.url)) == is_watch
        assert request.headers["accept"] == (WATCH_FORM if is_watch else LIST_FORM)
        assert is_watch or str(request.url).endswith("/api/v1/nodes?limit=1")
        documents = changes if is_watch else (NODES,)
        return httpx.Response(statuses[is_watch], content=parts(*documents))

    async def read():
        access = ClusterAccess(server="http://127.0.0.1:8180", token=TOKEN)
        upstream = Upstream(access, transport=httpx.MockTransport(reply))
        async with node_changes(upstream) as events:
            return [event async for event in events]

    return asyncio.run(read())


def test_a_watch_of_nodes_begins_with_its_start():
    first, second = (
        json.loads(event.split(b"data: ")[1]) for event in changes_of_nodes([200, 200])
    )
    assert first == {"type": "STARTED"}
    assert second == {
        "type": "ADDED", "name": "n1", "resourceVersion": "8", "labels": {"a": "b"},
        "isCopied": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        pytest.param([403, 200], "cannot be listed: status 403", id="list"),
        pytest.param([200, 410], "cannot be watched: status 410", id="watch"),
    ],
)
def test_a_refused_watch_of_nodes_has_the_status(statuses, message):
    with pytest.raises(UnreachableServer, match=message):
        changes_of_nodes(statuses)


def node(name, kind="MODIFIED", **metadata):
    return {"type": kind, "object": {"metadata": {"name": name, **metadata}}}


@pytest.mark.parametrize("size", [0, 7])
def test_changes_are_whole_lines_without_bookmarks_until_an_error(size):
    changes = [
        CHANGE,
        node("", "BOOKMARK"),
        node("n2", annotations={SOURCE_UID: "7"}),
        {"type": "ERROR", "object": {"kind": "Status", "code": 410}},
        node("n3"),
    ]
    events = changes_of_nodes([200, 200], changes, size)
    assert {event[:20] for event in events} == {b"event: nodes\ndata: {"}
    assert {event[-2:] for event in events} == {b"\n\n"}
    found = [json.loads(event.partition(b"data: ")[2]) for event in events]
    assert [(one["type"], one.get("name"), one.get("isCopied")) for one in found] == [
        ("STARTED", None, None),
        ("ADDED", "n1", False),
        ("MODIFIED", "n2", True),
    ]


# --------------------------------------------------------------------------- the state

SNAPSHOT = b"event: snapshot\ndata: {}\n\n"


def state_of(*replies, parts=1):
    """Return the reply to a page that follows the state, the first parts of its stream, and the
    requests that the server received."""
    received = []
    left = list(replies)

    def reply(request):
        received.append(request)
        if request.url.path != "/podwright/v1/state":
            return httpx.Response(503)
        return left.pop(0) if len(left) > 1 else left[0]

    async def read():
        access = ClusterAccess(server="http://127.0.0.1:8180", token=TOKEN)
        passed = PassThrough(Upstream(access, transport=httpx.MockTransport(reply)))
        response = await passed.follow_state(Request({"type": "http"}))
        assert isinstance(response, StreamingResponse)
        stream = response.body_iterator.__aiter__()
        found = [await anext(stream) for _ in range(parts)]
        await stream.aclose()  # type: ignore[attr-defined]
        return response, found

    return (*asyncio.run(read()), received)


async def endless():
    yield SNAPSHOT
    await asyncio.Event().wait()


def test_the_state_is_a_stream_of_events_that_no_cache_keeps():
    response, parts, received = state_of(httpx.Response(200, content=endless()))
    assert parts == [SNAPSHOT]
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.headers["cache-control"] == "no-store"
    assert received[0].headers["accept"] == "text/event-stream"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b'{"detail": "d", "title": "t"}', "d", id="a problem document"),
        pytest.param(b'{"message": "m", "kind": "Status"}', "m", id="a Status"),
        pytest.param(b'{"title": "t"}', "t", id="only a title"),
        pytest.param(b"<html>", "The server answered with status 403.", id="a page of a proxy"),
        pytest.param(b"[]", "The server answered with status 403.", id="another document"),
    ],
)
def test_a_page_learns_why_there_is_no_state(body, reason):
    async def content():
        yield body

    _, (part,), _ = state_of(httpx.Response(403, content=content()))
    event, _, data = part.partition(b"\ndata: ")
    assert event == b"event: disconnected"
    assert json.loads(data) == {"reason": reason}
    assert data.endswith(b"\n\n")

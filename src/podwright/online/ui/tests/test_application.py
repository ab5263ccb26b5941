"""The addresses of the page's process, and how long it lives."""

import asyncio
import contextlib
import http.client
import io
import os
import socket
import sys
import threading

import httpx
import msgspec
import pytest
from nicegui import ui
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route

from podwright.online.client import ClusterAccess
from podwright.online.ui import __main__, application, process
from podwright.online.ui.new_clusters import NewClusters
from podwright.online.ui.tests.shown import Server
from podwright.online.ui.upstream import Upstream


@pytest.fixture
def new_app(monkeypatch):
    """Make the application without the pages, which NiceGUI keeps for the process."""
    monkeypatch.setattr(application, "add_pages", lambda *_: None)
    monkeypatch.setattr(ui, "run_with", lambda *_, **__: None)
    return application.new_application


def sent(app, method, path, **options):
    async def send():
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
            return await client.request(method, path, **options)

    return asyncio.run(send())


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        pytest.param(b"a: [1, x]", {"document": {"a": [1, "x"]}}, id="YAML"),
        pytest.param(b'{"a": 1}', {"document": {"a": 1}}, id="JSON"),
        pytest.param(b"\xff", {"problem": "The text is not UTF-8."}, id="bytes"),
        pytest.param(b"", {"problem": "There is no object."}, id="no line to name"),
        pytest.param(
            b"a: 1\n---\nb: 2\n---\nc: 3",
            {"problem": "There are 3 documents; enter one."},
            id="three documents",
        ),
    ],
)
def test_a_text_is_read_for_the_browser(new_app, text, reply):
    response = sent(new_app(Server().upstream), "POST", "/documents", content=text)
    assert (response.status_code, response.json()) == (200, reply)


def test_a_problem_of_a_text_has_its_line(new_app):
    response = sent(new_app(Server().upstream), "POST", "/documents", content=b"a: 1\nb: c: d")
    assert response.json()["problem"].startswith("line 2: ")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/clusters", 405),
        ("GET", "/documents", 405),
        ("POST", "/feeds/state", 405),
        ("OPTIONS", "/server/version", 405),
        ("GET", "/cluster", 404),
        ("GET", "/docs", 404),
        ("GET", "/openapi.json", 404),
    ],
)
def test_each_address_of_the_page_has_its_methods(new_app, method, path, status):
    assert sent(new_app(Server().upstream), method, path).status_code == status


def test_requests_reach_the_server_and_only_reading_ones_the_compared_one(new_app):
    replies = {f"{method} /version": (200, {"method": method}) for method in ("GET", "POST")}
    server, other = Server(replies), Server({"GET /version": (200, {"is": "other"})})
    app = new_app(server.upstream, other.upstream)
    assert sent(app, "POST", "/server/version").json() == {"method": "POST"}
    assert sent(app, "GET", "/compared/version").json() == {"is": "other"}
    assert sent(app, "POST", "/compared/version").status_code == 405
    assert sent(new_app(server.upstream), "GET", "/compared/version").status_code == 404


def test_modules_of_the_page_are_checked_for_changes_each_time(new_app):
    response = sent(new_app(Server().upstream), "GET", "/pictures/base.css")
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-cache"


def test_the_process_has_no_documents_of_an_api(new_app):
    app = new_app(Server().upstream)
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert sent(app, "GET", path).status_code == 404


@pytest.mark.parametrize("has_other", [True, False])
def test_connections_and_clusters_end_with_the_process(new_app, monkeypatch, has_other):
    closed = []

    def closing(name):
        async def close(_=None):
            closed.append(name)

        return close

    server, other = Server(), Server()
    monkeypatch.setattr(NewClusters, "close", closing("clusters"))
    monkeypatch.setattr(server.upstream, "close", closing("server"))
    monkeypatch.setattr(other.upstream, "close", closing("other"))
    app = new_app(server.upstream, other.upstream if has_other else None)

    async def run():
        async with app.router.lifespan_context(app):
            assert not closed

    asyncio.run(run())
    assert closed == ["clusters", "server", *["other"] * has_other]


def test_the_pages_are_those_of_both_servers(monkeypatch):
    added, options = [], {}
    monkeypatch.setattr(application, "add_pages", lambda *servers: added.append(servers))
    monkeypatch.setattr(ui, "run_with", lambda _, **more: options.update(more))
    server, other = Server().upstream, Server().upstream
    application.new_application(server, other)
    assert added == [(server, other)]
    assert options["favicon"].exists()
    assert options["title"] == "podwright"
    assert options["dark"] is None, "as the browser prefers"
    assert not options["tailwind"]
    assert not options["show_welcome_message"]


# --------------------------------------------------------------------------- the process


@pytest.fixture
def page(monkeypatch):
    """A process of the page, in a thread, that serves a stream without an end."""

    async def endless():
        yield b"begin\n"
        await asyncio.Event().wait()

    app = Starlette(
        routes=[
            Route("/", lambda _: PlainTextResponse("page")),
            Route("/stream", lambda _: StreamingResponse(endless())),
        ]
    )
    monkeypatch.setattr(process, "new_application", lambda *_: app)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    read, write = os.pipe()
    with os.fdopen(read, "rb", buffering=0) as alive, os.fdopen(write, "wb", buffering=0) as end:
        thread = threading.Thread(
            target=process.serve_page,
            args=(Server().upstream, listening),
            kwargs={"lives_until": alive},
        )
        thread.start()
        try:
            yield port, end, thread
        finally:
            end.close()
            thread.join(10)


@contextlib.contextmanager
def reply_of(port, path="/", host=None):
    with contextlib.closing(
        http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    ) as connection:
        connection.request("GET", path, headers={"host": host or f"127.0.0.1:{port}"})
        with connection.getresponse() as reply:
            yield reply


def test_the_page_is_served_to_itself_until_the_process_that_started_it_ends(page, capfd):
    port, end, thread = page
    with reply_of(port) as reply:
        assert (reply.status, reply.read()) == (200, b"page")
        assert reply.headers["server"] is None
        assert reply.headers["x-content-type-options"] == "nosniff"
    with reply_of(port, host="rebound.example") as reply:
        assert reply.status == 403
    with reply_of(port, "/stream") as stream:
        assert stream.readline() == b"begin\n"
        end.write(b"what is written ends nothing")
        with reply_of(port) as reply:
            assert reply.status == 200
        end.close()
        thread.join(10)
    assert not thread.is_alive(), "a stream without an end does not keep it"
    assert capfd.readouterr() == ("", ""), "without a traceback of the stream"


def test_a_process_gets_its_access_and_socket_by_a_line(monkeypatch):
    settings = process.PageSettings(
        access=ClusterAccess(server="http://127.0.0.1:1", token="t"), descriptor=0
    )
    served = []

    def serve(upstream, listening, *, lives_until):
        assert isinstance(upstream, Upstream)
        with listening:
            served.append((upstream.server, listening.getsockname(), lives_until.read()))

    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()
    line = msgspec.json.encode(msgspec.structs.replace(settings, descriptor=listening.detach()))
    with io.TextIOWrapper(io.BytesIO(line + b"\nmore")) as given:
        monkeypatch.setattr(sys, "stdin", given)
        monkeypatch.setattr(__main__, "serve_page", serve)
        __main__._main()
    assert served == [("http://127.0.0.1:1", address, b"more")]

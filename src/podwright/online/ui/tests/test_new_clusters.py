"""Clusters that are started from the page, with a shell instead of `podwright up`."""

import asyncio
import os
import signal
import tempfile
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.routing import Route

from podwright.online.ui import new_clusters
from podwright.online.ui.new_clusters import CLUSTERS_MAX, NODES_MAX, NewClusters

PAGE = "printf 'server\\npage is at http://127.0.0.1:7/?a=b , have fun\\n'; exec sleep 60"
FILE = "name=a.yaml"


@pytest.fixture(autouse=True)
def folders(monkeypatch, tmp_path):
    """The folders of the files that were brought."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(new_clusters, "_LOOK_SECONDS", 0.005)
    return tmp_path


@pytest.fixture
def starting(monkeypatch):
    """Start clusters by requests; return the replies, and what `look` returns after them."""

    def start(script, *queries, content=b"text", look=lambda _: None):
        monkeypatch.setattr(new_clusters, "_COMMAND", ("/bin/sh", "-c", script, "up"))

        async def run():
            clusters = NewClusters()
            app = Starlette(routes=[Route("/clusters", clusters.start, methods=["POST"])])
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://page") as client:
                try:
                    replies = [
                        await client.post(f"/clusters?{query}", content=content)
                        for query in queries
                    ]
                    found = look(clusters)
                finally:
                    await clusters.close()
            assert {reply.status_code for reply in replies} == {200}
            return [reply.json() for reply in replies], found

        return asyncio.run(run())

    return start


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("", id="no name"),
        pytest.param("name=..", id="a folder"),
        pytest.param("name=.output", id="a hidden file"),
        pytest.param("name=a%20b", id="a space"),
        pytest.param(f"name={'a' * 66}", id="a long name"),
        pytest.param(f"{FILE}&nodes=-1", id="less than no nodes"),
        pytest.param(f"{FILE}&nodes=few", id="no number"),
        pytest.param(f"{FILE}&nodes={NODES_MAX + 1}", id="more than the most nodes"),
    ],
)
def test_another_name_or_number_is_refused(starting, folders, query):
    expected = {"problem": "Enter the name of a file, and at most 5,000 nodes."}
    assert starting(PAGE, query)[0] == [expected]
    assert not list(folders.iterdir())


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        pytest.param(FILE, "--port 0 --ui-port 0 --nodes 0 -- a.yaml", id="no nodes"),
        pytest.param(
            f"name=../-a&nodes=0{NODES_MAX}",
            "--port 0 --ui-port 0 --nodes 5000 -- -a",
            id="the most nodes, and a name that starts as an option",
        ),
        pytest.param(
            f"name={'a' * 64}", f"--port 0 --ui-port 0 --nodes 0 -- {'a' * 64}", id="a long name"
        ),
    ],
)
def test_a_cluster_gets_the_file_and_free_ports(starting, query, arguments):
    ((reply,), _) = starting('echo "$@"; exit 2', query)
    assert reply == {"problem": arguments}


def test_the_page_of_a_cluster_is_found_in_its_output(starting, folders):
    def look(clusters):
        ((process, folder),) = clusters._started
        assert os.getpgid(process.pid) == process.pid, "Ctrl-C of the page does not reach it"
        return (folder / "a.yaml").read_bytes(), folder, process

    ((reply,), (text, folder, process)) = starting(PAGE, FILE, look=look)
    assert reply == {"page": "http://127.0.0.1:7/?a=b"}
    assert text == b"text"
    assert folder.parent == folders
    assert process.returncode == -signal.SIGTERM, "it ends with the page that has started it"
    assert not folder.exists()


@pytest.mark.parametrize(
    ("count", "last"),
    [
        pytest.param(12, "12", id="all of twelve lines"),
        pytest.param(1_014, "and 1,002 more lines", id="the others are counted"),
    ],
)
def test_a_cluster_that_does_not_start_says_why(starting, count, last):
    ((reply,), _) = starting(f"seq 1 {count} >&2", FILE)
    lines = reply["problem"].split("\n")
    assert lines[:12] == [str(number) for number in range(1, 13)]
    assert lines[-1] == last
    assert len(lines) == (12 if count == 12 else 13)


def test_a_file_that_is_too_large_is_not_kept(starting, folders, monkeypatch):
    monkeypatch.setattr(new_clusters, "BODY_MAX", 3 << 20)
    ((reply,), _) = starting(PAGE, FILE, content=bytes((3 << 20) + 1))
    assert reply == {"problem": "The file has more than 3 MiB."}
    assert not list(folders.iterdir())
    ((reply,), _) = starting("echo started", FILE, content=bytes(3 << 20))
    assert reply == {"problem": "started"}


def test_a_file_for_which_there_is_no_space_is_not_kept(starting, folders, monkeypatch):
    make = tempfile.mkdtemp

    def on_a_full_disk(**options):
        folder = make(**options)
        (Path(folder) / "a.yaml").symlink_to("/dev/full")
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", on_a_full_disk)
    ((reply,), _) = starting(PAGE, FILE)
    assert reply == {"problem": "The file cannot be kept: No space left on device."}
    assert not list(folders.iterdir())


def test_only_some_clusters_run_at_the_same_time(starting):
    replies, _ = starting(PAGE, *[FILE] * (CLUSTERS_MAX + 1))
    assert all("page" in reply for reply in replies[:-1])
    assert replies[-1] == {"problem": "8 clusters that were started here still run."}
    replies, _ = starting("echo ended", *[FILE] * (CLUSTERS_MAX + 1))
    assert replies[-1] == {"problem": "ended"}, "those that have ended do not count"


def test_a_cluster_that_does_not_end_is_killed(starting, monkeypatch):
    monkeypatch.setattr(new_clusters, "_END_SECONDS", 0.05)
    stubborn = "trap '' TERM; echo page is at http://a; while :; do sleep 0.01; done"
    ((reply,), process) = starting(stubborn, FILE, look=lambda found: found._started[0][0])
    assert reply == {"page": "http://a"}
    assert process.returncode == -signal.SIGKILL


def test_the_file_of_a_cluster_that_has_ended_is_not_kept(starting, folders):
    _, (kept,) = starting("exit 1", FILE, FILE, look=lambda _: list(folders.iterdir()))
    assert kept.name.startswith("podwright-")
    assert not list(folders.iterdir())


def test_a_file_that_breaks_off_is_not_kept(folders):
    parts = iter(
        [
            {"type": "http.request", "body": b"half of it", "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive():
        return next(parts)

    scope = {"type": "http", "method": "POST", "query_string": FILE.encode(), "headers": []}
    with pytest.raises(ClientDisconnect):
        asyncio.run(NewClusters().start(Request(scope, receive)))
    assert not list(folders.iterdir())

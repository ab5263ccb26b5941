"""The JSON of objects is made once, and is what encoding the whole reply would give."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import yaml

from podwright.cluster.api.endpoints import Watch
from podwright.cluster.api.endpoints.shared_lines import (
    INITIAL_MAX_BYTES,
    InitialParts,
    SharedLines,
)
from podwright.cluster.api.endpoints.tests.conftest import Server, config_map, pod
from podwright.cluster.store import Encodings

MAPS = "/api/v1/namespaces/default/configmaps"
ALL = "/api/v1/configmaps"


@pytest.mark.parametrize(
    "path",
    ["/api/v1/pods", "/api/v1/namespaces", "/apis/events.k8s.io/v1/events", "/api/v1/secrets",
     "/apis/scheduling.k8s.io/v1/priorityclasses", "/api/v1/namespaces?limit=2"],
)  # fmt: skip
def test_lists_are_their_objects_without_kind_and_version(server, path):
    for name in ("a", "b"):
        server.reply("POST", "/api/v1/namespaces/default/pods", pod(name))
    _, found = server.reply("GET", path)
    reply = server.send("GET", path, headers={"accept": "application/yaml"})
    assert found == yaml.safe_load(reply.body)


def test_equal_watches_share_their_lines(server):
    version = server.store.resource_version
    watches = [server.watch(f"{MAPS}?watch=1&resourceVersion={version}") for _ in range(3)]
    other = server.watch(f"{MAPS}?watch=1&resourceVersion={version}&labelSelector=a")
    everywhere = server.watch(f"{ALL}?watch=1&resourceVersion={version}")
    server.reply("POST", MAPS, config_map("a", text="x"))
    first, *rest = [watch.read(server.now_ns) for watch in watches]
    assert first.count(b"\n") == 1
    assert all(lines is first for lines in rest)
    assert other.poll(server.now_ns) == []
    assert everywhere.poll(server.now_ns) == [first]
    # A watch that reads at another time has the same events in other steps.
    server.reply("PUT", f"{MAPS}/a", config_map("a", text="y"))
    second = watches[0].poll(server.now_ns)
    server.reply("DELETE", f"{MAPS}/a")
    third = watches[0].poll(server.now_ns)
    late = watches[1].poll(server.now_ns)
    assert late == second + third
    assert [json.loads(line)["type"] for line in late] == ["MODIFIED", "DELETED"]


def test_watches_share_their_initial_events_and_release_them(server):
    for number in range(40):
        server.reply("POST", MAPS, config_map(f"c{number}", text="x" * 10_000))
    path = f"{MAPS}?watch=1&allowWatchBookmarks=true"
    first = server.watch(path)
    start = [first.read(server.now_ns) for _ in range(4)]
    # Changes of other kinds, and of this one after the first watch has begun, alter nothing.
    server.reply("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "other"}})
    second = server.watch(path)
    server.reply("DELETE", f"{MAPS}/c7")
    assert all(second.read(server.now_ns) is part for part in start)
    late = server.watch(path)
    rest = [watch.poll(server.now_ns) for watch in (first, second)]
    names = [json.loads(line)["object"]["metadata"].get("name") for line in rest[0]]
    assert rest[0][:-2] == rest[1][:-2]
    assert names[-2:] == [None, "c7"]  # the bookmark, and the deletion
    assert {*names, *_names(b"".join(start))} == {None, *(f"c{number}" for number in range(40))}
    assert "c7" not in _names(b"".join(late.poll(server.now_ns)))
    assert len(first._call.lines._initial) == 0


def _names(text: bytes) -> list[str | None]:
    return [json.loads(line)["object"]["metadata"].get("name") for line in text.splitlines()]


def test_metadata_only_watches_share_their_lines_with_none_of_whole_objects(server):
    server.reply("POST", MAPS, config_map("a", text="x"))
    accept = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    whole = server.watch(f"{MAPS}?watch=1")
    parts = [server.send("GET", f"{MAPS}?watch=1", headers=accept) for _ in range(2)]
    texts = [watch.read(server.now_ns) for watch in parts]
    assert texts[0] is texts[1]
    assert b'"data"' not in texts[0]
    assert b'"data"' in whole.read(server.now_ns)


def test_initial_parts_are_bounded():
    parts = InitialParts()
    for number in range(10):
        parts.keep(number, b"x" * (INITIAL_MAX_BYTES // 4), number + 1, 100)
    assert parts.find(0) is None
    assert parts.find(9) is not None
    assert len(parts._kept) <= 4


def test_a_watch_without_news_does_not_expire(server: Server) -> None:
    version = server.store.resource_version
    quiet = server.send("GET", f"/api/v1/nodes?watch=1&resourceVersion={version}")
    assert isinstance(quiet, Watch)
    for number in range(3):
        server.reply("POST", MAPS, config_map(f"c{number}"))
        assert quiet.poll(server.now_ns) == []
        server.store.compact(server.store.resource_version)
    assert quiet.poll(server.now_ns) == []
    assert not quiet.is_closed(server.now_ns)


def test_shared_lines_are_bounded():
    lines = SharedLines()
    for number in range(30):
        lines.keep("pods", number, number + 1, b"x" * 2_000_000, number + 1)
    assert lines.find("pods", 0, 1) is None
    assert lines.find("pods", 29, 30) is not None
    assert len(lines._kept) <= 2
    for more, is_kept in ((0, True), (1, False)):
        lines = SharedLines()
        half = 2 * 1024 * 1024 - 200
        lines.keep("pods", 1, 2, b"x" * half, 2)
        lines.keep("pods", 2, 3, b"x" * (half + more), 3)
        assert (lines.find("pods", 1, 2) is not None) is is_kept


def test_encodings_are_bounded_and_made_once():
    encodings = Encodings(max_bytes=1_000)
    documents: list[dict[str, Any]] = [{"text": "x" * 200, "number": n} for n in range(10)]
    texts = [encodings.of(each) for each in documents]
    assert encodings.of(documents[-1]) is texts[-1]
    assert encodings.peek(documents[-1]) is texts[-1]
    assert encodings.peek(documents[0]) == texts[0] == msgspec.json.encode(documents[0])
    assert encodings.peek(documents[0]) is not texts[0]
    assert sum(len(text) for _, _, text in encodings._kept.values()) <= 1_000

"""Requests that are committed together: nothing of them is seen before, and all of it after."""

from __future__ import annotations

import json
from typing import Any

import pytest

from podwright.cluster.api.endpoints import (
    HISTORY,
    ApiServer,
    HttpReply,
    HttpRequest,
    User,
    Watch,
    bare_options,
    bare_store,
)
from podwright.cluster.api.endpoints.tests.conftest import ADMIN, START_NS, config_map, pod
from podwright.cluster.store import UnusableStore, open_store

MAPS = "/api/v1/namespaces/default/configmaps"


def request(method: str, path: str, body: Any = None) -> tuple[HttpRequest, User]:
    path, _, query = path.partition("?")
    return HttpRequest(method, path, query, {}, json.dumps(body).encode() if body else b""), ADMIN


def together(api: ApiServer, requests: list[tuple[HttpRequest, User]], now_ns: int) -> list[Any]:
    with api._store.batch():
        return [api.handle(each, user, now_ns) for each, user in requests]


def test_requests_of_a_group_see_the_ones_before_them(server):
    priority = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1_000,
    }
    replies = together(
        server.api,
        [
            request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", priority),
            request("POST", "/api/v1/namespaces/default/pods", pod("a", priorityClassName="high")),
            request("POST", MAPS, config_map("a")),
            request("POST", MAPS, config_map("a")),
            request("GET", MAPS),
        ],
        server.now_ns,
    )
    assert [reply.status for reply in replies] == [201, 201, 201, 409, 200]
    assert json.loads(replies[1].body)["spec"]["priority"] == 1_000
    assert server.store.durable_version == server.store.resource_version


def test_a_watch_sees_a_group_after_its_commit(server):
    watch = server.watch(f"{MAPS}?watch=1&resourceVersion={server.store.resource_version}")
    with server.store.batch():
        server.reply("POST", MAPS, config_map("a"))
        (opened,) = [server.api.handle(*request("GET", f"{MAPS}?watch=1"), server.now_ns)]
        assert isinstance(opened, Watch)
        assert server.events(watch) == server.events(opened) == []
    assert [kind for kind, _ in server.events(watch)] == ["ADDED"]
    names = [each["metadata"]["name"] for _, each in server.events(opened)]
    assert names.count("a") == 1


def test_a_group_that_cannot_be_written_has_no_replies(tmp_path, monkeypatch):
    path = tmp_path / "store.db"
    store = bare_store(START_NS, store=open_store(path, **HISTORY))
    server = ApiServer(store, bare_options())
    before = store.resource_version
    opened = server.handle(*request("GET", f"{MAPS}?watch=1&resourceVersion={before}"), START_NS)
    assert isinstance(opened, Watch)

    def refuse(*_):
        raise UnusableStore("the disk is full")

    assert store._journal is not None
    with monkeypatch.context() as patched:
        patched.setattr(store._journal, "append", refuse)
        with pytest.raises(UnusableStore, match="the disk is full"):
            together(server, [request("POST", MAPS, config_map("a"))], START_NS)
    with pytest.raises(UnusableStore, match="open the store again"):
        server.handle(*request("GET", MAPS), START_NS)
    assert opened.poll(START_NS) == []
    store.close()
    again = bare_store(START_NS, store=open_store(path, **HISTORY))
    reply = ApiServer(again, bare_options()).handle(*request("GET", f"{MAPS}/a"), START_NS)
    assert isinstance(reply, HttpReply)
    assert (reply.status, again.resource_version) == (404, before)
    again.close()

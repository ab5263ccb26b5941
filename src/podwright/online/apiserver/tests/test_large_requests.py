"""Writes with large bodies: a thread computes, and other clients read meanwhile."""

import asyncio
import threading
from contextlib import closing

import msgspec
import pytest

from podwright._interludes import interlude
from podwright.cluster.store import UnusableStore, open_store
from podwright.online.apiserver import ClusterClock, TurnLoop
from podwright.online.apiserver.large_requests import (
    LARGE_BYTES,
    LARGE_CUSTOM_BYTES,
    LargeRequest,
    is_large,
)
from podwright.online.apiserver.tests.conftest import ADMIN, START_NS, cluster_of, request

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PATIENCE_SECONDS = 60


def config_map(name, keys):
    data = {f"key-{number}": "value" for number in range(keys)}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    return request("POST", CONFIG_MAPS, body)


def large(name, keys=20_000):
    made = config_map(name, keys)
    assert len(made.body) >= LARGE_BYTES
    return made


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (config_map("small", 1), False),
        (config_map("large", 4_000), True),
        (request("GET", CONFIG_MAPS, {"unused": "x" * LARGE_BYTES}), False),
        (request("POST", CONFIG_MAPS, {"unused": "x" * LARGE_CUSTOM_BYTES}), False),
        (request("POST", "/apis/example.com/v1/boxes", {"unused": "x" * LARGE_CUSTOM_BYTES}), True),
        (request("POST", "/apis/example.com/v1/boxes", {"unused": ""}), False),
    ],
)
def test_writes_with_large_bodies_and_of_rules_are_executed_in_a_thread(sent, expected):
    cluster = cluster_of()
    names = {"plural": "boxes", "singular": "box", "kind": "Box", "listKind": "BoxList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": versions}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "boxes.example.com"},
        "spec": spec,
    }
    made = request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    assert cluster.server.handle(made, ADMIN, START_NS).status == 201
    assert is_large(sent, cluster.server) is expected


def test_the_thread_and_the_loop_use_the_cluster_in_turn():
    computed, woken = threading.Event(), threading.Event()
    used = []

    def execute():
        used.append("thread")
        with interlude(), interlude():
            assert computed.wait(PATIENCE_SECONDS)
        used.append("thread again")
        return "reply"

    running = LargeRequest(execute, woken.set)
    assert used == [], "not before the loop lets it"
    assert running.advance(0.0) is None
    used.append("loop")
    assert running.advance(0.0) is None, "it computes"
    computed.set()
    assert woken.wait(PATIENCE_SECONDS)
    assert running.advance(0.0) == "reply"
    assert used == ["thread", "loop", "thread again"]


def test_the_loop_waits_for_a_thread_that_computes_little():
    def execute():
        for _ in range(3):
            with interlude():
                pass
        return "reply"

    running = LargeRequest(execute, lambda: None)
    assert running.advance(PATIENCE_SECONDS) == "reply"


def test_what_the_execution_raises_is_raised_in_the_loop():
    def execute():
        with interlude():
            raise UnusableStore("no space left")

    running = LargeRequest(execute, lambda: None)
    with pytest.raises(UnusableStore, match="no space left"):
        running.advance(PATIENCE_SECONDS)


def test_others_read_while_a_large_request_computes_and_write_after_it():
    cluster = cluster_of()
    order = []

    async def sent(turns, name, what):
        reply = await turns.execute(what)
        order.append(name)
        return reply

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        tasks = [
            asyncio.create_task(sent(turns, name, what))
            for name, what in (
                ("large", large("a")),
                ("write", config_map("a", 1)),
                ("read", request("GET", f"{CONFIG_MAPS}/a")),
                ("write", config_map("b", 1)),
            )
        ]
        await asyncio.sleep(0)
        running = asyncio.create_task(turns.run())
        replies = await asyncio.gather(*tasks)
        assert [reply.status for reply in replies] == [201, 409, 404, 201]
        assert order == ["read", "large", "write", "write"]
        turns.stop()
        await running

    asyncio.run(main())


def test_a_large_request_ends_with_the_server():
    cluster = cluster_of()
    before = threading.active_count()

    async def main():
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        task = asyncio.create_task(turns.execute(large("a")))
        other = asyncio.create_task(turns.execute(config_map("b", 1)))
        await asyncio.sleep(0)
        running = asyncio.create_task(turns.run())
        await asyncio.sleep(0)
        turns.stop()
        await running
        for each in (task, other):
            with pytest.raises(asyncio.CancelledError):
                await each

    asyncio.run(main())
    for thread in threading.enumerate():
        if thread.name == "large request":
            thread.join(PATIENCE_SECONDS)
    assert threading.active_count() == before
    stored = cluster.store.keys(("", "ConfigMap"))
    assert "default/a" not in stored
    assert "default/b" not in stored


def test_a_large_object_of_a_database_is_changed_in_a_thread(tmp_path):
    patch = {"data": {f"key-{number}": "changed" for number in range(4_000)}}

    async def main(cluster):
        turns = TurnLoop(cluster, ClusterClock(start_ns=START_NS))
        running = asyncio.create_task(turns.run())
        assert (await turns.execute(large("a", 4_000))).status == 201
        for media_type in ("merge-patch+json", "strategic-merge-patch+json"):
            changed = request("PATCH", f"{CONFIG_MAPS}/a", patch | {"binaryData": None})
            headers = {"content-type": f"application/{media_type}"}
            reply = await turns.execute(msgspec.structs.replace(changed, headers=headers))
            assert reply.status == 200
        turns.stop()
        await running

    path = tmp_path / "cluster.db"
    with closing(open_store(path)) as store:
        asyncio.run(main(cluster_of(store=store)))
    with closing(open_store(path)) as store:
        found = store.get(("", "ConfigMap"), "default/a")
        assert found is not None
        assert found.raw["data"] == patch["data"]

"""Events of both groups are one stored object, which expires an hour after its last write."""

from __future__ import annotations

from typing import Any

from podwright.apimachinery.schema import decode
from podwright.cluster.api.endpoints import HISTORY, ApiServer, bare_options, bare_store
from podwright.cluster.api.endpoints.kinds.event_expiry import EventExpiry
from podwright.cluster.api.endpoints.tests.conftest import START_NS, Server
from podwright.cluster.store import EVENT, ObjectStore, open_store

CORE = "/api/v1/namespaces/default/events"
NEW = "/apis/events.k8s.io/v1/namespaces/default/events"
MINUTE_NS = 60 * 1_000_000_000


def event(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Tried",
        "type": "Normal",
    }


def listed(server: Server, path: str = CORE) -> list[str]:
    _, found = server.reply("GET", path)
    return [each["metadata"]["name"] for each in found["items"]]


def test_an_event_expires_an_hour_after_its_creation(server):
    server.reply("POST", CORE, event("a"))
    server.now_ns += 30 * MINUTE_NS
    server.reply("POST", CORE, event("b"))
    watch = server.watch(f"{CORE}?watch=1&resourceVersion={server.store.resource_version}")
    server.now_ns += 29 * MINUTE_NS
    assert listed(server) == listed(server, NEW) == ["a", "b"]
    server.now_ns += MINUTE_NS
    assert listed(server) == listed(server, NEW) == ["b"]
    (kind, last), *more = server.events(watch)
    assert (kind, last["metadata"]["name"], more) == ("DELETED", "a", [])
    server.now_ns += 60 * MINUTE_NS
    assert listed(server) == []


def test_five_hundred_events_are_deleted_at_a_time_and_the_others_later():
    store = ObjectStore()
    store.advance(START_NS)
    for number in range(1_001):
        store.put(decode(event(f"e{number}")))
    expiry = EventExpiry(store)
    late_ns = START_NS + 61 * MINUTE_NS
    assert [expiry.expire(late_ns) for _ in range(4)] == [500, 500, 1, 0]
    assert store.list(EVENT).objects == ()


def test_a_write_renews_an_event(server):
    server.reply("POST", CORE, event("a"))
    server.now_ns += 40 * MINUTE_NS
    status, _ = server.patch(f"{CORE}/a", {"count": 2})
    assert status == 200
    server.now_ns += 40 * MINUTE_NS
    assert listed(server) == ["a"]
    server.now_ns += 25 * MINUTE_NS
    assert listed(server) == []


def test_an_event_that_was_deleted_and_created_again_lives_for_another_hour(server):
    server.reply("POST", CORE, event("a"))
    server.now_ns += 40 * MINUTE_NS
    server.reply("DELETE", f"{CORE}/a")
    server.reply("POST", CORE, event("a"))
    server.now_ns += 40 * MINUTE_NS
    assert listed(server) == ["a"]


def test_many_events_expire_in_steps(server):
    for number in range(1_200):
        server.now_ns -= 1_000_000_000  # all at one time
        server.reply("POST", CORE, event(f"e{number:04}"))
    due_ns = server.api.next_due_ns
    assert due_ns == server.now_ns + 61_000_000_000 * 60 - 61_000_000_000 + 1_000_000_000
    server.now_ns = due_ns
    server.now_ns -= 1_000_000_000
    assert [len(listed(server)) for _ in range(3)] == [700, 200, 0]
    assert server.api.next_due_ns is None


def test_the_age_of_events_survives_a_restart(tmp_path):
    path = tmp_path / "store.db"
    first = Server()
    first.store = bare_store(START_NS, store=open_store(path, **HISTORY))
    first.api = ApiServer(first.store, bare_options())
    first.reply("POST", CORE, event("a"))
    first.now_ns += 30 * MINUTE_NS
    first.reply("POST", CORE, event("b"))
    first.store.close()
    again = Server()
    again.store = bare_store(START_NS, store=open_store(path, **HISTORY))
    again.api = ApiServer(again.store, bare_options())
    again.now_ns = first.now_ns + 29 * MINUTE_NS
    assert listed(again) == ["a", "b"]
    again.now_ns += MINUTE_NS
    assert listed(again) == ["b"]
    again.store.close()


def kept(store: ObjectStore) -> list[str]:
    return [obj.name for obj in store.list(EVENT).objects]


def write(store: ObjectStore, name: str, now_ns: int) -> None:
    store.advance(now_ns)
    store.put(decode(event(name) | {"count": now_ns // MINUTE_NS}))


def test_an_event_expires_at_its_time_and_not_before():
    store = bare_store(START_NS)
    expiry = EventExpiry(store, ttl_ns=10 * MINUTE_NS)
    due_ns = expiry.next_due_ns
    assert due_ns is None
    write(store, "a", START_NS)
    write(store, "b", START_NS + 2 * MINUTE_NS)
    assert expiry.next_due_ns == START_NS + 10 * MINUTE_NS
    assert expiry.expire(START_NS + 10 * MINUTE_NS - 1) == 0
    assert kept(store) == ["a", "b"]
    assert expiry.expire(START_NS + 10 * MINUTE_NS) == 1
    assert kept(store) == ["b"]
    assert expiry.next_due_ns == START_NS + 12 * MINUTE_NS
    assert expiry.expire(START_NS + 20 * MINUTE_NS) == 1
    assert kept(store) == []
    assert expiry.next_due_ns is None


def test_an_event_that_was_written_after_the_last_request_expires():
    store = bare_store(START_NS)
    expiry = EventExpiry(store, ttl_ns=10 * MINUTE_NS)
    assert expiry.expire(START_NS) == 0
    write(store, "a", START_NS)
    assert expiry.expire(START_NS + 10 * MINUTE_NS - 1) == 0
    assert kept(store) == ["a"]
    assert expiry.expire(START_NS + 10 * MINUTE_NS) == 1


def test_an_event_of_an_earlier_version_does_not_expire_with_it():
    store = bare_store(START_NS)
    expiry = EventExpiry(store, ttl_ns=10 * MINUTE_NS)
    for minute, name in ((0, "a"), (1, "b"), (5, "a")):
        write(store, name, START_NS + minute * MINUTE_NS)
    assert expiry.expire(START_NS + 11 * MINUTE_NS) == 1
    assert kept(store) == ["a"]
    assert expiry.next_due_ns == START_NS + 15 * MINUTE_NS
    assert expiry.expire(START_NS + 15 * MINUTE_NS) == 1
    assert kept(store) == []


def test_events_that_are_there_at_the_start_expire_in_their_order():
    store = bare_store(START_NS)
    for minute, name in ((0, "b"), (3, "a"), (6, "c")):
        write(store, name, START_NS + minute * MINUTE_NS)
    expiry = EventExpiry(store, ttl_ns=10 * MINUTE_NS)
    assert expiry.next_due_ns == START_NS + 10 * MINUTE_NS
    assert [expiry.expire(START_NS + minute * MINUTE_NS) for minute in (9, 10, 13, 15, 16)] == [
        0, 1, 1, 0, 1,
    ]  # fmt: skip

"""The state machine of a list and its watch, against a collection with a history."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from podwright.online.client.cluster.list_watch import (
    GetPage,
    ListWatch,
    OpenWatch,
    Page,
    Pause,
    WatchEvent,
    WatchFailed,
)


class Server:
    """A collection of an API server: objects, versions and events."""

    def __init__(self, *, streams: bool) -> None:
        self.version = 1
        self.streams = streams
        self.objects: dict[str, dict[str, Any]] = {}
        self.events: list[tuple[int, str, dict[str, Any]]] = []
        self.oldest = 0
        self.uids = 0

    def put(self, name: str) -> None:
        self.version += 1
        kind = "MODIFIED" if name in self.objects else "ADDED"
        if kind == "ADDED":
            self.uids += 1
        uid = self.objects[name]["metadata"]["uid"] if kind == "MODIFIED" else f"u{self.uids}"
        self.objects[name] = {
            "metadata": {
                "name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(self.version)
            }
        }  # fmt: skip
        self.events.append((self.version, kind, self.objects[name]))

    def drop(self, name: str) -> None:
        if name in self.objects:
            self.version += 1
            gone = self.objects.pop(name)
            gone = {"metadata": {**gone["metadata"], "resourceVersion": str(self.version)}}
            self.events.append((self.version, "DELETED", gone))

    def compact(self) -> None:
        self.oldest = self.version

    def page(self, request: GetPage) -> Page:
        items = sorted(self.objects)
        begin = items.index(request.token) if request.token in items else 0
        end = begin + request.limit if request.limit else len(items)
        token = items[end] if end < len(items) else ""
        listed = {
            "metadata": {"resourceVersion": str(self.version), "continue": token},
            "items": [self.objects[name] for name in items[begin:end]],
        }
        return msgspec.json.decode(json.dumps(listed), type=Page)


def event(kind: str, obj: dict[str, Any]) -> WatchEvent:
    return msgspec.json.decode(json.dumps({"type": kind, "object": obj}), type=WatchEvent)


class Copy:
    """What the changes make of an empty copy."""

    def __init__(self) -> None:
        self.uids: dict[str, str] = {}

    def take(self, changes) -> None:
        for change in changes:
            name = change.meta.name
            if change.event == "Delete":
                assert self.uids.pop(name) == change.meta.uid
            elif change.event == "Add":
                assert name not in self.uids
                self.uids[name] = change.meta.uid
                assert change.body
            else:
                assert self.uids[name] == change.meta.uid


def paused_ns(state: ListWatch) -> int:
    request = state.next_request()
    assert isinstance(request, Pause)
    return request.wait_ns


STEPS = st.lists(
    st.sampled_from(("put a", "put b", "put c", "put d", "drop a", "drop b", "compact", "cut", "go",
                     "error", "busy")),
    max_size=40,
)  # fmt: skip


def drive(state: ListWatch, server: Server, copy: Copy, *, events: int) -> bool:
    """Execute requests, and deliver at most some events; return whether the watch is caught up."""
    while True:
        match state.next_request():
            case Pause(wait_ns):
                assert wait_ns > 0
            case GetPage() as request:
                copy.take(state.page(server.page(request)))
            case OpenWatch(""):
                if not server.streams:
                    state.failed(422)
                    continue
                state.opened()
                for name in sorted(server.objects):
                    assert state.event(event("ADDED", server.objects[name])) == ()
                end = {
                    "metadata": {
                        "resourceVersion": str(server.version),
                        "annotations": {"k8s.io/initial-events-end": "true"},
                    }
                }
                copy.take(state.event(event("BOOKMARK", end)))
            case OpenWatch() as request:
                version = request.version
                state.opened()
                if int(version) < server.oldest:
                    with pytest.raises(WatchFailed) as failed:
                        state.event(event("ERROR", {"code": 410, "message": "too old"}))
                    state.failed(failed.value.status)
                    continue
                due = [each for each in server.events if each[0] > int(version)]
                for _, kind, obj in due[:events]:
                    copy.take(state.event(event(kind, obj)))
                return len(due) <= events


@given(streams=st.booleans(), page_size=st.integers(1, 4), steps=STEPS)
def test_the_copy_is_the_collection_whatever_happens_to_the_watch(streams, page_size, steps):
    server, copy = Server(streams=streams), Copy()
    state = ListWatch(seed=1, streams=True, page_size=page_size)
    for step in steps:
        verb, _, name = step.partition(" ")
        match verb:
            case "put":
                server.put(name)
            case "drop":
                server.drop(name)
            case "compact":
                server.compact()
            case "cut":
                state.failed(0)
            case "busy":
                state.failed(429, retry_after_seconds=2)
                assert paused_ns(state) >= 2_000_000_000
            case "error":
                state.ended()
            case _:
                drive(state, server, copy, events=1)
    assert drive(state, server, copy, events=1000)
    assert copy.uids == {n: o["metadata"]["uid"] for n, o in server.objects.items()}
    assert len(state) == len(server.objects)
    assert state.is_synced


def test_an_object_of_the_same_name_is_another_object():
    server, copy = Server(streams=True), Copy()
    server.put("a")
    state = ListWatch(seed=0)
    drive(state, server, copy, events=0)
    first = copy.uids["a"]
    server.drop("a")
    server.put("a")
    server.compact()  # neither event is seen
    drive(state, server, copy, events=10)
    assert copy.uids["a"] != first
    assert state.lists == 2


def test_an_expired_page_is_followed_by_the_whole_list():
    server = Server(streams=False)
    for name in "abc":
        server.put(name)
    state = ListWatch(seed=0, streams=False, page_size=1)
    request = state.next_request()
    assert request == GetPage("", 1)
    state.page(server.page(request))
    state.failed(410)
    assert isinstance(state.next_request(), Pause)
    assert state.next_request() == GetPage("", 0)


def test_waits_double_and_are_bounded():
    state = ListWatch(seed=0)
    waits = []
    for _ in range(12):
        state.failed(500)
        waits.append(paused_ns(state))
    assert 800_000_000 <= waits[0] <= 1_600_000_000
    assert 1_600_000_000 <= waits[1] <= 3_200_000_000
    assert 30_000_000_000 <= waits[-1] <= 60_000_000_000

"""A list and its watch request by request, reflectors with their whole queries, waits and rates."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from podwright.online.client.cluster.errors import RejectedRequest, UnreachableCluster
from podwright.online.client.cluster.list_watch import (
    FIRST_NS,
    LONGEST_NS,
    PAGE_SIZE,
    Backoff,
    ChangedObject,
    GetPage,
    ListWatch,
    Meta,
    OpenWatch,
    Page,
    Pause,
    SeenVersion,
    WatchEvent,
    WatchFailed,
)
from podwright.online.client.cluster.read_connection import BURST, PER_SECOND, TokenBucket
from podwright.online.client.cluster.reflector import WATCH_SECONDS, Batch, Reflector

SECOND = 1_000_000_000


def body(name: str, version: str, uid: str = "", namespace: str = "a", **more: Any) -> bytes:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": uid or name,
        "resourceVersion": version,
    }
    return json.dumps({"metadata": {**metadata, **more}}).encode()


def meta(name: str, version: str, uid: str = "") -> Meta:
    return Meta(name, "a", uid or name, version)


def page(*bodies: bytes, version: str = "9", token: str = "", remaining: int | None = None) -> Page:
    metadata: dict[str, Any] = {"resourceVersion": version, "continue": token}
    if remaining is not None:
        metadata["remainingItemCount"] = remaining
    text = b'{"metadata": %s, "items": [%s]}' % (json.dumps(metadata).encode(), b",".join(bodies))
    return msgspec.json.decode(text, type=Page)


def event(kind: str, content: bytes) -> WatchEvent:
    return msgspec.json.decode(b'{"type": "%s", "object": %s}' % (kind.encode(), content),
                               type=WatchEvent)  # fmt: skip


END: Any = {"annotations": {"k8s.io/initial-events-end": "true"}}


def test_a_list_in_pages_and_the_watch_after_it():
    state = ListWatch(seed=1, streams=False, page_size=2)
    assert (state.is_synced, state.version, state.lists, state.watches) == (False, "", 0, 0)
    assert (state.remaining, state.listed, len(state), state.is_watching) == (0, 0, 0, False)
    assert state.next_request() == GetPage("", 2)
    first, second = body("p", "1"), body("q", "2")
    assert state.page(page(first, second, token="t", remaining=5)) == ()
    assert (state.remaining, state.listed, len(state)) == (5, 2, 0)
    assert state.next_request() == GetPage("t", 2)
    assert state.page(page(token="t")) == ()
    assert state.remaining == 0
    third = body("r", "3")
    assert state.page(page(third)) == [
        ChangedObject("Add", meta("p", "1"), first, True),
        ChangedObject("Add", meta("q", "2"), second, True),
        ChangedObject("Add", meta("r", "3"), third, True),
    ]
    assert (state.is_synced, state.version, state.lists, state.listed) == (True, "9", 1, 0)
    assert (state.remaining, len(state), state.is_watching) == (0, 3, True)
    assert state.next_request() == OpenWatch("9")
    state.opened()
    assert state.watches == 1
    changed = body("p", "10", annotations={"k": "v"})
    assert state.event(event("MODIFIED", changed)) == (
        ChangedObject("Update", msgspec.structs.replace(meta("p", "10"), annotations={"k": "v"}),
                      changed),
    )  # fmt: skip
    assert state._index["a/p"] == meta("p", "10")
    gone = body("q", "11")
    assert state.event(event("DELETED", gone)) == (ChangedObject("Delete", meta("q", "11"), gone),)
    assert state.event(event("DELETED", gone)) == ()
    assert state.event(event("BOOKMARK", body("", "12"))) == ()
    other = body("p", "13", uid="u")
    assert state.event(event("ADDED", other)) == (
        ChangedObject("Delete", meta("p", "10")), ChangedObject("Add", meta("p", "13", "u"), other)
    )  # fmt: skip
    assert state.version == "13"
    state.ended()
    assert state.next_request() == OpenWatch("13")
    # The version is gone: a list of what is there then, of which nothing is initial.
    state.failed(410)
    assert isinstance(state.next_request(), Pause)
    assert state.next_request() == GetPage("", 2)
    again = body("p", "20", uid="u")
    new = body("s", "21")
    assert state.page(page(again, new, version="30")) == [
        ChangedObject("Delete", meta("r", "3")),
        ChangedObject("Update", meta("p", "20", "u"), again),
        ChangedObject("Add", meta("s", "21"), new),
    ]  # fmt: skip
    assert (state.lists, state.version) == (2, "30")


def test_a_streamed_list_ends_with_its_bookmark():
    state = ListWatch(seed=1)
    assert state.next_request() == OpenWatch("")
    state.opened()
    one, other = body("p", "1"), body("q", "2")
    for each in (event("ADDED", one), event("ADDED", other), event("MODIFIED", body("p", "3"))):
        assert state.event(each) == ()
    assert state.listed == 2
    assert state.event(event("DELETED", body("q", "4"))) == ()
    assert state.event(event("BOOKMARK", body("", "5"))) == ()
    false: Any = {"annotations": {"k8s.io/initial-events-end": "false"}}
    assert state.event(event("BOOKMARK", body("", "5", **false))) == ()
    assert not state.is_synced
    assert state.event(event("BOOKMARK", body("", "6", **END))) == [
        ChangedObject("Add", meta("p", "3"), body("p", "3"), True)
    ]
    assert (state.version, state.next_request()) == ("6", OpenWatch("6"))
    state.failed(410)
    state.next_request()
    assert state.next_request() == OpenWatch("")


def test_a_streamed_list_that_was_cut_has_forgotten_what_came():
    state = ListWatch(seed=1)
    state.next_request()
    state.event(event("ADDED", body("p", "1")))
    assert state.listed == 1
    state.next_request()
    assert state.listed == 0


@pytest.mark.parametrize(
    ("status", "pages"), [(400, True), (406, True), (422, True), (404, False), (500, False)]
)
def test_a_server_that_streams_no_lists_is_read_in_pages(status, pages):
    state = ListWatch(seed=1)
    assert state.falls_back(status) is pages
    state.failed(status)
    expected = GetPage("", 500) if pages else Pause
    found = state.next_request()
    assert found == expected if pages else isinstance(found, Pause)
    assert not ListWatch(seed=1, streams=False).falls_back(status)


def test_pages_that_took_too_long_are_followed_by_the_whole_list_and_then_by_pages():
    state = ListWatch(seed=1, streams=False)
    state.page(page(body("p", "1"), token="t"))
    state.failed(410)
    state.next_request()
    assert (state.next_request(), state.listed) == (GetPage("", 0), 0)
    state.page(page())
    state.failed(410)
    state.next_request()
    assert state.next_request() == GetPage("", PAGE_SIZE)
    # A first page that is refused so is requested as it was.
    state.failed(410)
    state.next_request()
    assert state.next_request() == GetPage("", 500)


def test_an_error_of_a_watch_has_its_status_and_message():
    state = ListWatch(seed=1)
    status = b'{"kind": "Status", "code": 410, "message": "too old"}'
    with pytest.raises(WatchFailed) as failed:
        state.event(event("ERROR", status))
    assert (failed.value.status, str(failed.value)) == (410, "too old")
    with pytest.raises(WatchFailed) as unknown:
        state.event(event("ERROR", b"{}"))
    assert (unknown.value.status, str(unknown.value)) == (0, "")


def test_a_watch_without_an_event_is_followed_by_a_wait_once():
    state = ListWatch(seed=1, streams=False)
    state.page(page())
    state.opened()
    state.ended()
    wait = state.next_request()
    assert isinstance(wait, Pause)
    assert FIRST_NS <= wait.wait_ns < 2 * FIRST_NS
    assert state.next_request() == OpenWatch("9")


def test_keys_have_a_namespace_where_there_is_one():
    assert Meta("n", "").key == "n"
    assert Meta("n", "a").key == "a/n"


def test_waits_double_up_to_the_longest_and_start_again():
    assert (FIRST_NS, LONGEST_NS, PAGE_SIZE) == (800_000_000, 30 * SECOND, 500)
    backoff = Backoff(7)
    shares = Backoff(7, first_ns=SECOND, longest_ns=SECOND)
    jitters = [shares.next_ns() / SECOND for _ in range(14)]
    assert all(1 <= each < 2 for each in jitters)
    assert len(set(jitters)) == 14
    doubled = [min(FIRST_NS << min(n, 10), LONGEST_NS) for n in range(14)]
    for least, jitter in zip(doubled, jitters, strict=True):
        assert backoff.next_ns() == pytest.approx(least * jitter, abs=32)
    backoff.reset()
    assert FIRST_NS <= backoff.next_ns() < 2 * FIRST_NS
    far = Backoff(1, first_ns=1, longest_ns=SECOND)
    waits = [far.next_ns() for _ in range(20)]
    assert 1024 <= waits[-1] < 2048, "the tenth doubling is the last"


def test_the_wait_is_that_of_the_server_if_it_is_longer():
    state = ListWatch(seed=1, streams=False)
    state.failed(429, retry_after_seconds=12.5)
    assert state.next_request() == Pause(12_500_000_000)
    state.failed(503)
    wait = state.next_request()
    assert isinstance(wait, Pause)
    assert 2 * FIRST_NS <= wait.wait_ns < 4 * FIRST_NS


def test_tokens_are_taken_at_the_rate_after_a_burst():
    assert (PER_SECOND, BURST) == (50.0, 100)
    bucket = TokenBucket(10, 3)
    waits = [bucket.reserve(SECOND) for _ in range(5)]
    assert waits == [0, 0, 0, 100_000_000, 200_000_000]
    assert bucket.reserve(SECOND + 250_000_000) == 50_000_000
    assert [bucket.reserve(9 * SECOND) for _ in range(4)] == [0, 0, 0, 100_000_000]


# ----------------------------------------------------------------------------- reflectors


class Connection:
    """Replies to requests by a list, and notes them."""

    def __init__(self, *replies: Any) -> None:
        self.seen = defaultdict[str, SeenVersion](SeenVersion)
        self.requests: list[Any] = []
        self.replies = list(replies)

    def _next(self, path: str, query: Any) -> Any:
        self.requests.append((path, dict(query)))
        if not self.replies:
            raise asyncio.CancelledError
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def get(self, path: str, query: Any, *, attempts_max: int) -> Any:
        assert attempts_max == 1
        return self._next(path, query)

    @asynccontextmanager
    async def stream(self, path: str, query: Any, *, silence_seconds: float) -> AsyncIterator[Any]:
        assert silence_seconds == 270
        chunks = self._next(path, query)

        async def parts() -> AsyncIterator[bytes]:
            for each in chunks:
                if isinstance(each, Exception):
                    raise each
                yield each

        yield parts()


def run(monkeypatch: pytest.MonkeyPatch, connection: Connection, **options: Any) -> Any:
    """Return a reflector whose replies are read, its batches, pauses and failures."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    failures: list[str] = []
    pages: list[int] = []
    found: Any = connection
    reflector = Reflector(
        found, "/api/v1/pods", {"labelSelector": "a=b"}, on_page=pages.append,
        on_failure=lambda error: failures.append(str(error)), **options,
    )  # fmt: skip
    batches: list[Batch] = []

    async def follow() -> None:
        async for batch in reflector.batches():
            batches.append(batch)  # noqa: PERF401 - what was read is compared after an end

    monkeypatch.setattr("podwright.online.client.cluster.reflector.asyncio.sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(follow())
    monkeypatch.undo()
    return reflector, batches, pauses, failures, pages


def text(kind: str, content: bytes) -> bytes:
    return b'{"type": "%s", "object": %s}\n' % (kind.encode(), content)


BASE = {"labelSelector": "a=b"}
WATCH = {**BASE, "watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "240"}


def test_a_reflector_streams_a_list_and_watches(monkeypatch):
    lines = text("ADDED", body("p", "1")) + text("BOOKMARK", body("", "2", **END))
    later = text("ADDED", body("q", "3"))
    connection = Connection([lines[:20], lines[20:], b"\n", later], [])
    reflector, batches, pauses, failures, pages = run(monkeypatch, connection)
    assert WATCH_SECONDS == 240
    first = {**WATCH, "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    assert connection.requests == [
        ("/api/v1/pods", first), ("/api/v1/pods", {**WATCH, "resourceVersion": "3"}),
        ("/api/v1/pods", {**WATCH, "resourceVersion": "3"}),
    ]  # fmt: skip
    assert [[(each.event, each.meta.name) for each in batch.changes] for batch in batches] == [
        [("Add", "p")], [("Add", "q")]
    ]  # fmt: skip
    assert [batch.is_synced for batch in batches] == [True, True]
    assert (failures, reflector.failures, reflector.behind_since) == ([], 0, None)
    assert len(pauses) == 1, "after a watch that ended at once"
    assert reflector.state.watches == 2
    assert pages == []


def test_a_reflector_reads_pages(monkeypatch):
    def encoded(*bodies: bytes, token: str = "", remaining: int = 0) -> bytes:
        head = {"resourceVersion": "9", "continue": token, "remainingItemCount": remaining}
        return b'{"metadata": %s, "items": [%s]}' % (json.dumps(head).encode(), b",".join(bodies))

    connection = Connection(
        encoded(body("p", "1"), token="t", remaining=7), encoded(body("q", "2"))
    )  # fmt: skip
    reflector, batches, pauses, failures, pages = run(monkeypatch, connection, streams=False)
    assert connection.requests == [
        ("/api/v1/pods", {**BASE, "limit": "500"}),
        ("/api/v1/pods", {**BASE, "limit": "500", "continue": "t"}),
        ("/api/v1/pods", {**WATCH, "resourceVersion": "9"}),
    ]
    assert [[each.meta.name for each in batch.changes] for batch in batches] == [["p", "q"]]
    assert (pages, failures, pauses) == ([7, 0], [], [])
    assert reflector.behind_since is None


@pytest.mark.parametrize("streams", [True, False])
def test_a_batch_says_when_its_bytes_arrived(monkeypatch, streams):
    end, later = text("BOOKMARK", body("", "2", **END)), text("ADDED", body("q", "3"))
    page = b'{"metadata": {"resourceVersion": "2"}, "items": [%s]}' % body("p", "1")
    first = [[text("ADDED", body("p", "1")), end, later]] if streams else [page, [later]]
    times = iter(range(100, 200))
    monkeypatch.setattr(
        "podwright.online.client.cluster.reflector.time.monotonic_ns", lambda: next(times)
    )
    _, batches, *_ = run(monkeypatch, Connection(*first), streams=streams)
    assert [batch.received_ns for batch in batches] == ([101, 102] if streams else [100, 101])


def test_an_empty_list_is_a_batch(monkeypatch):
    connection = Connection([text("BOOKMARK", body("", "2", **END))])
    _, batches, *_ = run(monkeypatch, connection)
    assert [(list(batch.changes), batch.is_synced) for batch in batches] == [([], True)]


def test_failures_are_counted_and_repeated_after_waits(monkeypatch):
    connection = Connection(
        [text("BOOKMARK", body("", "2", **END))],
        UnreachableCluster("down"),
        RejectedRequest("busy", status=429, retry_after_seconds=40),
        b'{"metadata": {"resourceVersion": "2"}}',  # the version is checked
        [text("ERROR", b'{"code": 410, "message": "too old"}')],
        [text("ADDED", body("p", "1"))],
        [UnreachableCluster("cut")],
    )
    reflector, batches, pauses, failures, _ = run(monkeypatch, connection)
    # A later list that ends early is requested again at once.
    assert failures == ["down", "busy", "too old", "cut"]
    assert reflector.failures == 4
    assert pauses[1] == 40
    assert len(pauses) == 4
    assert [list(batch.changes) for batch in batches] == [[], []]
    assert reflector.behind_since is not None
    versions = [query.get("resourceVersion") for _, query in connection.requests]
    assert versions == [None, "2", None, None, "2", None, None, None]
    assert [query.get("limit") for _, query in connection.requests[2:5]] == ["1", "1", None]


def test_a_first_list_that_is_cut_is_a_failure(monkeypatch):
    connection = Connection(
        [text("ADDED", body("p", "1"))], [text("BOOKMARK", body("", "2", **END))]
    )
    _, batches, pauses, failures, _ = run(monkeypatch, connection)
    assert failures == ["the watch ended before it had listed all objects"]
    assert len(pauses) == 1
    assert [list(batch.changes) for batch in batches] == [[]]


@pytest.mark.parametrize(
    ("error", "gives_up"),
    [
        (RejectedRequest("no", status=400), False),
        (RejectedRequest("no", status=401), False),
        (RejectedRequest("no", status=403), False),
        (RejectedRequest("no", status=404), False),
        (RejectedRequest("no", status=405), False),
        (UnreachableCluster("no"), True),
    ],
)
def test_what_no_later_attempt_changes_ends_the_first_list(error, gives_up):
    connection: Any = Connection(error)
    reflector = Reflector(connection, "/x", streams=False, gives_up=gives_up)

    async def first() -> None:
        async for _ in reflector.batches():
            pass

    with pytest.raises(type(error)):
        asyncio.run(first())
    assert reflector.failures == 0


def test_a_list_without_objects_may_be_null():
    state = ListWatch(seed=1, streams=False)
    empty = b'{"metadata": {"resourceVersion": "3"}, "items": null}'
    assert state.page(msgspec.json.decode(empty, type=Page)) == []
    assert (state.is_synced, state.version) == (True, "3")


def test_a_list_whose_pages_took_too_long_is_read_at_once(monkeypatch):
    connection = Connection(
        b'{"metadata": {"resourceVersion": "1", "continue": "t"}}',
        RejectedRequest("too old", status=410),
        b'{"metadata": {"resourceVersion": "2"}}',
    )
    run(monkeypatch, connection, streams=False)
    assert [query for _, query in connection.requests[:3]] == [
        {**BASE, "limit": "500"}, {**BASE, "limit": "500", "continue": "t"}, BASE
    ]  # fmt: skip

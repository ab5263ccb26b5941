"""The state machine of a list and its watch, against a collection with a history."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.properties.effort import effort

from podwright.online.client.cluster.list_watch import (
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

END = {"annotations": {"k8s.io/initial-events-end": "true"}}


class Server:
    """A collection of an API server: its events, and its objects at each version."""

    def __init__(self) -> None:
        self.version = 1
        self.oldest = 0
        self.events: list[tuple[int, str, dict[str, Any]]] = []
        self.states: dict[int, dict[str, dict[str, Any]]] = {1: {}}

    @property
    def objects(self) -> dict[str, dict[str, Any]]:
        return self.states[self.version]

    def put(self, name: str) -> None:
        known = self.objects.get(name)
        uid = known["metadata"]["uid"] if known else f"u{self.version}"
        obj = object_of(name, uid, self.version + 1)
        self._write("MODIFIED" if known else "ADDED", obj, {**self.objects, name: obj})

    def drop(self, name: str) -> None:
        if name in self.objects:
            gone = object_of(name, self.objects[name]["metadata"]["uid"], self.version + 1)
            rest = {k: v for k, v in self.objects.items() if k != name}
            self._write("DELETED", gone, rest)

    def _write(self, kind: str, obj: dict[str, Any], objects: dict[str, dict[str, Any]]) -> None:
        self.version += 1
        self.states[self.version] = objects
        self.events.append((self.version, kind, obj))

    def page(self, request: GetPage) -> Page | None:
        """Return a page of the state in which the list began; None if it is forgotten."""
        began, _, start = request.token.partition(" ")
        version = int(began or self.version)
        if request.token and version < self.oldest:
            return None
        names = sorted(self.states[version])
        begin = names.index(start) if start else 0
        end = begin + request.limit if request.limit else len(names)
        token = f"{version} {names[end]}" if end < len(names) else ""
        items = [self.states[version][name] for name in names[begin:end]]
        return page_of(items, version, token=token, remaining=len(names[end:]))


def object_of(name: str, uid: str = "u", version: int = 1, **metadata: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": meta | metadata}


def page_of(items, version=1, *, token="", remaining=None) -> Page:
    head = {"resourceVersion": str(version), "continue": token, "remainingItemCount": remaining}
    return msgspec.json.decode(json.dumps({"metadata": head, "items": items}), type=Page)


def event(kind: str, obj: dict[str, Any]) -> WatchEvent:
    return msgspec.json.decode(json.dumps({"type": kind, "object": obj}), type=WatchEvent)


def bookmark(version: int, **metadata: Any) -> WatchEvent:
    return event("BOOKMARK", {"metadata": {"resourceVersion": str(version)} | metadata})


class Copy:
    """What the changes make of an empty copy, by name: uid and version."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[str, int]] = {}

    def take(self, changes) -> None:
        for change in changes:
            name, uid = change.meta.name, change.meta.uid
            if change.event == "Delete":
                assert self.objects.pop(name)[0] == uid
                continue
            body = json.loads(change.body)["metadata"]
            assert (body["name"], body["uid"]) == (name, uid)
            assert (name in self.objects) is (change.event == "Update"), "missed or doubled"
            found = (uid, int(body["resourceVersion"]))
            assert self.objects.get(name, (uid, 0))[0] == uid
            assert found >= self.objects.get(name, found), "an object goes back in time"
            self.objects[name] = found


def paused_ns(state: ListWatch) -> int:
    request = state.next_request()
    assert isinstance(request, Pause)
    return request.wait_ns


NAMES = st.sampled_from("abcd")


class ListWatches(RuleBasedStateMachine):
    """A server that drops connections, delays and doubles events, and forgets versions.

    Once quiet, the copy equals the collection; on the way it never has an object twice, never
    deletes what it does not have, and never shows a part of a list.
    """

    @initialize(streams=st.booleans(), has_streams=st.booleans(), size=st.integers(1, 4))
    def start(self, streams: bool, has_streams: bool, size: int) -> None:
        self.server, self.copy = Server(), Copy()
        self.state = ListWatch(seed=1, streams=streams, page_size=size)
        self.has_streams = has_streams
        # Of the open connection: what follows, each with its version; None without one.
        self.sent = 0
        self.initial: list[WatchEvent] | None = None
        self.is_open = False
        self.last: WatchEvent | None = None

    @rule(name=NAMES)
    def put(self, name: str) -> None:
        self.server.put(name)

    @rule(name=NAMES)
    def drop(self, name: str) -> None:
        self.server.drop(name)

    @rule(name=NAMES)
    def replace(self, name: str) -> None:
        self.server.drop(name)
        self.server.put(name)

    @rule()
    def compact(self) -> None:
        self.server.oldest = self.server.version

    @precondition(lambda self: not self.is_open)
    @rule()
    def request(self) -> None:
        match self.state.next_request():
            case Pause(wait_ns):
                assert wait_ns > 0
                assert not isinstance(self.state.next_request(), Pause), "a wait is returned once"
            case GetPage() as request:
                page = self.server.page(request)
                if page is None:
                    self.state.failed(410)
                else:
                    self.take(self.state.page(page))
            case OpenWatch("") if not self.has_streams:
                self.state.failed(422)
            case OpenWatch(version):
                self.state.opened()
                self.is_open, self.last = True, None
                self.sent = int(version or self.server.version)
                self.initial = None
                if not version:
                    objects = self.server.objects.values()
                    end = bookmark(self.sent, **END)
                    self.initial = [*(event("ADDED", obj) for obj in objects), end]

    @precondition(lambda self: self.is_open)
    @rule()
    def deliver(self) -> None:
        if self.initial:
            self.last = self.initial.pop(0)
        elif self.sent < self.server.oldest:
            self.expire()
            return
        else:
            due = [each for each in self.server.events if each[0] > self.sent]
            if not due:
                self.last = bookmark(self.server.version)
            else:
                self.sent, kind, obj = due[0]
                self.last = event(kind, obj)
        self.take(self.state.event(self.last))

    @precondition(lambda self: self.is_open and self.last is not None)
    @rule()
    def double(self) -> None:
        assert self.last is not None
        self.take(self.state.event(self.last))

    @precondition(lambda self: self.is_open)
    @rule()
    def expire(self) -> None:
        with pytest.raises(WatchFailed, match="too old") as failed:
            self.state.event(event("ERROR", {"code": 410, "message": "too old"}))
        self.is_open = False
        self.state.failed(failed.value.status)

    @rule(status=st.sampled_from([0, 429, 500]))
    def cut(self, status: int) -> None:
        self.is_open = False
        self.state.failed(status)

    @precondition(lambda self: self.is_open and not self.initial)
    @rule()
    def end(self) -> None:
        self.is_open = False
        self.state.ended()

    def take(self, changes) -> None:
        if not self.state.is_watching:
            assert not changes, "a part of a list"
        self.copy.take(changes)

    @invariant()
    def the_index_is_the_copy(self) -> None:
        if hasattr(self, "state"):
            assert len(self.state) == len(self.copy.objects)

    def teardown(self) -> None:
        if not hasattr(self, "state"):
            return
        for _ in range(200):
            self.deliver() if self.is_open else self.request()
            if self.is_open and self.state.version == str(self.server.version):
                break
        assert self.state.is_synced
        uids = {name: obj["metadata"] for name, obj in self.server.objects.items()}
        assert self.copy.objects == {
            name: (each["uid"], int(each["resourceVersion"])) for name, each in uids.items()
        }


TestListWatches = ListWatches.TestCase
TestListWatches.settings = effort(100, stateful_step_count=40)


def watching(*names: str, version: int = 1) -> ListWatch:
    """Return the state of a collection that was listed in pages."""
    state = ListWatch(seed=0, streams=False)
    state.page(page_of([object_of(name, f"u-{name}") for name in names], version))
    state.opened()
    return state


def seen(changes) -> list[tuple[str, str, str]]:
    return [(each.event, each.meta.name, each.meta.uid) for each in changes]


def test_an_object_that_was_replaced_while_nothing_was_watched_is_deleted_and_added():
    state = watching("a", "b")
    state.failed(410)
    assert isinstance(state.next_request(), Pause)
    assert state.next_request() == GetPage("", 500)
    same, other = object_of("b", "u-b"), object_of("a", "v", 7)
    changes = state.page(page_of([same, other], 7))
    assert seen(changes) == [("Delete", "a", "u-a"), ("Add", "a", "v")]
    assert [each.body != b"" for each in changes] == [False, True]
    assert not any(each.is_initial for each in changes), "a new object is not of the first list"
    assert state.next_request() == OpenWatch("7")


def test_an_object_of_the_first_list_is_initial_and_a_changed_one_of_a_later_is_updated():
    state = ListWatch(seed=0, streams=False)
    (first,) = state.page(page_of([object_of("a")]))
    assert (first.event, first.is_initial) == ("Add", True)
    state.failed(410)
    (second,) = state.page(page_of([object_of("a", version=2)], 2))
    assert (second.event, second.is_initial) == ("Update", False)
    state.failed(410)
    assert state.page(page_of([object_of("a", version=2)], 3)) == []
    assert state.lists == 3


def test_an_event_of_another_object_under_a_known_name_replaces_it():
    """Its deletion was not delivered."""
    changes = watching("a").event(event("ADDED", object_of("a", "v", 2)))
    assert seen(changes) == [("Delete", "a", "u-a"), ("Add", "a", "v")]


def test_the_deletion_of_an_object_that_is_not_known_is_no_change():
    state = watching("a")
    assert state.event(event("DELETED", object_of("b", version=5))) == ()
    assert state.next_request() == OpenWatch("5")
    (gone,) = state.event(event("DELETED", object_of("a", "u-a", 6)))
    assert (gone.event, json.loads(gone.body)["metadata"]["resourceVersion"]) == ("Delete", "6")
    assert len(state) == 0


def test_a_watch_continues_after_the_last_event_or_bookmark():
    state = watching("a", version=3)
    assert state.next_request() == OpenWatch("3")
    state.event(event("MODIFIED", object_of("a", "u-a", 4)))
    assert state.next_request() == OpenWatch("4")
    assert state.event(bookmark(9)) == ()
    state.failed(500)
    paused_ns(state)
    assert state.next_request() == OpenWatch("9"), "nothing is listed again after a failure"


CHECK = GetPage("", 1)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        pytest.param("4", OpenWatch("4"), id="the same: nothing was changed"),
        pytest.param("10", OpenWatch("4"), id="later, which is no order of texts"),
        pytest.param("x", OpenWatch("4"), id="without an order"),
        pytest.param("3", GetPage("", 500), id="earlier: all objects are listed again"),
    ],
)
def test_a_cut_watch_continues_unless_the_server_has_an_earlier_version(version, expected):
    state = watching("a", version=4)
    state.failed(0)
    paused_ns(state)
    assert (state.next_request(), state.is_watching) == (CHECK, False)
    state.failed(429)
    paused_ns(state)
    assert state.next_request() == CHECK, "a server that is busy is asked again"
    page = page_of([object_of("a", "u-a", 1)], version)
    if isinstance(expected, GetPage):
        with pytest.raises(WatchFailed, match="is 3, after 4 was seen: its state was") as failed:
            state.page(page)
        state.failed(failed.value.status)
        paused_ns(state)
    else:
        assert state.page(page) == ()
    assert state.next_request() == expected
    assert len(state) == 1


def test_the_latest_version_is_the_greatest_number():
    seen = SeenVersion()
    numbers = []
    for version in ("x", "9", "10", "3", ""):
        seen.note(version)
        numbers.append(seen.number)
    assert numbers == [0, 9, 10, 10, 10]


def test_the_versions_of_all_collections_of_a_server_count_until_the_check_is_sent():
    seen = SeenVersion()
    state, other = (ListWatch(seed=0, streams=False, seen=seen) for _ in range(2))
    for each in (state, other):
        each.page(page_of([], 4))
        each.failed(0)
        paused_ns(each)
    assert other.next_request() == CHECK
    other.page(page_of([], 4))
    other.event(bookmark(9))
    assert state.next_request() == CHECK
    other.event(event("ADDED", object_of("a", version=10)))
    assert state.page(page_of([], 9)) == ()
    state.failed(0)
    paused_ns(state)
    assert state.next_request() == CHECK
    with pytest.raises(WatchFailed, match="is 9, after 10 was seen"):
        state.page(page_of([], 9))


def test_after_an_earlier_state_was_listed_its_versions_count():
    """Each collection lists it once, whichever has noticed, and later cuts list nothing again."""
    seen = SeenVersion()
    collections = [ListWatch(seed=0, streams=False, seen=seen) for _ in range(3)]

    def check(state, version):
        state.failed(0)
        paused_ns(state)
        assert state.next_request() == CHECK
        try:
            state.page(page_of([], version))
        except WatchFailed as failure:
            state.failed(failure.status)
            paused_ns(state)
            assert state.next_request() == GetPage("", 500)
            state.page(page_of([], version))
            return str(failure)
        return ""

    for each in collections:
        each.page(page_of([], 9))
    lost = "the state of the server was restored or lost since it was listed"
    first = "the version of the server is 3, after 9 was seen: its state was restored or lost"
    found = [[check(each, version) for each in collections] for version in (3, 4, 5)]
    assert found == [[first, lost, lost], [""] * 3, [""] * 3]
    assert check(collections[0], 2) == first.replace("is 3, after 9", "is 2, after 3")


def test_an_earlier_state_is_compared_with_what_was_seen():
    state = watching("a", "b", version=4)
    state.failed(0)
    paused_ns(state)
    assert state.next_request() == CHECK
    with pytest.raises(WatchFailed):
        state.page(page_of([], 2))
    state.failed(410)
    changes = state.page(page_of([object_of("a", "u-a", 2), object_of("c")], 2))
    assert seen(changes) == [("Delete", "b", "u-b"), ("Update", "a", "u-a"), ("Add", "c", "u")]
    assert state.version == "2"


def test_a_version_that_may_not_be_read_is_not_checked():
    state = watching("a", version=4)
    state.failed(0)
    state.failed(403)
    paused_ns(state)
    assert state.next_request() == OpenWatch("4")
    state.failed(403)
    paused_ns(state)
    assert state.next_request() == OpenWatch("4")


def test_a_check_does_not_shorten_the_next_wait():
    def check(state: ListWatch) -> None:
        state.failed(0)
        paused_ns(state)
        assert state.next_request() == CHECK
        state.page(page_of([]))

    assert restored(check) > 1_600_000_000


def test_what_is_deleted_while_a_list_is_streamed_is_not_part_of_it():
    state = ListWatch(seed=0)
    assert state.next_request() == OpenWatch("")
    state.opened()
    for each in (event("ADDED", object_of("a")), event("ADDED", object_of("b"))):
        assert state.event(each) == ()
    assert state.listed == 2
    assert state.event(event("DELETED", object_of("a"))) == ()
    assert state.event(bookmark(3)) == (), "not the end of the list"
    assert not state.is_synced
    changes = state.event(bookmark(4, **END))
    assert [(each.meta.name, each.is_initial) for each in changes] == [("b", True)]
    assert state.next_request() == OpenWatch("4")


def test_a_streamed_list_that_was_cut_starts_again():
    state = ListWatch(seed=0)
    state.opened()
    state.event(event("ADDED", object_of("a")))
    state.failed(0)
    paused_ns(state)
    assert state.next_request() == OpenWatch("")
    assert state.listed == 0, "it may be gone by now"


@pytest.mark.parametrize("streams", [True, False])
def test_a_forgotten_version_is_followed_by_a_list_as_the_first_was(streams):
    state = ListWatch(seed=0, streams=streams)
    if streams:
        state.event(bookmark(1, **END))
    else:
        state.page(page_of([]))
    assert (state.is_watching, state.lists) == (True, 1)
    state.failed(410)
    paused_ns(state)
    assert (state.is_watching, state.lists) == (False, 1)
    assert state.next_request() == (OpenWatch("") if streams else GetPage("", 500))


@pytest.mark.parametrize("status", [400, 406, 422])
def test_a_server_without_streams_is_read_in_pages_at_once_and_ever_after(status):
    state = ListWatch(seed=0)
    assert state.falls_back(status)
    state.failed(status)
    assert state.next_request() == GetPage("", 500), "without a wait"
    state.page(page_of([]))
    assert not state.falls_back(status)
    state.failed(410)
    paused_ns(state)
    assert state.next_request() == GetPage("", 500)


def test_pages_continue_and_an_expired_one_is_followed_by_the_whole_list():
    state = ListWatch(seed=0, streams=False, page_size=1)
    assert state.next_request() == GetPage("", 1)
    assert state.page(page_of([object_of("a")], token="t", remaining=2)) == ()
    assert (state.remaining, state.listed, state.lists) == (2, 1, 0)
    assert state.next_request() == GetPage("t", 1)
    state.failed(410)
    paused_ns(state)
    assert state.next_request() == GetPage("", 0)
    assert seen(state.page(page_of([object_of("b")], 2))) == [("Add", "b", "u")]
    assert (state.remaining, state.listed, state.lists) == (0, 0, 1)
    state.failed(410)
    paused_ns(state)
    assert state.next_request() == GetPage("", 1), "the next list has pages again"


def test_a_page_that_fails_otherwise_is_requested_again():
    state = ListWatch(seed=0, streams=False, page_size=1)
    state.page(page_of([object_of("a")], token="t"))
    state.failed(500)
    paused_ns(state)
    assert state.next_request() == GetPage("t", 1)
    assert len(state.page(page_of([object_of("b")]))) == 2


def test_a_watch_that_ends_at_once_is_followed_by_a_wait_and_another_is_not():
    state = watching("a")
    state.ended()
    first_ns = paused_ns(state)
    state.opened()
    state.ended()
    assert paused_ns(state) > first_ns, "the waits double"
    state.opened()
    state.event(event("MODIFIED", object_of("a", "u-a", 2)))
    state.ended()
    assert state.next_request() == OpenWatch("2")
    assert state.watches == 3
    state.opened()
    state.ended()
    assert paused_ns(state), "the events of an earlier watch do not count"


def test_a_watch_that_was_open_for_long_is_opened_again_at_once():
    state = watching("a")
    for _ in range(8):
        state.failed(500)
    paused_ns(state)
    state.opened()
    state.lasted()
    state.failed(0)
    assert not state.has_pause
    assert state.next_request() == GetPage("", 1)
    state.failed(0)
    assert 800_000_000 <= paused_ns(state) <= 1_600_000_000, "the server does not reply"
    state.page(page_of([]))
    state.opened()
    state.lasted()
    state.ended()
    assert state.next_request() == OpenWatch("1"), "also without an event"


def restored(act: Callable[[ListWatch], object]) -> int:
    """Return the wait after a failure that follows many and a success."""
    state = watching("a")
    for _ in range(8):
        state.failed(500)
    act(state)
    state.failed(500)
    return paused_ns(state)


def test_what_the_server_delivers_shortens_the_next_wait():
    assert restored(lambda state: state.event(bookmark(2))) <= 1_600_000_000
    assert restored(lambda state: state.event(event("ADDED", object_of("b")))) <= 1_600_000_000
    assert restored(lambda state: state.page(page_of([]))) <= 1_600_000_000
    assert restored(lambda state: state.opened()) > 1_600_000_000


def test_waits_double_and_are_bounded():
    state = ListWatch(seed=0)
    waits = []
    for _ in range(12):
        state.failed(500)
        waits.append(paused_ns(state))
    for number, wait_ns in enumerate(waits):
        least = min(800_000_000 << number, 30_000_000_000)
        assert least <= wait_ns <= 2 * least
    others = Backoff(1)
    assert waits != [others.next_ns() for _ in waits], "clients do not return at the same time"


@pytest.mark.parametrize(("seconds", "least", "most"), [(9.5, 9.5, 9.5), (0.1, 0.8, 1.6)])
def test_the_wait_is_at_least_what_the_server_demands(seconds, least, most):
    state = ListWatch(seed=0)
    state.failed(429, retry_after_seconds=seconds)
    assert least * 1e9 <= paused_ns(state) <= most * 1e9


def test_annotations_are_not_kept():
    """They may be large, and the index keeps every object."""
    state = watching()
    (added,) = state.event(event("ADDED", object_of("a", annotations={"k": "v"})))
    assert added.meta.annotations == {"k": "v"}
    state.failed(410)
    (gone,) = state.page(page_of([]))
    assert isinstance(gone, ChangedObject)
    assert (gone.event, gone.meta.annotations) == ("Delete", None)


def test_nothing_is_known_of_what_remains_before_a_page():
    assert ListWatch(seed=0).remaining == 0


@pytest.mark.parametrize("arrives_by", ["the first list", "an event", "a later event"])
@pytest.mark.parametrize("goes_by", ["a list", "a successor in the watch"])
def test_a_deletion_that_no_event_shows_has_the_last_metadata_without_annotations(
    arrives_by: str, goes_by: str
) -> None:
    state = ListWatch(seed=0, streams=False)
    notes: Any = {"annotations": {"a": "b"}}
    state.page(page_of([object_of("x", version=2, **notes)] * (arrives_by == "the first list")))
    if arrives_by != "the first list":
        state.event(event("ADDED", object_of("x", version=2, **notes)))
    if arrives_by == "a later event":
        state.event(event("MODIFIED", object_of("x", version=3, **notes)))
    if goes_by == "a list":
        state.failed(410)
        (gone,) = state.page(page_of([], 9))
    else:
        gone, new = state.event(event("ADDED", object_of("x", "v", 9, **notes)))
        assert (new.event, new.meta.uid, new.meta.annotations) == ("Add", "v", {"a": "b"})
    last = "3" if arrives_by == "a later event" else "2"
    assert (gone.event, gone.body) == ("Delete", b"")
    assert gone.meta == Meta(name="x", namespace="ns", uid="u", resource_version=last)

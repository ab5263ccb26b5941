"""The parts of a store by themselves: the window, past states, tokens, errors and watch events."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import nullcontext
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod, labels_as_selector
from podwright.apimachinery.schema import decode
from podwright.cluster.store import (
    EVENT,
    NAMESPACE,
    POD,
    AlreadyExists,
    Expired,
    NotFound,
    group_kind,
    kind_of,
)
from podwright.cluster.store.errors import FutureVersion, InvalidContinue, StoreError
from podwright.cluster.store.history import (
    FreshChange,
    History,
    PastState,
    PastStates,
    WatchEvent,
    change_of,
    event_of,
    with_metadata,
)
from podwright.cluster.store.pages import NEWEST, read_token, token_for
from podwright.cluster.store.query import query_for
from podwright.cluster.store.sorted_keys import Names
from podwright.cluster.store.stored import Mark, WriteTimes
from podwright.cluster.store.watch import event_for

MAP = ("", "ConfigMap")
SECOND = 1_000_000_000


def an_object(
    name: str, version: int = 0, kind: str = "Pod", namespace: str = "a", **labels: str
) -> Any:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    found = decode({"apiVersion": "v1", "kind": kind, "metadata": metadata})
    return with_metadata(found, resource_version=str(version)) if version else found


def a_change(version: int, kind: Any = POD, name: str = "p") -> Any:
    return change_of(version, kind, f"a/{name}", None, an_object(name, version, kind[1]))


def a_history(*kinds: Any, oldest: int = 10, size: int = 100) -> History:
    history = History(oldest)
    for version, kind in enumerate(kinds, oldest + 1):
        history.append(a_change(version, kind), size)
    history.durable = history.current
    return history


def versions(changes: Any) -> list[int]:
    return [each.version for each in changes]


BOTH = (POD, MAP, POD, POD, MAP)
"""The kinds of the versions 11 to 15."""


@pytest.mark.parametrize(
    ("version", "kind", "limit", "expected"),
    [
        (10, None, None, [11, 12, 13, 14, 15]),
        (12, None, None, [13, 14, 15]),
        (12, None, 2, [13, 14]),
        (15, None, None, []),
        (99, None, None, []),
        (10, POD, None, [11, 13, 14]),
        (11, POD, None, [13, 14]),
        (10, POD, 2, [11, 13]),
        (14, POD, None, []),
        (13, MAP, None, [15]),
        (10, EVENT, None, []),
    ],
)
def test_the_changes_after_a_version(version, kind, limit, expected) -> None:
    history = a_history(*BOTH)
    assert versions(history.since(version, kind, limit)) == expected
    assert versions(history.after(version, kind, 15, limit)) == expected
    assert versions(history.after(version, kind, 99, limit)) == expected
    until = [each for each in expected if each <= 13]
    if limit is None:
        assert versions(history.after(version, kind, 13)) == until
        assert history.has_after(version, kind, 13) is bool(until)
        assert history.has_after(version, kind, 15) is bool(expected)
    with pytest.raises(Expired) as caught:
        history.since(9, kind)
    assert (caught.value.requested, caught.value.oldest, caught.value.current) == (9, 10, 15)


def test_the_last_change_of_a_kind() -> None:
    history = a_history(*BOTH)
    assert [history.last_of(kind) for kind in (None, POD, MAP, EVENT)] == [15, 14, 15, 10]
    assert versions(history.until(12)) == [11, 12]
    assert (versions(history.until(10)), versions(history.until(3))) == ([], [])
    assert (len(history), history.size_bytes) == (5, 500)
    with pytest.raises(AssertionError, match="17 after 15"):
        history.append(a_change(17))


def test_discarded_changes_are_gone_whether_they_were_grouped_or_not() -> None:
    for is_grouped in (True, False):
        history = a_history(*BOTH)
        if is_grouped:
            history.last_of(POD)
        history.discard_before(10)
        assert len(history) == 5
        history.discard_before(13)
        assert (history.oldest, history.current, history.durable) == (13, 15, 15)
        assert (len(history), history.size_bytes) == (2, 200)
        assert versions(history.since(13, None)) == [14, 15]
        assert versions(history.since(13, POD)) == [14]
        with pytest.raises(Expired):
            history.since(12, POD)
        history.append(a_change(16), 7)
        assert versions(history.since(13, POD)) == [14, 16]
        assert history.size_bytes == 207
        history.discard_before(16)
        assert (history.last_of(POD), len(history)) == (16, 0)
    young = History(10)
    young.append(a_change(11))
    young.discard_before(11)
    assert young.durable == 11
    with pytest.raises(AssertionError, match="12 is after the current version 11"):
        young.discard_before(12)


def test_the_oldest_version_within_a_size() -> None:
    history = a_history(*BOTH)
    found = [history.version_within(size) for size in (500, 499, 400, 399, 100, 99, 0)]
    assert found == [10, 11, 11, 12, 14, 15, 15]


def test_the_changes_that_may_rest_come_in_parts_and_once() -> None:
    history = a_history(*[POD] * 10)
    history.durable = 18
    assert versions(history.to_rest(3, 2)) == [11, 12]
    assert versions(history.to_rest(3, 2)) == [13, 14]
    assert versions(history.to_rest(3, 9)) == [15]
    assert versions(history.to_rest(3, 9)) == []
    history.durable = 20
    assert versions(history.to_rest(3, 9)) == [16, 17]
    history.discard_before(19)
    assert versions(history.to_rest(0, 9)) == [20]


def test_a_replaced_change_is_found_by_its_version_and_its_kind() -> None:
    history = a_history(*BOTH)
    other = a_change(13, name="other")
    history.replace(other)
    assert history.since(12, POD)[0] is other is history.since(12, None)[0]
    history.append(a_change(16))
    late = a_change(16, name="late")
    history.replace(late)
    assert history.since(15, POD)[0] is late
    again = a_change(11, name="again")
    history.replace(again)
    assert history.since(10, POD)[0] is again is history.since(10, None)[0]


# ---------------------------------------------------------------------------- past states


def test_what_changed_since_a_version_is_as_it_was() -> None:
    old, new = an_object("old", 5), an_object("old", 12)
    past = PastState(10)
    past.take_up(
        [
            change_of(11, POD, "a/new", None, an_object("new", 11)),
            change_of(12, POD, "a/old", old, new),
            change_of(13, POD, "a/old", new, an_object("old", 13)),
            change_of(14, POD, "b/gone", an_object("gone", 3, namespace="b"), None),
        ],
        15,
    )
    assert past.until == 15
    assert past.before == {"a/new": None, "a/old": old, "b/gone": past.before["b/gone"]}

    def keys(current: str, after: str | None = None, namespace: str | None = None) -> str:
        return " ".join(past.keys(iter(current.split()), after, namespace))

    assert keys("a/m a/new a/old") == "a/m a/old b/gone"
    assert keys("a/new a/old", "a/m") == "a/old b/gone"
    assert keys("a/new a/old", None, "a") == "a/old"
    assert keys("", "b/a", "b") == "b/gone"
    assert keys("", "b/gone", "b") == ""


@pytest.mark.parametrize(
    ("after", "namespace", "expected"),
    [("a/a", None, 0), ("a/a", "a", 0), ("a/n", None, 0), ("a/h", None, -1), ("a/h", "a", -1),
     ("a/a", "b", 0), ("b/h", None, 1),
     ("b/h", "b", 1), ("z", None, 0)],
)  # fmt: skip
def test_how_many_more_objects_there_were(after, namespace, expected) -> None:
    gone = {"a/g": "a", "b/i": "b"}
    added = {"a/k": "a", "b/b": "b"}
    past = PastState(10)
    past.take_up(
        [
            *(change_of(11, POD, key, an_object(key[2:], 1, namespace=place), None)
              for key, place in gone.items()),
            *(change_of(12, POD, key, None, an_object(key[2:], 12, namespace=place))
              for key, place in added.items()),
            change_of(13, POD, "a/c", None, an_object("c", 13)),
            change_of(14, POD, "a/c", an_object("c", 13), None),
        ],
        15,
    )  # fmt: skip
    now = {key: an_object(key[2:], 12, namespace=place) for key, place in added.items()}
    assert past.count_change(after, namespace, now.get) == expected


# --------------------------------------------------------------------------------- tokens


def encoded(token: Any) -> str:
    return urlsafe_b64encode(json.dumps(token).encode()).rstrip(b"=").decode()


def a_token(start: str, version: Any = 7, form: str = "meta.k8s.io/v1") -> str:
    return encoded({"v": form, "rv": version, "start": start})


def test_a_token_is_that_of_upstream_and_is_read_again() -> None:
    token = token_for(12, "shop/web")
    padded = token + "=" * (-len(token) % 4)
    assert json.loads(urlsafe_b64decode(padded)) == {
        "v": "meta.k8s.io/v1", "rv": 12, "start": "shop/web\0",
    }  # fmt: skip
    assert "=" not in token
    assert read_token(token) == (12, "shop/web")
    assert NEWEST == -1
    assert read_token(a_token("shop/web\0", -1)) == (-1, "shop/web")
    assert read_token(a_token("/shop/web\0")) == (7, "/shop/web")
    # A key that no page ended with: the page begins with it.
    assert read_token(a_token("shop/web")) == (7, "shop/wea\U0010ffff")
    for length in range(1, 9):
        assert read_token(token_for(1, "x" * length)) == (1, "x" * length)


WRONG = "continue key is not valid: "


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("a", f"{WRONG}Invalid base64-encoded string: number of data characters (1) cannot be 1"
              " more than a multiple of 4"),
        ("ä", f"{WRONG}'ascii' codec can't encode character '\\xe4' in position 0: ordinal not in"
              " range(128)"),
        (a_token("x", form="v0"), f"{WRONG}server does not recognize this encoded version v0"),
        (encoded({}), f"{WRONG}server does not recognize this encoded version "),
        (a_token("x", 0),
         f"{WRONG}incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        (a_token("x", -2),
         f"{WRONG}incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        (a_token(""), f"{WRONG}encoded start key empty (version meta.k8s.io/v1)"),
        (a_token("a/../b"), f"{WRONG}a/../b"),
        (a_token("./b"), f"{WRONG}./b"),
        (a_token("a/.."), f"{WRONG}a/.."),
        (a_token("a//b"), f"{WRONG}a//b"),
        (a_token("a/"), f"{WRONG}a/"),
        (a_token("x", "7"), f"{WRONG}Expected `int`, got `str` - at `$.rv`"),
    ],
)  # fmt: skip
def test_a_wrong_token_says_what_is_wrong(token, message) -> None:
    with pytest.raises(InvalidContinue, match=f"^{re.escape(message)}$"):
        read_token(token)


@pytest.mark.parametrize("start", ["..a", "a/.b", "...", "a/b.."])
def test_dots_in_names_are_no_wrong_paths(start) -> None:
    assert read_token(a_token(f"{start}\0")) == (7, start)


# --------------------------------------------------------------------------------- errors


def test_errors_have_a_message_and_the_values_of_the_api() -> None:
    found: list[Any] = [
        NotFound(POD, "a/p"),
        AlreadyExists(POD, "a/p", is_terminating=False),
        AlreadyExists(POD, "a/p", is_terminating=True),
        Expired(3, oldest=5, current=9, continue_token="next"),
        FutureVersion(12, current=9),
    ]
    assert [str(each) for each in found] == [
        "Pod a/p: not found",
        "Pod a/p: already exists",
        "Pod a/p: already exists, and is being deleted",
        "too old resource version: 3 (history goes back to 5, the newest is 9); list again",
        "too large resource version: 12, current: 9",
    ]
    assert all(isinstance(each, StoreError) for each in found)
    assert [(each.kind, each.key) for each in found[:3]] == [(POD, "a/p")] * 3
    assert [each.is_terminating for each in found[1:3]] == [False, True]
    expired, future = found[3:]
    assert (expired.requested, expired.oldest, expired.current, expired.continue_token) == (
        3, 5, 9, "next",
    )  # fmt: skip
    assert Expired(3, oldest=5, current=9).continue_token == ""
    assert (future.requested, future.current) == (12, 9)


def test_kinds_are_a_group_and_a_name() -> None:
    assert (NAMESPACE, POD, EVENT) == (("", "Namespace"), ("", "Pod"), ("", "Event"))
    assert group_kind(Pod) == group_kind(Pod) == POD
    assert group_kind(("x", "Y")) == ("x", "Y")
    assert kind_of(an_object("p")) == POD
    custom = decode({"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "b"}})
    assert kind_of(custom) == ("example.com", "Box")
    node = decode({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    assert kind_of(node) == ("", "Node")

    class OwnPod(Pod, frozen=True):
        """A class of which no object was seen."""

    assert [kind_of(OwnPod()), kind_of(OwnPod())] == [POD, POD]


# ---------------------------------------------------------------------------------- watches

WEB, DB = {"app": "web"}, {"app": "db"}


def state(labels: Any, version: int) -> Any:
    return None if labels is None else an_object("p", version, **labels)


@pytest.mark.parametrize(
    ("before", "after", "event"),
    [
        pytest.param(None, WEB, "ADDED", id="created"),
        pytest.param(WEB, WEB, "MODIFIED", id="changed"),
        pytest.param(WEB, None, "DELETED", id="removed"),
        pytest.param(DB, WEB, "ADDED", id="it starts to match"),
        pytest.param(WEB, DB, "DELETED", id="it stops to match"),
        pytest.param(None, DB, None, id="another one created"),
        pytest.param(DB, DB, None, id="another one changed"),
        pytest.param(DB, None, None, id="another one removed"),
    ],
)
def test_the_event_of_a_change_for_a_query(before, after, event) -> None:
    change = change_of(9, POD, "a/p", state(before, 4), state(after, 9))
    query = query_for(POD, labels=labels_as_selector(WEB))
    found = event_for(change, query)
    if event is None:
        assert found is None
        return
    assert found is not None
    assert (found.type, found.resource_version, found.ends_initial) == (event, 9, False)
    assert found.object is not None
    assert found.object.metadata.resource_version == "9"
    shown = WEB if event == "DELETED" else after
    assert found.object.metadata.labels == shown
    has_old = event != "ADDED"
    assert (found.old is change.old) if has_old else (found.old is None)


def test_a_change_knows_what_it_replaces() -> None:
    old, new = an_object("p", 4), an_object("p", 9)
    created, updated, removed = (
        change_of(9, POD, "a/p", None, new), change_of(9, POD, "a/p", old, new),
        change_of(9, POD, "a/p", old, None),
    )  # fmt: skip
    assert [each.previous for each in (created, updated, removed)] == [0, 4, 4]
    assert [each.is_removal for each in (created, updated, removed)] == [False, False, True]
    assert updated == FreshChange(9, POD, "a/p", old, new, new)
    assert (removed.object.metadata.resource_version, removed.object.raw["metadata"]) == (
        "9", old.raw["metadata"] | {"resourceVersion": "9"},
    )  # fmt: skip
    assert [event_of(each) for each in (created, updated, removed)] == [
        WatchEvent("ADDED", 9, new),
        WatchEvent("MODIFIED", 9, new, old),
        WatchEvent("DELETED", 9, removed.object, old),
    ]
    with pytest.raises(AssertionError, match="Pod a/p: neither before nor after version 9"):
        change_of(9, POD, "a/p", None, None)


# ------------------------------------------------------------------------ times and names


def test_when_versions_were_written() -> None:
    times = WriteTimes(10 * SECOND)
    assert (times.newest, times.time_of(1), times.trim()) == (None, None, 0)
    assert times.last_written_before(99 * SECOND) == 0
    assert times.note(3, 20 * SECOND) == Mark(3, 20 * SECOND)
    assert times.note(4, 21 * SECOND - 1) is None
    assert times.note(5, 21 * SECOND) == Mark(5, 21 * SECOND)
    assert times.next_mark_ns == 22 * SECOND
    assert times.newest == Mark(5, 21 * SECOND)
    found = [times.time_of(version) for version in (3, 4, 5, 6, 99)]
    assert found == [None, 20 * SECOND, 20 * SECOND, 21 * SECOND, 21 * SECOND]
    before = [times.last_written_before(at) for at in (
        21 * SECOND - 1, 21 * SECOND, 22 * SECOND - 1, 22 * SECOND, 99 * SECOND)]  # fmt: skip
    assert before == [0, 5, 5, 5, 5]
    assert times.note(7, 30 * SECOND) == Mark(7, 30 * SECOND)
    assert times.newest == Mark(7, 30 * SECOND)
    assert times.trim() == 20 * SECOND
    times.note(8, 31 * SECOND)
    assert times.trim() == 21 * SECOND
    assert times.time_of(5) is None
    times.validate()
    other = WriteTimes(10 * SECOND)
    other.restore([Mark(7, 30 * SECOND), Mark(8, 31 * SECOND)])
    assert (other.next_mark_ns, other.time_of(8)) == (32 * SECOND, 30 * SECOND)


@pytest.mark.parametrize(
    ("marks", "is_wrong"),
    [
        ([(1, 1), (1, 2)], False),
        ([(1, 1), (2, 2), (3, 3)], False),
        ([(2, 1), (1, 2)], True),
        ([(1, 2), (2, 1)], True),
        ([(1, 1), (2, 1)], True),
        ([(1, 1), (3, 2), (2, 3)], True),
    ],
)
def test_marks_are_in_the_order_of_versions_and_of_times(marks, is_wrong) -> None:
    times = WriteTimes(10 * SECOND)
    times.restore([Mark(version, seconds * SECOND) for version, seconds in marks])
    with pytest.raises(AssertionError) if is_wrong else nullcontext():
        times.validate()


def test_names_are_in_the_order_of_whole_keys() -> None:
    names = Names({"a/x": 1, "a-b/y": 2, "n": 3, "a/b": 4, "m": 5})
    everything = ["m", "n", "a-b/y", "a/b", "a/x"]
    assert [key for key, _ in names.items()] == everything
    assert list(names.after(None, None)) == everything
    assert list(names.after("a-b/y", None)) == ["m", "n", "a/b", "a/x"]
    assert list(names.after("a/b", None)) == ["m", "n", "a/x"]
    assert list(names.after("a/b", "a")) == ["a/x"]
    assert list(names.after(None, "none")) == []
    assert (names.count(None), names.count("a"), names.count("none")) == (5, 2, 0)
    assert (names.count_after("a/b", "a"), names.count_after("a-b/y", "a-b")) == (1, 0)
    assert list(names.of("a")) == ["a/b", "a/x"]
    assert set(names.namespaces) == {"", "a", "a-b"}
    assert [names.version_of(key) for key in ("a/x", "n", "a/y", "z/x")] == [1, 3, None, None]
    names.set_version("a/x", 9)
    names.add("a/b")
    assert [names.version_of(key) for key in ("a/x", "a/b")] == [9, 0]
    names.remove("a-b/y")
    names.add("c/z")
    assert set(names.namespaces) == {"", "a", "c"}


def test_sixteen_past_states_are_kept_those_that_were_used_last() -> None:
    states, pod = PastStates(), ("", "Pod")
    made = [states.find(pod, version) for version in range(16)]
    assert states.find(pod, 0) is made[0]
    assert states.find(("", "Node"), 0) is not made[0]
    # The one that was not used for the longest time is gone.
    assert states.find(pod, 1) is not made[1]
    assert [states.find(pod, version) is made[version] for version in (0, 15, 3)] == [True] * 3
    states.discard_before(15)
    assert states.find(pod, 15) is made[15]
    assert states.find(pod, 3) is not made[3]

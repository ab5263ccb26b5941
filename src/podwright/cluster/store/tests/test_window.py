"""The window of changes by number, age and size, before and after a restart."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from podwright.apimachinery.objects import Pod
from podwright.cluster.api.tests.writable import open_writable
from podwright.cluster.store import LARGE_BYTES, Expired, change_of
from podwright.cluster.store.history import History
from podwright.cluster.store.stored import Mark, WriteTimes
from podwright.cluster.store.tests.documents import (
    CONFIG_MAP,
    NOW,
    SECOND,
    a_config_map,
    a_pod,
    names,
)


def write(store, second, name):
    store.advance(NOW + second * SECOND)
    store.create(a_config_map(name), NOW)


def test_changes_are_kept_for_their_time_and_then_discarded(make):
    store = make(window_ns=10 * SECOND, window=1_000)
    for second in range(31):
        write(store, second, f"c{second}")
    # The changes of the seconds 20 to 30 are there, and that of 19 may not be.
    assert store.oldest_version == 1 + 20
    assert len(store.watch(since=21).poll()) == 11
    with pytest.raises(Expired):
        store.watch(since=20)


def test_all_changes_of_a_second_are_kept(make):
    store = make(window_ns=SECOND, window=1_000)
    for second in (0, 5):
        for number in range(20):
            write(store, second, f"c{second}-{number}")
    assert store.oldest_version == 21
    assert len(store.watch(since=21).poll()) == 20


def test_a_store_without_times_keeps_a_number_of_changes(make):
    store = make(window_ns=1, window=20)
    for number in range(40):
        store.create(a_config_map(f"c{number}"), NOW)
    assert 20 <= store.resource_version - store.oldest_version <= 25
    assert store.time_of(store.resource_version) is None


def test_the_size_of_the_window_is_bounded(make):
    store = make(window_bytes=100_000)
    for number in range(50):
        store.create(a_config_map(f"c{number}", data={"text": "x" * 10_000}), NOW)
    # Each change has 10 KB.
    assert 8 <= store.resource_version - store.oldest_version <= 10
    assert len(store.list(CONFIG_MAP).objects) == 50


@pytest.mark.parametrize(("more_bytes", "discarded"), [(0, 0), (1, 0), (-1, 1)])
def test_a_window_that_is_exactly_full_discards_nothing(make, more_bytes, discarded):
    def filled(window_bytes):
        store = make(window_bytes=window_bytes)
        for number in range(20):
            store.create(a_config_map(f"c{number:02}", data={"text": "x" * 1_000}), NOW)
        return store

    size_bytes = filled(1 << 30)._history.size_bytes
    store = filled(size_bytes + more_bytes)
    # A sixteenth less than the window, rounded to whole changes: at least two of twenty.
    assert store.oldest_version == (1 if not discarded else 3)


def test_no_write_discards_more_than_the_size_requires(make):
    store = make(window_bytes=100_000)
    kept = []
    for number in range(50):
        store.create(a_config_map(f"c{number}", data={"text": "x" * 10_000}), NOW)
        kept.append(store.resource_version - store.oldest_version)
    assert kept[:9] == list(range(1, 10))
    assert 8 <= min(kept[9:]) <= max(kept[9:]) <= 10


def test_a_commit_discards_a_bounded_number_of_changes(make):
    store = make(window=100_000, window_ns=10 * SECOND)
    with store.batch():
        store.advance(NOW)
        for number in range(2_500):
            store.create(a_config_map(f"c{number}"), NOW)
    steps = []
    for second in range(20, 24):
        before = store.oldest_version
        write(store, second, f"later{second}")
        steps.append(store.oldest_version - before)
    assert steps == [1_000, 1_000, 500, 0]


def test_times_survive_a_restart(tmp_path):
    path = tmp_path / "store.db"
    options = {"window_ns": 10 * SECOND, "window": 1_000}
    with closing(open_writable(path, **options)) as store:
        for second in range(15):
            write(store, second, f"c{second}")
        oldest = store.oldest_version
    with closing(open_writable(path, **options)) as store:
        assert store.oldest_version == oldest == 5
        assert store.time_of(10) == NOW + 8 * SECOND
        write(store, 20, "c20")
        assert store.oldest_version == 11


def test_a_page_survives_a_restart_and_later_writes(tmp_path):
    path = tmp_path / "store.db"
    with closing(open_writable(path)) as store:
        for number in range(5):
            store.create(a_pod(f"p{number}"), NOW)
        page = store.list(Pod, limit=2)
        store.delete(Pod, "default/p3", NOW, grace_seconds=0)
    with closing(open_writable(path)) as store:
        store.create(a_pod("p35"), NOW)
        rest = store.list(Pod, limit=10, continue_token=page.continue_token)
        assert names(rest) == ["p2", "p3", "p4"]
        assert rest.resource_version == page.resource_version == 6
        assert store.resource_version == 9


def test_a_file_of_format_1_gets_times(tmp_path):
    path = tmp_path / "store.db"
    with closing(open_writable(path)) as store:
        store.create(a_pod("old"), NOW)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DROP TABLE times")
        connection.execute("PRAGMA user_version = 1")
    with closing(open_writable(path)) as store:
        assert store.time_of(2) is None
        write(store, 1, "new")
    with closing(open_writable(path)) as store:
        assert store.time_of(3) == NOW + SECOND


def test_the_times_of_two_hours_are_kept_in_a_file(tmp_path):
    with closing(open_writable(tmp_path / "store.db")) as store:
        for minute, is_known in ((0, True), (60, True), (179, True), (180, False)):
            write(store, minute * 60, f"c{minute}")
            store.compact(store.resource_version)
            assert store.time_of(2) == (NOW if is_known else None), minute


def test_two_times_of_one_version_are_read_again(tmp_path):
    path = tmp_path / "store.db"
    with closing(open_writable(path)) as store:
        write(store, 0, "old")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO times SELECT version, time_ns + 1000000000 FROM times")
    with closing(open_writable(path)) as store:
        assert store.time_of(2) == NOW + SECOND


def test_a_store_without_a_size_limit_measures_nothing(make):
    store = make()
    for number in range(3):
        store.create(a_config_map(f"c{number}"), NOW)
    history = History(1)
    history.append(change_of(2, CONFIG_MAP, "default/c", None, a_config_map("c")))
    assert (store._history.size_bytes, history.size_bytes) == (0, 0)


def test_marks_are_at_least_a_second_apart_and_never_go_back():
    times = WriteTimes(kept_ns=10 * SECOND)
    assert times.time_of(1) is None
    assert times.note(1, 5 * SECOND) == Mark(1, 5 * SECOND)
    assert times.note(2, 5 * SECOND + 1) is None
    assert times.note(3, 4 * SECOND) is None
    assert times.note(4, 6 * SECOND) == Mark(4, 6 * SECOND)
    assert [times.time_of(version) for version in range(1, 6)] == [
        None, 5 * SECOND, 5 * SECOND, 5 * SECOND, 6 * SECOND
    ]  # fmt: skip
    assert times.last_written_before(6 * SECOND) == 4
    assert times.last_written_before(6 * SECOND - 1) == 0


def test_old_marks_are_discarded_but_for_the_one_that_is_in_force():
    times = WriteTimes(kept_ns=10 * SECOND)
    for second in (0, 3, 20, 25):
        times.note(second + 1, second * SECOND)
    assert times.trim() == 3 * SECOND
    assert times.time_of(4) is None
    assert times.time_of(5) == 3 * SECOND


def test_the_json_of_versions_outside_the_window_is_released(make):
    store = make(window_bytes=100_000)
    for number in range(50):
        store.put(a_config_map("c", data={"text": "x" * 10_000 + str(number)}))
    assert len(store.encodings._kept) <= 11
    (last,) = store.list(CONFIG_MAP).objects
    assert id(last.raw) in store.encodings._kept


def test_the_json_of_removed_objects_is_released_with_their_history(make):
    store = make(window_bytes=1 << 30)
    store.put(a_pod("a"))
    store.put(a_pod("b"))
    store.drop(Pod, "default/a")
    assert len(store.encodings._kept) == 3
    store.compact(store.resource_version)
    (last,) = store.list(Pod).objects
    assert list(store.encodings._kept) == [id(last.raw)]


def test_large_objects_are_known_as_long_as_they_are_large(make):
    store = make(window_bytes=1 << 30)
    large, small = {"text": "x" * LARGE_BYTES}, {"text": "x"}
    store.create(a_config_map("small", data=small), NOW)
    assert store.large == {}
    for name in ("a", "b"):
        store.create(a_config_map(name, data=large), NOW)
    assert store.large == {CONFIG_MAP: {"default/a", "default/b"}}
    store.update(a_config_map("a", data=small))
    assert store.large == {CONFIG_MAP: {"default/b"}}
    store.delete(CONFIG_MAP, "default/b", NOW)
    assert store.large == {}


def test_large_objects_are_known_after_a_restart(tmp_path):
    path = tmp_path / "cluster.db"
    with closing(open_writable(path, window_bytes=1 << 30, window=20)) as store:
        store.create(a_config_map("a", data={"text": "x" * LARGE_BYTES}), NOW)
        for number in range(40):
            store.create(a_config_map(f"b{number}"), NOW)
        assert store.oldest_version > 2
    with closing(open_writable(path, window_bytes=1 << 30)) as store:
        assert store.large == {CONFIG_MAP: {"default/a"}}


def test_the_times_of_a_batch_survive_a_restart(tmp_path):
    path = tmp_path / "store.db"
    with closing(open_writable(path)) as store:
        with store.batch():
            for second in (0, 3, 5):
                write(store, second, f"c{second}")
        write(store, 9, "c9")
        times = [store.time_of(version) for version in range(1, 6)]
    with closing(open_writable(path)) as store:
        assert [store.time_of(version) for version in range(1, 6)] == times
    assert times == [None, *(NOW + second * SECOND for second in (0, 3, 5, 9))]


def test_the_time_of_writes_never_goes_back(make):
    store = make()
    for second in (5, 2, 7):
        write(store, second, f"c{second}")
    # The version that was written when the clock had gone back has the time of the last one.
    assert [store.time_of(version) for version in (2, 3, 4)] == [
        NOW + 5 * SECOND, NOW + 5 * SECOND, NOW + 7 * SECOND,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("_times", "_marks", [Mark(3, 2 * SECOND), Mark(2, 3 * SECOND)]),
        ("_history", "oldest", 99),
        ("_history", "durable", 99),
    ],
)
def test_a_store_whose_parts_are_wrong_is_found(make, monkeypatch, part, name, value):
    store = make(window_ns=10 * SECOND, window=1_000)
    for second in (0, 2, 4):
        write(store, second, f"c{second}")
    store.validate()
    with monkeypatch.context() as patch:
        patch.setattr(getattr(store, part), name, value)
        with pytest.raises(AssertionError):
            store.validate()


@pytest.mark.parametrize("version", ["1", "4", "99"])
def test_an_object_whose_document_has_another_version_is_found(make, monkeypatch, version):
    store = make()
    for number in range(3):
        write(store, number, f"c{number}")
    metadata = store.get(CONFIG_MAP, "default/c1").raw["metadata"]
    with monkeypatch.context() as patch:
        patch.setitem(metadata, "resourceVersion", version)
        with pytest.raises(AssertionError, match=f"default/c1: {version} in the document, not 3"):
            store.validate()

"""Durability of a store in a file, and the files that it rejects."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from podwright.apimachinery.objects import Pod, parse_field_selector, parse_label_selector
from podwright.cluster.api.tests.writable import WritableStore, open_writable
from podwright.cluster.store import Expired, UnusableStore, sqlite_store
from podwright.cluster.store.stored import LARGE_BYTES
from podwright.cluster.store.tests.documents import (
    CONFIG_MAP,
    NOW,
    a_config_map,
    a_pod,
    names,
    seen,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def filled(path: Path, **options: Any) -> WritableStore:
    """Return a store with a history of created, updated and deleted objects."""
    store = open_writable(path, **options)
    for number in range(60):
        store.create(a_pod(f"p{number}", metadata={"labels": {"app": f"a{number % 3}"}}), NOW)
    for number in range(0, 60, 2):
        store.bind(f"default/p{number}", f"n{number % 5}", NOW)
    for number in range(0, 60, 5):
        store.delete(Pod, f"default/p{number}", NOW, grace_seconds=0)
    return store


def contents(store: WritableStore) -> Any:
    """Return the observable state of a store."""
    cursor = store.watch(since=store.oldest_version)
    return (
        store.seed,
        store.resource_version,
        store.oldest_version,
        [[obj.raw for obj in store.list(kind).objects] for kind in store.kinds()],
        [
            (event.type, event.resource_version, event.object and event.object.raw, event.old)
            for event in cursor.poll()
        ],
    )


def digest(path: Path) -> dict[str, str]:
    """Return the content of a store's files, without SQLite's shared memory."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(path.parent.iterdir())
        if not file.name.endswith("-shm")
    }


# ---------------------------------------------------------------------------- opening


@pytest.mark.parametrize("compacted", [False, True])
def test_a_reopened_store_has_the_same_state(path, compacted):
    store = filled(path, seed=5)
    if compacted:
        store.compact(store.resource_version - 20)
    before = contents(store)
    store.close()
    again = open_writable(path)
    assert contents(again) == before
    again.validate()
    assert names(again.list(Pod, labels=parse_label_selector("app=a1")))
    assert names(again.list(Pod, fields=parse_field_selector("spec.nodeName=n1")))
    again.close()


def test_versions_continue_after_the_last_one_was_discarded(path):
    store = open_writable(path)
    store.create(a_config_map(), NOW)
    store.delete(CONFIG_MAP, "default/settings", NOW)
    store.compact(store.resource_version)
    store.close()
    with closing(open_writable(path)) as again:
        assert again.resource_version == 3
        assert again.create(a_config_map(), NOW).resource_version == 4


def test_a_watch_continues_after_a_restart(path):
    store = filled(path)
    since = store.resource_version
    store.create(a_config_map(), NOW)
    store.close()
    with closing(open_writable(path)) as again:
        assert seen(again.watch(since=since)) == [("ADDED", "settings", since + 1)]


def test_the_file_keeps_only_the_versions_that_are_needed(path):
    store = open_writable(path, window=20)
    for number in range(200):
        store.put(a_config_map(data={"n": str(number)}))
    assert store.resource_version - store.oldest_version <= 25
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM versions").fetchone()
    assert rows <= 26
    with closing(open_writable(path)) as again, pytest.raises(Expired):
        again.watch(since=2)


def test_other_programs_know_the_file_of_a_store_by_its_header(path):
    filled(path).close()
    # https://www.sqlite.org/fileformat.html: the application id is at the offset 68.
    assert path.read_bytes()[:16] == b"SQLite format 3\0"
    assert path.read_bytes()[68:72] == b"podw"


def test_a_store_keeps_its_seed(path):
    open_writable(path, seed=5).close()
    with closing(open_writable(path)) as again:
        assert again.seed == 5
    with pytest.raises(UnusableStore, match="was created with seed 5, not 6"):
        open_writable(path, seed=6)


@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_file_that_another_process_changes_while_it_is_opened_is_rejected(
    path, monkeypatch, is_compacted
):
    filled(path).close()
    read = sqlite_store._read

    def and_then_write(file):
        saved = read(file)
        monkeypatch.undo()
        with closing(open_writable(file)) as other:
            if is_compacted:
                other.compact(other.resource_version)
            else:
                other.create(a_config_map(), NOW)
        return saved

    monkeypatch.setattr(sqlite_store, "_read", and_then_write)
    with pytest.raises(UnusableStore, match="was written by another process; open it again"):
        open_writable(path)
    with closing(open_writable(path)) as again:  # nothing holds the file
        assert again.count(CONFIG_MAP) == (not is_compacted)


def test_a_file_that_is_opened_by_another_process_while_it_is_read_is_in_use(path, monkeypatch):
    filled(path).close()
    others = []

    def while_another_opens(file, _mode):
        monkeypatch.undo()
        others.append(open_writable(file))
        # Without a log, the file was read as one that does not change.
        raise UnusableStore("a page of a later state")

    monkeypatch.setattr(sqlite_store, "_read_as", while_another_opens)
    with pytest.raises(UnusableStore, match="in use by another process"):
        open_writable(path)
    others[0].close()


def test_a_file_that_another_process_opens_after_it_was_read_is_in_use(path, monkeypatch):
    filled(path).close()
    read, others = sqlite_store._read, []

    def and_then_open(file):
        saved = read(file)
        monkeypatch.undo()
        others.append(open_writable(file))
        return saved

    monkeypatch.setattr(sqlite_store, "_read", and_then_open)
    with pytest.raises(UnusableStore, match="in use by another process"):
        open_writable(path)
    with closing(others[0]) as other:
        other.create(a_config_map(), NOW)
    with closing(open_writable(path)) as again:  # nothing holds the file
        assert again.count(CONFIG_MAP)


@pytest.mark.parametrize("was_enabled", [True, False])
def test_opening_a_store_leaves_garbage_collection_as_it_was(path, was_enabled):
    try:
        (gc.enable if was_enabled else gc.disable)()
        filled(path).close()
        open_writable(path).close()
        assert gc.isenabled() is was_enabled
    finally:
        gc.enable()


def test_no_other_process_can_open_the_file_and_none_waits_for_it(path):
    store = open_writable(path)
    journal: Any = store._journal
    connection = journal._connection
    names = ("locking_mode", "busy_timeout", "journal_mode")
    found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]
    assert found == ["exclusive", 0, "wal"]
    store.close()


def test_a_file_is_not_waited_for_while_it_is_read(path, monkeypatch):
    filled(path).close()
    timeouts = []

    class Watched(sqlite3.Connection):
        def close(self):
            timeouts.extend(self.execute("PRAGMA busy_timeout").fetchone())
            super().close()

    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    open_writable(path).close()
    assert timeouts == [0, 0], "reading, and then writing"


def test_a_damaged_file_with_a_log_is_not_one_in_use(path):
    path.write_bytes(b"garbage" * 1_000)
    path.with_name(f"{path.name}-wal").write_bytes(b"")
    with pytest.raises(UnusableStore) as error:
        open_writable(path)
    assert "in use" not in str(error.value)


def test_a_store_has_one_owner(path):
    store = filled(path)
    with pytest.raises(UnusableStore, match="in use by another process"):
        open_writable(path)
    code = "import sys; from podwright.cluster.store import open_store; open_store(sys.argv[1])"
    refused = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
    )
    assert "in use by another process" in refused.stderr
    store.create(a_config_map(), NOW)
    store.close()
    open_writable(path).close()


def test_a_copy_of_the_process_leaves_the_file_to_the_other(path):
    store = filled(path)
    count = len(store.list(CONFIG_MAP).objects)
    store.leave_file()
    assert len(store.list(CONFIG_MAP).objects) == count
    with pytest.raises(UnusableStore, match="the file of the store is that of another process"):
        store.create(a_config_map("new"), NOW)
    assert len(store.list(CONFIG_MAP).objects) == count
    with pytest.raises(UnusableStore) as refused:
        store._at_rest.texts.read(2)
    assert str(refused.value) == f"{path} is read only by the process that opened it"


def test_a_file_that_another_process_created_meanwhile_is_kept(path):
    filled(path).close()
    before = digest(path)
    sqlite_store._create(path, 7)
    assert digest(path) == before


# ---------------------------------------------------------------------------- errors


def in_sql(*statements: str) -> Callable[[Path], None]:
    def spoil(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    return spoil


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 3] = bytes(4096)
    path.write_bytes(data)


def one_letter(path: Path) -> None:
    data = path.read_bytes()
    assert b"nginx" in data
    path.write_bytes(data.replace(b"nginx", b"nginy", 1))


def no_object(path: Path) -> None:
    """Write a text that is not an object, with its checksum."""
    with closing(sqlite3.connect(path)) as connection:
        *row, _, _ = connection.execute("SELECT * FROM versions WHERE version = 99").fetchone()
        row.append(b"[]")
        written = (*row, sqlite_store._checksum(*row))
        connection.execute("REPLACE INTO versions VALUES (?, ?, ?, ?, ?, ?, ?)", written)
        connection.commit()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        pytest.param(
            in_sql("PRAGMA user_version = 3"),
            "has format 3, and this podwright reads up to 2: use a newer podwright",
            id="newer",
        ),
        pytest.param(in_sql("PRAGMA user_version = 0"), "format 0 does not exist", id="no format"),
        pytest.param(
            in_sql("PRAGMA application_id = 1"), "but not a podwright store", id="another program's"
        ),
        pytest.param(lambda path: path.write_bytes(b""), "is empty: delete it", id="empty"),
        pytest.param(
            lambda path: path.write_text("kind: Pod\n" * 99), "nor any SQLite file", id="text"
        ),
        pytest.param(cut, "is damaged", id="cut in half"),
        pytest.param(overwritten, "is damaged", id="a page of zeros"),
        pytest.param(one_letter, "its checksum is wrong", id="one letter"),
        pytest.param(no_object, "is damaged: version 99: ", id="no object"),
        pytest.param(
            in_sql("UPDATE versions SET kind = 'Node' WHERE version = 9"),
            "version 9: its checksum is wrong",
            id="another kind",
        ),
        pytest.param(
            in_sql("DELETE FROM versions WHERE version = 100"),
            "version 101: it replaces version 100 of Pod default/p20, which is gone",
            id="a version gone from the window",
        ),
        pytest.param(
            in_sql("DELETE FROM versions WHERE version = 3"),
            "59 of 60 objects of version 92 are there",
            id="a version gone from before the window",
        ),
        pytest.param(
            in_sql("DELETE FROM versions WHERE version = 101"),
            "version 101 is missing",
            id="a version gone that no other replaces",
        ),
        pytest.param(
            in_sql("DELETE FROM times", "INSERT INTO times VALUES (5, 1), (3, 2)"),
            "the version 3 of the time 2 is wrong",
            id="times that go back",
        ),
        pytest.param(
            in_sql("DELETE FROM times", "INSERT INTO times VALUES ('x', 1)"),
            "the version 'x' of the time 1 is wrong",
            id="a time without a version",
        ),
        pytest.param(in_sql("DELETE FROM settings"), "its setting seed is missing", id="settings"),
        pytest.param(in_sql("DROP TABLE versions"), "is damaged: no such table", id="no table"),
    ],
)
def test_an_invalid_file_is_rejected_and_stays_unchanged(path, spoil, words):
    store = filled(path)
    store.compact(92)
    store.close()
    spoil(path)
    before = digest(path)
    with pytest.raises(UnusableStore, match=words) as refused:
        open_writable(path)
    assert str(refused.value).startswith(f"{path} ")
    assert digest(path) == before


A, B = b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}', b"{}"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param(
            [(3, 0, "a", A), (4, 0, "a", A)],
            "Pod a has more than one version before 5",
            id="two versions of an object before the window",
        ),
        pytest.param(
            [(3, 0, "a", None)],
            "Pod a has more than one version before 5",
            id="a removal before the window",
        ),
        pytest.param([(6, 0, "a", None)], "it removes Pod a, which is not there", id="a removal"),
        pytest.param(
            [(6, 0, "a", A), (7, 5, "a", A)],
            "it replaces version 5 of Pod a, which is gone",
            id="another version before",
        ),
        pytest.param(
            [(3, 0, "a", A), (6, 0, "a", A)],
            "it replaces version 0 of Pod a, which is gone",
            id="created again without a removal",
        ),
        pytest.param(
            [(6, 0, "a", A), (8, 6, "a", A)], "version 7 is missing", id="a gap in the window"
        ),
    ],
)
def test_rows_that_do_not_follow_from_each_other_are_errors(rows, message):
    reading = sqlite_store._Reading(5)
    for row in rows[:-1]:
        add(reading, "Pod", *row)
    with pytest.raises(ValueError, match=message):
        add(reading, "Pod", *rows[-1])


def add(reading: Any, kind: str, version: int, previous: int, key: str, text: bytes | None) -> None:
    row = (version, previous, "", kind, key, text)
    reading.add((*row, sqlite_store._checksum(*row)))


def test_rows_become_the_objects_the_changes_and_the_large_objects():
    reading: Any = sqlite_store._Reading(5)
    large = b'{"a":"%b"}' % (b"x" * LARGE_BYTES)
    for row in (
        ("Pod", 2, 0, "a", A), ("ConfigMap", 4, 0, "m", large), ("ConfigMap", 6, 0, "n", B),
        ("Pod", 7, 2, "a", None), ("ConfigMap", 8, 4, "m", b"{ }"), ("Pod", 9, 0, "b", large),
        ("ConfigMap", 10, 6, "n", None), ("ConfigMap", 11, 0, "n", large),
    ):  # fmt: skip
        add(reading, *row)
    pod, maps = ("", "Pod"), ("", "ConfigMap")
    size = len(large)
    assert reading.oldest_count == 2
    assert [tuple(each) for each in reading.changes] == [
        (6, maps, "n", 0, False, 2), (7, pod, "a", 2, True, len(A)), (8, maps, "m", 4, False, 3),
        (9, pod, "b", 0, False, size), (10, maps, "n", 6, True, 2), (11, maps, "n", 0, False, size),
    ]  # fmt: skip
    assert reading.large() == {pod: {"b"}, maps: {"n"}}
    assert reading.resting() == {maps: {"m": (8, ()), "n": (11, ())}}
    with pytest.raises(ValueError, match=r"^version 9: "):
        list(reading.objects())


def test_a_new_store_does_not_adopt_the_log_of_a_missing_file(path, tmp_path):
    store = filled(path)
    log = path.with_name("store.db-wal")
    shutil.copy(log, tmp_path / "copy")
    store.close()
    path.unlink()
    shutil.move(tmp_path / "copy", log)
    with pytest.raises(UnusableStore, match=r"is missing but its store\.db-wal is there"):
        open_writable(path)


def test_an_unwritable_path_is_named(tmp_path):
    with pytest.raises(UnusableStore, match="cannot be created"):
        open_writable(tmp_path / "nowhere" / "store.db")
    with pytest.raises(UnusableStore, match=r"is a folder"):
        open_writable(tmp_path)


def test_flipped_bytes_are_detected_or_irrelevant(path):
    store = filled(path)
    store.compact(80)
    before = contents(store)
    store.close()
    good = path.read_bytes()
    draw, refused = Random(7), 0
    for _ in range(150):
        bad = bytearray(good)
        for _ in range(draw.choice([1, 1, 1, 20])):
            bad[draw.randrange(len(bad))] ^= 1 << draw.randrange(8)
        path.write_bytes(bad)
        try:
            again = open_writable(path)
        except UnusableStore:
            refused += 1
            assert path.read_bytes() == bad
        else:
            assert contents(again) == before
            again.close()
        for leftover in path.parent.glob("store.db-*"):
            leftover.unlink()
    assert refused > 50


def test_sqlites_own_check_is_bounded(path, monkeypatch):
    filled(path).close()
    monkeypatch.setattr(sqlite_store, "CHECK_STEPS_MAX", 0)
    monkeypatch.setattr(sqlite_store, "_STEPS_AT_ONCE", 10)
    open_writable(path).close()
    one_letter(path)
    with pytest.raises(UnusableStore, match="checksum"):
        open_writable(path)


def one_free_page_more(path: Path) -> None:
    """Let the header count a free page that is not there: nothing that a store reads."""
    data = bytearray(path.read_bytes())
    data[36:40] = (int.from_bytes(data[36:40], "big") + 1).to_bytes(4, "big")
    path.write_bytes(data)


def test_what_sqlites_own_check_finds_is_named_if_it_comes_to_it(path, monkeypatch):
    filled(path).close()
    one_free_page_more(path)
    with pytest.raises(UnusableStore) as refused:
        open_writable(path)
    left = "; it was left as it is: restore a copy, or use another file"
    message = str(refused.value)
    assert message.startswith(f"{path} is damaged: ")
    assert "reelist" in message
    assert message.endswith(left)
    monkeypatch.setattr(sqlite_store, "CHECK_STEPS_MAX", 0)
    monkeypatch.setattr(sqlite_store, "_STEPS_AT_ONCE", 10)
    open_writable(path).close()


def test_an_error_of_sqlites_own_check_is_not_taken_for_its_limit(path):
    class Unreadable(sqlite3.Connection):
        def execute(self, *_: Any) -> Any:
            raise error

    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR"
    with closing(sqlite3.connect(path, factory=Unreadable)) as connection:
        with pytest.raises(sqlite3.OperationalError) as raised:
            sqlite_store._integrity(connection)
        assert raised.value is error


def test_a_version_that_is_not_there_is_named(path):
    with closing(filled(path)) as store, pytest.raises(UnusableStore) as refused:
        store._at_rest.texts.read(10_000)
    assert str(refused.value) == (
        f"{path} is damaged: version 10000 is missing, or its checksum is wrong; it was left as it"
        " is: restore a copy, or use another file"
    )


# ----------------------------------------------------------------------- failing disks


class FullDisk:
    """A connection to a disk that is full when the test sets it so."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.is_full = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def executemany(self, *arguments: Any) -> Any:
        if self.is_full:
            raise sqlite3.OperationalError("database or disk is full")
        return self._connection.executemany(*arguments)


@pytest.fixture
def disk(path: Path) -> tuple[WritableStore, FullDisk]:
    store = open_writable(path, window=10)
    journal: Any = store._journal
    disk = journal._connection = FullDisk(journal._connection)
    return store, disk


def test_a_write_that_the_disk_rejects_has_no_effect(disk, path):
    store, full = disk
    store.create(a_pod("a"), NOW)
    full.is_full = True
    with pytest.raises(UnusableStore, match=r"store\.db cannot be written: .*full"):
        store.create(a_pod("b"), NOW)
    assert store.get(Pod, "default/b") is None
    full.is_full = False
    store.create(a_pod("c"), NOW)
    before = contents(store)
    store.close()
    with closing(open_writable(path)) as again:
        assert contents(again) == before


def test_a_batch_that_the_disk_rejects_makes_the_store_unusable(disk, path):
    store, full = disk
    store.create(a_pod("a"), NOW)

    def write() -> None:
        with store.batch():
            store.create(a_pod("b"), NOW)
            full.is_full = True

    with pytest.raises(UnusableStore, match="full"):
        write()
    full.is_full = False
    with pytest.raises(UnusableStore, match="open the store again"):
        store.create(a_pod("c"), NOW)
    store.close()
    with closing(open_writable(path)) as again:
        assert names(again.list(Pod)) == ["a"]


def test_a_compaction_that_the_disk_rejects_is_retried_later(disk, path):
    store, full = disk
    for number in range(12):
        store.create(a_pod(f"p{number}"), NOW)
    discard, store._journal.discard = store._journal.discard, _refuse
    store.create(a_pod("p12"), NOW)
    assert store.oldest_version == 1
    store._journal.discard = discard
    store.create(a_pod("p13"), NOW)
    assert store.oldest_version == 5
    assert not full.is_full
    store.close()
    open_writable(path).close()


def _refuse(*_: Any) -> None:
    raise UnusableStore("the disk is full")


# ----------------------------------------------------------------------------- kill -9


WRITER = """
import os, sys
from random import Random
from podwright.apimachinery.schema import decode
from podwright.cluster.api.tests.writable import open_writable
from podwright.cluster.store import NotFound

path, seed, grouped = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "batch"
store, draw = open_writable(path, window=150), Random(seed)

def write():
    name = f"p{draw.randrange(40)}"
    key = f"default/{name}"
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                "data": {"text": "x" * draw.randrange(3000)}}
    try:
        if draw.random() < 0.3:
            stored = store.delete(("", "ConfigMap"), key, 0)
        else:
            stored = store.put(decode(document))
    except NotFound:
        return None
    text = "" if stored.outcome == "deleted" else stored.object.raw["data"]["text"]
    return f"{stored.resource_version} {key} {stored.outcome} {len(text)}"

while True:
    lines = []
    if grouped:
        with store.batch():
            lines = [write() for _ in range(draw.randrange(1, 30))]
    else:
        lines = [write()]
    os.write(1, "".join(f"{line}\\n" for line in lines if line).encode())
"""


def play(path: Path, seed: int, how: str, line_count: int) -> list[str]:
    """Run a process until it has acknowledged some writes, then kill it."""
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(seed), how], stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    lines: list[bytes] = []
    while len(lines) < line_count:
        line = child.stdout.readline()
        assert line, f"the writer ended by itself: {child.wait()}"
        lines.append(line)
    child.send_signal(signal.SIGKILL)
    lines += child.stdout.read().splitlines(keepends=True)  # what was already acknowledged
    child.stdout.close()
    assert child.wait() == -signal.SIGKILL
    return [line.decode() for line in lines if line.endswith(b"\n")]


def survives(path: Path, kills: int, seed: int) -> None:
    """Kill a writer repeatedly and check the store each time."""
    draw, newest = Random(seed), 1
    acknowledged: dict[str, tuple[int, int]] = {}
    for kill in range(kills):
        how = draw.choice(["single", "batch"])
        for line in play(path, draw.randrange(2**30), how, draw.randrange(1, 400)):
            number, key, outcome, length = line.split()
            if outcome != "unchanged":
                assert int(number) > newest, f"kill {kill}: version {number} after {newest}"
                newest = int(number)
            acknowledged[key] = (int(number), -1 if outcome == "deleted" else int(length))
        store = open_writable(path)
        store.validate()
        assert store.resource_version >= newest, f"kill {kill}: {newest} was acknowledged"
        for key, (version, size) in acknowledged.items():
            obj = store.get(CONFIG_MAP, key)
            found = -1 if obj is None else len(obj.raw["data"]["text"])
            is_newer = _changed_after(store, key, version)
            assert found == size or is_newer, f"kill {kill}: {key} has {found}, not {size}"
            if is_newer:  # written, and killed before it was acknowledged
                acknowledged[key] = (store.resource_version, found)
        newest = store.resource_version
        store.close()


def _changed_after(store: WritableStore, key: str, version: int) -> bool:
    cursor = store.watch(CONFIG_MAP, since=max(version, store.oldest_version))
    return any(event.object and event.object.key == key for event in cursor.poll())


def test_acknowledged_writes_survive_a_kill(path):
    survives(path, kills=6, seed=1)


@pytest.mark.slow
def test_acknowledged_writes_survive_fifty_kills(path):
    survives(path, kills=50, seed=2)


def test_a_killed_creation_does_not_block_the_next_one(path):
    path.with_name("store.db.new").write_bytes(b"half a file")
    with closing(filled(path)) as store:
        assert store.count(Pod)
    assert msgspec.json.encode([*digest(path)]) == b'["store.db"]'


def test_what_the_system_does_not_allow_is_no_damage(path):
    """The file is as it should be, and SQLite cannot open what it needs beside it."""
    filled(path).close()
    log = path.with_name("store.db-wal")
    log.mkdir()
    with pytest.raises(UnusableStore) as refused:
        open_writable(path)
    assert str(refused.value).startswith(f"{path} cannot be opened: ")
    log.rmdir()
    open_writable(path).close()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SQLITE_BUSY", "is in use by another process"),
        ("SQLITE_BUSY_RECOVERY", "is in use by another process"),
        ("SQLITE_LOCKED", "is in use by another process"),
        ("SQLITE_NOTADB", "is not a podwright store, nor any SQLite file that can be read"),
        ("SQLITE_CANTOPEN", "cannot be opened: why"),
        ("SQLITE_IOERR_READ", "cannot be opened: why"),
        ("SQLITE_READONLY_RECOVERY", "cannot be opened: why"),
        ("SQLITE_PERM", "cannot be opened: why"),
        ("SQLITE_FULL", "cannot be opened: why"),
        ("SQLITE_NOMEM", "cannot be opened: why"),
        ("SQLITE_AUTH", "cannot be opened: why"),
        ("SQLITE_CORRUPT", "is damaged: why"),
        ("", "is damaged: why"),
    ],
)
def test_an_error_of_sqlite_names_the_remedy(path, name, words):
    """SQLite's errors that no test can bring about have the same table."""
    error = sqlite3.OperationalError("why")
    error.sqlite_errorname = name
    with pytest.raises(UnusableStore) as refused, sqlite_store._translated_errors(path):
        raise error
    assert str(refused.value).startswith(f"{path} {words}")
    assert refused.value.__cause__ is error

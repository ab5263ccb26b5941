"""What a commit to a file waits for, counted at the calls of SQLite to the operating system."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import closing
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_void_p, pointer
from pathlib import Path
from typing import Any

import pytest

from podwright.apimachinery.objects import Pod
from podwright.cluster.api.tests.writable import open_writable
from podwright.cluster.store import open_store
from podwright.cluster.store.tests.documents import NOW, a_config_map, a_pod

_sqlite3 = pytest.importorskip("_sqlite3", exc_type=ImportError)


class Methods(Structure):
    """The beginning of sqlite3_io_methods, which is followed by 15 more functions."""

    _fields_ = (
        ("version", c_int),
        *((name, c_void_p) for name in ("close", "read", "write", "truncate", "sync")),
        ("others", c_void_p * 15),
    )


class File(Structure):
    """sqlite3_file."""

    _fields_ = (("methods", POINTER(Methods)),)


class Vfs(Structure):
    """The beginning of sqlite3_vfs."""

    _fields_ = (
        ("version", c_int),
        ("file_size", c_int),
        ("path_size_max", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", c_void_p),
    )


OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(File), c_int, c_void_p)
SYNC = CFUNCTYPE(c_int, c_void_p, c_int)


@pytest.fixture
def syncs() -> Iterator[list[int]]:
    """Return a list with one element for each time that SQLite waits for the disk."""
    library = ctypes.CDLL(_sqlite3.__file__)
    try:
        find: Any = library.sqlite3_vfs_find
    except AttributeError:
        pytest.skip("this Python's SQLite does not show its functions")
    find.restype, find.argtypes = POINTER(Vfs), (c_char_p,)
    vfs = find(None).contents
    present = vfs.open
    open_as_before = OPEN(present)
    counted: list[int] = []
    kept: list[Any] = []

    def open_counted(this: Any, name: Any, file: Any, flags: int, flags_out: Any) -> int:
        result: int = open_as_before(this, name, file, flags, flags_out)
        if result == 0 and file.contents.methods:
            methods = Methods.from_buffer_copy(file.contents.methods.contents)
            sync_as_before = SYNC(methods.sync)

            def sync(this: Any, how: int) -> int:
                counted.append(how)
                return int(sync_as_before(this, how))

            counting = SYNC(sync)
            methods.sync = ctypes.cast(counting, c_void_p).value
            file.contents.methods = pointer(methods)
            kept.extend((counting, methods))  # for as long as the file is open
        return result

    replaced = OPEN(open_counted)
    vfs.open = ctypes.cast(replaced, c_void_p).value
    try:
        yield counted
    finally:
        vfs.open = present


def pragma(store: Any, name: str) -> Any:
    (value,) = store._journal._connection.execute(f"PRAGMA {name}").fetchone()
    return value


@pytest.mark.parametrize(
    ("options", "synchronous"),
    [({}, 1), ({"synchronous": "normal"}, 1), ({"synchronous": "full"}, 2)],
)
def test_the_writing_connection_has_the_requested_settings(tmp_path, options, synchronous):
    for _ in range(2):  # a new file, and one that is there
        with closing(open_store(tmp_path / "store.db", **options)) as store:
            assert pragma(store, "synchronous") == synchronous
            assert pragma(store, "journal_mode") == "wal"
            assert pragma(store, "locking_mode") == "exclusive"


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize(("synchronous", "per_commit"), [("normal", 0), ("full", 1)])
def test_how_often_a_commit_waits_for_the_disk(tmp_path, syncs, synchronous, per_commit, is_there):
    path: Path = tmp_path / "store.db"
    if is_there:
        open_store(path).close()
    with closing(open_writable(path, synchronous=synchronous)) as store:
        # The first commit begins the log, whose head is written to the disk in any case.
        store.create(a_config_map("first"), NOW)

        def waits(write: Any) -> int:
            before = len(syncs)
            write()
            return len(syncs) - before

        assert waits(lambda: store.create(a_pod("a"), NOW)) == per_commit
        assert waits(lambda: store.put(a_config_map("first", data={"n": "1"}))) == per_commit
        assert waits(lambda: store.bind("default/a", "n1", NOW)) == per_commit
        assert waits(lambda: store.delete(Pod, "default/a", NOW, grace_seconds=0)) >= per_commit
        assert waits(lambda: store.compact(store.resource_version)) == per_commit
        assert waits(lambda: store.get(Pod, "default/a")) == 0

        def batch() -> None:
            with store.batch():
                for number in range(20):
                    store.create(a_pod(f"b{number}"), NOW)

        assert waits(batch) == per_commit, "a batch is one commit"
    assert syncs, "closing writes everything to the disk"

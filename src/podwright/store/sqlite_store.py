"""A store in a SQLite file: acknowledged writes survive the process.

Like etcd, the file has one row per version that is still needed, in order: the versions in the
window, and the last version before it of each object that still exists. The table needs no other
index, because the store reads from memory: a write appends one row, and opening the store reads
the table once.

Each row has a checksum over its content, versions have no gaps within the window, and each row
names the version that it replaces. So a lost or altered row is detected even if SQLite does not
detect it.

A file is read completely in read-only mode before it is opened for writing, so a rejected file
stays unchanged. docs/decisions/0009-store.md explains these settings.
"""

from __future__ import annotations

import gc
import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from podwright._private_files import write_private
from podwright.objects import InvalidObject, KubernetesObject, NamespacedName, decode_json
from podwright.schema import decode
from podwright.store.encodings import Encodings
from podwright.store.errors import UnusableStore
from podwright.store.history import Change, change_of
from podwright.store.kinds import GroupKind
from podwright.store.objects_store import DEFAULT_WINDOW, FIRST_VERSION, ObjectStore
from podwright.store.write_times import Mark

Synchronous: TypeAlias = Literal["normal", "full"]
"""What a commit waits for: the operating system (a killed process loses nothing), or the disk
(nor does a machine without power)."""

APPLICATION_ID = 0x706F6477
"""`podw`: identifies podwright's files among SQLite databases."""

FORMAT_VERSION = 2
"""Format 1 had no times; it is changed to format 2 when it is opened."""

CHECK_STEPS_MAX = 200_000_000
"""The limit of SQLite's own integrity check, in virtual machine steps; a gigabyte takes less. All
rows are read and checked in any case."""

_STEPS_AT_ONCE = 1_000_000
_ENVIRONMENT_ERRORS = tuple(
    f"SQLITE_{what}" for what in ("AUTH", "CANTOPEN", "FULL", "IOERR", "NOMEM", "PERM", "READONLY")
)
_COUNTED = ("seed", "oldest_version", "objects_at_oldest")

_TIMES = """
CREATE TABLE times (
    version INTEGER NOT NULL,    -- the versions after this one were written at the time or later
    time_ns INTEGER PRIMARY KEY
);
"""
_SCHEMA = f"""
BEGIN;
CREATE TABLE settings (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
{{times}}
CREATE TABLE versions (
    version INTEGER PRIMARY KEY,
    previous INTEGER NOT NULL,   -- the version that this one replaces; 0 for a new object
    api_group TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    document BLOB,               -- JSON; NULL where the object was removed
    checksum INTEGER NOT NULL    -- CRC-32 of all of the above
);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT_VERSION};
INSERT INTO settings VALUES
    ('seed', {{seed}}), ('oldest_version', {FIRST_VERSION}), ('objects_at_oldest', 0);
COMMIT;
"""
_INSERT = "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?)"
_SELECT = "SELECT * FROM versions ORDER BY version"
_INSERT_TIME = "INSERT INTO times VALUES (?, ?)"
_SELECT_TIMES = "SELECT version, time_ns FROM times ORDER BY time_ns"
_SETTING = "INSERT OR REPLACE INTO settings VALUES (?, ?)"

_Row: TypeAlias = tuple[int, int, str, str, str, bytes | None, int]


def open_store(
    path: str | Path,
    *,
    seed: int | None = None,
    window: int = DEFAULT_WINDOW,
    window_ns: int | None = None,
    window_bytes: int | None = None,
    synchronous: Synchronous = "normal",
) -> ObjectStore:
    """Open the store in a file, or create one.

    Parameters
    ----------
    path : str or Path
        The file. SQLite keeps a `-wal` file beside it while the store is open and after a crash.
    seed : int, optional
        The seed of uids and names. An existing store has its own seed and rejects another one.
    window, window_ns, window_bytes : int
        See `ObjectStore`.
    synchronous : str
        What a commit waits for.

    Raises
    ------
    UnusableStore
        The file is not a store, is damaged, was written by a newer podwright, or is in use; it
        stays unchanged.
    """
    path = Path(path)
    if path.is_dir():
        raise UnusableStore(f"{path} is a folder; the file of a database is expected")
    if not path.exists():
        _create(path, 0 if seed is None else seed)
    if not path.stat().st_size:
        raise UnusableStore(f"{path} is empty: delete it to begin a store there")
    saved = _read(path)
    if seed is not None and seed != saved.seed:
        raise UnusableStore(
            f"{path} was made with seed {saved.seed}, not {seed}; open it without a seed"
        )
    encodings = Encodings()
    journal = SqliteJournal(path, synchronous, encodings)
    store = ObjectStore(
        seed=saved.seed,
        window=window,
        window_ns=window_ns,
        window_bytes=window_bytes,
        journal=journal,
        encodings=encodings,
    )
    store.restore(saved.objects, saved.oldest, saved.marks)
    store.replay(saved.changes)
    try:
        journal.check_versions(store.oldest_version, store.resource_version)
    except UnusableStore:
        journal.close()
        raise
    return store


class SqliteJournal:
    """Writes changes to the file of a store, with exclusive access.

    Parameters
    ----------
    path : Path
        A file that was validated.
    synchronous : str
        What a commit waits for.
    encodings : Encodings
        The JSON of objects.
    """

    def __init__(self, path: Path, synchronous: Synchronous, encodings: Encodings) -> None:
        self._path = path
        self._encodings = encodings
        self._connection = sqlite3.connect(_uri(path, "rw"), uri=True, isolation_level=None)
        try:
            with _translated_errors(path):
                # Must precede WAL mode; then no other process can open the file at all.
                self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._connection.execute("PRAGMA busy_timeout = 0")
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute(f"PRAGMA synchronous = {synchronous}")
                self._connection.execute("BEGIN IMMEDIATE")
                self._upgrade()
                self._connection.execute("COMMIT")
        except UnusableStore:
            self._connection.close()
            raise

    def check_versions(self, oldest: int, current: int) -> None:
        """Check that the file has not been written since it was read.

        Raises
        ------
        UnusableStore
            The file has other versions.
        """
        with _translated_errors(self._path):
            found = _versions(self._connection)
        if found != (oldest, current):
            raise UnusableStore(f"{self._path} was written by another process; open it again")

    def _upgrade(self) -> None:
        """Add the table of times to a file of format 1."""
        (found,) = self._connection.execute("PRAGMA user_version").fetchone()
        if found < FORMAT_VERSION:
            self._connection.execute(_TIMES)
            self._connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")

    def append(self, changes: Sequence[Change], marks: Sequence[Mark] = ()) -> None:
        """Write changes and times in one transaction.

        Raises
        ------
        UnusableStore
            The changes cannot be written; none of them was.
        """
        rows = [_row_of(change, self._encodings) for change in changes]
        with self._transaction():
            self._connection.executemany(_INSERT, rows)
            if marks:
                times = [(mark.version, mark.time_ns) for mark in marks]
                self._connection.executemany(_INSERT_TIME, times)

    def discard(self, oldest: int, changes: Sequence[Change], oldest_ns: int = 0) -> None:
        """Delete the versions that the changes replaced, and the deletions among the changes.

        Marks before `oldest_ns` are deleted too.

        Raises
        ------
        UnusableStore
            The versions cannot be deleted; none of them was.
        """
        obsolete = [_version_of(change.old) for change in changes if change.old is not None]
        added_count = len(changes) - len(obsolete)
        obsolete += [change.version for change in changes if change.new is None]
        added_count -= sum(change.new is None for change in changes)
        with self._transaction():
            self._connection.executemany(
                "DELETE FROM versions WHERE version = ?", [(version,) for version in obsolete]
            )
            self._connection.execute(_SETTING, ("oldest_version", oldest))
            self._connection.execute("DELETE FROM times WHERE time_ns < ?", (oldest_ns,))
            # Before the window versions have gaps, so lost rows are detected by their count.
            self._connection.execute(
                "UPDATE settings SET value = value + ? WHERE name = 'objects_at_oldest'",
                (added_count,),
            )

    def close(self) -> None:
        """Checkpoint the write-ahead log into the file and close it."""
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            yield
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise UnusableStore(f"{self._path} cannot be written: {error}") from error


# -------------------------------------------------------------------------- the file


class _Saved(msgspec.Struct, frozen=True):
    """The content of a file.

    Attributes
    ----------
    seed, oldest : int
        The seed and the oldest version of the store.
    objects : list of KubernetesObject
        The objects at version `oldest`.
    changes : list of Change
        The changes since then.
    marks : list of Mark
        When versions were written.
    """

    seed: int
    oldest: int
    objects: list[KubernetesObject]
    changes: list[Change]
    marks: list[Mark]


def _uri(path: Path, mode: str) -> str:
    return f"{path.absolute().as_uri()}?mode={mode}"


@contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    """Translate SQLite's errors into errors that name the file and the remedy."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise _in_use(path) from error
        if name.startswith("SQLITE_NOTADB"):
            raise UnusableStore(
                f"{path} is not a podwright store, nor any SQLite file that can be read"
            ) from error
        if name.startswith(_ENVIRONMENT_ERRORS):
            raise UnusableStore(f"{path} cannot be opened: {error}") from error
        raise _damaged(path, str(error)) from error


def _in_use(path: Path) -> UnusableStore:
    return UnusableStore(f"{path} is in use by another process; stop that one, or use another file")


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _damaged(path: Path, what: str) -> UnusableStore:
    return UnusableStore(
        f"{path} is damaged: {what}; it was left as it is: restore a copy, or use another file"
    )


def _create(path: Path, seed: int) -> None:
    """Create an empty store under a temporary name, then link it to its name atomically."""
    log = _log_of(path)
    if log.exists():
        raise UnusableStore(
            f"{path} is missing but its {log.name} is there: restore the file, "
            f"or delete {log.name} to begin an empty store"
        )
    draft = path.with_name(f"{path.name}.new")
    try:
        draft.unlink(missing_ok=True)
        # SQLite gives the log and the shared memory beside a file the mode of the file.
        write_private(draft, b"")
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            connection.executescript(_SCHEMA.format(seed=seed, times=_TIMES))
            connection.execute("PRAGMA journal_mode = WAL")
        os.link(draft, path)  # fails if another process created the file; a rename would not
    except FileExistsError:
        pass
    except (OSError, sqlite3.Error) as error:
        raise UnusableStore(f"{path} cannot be created: {error}") from error
    finally:
        draft.unlink(missing_ok=True)


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Reject a file that is not a store, or that has a newer format.

    The pragmas include changes that are still in the write-ahead log. Reading the file's header
    directly would also release the POSIX locks of a store that this process has open.
    """
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (format_version,) = connection.execute("PRAGMA user_version").fetchone()
    if application_id != APPLICATION_ID:
        raise UnusableStore(f"{path} is an SQLite file, but not a podwright store")
    if format_version > FORMAT_VERSION:
        raise UnusableStore(
            f"{path} has format {format_version}, and this podwright reads up to "
            f"{FORMAT_VERSION}: use a newer podwright"
        )
    if format_version < 1:
        raise _damaged(path, f"format {format_version} does not exist")


def _read(path: Path) -> _Saved:
    """Read and check the whole file without changing it or creating files beside it."""
    # Without a write-ahead log, no process has the store open or crashed with it. Then SQLite may
    # treat the file as immutable, and creates no log and no shared memory beside it.
    has_log = _log_of(path).exists()
    mode = "ro" if has_log else "ro&immutable=1"
    try:
        with _translated_errors(path), _gc_disabled():
            return _read_as(path, mode)
    except UnusableStore as error:
        if not has_log and _log_of(path).exists():
            raise _in_use(path) from error
        raise


@contextmanager
def _gc_disabled() -> Iterator[None]:
    """Disable the garbage collector while reading.

    All objects created then are kept; scanning them repeatedly would double the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _read_as(path: Path, mode: str) -> _Saved:
    with closing(sqlite3.connect(_uri(path, mode), uri=True, isolation_level=None)) as connection:
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("BEGIN")  # one consistent state for all reads below
        _check_format(connection, path)
        problem = _integrity(connection)
        if problem:
            raise _damaged(path, problem)
        settings: dict[str, Any] = dict(connection.execute("SELECT name, value FROM settings"))
        for name in _COUNTED:
            if not isinstance(settings.get(name), int):
                raise _damaged(path, f"its setting {name} is missing or not a number")
        oldest = settings["oldest_version"]
        current: dict[tuple[GroupKind, NamespacedName], KubernetesObject] = {}
        objects: list[KubernetesObject] = []
        changes: list[Change] = []
        for row in connection.execute(_SELECT):
            try:
                change = _change_of_row(row, current, oldest)
            except (ValueError, TypeError, InvalidObject) as error:
                raise _damaged(path, f"version {row[0]}: {error}") from error
            if change.version <= oldest:
                assert change.new is not None, "checked by _change_of_row"
                objects.append(change.new)
            elif change.version != oldest + len(changes) + 1:
                raise _damaged(path, f"version {oldest + len(changes) + 1} is missing")
            else:
                changes.append(change)
            if change.new is None:
                del current[change.kind, change.key]
            else:
                current[change.kind, change.key] = change.new
        marks = _marks(connection, path)
    expected = settings["objects_at_oldest"]
    if len(objects) != expected:
        raise _damaged(path, f"{len(objects)} of {expected} objects of version {oldest} are there")
    return _Saved(settings["seed"], oldest, objects, changes, marks)


def _marks(connection: sqlite3.Connection, path: Path) -> list[Mark]:
    """Return the times of versions; a file of format 1 has none."""
    (format_version,) = connection.execute("PRAGMA user_version").fetchone()
    if format_version < FORMAT_VERSION:
        return []
    marks: list[Mark] = []
    for version, time_ns in connection.execute(_SELECT_TIMES):
        if not isinstance(version, int) or (marks and version < marks[-1].version):
            raise _damaged(path, f"the version {version!r} of the time {time_ns} is wrong")
        marks.append(Mark(version, time_ns))
    return marks


def _integrity(connection: sqlite3.Connection) -> str:
    """Return the problem that SQLite's own check finds; empty if none is found within the limit."""
    left = CHECK_STEPS_MAX

    def tick() -> bool:
        nonlocal left
        left -= _STEPS_AT_ONCE
        return left < 0

    connection.set_progress_handler(tick, _STEPS_AT_ONCE)
    try:
        (result,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_INTERRUPT":
            raise
        return ""
    finally:
        connection.set_progress_handler(None, 0)
    return "" if result == "ok" else str(result).replace("\n", " ")


def _versions(connection: sqlite3.Connection) -> tuple[int, int]:
    (oldest,) = connection.execute(
        "SELECT value FROM settings WHERE name = 'oldest_version'"
    ).fetchone()
    (newest,) = connection.execute("SELECT max(version) FROM versions").fetchone()
    return oldest, max(oldest, newest or 0)


# ---------------------------------------------------------------------------- rows


def _row_of(change: Change, encodings: Encodings) -> _Row:
    document = None if change.new is None else encodings.of(change.new.raw)
    previous = 0 if change.old is None else _version_of(change.old)
    group, kind = change.kind
    checksum = _checksum(change.version, previous, group, kind, change.key, document)
    return change.version, previous, group, kind, change.key, document, checksum


def _change_of_row(
    row: tuple[Any, ...],
    current: dict[tuple[GroupKind, NamespacedName], KubernetesObject],
    oldest: int,
) -> Change:
    version, previous, group, kind_name, key, document, checksum = row
    if checksum != _checksum(version, previous, group, kind_name, key, document):
        raise ValueError("its checksum is wrong")
    kind = (group, kind_name)
    old = current.get((kind, key))
    if version > oldest:
        if previous != (0 if old is None else _version_of(old)):
            raise ValueError(f"it replaces version {previous} of {kind_name} {key}, which is gone")
    elif old is not None or document is None:
        raise ValueError(f"{kind_name} {key} has more than one version before {oldest}")
    if old is None and document is None:
        raise ValueError(f"it removes {kind_name} {key}, which is not there")
    new = None if document is None else decode(decode_json(document))
    return change_of(version, kind, key, old, new)


def _version_of(obj: KubernetesObject) -> int:
    return int(obj.metadata.resource_version)


def _checksum(
    version: int, previous: int, group: str, kind: str, key: str, document: bytes | None
) -> int:
    # The head contains whether the document is NULL: without it, NULL and an empty document would
    # have the same checksum.
    head = f"{version}\0{previous}\0{group}\0{kind}\0{key}\0{document is None}\0"
    return zlib.crc32(document or b"", zlib.crc32(head.encode()))

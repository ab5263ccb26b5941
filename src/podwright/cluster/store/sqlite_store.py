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

import os
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from podwright._garbage import gc_paused
from podwright._private_files import write_private
from podwright.apimachinery.objects import (
    InvalidObject,
    KubernetesObject,
    NamespacedName,
)
from podwright.cluster.store.at_rest import rests
from podwright.cluster.store.encodings import Encodings, FormedText, indexed_values
from podwright.cluster.store.errors import GroupKind, UnusableStore
from podwright.cluster.store.history import Change
from podwright.cluster.store.objects_store import DEFAULT_WINDOW, FIRST_VERSION, ObjectStore
from podwright.cluster.store.shared_reading import SharedReading
from podwright.cluster.store.stored import LARGE_BYTES, Mark, Saved, SavedChange, SavedVersions

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

FREE_PAGES_MAX = 4_096
FREE_SHARE_MAX = 0.25
"""From how many free pages on, and from which share of the file, free pages are given back."""

_RELEASED_PAGES = 256
"""How many pages are given back at once, so that no commit takes long."""

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
_SELECT_ONE = "SELECT * FROM versions WHERE version = ?"
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
        raise UnusableStore(f"{path} is a folder; name the file of a database")
    if not path.exists():
        _create(path, 0 if seed is None else seed)
    if not path.stat().st_size:
        raise UnusableStore(f"{path} is empty: delete it to create a store there")
    saved = _read(path)
    if seed is not None and seed != saved.seed:
        raise UnusableStore(
            f"{path} was created with seed {saved.seed}, not {seed}; open it without a seed"
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
    with gc_paused():
        store.restore_saved(saved)
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
        self._is_left = False
        # Several threads may use the store, one after the other.
        self._connection = sqlite3.connect(
            _uri(path, "rw"), uri=True, isolation_level=None, check_same_thread=False
        )
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
        obsolete = [change.previous for change in changes if change.previous]
        added_count = len(changes) - len(obsolete)
        removals = [change.version for change in changes if change.is_removal]
        obsolete += removals
        added_count -= len(removals)
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
        with _translated_errors(self._path):
            self._release_pages()

    def _release_pages(self) -> None:
        """Give some of the file's free pages back, if they are many.

        Files that were created without `auto_vacuum` keep them, and use them again.
        """
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        if free < FREE_PAGES_MAX:
            return
        (count,) = self._connection.execute("PRAGMA page_count").fetchone()
        if free > count * FREE_SHARE_MAX:
            # `execute` would take a single step, which gives back one page.
            self._connection.executescript(f"PRAGMA incremental_vacuum({_RELEASED_PAGES})")

    def read(self, version: int) -> bytes:
        """Return the JSON that a version wrote.

        Raises
        ------
        UnusableStore
            The file cannot be read, was altered, or is that of another process.
        """
        if self._is_left:
            raise UnusableStore(f"{self._path} is read only by the process that opened it")
        with _translated_errors(self._path):
            row = self._connection.execute(_SELECT_ONE, (version,)).fetchone()
        if row is None or row[-1] != _checksum(*row[:-1]):
            raise _damaged(self._path, f"version {version} is missing, or its checksum is wrong")
        text: bytes = row[-2]
        return text

    def keep(self, version: int, kind: GroupKind, text: Callable[[], FormedText]) -> None:
        """Keep nothing: the file has all versions that are read."""

    def forget(self, version: int) -> None:
        """Release nothing: `discard` deletes the versions that are not needed."""

    def leave(self) -> None:
        """Leave the file to the process of which this one is a copy.

        A connection of SQLite must not be used in a copy, which would read what the other process
        overwrites, nor closed, which would write the log into the file. So it stays as it is.
        """
        self._is_left = True

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
            f"or delete {log.name} to create an empty store"
        )
    draft = path.with_name(f"{path.name}.new")
    try:
        draft.unlink(missing_ok=True)
        # SQLite gives the log and the shared memory beside a file the mode of the file.
        write_private(draft, b"")
        with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
            # Before the first table, or it takes effect only when the whole file is rewritten.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
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


def _read(path: Path) -> Saved:
    """Read and check the whole file without changing it or creating files beside it."""
    # Without a write-ahead log, no process has the store open or crashed with it. Then SQLite may
    # treat the file as immutable, and creates no log and no shared memory beside it.
    has_log = _log_of(path).exists()
    mode = "ro" if has_log else "ro&immutable=1"
    try:
        with _translated_errors(path), gc_paused():
            return _read_as(path, mode)
    except UnusableStore as error:
        if not has_log and _log_of(path).exists():
            raise _in_use(path) from error
        raise


def _read_as(path: Path, mode: str) -> Saved:
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
        reading = _Reading(oldest)
        for row in connection.execute(_SELECT):
            try:
                reading.add(row)
            except _MissingVersionError as error:
                raise _damaged(path, str(error)) from error
            except (ValueError, TypeError) as error:
                raise _damaged(path, f"version {row[0]}: {error}") from error
        try:
            objects = list(reading.objects())
        except ValueError as error:
            raise _damaged(path, str(error)) from error
        marks = _marks(connection, path)
    expected = settings["objects_at_oldest"]
    if reading.oldest_count != expected:
        found = reading.oldest_count
        raise _damaged(path, f"{found} of {expected} objects of version {oldest} are there")
    return Saved(
        seed=settings["seed"],
        oldest=oldest,
        objects=objects,
        resting=reading.resting(),
        changes=reading.changes,
        marks=marks,
        large=reading.large(),
    )


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
    previous = change.previous
    group, kind = change.kind
    checksum = _checksum(change.version, previous, group, kind, change.key, document)
    return change.version, previous, group, kind, change.key, document, checksum


class _MissingVersionError(ValueError):
    """A row between two others is not there."""


class _OfKind(NamedTuple):
    """The objects of a kind so far.

    Attributes
    ----------
    kind : GroupKind
        One tuple for all rows.
    rests : bool
        Whether the objects are at rest.
    current : dict
        The last version of each object, its size, its JSON, and the values of its indexed fields;
        of one at rest b"" as JSON, of the others no values.
    """

    kind: GroupKind
    rests: bool
    current: dict[NamespacedName, tuple[int, int, bytes, tuple[str, ...]]]


class _Reading:
    """Reads the rows of a file in order, and checks that they follow from each other.

    Only current objects are decoded, of the kinds that do not rest.

    Parameters
    ----------
    oldest : int
        The oldest version of the window.

    Attributes
    ----------
    oldest_count : int
        The number of objects at the oldest version.
    changes : list of SavedChange
        The changes of the window.
    """

    def __init__(self, oldest: int) -> None:
        self._oldest = oldest
        self.oldest_count = 0
        self.changes: list[SavedChange] = []
        self._kinds: dict[GroupKind, _OfKind] = {}

    def add(self, row: tuple[Any, ...]) -> None:
        """Take the next row.

        Raises
        ------
        ValueError, TypeError
            The row is damaged, or does not follow from those before.
        """
        version, previous, group, kind_name, key, text, checksum = row
        if checksum != _checksum(version, previous, group, kind_name, key, text):
            raise ValueError("its checksum is wrong")
        of_kind = self._kinds.get((group, kind_name)) or self._new_kind((group, kind_name))
        kind, is_resting, current = of_kind
        old = current.get(key)
        if version > self._oldest:
            if previous != (0 if old is None else old[0]):
                raise ValueError(
                    f"it replaces version {previous} of {kind_name} {key}, which is gone"
                )
        elif old is not None or text is None:
            raise ValueError(f"{kind_name} {key} has more than one version before {self._oldest}")
        if old is None and text is None:
            raise ValueError(f"it removes {kind_name} {key}, which is not there")
        if version <= self._oldest:
            self.oldest_count += 1
        else:
            expected = self._oldest + len(self.changes) + 1
            if version != expected:
                raise _MissingVersionError(f"version {expected} is missing")
            size_bytes = old[1] if text is None and old is not None else len(text)
            self.changes.append(SavedChange(version, kind, key, previous, text is None, size_bytes))
        if text is None:
            del current[key]
        elif is_resting:
            current[key] = version, len(text), b"", indexed_values(kind, text)
        else:
            current[key] = version, len(text), text, ()

    def _new_kind(self, kind: GroupKind) -> _OfKind:
        of_kind = self._kinds[kind] = _OfKind(kind, rests(kind), {})
        return of_kind

    def objects(self) -> Iterator[KubernetesObject]:
        """Yield the decoded objects after the last row, once; their texts are released.

        Raises
        ------
        ValueError
            An object cannot be decoded; the text names its version.
        """
        reading = SharedReading()
        for _, is_resting, current in self._kinds.values():
            if is_resting:
                continue
            for key, (version, size, text, values) in current.items():
                # All texts together take as much memory as the objects.
                current[key] = version, size, b"", values
                try:
                    yield reading.read(text)
                except (ValueError, TypeError, InvalidObject) as error:
                    raise ValueError(f"version {version}: {error}") from error

    def large(self) -> dict[GroupKind, set[NamespacedName]]:
        """Return the names of the large objects after the last row."""
        found: dict[GroupKind, set[NamespacedName]] = {}
        for kind, _, current in self._kinds.values():
            names = {key for key, (_, size, *_) in current.items() if size >= LARGE_BYTES}
            if names:
                found[kind] = names
        return found

    def resting(self) -> dict[GroupKind, SavedVersions]:
        """Return the versions of the objects at rest after the last row."""
        return {
            kind: {key: (version, values) for key, (version, _, _, values) in current.items()}
            for kind, is_resting, current in self._kinds.values()
            if is_resting
        }


def _checksum(
    version: int, previous: int, group: str, kind: str, key: str, document: bytes | None
) -> int:
    # The head contains whether the document is NULL: without it, NULL and an empty document would
    # have the same checksum.
    head = f"{version}\0{previous}\0{group}\0{kind}\0{key}\0{document is None}\0"
    return zlib.crc32(document or b"", zlib.crc32(head.encode()))

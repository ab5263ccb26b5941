"""A record of the changes of a cluster, written while it is served.

The changes of all kinds are in the order in which the store made them. Each turn appends its
changes after its commit, so the file has no change that a crash could take back.

A record can continue in another file when one is large. Each file starts with the objects that are
there, so it is a record by itself. They are written in parts, one in a turn; the changes that are
made meanwhile follow them.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from podwright._private_files import open_private
from podwright.apimachinery.objects import PodwrightError
from podwright.cluster.store import ObjectReader, ObjectStore
from podwright.simulation.files import added_line, change_line, is_recorded

_PART_OBJECTS: Final = 200
"""How many of the first objects of another file a turn writes."""

_LOGGER: Final = logging.getLogger(__name__)


class UnwritableRecord(PodwrightError):  # noqa: N818 - named for what it is
    """A record that cannot be written; the text says why."""


class ChangeRecord:
    """Writes the changes of a store to a file.

    Parameters
    ----------
    path : Path
        A new file. An existing one is not overwritten.
    largest_bytes : int
        Continue in another file, `name-2` and so on, when one is as large; 0 for one file.
    kept_files : int
        The most files, of which the oldest is deleted; 0 for all.

    Raises
    ------
    UnwritableRecord
        The file exists, or cannot be created.
    """

    def __init__(self, path: Path, *, largest_bytes: int = 0, kept_files: int = 0) -> None:
        self.path = path
        self._first = path
        self._largest_bytes = largest_bytes
        self._kept_files = kept_files
        self._files = [path]
        self._number = 1
        self._initial: deque[ObjectReader] = deque()
        self._length = 0
        self._file = self._opened()

    def _opened(self) -> BinaryIO:
        try:
            # Without a buffer: closing the file does not try again what could not be written.
            return open_private(self.path, "xb", buffering=0)
        except FileExistsError as error:
            raise UnwritableRecord(
                f"{self.path}: exists already; name another file with --record, or remove it"
            ) from error
        except OSError as error:
            raise self._unwritable(error) from error

    def begin(self, store: ObjectStore, now_ns: int) -> None:
        """Write the current objects, and follow the later changes.

        Raises
        ------
        UnwritableRecord
            For example because the disk is full.
        """
        self._store = store
        self._changes = store.follow()
        kinds = filter(is_recorded, store.kinds())
        self._write(
            b"".join(added_line(obj, now_ns) for kind in kinds for obj in store.list(kind).objects)
        )

    def append(self, now_ns: int) -> None:
        """Write the changes since the last call; without them, the cluster is served all the same.

        A record that cannot be written, for example because the disk is full, ends before them.

        Parameters
        ----------
        now_ns : int
            When they become visible to clients, in nanoseconds since 1970.
        """
        if not self._changes and not self._initial:
            return
        if self._file.closed:
            self._changes.clear()
            return
        try:
            if self._initial:
                self._write_initial(now_ns)
            if not self._initial:
                self._write_changes(now_ns)
        except UnwritableRecord as error:
            _LOGGER.warning("%s; the cluster is served without a record from now on", error)
            self._file.close()
            self._initial.clear()

    def _write_changes(self, now_ns: int) -> None:
        lines = [change_line(each, now_ns) for each in self._changes if is_recorded(each.kind)]
        self._changes.clear()
        self._write(b"".join(lines))
        if self._largest_bytes and self._length >= self._largest_bytes:
            self._rotate()

    def _rotate(self) -> None:
        """Continue in another file, which starts with the current objects."""
        self._number += 1
        before, self.path = self._file, self._named(self._number)
        self._file = self._opened()
        before.close()
        self._length = 0
        self._files.append(self.path)
        if self._kept_files and len(self._files) > self._kept_files:
            self._files.pop(0).unlink(missing_ok=True)
        self._initial.extend(
            self._store.reader(kind) for kind in self._store.kinds() if is_recorded(kind)
        )

    def _named(self, number: int) -> Path:
        return self._first.with_name(f"{self._first.stem}-{number}{self._first.suffix}")

    def _write_initial(self, now_ns: int) -> None:
        """Write a part of the objects that were there when the file was started."""
        left = _PART_OBJECTS
        while self._initial and left > 0:
            objects = self._initial[0].read(left)
            left -= len(objects)
            self._write(b"".join(added_line(obj, now_ns) for obj in objects))
            if self._initial[0].is_done:
                self._initial.popleft()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self._length)  # no part of a line
            raise self._unwritable(error) from error
        self._length += len(data)

    def _unwritable(self, error: OSError) -> UnwritableRecord:
        return UnwritableRecord(f"{self.path}: cannot be written: {error.strerror or error}")

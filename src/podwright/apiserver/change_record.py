"""A record of the changes of a cluster, written while it is served.

The changes of all kinds are in the order in which the store made them. Each turn appends its
changes after its commit, so the file has no change that a crash could take back.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import Final

from podwright._private_files import open_private
from podwright.files import added_line, change_line, is_recorded
from podwright.objects import PodwrightError
from podwright.store import ObjectStore

_LOGGER: Final = logging.getLogger(__name__)


class UnwritableRecord(PodwrightError):  # noqa: N818 - named for what it is
    """A record that cannot be written; the text says why."""


class ChangeRecord:
    """Writes the changes of a store to a file.

    Parameters
    ----------
    path : Path
        A new file. An existing one is not overwritten.

    Raises
    ------
    UnwritableRecord
        The file exists, or cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._length = 0
        try:
            # Without a buffer: closing the file does not try again what could not be written.
            self._file = open_private(path, "xb", buffering=0)
        except FileExistsError as error:
            raise UnwritableRecord(
                f"{path}: exists already; name another file with --record, or remove it"
            ) from error
        except OSError as error:
            raise self._unwritable(error) from error

    def begin(self, store: ObjectStore, now_ns: int) -> None:
        """Write the present objects, and follow the later changes.

        Raises
        ------
        UnwritableRecord
            For example because the disk is full.
        """
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
        if not self._changes:
            return
        if not self._file.closed:
            lines = [change_line(each, now_ns) for each in self._changes if is_recorded(each.kind)]
            try:
                self._write(b"".join(lines))
            except UnwritableRecord as error:
                _LOGGER.warning("%s; the cluster is served without a record from now on", error)
                self._file.close()
        self._changes.clear()

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

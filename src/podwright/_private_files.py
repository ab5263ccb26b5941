"""Files that only their owner can read, and files that are replaced when they are complete.

States and records of clusters hold Secrets.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final, cast

PRIVATE: Final = 0o600
"""The mode of a file that only its owner can read."""

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def open_private(path: Path, mode: str, buffering: int = -1) -> BinaryIO:
    """Open a file as bytes; one that is created gets the mode 0600.

    Parameters
    ----------
    path : Path
    mode : str
        With "b".
    buffering : int
        As for `open`.
    """
    return _opened(path, mode, PRIVATE, buffering)


def write_private(path: Path, data: bytes) -> None:
    """Write a file; one that is created gets the mode 0600."""
    with open_private(path, "wb") as file:
        file.write(data)


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """Yield a file that gets its name when it is complete; until then, a file of that name stays.

    A device, a pipe and the target of a link are written directly.

    Parameters
    ----------
    path : Path
    mode : int
        Of a file that is created; one that is replaced keeps its own.

    Raises
    ------
    OSError
        With the name of the file.
    """
    beside = path.with_name(f".{path.name}.new")
    try:
        status = path.lstat() if os.path.lexists(path) else None
        if status is not None and not stat.S_ISREG(status.st_mode):
            with path.open("wb") as file:
                yield file
            return
        beside.unlink(missing_ok=True)
        with _opened(beside, "xb", mode if status is None else PRIVATE) as file:
            if status is not None:
                beside.chmod(stat.S_IMODE(status.st_mode))
            yield file
            # On disk before the rename: a power failure must not leave a name without content.
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        with suppress(OSError):  # of a complete file nothing is left
            beside.unlink()


if sys.platform == "win32":

    def lock_file(file: BinaryIO) -> None:
        """Do nothing: the platform has no such locks."""
else:
    import fcntl

    def lock_file(file: BinaryIO) -> None:
        """Lock a file until it is closed; a `BlockingIOError` if another process has locked it."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents with the mode 0700; existing ones keep theirs."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)  # an error if it is a file


def exposures(*paths: Path | None) -> Iterator[str]:
    """Yield how other users can read or replace what is in files and folders.

    Parameters
    ----------
    *paths : Path, optional
        Files and folders that exist, or files that will be created; None is skipped.
    """
    for path in paths:
        if path is None:
            continue
        mode = _status(path).st_mode
        if mode & _OTHERS:
            closed = "700" if stat.S_ISDIR(mode) else "600"
            yield (
                f"{path} can hold Secrets and is open to other users (mode"
                f" {stat.S_IMODE(mode):04o}); close it with: chmod {closed} {path}"
            )
        folder = path.parent
        status = _status(folder)
        mode = status.st_mode
        # Some systems give each user a group of their own, with the user's number.
        has_own_group = status.st_gid == status.st_uid
        writers = stat.S_IWOTH if has_own_group else stat.S_IWOTH | stat.S_IWGRP
        # Nobody replaces files of others in a folder with the sticky bit, such as /tmp.
        if mode & writers and not mode & stat.S_ISVTX:
            yield (
                f"other users can replace {path}: they can write to its folder (mode"
                f" {stat.S_IMODE(mode):04o}); close it with: chmod go-w {folder}"
            )


def _status(path: Path) -> os.stat_result:
    """Return the status of a file or folder; one without any permission if it does not exist."""
    try:
        return path.stat()
    except OSError:
        return os.stat_result((0,) * 10)


def _opened(path: Path, mode: str, permissions: int, buffering: int = -1) -> BinaryIO:
    def opener(name: str, flags: int) -> int:
        return os.open(name, flags, permissions)

    return cast(BinaryIO, open(path, mode, buffering, opener=opener))

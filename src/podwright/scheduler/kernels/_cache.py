"""An on-disk cache of the kernels' machine code.

Numba's own cache identifies a kernel by the file that defines it. It does not detect a change
of a function in another file that the kernel calls, or another NumPy version. Here everything
that the code depends on is part of the path:

- a *set* is a folder for one state of all sources of this package, of the interpreter, of the
  compiler and its options (`fingerprint`); installations with other sources have other sets;
- an *entry* is a file in a set for one kernel, the types of its arguments, and the processor
  and the features of it that Numba compiles for.

A file is never overwritten with other content, so processes need no lock. A new set removes the
least recently used sets beyond `SETS_KEPT`; a process whose set is removed compiles again.

The folder is `NUMBA_CACHE_DIR`, else the user's cache folder, which all environments and clones of
a user share, else `__pycache__` beside the source. Where none of them can be written to, as in a
container with a read-only root, a set that one of them has is read.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import sys
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Final

import llvmlite
import numba
import numpy as np
from numba.core import caching, config, serialize
from numba.core.runtime.nrt import rtsys
from numba.misc.appdirs import AppDirs

SETS_KEPT: Final = 32
"""A set takes some three MiB once all kernels are compiled."""

SET_PREFIX: Final = "podwright-kernels-"
ENTRIES: Final = "*.nbc"
"""The files of a set, as a pattern."""

_FOLDER: Final = Path(__file__).parent
_OPTIONS: Final = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")
"""Settings of Numba that change the code; the processor is part of an entry's key."""

_DIGEST_BYTES: Final = sha256().digest_size


def source_files() -> list[Path]:
    """Return all files that a kernel can take functions and constants from."""
    return [*sorted(_FOLDER.glob("*.py")), _FOLDER.parents[1] / "_arrays.py"]


def environment() -> tuple[str, ...]:
    """Return what else machine code depends on."""
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__)
    return *versions, *(f"{name}={getattr(config, name, None)}" for name in _OPTIONS)


def fingerprint(files: Iterable[Path]) -> str:
    """Return a name for the current state of these files and of the environment."""
    state = sha256(repr(environment()).encode())
    for file in files:
        content = file.read_bytes()
        state.update(f"\n{file.name} {len(content)}\n".encode())
        state.update(content)
    return state.hexdigest()[:32]


@cache
def _fingerprint_at_start() -> str:
    """Return the fingerprint of what this process has imported, or is about to."""
    return fingerprint(source_files())


# ------------------------------------------------------------------------------- folders


@cache
def _opened(path: Path) -> Path:
    """Make a set, or mark it as used; raise OSError where it cannot be written to."""
    try:
        path.mkdir(parents=True)
    except FileExistsError:
        os.utime(path)
    else:
        remove_old_sets(path.parent)
    return path


def remove_old_sets(folder: Path, kept: int = SETS_KEPT) -> None:
    """Remove the sets in a folder that were used least recently.

    Only whole sets are removed, and only folders named like a set. A process that is about to
    read from a removed set compiles instead.
    """
    used: list[tuple[int, Path]] = []
    for path in folder.glob(f"{SET_PREFIX}*"):
        with contextlib.suppress(OSError):  # another process was quicker
            used.append((path.stat().st_mtime_ns, path))
    for _, path in sorted(used, reverse=True)[kept:]:
        shutil.rmtree(path, ignore_errors=True)


class _InSet:
    """A locator of Numba's, with a set in place of a folder for the path of the source."""

    def ensure_cache_path(self) -> None:
        """Make the set; once per process, as all kernels share it."""
        path = _opened(Path(self.get_cache_path()))
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(f"{path} cannot be written to")

    def get_cache_path(self) -> str:
        """Return the folder of the set."""
        return str(self.folder() / f"{SET_PREFIX}{_fingerprint_at_start()}")

    def folder(self) -> Path:
        """Return the folder that has the sets."""
        raise NotImplementedError


class _GivenFolder(_InSet, caching.UserProvidedCacheLocator):
    """In `NUMBA_CACHE_DIR`."""

    def folder(self) -> Path:
        return Path(self._cache_path).parent


class _BesideSource(_InSet, caching.InTreeCacheLocator):
    """In `__pycache__`."""

    def folder(self) -> Path:
        return Path(self._cache_path)


class _UsersFolder(_InSet, caching.UserWideCacheLocator):
    """In the folder for caches of the user."""

    def folder(self) -> Path:
        # Numba keeps its own files in a folder for each source file, whatever its path.
        caches: Any = AppDirs("podwright", appauthor=False)  # type: ignore[no-untyped-call]  # Numba has no types
        return Path(caches.user_cache_dir, "kernels")


class _Present(_InSet):
    """A set that was made before and cannot be written to."""

    def ensure_cache_path(self) -> None:
        """Check that the set exists."""
        path = Path(self.get_cache_path())
        if not path.is_dir():
            raise FileNotFoundError(f"{path} does not exist")


class _PresentInGivenFolder(_Present, _GivenFolder):
    """In `NUMBA_CACHE_DIR`, read-only."""


class _PresentBesideSource(_Present, _BesideSource):
    """In `__pycache__`, read-only."""


class _PresentInUsersFolder(_Present, _UsersFolder):
    """In the folder for caches of the user, read-only."""


# ------------------------------------------------------------------------------- entries


class KernelCacheImpl(caching.CompileResultCacheImpl):
    """The location and the format of cached code."""

    _locator_classes = [  # noqa: RUF012 - as in the base
        _GivenFolder,
        _UsersFolder,
        _BesideSource,
        _PresentInGivenFolder,
        _PresentInUsersFolder,
        _PresentBesideSource,
    ]


class _Entries:
    """The entries of one kernel.

    Numba's index of a kernel's files loses or confuses entries when two processes write to it.
    Here the file name is derived from the key.
    """

    def __init__(self, folder: Path, filename_base: str) -> None:
        self._folder = folder
        self._filename_base = filename_base

    def load(self, key: str) -> Any:
        """Return the saved code; None if there is none or it is damaged."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return None
        # The digest covers key and data: a damaged file, or one of another key, is not unpickled.
        digest, data = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        return pickle.loads(data) if digest == _digest(key, data) else None

    def save(self, key: str, compiled: Any) -> None:
        """Write an entry, all of it or nothing."""
        data = serialize.dumps(compiled)  # type: ignore[no-untyped-call]  # Numba has no types
        path = self._path(key)
        # Processes take no lock: a reader finds no file or a whole one, as `replace` is atomic.
        draft = path.with_name(f"{path.name}.tmp.{os.getpid()}")
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            draft.write_bytes(_digest(key, data) + data)
            draft.replace(path)
        except BaseException:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise

    def flush(self) -> None:
        """Forget nothing: entries that are current stay."""

    def _path(self, key: str) -> Path:
        name = sha256(key.encode()).hexdigest()[:32]
        return self._folder / f"{self._filename_base}.{name}.nbc"


def _digest(key: str, data: bytes) -> bytes:
    return sha256(key.encode() + b"\0" + data).digest()


class KernelCache(caching.FunctionCache):
    """The cache object of a dispatcher: loads code before compiling, and saves new code.

    Parameters
    ----------
    function : callable
        A kernel. Of functions outside this package only the file that defines them counts.

    Raises
    ------
    RuntimeError
        There is no writable folder and no set, or no source to identify the version.

    Attributes
    ----------
    folder : Path or None
        The set of all kernels; None without kernels, or without a set.
    """

    _impl_class = KernelCacheImpl
    _cache_file: Any
    folder: ClassVar[Path | None] = None

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            self._fingerprint = _fingerprint_at_start()
            super().__init__(function)  # type: ignore[no-untyped-call]  # Numba has no types
        except OSError as error:
            raise RuntimeError(f"cannot cache {function.__qualname__}: {error}") from error
        is_ours = Path(function.__code__.co_filename).parent == _FOLDER
        self._stamp = "" if is_ours else str(self._impl.locator.get_source_stamp())
        self._cache_file = _Entries(Path(self._cache_path), self._impl.filename_base)
        KernelCache.folder = Path(self._cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return saved code, or None; only the runtime that code calls is prepared.

        Numba's own method first declares all functions that it can compile. That takes a quarter
        of a second and 10 MB, which a process without a compilation does not need; a compilation
        does the same itself.
        """
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]  # Numba has no types

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep code, unless that fails or it may be of other sources than those on disk."""
        with contextlib.suppress(OSError):
            # Sources that changed since the start may have been imported before or after that.
            if fingerprint(source_files()) == self._fingerprint:
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]  # Numba has no types

    def _index_key(self, sig: Any, codegen: Any) -> str:
        key = super()._index_key(sig, codegen)  # type: ignore[no-untyped-call]  # Numba has no types
        return repr((self._fingerprint, self._stamp, key))  # types, processor, bytecode

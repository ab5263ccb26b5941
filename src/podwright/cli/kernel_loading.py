"""Loads the kernels of a process that serves for long, without the memory of the compiler.

Compiling all kernels takes 170 MB, which the compiler keeps, so another process does it. Loading
them runs 50 MB of the compiler's own code, which the system would keep in memory.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from podwright.cli.console import announce_compilation
from podwright.cli.decisions.warm_up_run import warm_up
from podwright.scheduler.kernels._cache import KernelCache

COMPILED: Final = "all-compiled"
"""A file in a set of compiled kernels in which none is missing."""

_FIRST_FILE: Final = 3
"""The first descriptor after those of input, output and errors."""

_COMPILER: Final = "libllvmlite"
_CODE: Final = "r-xp"
_DO_NOT_NEED: Final = 4
_MAPS: Final = Path("/proc/self/maps")


def load_kernels() -> None:
    """Load all kernels; those that are not on disk are compiled first, which is announced."""
    announce_compilation()
    compile_apart(KernelCache.folder, warm_up)
    warm_up()
    release_compiler()


def compile_apart(folder: Path | None, compile_all: Callable[[], object]) -> None:
    """Compile kernels in another process, unless all of them are on disk.

    Parameters
    ----------
    folder : Path or None
        Keeps the compiled kernels. Without one that can be written to, nothing is done.
    compile_all : callable
        Compiles all kernels.
    """
    if folder is None or not os.access(folder, os.W_OK) or (folder / COMPILED).exists():
        return
    process = os.fork()
    if process == 0:
        status = 1
        try:
            # The port and the files of a server that is terminated meanwhile are free then.
            os.closerange(_FIRST_FILE, os.sysconf("SC_OPEN_MAX"))
            compile_all()
            (folder / COMPILED).touch()
            status = 0
        finally:
            # What fails here, fails again where the kernels are loaded.
            os._exit(status)
    os.waitpid(process, 0)


def release_compiler() -> int:
    """Release the memory of the compiler's code; where it runs again, it is read again.

    Returns
    -------
    int
        The size of the code; 0 where it stays in memory.
    """
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None)
    released = 0
    for line in _MAPS.read_text(encoding="utf-8").splitlines():
        addresses, access, *_, name = line.split(maxsplit=5)
        # Only code: released data would lose what was written to it.
        if access != _CODE or _COMPILER not in name:
            continue
        first, end = (int(each, 16) for each in addresses.split("-"))
        if libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), _DO_NOT_NEED) == 0:
            released += end - first
    return released

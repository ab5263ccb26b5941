"""The memory of a long-lived server: what it gives back, huge pages, and garbage collection.

What a thread allocates for long enough to write a checkpoint, 20 MB of arrays, stays in the heap
when it is freed, and each thread has its own heap. Only the GNU C library has these functions.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import mmap
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

SMALL_BYTES: Final = 512 << 20
"""In a larger process, releasing the free memory can take longer than 100 ms."""

_HEAPS_MAX: Final = -8
_MAPPED_FROM: Final = -3
_TRIMMED_FROM: Final = -1
"""The numbers of the options M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD."""

_LARGE_BYTES: Final = 1 << 20


def share_heap() -> None:
    """Let threads that start from now on use one heap; the interpreter runs one of them anyway.

    What is large stays outside the heap, and is given back when it is freed. Otherwise the library
    moves its limit up to the largest piece that was ever freed, 32 MiB at most, and the heap gets
    gaps of such sizes: 20 MB in an hour of dictionaries and arrays that grow.
    """
    _call("mallopt", _HEAPS_MAX, 1)
    _call("mallopt", _MAPPED_FROM, _LARGE_BYTES)
    _call("mallopt", _TRIMMED_FROM, _LARGE_BYTES)


def release_free_memory(below_bytes: int = SMALL_BYTES) -> None:
    """Give free pages back, if the process has less memory than a number of bytes.

    With 120 MB it takes some milliseconds, in which no thread gets new memory.
    """
    if sys.platform.startswith("linux") and resident_bytes() < below_bytes:
        _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    if sys.platform.startswith("linux"):
        function: Any = getattr(ctypes.CDLL(None), name, None)
        if function is not None:
            function(*arguments)


# Garbage collection that never stops the turn loop for long.
#
# A full collection visits every object of the cluster: 280 ms with 10,000 pods. Nearly all objects
# of a cluster are freed by reference counting, so only the young ones are visited, few at a time:
# 55,000 took 90 ms. The collector counts created objects less all that are freed, so where old
# objects are replaced by new ones the young ones become many: 50,000 while a namespace was
# deleted. So the turn loop collects them after each turn, once: nearly all that outlive their turn
# are parts of objects of the cluster, and each further visit costs as much as the first.
#
# Cycles that live longer than a turn are not freed; they are rare, such as tracebacks of errors:
# full collections found none after 50,000 creations of pods, and one after 1,500 over HTTP with
# their Events and heartbeats.

_ALLOCATIONS: Final = 4_000
"""How many objects a turn creates before some of them are visited while it lasts: about 4 ms."""

_NEVER: Final = 1 << 30


@contextmanager
def short_collections() -> Iterator[None]:
    """Collect only objects that were created shortly before, inside the context."""
    thresholds = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS, _NEVER, _NEVER)
    # What exists lives as long as the server.
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)


def collect_young() -> None:
    """Collect the objects that were created since the last calls, if collection is enabled."""
    # It is disabled while very many objects are created that are not to be visited.
    if gc.isenabled():
        gc.collect(1)


# Huge pages for the memory of a large server, so that its reader processes start quickly.
#
# The start of a reader copies the page tables of the server: 25 ms for each GiB in pages of 4
# KiB, during which the server does nothing, and a tenth of that in pages of 2 MiB. The kernel uses
# small pages for the pieces in which Python obtains memory, and after each reader for those pages
# that have changed beside it. A thread makes it collapse them, with pauses: while it collapses a
# page, other threads wait for new memory.
#
# Only Linux has this, since 6.1; it is done where pages have 4 KiB. Elsewhere the start of a
# reader takes longer.

HUGE_BYTES: Final = 2 << 20
LEAST_BYTES: Final = 256 << 20
"""How much memory a process has before anything is done: the fork of less takes a few ms."""

INTERVAL_SECONDS: Final = 5.0
GROWTH: Final = 1.02
"""How much the memory grows at most in an interval: collapsing takes time from a load."""

_PAUSES: Final = 4
"""How long the pause after each page is, as a multiple of the time for the page."""

_PRESENT_SHARE: Final = 0.9
"""The least part of a huge page that is in use; the rest would be new memory."""

_COLLAPSE: Final = 25
_PAGE_BYTES: Final = 4 << 10
_MAPS: Final = Path("/proc/self/maps")
_STATM: Final = Path("/proc/self/statm")


async def keep_huge_pages() -> None:
    """Collapse the memory of this process again and again, until cancelled."""
    if not sys.platform.startswith("linux") or mmap.PAGESIZE != _PAGE_BYTES:
        return
    is_over = threading.Event()
    resident = 0
    try:
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            before, resident = resident, resident_bytes()
            if has_settled(before, resident):
                await asyncio.to_thread(collapse_memory, is_over)
    finally:
        is_over.set()


def has_settled(before: int, resident: int) -> bool:
    """Whether memory is large and, in bytes at the last look and now, hardly grows."""
    return LEAST_BYTES <= resident <= before * GROWTH


def collapse_memory(is_over: threading.Event | None = None) -> int:
    """Give the private memory of this process huge pages where it is in use.

    Parameters
    ----------
    is_over : threading.Event, optional
        Ends it early.

    Returns
    -------
    int
        The number of bytes that have huge pages now. 0 where the kernel does not have them.
    """
    libc = ctypes.CDLL(None)
    collapsed = 0
    for address in used_addresses(libc):
        # A page that a reader shares would be copied.
        if (is_over is not None and is_over.is_set()) or _has_children():
            break
        begin = time.perf_counter()
        if libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(HUGE_BYTES), _COLLAPSE) == 0:
            collapsed += HUGE_BYTES
        time.sleep((time.perf_counter() - begin) * _PAUSES)
    return collapsed


def used_addresses(libc: ctypes.CDLL) -> Iterator[int]:
    """Yield the addresses of the possible huge pages that are in use."""
    for first, end in _ranges():
        count = (end - first) // _PAGE_BYTES
        present = np.zeros(count, np.uint8)
        status = libc.mincore(
            ctypes.c_void_p(first),
            ctypes.c_size_t(end - first),
            present.ctypes.data_as(ctypes.c_void_p),
        )
        if status:  # unmapped meanwhile
            continue
        shares = (present & 1).reshape(-1, HUGE_BYTES // _PAGE_BYTES).mean(axis=1)
        for index in np.flatnonzero(shares >= _PRESENT_SHARE).tolist():
            yield first + index * HUGE_BYTES


def _ranges() -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each range of private memory, at bounds of huge pages."""
    for line in _MAPS.read_text().splitlines():
        addresses, access, *rest = line.split()
        is_memory = access == "rw-p" and (len(rest) == 3 or rest[3:] == ["[heap]"])
        first, end = (int(each, 16) for each in addresses.split("-"))
        first, end = -(-first // HUGE_BYTES) * HUGE_BYTES, end // HUGE_BYTES * HUGE_BYTES
        if is_memory and first < end:
            yield first, end


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def resident_bytes() -> int:
    """Return how much memory this process has."""
    return int(_STATM.read_text().split()[1]) * _PAGE_BYTES

"""Huge pages: which memory is collapsed, and when none is."""

import asyncio
import contextlib
import ctypes
import mmap
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from podwright.online.apiserver import free_memory
from podwright.online.apiserver.free_memory import HUGE_BYTES, collapse_memory, keep_huge_pages

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux has them")

USED, UNUSED = 8, 8


@contextlib.contextmanager
def half_used_memory():
    """Yield the address of memory of which the first huge pages are used, but the last byte."""
    with mmap.mmap(-1, (USED + UNUSED + 1) * HUGE_BYTES, flags=mmap.MAP_PRIVATE) as memory:
        view = ctypes.c_char.from_buffer(memory)
        address = ctypes.addressof(view)
        first = -(-address // HUGE_BYTES) * HUGE_BYTES
        ctypes.memset(first, 1, USED * HUGE_BYTES - 1)
        try:
            yield first
        finally:
            del view


def huge_bytes():
    """Return how much memory of this process has huge pages."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("AnonHugePages"))


def test_memory_that_is_in_use_gets_huge_pages(monkeypatch):
    # Processes that other tests have left would end it early.
    monkeypatch.setattr(free_memory, "_has_children", lambda: False)
    with half_used_memory() as first:
        addresses = list(free_memory.used_addresses(ctypes.CDLL(None)))
        ours = range(first, first + (USED + UNUSED) * HUGE_BYTES, HUGE_BYTES)
        assert [each for each in addresses if each in ours] == list(ours[:USED])
        before = huge_bytes()
        collapsed = collapse_memory()
        # 0 where the kernel has no huge pages.
        assert collapsed in (0, *range(USED * HUGE_BYTES, 1 << 40, HUGE_BYTES))
        assert huge_bytes() - before <= collapsed
        assert (huge_bytes() > 0) == (collapsed > 0)
        assert ctypes.string_at(first, USED * HUGE_BYTES - 1) == b"\1" * (USED * HUGE_BYTES - 1)


def test_nothing_is_collapsed_while_a_reader_shares_the_memory():
    with half_used_memory():
        reader = os.fork()
        if reader == 0:
            signal.pause()
        try:
            before = huge_bytes()
            assert collapse_memory() == 0
            assert huge_bytes() <= before
        finally:
            os.kill(reader, signal.SIGKILL)
            os.waitpid(reader, 0)


def test_it_ends_early():
    is_over = threading.Event()
    is_over.set()
    with half_used_memory():
        assert collapse_memory(is_over) == 0


@pytest.mark.parametrize(
    ("before", "resident", "expected"),
    [
        (1.0, 1.001, True),
        (2.0, 1.8, True),
        (1.0, 1.1, False),
        (0.0, 1.1, False),
        (0.5, 0.5, False),
    ],
)
def test_only_large_memory_that_does_not_grow_is_collapsed(before, resident, expected):
    least = free_memory.LEAST_BYTES
    assert free_memory.has_settled(int(before * least), int(resident * least)) is expected


def test_memory_is_collapsed_again_and_again_until_the_server_ends(monkeypatch):
    is_called = threading.Semaphore(0)
    ends: list[threading.Event] = []

    def collapse(is_over: threading.Event) -> None:
        ends.append(is_over)
        is_called.release()

    monkeypatch.setattr(free_memory, "INTERVAL_SECONDS", 0)
    monkeypatch.setattr(free_memory, "LEAST_BYTES", 1)
    monkeypatch.setattr(free_memory, "collapse_memory", collapse)

    async def main() -> None:
        keeping = asyncio.create_task(keep_huge_pages())
        for _ in range(2):
            assert await asyncio.to_thread(is_called.acquire, timeout=60)
        assert not ends[0].is_set()
        keeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await keeping

    asyncio.run(main())
    assert all(each.is_set() for each in ends)


def test_the_memory_of_this_process_is_counted():
    before = free_memory.resident_bytes()
    with half_used_memory():
        assert free_memory.resident_bytes() - before >= USED * HUGE_BYTES / 2

"""Memory that was freed is given back to the system."""

import asyncio
import ctypes
import gc
import mmap
import os
import platform
import sys
import threading
import time

import pytest

from podwright.online.apiserver import free_memory
from podwright.online.apiserver.free_memory import (
    HUGE_BYTES,
    SMALL_BYTES,
    collapse_memory,
    collect_young,
    keep_huge_pages,
    release_free_memory,
    resident_bytes,
    share_heap,
    short_collections,
    used_addresses,
)

COUNT, SIZE = 10_000, 3_000


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="has other functions")
def test_the_free_memory_between_parts_in_use_is_given_back():
    share_heap()
    kept = []

    def allocate():
        parts = [b"x" * SIZE for _ in range(COUNT)]
        kept.extend(parts[::100])

    thread = threading.Thread(target=allocate)
    thread.start()
    thread.join()
    before = resident_bytes()
    release_free_memory(sys.maxsize)
    assert before - resident_bytes() > COUNT * SIZE // 2
    assert len(kept) == COUNT // 100


class Library:
    """A C library that notes its calls; it has the functions that are named."""

    def __init__(self, *names, refused=()):
        self.calls = []
        for name in names:
            setattr(self, name, self.noting(name, refused))

    def noting(self, name, refused):
        def call(*arguments):
            plain = [getattr(each, "value", each) for each in arguments]
            self.calls.append((name, *plain))
            return -1 if plain[0] in refused else 0

        return call


@pytest.fixture
def library(monkeypatch, tmp_path):
    """Return a function that sets the library, the system, and what the system says."""

    def of(*names, system="linux", pages=0, maps="", refused=()):
        found = Library(*names, refused=refused)
        monkeypatch.setattr(ctypes, "CDLL", lambda name: found if name is None else None)
        monkeypatch.setattr(sys, "platform", system)
        for name, text in (("_STATM", f"900 {pages} 3 1 0 7 0\n"), ("_MAPS", maps)):
            (tmp_path / name).write_text(text)
            monkeypatch.setattr(free_memory, name, tmp_path / name)
        return found

    return of


@pytest.mark.parametrize(
    ("names", "system", "calls"),
    [
        # M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of malloc.h.
        (("mallopt",), "linux",
         [("mallopt", -8, 1), ("mallopt", -3, 1 << 20), ("mallopt", -1, 1 << 20)]),
        (("mallopt",), "darwin", []),
        ((), "linux", []),
    ],
)  # fmt: skip
def test_threads_share_a_heap_where_the_library_has_that(library, names, system, calls):
    found = library(*names, system=system)
    share_heap()
    assert found.calls == calls


@pytest.mark.parametrize(
    ("pages", "below", "system", "is_called"),
    [
        (SMALL_BYTES // 4096 - 1, None, "linux", True),
        (SMALL_BYTES // 4096, None, "linux", False),
        (9, 10 * 4096, "linux", True),
        (10, 10 * 4096, "linux", False),
        (9, 10 * 4096, "darwin", False),
    ],
)
def test_the_free_memory_of_small_processes_is_given_back(library, pages, below, system, is_called):
    found = library("malloc_trim", pages=pages, system=system)
    release_free_memory() if below is None else release_free_memory(below)
    assert found.calls == [("malloc_trim", 0)] * is_called
    assert resident_bytes() == pages * 4096


def test_young_objects_alone_are_collected_beside_a_turn_loop(monkeypatch):
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    generations: list[int] = []
    with short_collections():
        assert gc.get_threshold() == (4_000, 1 << 30, 1 << 30)
        assert gc.get_freeze_count() > frozen
        monkeypatch.setattr(gc, "collect", generations.append)
        collect_young()
    assert (gc.get_threshold(), gc.get_freeze_count(), generations) == (before, 0, [1])


MAPS = """\
00400000-00c00000 r-xp 00000000 08:01 123 /usr/bin/python
00e00001-01600000 rw-p 00000000 00:00 0 [heap]
7f0000000000-7f0000600000 rw-p 00000000 00:00 0
7f0000800000-7f00009fffff rw-p 00000000 00:00 0
7f0001000000-7f0001400000 rw-p 00000000 08:01 123 /lib/libc.so
7f0002000000-7f0002400000 rw-p 00000000 00:00 0 [stack]
7f0003000000-7f0003400000 r--p 00000000 00:00 0
"""
HEAP = [(0x01000000, 0x01600000), (0x7F0000000000, 0x7F0000600000)]


def test_huge_pages_are_those_of_private_memory_at_their_bounds(library):
    library(maps=MAPS)
    assert list(free_memory._ranges()) == HEAP


def with_presence(found, shares):
    """Let the library say which share of each huge page is in use; None for a failure."""

    def mincore(first, size, vector):
        found.calls.append((first.value, size.value))
        parts = shares[first.value]
        if parts is None:
            return -1
        pages = ctypes.cast(vector, ctypes.POINTER(ctypes.c_uint8))
        for index, count in enumerate(parts):
            for number in range(count):
                pages[index * 512 + number] = 0xFF if number % 2 else 1
        return 0

    found.mincore = mincore


def test_huge_pages_that_are_used_for_the_most_part_are_collapsed(library, monkeypatch):
    found = library("madvise", maps=MAPS, refused=(HEAP[0][0] + 2 * HUGE_BYTES,))
    with_presence(found, {HEAP[0][0]: [461, 460, 512], HEAP[1][0]: None})
    assert list(used_addresses(found)) == [HEAP[0][0], HEAP[0][0] + 2 * HUGE_BYTES]
    assert found.calls == [(first, end - first) for first, end in HEAP]
    pauses: list[int] = []
    seconds = iter(range(0, 100, 3))
    monkeypatch.setattr(time, "perf_counter", lambda: next(seconds))
    monkeypatch.setattr(time, "sleep", pauses.append)
    monkeypatch.setattr(free_memory, "_has_children", lambda: False)
    found.calls.clear()
    assert collapse_memory() == HUGE_BYTES
    assert [call for call in found.calls if call[0] == "madvise"] == [
        ("madvise", HEAP[0][0], HUGE_BYTES, 25),
        ("madvise", HEAP[0][0] + 2 * HUGE_BYTES, HUGE_BYTES, 25),
    ]
    assert pauses == [12, 12], "four times as long as the page took"


def test_memory_that_was_unmapped_meanwhile_is_left_out_and_what_follows_is_not(library):
    found = library(maps=MAPS)
    with_presence(found, {HEAP[0][0]: None, HEAP[1][0]: [512, 0, 512]})
    assert list(used_addresses(found)) == [HEAP[1][0], HEAP[1][0] + 2 * HUGE_BYTES]


def test_a_reader_process_is_a_child_until_it_was_waited_for():
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert free_memory._has_children()
    os.waitpid(child, 0)


@pytest.mark.parametrize(("system", "page_bytes"), [("darwin", 4096), ("linux", 16384)])
def test_elsewhere_there_are_no_huge_pages(monkeypatch, system, page_bytes):
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(mmap, "PAGESIZE", page_bytes)
    asyncio.run(keep_huge_pages())

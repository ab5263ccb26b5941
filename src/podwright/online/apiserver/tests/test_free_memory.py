"""Memory that was freed is given back to the system."""

import platform
import sys
import threading

import pytest

from podwright.online.apiserver.free_memory import release_free_memory, resident_bytes, share_heap

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

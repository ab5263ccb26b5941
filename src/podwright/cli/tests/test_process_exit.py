"""The streams of a process."""

import io
import os
import threading
from contextlib import suppress

import pytest

from podwright.cli.process_exit import buffered


def an_unbuffered(descriptor: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(descriptor, "w"), encoding="utf-8", write_through=True)


def test_what_a_partial_write_leaves_is_an_error() -> None:
    read, write = os.pipe()
    plain = an_unbuffered(write)
    stream = buffered(plain)

    def read_some() -> None:
        os.read(read, 1)
        os.close(read)

    reader = threading.Thread(target=read_some)
    reader.start()
    with pytest.raises(BrokenPipeError):
        stream.write("x" * 10_000_000)
    reader.join()
    with suppress(BrokenPipeError):  # what the buffer still has
        stream.close()
    plain.close()


def test_lines_are_written_at_once() -> None:
    read, write = os.pipe()
    plain = an_unbuffered(write)
    stream = buffered(plain)
    stream.write("first\n")
    assert os.read(read, 100) == b"first\n"
    stream.close()
    plain.close()
    os.close(read)

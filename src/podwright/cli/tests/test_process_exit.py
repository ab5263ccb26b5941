"""The streams of a process."""

import errno
import gc
import io
import os
import sqlite3
import sys
import threading
from contextlib import suppress
from typing import TextIO

import pytest

from podwright.cli.process_exit import (
    Interruption,
    OSFailure,
    buffered,
    is_system_failure,
    keep_from_typer,
    reduced_collection,
    run_and_exit,
)
from podwright.online.client import ClusterError
from podwright.online.client.cluster_connection import FailedCluster


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


# ---------------------------------------------------------------- the status


class Stream(io.StringIO):
    """A stream of text that fails when it is flushed, if it has an error."""

    file: TextIO

    def __init__(self, error: OSError | None = None) -> None:
        super().__init__()
        self.error = error

    def flush(self) -> None:
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def fileno(self) -> int:
        return self.file.fileno() if hasattr(self, "file") else super().fileno()


def ended(command, monkeypatch, stdout: Stream | None = None) -> tuple[object, str, str]:
    """Run a command to the end of a process: its status, stdout and stderr."""
    out, err = stdout or Stream(), Stream()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with pytest.raises(SystemExit) as caught:
        run_and_exit(command)
    return caught.value.code, out.getvalue(), err.getvalue()


def raising(error: BaseException):
    def command() -> None:
        sys.stdout.write("result\n")
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (SystemExit(1), 1, ""),
        (SystemExit(0), 0, ""),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (Interruption("stopped at 5m"), 130, "stopped at 5m\n"),
        (MemoryError(), 3, "error: not enough memory\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 3,
         "error: the output cannot be written: No space left on device\n"),
        (OSFailure(OSError(errno.ENOENT, "No such file", "a.txt")), 3,
         "error: a.txt: No such file\n"),
        (OSFailure(OSError(errno.ENOENT, "No such file")), 3, "error: No such file\n"),
        (OSFailure(OSError("only a text")), 3, "error: only a text\n"),
        (OSFailure(OSError()), 3, "error: OSError\n"),
        (OSError(errno.EPIPE, "Broken pipe"), 3,
         "error: the output cannot be written: Broken pipe\n"),
    ],
)  # fmt: skip
def test_the_end_of_a_command_is_a_status_and_a_line(error, status, text, monkeypatch) -> None:
    assert ended(raising(error), monkeypatch) == (status, "result\n", text)


def test_a_command_that_returns_is_a_success(monkeypatch) -> None:
    assert ended(lambda: 5, monkeypatch) == (0, "", "")


def test_a_defect_has_a_traceback_and_its_own_status(monkeypatch) -> None:
    status, _, text = ended(raising(KeyError("x")), monkeypatch)
    assert status == 3
    assert text.startswith("Traceback (most recent call last):\n")
    assert text.endswith(
        "KeyError: 'x'\nerror: podwright failed with KeyError: a bug in podwright\n"
    )


def test_output_that_is_lost_at_the_end_is_an_error(monkeypatch, tmp_path) -> None:
    stdout = Stream(OSError(errno.ENOSPC, "No space left on device"))
    stdout.file = (tmp_path / "out").open("w")
    with stdout.file:
        found = ended(lambda: None, monkeypatch, stdout)
    assert found == (3, "", "error: the output cannot be written: No space left on device\n")


def test_a_reader_that_has_ended_is_the_status_of_its_signal(monkeypatch) -> None:
    read, write = os.pipe()
    os.close(read)
    stdout = Stream(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    stdout.file = os.fdopen(write, "w")
    with stdout.file:
        assert ended(lambda: None, monkeypatch, stdout) == (141, "", "")


def test_a_process_without_stdout_has_lost_its_output(monkeypatch) -> None:
    error = Stream()
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setattr(sys, "stderr", error)
    ran = []
    with pytest.raises(SystemExit) as caught:
        run_and_exit(lambda: ran.append(1))
    assert (caught.value.code, ran) == (3, [])
    assert error.getvalue() == "error: the output cannot be written: Bad file descriptor\n"
    assert sys.stdin.read() == ""
    for stream in (sys.stdin, sys.stdout):
        stream.close()


@pytest.mark.parametrize(
    ("error", "is_failure"),
    [
        (OSError(errno.ENOSPC, ""), True),
        (OSError(errno.ECONNREFUSED, ""), True),
        (OSError(errno.ENOENT, ""), False),
        (ValueError(), False),
        (FailedCluster(), True),
        (ClusterError(), False),
    ],
)
def test_a_failure_of_the_system_is_found_among_the_causes(error, is_failure) -> None:
    outer = ValueError("outer")
    outer.__cause__ = error
    assert is_system_failure(error) is is_failure
    assert is_system_failure(outer) is is_failure


def test_a_full_disk_of_a_database_is_a_failure_of_the_system() -> None:
    names = {"SQLITE_FULL": True, "SQLITE_IOERR_READ": True, "SQLITE_ERROR": False}
    for name, is_failure in names.items():
        error = sqlite3.OperationalError("disk")
        error.sqlite_errorname = name
        assert is_system_failure(error) is is_failure


def test_errors_of_a_command_are_kept_from_typer() -> None:
    with pytest.raises(OSFailure) as failed, keep_from_typer():
        raise OSError(errno.EPIPE, "Broken pipe")
    assert failed.value.error.errno == errno.EPIPE
    with pytest.raises(Interruption, match=r"^at 5m$"), keep_from_typer():
        raise KeyboardInterrupt("at 5m")


def test_the_collector_runs_less_often_for_a_while() -> None:
    before = gc.get_threshold()
    with reduced_collection():
        assert gc.get_threshold() == (100_000, 50, 10)
    assert gc.get_threshold() == before

"""Where the frames of a decision log are: segments in a folder, or in memory.

Frames are only ever appended. A frame is acknowledged once the operating system has it, so
it outlives the process; `sync` makes it outlive the machine as well. A process that dies
while it writes leaves the beginning of a frame at the end of the last segment. Nobody was
told that this frame was there, so whoever opens the log next leaves it out, and cuts it off
before writing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from podwright.store.log_format import (
    FRAME_HEAD_BYTES,
    SEGMENT_HEAD_BYTES,
    FrameHead,
    LogError,
    check_segment_head,
    decode_frame_head,
    segment_head,
)

SEGMENT_LIMIT_BYTES = 64 << 20
"""A segment that has reached this size is followed by another one."""

SUFFIX = ".pwlog"


class Frame(NamedTuple):
    """A frame and where its payload is."""

    head: FrameHead
    segment: int
    offset: int


class Medium(Protocol):
    """Keeps frames in order."""

    @property
    def source(self) -> str:
        """The name for errors."""

    def append(self, head: FrameHead, payload: bytes) -> Frame:
        """Add a frame; it is acknowledged when this returns."""

    def read(self, frame: Frame) -> bytes:
        """Return the payload of a frame."""

    def sync(self) -> None:
        """Wait until everything is where a power failure cannot reach it."""

    def close(self) -> None:
        """Release what is open; harmless twice."""


class Memory:
    """Frames that nobody wants to keep."""

    source = "the log in memory"

    def __init__(self) -> None:
        self._payloads: list[bytes] = []

    def append(self, head: FrameHead, payload: bytes) -> Frame:
        """Add a frame."""
        self._payloads.append(payload)
        return Frame(head, 0, len(self._payloads) - 1)

    def read(self, frame: Frame) -> bytes:
        """Return the payload of a frame."""
        return self._payloads[frame.offset]

    def sync(self) -> None:
        """Do nothing: memory is not kept."""

    def close(self) -> None:
        """Do nothing: there is nothing open."""


class Folder:
    """Frames in the segments of a folder.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._segment = -1
        self._size_bytes = 0
        self._file: BinaryIO | None = None

    @property
    def source(self) -> str:
        """The folder's name."""
        return str(self._path)

    def create(self) -> None:
        """Begin a log in a folder that has none.

        Raises
        ------
        LogError
            If there is one, or the folder cannot be written.
        """
        try:
            self._path.mkdir(parents=True, exist_ok=True)
            if any(self._path.glob(f"*{SUFFIX}")):
                raise LogError(
                    f"{self.source} already holds a decision log; choose another folder, or open"
                    " it to go on with that log"
                )
            self._begin_segment(0)
        except OSError as error:
            raise LogError(f"{self.source} cannot be written: {error.strerror or error}") from error

    def open(self, *, append: bool) -> list[Frame]:
        """Find all frames; cut off what was not written to its end if frames will be added.

        Raises
        ------
        LogError
            If this is no log, a newer one, or a damaged one. It is left as it is then.
        """
        try:
            files = sorted(self._path.glob(f"*{SUFFIX}"))
            if not files:
                raise LogError(f"{self.source} holds no decision log (no *{SUFFIX} files)")
            frames: list[Frame] = []
            good_bytes = 0
            for number, file in enumerate(files):
                is_last = number == len(files) - 1
                found, good_bytes = _scan(file, number, is_last=is_last)
                frames += found
            if append:
                self._go_on(files, good_bytes)
        except OSError as error:
            raise LogError(f"{self.source} cannot be read: {error.strerror or error}") from error
        return frames

    def _go_on(self, files: list[Path], good_bytes: int) -> None:
        self._segment = len(files) - 1
        if good_bytes < SEGMENT_HEAD_BYTES:
            # Not even the head of the last segment was written.
            files[-1].unlink()
            self._begin_segment(self._segment)
            return
        if files[-1].stat().st_size > good_bytes:
            os.truncate(files[-1], good_bytes)
        self._file = files[-1].open("ab", buffering=0)
        self._size_bytes = good_bytes

    def append(self, head: FrameHead, payload: bytes) -> Frame:
        """Add a frame."""
        if self._size_bytes >= SEGMENT_LIMIT_BYTES:
            self._begin_segment(self._segment + 1)
        file = self._file
        assert file is not None, f"{self.source} was opened to be read"
        data = head.encode() + payload
        written = file.write(data)
        while written < len(data):
            written += file.write(data[written:])
        frame = Frame(head, self._segment, self._size_bytes + FRAME_HEAD_BYTES)
        self._size_bytes += len(data)
        return frame

    def read(self, frame: Frame) -> bytes:
        """Return the payload of a frame."""
        with self._file_of(frame.segment).open("rb") as file:
            file.seek(frame.offset)
            return file.read(frame.head.length)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the segment that is written."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _begin_segment(self, number: int) -> None:
        if self._file is not None:
            self.sync()
            self._file.close()
        self._file = self._file_of(number).open("xb", buffering=0)
        self._file.write(segment_head(number))
        self._segment, self._size_bytes = number, SEGMENT_HEAD_BYTES

    def _file_of(self, segment: int) -> Path:
        return self._path / f"{segment:08}{SUFFIX}"


def _scan(file: Path, number: int, *, is_last: bool) -> tuple[list[Frame], int]:
    """Return the frames of a segment, and where the last whole one ends."""
    source, size_bytes = str(file), file.stat().st_size
    frames: list[Frame] = []
    with file.open("rb") as segment:
        data = segment.read(SEGMENT_HEAD_BYTES)
        if len(data) < SEGMENT_HEAD_BYTES and is_last and number:
            return [], 0
        if len(data) < SEGMENT_HEAD_BYTES:
            raise LogError(f"{source} is too short to be a decision log; it was left as it is")
        check_segment_head(data, number, source=source)
        offset = SEGMENT_HEAD_BYTES
        while data := segment.read(FRAME_HEAD_BYTES):
            whole = len(data) == FRAME_HEAD_BYTES
            if whole:
                head = decode_frame_head(data, source=source, offset=offset)
                end = offset + FRAME_HEAD_BYTES + head.length
                whole = end <= size_bytes
                if whole:
                    frames.append(Frame(head, number, offset + FRAME_HEAD_BYTES))
                    offset = end
                    segment.seek(end)
            if not whole:
                if not is_last:
                    raise LogError(f"{source} ends in the middle of a block, and is not the last")
                break
    return frames, offset

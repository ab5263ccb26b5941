"""Storage of the frames of a decision log: segments in a folder, or memory.

Frames are only ever appended. A frame is acknowledged once the operating system has it, so
it outlives the process; `sync` makes it outlive the machine as well. A process that dies
while it writes leaves a partial frame at the end of the last segment. That frame was never
acknowledged, so readers of the log ignore it, and the next writer truncates the segment first.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from podwright._private_files import lock_file, make_private_folder, open_private
from podwright.simulation.recording.log.log_format import (
    FRAME_HEAD_BYTES,
    HEADER,
    SEGMENT_HEAD_BYTES,
    FrameHead,
    LogError,
    check_segment_head,
    decode_frame_head,
    segment_head,
)

SEGMENT_LIMIT_BYTES = 64 << 20
"""The size at which a new segment starts."""

SUFFIX = ".pwlog"


class Frame(NamedTuple):
    """A frame and the position of its payload."""

    head: FrameHead
    segment: int
    offset: int

    @property
    def end(self) -> int:
        """The number of events up to its end."""
        return self.head.first + self.head.count


class Medium(Protocol):
    """Stores frames in order."""

    @property
    def source(self) -> str:
        """The name for errors."""

    def append(self, head: FrameHead, payload: bytes) -> Frame:
        """Add a frame; it is written when this returns."""

    def read(self, frame: Frame) -> bytes:
        """Return the payload of a frame."""

    def sync(self) -> None:
        """Flush all frames to stable storage."""

    def close(self) -> None:
        """Release open files; idempotent."""


class Memory:
    """Frames in memory.

    Attributes
    ----------
    size_bytes : int
        Of the payloads.
    """

    source = "the log in memory"

    def __init__(self) -> None:
        self.size_bytes = 0
        self._payloads: dict[int, bytes] = {}
        self._count = 0

    def append(self, head: FrameHead, payload: bytes) -> Frame:
        """Add a frame."""
        self.size_bytes += len(payload)
        frame = Frame(head, 0, self._count)
        self._payloads[self._count] = payload
        self._count += 1
        return frame

    def read(self, frame: Frame) -> bytes:
        """Return the payload of a frame."""
        return self._payloads[frame.offset]

    def drop(self, frame: Frame) -> None:
        """Release the payload of a frame, which is not read again."""
        self.size_bytes -= len(self._payloads.pop(frame.offset))

    def sync(self) -> None:
        """Do nothing: memory is not stable storage."""

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
        self._lock: BinaryIO | None = None
        self._append_after: Frame | None = None

    @property
    def source(self) -> str:
        """The folder's name."""
        return str(self._path)

    def create(self) -> None:
        """Create a log in a folder that has none.

        Raises
        ------
        LogError
            If there is one, or the folder cannot be written.
        """
        try:
            make_private_folder(self._path)
            if self._files():
                raise LogError(
                    f"{self.source} already holds a decision log; choose another folder, or open"
                    " the log to append to it"
                )
            self._begin_segment(0)
            # The lock is on the first segment, so the segment comes first.
            self._acquire_lock()
        except OSError as error:
            raise LogError(f"{self.source} cannot be written: {error.strerror or error}") from error

    def open(self, *, append: bool) -> list[Frame]:
        """Find all frames, without changing the folder.

        Parameters
        ----------
        append : bool
            Whether frames will be appended, after one of them (`append_after`).

        Raises
        ------
        LogError
            If this is not a log, it is damaged or its format is newer, or another process
            appends to it.
        """
        try:
            if not self._path.exists():
                raise LogError(
                    f"{self.source}: there is no such folder; name the one of podwright simulate "
                    "--out, or of a decision log"
                )
            files = self._files()
            if not files:
                raise LogError(f"{self.source} holds no decision log (no *{SUFFIX} files)")
            # Before the scan: no other writer may append frames after it.
            if append:
                self._acquire_lock()
            frames: list[Frame] = []
            for number, file in enumerate(files):
                frames += _scan(file, number, is_last=number == len(files) - 1)
        except OSError as error:
            raise LogError(f"{self.source} cannot be read: {error.strerror or error}") from error
        return frames

    def append_after(self, frame: Frame) -> None:
        """Append after this frame; later frames are truncated at the first append."""
        self._append_after = frame

    def _cut_off(self, frame: Frame) -> None:
        end = frame.offset + frame.head.length
        # From the end on: whatever stops this, a log without its last part is left.
        for file in reversed(self._files()[frame.segment + 1 :]):
            file.unlink()
        segment = self._file_of(frame.segment)
        self._file = segment.open("ab", buffering=0)
        if segment.stat().st_size > end:
            self._file.truncate(end)
        self._segment, self._size_bytes = frame.segment, end
        self._append_after = None

    def _acquire_lock(self) -> None:
        """Lock the log for this writer, until it closes the log or its process ends."""
        self._lock = self._file_of(0).open("rb")
        try:
            lock_file(self._lock)
        except BlockingIOError as error:
            self._lock.close()
            raise LogError(
                f"{self.source} is locked: another process is writing to it; wait until it ends,"
                " or record into another folder"
            ) from error

    def _files(self) -> list[Path]:
        return sorted(self._path.glob(f"*{SUFFIX}"))

    def append(self, head: FrameHead, payload: bytes) -> Frame:
        """Add a frame.

        Raises
        ------
        LogError
            If it cannot be written; the log then ends where it ended before.
        """
        try:
            if self._append_after is not None:
                self._cut_off(self._append_after)
            if self._size_bytes >= SEGMENT_LIMIT_BYTES:
                self._begin_segment(self._segment + 1)
            file = self._file
            assert file is not None, f"{self.source} was opened to be read"
            _write_whole(file, head.encode() + payload, self._size_bytes)
        except OSError as error:
            raise LogError(
                f"{self.source} cannot be written: {error.strerror or error}; what was not"
                " written is kept, and written when there is room"
            ) from error
        frame = Frame(head, self._segment, self._size_bytes + FRAME_HEAD_BYTES)
        self._size_bytes += FRAME_HEAD_BYTES + len(payload)
        return frame

    def read(self, frame: Frame) -> bytes:
        """Return the payload of a frame."""
        with self._file_of(frame.segment).open("rb") as file:
            file.seek(frame.offset)
            return file.read(frame.head.length)

    def sync(self) -> None:
        """Flush all frames to disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the current segment, and release the lock."""
        for file in (self._file, self._lock):
            if file is not None:
                file.close()
        self._file = self._lock = None

    def _begin_segment(self, number: int) -> None:
        if self._file is not None:
            # Only the last segment may end in a partial frame, also after a power failure.
            self.sync()
        # If this fails, the segment before stays the current one, and the next frame begins this
        # one again; readers ignore a last segment without a whole head.
        file = open_private(self._file_of(number), "wb" if number else "xb", buffering=0)
        try:
            _write_whole(file, segment_head(number), 0)
        except OSError:
            file.close()
            raise
        if self._file is not None:
            self._file.close()
        self._file, self._segment, self._size_bytes = file, number, SEGMENT_HEAD_BYTES

    def _file_of(self, segment: int) -> Path:
        return self._path / f"{segment:08}{SUFFIX}"


def _write_whole(file: BinaryIO, data: bytes, size_bytes: int) -> None:
    """Write at the end of a file of a size, which it has again if that fails."""
    try:
        written = file.write(data)
        while written < len(data):
            written += file.write(data[written:])
    except OSError:
        # Readers ignore a partial frame at the end of the log only, so nothing may follow it.
        # Without the seek, the next write would leave a hole.
        file.truncate(size_bytes)
        file.seek(size_bytes)
        raise


def frames_until(frames: list[Frame], until: int | None, *, source: str) -> list[Frame]:
    """Return the frames up to a number of events.

    Raises
    ------
    LogError
        If there is no header, or no block ends there.
    """
    if not frames or frames[0].head.kind != HEADER:
        raise LogError(f"{source} has no header: nothing was recorded before its writer ended")
    if until is None:
        return frames
    ends = [frame.end for frame in frames]
    if until not in ends:
        before = max((end for end in ends if end < until), default=0)
        raise LogError(
            f"{source} cannot be cut back to {until} events: no block ends there, the one before"
            f" ends at {before}; it was left as it is"
        )
    # The last frame with this end: a checkpoint ends at the same event as the block before it.
    return frames[: len(ends) - ends[::-1].index(until)]


def _scan(file: Path, number: int, *, is_last: bool) -> list[Frame]:
    """Return the complete frames of a segment."""
    source, size_bytes = str(file), file.stat().st_size
    frames: list[Frame] = []
    with file.open("rb") as segment:
        data = segment.read(SEGMENT_HEAD_BYTES)
        # A writer ended while it started this segment; the log ends with the segment before.
        if len(data) < SEGMENT_HEAD_BYTES and is_last and number:
            return []
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
    return frames

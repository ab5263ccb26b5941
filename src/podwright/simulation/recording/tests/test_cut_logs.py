"""A log whose last bytes are missing ends with its last whole block; any other cut is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from podwright.simulation.recording.log import log_files
from podwright.simulation.recording.log.log_files import Folder, Frame
from podwright.simulation.recording.log.log_format import (
    EVENTS,
    FRAME_HEAD_BYTES,
    HEADER,
    SEGMENT_HEAD_BYTES,
    FrameHead,
    LogError,
)

TEXTS = (b"header", b"abc", b"", b"defg")
WHOLE = SEGMENT_HEAD_BYTES + sum(FRAME_HEAD_BYTES + len(text) for text in TEXTS)


def head(kind: int, first: int, length: int) -> FrameHead:
    return FrameHead(
        kind=kind, length=length, checksum=0, first=first, count=1, first_ns=0, last_ns=0
    )


def written(path: Path) -> list[Frame]:
    """Write a log of four blocks; return them."""
    folder = Folder(path)
    folder.create()
    frames = [
        folder.append(head(EVENTS if number else HEADER, number, len(text)), text)
        for number, text in enumerate(TEXTS)
    ]
    folder.close()
    return frames


def files_of(path: Path) -> list[Path]:
    return sorted(path.glob("*.pwlog"))


def cut(file: Path, size_bytes: int) -> None:
    file.write_bytes(file.read_bytes()[:size_bytes])


@pytest.mark.parametrize("size_bytes", range(SEGMENT_HEAD_BYTES, WHOLE + 1))
def test_a_log_of_one_segment_ends_with_its_last_whole_block(tmp_path, size_bytes):
    frames = written(tmp_path)
    (file,) = files_of(tmp_path)
    assert file.stat().st_size == WHOLE
    cut(file, size_bytes)
    whole = [each for each in frames if each.offset + each.head.length <= size_bytes]
    folder = Folder(tmp_path)
    assert folder.open(append=False) == whole
    assert [folder.read(each) for each in whole] == list(TEXTS[: len(whole)])
    assert file.stat().st_size == size_bytes, "a reader changes nothing"


@pytest.mark.parametrize("size_bytes", range(SEGMENT_HEAD_BYTES))
def test_a_log_without_a_whole_head_is_none(tmp_path, size_bytes):
    written(tmp_path)
    (file,) = files_of(tmp_path)
    cut(file, size_bytes)
    with pytest.raises(LogError) as error:
        Folder(tmp_path).open(append=False)
    assert str(error.value) == (f"{file} is too short to be a decision log; it was left as it is")


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("missing_bytes", [0, 1, FRAME_HEAD_BYTES, FRAME_HEAD_BYTES + 1, 1_000])
def test_of_several_segments_only_the_last_may_be_cut(tmp_path, monkeypatch, number, missing_bytes):
    monkeypatch.setattr(log_files, "SEGMENT_LIMIT_BYTES", SEGMENT_HEAD_BYTES + 1)
    frames = written(tmp_path)
    files = files_of(tmp_path)
    assert len(files) == len(frames) == 4
    file = files[number]
    before = file.stat().st_size
    cut(file, max(before - missing_bytes, 0))
    is_last = number == 3
    left = file.stat().st_size
    if not missing_bytes:
        assert Folder(tmp_path).open(append=False) == frames
    elif is_last:
        assert Folder(tmp_path).open(append=False) == frames[:3]
    elif left == SEGMENT_HEAD_BYTES:
        # A segment without a block: the next one does not follow, or its events are missing.
        assert Folder(tmp_path).open(append=False) == [
            each for each in frames if each.segment != number
        ]
    else:
        with pytest.raises(LogError) as error:
            Folder(tmp_path).open(append=False)
        end = (
            "is too short to be a decision log; it was left as it is"
            if left < SEGMENT_HEAD_BYTES
            else "ends in the middle of a block, and is not the last"
        )
        assert str(error.value) == f"{file} {end}"


def test_a_writer_that_is_stopped_while_it_cuts_leaves_a_log_without_its_last_part(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(log_files, "SEGMENT_LIMIT_BYTES", SEGMENT_HEAD_BYTES + 1)
    frames = written(tmp_path)
    files = files_of(tmp_path)
    unlink = Path.unlink

    def unlink_others(path: Path) -> None:
        if path == files[2]:
            raise OSError("no permission")
        unlink(path)

    folder = Folder(tmp_path)
    assert folder.open(append=True) == frames
    folder.append_after(frames[0])
    monkeypatch.setattr(Path, "unlink", unlink_others)
    with pytest.raises((OSError, LogError), match="no permission"):
        folder.append(head(EVENTS, 1, 4), b"defg")
    folder.close()
    assert files_of(tmp_path) == files[:3]
    assert Folder(tmp_path).open(append=False) == frames[:3]


def test_a_writer_continues_behind_the_last_whole_block(tmp_path):
    frames = written(tmp_path)
    (file,) = files_of(tmp_path)
    cut(file, WHOLE - 1)
    folder = Folder(tmp_path)
    assert folder.open(append=True) == frames[:3]
    folder.append_after(frames[2])
    again = folder.append(head(EVENTS, 3, 4), b"defg")
    folder.close()
    assert again == frames[3]
    assert Folder(tmp_path).open(append=False) == frames

"""The kinds of frames stand in files: another number is another format."""

import msgspec
import pytest

from podwright.simulation.recording.log import log_format


def test_the_kinds_of_frames():
    assert log_format.HEADER == 1
    assert log_format.EVENTS == 2
    assert log_format.CHECKPOINT == 3
    assert log_format.OBJECTS == 4


@pytest.mark.parametrize("length", [0, 15, 16, 31, 32, 65_535, 65_536])
def test_the_items_of_an_array_are_what_follows_its_head(length):
    items = [0] * length
    assert log_format._encoded_items(items) == bytes(length)
    assert log_format._array_head(length) + bytes(length) == msgspec.msgpack.encode(items)

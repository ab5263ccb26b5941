"""The kinds of frames stand in files: another number is another format."""

from podwright.simulation.recording.log import log_format


def test_the_kinds_of_frames():
    assert log_format.HEADER == 1
    assert log_format.EVENTS == 2
    assert log_format.CHECKPOINT == 3
    assert log_format.OBJECTS == 4

"""The kinds of frames stand in files: another number is another format."""

import msgspec
import pytest

from podwright.scheduler.machine import SchedulerOptions
from podwright.simulation.recording.folders.run_manifest import Manifest
from podwright.simulation.recording.log import log_format
from podwright.simulation.recording.log.record import options_of


def test_the_kinds_of_frames():
    assert log_format.HEADER == 1
    assert log_format.EVENTS == 2
    assert log_format.CHECKPOINT == 3
    assert log_format.OBJECTS == 4


@pytest.mark.parametrize(
    ("times", "limits"),
    [
        pytest.param((5, 6, 9), (3, 5, 9), id="the times of the first and the last event"),
        pytest.param((), (0, 0, 0), id="no events, and no times"),
    ],
)
def test_the_head_of_a_frame_has_the_times_of_its_events(
    times: tuple[int, ...], limits: tuple[int, int, int]
) -> None:
    head, payload = log_format.encode_frame(log_format.EVENTS, (), first=7, times=times, level=0)
    assert (head.count, head.first_ns, head.last_ns) == limits
    assert (head.first, head.length) == (7, len(payload))


def test_a_setup_without_options_is_that_of_a_scheduler_without_options():
    read, options = options_of(msgspec.convert({}, log_format.Setup)), SchedulerOptions()
    for name in (
        "configuration",
        "plugins",
        "gates",
        "seed",
        "tie_rule",
        "draws_preemption_offset",
    ):
        assert getattr(read, name) == getattr(options, name), name


def test_a_manifest_without_options_is_that_of_a_run_without_options():
    read = msgspec.convert({"startNs": 5}, Manifest)
    assert (read.status, read.seed, read.start_ns, read.until_ns) == ("running", 0, 5, None)
    assert (read.inputs, read.configuration, read.gates, read.options) == ((), {}, {}, {})
    assert read.warnings == ()


@pytest.mark.parametrize("length", [0, 15, 16, 31, 32, 65_535, 65_536])
def test_the_items_of_an_array_are_what_follows_its_head(length):
    items = [0] * length
    assert log_format._encoded_items(items) == bytes(length)
    assert log_format._array_head(length) + bytes(length) == msgspec.msgpack.encode(items)

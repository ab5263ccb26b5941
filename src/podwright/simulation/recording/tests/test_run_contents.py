"""When a run began and ended, by its folder and its log."""

from __future__ import annotations

import pytest

from podwright.scheduler.machine import CycleDue
from podwright.simulation.recording.folders.run_contents import end_of_run, start_of_run
from podwright.simulation.recording.folders.run_folder import RunFolder
from podwright.simulation.recording.folders.run_manifest import Manifest
from podwright.simulation.recording.log.decision_log import DecisionLog
from podwright.simulation.recording.log.log_format import Setup

SECOND = 1_000_000_000


def logged(*seconds: int) -> DecisionLog:
    log = DecisionLog.create(None, Setup(start_ns=2 * SECOND))
    for each in seconds:
        log.append(each * SECOND, CycleDue(), [])
    return log


def test_a_log_by_itself_ends_with_its_last_event(tmp_path):
    assert start_of_run(tmp_path, logged(5, 7)) == logged(5, 7).start_ns
    assert end_of_run(tmp_path, logged(5, 7)) == 7 * SECOND
    assert end_of_run(tmp_path, logged()) == logged().start_ns


@pytest.mark.parametrize(
    ("start", "events", "expected"),
    [(2, (5, 7), 2), (0, (5, 7), 5), (2, (), 2), (0, (), 0)],
    ids=["of the setup", "of the first event", "without events", "nothing is known"],
)
def test_a_log_starts_with_its_setup_or_with_its_first_event(start, events, expected):
    log = DecisionLog.create(None, Setup(start_ns=start * SECOND))
    for each in events:
        log.append(each * SECOND, CycleDue(), [])
    assert log.start_ns == expected * SECOND


@pytest.mark.parametrize(
    ("end", "expected"),
    [("1970-01-01T00:00:09Z", 9), ("1970-01-01T00:00:03Z", 7), (None, 7), ("", 7)],
)
def test_a_run_ends_when_its_summary_says_unless_its_log_goes_on(tmp_path, end, expected):
    folder = RunFolder.create(tmp_path / "run", Manifest(seed=1, start_ns=4 * SECOND))
    if end is not None:
        folder.write_end({"end": end}, "", [])
    folder.release()
    assert start_of_run(folder.path, logged(5, 7)) == 4 * SECOND
    assert end_of_run(folder.path, logged(5, 7)) == expected * SECOND


@pytest.mark.parametrize("end", ["", "1970-01-01T00:00:00Z"])
def test_a_run_in_which_nothing_happened_at_the_epoch_lasts_no_time(tmp_path, end):
    folder = RunFolder.create(tmp_path / "run", Manifest(seed=1, start_ns=0))
    folder.write_end({"end": end}, "", [])
    folder.release()
    log = DecisionLog.create(None, Setup())
    assert (start_of_run(folder.path, log), end_of_run(folder.path, log)) == (0, 0)

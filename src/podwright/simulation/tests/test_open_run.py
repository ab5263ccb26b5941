"""A run that is opened from its folder equals the run that wrote the folder."""

from __future__ import annotations

import msgspec
import pytest

import podwright as pw
from podwright.recording import TABLES
from podwright.recording.run_folder import RunError
from podwright.simulation.run import Run
from podwright.simulation.tests.test_simulation import StoppedError, played, stop_after
from podwright.testing import make_node, make_pod

pytest.importorskip("pyarrow")

__all__ = ["stop_after"]


def assert_equal(opened: Run, run: Run) -> None:
    assert opened.node_of == run.node_of
    assert opened.pending == run.pending
    assert opened.summary == run.summary
    assert opened.warnings == run.warnings
    assert len(opened.log) == len(run.log)
    assert list(opened.tables) == list(run.tables) == list(TABLES)
    for name in TABLES:
        assert opened.tables[name].equals(run.tables[name]), name


def test_a_finished_run_is_opened(tmp_path):
    run = played(tmp_path / "run")
    opened = pw.Run.open(tmp_path / "run")
    assert_equal(opened, run)
    pod = next(iter(run.node_of))
    assert opened.explain(pod) == run.explain(pod)


def test_a_run_without_tables_replays_its_log(tmp_path):
    run = played(tmp_path / "run")
    for file in (tmp_path / "run/tables").iterdir():
        file.unlink()
    opened = pw.Run.open(str(tmp_path / "run"))
    assert opened.tables["decisions"].equals(run.tables["decisions"])
    assert opened.summary == run.summary


def test_a_run_whose_process_died_is_opened_at_its_last_event(tmp_path, stop_after):
    folder = tmp_path / "run"
    stop_after(60)
    with pytest.raises(StoppedError):
        played(folder, checkpoint_events=5)
    opened = pw.Run.open(folder)
    assert len(opened.log) > 0
    assert opened.node_of
    assert opened.summary.counts.placed == len(opened.node_of)
    assert opened.tables["decisions"].num_rows == opened.summary.counts.decisions
    pod = next(iter(opened.node_of))
    assert opened.explain(pod).decision.node == opened.node_of[pod]


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"is not a run folder: .*manifest\.json: No such file"):
        pw.Run.open(tmp_path)
    with pytest.raises(pw.ArgumentError, match="folder: the path of a run folder is expected, not"):
        pw.Run.open(3)  # type: ignore[arg-type]


def test_damaged_results_are_reported(tmp_path):
    pw.simulate([make_node("n1"), make_pod("web")], output=tmp_path / "run")
    summary = tmp_path / "run/summary.json"
    summary.write_bytes(msgspec.json.encode({"start": 3}))
    with pytest.raises(RunError, match=r"summary\.json cannot be read"):
        pw.Run.open(tmp_path / "run")
    (tmp_path / "run/objects.json").write_text("[")
    with pytest.raises(RunError, match=r"cannot be read"):
        pw.Run.open(tmp_path / "run")

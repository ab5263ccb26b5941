"""Runs opened from their folders, and explanations of many attempts."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

import podwright as pw
from podwright._plots import picture
from podwright.simulation.recording import TABLES, log_of, open_log
from podwright.simulation.recording.folders.run_folder import RunFolder
from podwright.simulation.recording.folders.run_manifest import RunError
from podwright.simulation.world.runs.run import Run
from podwright.simulation.world.runs.run_plot import plot_run
from podwright.simulation.world.tests.test_simulation import StoppedError, played, stop_after
from podwright.simulation.world.world import World
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


def test_a_run_has_one_figure_in_memory_and_in_a_folder(tmp_path):
    figure = played(tmp_path / "run").plot()
    use, pending, waits = figure.axes
    assert tuple(figure.get_size_inches()) == (11, 3.2)
    assert use.get_ylabel() == "requested (% of allocatable)"
    assert use.get_xlabel() == pending.get_xlabel()
    assert "placed pods (%)" in waits.get_ylabel()
    assert "cpu" in [line.get_label() for line in use.lines]
    assert {line.get_linewidth() for panel in figure.axes for line in panel.lines} == {1}
    assert picture(figure) == picture(pw.Run.open(tmp_path / "run").plot())


def test_a_table_of_another_name_is_missing_and_all_are_listed():
    tables = pw.simulate([pw.testing.make_node("n", cpu="4")]).tables
    with pytest.raises(KeyError, match="rounds"):
        tables["rounds"]
    shown = tables._repr_html_()
    assert shown.index("Tables") < shown.index("waits")
    assert ", ".join(TABLES["waits"]) in shown


def test_a_run_in_which_no_pod_waits_says_so():
    run = pw.simulate([pw.testing.make_node("n", cpu="4"), pw.testing.make_pod("a", cpu="1")])
    (nothing,) = run.plot().axes[1].texts
    assert (nothing.get_text(), nothing.get_position()) == ("no pod waits", (0.5, 0.5))


@pytest.mark.parametrize(
    ("seconds", "unit", "one"),
    [
        (0, "s", 1),
        (119, "s", 1),
        (120, "min", 60),
        (7_199, "min", 60),
        (7_200, "hours", 3_600),
        (172_799, "hours", 3_600),
        (172_800, "days", 86_400),
    ],
)
@pytest.mark.parametrize("is_pending", [False, True])
def test_the_axes_of_time_have_the_unit_of_the_longest_table(seconds, unit, one, is_pending):
    start_ns = 5 * 10**9
    times = [[start_ns], [start_ns + seconds * 10**9]]
    tables = {
        "utilization": {"time": times[not is_pending], "resource": ["cpu"], "share": [0.5]},
        "pending": {"time": times[is_pending], "reason": ["r"], "pods": [2]},
        "waits": {"outcome": ["Scheduled", "Pending"], "wait_ns": [seconds * 10**9, 10**18]},
    }
    use, pending, waits = plot_run(tables.__getitem__, start_ns).axes
    assert use.get_xlabel() == pending.get_xlabel() == f"time since the start ({unit})"
    own = (pending if is_pending else use).get_lines()[0]
    assert np.asarray(own.get_xdata()).tolist() == [seconds / one]
    heights = [np.asarray(each.get_lines()[0].get_ydata()).tolist() for each in (use, pending)]
    assert heights == [[50], [2]]
    assert waits.get_xlabel() == f"wait until scheduled ({unit})"
    assert waits.get_ylabel() == "share of 1 placed pods (%)"
    (line,) = waits.get_lines()
    last = pytest.approx(1.05 * seconds / one or 1)
    assert np.asarray(line.get_xdata()).tolist() == [0, seconds / one, last]
    assert np.asarray(line.get_ydata()).tolist() == [0, 100, 100]
    assert waits.get_ylim() == (0, 105)
    assert list(waits.get_xlim()) == [0, last]
    for panel in (use, pending):
        legend = panel.get_legend()
        assert legend is not None
        assert not legend.get_frame_on()
        assert panel.get_ylim()[0] == 0
        assert panel.get_xlim() == use.get_xlim()


def test_a_run_without_tables_replays_its_log(tmp_path):
    run = played(tmp_path / "run")
    for file in (tmp_path / "run/tables").iterdir():
        file.unlink()
    opened = pw.Run.open(str(tmp_path / "run"))
    assert opened.tables["decisions"].equals(run.tables["decisions"])
    assert opened.summary == run.summary
    assert opened.rows("waits") == run.rows("waits")


@pytest.mark.parametrize("sample", ["1s", "5m"])
def test_tables_of_a_log_have_the_samples_of_the_run(tmp_path, sample):
    expected = played(tmp_path / "run", sample=sample).rows("utilization")
    for file in (tmp_path / "run/tables").iterdir():
        file.unlink()
    assert pw.Run.open(tmp_path / "run").rows("utilization") == expected


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
    with pytest.raises(pw.ArgumentError, match="folder: must be the path of a run folder, not"):
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


def test_a_finished_run_whose_log_was_cut_is_reported(tmp_path):
    played(tmp_path / "run")
    segment = tmp_path / "run/log/00000000.pwlog"
    segment.write_bytes(segment.read_bytes()[:-1])
    message = "run is not complete: its log has 0 of "
    for read in (pw.Run.open, lambda path: pw.diff(path, path), log_of, open_log):
        with pytest.raises(RunError, match=message):
            read(tmp_path / "run")
    assert len(open_log(tmp_path / "run/log")) == 0, "nothing is known of a log alone"


def test_all_attempts_are_explained_in_the_order_of_their_cycles():
    run = played(None)
    found = list(run.explain_all())
    assert [one.pod.key for one in found] == [pod for _, pod in sorted(run.log.cycles())]
    for one in found[::5]:
        alone = run.explain(one.pod.key, one.attempt)
        assert str(one) == str(alone)
        # Candidates of preemption are computed on access and have no equality.
        assert replace(one, decision=alone.decision) == alone


def test_attempts_are_chosen_by_pod_and_time():
    run = played(None)
    of_huge = [one.attempt for one in run.explain_all(pods=["default/huge"])]
    assert of_huge == list(range(1, len(of_huge) + 1))
    assert len(of_huge) > 1
    of_first = list(run.explain_all("default/first", between=("9m", "2026-01-01T00:09:00Z")))
    # The victims of the first attempt are gone at once, so the second one has the same time.
    assert [(one.pod.name, one.attempt) for one in of_first] == [("first", 1), ("first", 2)]
    assert not list(run.explain_all(between=("10h", None)))
    every = len(list(run.explain_all()))
    early = len(list(run.explain_all(between=(None, "9m"))))
    assert 0 < early < every
    with pytest.raises(pw.UnknownCycle, match="did you mean default/huge"):
        run.explain_all(["default/hug"])
    with pytest.raises(pw.UnknownCycle, match="in this log; did you mean default/huge"):
        run.explain("huge")
    with pytest.raises(pw.ArgumentError, match="between: 1m is before 2m"):
        run.explain_all(between=("2m", "1m"))
    for times, places in ((("soon", None), [0]), ((None, "soon"), [1]), (("x", "y"), [0, 1])):
        with pytest.raises(pw.InputError) as wrong:
            run.explain_all(between=times)
        assert [str(each).partition("]")[0] for each in wrong.value.errors] == [
            f"between[{place}" for place in places
        ]
    with pytest.raises(pw.ArgumentError, match=r"^between: must be a pair of times, not 1 values$"):
        run.explain_all(between=("1m",))  # type: ignore[arg-type]


def test_scores_of_many_explanations_are_one_table():
    run = played(None)
    table = pw.to_arrow(run.explain_all())
    assert table.column_names == [
        "pod",
        "attempt",
        "node",
        "plugin",
        "raw",
        "normalized",
        "weight",
        "weighted",
    ]
    expected = [
        (one.pod.key, one.attempt, node, scores.plugin, raw, scores.normalized[node])
        for one in run.explain_all()
        for scores in one.scores
        for node, raw in scores.raw.items()
    ]
    rows = table.to_pylist()
    assert [tuple(row.values())[:6] for row in rows] == expected
    assert all(row["weighted"] == row["weight"] * row["normalized"] for row in rows)
    assert rows


@pytest.mark.parametrize("limit", [3, 60])
def test_ctrl_c_marks_the_folder_as_interrupted_and_the_run_is_resumed(
    tmp_path, monkeypatch, limit
):
    folder, step, count = tmp_path / "run", World.step_until_ns, 0

    def interrupted_step(world: World, until_ns: int | None = None) -> bool:
        nonlocal count
        count += 1
        if count > limit:
            raise KeyboardInterrupt
        return step(world, until_ns)

    with monkeypatch.context() as patched:
        patched.setattr(World, "step_until_ns", interrupted_step)
        with pytest.raises(KeyboardInterrupt):
            played(folder, checkpoint_events=20)
    assert RunFolder.open(folder).manifest.status == "interrupted"
    assert not (folder / ".lock").exists()
    summary = pw.Run.open(folder).summary
    assert summary.is_interrupted
    assert bool(summary.counts.created) == (limit > 3), "the first steps have no scheduler events"
    resumed = played(folder, checkpoint_events=20, resume=True)
    assert resumed.node_of == played(None).node_of
    assert RunFolder.open(folder).manifest.status == "finished"


def test_a_run_that_was_interrupted_before_its_first_event_is_refused(tmp_path):
    folder = tmp_path / "run"
    played(folder)
    manifest = folder / "manifest.json"
    written = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(written | {"status": "interrupted"}))
    pw.Run.open(folder)
    for file in (folder / "log").iterdir():
        file.unlink()
    with pytest.raises(RunError, match="the run was interrupted before its first event; resume"):
        pw.Run.open(folder)

"""`compare` says how the figures of two runs differ, also of runs in folders."""

from __future__ import annotations

import pickle

import pytest

import podwright as pw
from podwright.simulation.world.runs import run as run_module
from podwright.simulation.world.runs.run_comparison import Figure, figures
from podwright.testing import make_node, make_pod

NODES = [make_node("n1", cpu=2), make_node("n2", cpu=2)]
PODS = [make_pod(f"p{number}", cpu=1, priority=number % 2) for number in range(4)]


@pytest.fixture(scope="module")
def runs():
    return (
        pw.simulate([*NODES[:1], *PODS], until="1m"),
        pw.simulate([*NODES, *PODS], until="2m"),
    )


def test_counts_waits_and_shares_stand_side_by_side(runs):
    found = pw.compare(*runs)
    by_name = {each.name: each for each in found.figures}
    assert [by_name[name].before for name in ("created", "placed", "pending")] == [4, 2, 2]
    assert [by_name[name].after for name in ("created", "placed", "pending")] == [4, 4, 0]
    assert by_name["placed"].change == 2
    assert by_name["cpu mean"].before == 1.0
    (reason,) = [name for name in by_name if name.startswith("pending: ")]
    assert (by_name[reason].before, by_name[reason].after) == (2, 0)
    assert not found.is_same
    assert any("different lengths" in note for note in found.notes)
    assert any("placed pods only" in note for note in found.notes)
    shown = found._repr_html_()
    assert "<strong>Two runs</strong>" in shown
    parts = ("Two runs", "Figure", "Before", "After", "Change", "created")
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)


def test_waits_are_told_apart_by_priority(runs):
    names = [each.name for each in pw.compare(*runs).figures]
    assert "wait of priority 1 p90" in names
    by_name = {each.name: each for each in pw.compare(*runs).figures}
    assert (by_name["wait of priority 0: pods"].before) == 0
    assert by_name["wait of priority 0 mean"].before is None


def test_all_figures_have_their_units_and_those_of_one_run_stand_last(runs):
    """What a run lacks is none of its pods, and unknown where there is nothing to measure."""
    first, second = ({name: (unit, value) for name, unit, value in figures(run)} for run in runs)
    found = pw.compare(*runs).figures
    assert [each.name for each in found] == [
        *first,
        *(each for each in second if each not in first),
    ]
    for each in found:
        unit = (first | second)[each.name][0]
        is_count = each.name.startswith("pending: ") or each.name.endswith(": pods")
        absent = (unit, 0 if is_count else None)
        assert (each.unit, each.before) == first.get(each.name, absent)
        assert (each.unit, each.after) == second.get(each.name, absent)
    units = {each.name: each.unit for each in found}
    assert [units[name] for name in ("created", "pending", "wait: pods", "wait p99")] == [
        "pods", "pods", "pods", "s"
    ]  # fmt: skip
    assert [units[f"cpu {name}"] for name in ("mean", "peak", "fragmented")] == ["share"] * 3


def test_a_run_is_the_same_as_itself_in_a_folder(tmp_path):
    pytest.importorskip("pyarrow")
    run = pw.simulate([*NODES, *PODS], until="1m", output=tmp_path / "run")
    found = pw.compare(run, tmp_path / "run")
    assert found.is_same
    assert found.notes == ()
    assert repr(found) == f"<RunComparison: 0 of {len(found.figures)} figures differ>"


def test_a_run_from_another_process_is_compared_by_the_figures_that_it_brought(runs, monkeypatch):
    copied = pickle.loads(pickle.dumps(runs[0]))
    monkeypatch.setattr(run_module, "tables_of_log", None)
    assert pw.compare(runs[0], copied).is_same


@pytest.mark.parametrize(
    ("unit", "values", "cells"),
    [
        ("share", (0.667, 0.703), ("66.70%", "70.30%", "+3.60%")),
        ("s", (1234.5, 0.25), ("1,234.5s", "0.25s", "-1,234.25s")),
        ("pods", (1000, 1000), ("1,000", "1,000", "0")),
        ("share", (None, 0.5), ("-", "50.00%", "-")),
    ],
)
def test_figures_have_their_units(unit, values, cells):
    before, after = values
    assert Figure(name="f", unit=unit, before=before, after=after).cells() == cells


def test_what_is_not_a_run_is_refused():
    with pytest.raises(TypeError, match="before"):
        pw.compare(3, 4)  # type: ignore[arg-type]  # wrong on purpose

"""What speaks for and against a tuned configuration."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from podwright._plots import line_style
from podwright.online.sweep.goals import Goal
from podwright.online.sweep.summary import SweepFigure, SweepSummary
from podwright.online.sweep.tuning.evidence import (
    Comparison,
    TunedTrial,
    TuningResult,
    is_worse,
)
from podwright.simulation.studies import Interval

PLACED = Goal("placed", is_greatest=True)
WAIT = Goal("wait p99")
UP, DOWN, UNCLEAR = Interval(2.0, 1.0, 1.0), Interval(-2.0, 1.0, 1.0), Interval(1.0, 1.0, 3.0)


def figure(name: str, change: Interval | None, configuration: str = "tuned") -> SweepFigure:
    return SweepFigure("x", configuration, name, "pods", 3, Interval(9.0, 1.0, 1.0), change)


@pytest.mark.parametrize(
    ("name", "if_greater", "if_less"),
    [
        ("wait p99", True, False),
        ("pending", True, False),
        ("pending: Insufficient cpu", True, False),
        ("failed", True, False),
        ("preemptions", True, False),
        ("victims", True, False),
        ("cpu fragmented", True, False),
        ("placed", False, True),
        ("succeeded", False, True),
        ("placed: pods", False, False),
        ("waiting: pods", False, False),
        ("cpu mean", False, False),
        ("nodes", False, False),
    ],
)
def test_a_figure_is_worse_in_the_direction_that_its_name_has(name, if_greater, if_less):
    assert is_worse(figure(name, UP)) is if_greater
    assert is_worse(figure(name, DOWN)) is if_less
    assert is_worse(figure(name, Interval(0.5, 0.1, 0.1))) is if_greater
    assert is_worse(figure(name, Interval(-0.5, 0.1, 0.1))) is if_less
    assert not is_worse(figure(name, UNCLEAR))
    assert not is_worse(figure(name, None))
    assert not is_worse(figure(name, UP, "today"))
    assert not is_worse(figure(name, DOWN, "today"))


@pytest.mark.parametrize(
    ("goal", "change", "verdict"),
    [
        (PLACED, UP, "better"),
        (PLACED, DOWN, "worse"),
        (WAIT, UP, "worse"),
        (WAIT, DOWN, "better"),
        (WAIT, UNCLEAR, "no difference"),
    ],
)
def test_a_verdict_has_the_direction_of_the_goal(goal, change, verdict):
    assert Comparison("x", "today", goal, 3, change).verdict == verdict


def result(**changes: Any) -> TuningResult:
    trials = (
        TunedTrial(0, {"p": 1}, "complete", (5.0,), True),
        TunedTrial(1, {"p": 2}, "complete", (4.0,), False),
        TunedTrial(2, {"p": 3}, "pruned", (), True),
        TunedTrial(3, {"p": 4}, "complete", (3.0,), True),
        TunedTrial(4, {"p": 5}, "complete", (6.0,), True),
    )
    figures = (figure("wait p99", UP), figure("placed", UP), figure("pending", UP))
    given: dict[str, Any] = {
        "configuration": {"kind": "é", "b": 1},
        "best": 3,
        "front": (3,),
        "trials": trials,
        "goals": (WAIT,),
        "held_out": SweepSummary(figures, (), 0),
        "comparisons": (
            Comparison("x", "today", WAIT, 3, DOWN),
            Comparison("x", "other", PLACED, 1, UNCLEAR),
        ),
        "placements": None,
    }
    return TuningResult(**given | changes)


def test_the_sentences_say_what_is_better_and_what_is_worse():
    assert list(result().sentences()) == [
        "x, wait p99: better than today (-2 ±1, 3 held-out seeds).",
        "x, placed: no difference from other (+1 on one held-out seed).",
        "It makes worse: wait p99, pending.",
    ]
    nothing = result(held_out=SweepSummary((), (), 0), comparisons=())
    assert list(nothing.sentences()) == ["It makes worse: nothing that was measured."]
    assert list(result(best=None).sentences()) == ["No trial satisfies the constraints."]


def test_the_evidence_is_written_with_the_configuration_if_there_is_one(tmp_path):
    result().write(tmp_path)
    document = json.loads((tmp_path / "evidence.json").read_bytes())
    assert {
        name: document[name] for name in ("best", "front", "values", "goals", "placements", "worse")
    } == {
        "best": 3,
        "front": [3],
        "values": {"p": 4},
        "goals": ["wait p99"],
        "placements": None,
        "worse": [
            {"input": "x", "name": name, "change": {"mean": 2.0, "deviation": 1.0, "margin": 1.0}}
            for name in ("wait p99", "pending")
        ],
    }
    assert [(each["goal"], each["verdict"]) for each in document["comparisons"]] == [
        ("wait p99", "better"),
        ("+placed", "no difference"),
    ]
    assert document["heldOut"][0] == {
        "input": "x",
        "configuration": "tuned",
        "name": "wait p99",
        "unit": "pods",
        "runs": 3,
        "value": {"mean": 9.0, "deviation": 1.0, "margin": 1.0},
        "change": {"mean": 2.0, "deviation": 1.0, "margin": 1.0},
    }
    assert document["trials"][1] == {
        "number": 1,
        "values": {"p": 2},
        "state": "complete",
        "means": [4.0],
        "isAllowed": False,
    }
    text = (tmp_path / "best.yaml").read_text(encoding="utf-8")
    assert text == "b: 1\nkind: é\n"
    assert yaml.safe_load(text) == result().configuration
    (tmp_path / "none").mkdir()
    result(configuration=None, best=None).write(tmp_path / "none")
    assert [path.name for path in (tmp_path / "none").iterdir()] == ["evidence.json"]
    assert json.loads((tmp_path / "none/evidence.json").read_bytes())["values"] == {}


@pytest.mark.parametrize(("goal", "best"), [(WAIT, [5, 3, 3]), (PLACED, [5, 5, 6])])
def test_the_figure_has_the_trials_and_the_best_that_is_allowed_so_far(goal, best):
    (panel,) = result(goals=(goal,)).plot().axes
    allowed, not_allowed, so_far = panel.get_lines()
    assert np.asarray(allowed.get_xdata()).tolist() == [0, 3, 4]
    assert np.asarray(not_allowed.get_xdata()).tolist() == [1]
    assert np.asarray(so_far.get_data()).tolist() == [[0, 3, 4], best]
    assert [line.get_label() for line in panel.get_lines()] == [
        "trials",
        "not allowed",
        "best so far",
    ]
    assert [line.get_linewidth() for line in panel.get_lines()][-1] == 1
    colors = [line.get_color() for line in panel.get_lines()]
    assert colors == [line_style(index)["color"] for index in range(3)]
    assert so_far.get_linestyle() == line_style(2)["linestyle"]
    assert panel.get_ylabel() == f"{goal.figure}, mean of the seeds of trials"
    everything = tuple(each for each in result().trials if each.is_allowed)
    (panel,) = result(trials=everything).plot().axes
    assert [line.get_label() for line in panel.get_lines()] == ["trials", "best so far"]


def test_the_figure_is_of_the_first_of_several_goals():
    trials = tuple(
        TunedTrial(number, {}, "complete", (wait, placed), is_allowed)
        for number, (wait, placed, is_allowed) in enumerate(
            [(5.0, 1.0, True), (4.0, 2.0, False), (3.0, 9.0, True)]
        )
    )
    figure = result(goals=(WAIT, PLACED), trials=trials, best=2).plot()
    (panel,) = figure.axes
    assert [np.asarray(line.get_ydata()).tolist() for line in panel.get_lines()] == [
        [5.0, 3.0], [4.0], [5.0, 3.0],
    ]  # fmt: skip
    assert panel.get_ylabel() == "wait p99, mean of the seeds of trials"
    legend: Any = panel.get_legend()
    assert {each.get_fontsize() for each in legend.get_texts()} == {7}
    assert not legend.get_frame_on()
    assert figure.get_size_inches().tolist() == [7, 3.2]


def test_the_page_has_a_table_for_each_part_of_the_evidence():
    page = result().page("Tuning").decode()
    parts = re.findall(r"<strong>([^<]*)</strong>(<table>.*?</table>)", page, flags=re.DOTALL)
    tables = {
        title: [
            re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
            for row in re.findall(r"<tr>(.*?)</tr>", table, flags=re.DOTALL)
        ]
        for title, table in parts
    }
    assert list(tables) == [
        "Best configuration", "Held-out seeds", "What is worse", "Other figures", "Trials",
    ]  # fmt: skip
    assert tables["Best configuration"] == [["Parameter", "Value"], ["p", "4"]]
    assert tables["Trials"][0] == ["Trial", "State", "Allowed", "wait p99", "Values"]
    figures = {title: [row[1] for row in rows[1:]] for title, rows in tables.items()}
    assert figures["Held-out seeds"] == ["wait p99"]
    assert figures["What is worse"] == ["wait p99", "pending"]
    assert figures["Other figures"] == ["wait p99", "placed", "pending"]
    assert page.count("<svg") == 2
    without = result(best=None, goals=(Goal("absent"),)).page("Tuning").decode()
    assert "Best configuration" not in without
    assert without.count("<svg") == 1, "no figure of a goal"


def test_the_trials_are_drawn_with_other_markers_than_those_that_are_not_allowed():
    (panel,) = result().plot().axes
    allowed, not_allowed, so_far = panel.get_lines()
    assert [line.get_marker() for line in panel.get_lines()] == ["o", "x", "None"]
    assert len({line.get_color() for line in panel.get_lines()}) == 3
    assert allowed.get_markersize() == not_allowed.get_markersize() == 4
    assert so_far.get_drawstyle() == "steps-post"
    assert panel.get_xlabel() == "trial"


def test_the_page_has_the_trials_with_empty_cells_for_what_was_not_measured():
    page = result(goals=(WAIT, PLACED)).page("Tuning <1>").decode()
    assert "Tuning &lt;1&gt;" in page
    assert "It makes worse: wait p99, pending." in page
    rows = [row for row in page.split("<tr>") if "pruned" in row or "&quot;p&quot;:2" in row]
    cells = [[cell.partition("</td>")[0] for cell in row.split("<td")[1:]] for row in rows]
    assert [[cell.partition(">")[2] for cell in row] for row in cells] == [
        ["1", "complete", "no", "4", "", "{&quot;p&quot;:2}"],
        ["2", "pruned", "yes", "", "", "{&quot;p&quot;:3}"],
    ]


PLACEMENTS: Any = SimpleNamespace(
    differences=[1, 2], placements={"a": 0, "b": 0, "c": 0}, counts={"moved": 2}
)


def test_the_evidence_has_the_pods_that_are_placed_differently():
    found = result(placements=PLACEMENTS)
    assert list(found.sentences())[-1] == "Of 3 pods of the dump, 2 are placed differently."
    assert found.document()["placements"] == {"pods": 3, "different": 2, "counts": {"moved": 2}}
    assert not [each for each in result().sentences() if "placed differently" in each]


@pytest.mark.parametrize(
    ("runs", "margin"), [(1, "on one held-out seed"), (2, "±1, 2 held-out seeds")]
)
@pytest.mark.parametrize(
    ("change", "verdict"),
    [(UP, "worse than today (+2"), (DOWN, "better than today (-2"),
     (Interval(0.0, 1.0, 1.0), "no difference from today (+0")],
)  # fmt: skip
def test_a_sentence_has_the_verdict_the_change_and_how_sure_it_is(change, verdict, runs, margin):
    found = result(comparisons=(Comparison("x", "today", WAIT, runs, change),))
    assert next(found.sentences()) == f"x, wait p99: {verdict} {margin})."


def test_a_figure_that_is_worse_on_two_inputs_is_named_once():
    twice = (figure("pending", UP), figure("wait p99", UP), figure("pending", UP))
    found = result(held_out=SweepSummary(twice, (), 0), comparisons=())
    assert list(found.sentences()) == ["It makes worse: pending, wait p99."]
    assert [each.name for each in found.worse] == ["pending", "wait p99", "pending"]

"""Comparisons of placements as text: given differences, and all that is printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podwright.cli.decisions.diff_run import (
    _is_run,
    percent,
    place,
    print_diff,
    print_several,
    reason_text,
    summary,
)
from podwright.scheduler.assembly import Because, ScoreDifference
from podwright.simulation.recording import PlacementDiff, PodDifference, PodPlacement
from podwright.simulation.recording.comparison.placement_diff import NodeChanges, ResourceUse

SCORES = tuple(ScoreDifference(rule=f"P{i}", weighted=by) for i, by in enumerate((9, -3, 2, 1)))
ON = {name: PodPlacement(node=name) for name in ("a", "b", "c")}
PENDING = PodPlacement(message="0/3 nodes are available.")


@pytest.mark.parametrize(("because", "text"), [
    (Because(kind="priority", scores=SCORES), "P0 +9, P1 -3, P2 +2"),
    (Because(kind="draw"), "tied, another node was drawn"),
    (Because(kind="sampling", rule="x"), "not evaluated, enough feasible nodes were found before"),
    (Because(kind="predicate", rule="Fit", reasons=("cpu", "pods")), "Fit (cpu, pods)"),
    (Because(kind="predicate", rule="Fit"), "Fit"),
    (Because(kind="predicate", reasons=("cpu",)), "cpu"),
    (Because(kind="predicate"), ""),
])  # fmt: skip
def test_the_reason_of_a_side(because, text):
    assert reason_text(because) == text


def test_all_differences_of_scores_are_named_without_a_limit():
    because = Because(kind="priority", scores=SCORES)
    assert reason_text(because, limit=None) == "P0 +9, P1 -3, P2 +2, P3 +1"
    assert reason_text(because, limit=1) == "P0 +9"


def test_places_and_shares_as_text():
    nominated = PodPlacement(nominated="b")
    assert [*map(place, (None, ON["a"], PENDING, nominated))] == [
        "<absent>", "a", "<none>", "<none>, nominated to b"
    ]  # fmt: skip
    assert [*map(percent, (None, 0.0, 0.12345, 1.0))] == ["<none>", "0.0 %", "12.3 %", "100.0 %"]


def use(resource: str, **changes: Any) -> ResourceUse:
    given: dict[str, Any] = {
        "resource": resource,
        "requested": (1, 2),
        "allocatable": (4, 4),
        "share": (0.25, 0.5),
        "spread": (0.125, None),
    }
    return ResourceUse(**given | changes)


MOVED = PodDifference(
    pod="shop/web",
    counterpart="shop/web-x",
    change="moved",
    before=ON["a"],
    after=ON["b"],
    reasons=(Because(kind="priority", scores=SCORES), Because(kind="draw")),
)
LOST = PodDifference(
    pod="lab/job", change="newly pending", before=ON["c"], after=PENDING, follows=True
)
NEW = PodDifference(pod="lab/new", change="added", before=None, after=ON["c"], follows=True)
PLACES = {
    "shop/web": (ON["a"], ON["b"]),
    "lab/job": (ON["c"], PENDING),
    "lab/same": (ON["a"], ON["a"]),
    "lab/new": (None, ON["c"]),
}
NAMES = tuple(f"n{i}" for i in range(12))


def diff(**changes: Any) -> PlacementDiff:
    given: dict[str, Any] = {
        "differences": (MOVED, LOST, NEW),
        "placements": PLACES,
        "nodes": NodeChanges(
            used=(2, 3), emptied=NAMES, newly_used=("b",), added=(), removed=NAMES[:10]
        ),
        "resources": (use("cpu"), use("gpu", share=(None, 0.5))),
        "zones": {"east": (1, 2), "": (0, 1)},
        "tried_counts": (3, 4),
        "is_same": False,
    }
    return PlacementDiff(**given | changes)


SAME = diff(differences=(), is_same=True)


@pytest.mark.parametrize(("found", "text"), [
    (SAME, "No difference: 4 pods on the same nodes on both sides."),
    (diff(differences=()),
     "No difference: 4 pods on the same nodes on both sides, but the nodes or their use differ."),
    (diff(differences=(), is_same=True, placements={"a/b": (None, None)}),
     "No difference: 1 pod on the same nodes on both sides."),
    (diff(differences=(MOVED,)), "1 of 4 pods differs: 1 moved."),
    (diff(differences=(MOVED, LOST)), "2 of 4 pods differ: 1 moved, 1 newly pending."
     " 1 of them (*) follows another difference: the clusters differed by then."),
    (diff(), "3 of 4 pods differ: 1 moved, 1 newly pending, 1 added."
     " 2 of them (*) follow another difference: the clusters differed by then."),
])  # fmt: skip
def test_a_comparison_in_a_sentence(found, text):
    assert summary(found) == text


NODES = """
Nodes in use: 2 before, 3 after
  emptied: n0, n1, n2, n3, n4, n5, n6, n7, n8, n9{}
  newly used: b
  removed: n0, n1, n2, n3, n4, n5, n6, n7, n8, n9

Utilization (the spread is the standard deviation over the nodes):
  RESOURCE  BEFORE  AFTER   SPREAD BEFORE  SPREAD AFTER
  cpu       25.0 %  50.0 %  12.5 %         <none>
  gpu       <none>  50.0 %  12.5 %         <none>
"""
ZONES = """
Pods on nodes by zone:
  ZONE    BEFORE  AFTER
  east    1       2
  <none>  0       1
"""
TABLE = """\
NAMESPACE  POD          BEFORE    AFTER   CHANGE          REASON
shop       web (web-x)  a         b       moved           before: P0 +9, P1 -3, P2 +2; after: {}
lab        job          c         <none>  newly pending*  0/3 nodes are available.
lab        new          <absent>  c       added*
"""
WIDE = """\
NAMESPACE  POD          BEFORE    AFTER   CHANGE          REASON
shop       web (web-x)  a         b       moved           before: P0 +9, P1 -3, P2 +2, P3 +1; {}
lab        job          c         <none>  newly pending*  0/3 nodes are available.
lab        same         a         a
lab        new          <absent>  c       added*
"""
DRAWN = "tied, another node was drawn"


@pytest.mark.parametrize(("found", "output", "text"), [
    (diff(), "table", TABLE.format(DRAWN) + NODES.format(" and 2 more") + ZONES),
    (diff(), "wide", WIDE.format(f"after: {DRAWN}") + NODES.format(", n10, n11") + ZONES),
    (diff(zones={"": (0, 1)}), "table", TABLE.format(DRAWN) + NODES.format(" and 2 more")),
    (SAME, "table", NODES.format(" and 2 more") + ZONES),
    (diff(), "name", "shop/web\nlab/job\nlab/new\n"),
])  # fmt: skip
def test_a_comparison_as_tables(found, output, text, capsys):
    print_diff(found, output)
    printed = capsys.readouterr()
    assert printed.out == text
    assert printed.err == ("" if output == "name" else f"{summary(found)}\n")


SEVERAL = """\
NAMESPACE  POD  BEFORE    {0}
shop       web  a         {1}
lab        job  c         {2}
lab        new  <absent>  {3}

Figures (the spread is the standard deviation over the nodes):
"""
FIGURES = """\
  CONFIGURATION  DIFFERENT  PENDING  NODES IN USE  CPU     SPREAD CPU  GPU     SPREAD GPU
  before         -          0        2             25.0 %  12.5 %      <none>  12.5 %
  one.yaml       3          1        3             50.0 %  <none>      50.0 %  <none>
  two.yaml       0          0        4             50.0 %  <none>      <none>  <none>
"""
OTHER = diff(
    differences=(),
    is_same=True,
    placements={name: (one, one) for name, (one, _) in PLACES.items()},
    nodes=NodeChanges(used=(2, 4), emptied=(), newly_used=(), added=(), removed=()),
    resources=(use("cpu"),),
)


def test_several_configurations_are_columns(capsys):
    print_several(["x/one.yaml", "y/two.yaml"], [diff(), OTHER], "table")
    printed = capsys.readouterr()
    assert (
        printed.out
        == SEVERAL.format("one.yaml  two.yaml", "b         a", "<none>*   c", "c*        <absent>")
        + FIGURES
    )
    assert printed.err == f"one.yaml: {summary(diff())}\ntwo.yaml: {summary(OTHER)}\n"


def test_configurations_without_a_difference_have_their_figures_only(capsys):
    print_several(["x/one.yaml", "y/two.yaml"], [OTHER, OTHER], "table")
    shown = capsys.readouterr().out
    assert shown.startswith("\nFigures (the spread is the standard deviation over the nodes):\n")


def test_files_of_one_name_have_their_folders(capsys):
    print_several(["x/c.yaml", "y/c.yaml"], [OTHER, OTHER], "wide")
    out = capsys.readouterr().out
    assert out.startswith(
        "NAMESPACE  POD   BEFORE    x/c.yaml  y/c.yaml\nshop       web   a         a         a\n"
    )
    assert "lab        same  a         a         a\n" in out
    print_several(["x/c.yaml", "y/c.yaml"], [OTHER, diff()], "name")
    assert capsys.readouterr().out == "shop/web\nlab/job\nlab/new\n"


@pytest.mark.parametrize(("entry", "is_run"), [
    ("manifest.json", True), ("log/", True), ("a.pwlog", True), ("log", False), ("", False)
])  # fmt: skip
def test_a_folder_of_a_run_has_a_manifest_or_a_log(entry, is_run, tmp_path: Path):
    if entry.endswith("/"):
        (tmp_path / entry).mkdir()
    elif entry:
        (tmp_path / entry).touch()
    assert _is_run(tmp_path) is is_run
    assert not _is_run(tmp_path / "none")
